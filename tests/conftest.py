"""What tests of pages and of the browser share: a data folder the demo has filled."""

import fcntl
import json
import time
from pathlib import Path

import pytest

from tests.pages.homes import Filled, fill_from_demo


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Filled:
    """A data folder with the demo's history, collected and merged once; copy it, never open it.

    The demo forgets a fleet that is a day old by the machine's clock, so the
    fleet's now is the moment the tests began. The first of several workers
    fills it, the others wait for it.
    """
    own = tmp_path_factory.getbasetemp()
    home = (own if worker_id == "master" else own.parent) / "filled"
    home.mkdir(exist_ok=True)
    epoch, folder = home / "epoch.json", home / "data"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not epoch.exists():
            made = fill_from_demo(folder, now=time.time())
            epoch.write_text(json.dumps(made.epoch))
    return Filled(folder, json.loads(epoch.read_text()))


@pytest.fixture
def filled_copy(filled: Filled, tmp_path: Path) -> Path:
    """A data folder of one's own, filled like the shared one."""
    return filled.copy_to(tmp_path / "data")
