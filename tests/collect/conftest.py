"""Fixtures of the collector's tests."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import T0, Rig

RigOf = Callable[..., Rig]


@pytest.fixture
def fake() -> FakePrometheus:
    """A Prometheus without samples, one hour after T0."""
    return FakePrometheus(now=T0 + 3600)


@pytest.fixture
def rig_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RigOf]:
    """Makes rigs in folders of their own, and closes their caches."""
    made: list[Rig] = []

    def make(fake: FakePrometheus, folder: Path | None = None, **settings: object) -> Rig:
        made.append(Rig(folder or tmp_path_factory.mktemp("rig"), fake, **settings))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(fake: FakePrometheus, rig_of: RigOf) -> Rig:
    """One collector and cache on the fake Prometheus."""
    return rig_of(fake)


def _program(name: str) -> str:
    """Path of a program of Debian's package `prometheus`; in CI it must be there."""
    found = shutil.which(name)
    if found is None:
        message = f"{name} is missing: install Debian's package prometheus"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="session")
def prometheus() -> str:
    """The server program."""
    return _program("prometheus")


@pytest.fixture(scope="session")
def promtool() -> str:
    """The tool that tests rules."""
    return _program("promtool")
