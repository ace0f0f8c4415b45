"""When every target was scraped, and whether it answered."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.catalogue import Kind
from core.collect.slices import KeyedSeries, target_of
from core.collect.state import EngineTarget, Sample, State
from core.config import Settings
from core.domain.records import Bools, Floats, RawSeries, Target

GAPS_KEPT = 20
"""Distances between scrapes that an interval is the median of: holes are outvoted."""
DEFAULT_INTERVAL_S = 15.0
"""Used only for a target of which no two scrapes were ever seen."""


@dataclass(frozen=True)
class Scrapes:
    """Scrapes of every target in a slice, the newest one before the slice first.

    `outcomes` holds times and the samples of `up` there; a target without `up`
    (a server fed by remote write) is known by the times of its samples alone.
    `gaps_s` are settled distances between scrapes, `young_gaps_s` those of the
    slice, for a target that has no settled ones yet.
    """

    outcomes: Mapping[int, tuple[Floats, Floats]]
    gaps_s: Mapping[int, list[float]]
    young_gaps_s: Mapping[int, list[float]]

    @property
    def newest(self) -> dict[int, Sample]:
        """Newest scrape of every target that has `up`."""
        return {t: (float(at[-1]), float(up[-1])) for t, (at, up) in self.outcomes.items()}

    def interval_s(self, target: int) -> float | None:
        """Scrape interval of a target; None when no two scrapes were seen."""
        gaps = self.gaps_s.get(target) or self.young_gaps_s.get(target)
        return float(np.median(gaps)) if gaps else None

    def before(self, target: int, at: float) -> Sample | None:
        """The scrape of a target just before a time."""
        if target not in self.outcomes:
            return None
        times, up = self.outcomes[target]
        i = int(np.searchsorted(times, at - 1e-4)) - 1
        return (float(times[i]), float(up[i])) if i >= 0 else None

    def before_each(self, target: int, at: Floats) -> tuple[Floats, Bools]:
        """Time of the scrape just before each of several times, NaN where none is known.

        Second, whether it succeeded.
        """
        if target not in self.outcomes:
            return np.full(at.size, np.nan), np.zeros(at.size, dtype=bool)
        times, up = self.outcomes[target]
        i = np.searchsorted(times, at - 1e-4) - 1
        return np.where(i >= 0, times[i], np.nan), (i >= 0) & (up[i] == 1)

    def times(self, target: int, *, since: float) -> Floats:
        """Times at which a target was scraped, or tried to be."""
        if target not in self.outcomes:
            return np.zeros(0)
        times = self.outcomes[target][0]
        return times[times >= since]

    def remember(self, settle_to: float) -> tuple[dict[int, Sample], dict[int, list[float]]]:
        """Newest scrape and last distances of every target, as of `settle_to`."""
        last: dict[int, Sample] = {}
        for target, (times, up) in self.outcomes.items():
            before = int(np.searchsorted(times, settle_to)) - 1
            if before >= 0:
                last[target] = (float(times[before]), float(up[before]))
        return last, {t: gaps[-GAPS_KEPT:] for t, gaps in self.gaps_s.items() if gaps}


def read_scrapes(
    up: Iterable[RawSeries],
    times_of: Mapping[EngineTarget, Floats],
    targets: Collection[Target],
    state: State,
    settings: Settings,
    *,
    settle_to: float,
) -> Scrapes:
    """Join the scrapes of a slice to what the state remembers.

    `targets` are the addresses of engines; other scrapes of the same jobs are
    nobody's.
    """
    outcomes = {t: (np.array([at]), np.array([value])) for t, (at, value) in state.up.items()}
    for raw in up:
        for target in _matching(target_of(raw.labels, settings), targets):
            times, values = outcomes.get(target.target_id, (np.zeros(0), np.zeros(0)))
            later = raw.times > times[-1] if times.size else np.ones(raw.times.size, dtype=bool)
            outcomes[target.target_id] = (
                np.concatenate([times, raw.times[later]]),
                np.concatenate([values, raw.values[later]]),
            )
    outcomes = {target: found for target, found in outcomes.items() if found[0].size}
    seen = {target: times for (_, target), times in times_of.items()}
    seen |= {target: times for target, (times, _) in outcomes.items()}
    gaps = {
        target: [*state.scrape_gaps_s.get(target, []), *np.diff(times[times < settle_to]).tolist()]
        for target, times in seen.items()
    }
    young = {target: np.diff(times).tolist() for target, times in seen.items()}
    return Scrapes(outcomes, state.scrape_gaps_s | gaps, young)


def _matching(up: Target, targets: Collection[Target]) -> list[Target]:
    """Targets that a series of `up` is about: it may lack labels that engines have."""
    return [
        target
        for target in targets
        if (up.job, up.instance, up.replica) == (target.job, target.instance, target.replica)
        and up.cluster in (None, target.cluster)
        and up.namespace in (None, target.namespace)
        and up.pod in (None, target.pod)
    ]


def sample_times(keys: Sequence[KeyedSeries]) -> dict[EngineTarget, Floats]:
    """Times at which each engine at an address gave any sample."""
    times: dict[EngineTarget, list[Floats]] = {}
    for key in keys:
        if key.name.instrument.kind is not Kind.INFO:
            times.setdefault(key.place, []).append(key.raw.times)
    return {place: np.unique(np.concatenate(parts)) for place, parts in times.items()}
