"""The app as a script in this process, on a data folder of each test's own."""

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test

from core import runtime
from tests.pages.homes import Filled, put
from tests.pages.shown import ran

APP = Path(__file__).resolve().parents[2] / "app.py"
TIMEOUT_S = 120
NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens."""

Open = Callable[..., AppTest]


class PagesAsServed(PagesManager):
    """What `app.py` arranges when a server loads it; AppTest forgets it before every run."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        PagesManager.uses_pages_directory = False


@pytest.fixture(scope="session", autouse=True)
def done_once_as_by_a_server() -> Iterator[None]:
    """A served app parses its scripts and searches installed packages once, AppTest at every run.

    Parsing in two threads at once can also fail in Python 3.11 (AST recursion depth mismatch).
    """
    with pytest.MonkeyPatch.context() as patch:
        found = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        compiled = functools.cache(ScriptCache().get_bytecode)
        patch.setattr(ScriptCache, "get_bytecode", lambda _, path: compiled(path))
        yield


@pytest.fixture(autouse=True)
def settings_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting from outside, no collector, and nothing left running."""
    for name in [name for name in os.environ if name.startswith("PREFIXWATCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFIXWATCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PREFIXWATCH_COLLECTOR", "false")
    monkeypatch.setattr(app_test, "PagesManager", PagesAsServed)
    yield
    runtime.shut_down()
    st.cache_data.clear()


@pytest.fixture
def demo_home(filled_copy: Path) -> Path:
    """Home folder of a demo with its history."""
    return filled_copy / "demo"


@pytest.fixture
def real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home folder, still empty, of an app that reads a Prometheus of its own."""
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", NOBODY)
    return tmp_path / "data" / "real"


@pytest.fixture
def open_page() -> Open:
    """Open a page by its URL path, with URL parameters."""

    def opened(page: str, query: dict[str, str] | None = None) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=TIMEOUT_S)
        app.query_params.update(query or {})
        return ran(app.switch_page(f"pages/{page}.py").run())

    return opened


@pytest.fixture
def open_demo(demo_home: Path, filled: Filled, open_page: Open) -> Open:
    """Open a page of the filled demo for a period that holds all of its story."""

    def opened(page: str, **query: str) -> AppTest:
        return open_page(page, filled.window() | query)

    return opened


@pytest.fixture
def put_real(real_home: Path) -> Callable[..., None]:
    """Put rows into the cache of the app that reads a Prometheus of its own."""

    def puts(tables: dict[str, list[dict[str, Any]]]) -> None:
        put(real_home, tables)

    return puts
