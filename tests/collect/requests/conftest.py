"""Fixtures of the Langfuse collector's tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.collect.requests.fake_langfuse import FakeLangfuse
from tests.collect.requests.rig import Rig

RequestRigOf = Callable[..., Rig]


@pytest.fixture
def server() -> FakeLangfuse:
    """A Langfuse without rows."""
    return FakeLangfuse()


@pytest.fixture
def langfuse_rig_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RequestRigOf]:
    """Makes rigs in folders of their own, and closes their caches."""
    made: list[Rig] = []

    def make(server: httpx.BaseTransport, folder: Path | None = None, **more: Any) -> Rig:
        made.append(Rig(folder or tmp_path_factory.mktemp("rig"), server, **more))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def site(server: FakeLangfuse, langfuse_rig_of: RequestRigOf) -> Rig:
    """One collector and cache on the fake Langfuse."""
    return langfuse_rig_of(server)
