"""Homes for reviews: a filled demo, or what a test writes by hand."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import runtime
from core.config import Settings, load_settings

NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens."""


@pytest.fixture(autouse=True)
def settings_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting from outside, no collector, and nothing left running."""
    for name in [name for name in os.environ if name.startswith("PREFIXWATCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFIXWATCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PREFIXWATCH_COLLECTOR", "false")
    yield
    runtime.shut_down()


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home folder of an app that reads a Prometheus of its own; its cache is not there yet."""
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", NOBODY)
    return tmp_path / "data" / "real"


@pytest.fixture
def settings() -> Settings:
    """Settings as the program reads them."""
    return load_settings()
