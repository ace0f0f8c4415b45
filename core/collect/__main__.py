"""`python -m core.collect`: collect once, follow, or read one period again."""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.batch import lever_rows
from core.collect.follow import SOURCE, PrometheusCollector
from core.collect.state import StateFile
from core.config import Settings, load_settings
from core.demo import HISTORY_S, demo_changes, demo_source, fleet_epoch
from core.errors import CollectorBusyError, DashboardError
from core.sources.prometheus import PrometheusSource

log = logging.getLogger("core.collect")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    args = _arguments().parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    try:
        settings = load_settings()
        inbox = Inbox(settings.home / "inbox")
        inbox.sweep()
        state_file = StateFile(settings.home / "collectors" / f"{SOURCE}.state")
        with state_file.locked():
            _run(_collector(settings, inbox, state_file), args)
        if args.merge:
            store = Store(settings.home / "cache.duckdb")
            log.info("merged %d batches", store.merge_waiting(inbox))
            store.close()
    except DashboardError as error:
        sys.stderr.write(f"{error}\n{error.next_step}\n")
        return 3 if isinstance(error, CollectorBusyError) else 1
    return 0


def _collector(settings: Settings, inbox: Inbox, state_file: StateFile) -> PrometheusCollector:
    if not settings.demo:
        return PrometheusCollector(settings, PrometheusSource(settings), inbox, state_file)
    days = timedelta(seconds=HISTORY_S) / timedelta(days=1)
    settings = settings.model_copy(update={"backfill_days": days})
    return DemoCollector(settings, demo_source(settings), inbox, state_file)


class DemoCollector(PrometheusCollector):
    """Also enters the simulated fleet's routing changes, as a person would."""

    def step(self) -> bool:
        """Read one slice, and enter what the fleet's people would have entered."""
        now = time.time()
        changes = demo_changes(fleet_epoch(self.settings, now), now)
        if len(changes) > self._entered:
            self.inbox.write("demo", {"levers": lever_rows(changes)})
            self._entered = len(changes)
        return super().step()

    _entered = 0


def _run(collector: PrometheusCollector, args: argparse.Namespace) -> None:
    if args.start is not None:
        collector.collect_range(args.start, args.end)
        return
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    while not stop.is_set():
        more = collector.step()
        if not more and not args.follow:
            return
        if args.supervised is not None and os.getppid() != args.supervised:
            log.info("the app is gone, leaving")
            return
        if not more:
            stop.wait(collector.settings.collect_every_s)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.collect",
        description="Fetch from Prometheus into the inbox. Catches up, then ends, unless told "
        "to follow.",
    )
    parser.add_argument("--follow", action="store_true", help="go on reading what is new")
    parser.add_argument(
        "--from", dest="start", type=_instant, help="read one period again: its start, ISO 8601"
    )
    parser.add_argument("--to", dest="end", type=_instant, help="end of the period (default: now)")
    parser.add_argument(
        "--merge", action="store_true", help="then merge into the cache (only while no app runs)"
    )
    parser.add_argument("--supervised", type=int, metavar="PID", help=argparse.SUPPRESS)
    parser.set_defaults(end=datetime.now(UTC).timestamp())
    return parser


def _instant(text: str) -> float:
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    sys.exit(main())
