"""What passed the simulated gateway, and what is known of it.

The tokens of all requests of an engine in a scrape interval add up to what its
counters gained there. Everything follows from the seed, the epoch and the cycles
so far; no clock here.
"""

from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from core.demo.arrivals import OUTSIDE, Kind, arrivals, moments
from core.demo.evaluators import scores
from core.demo.fleet import FLEET
from core.demo.identity import Identity
from core.demo.rows import cycle_rows
from core.demo.sessions import Calls, Conversations
from core.demo.shelf import CYCLE_MS, Records, Shelves
from core.demo.simulate import KEPT_CYCLES
from core.demo.traffic import engine_cycle
from core.domain.records import Bools, Ints

REQUESTS = 1_000
"""Marks the draws of requests apart from those of engines."""
STORED_AFTER_MS = 1_000
"""A row is stored so long after its end."""
NOT_OBSERVED = min(OUTSIDE)


class KnownSum(NamedTuple):
    """How many there are of a kind, and the tokens the engines counted for them."""

    number: int
    prompt_tokens: int
    cached_tokens: int


class Gateway:
    """Rows and scores of one fleet since its epoch, made when first asked for."""

    def __init__(self, *, seed: int, epoch: float) -> None:
        self.epoch = epoch
        self.identity = Identity(seed=seed, epoch=epoch)
        self.rows = Shelves(epoch)
        self.scores = Shelves(epoch)
        self._seed = seed
        self._conversations = Conversations()
        self._serial = 0
        self._made = 0
        self._lock = Lock()

    def make_until(self, now: float) -> None:
        """Make all cycles that have begun; old ones are forgotten."""
        with self._lock:
            while self._made * CYCLE_MS <= (now - self.epoch) * 1000:
                self._make(self._made)
                self._made += 1

    def _make(self, number: int) -> None:
        rng = np.random.default_rng([self._seed, REQUESTS, number])
        cycles = [
            engine_cycle(place, number, seed=self._seed, epoch=self.epoch)
            for place in range(len(FLEET))
        ]
        found = arrivals(cycles, self.epoch, rng)
        drawn, places = moments(found, self.epoch, rng)
        calls = _taken(self._conversations.calls(drawn), places)
        requests, around = cycle_rows(found, calls, self.identity, rng, serial=self._serial)
        self._serial += requests.size
        self.rows.add(np.concatenate([requests, around]))
        self.scores.add(scores(requests, self.identity, self.epoch, rng))
        for shelves in (self.rows, self.scores):
            shelves.forget(number - KEPT_CYCLES)

    def requests(self, start: float, end: float) -> Iterator[Records]:
        """Requests the engines counted with first tokens in start < time <= end, seen or not.

        One array for every cycle they began in.
        """
        low, high = round(start * 1000), round(end * 1000)
        for records in self.rows.between(low - CYCLE_MS, high + 1):
            first = records["time"] + records["first"]
            counted = (records["first"] >= 0) & (first > low) & (first <= high)
            yield records[counted]

    def known(self, start: float, end: float, now: float) -> dict[Kind, KnownSum]:
        """What began in start <= time < end and can be read by now, by kind.

        Requests without a row are there too: of them, what began.
        """
        self.make_until(now)
        window = list(self.rows.between(start * 1000, end * 1000))
        parts = [part[stored(part, now) | (part["kind"] >= NOT_OBSERVED)] for part in window]
        return {kind: _sum(parts, kind) for kind in Kind}


def stored(rows: Records, now: float) -> Bools:
    """Which rows can be read at a time: a while after their end."""
    ends = rows["time"] + rows["took"] + STORED_AFTER_MS
    readable: Bools = (rows["kind"] < NOT_OBSERVED) & (ends <= now * 1000)
    return readable


@lru_cache(maxsize=1)
def gateway_of(seed: int, epoch: float) -> Gateway:
    """The gateway of a fleet; whoever asks in this process shares it."""
    return Gateway(seed=seed, epoch=epoch)


def _sum(parts: list[Records], kind: Kind) -> KnownSum:
    chosen = [part[part["kind"] == kind] for part in parts]
    return KnownSum(
        sum(part.size for part in chosen),
        sum(int(part["prompt"].sum(dtype=np.int64)) for part in chosen),
        sum(int(part["cached"].sum(dtype=np.int64)) for part in chosen),
    )


def _taken(calls: Calls, places: Ints) -> Calls:
    """The calls in another order."""
    return Calls(**{name: getattr(calls, name)[places] for name in Calls.__dataclass_fields__})
