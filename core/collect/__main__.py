"""`python -m core.collect`: collect once, follow, read one period again, or read exports."""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.collectors import BUILDERS, Collector
from core.collect.requests.exports import read_exports
from core.config import Settings, load_settings
from core.errors import CollectorBusyError, DashboardError

log = logging.getLogger("core.collect")
GLANCE_S = 0.5
"""How often a waiting collector looks for orders."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    args = _arguments().parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = load_settings()
        inbox = Inbox(settings.home / "inbox")
        inbox.sweep()
        if args.export:
            read_exports(args.export, settings, inbox)
        else:
            _collect(settings, inbox, args)
        if args.merge:
            store = Store(settings.home / "cache.duckdb")
            log.info("merged %d batches", store.merge_waiting(inbox))
            store.close()
    except DashboardError as error:
        sys.stderr.write(f"{error}\n{error.next_step}\n")
        return 3 if isinstance(error, CollectorBusyError) else 1
    return 0


def _collect(settings: Settings, inbox: Inbox, args: argparse.Namespace) -> None:
    """Run the collectors side by side, one thread each; the first failure is told."""
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    failures: list[Exception] = []

    def run(name: str) -> None:
        try:
            with BUILDERS[name](settings, inbox) as collector:
                _run(collector, args, stop)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)
            stop.set()

    names = args.source or settings.connected
    threads = [threading.Thread(target=run, args=[name], name=name) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _run(collector: Collector, args: argparse.Namespace, stop: threading.Event) -> None:
    if args.start is not None:
        collector.collect_range(args.start, args.end)
        return
    while not stop.is_set():
        more = collector.step()
        wait_s = collector.wait_s()
        if not (more or wait_s or args.follow):
            return
        if args.supervised is not None and os.getppid() != args.supervised:
            log.info("the app is gone, leaving")
            return
        due = time.monotonic() + (wait_s or (0.0 if more else collector.settings.collect_every_s))
        while time.monotonic() < due and not collector.urgent() and not stop.wait(GLANCE_S):
            pass


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.collect",
        description="Fetch from Prometheus and Langfuse into the inbox. Catches up, then ends, "
        "unless told to follow.",
    )
    parser.add_argument("--follow", action="store_true", help="go on reading what is new")
    parser.add_argument(
        "--source",
        action="append",
        choices=sorted(BUILDERS),
        help="read this source only; may be given twice (default: all that are configured)",
    )
    parser.add_argument(
        "--from", dest="start", type=_instant, help="read one period again: its start, ISO 8601"
    )
    parser.add_argument("--to", dest="end", type=_instant, help="end of the period (default: now)")
    parser.add_argument(
        "--export",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="read files or folders of Langfuse's blob-storage export instead of a source",
    )
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
