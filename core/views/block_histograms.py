"""Histograms of sampled KV blocks: engines that share their edges, and what they tell."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import inf

from core.cache.store import Row
from core.domain.histograms import quantile_bounds
from core.domain.order_statistics import sampled_bounds
from core.domain.reading import Reading, Reason, Reported
from core.views.fleet import Fleet

IDLE = "kv_block_idle_before_evict_seconds"
INSTRUMENTS = {
    "block_idle_s": IDLE,
    "block_reuse_gap_s": "kv_block_reuse_gap_seconds",
    "block_lifetime_s": "kv_block_lifetime_seconds",
}
QUANTILES = (0.5, 0.9, 0.95, 0.99)
MOST_GAPS = 3
"""Gaps that one block can report."""
Buckets = tuple[tuple[float, float], ...]
Held = tuple[tuple[float, ...], dict[float, float]]
"""All edges of one engine's histogram, and what fell into those that held anything."""


class Residency(StrEnum):
    """What an engine tells of its sampled blocks."""

    MEASURED = "measured"
    NO_EVICTIONS = "no_evictions"
    CACHING_OFF = "caching_off"
    FLAG_OFF = "flag_off"
    STATS_OFF = "stats_off"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Quantile:
    """One quantile: its bucket, and the edges within which sampling leaves it.

    `sampled` is None where so few values give no limit on either side.
    """

    q: float
    bucket: Reading
    sampled: Reading | None


@dataclass(frozen=True)
class Distribution:
    """One histogram of the engines whose edges hold most of it.

    `buckets` are upper edges with what fell into each alone; `beyond` is how much of it
    lies above the largest finite edge. `left_out` engines have other edges; `broken`
    ones have cumulative counts that fall.
    """

    metric: str
    n: int
    buckets: Buckets
    quantiles: tuple[Quantile, ...]
    beyond: Reported | None
    engines: tuple[str, ...]
    left_out: tuple[str, ...]
    broken: tuple[str, ...]
    reason: Reason | None

    @property
    def top(self) -> float:
        """The largest finite edge."""
        return self.buckets[-2][0]


@dataclass(frozen=True)
class Blocks:
    """Rows of all engines in the window."""

    fleet: Fleet
    buckets: tuple[Row, ...]
    counts: tuple[Row, ...]

    def counted(self, instrument: str) -> dict[int, float]:
        """What each observed engine counted in a histogram."""
        return self._counted[instrument]

    @cached_property
    def _counted(self) -> dict[str, dict[int, float]]:
        return {
            instrument: {
                row.engine_id: row.blocks
                for row in self.counts
                if row.instrument == instrument and row.blocks is not None
            }
            for instrument in INSTRUMENTS.values()
        }

    @cached_property
    def held(self) -> dict[str, dict[int, Held]]:
        """Edges and buckets of each engine, by histogram."""
        return {
            instrument: _by_engine(r for r in self.buckets if r.instrument == instrument)
            for instrument in INSTRUMENTS.values()
        }

    @cached_property
    def states(self) -> dict[int, Residency]:
        """What each engine in scope tells."""
        return {e.engine_id: self._state(e.engine_id) for e in self.fleet.engines}

    def _state(self, engine_id: int) -> Residency:
        if engine_id not in self._exporting(IDLE):
            others = any(engine_id in self._exporting(name) for name in self.fleet.exports)
            return Residency.FLAG_OFF if others else Residency.STATS_OFF
        if engine_id in self.fleet.caching_off:
            return Residency.CACHING_OFF
        blocks = self.counted(IDLE).get(engine_id)
        if blocks is None:
            return Residency.UNKNOWN
        return Residency.MEASURED if blocks else Residency.NO_EVICTIONS

    def _exporting(self, instrument: str) -> frozenset[int]:
        return self.fleet.exports.get(instrument, {}).get("exported", frozenset())

    def evictions(self) -> Reading:
        """Sampled evictions of all engines that told any number."""
        counted = self.counted(IDLE)
        mine = [row for row in self.counts if row.instrument == IDLE]
        coverage = self.fleet.coverage_of(counted.keys(), sum(row.samples for row in mine))
        if not counted:
            return Reading("sampled_evictions", None, self.absent(IDLE), coverage=coverage)
        restarted = sum(row.resets for row in mine)
        total = sum(counted.values())
        return Reading("sampled_evictions", total, coverage=coverage, restarted=restarted)

    def too_many_gaps(self) -> tuple[str, ...]:
        """Engines with more gaps than their evicted blocks can report."""
        evicted = self.counted(IDLE)
        gaps = self.counted(INSTRUMENTS["block_reuse_gap_s"])
        return tuple(
            self.fleet.name(e)
            for e, n in gaps.items()
            if e in evicted and n > MOST_GAPS * evicted[e]
        )

    def absent(self, instrument: str) -> Reason:
        """Why no engine told any number of a histogram."""
        reason = self.fleet.absent(instrument)
        flag_off = reason is Reason.NOT_EXPORTED and Residency.FLAG_OFF in self.states.values()
        return Reason.FLAG_OFF if flag_off else reason

    def distribution(self, metric: str, engines: Collection[int] | None = None) -> Distribution:
        """One histogram over some engines (default: all), never over different edges."""
        instrument = INSTRUMENTS[metric]
        found = self.held[instrument]
        if engines is not None:
            found = {e: found[e] for e in engines if e in found}
        broken = {e for e, (_, held) in found.items() if min(held.values()) < 0}
        sound = {e: one for e, one in found.items() if e not in broken and any(one[1].values())}
        chosen, others = _most_common(sound)
        buckets = _summed([held for edges, held in sound.values() if edges == chosen], chosen)
        n = round(sum(count for _, count in buckets))
        reason = None if n else self._empty(instrument, engines, broken=bool(broken))
        return Distribution(
            metric=metric,
            n=n,
            buckets=buckets,
            quantiles=tuple(_quantile(metric, buckets, q, reason) for q in QUANTILES),
            beyond=Reported(round(buckets[-1][1]), n) if n else None,
            engines=self._names(e for e, one in sound.items() if one[0] == chosen),
            left_out=self._names(others),
            broken=self._names(broken),
            reason=reason,
        )

    def _names(self, engines: Iterable[int]) -> tuple[str, ...]:
        wanted = set(engines)
        return tuple(e.name for e in self.fleet.engines if e.engine_id in wanted)

    def _empty(self, instrument: str, engines: Iterable[int] | None, *, broken: bool) -> Reason:
        if broken:
            return Reason.CONTRACT_ERROR
        counted = self.counted(instrument).keys()
        mine = counted if engines is None else counted & set(engines)
        if not mine:
            return self.absent(instrument)
        if self.fleet.caching_off.issuperset(mine):
            return Reason.CACHING_OFF
        evicted = self.counted(IDLE)
        some = any(evicted[e] for e in mine if e in evicted)
        return Reason.NO_REUSE if some and instrument != IDLE else Reason.NO_EVICTIONS


def median_over_time(
    blocks: Blocks, rows: Sequence[Row], counts: Sequence[Row]
) -> tuple[dict[str, tuple[Reading, ...]], dict[str, tuple[float | None, ...]]]:
    """Median bucket of idle times, and sampled evictions, of each engine per chart bin."""
    held: dict[tuple[int, int], dict[float, float]] = defaultdict(dict)
    for row in rows:
        held[row.engine_id, int(row.bin)][row.le] = row.blocks
    seen = {(r.engine_id, int(r.bin)): r.blocks for r in counts if r.blocks is not None}
    edges = {e: found[0] for e, found in blocks.held[IDLE].items()}
    medians, evictions = {}, {}
    for engine in blocks.fleet.engines:
        e = engine.engine_id
        why = _silence(blocks.states[e])
        evictions[engine.name] = tuple(seen.get((e, b)) for b in blocks.fleet.bins)
        medians[engine.name] = tuple(
            Reading("block_idle_s", None, why or Reason.TOO_FEW_SCRAPES)
            if (e, b) not in seen or why
            else _median(held.get((e, b)), edges.get(e))
            for b in blocks.fleet.bins
        )
    return medians, evictions


def _silence(state: Residency) -> Reason | None:
    return {
        Residency.FLAG_OFF: Reason.FLAG_OFF,
        Residency.STATS_OFF: Reason.NOT_EXPORTED,
        Residency.CACHING_OFF: Reason.CACHING_OFF,
    }.get(state)


def _median(held: Mapping[float, float] | None, edges: tuple[float, ...] | None) -> Reading:
    if not held or edges is None:
        return Reading("block_idle_s", None, Reason.NO_EVICTIONS)
    reason = Reason.CONTRACT_ERROR if min(held.values()) < 0 else Reason.NO_EVICTIONS
    return _quantile("block_idle_s", _summed([held], edges), 0.5, reason).bucket


def _by_engine(rows: Iterable[Row]) -> dict[int, Held]:
    """Edges of each engine's histogram, and what fell into each bucket."""
    found: dict[int, Held] = {}
    for row in rows:
        edges = tuple(sorted(float(edge) for edge in row.edges.split()))
        found.setdefault(row.engine_id, (edges, {}))[1][row.le] = row.blocks
    return found


def _most_common(
    sound: Mapping[int, Held],
) -> tuple[tuple[float, ...], list[int]]:
    """The set of edges that holds most blocks, and the engines with others."""
    weight: dict[tuple[float, ...], float] = defaultdict(float)
    for edges, held in sound.values():
        weight[edges] += sum(held.values())
    chosen = max(weight, key=lambda edges: weight[edges], default=())
    return chosen, [e for e, (edges, _) in sound.items() if edges != chosen]


def _summed(histograms: Iterable[Mapping[float, float]], edges: Sequence[float]) -> Buckets:
    counts = dict.fromkeys(edges, 0.0)
    for held in histograms:
        for edge, count in held.items():
            counts[edge] += count
    return tuple(sorted(counts.items()))


def _quantile(metric: str, buckets: Buckets, q: float, reason: Reason | None) -> Quantile:
    bounds = quantile_bounds(buckets, q)
    limits = sampled_bounds(buckets, q)
    if bounds is None or limits is None:
        why = reason if reason is not None else Reason.CONTRACT_ERROR
        return Quantile(q, Reading(metric, None, why), None)
    bucket = Reading(metric, bounds.estimate, low=bounds.lower, high=bounds.upper)
    low, high = limits
    if low <= 0 and high == inf:
        return Quantile(q, bucket, None)
    return Quantile(q, bucket, Reading(metric, low, low=low, high=high))
