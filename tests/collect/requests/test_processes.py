"""The command line as a process: one at a time, stopped, killed, limited; the table is whole."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse
from tests.collect.requests.rig import Rig, path_of, project
from tests.collect.requests.served import Served, start_collector
from tests.recorded_langfuse import PUBLIC, SECRET

Start = Callable[..., subprocess.Popen[bytes]]
PATIENCE_S = 60.0


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts collectors, and ends what still runs."""
    started: list[subprocess.Popen[bytes]] = []

    def run(folder: Path, url: str, *words: str) -> subprocess.Popen[bytes]:
        started.append(start_collector(folder, url, *words))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_for_calls(served: Served, number: int) -> None:
    """Until the server has been asked so often."""
    until = time.monotonic() + PATIENCE_S
    while len(served.fake.asked) < number:
        assert time.monotonic() < until, "the collector does not ask"
        time.sleep(0.005)


def busy_project() -> FakeLangfuse:
    """Four hours of rows in short pages, ending a while before now."""
    return FakeLangfuse(most=5, **project(70, every_s=200, end=time.time() - 400, scores=40))


def test_stopped_killed_limited_and_run_again(
    tmp_path: Path, start: Start, langfuse_rig_of: RequestRigOf
) -> None:
    """SIGTERM ends it well, kill -9 loses nothing, a limit is waited for: one quiet run's table."""
    fake = busy_project()
    killed = tmp_path / "killed"
    with Served(fake, delay_s=0.03) as served:
        stopped = start(killed, served.url)
        wait_for_calls(served, 16)
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(PATIENCE_S) == 0, (killed / "log").read_text()
        for more in (14, 26):
            dead = start(killed, served.url, "--follow")
            wait_for_calls(served, len(fake.asked) + more)
            dead.kill()
            dead.wait()
        refusals: list[httpx.Request] = []

        def limited(request: httpx.Request) -> httpx.Response | None:
            if len(refusals) < 2 and path_of(request) == "/v3/scores":
                refusals.append(request)
                return httpx.Response(429, json={"message": "x"}, headers={"retry-after": "1"})
            return None

        fake.fault = limited
        served.delay_s = 0.0
        assert start(killed, served.url).wait(PATIENCE_S) == 0, (killed / "log").read_text()
    assert refusals
    fake.fault = None
    quiet = langfuse_rig_of(fake, backfill_days=0.2)
    quiet.clock.now = time.time()
    quiet.catch_up()
    rig = Rig(killed / "data", fake)
    try:
        assert len(rig.ids()) == 70
        assert len(rig.ids("scores")) == 40
        assert rig.tables() == quiet.tables()
    finally:
        rig.close()
    log = (killed / "log").read_text()
    assert SECRET not in log
    assert PUBLIC not in log
    assert "Traceback" not in log


def test_a_second_collector_is_refused(tmp_path: Path, start: Start) -> None:
    """While one reads, another ends at once with a status of its own and says why."""
    with Served(busy_project(), delay_s=0.02) as served:
        first = start(tmp_path, served.url, "--follow")
        wait_for_calls(served, 6)
        second = start(tmp_path, served.url)
        assert second.wait(PATIENCE_S) == 3
        assert first.poll() is None
        assert "Another collector already serves this source" in (tmp_path / "log").read_text()
        first.terminate()
        assert first.wait(PATIENCE_S) == 0
