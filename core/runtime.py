"""What runs for as long as the app runs: the cache's owner, its writer, the collector.

Benchmarks run on without it; it only finishes the jobs of runners that died.

One per process. No Streamlit here: pages come and go, this stays.
"""

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.bench.imported import take_in
from core.bench.jobs import Jobs, plan_of
from core.bench.stored import Shelf
from core.cache.inbox import Inbox
from core.cache.orders import Orders
from core.cache.store import Store
from core.config import Settings, load_settings
from core.demo import RECORDED_BENCHMARK, fleet_epoch, is_over
from core.demo_people import is_entered
from core.messages import say
from core.report.orders import ReportOrders, answer_waiting

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent
MERGE_EVERY_S = 0.5
REPORT_EVERY_S = 0.5
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
STEADY_S = 60.0
"""A collector that lived so long was fine; the next wait is short again."""
STOP_S = 10.0
LOG_BYTES = 5_000_000
EXAMINE_AFTER_S, EXAMINE_EVERY_S = 20.0, 900.0
SHELVE_EVERY_S = 1.0


@dataclass(frozen=True)
class CollectorState:
    """How the supervised collector stands."""

    enabled: bool = True
    pid: int | None = None
    started_at: float | None = None
    restarts: int = 0
    last_status: int | None = None
    next_start_at: float | None = None


class Runtime:
    """Owns the cache file, merges the inbox, answers orders, keeps collectors alive.

    Raises
    ------
    CacheBusyError
        Another process owns the cache.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        if settings.demo and is_over(settings, time.time()):
            shutil.rmtree(settings.home, ignore_errors=True)
        self.store = Store(settings.home / "cache.duckdb")
        self.inbox = Inbox(settings.home / "inbox")
        self.orders = Orders(settings.home / "orders")
        if self.store.is_new:
            shutil.rmtree(settings.home / "collectors", ignore_errors=True)
        self.merge_trouble: str | None = None
        """Why batches wait unmerged; None while merging works."""
        self.bench_trouble: str | None = None
        """Which benchmark jobs cannot be stored, and why; None while all are."""
        self.jobs = Jobs(settings)
        self._stop = threading.Event()
        self._supervisors = {
            name: Supervisor(name, settings, self._stop) for name in settings.connected
        }
        self._threads = [
            threading.Thread(target=self._merge_forever, name="merge", daemon=True),
            threading.Thread(target=self._examine_forever, name="doctor", daemon=True),
            threading.Thread(target=self._report_forever, name="reports", daemon=True),
            threading.Thread(target=self._enter_once, name="people", daemon=True),
            threading.Thread(target=self._shelve_forever, name="benchmarks", daemon=True),
            *(
                threading.Thread(target=one.run, name=f"supervisor-{name}", daemon=True)
                for name, one in self._supervisors.items()
            ),
        ]

    def start(self) -> None:
        """Begin merging and collecting; all of a simulated fleet's processes know one epoch."""
        if self._simulated:
            fleet_epoch(self.settings, time.time())
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the collector, merge nothing more, give the cache file back."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(STOP_S + 5)
        self.store.close()

    @property
    def _simulated(self) -> bool:
        return self.settings.demo and self.settings.collector

    @property
    def collectors(self) -> dict[str, CollectorState]:
        """How the collector of each source stands."""
        return {name: one.state for name, one in self._supervisors.items()}

    def _merge_forever(self) -> None:
        while not self._stop.wait(MERGE_EVERY_S):
            try:
                self.store.merge_waiting(self.inbox)
                self.merge_trouble = None
            except Exception as error:
                self.merge_trouble = f"{type(error).__name__}: {error}"[:300]
                log.exception("merging failed, trying again")

    def _shelve_forever(self) -> None:
        """Finish benchmark jobs whose runner died, and store every job that changed.

        A job that runs goes on when the app ends: its runner is a process of its own.
        """
        shelves = [Shelf(self.jobs, self.inbox, known=self._stored_jobs)]
        wants_recorded = self.settings.demo
        while True:
            try:
                if wants_recorded:
                    shelves.append(self._recorded_shelf())
                    wants_recorded = False
                self.bench_trouble = _unstored(shelves)
            except Exception as error:
                self.bench_trouble = f"{type(error).__name__}: {error}"[:300]
                log.exception("storing benchmarks failed, trying again")
            if self._stop.wait(SHELVE_EVERY_S):
                return

    def _recorded_shelf(self) -> Shelf:
        """The benchmark that came with the program, imported into the demo's own folder."""
        own = self.settings.model_copy(update={"data_dir": self.settings.home})
        take_in(RECORDED_BENCHMARK, plan_of(RECORDED_BENCHMARK), own)
        return Shelf(Jobs(own), self.inbox, known=self._stored_jobs, recorded=True)

    def _stored_jobs(self) -> dict[str, str]:
        return {row.job_id: row.digest for row in self.store.read("bench_digests", {})}

    def _report_forever(self) -> None:
        """Make the reviews that the command line asks for: it cannot open the cache itself."""
        orders = ReportOrders(self.settings.home / "reports")
        while not self._stop.wait(REPORT_EVERY_S):
            try:
                answer_waiting(orders, self.store, self.settings)
            except OSError:
                log.exception("orders for reviews cannot be read or answered, trying again")

    def _enter_once(self) -> None:
        """Let the demo's people enter their experiments, in a process of its own."""
        if self._simulated and not is_entered(self.store):
            self._wait_for(started(["core.demo_people"], "people", self.settings))

    def _examine_forever(self) -> None:
        """Let the doctor look now and then, in a process of its own."""
        wait = EXAMINE_AFTER_S
        while self.settings.collector and not self._stop.wait(wait):
            wait = EXAMINE_EVERY_S
            self._wait_for(started(["core.doctor", "--write"], "doctor", self.settings))

    def _wait_for(self, process: "subprocess.Popen[bytes]") -> None:
        while process.poll() is None:
            if self._stop.wait(0.2):
                _end(process)


class Supervisor:
    """Keeps the collector of one source alive, waiting longer after each failure."""

    def __init__(self, source: str, settings: Settings, stop: threading.Event) -> None:
        self._source = source
        self._settings = settings
        self._stop = stop
        self.state = CollectorState(enabled=settings.collector)

    def run(self) -> None:
        """Start, watch, start again, until told to stop."""
        wait, restarts = FIRST_WAIT_S, 0
        while self._settings.collector and not self._stop.is_set():
            began = time.time()
            status = self._run_once(began, restarts)
            wait = FIRST_WAIT_S if time.time() - began > STEADY_S else min(wait * 2, LONGEST_WAIT_S)
            restarts += 1
            self.state = CollectorState(
                restarts=restarts, last_status=status, next_start_at=time.time() + wait
            )
            self._stop.wait(wait)

    def _run_once(self, began: float, restarts: int) -> int:
        command = ["core.collect", "--follow", "--source", self._source]
        command += ["--supervised", str(os.getpid())]
        process = started(command, self._source, self._settings)
        self.state = CollectorState(pid=process.pid, started_at=began, restarts=restarts)
        while process.poll() is None:
            if self._stop.wait(0.2):
                return _end(process)
        return process.returncode


def _unstored(shelves: Sequence[Shelf]) -> str | None:
    """Store what changed on every shelf; the jobs that could not be, with their reasons."""
    for shelf in shelves:
        shelf.store()
    told = [
        say("bench.not_stored_job", job=job, why=why)
        for shelf in shelves
        for job, why in shelf.unstored.items()
    ]
    return "; ".join(told)[:300] or None


def started(module: list[str], name: str, settings: Settings) -> "subprocess.Popen[bytes]":
    """One of our own modules as a process, its output in a log of its own."""
    path = settings.home / "collectors" / f"{name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = "ab" if not path.exists() or path.stat().st_size < LOG_BYTES else "wb"
    environment = os.environ | {
        "PREFIXWATCH_DATA_DIR": str(settings.data_dir.resolve()),
        "PYTHONPATH": str(ROOT),
    }
    with path.open(mode) as output:
        return subprocess.Popen(  # noqa: S603 - a fixed argument list
            [sys.executable, "-m", *module],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def _end(process: "subprocess.Popen[bytes]") -> int:
    process.terminate()
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


_lock = threading.Lock()
_running: Runtime | None = None


def running() -> Runtime:
    """The process's runtime, started on first use.

    Raises
    ------
    DashboardError
        A setting cannot be used or the cache is busy; the next call tries again.
    """
    global _running  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _running is None:
            runtime = Runtime(load_settings())
            runtime.start()
            _running = runtime
        return _running


def shut_down() -> None:
    """Stop the process's runtime, if there is one."""
    global _running  # noqa: PLW0603
    with _lock:
        if _running is not None:
            _running.stop()
            _running = None
