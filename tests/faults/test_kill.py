"""Collector, merger and app killed at random moments: nothing is lost, doubled or half there."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import psutil
import pytest

from core.cache.inbox import Inbox
from core.cache.tables import KEYS, TABLES
from core.collect.state import State, StateFile
from tests.faults.served import ServedPrometheus

ROOT = Path(__file__).resolve().parents[2]
MERGER = ROOT / "tests" / "faults" / "merger.py"
NOW = 1_790_000_000.0
CLOCK_PER_S = 600.0
"""How much faster than ours the server's clock runs: each step of a collector settles
new minutes, so that a batch that is lost is a loss nothing later makes up for."""
COLLECTOR_KILLS_AND_MERGER_KILLS = 48
VICTIMS = (("collector",), ("merger",), ("collector", "merger"), ("merger", "collector"))
APP_KILLS = 6
ORPHAN_S = 20.0
"""A collector whose app was killed has ended by then."""
TAKEOVER_S = 90.0
"""A new app's collector has read something new by then."""
LEFT_OUT = {
    "configurations": {"seen_at"},
    "exports": {"checked_at"},
    "targets": {"scrape_interval_s"},
}
"""Columns that depend on when one asked."""
HOURS = ["counter_hours", "bucket_hours", "gauge_hours"]
COMPARED = [*(table for table in TABLES if table not in ("sources", "source_log")), *HOURS]
"""Everything but the log of how the reading went."""

Process = subprocess.Popen[bytes]


@dataclass
class Site:
    """One data folder, and the processes that were started on it."""

    folder: Path
    url: str
    started: list[Process] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "data" / "real"

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.home / "inbox")

    @property
    def settled(self) -> int:
        """How far the collector has remembered to have read; 0 before it has."""
        state = StateFile(self.home / "collectors" / "prometheus.state", State).load()
        return state.settled if state else 0

    def collector(self) -> Process:
        return self.start("-m", "core.collect", "--follow")

    def merger(self) -> Process:
        return self.start(str(MERGER), str(self.home))

    def app(self) -> Process:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = {
            "server.port": str(port),
            "server.address": "127.0.0.1",
            "server.headless": "true",
            "server.fileWatcherType": "none",
            "browser.gatherUsageStats": "false",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return self.start("-m", "streamlit", "run", str(ROOT / "app.py"), *words)

    def finish(self) -> None:
        """Read what is left, merge it, end."""
        process = self.start("-m", "core.collect", "--merge")
        assert process.wait(120) == 0, self.log()

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")[-3000:]

    def start(self, *words: str) -> Process:
        self.folder.mkdir(parents=True, exist_ok=True)
        own = {k: v for k, v in os.environ.items() if not k.startswith("PREFIXWATCH_")}
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.folder,
                env=own
                | {
                    "PYTHONPATH": str(ROOT),
                    "PREFIXWATCH_PROMETHEUS_URL": self.url,
                    "PREFIXWATCH_DATA_DIR": str(self.folder / "data"),
                    "PREFIXWATCH_COLLECT_EVERY_S": "0.3",
                    "PREFIXWATCH_SETTLE_S": "5",
                    "PREFIXWATCH_BACKFILL_DAYS": "4",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.started.append(process)
        return process

    def contents(self) -> dict[str, list[tuple[object, ...]]]:
        """Rows of the compared tables in a fixed order."""
        with duckdb.connect(self.home / "cache.duckdb") as cache:
            found = {}
            for table in COMPARED:
                cells = table.replace("_hours", "_cells")
                names = [n for n in TABLES[cells].names if n not in LEFT_OUT.get(table, ())]
                wanted = ", ".join(names)
                found[table] = cache.execute(
                    f"select {wanted} from {table} order by all"  # noqa: S608 - names of ours
                ).fetchall()
            return found

    def doubled(self) -> dict[str, int]:
        """Rows that share their key with another row, by table; no entry for none."""
        found: dict[str, int] = {}
        if not (self.home / "cache.duckdb").exists():
            return found
        with duckdb.connect(self.home / "cache.duckdb") as cache:
            hours = dict.fromkeys(HOURS, ("series_id", "minute"))
            for table, keys in (KEYS | hours | {"batches": ("batch_id",)}).items():
                query = f"select count(*) - count(distinct ({', '.join(keys)},)) from {table}"  # noqa: S608
                (number,) = cache.execute(query).fetchone() or (None,)
                if number:
                    found[table] = number
        return found

    def merged(self) -> int:
        with duckdb.connect(self.home / "cache.duckdb") as cache:
            (number,) = cache.execute("select count(*) from batches").fetchone() or (0,)
            return number

    def half_written(self) -> int:
        """Folders a killed writer, or a killed owner that was dropping one, left behind."""
        return len(list(self.inbox.folder.glob(".*")))


@pytest.fixture
def served() -> Iterator[ServedPrometheus]:
    with ServedPrometheus(NOW) as server:
        yield server


@pytest.fixture
def site(served: ServedPrometheus, tmp_path: Path) -> Iterator[Site]:
    place = Site(tmp_path / "killed", served.url)
    yield place
    for process in place.started:
        if process.poll() is None:
            process.kill()
        process.wait()


@contextmanager
def ticking(served: ServedPrometheus) -> Iterator[None]:
    """The server's clock runs, and stands still afterwards."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.05):
            served.now = round(served.now + 0.05 * CLOCK_PER_S, 3)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def kill(process: Process) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def wait_until(true: Callable[[], bool], *, within_s: float) -> float | None:
    """Seconds until a condition held; None when it never did."""
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        if true():
            return time.monotonic() - began
        time.sleep(0.002)
    return None


def wait_for_work(site: Site) -> float:
    """Until the collector has settled something it had not before; seconds."""
    before = site.settled
    took = wait_until(lambda: site.settled > before, within_s=TAKEOVER_S)
    assert took is not None, site.log()
    return took


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wait_for_the_moment(site: Site, victims: tuple[str, ...], rng: np.random.Generator) -> None:
    """Until a batch is being written or merged, or now and then any moment at all."""
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0.0, 2.0))
        return
    before = site.settled
    wait_until(lambda: site.settled > before, within_s=TAKEOVER_S)
    wait_until(lambda: not site.inbox.waiting(), within_s=5.0)
    time.sleep(rng.uniform(0.0, 0.5))
    writing = victims[0] == "collector"
    wait_until(lambda: any(site.inbox.folder.glob(".*" if writing else "[!.]*")), within_s=3.0)
    time.sleep(rng.uniform(0.0, 0.06 if writing else 0.03))


def kill_at_random(site: Site, *, kills: int, rng: np.random.Generator) -> None:
    """Kill collector, merger, or both, and start them again, until `kills` are done."""
    running = {"collector": site.collector(), "merger": site.merger()}
    start = {"collector": site.collector, "merger": site.merger}
    done = {"collector": 0, "merger": 0}
    shown = 0
    while sum(done.values()) < kills:
        victims = VICTIMS[int(rng.integers(len(VICTIMS)))]
        wait_for_the_moment(site, victims, rng)
        for victim in victims:
            assert running[victim].poll() is None, site.log()
            kill(running[victim])
            done[victim] += 1
        if running["merger"].returncode is not None:
            assert site.doubled() == {}
        for name, process in running.items():
            if process.returncode is not None:
                running[name] = start[name]()
        if sum(done.values()) // 10 > shown:
            shown = sum(done.values()) // 10
            say(f"{sum(done.values())} kills {done}, {site.half_written()} folders left hidden")
    wait_for_work(site)
    for process in running.values():
        process.terminate()
        assert process.wait(30) == 0, site.log()


def assert_same_as_one_quiet_run(site: Site, served: ServedPrometheus, tmp_path: Path) -> None:
    """Finish the killed site and compare it with a site that was never disturbed."""
    site.finish()
    quiet = Site(tmp_path / "quiet", served.url)
    quiet.finish()
    assert site.inbox.waiting() == []
    assert not site.inbox.rejected.exists()
    assert site.doubled() == {}
    killed, expected = site.contents(), quiet.contents()
    assert all(len(expected[table]) > 0 for table in ("counter_cells", "levers"))
    for table in COMPARED:
        assert killed[table] == expected[table], table


def test_a_few_kills_change_nothing(site: Site, served: ServedPrometheus, tmp_path: Path) -> None:
    """Three kills of collector and merger leave the cells of an undisturbed run."""
    with ticking(served):
        kill_at_random(site, kills=3, rng=np.random.default_rng(3))
    assert_same_as_one_quiet_run(site, served, tmp_path)
    assert site.merged() > 3


@pytest.mark.faults
def test_kills_of_collector_and_merger_lose_and_double_nothing(
    site: Site, served: ServedPrometheus, tmp_path: Path
) -> None:
    """However often and whenever both are killed, the cache ends as in one quiet run."""
    began = time.monotonic()
    with ticking(served):
        kill_at_random(site, kills=COLLECTOR_KILLS_AND_MERGER_KILLS, rng=np.random.default_rng(17))
    assert_same_as_one_quiet_run(site, served, tmp_path)
    cells = len(site.contents()["counter_cells"])
    say(
        f"summary: {COLLECTOR_KILLS_AND_MERGER_KILLS} kills of collector and merger in "
        f"{time.monotonic() - began:.0f} s, {site.merged()} batches, {cells} counter cells, "
        f"{served.asked} requests: nothing lost, doubled or half there"
    )


def children(app: Process) -> list[psutil.Process]:
    try:
        return psutil.Process(app.pid).children()
    except psutil.NoSuchProcess:
        return []


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_collector_that_is_orphaned_at_birth_ends(site: Site, served: ServedPrometheus) -> None:
    """An app killed just after it started its collector leaves no collector behind."""
    script = """
import os, threading, time
from core.config import load_settings
from core.runtime import Supervisor
supervisor = Supervisor("prometheus", load_settings(), threading.Event())
threading.Thread(target=supervisor.run, daemon=True).start()
while supervisor.state.pid is None:
    time.sleep(0.001)
print(supervisor.state.pid, flush=True)
os._exit(9)
"""
    app = site.start("-c", script)
    assert app.wait(20) == 9
    orphan = psutil.Process(int(site.log()))
    try:
        wait_until(lambda: is_gone(orphan) or served.asked > 20, within_s=30.0)
        assert is_gone(orphan)
    finally:
        if not is_gone(orphan):
            orphan.kill()


@pytest.mark.faults
def test_a_killed_app_is_succeeded(site: Site, served: ServedPrometheus, tmp_path: Path) -> None:
    """The orphaned collector ends by itself, and the next app takes over where it was."""
    rng = np.random.default_rng(23)
    began = time.monotonic()
    slowest_end = slowest_takeover = 0.0
    with ticking(served):
        app = site.app()
        for number in range(APP_KILLS):
            wait_for_work(site)
            time.sleep(rng.uniform(0.0, 2.0))
            orphans = children(app)
            assert len(orphans) == 1
            kill(app)
            app = site.app()
            ended = wait_until(lambda: all(map(is_gone, orphans)), within_s=ORPHAN_S)  # noqa: B023
            assert ended is not None, site.log()
            took = wait_for_work(site)
            assert not any(child in orphans for child in children(app))
            slowest_end = max(slowest_end, ended)
            slowest_takeover = max(slowest_takeover, ended + took)
            say(f"app kill {number + 1}: orphan gone after {ended:.1f} s, reading {took:.1f} s on")
        app.terminate()
        assert app.wait(30) is not None
        assert wait_until(lambda: children(app) == [], within_s=ORPHAN_S) is not None
    assert_same_as_one_quiet_run(site, served, tmp_path)
    say(
        f"summary: {APP_KILLS} kills of the app in {time.monotonic() - began:.0f} s, orphan gone "
        f"within {slowest_end:.1f} s, succeeded within {slowest_takeover:.1f} s, "
        f"{site.merged()} batches: nothing lost, doubled or half there"
    )
