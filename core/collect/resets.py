"""Resets of the prefix cache that somebody asked for, as the API server counted the calls.

vLLM answers `/reset_prefix_cache` with success or without; the counter cannot tell
which, so a change says that a reset was asked for. The series names neither engine nor
model: it concerns every engine at its address.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.collect.changes import found
from core.collect.gateway import MISSED_INTERVALS
from core.collect.scrapes import DEFAULT_INTERVAL_S, Scrapes
from core.collect.slices import target_of
from core.collect.state import EngineMemory, EngineTarget, Sample, State
from core.config import Settings
from core.domain.levers import LeverKind
from core.domain.records import Bools, Change, Floats, RawSeries, stable_id

REFUSED = ("4", "5")
"""First digit of a status that did nothing, such as a missing key."""


@dataclass(frozen=True)
class Resets:
    """Changes found, the newest settled sample of every series, and since when they are read."""

    changes: list[Change]
    last: dict[int, Sample]
    since: float


def read_resets(
    calls: Iterable[RawSeries],
    places: Mapping[EngineTarget, EngineMemory],
    duplicates: Mapping[EngineTarget, EngineTarget],
    scrapes: Scrapes,
    state: State,
    settings: Settings,
    *,
    settle_to: int,
) -> Resets:
    """Find rises of the counter of calls.

    The series is born with the first call after a start of the server. A first sight is
    no call, unless the scrape just before it succeeded without it.
    """
    since = float(state.settled) if state.resets_since is None else state.resets_since
    asked: dict[tuple[int, float], float] = defaultdict(float)
    last: dict[int, Sample] = {}
    for raw in calls:
        key = stable_id("cache reset", sorted(raw.labels.items()))
        target = target_of(raw.labels, settings).target_id
        good = np.isfinite(raw.values) & (raw.values >= 0)
        times, values = raw.times[good], raw.values[good]
        if raw.labels.get("status", "").startswith(REFUSED) or not times.size:
            continue
        known = state.last.get(key)
        rises = _rises(values, known, _begun(times, known, scrapes, target, since=since))
        for i in np.flatnonzero(rises > 0):
            asked[target, float(times[i])] += float(rises[i])
        settled = np.flatnonzero(times < settle_to)
        if settled.size:
            last[key] = (float(times[settled[-1]]), float(values[settled[-1]]))
    shown = [place for place in places if place not in duplicates]
    return Resets(_changes(asked, shown), last, since)


def _rises(values: Floats, known: Sample | None, begun: Bools) -> Floats:
    """Calls at each sample since the one before; 0 where nobody can say.

    After a fall, and where the series began, all that it counts is new.
    """
    previous = np.concatenate([[np.nan if known is None else known[1]], values[:-1]])
    rises: Floats = np.where(begun | (values < previous), values, values - previous)
    return np.where(np.isnan(rises), 0.0, rises)


def _begun(
    times: Floats, known: Sample | None, scrapes: Scrapes, target: int, *, since: float
) -> Bools:
    """Whether a series began at a sample: the scrape before succeeded without it.

    Only where samples carry the times of scrapes: deduplicated storage may mix two.
    """
    scraped, answered = scrapes.before_each(target, times)
    previous = np.concatenate([[np.nan if known is None else known[0]], times[:-1]])
    apart = MISSED_INTERVALS * (scrapes.interval_s(target) or DEFAULT_INTERVAL_S)
    missed = (scraped > previous) & (times - previous > apart)
    first = np.isnan(previous) & (scraped >= since)
    begun: Bools = answered & (missed | first)
    return begun & np.isin(times, scrapes.times(target, since=-np.inf))


def _changes(
    asked: Mapping[tuple[int, float], float], places: Sequence[EngineTarget]
) -> list[Change]:
    """One change for each engine at the address."""
    return [
        found(LeverKind.CACHE_RESET, engine_id, at, _words(calls))
        for (target, at), calls in sorted(asked.items())
        for engine_id, where in sorted(places)
        if where == target
    ]


def _words(calls: float) -> str:
    """How often it was asked for between two scrapes.

    >>> _words(1.0), _words(3.0)
    ('asked for', 'asked for 3 times between two scrapes')
    """
    return "asked for" if calls == 1 else f"asked for {calls:.0f} times between two scrapes"
