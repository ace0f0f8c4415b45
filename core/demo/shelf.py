"""Records in order of time, a story cycle to a shelf.

A record is a row of a structured array with at least `time`, in milliseconds since
the epoch, and `key`, which orders records of one millisecond.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.demo.fleet import CYCLE_S
from core.domain.records import Bools, Ints

Records = NDArray[Any]
CYCLE_MS = CYCLE_S * 1000
FIRST_LOOK = 2048
"""Records looked at before more are; doubled as long as a page is not full."""


class Place(NamedTuple):
    """Where a page ended: the last record it holds."""

    time: int
    key: int


class Shelves:
    """Records by the cycle of their time; a page is made without touching the others."""

    def __init__(self, epoch: float) -> None:
        self._epoch_ms = round(epoch * 1000)
        self._shelves: dict[int, tuple[Ints, Records]] = {}

    def add(self, records: Records) -> None:
        """Put records where their time belongs."""
        numbers = (records["time"] - self._epoch_ms) // CYCLE_MS
        for number in np.unique(numbers).tolist():
            here = records[numbers == number]
            if number in self._shelves:
                here = np.concatenate([self._shelves[number][1], here])
            here = here[np.lexsort((here["key"], here["time"]))]
            self._shelves[number] = (np.ascontiguousarray(here["time"]), here)

    def forget(self, number: int) -> None:
        """Drop cycles up to one."""
        for old in [one for one in self._shelves if one <= number]:
            del self._shelves[old]

    def between(self, start_ms: float, end_ms: float) -> Iterator[Records]:
        """Records with start <= time < end, one cycle after the other, newest cycle first."""
        for number in sorted(self._shelves, reverse=True):
            times, records = self._shelves[number]
            low, high = times.searchsorted([start_ms, end_ms], "left").tolist()
            if low < high:
                yield records[low:high]

    def page(
        self,
        size: int,
        wanted: Callable[[Records], Bools],
        *,
        start_ms: float,
        end_ms: float,
        after: Place | None = None,
    ) -> Records | None:
        """Newest wanted records of a window, from a place on; None where there are none."""
        found, missing = [], size
        if after is not None:
            end_ms = min(end_ms, after.time + 1)
        for records in self.between(start_ms, end_ms):
            for part in _from_the_end(records):
                hits = wanted(part) if after is None else wanted(part) & _beyond(part, after)
                found.append(part[np.flatnonzero(hits)[::-1][:missing]])
                missing -= found[-1].size
                if not missing:
                    return np.concatenate(found)
        return np.concatenate(found) if missing < size else None


def _beyond(records: Records, after: Place) -> Bools:
    time, key = records["time"], records["key"]
    beyond: Bools = (time < after.time) | ((time == after.time) & (key < after.key))
    return beyond


def _from_the_end(records: Records) -> Iterator[Records]:
    high, step = records.size, FIRST_LOOK
    while high > 0:
        low = max(0, high - step)
        yield records[low:high]
        high, step = low, step * 2
