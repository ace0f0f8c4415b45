"""Merges a home folder's inbox again and again, until it is killed or terminated."""

import signal
import sys
import threading
from pathlib import Path

from core.cache.inbox import Inbox
from core.cache.store import Store


def main(home: Path) -> None:
    """Own the cache and merge what comes."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    store = Store(home / "cache.duckdb")
    inbox = Inbox(home / "inbox")
    while not stop.wait(0.01):
        store.merge_waiting(inbox)
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
