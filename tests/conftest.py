"""What tests of pages and of the browser share: a data folder the demo has filled."""

import time
from pathlib import Path

import pytest

from tests.pages.homes import Filled, fill_from_demo


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A data folder with the demo's history, collected and merged once; copy it, never open it.

    The demo forgets a fleet that is a day old by the machine's clock, so the
    fleet's now is the moment the tests began.
    """
    return fill_from_demo(tmp_path_factory.mktemp("filled"), now=time.time())


@pytest.fixture
def filled_copy(filled: Filled, tmp_path: Path) -> Path:
    """A data folder of one's own, filled like the shared one."""
    return filled.copy_to(tmp_path / "data")
