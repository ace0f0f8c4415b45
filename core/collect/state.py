"""What a collector must remember between two slices, in one small file.

Everything in it is as of `settled`: a slice read again from the same state gives
the same cells, so a kill between writing the batch and writing the state only
repeats work.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from core.domain.records import EngineLabels, Target
from core.errors import CollectorBusyError

Sample = tuple[float, float]
"""Time (seconds since the epoch) and value."""
EngineTarget = tuple[int, int]
MEMORY_S = 7 * 86_400
"""A series, engine or proxy not seen for so long is met as a new one."""


class EngineMemory(msgspec.Struct, frozen=True):
    """One engine at one address, as last seen."""

    labels: EngineLabels
    target: Target
    first_at: float
    last_at: float
    gone_at: float | None = None
    duplicate_of: int | None = None


class ProxyMemory(EngineMemory, frozen=True):
    """One proxy at one address, as last seen.

    `newest` holds per instrument the newest settled scrape that showed it.
    """

    newest: dict[str, float] = {}


class State(msgspec.Struct):
    """Memory of one Prometheus collector.

    `last` and `up` hold the newest sample before `settled` of every series and
    target, `scrape_gaps_s` the last distances between scrapes of every target;
    `watched_since` is when the scraper last resumed after a break of its own;
    `proxies_since` is from when on counters of proxies were read (None: not yet), and
    `resets_since` the same for calls of the cache reset;
    `points_per_s` sizes the next slice.
    """

    settled: int
    backfill_from: int
    last: dict[int, Sample] = {}
    up: dict[int, Sample] = {}
    scrape_gaps_s: dict[int, list[float]] = {}
    engines: dict[str, EngineMemory] = {}
    proxies: dict[str, ProxyMemory] = {}
    exports: dict[str, tuple[str, str | None]] = {}
    configs: dict[str, dict[str, str]] = {}
    watched_since: float = 0.0
    proxies_since: float | None = None
    resets_since: float | None = None
    points_per_s: float | None = None


Memory = TypeVar("Memory", bound=msgspec.Struct)


class StateFile(Generic[Memory]):
    """The file, and the lock that keeps a second collector out."""

    def __init__(self, path: Path, kind: type[Memory]) -> None:
        self.path = path
        self._kind = kind

    def load(self) -> Memory | None:
        """The saved state; None on a first start or when the file is damaged."""
        try:
            return msgspec.msgpack.decode(self.path.read_bytes(), type=self._kind)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def save(self, state: Memory) -> None:
        """Replace the file as a whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".new")
        with aside.open("wb") as file:
            file.write(msgspec.msgpack.encode(state))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the source for one collector; the kernel frees it if we die."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CollectorBusyError(f"{self.path} is locked") from error
            yield
