"""Live: one screen for the on-call engineer."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from core.cache.store import Row, Store
from core.domain.gauges import rate_per_s
from core.domain.histograms import QuantileBounds, quantile_bounds
from core.domain.ratios import change
from core.domain.reading import Reading, Reason
from core.domain.scope import Scope, Window
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.pressure import Line, PressureSums, or_absent, pressure_sums
from core.views.requests import RequestSums, request_sums, share_line
from core.views.sums import CacheSums, Inflated, cache_sums, ratio_line

LOCAL, EXTERNAL, COMPUTED = "local_cache_hit", "external_kv_transfer", "local_compute"
PREFILL = {
    "cached_prefill_tokens_per_s": LOCAL,
    "external_prefill_tokens_per_s": EXTERNAL,
    "computed_prefill_tokens_per_s": COMPUTED,
}
QUANTILES = {"ttft_p50": 0.5, "ttft_p95": 0.95}


@dataclass(frozen=True)
class Tile:
    """One number at the top, and its change against the comparison period."""

    reading: Reading
    change: float | None


@dataclass(frozen=True)
class EngineRow:
    """One engine of the table, worst first."""

    name: str
    hit_ratio: Reading
    kv_usage_max: Reading
    waiting: Reading
    preemptions: Reading
    restarted: int
    age_s: float
    up: bool | None


@dataclass(frozen=True)
class LiveView:
    """Everything the Live page shows."""

    fleet: Fleet
    tiles: tuple[Tile, ...]
    inflated: tuple[Inflated, ...]
    broken: tuple[str, ...]
    hit_ratio: tuple[Reading, ...]
    gateway_share: tuple[Reading, ...]
    prefill: dict[str, Line]
    kv_usage_max: Line
    kv_usage_mean: Line
    preemptions: Line
    running: Line
    waiting: dict[str, Line]
    ttft: dict[str, tuple[QuantileBounds | None, ...]]
    ttft_left_out: int
    engines: tuple[EngineRow, ...]

    def reading(self, metric: str) -> Reading:
        """The tile of a metric."""
        return next(tile.reading for tile in self.tiles if tile.reading.metric == metric)


def build(store: Store, scope: Scope, now: float) -> LiveView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    current = _Numbers.load(store, fleet, fleet.window)
    earlier_window = fleet.window.earlier(scope.compare)
    earlier = _Numbers.load(store, fleet, earlier_window) if earlier_window else None
    before = {r.metric: r for r in earlier.readings()} if earlier else {}
    over_time = store.read("hit_ratio_over_time", query_params(scope, fleet.window))
    ttft, pressure = current.ttft, current.pressure
    return LiveView(
        fleet=fleet,
        tiles=tuple(Tile(r, change(r, before.get(r.metric))) for r in current.readings()),
        inflated=current.sums.inflated(),
        broken=current.sums.broken("engine_hit_ratio"),
        hit_ratio=ratio_line("engine_hit_ratio", fleet.bins, current.sums.sound_in(over_time)),
        gateway_share=share_line(store, fleet),
        prefill={
            metric: tuple(_prefill_rate(current.prefill, source, {b}) for b in fleet.bins)
            for metric, source in PREFILL.items()
        },
        kv_usage_max=pressure.kv_usage_max(),
        kv_usage_mean=pressure.kv_usage_mean(),
        preemptions=pressure.preemptions(),
        running=pressure.running(),
        waiting=pressure.waiting(),
        ttft={
            metric: tuple(ttft.quantile(q, {b}) for b in fleet.bins)
            for metric, q in QUANTILES.items()
        },
        ttft_left_out=ttft.engines_left_out,
        engines=_engine_rows(fleet, current),
    )


@dataclass(frozen=True)
class _Ttft:
    """First-token buckets of the engines that share one set of edges."""

    edges: tuple[float, ...]
    buckets: dict[int, dict[float, float]]
    observed: frozenset[int]
    engines_left_out: int

    def quantile(self, q: float, bins: set[int]) -> QuantileBounds | None:
        """The quantile over some bins as a bucket interval."""
        if not bins & self.observed:
            return None
        counts = dict.fromkeys(self.edges, 0.0)
        for b in bins & self.buckets.keys():
            for edge, count in self.buckets[b].items():
                counts[edge] += count
        return quantile_bounds(sorted(counts.items()), q)


@dataclass(frozen=True)
class _Numbers:
    """Sums of one window, as read."""

    fleet: Fleet
    sums: CacheSums
    requests: RequestSums
    prefill: tuple[Row, ...]
    pressure: PressureSums
    first_tokens: tuple[Row, ...]
    ttft: _Ttft

    @classmethod
    def load(cls, store: Store, fleet: Fleet, window: Window) -> "_Numbers":
        params = query_params(fleet.scope, window)
        counts = tuple(store.read("ttft_counts", params))
        return cls(
            fleet=fleet,
            sums=cache_sums(store, fleet, window),
            requests=request_sums(store, fleet, window),
            prefill=tuple(store.read("prefill_by_source", params)),
            pressure=pressure_sums(store, fleet, window),
            first_tokens=counts,
            ttft=_ttft(store.read("ttft_buckets", params), counts),
        )

    def readings(self) -> tuple[Reading, ...]:
        """The tiles, in order."""
        return (
            self.sums.ratio("engine_hit_ratio"),
            self.requests.share(),
            self._cached_prefill(),
            self.pressure.kv_reading(),
            self.pressure.events_reading(),
            self.pressure.waiting_reading(),
            self._ttft_p95(),
        )

    def _cached_prefill(self) -> Reading:
        bins = {int(row.bin) for row in self.prefill}
        return or_absent(
            "cached_prefill_tokens_per_s",
            _prefill_rate(self.prefill, LOCAL, bins),
            self.fleet.absent("prompt_tokens_by_source"),
            self.pressure.coverage(self.pressure.events),
        )

    def _ttft_p95(self) -> Reading:
        bounds = self.ttft.quantile(QUANTILES["ttft_p95"], set(self.ttft.observed))
        if bounds is None:
            absent = self.fleet.absent("time_to_first_token_seconds")
            quiet = Reason.NO_TRAFFIC if self.ttft.observed else absent
            return Reading("ttft_p95", None, quiet)
        high = inf if bounds.censored else bounds.upper
        return Reading(
            "ttft_p95",
            bounds.estimate,
            coverage=self.pressure.coverage(self.first_tokens),
            low=bounds.lower,
            high=high,
        )


def _ttft(buckets: Sequence[Row], counts: Sequence[Row]) -> _Ttft:
    by_edges: dict[str, dict[int, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    weight: dict[str, float] = defaultdict(float)
    for row in buckets:
        by_edges[row.edges][int(row.bin)][row.le] = row.requests
        weight[row.edges] += row.requests
    chosen = max(weight, key=lambda edges: weight[edges], default="")
    observed = frozenset(int(row.bin) for row in counts if row.requests is not None)
    edges = tuple(sorted(float(edge) for edge in chosen.split()))
    return _Ttft(edges, by_edges[chosen], observed, max(0, len(weight) - 1))


def _prefill_rate(rows: Iterable[Row], source: str, bins: set[int]) -> float | None:
    """Tokens per observed second of one source over some bins."""
    mine = [r for r in rows if r.source == source and int(r.bin) in bins and r.tokens is not None]
    if not mine:
        return None
    return rate_per_s(sum(r.tokens for r in mine), sum(r.observed_s for r in mine))


def _engine_rows(fleet: Fleet, numbers: _Numbers) -> tuple[EngineRow, ...]:
    rows = []
    for engine in fleet.engines:
        mine = {engine.engine_id}
        hit_ratio = numbers.sums.ratio("engine_hit_ratio", engines=mine)
        rows.append(
            EngineRow(
                name=engine.name,
                hit_ratio=hit_ratio,
                kv_usage_max=numbers.pressure.kv_reading(mine),
                waiting=numbers.pressure.waiting_reading(mine),
                preemptions=numbers.pressure.events_reading(mine),
                restarted=hit_ratio.restarted,
                age_s=fleet.now - engine.last_at,
                up=engine.up,
            )
        )
    return tuple(sorted(rows, key=_worst_first))


def _worst_first(row: EngineRow) -> tuple[int, float]:
    """Contract errors, then unknown, then known ratios from low to high, then quiet ones."""
    if row.hit_ratio.value is not None:
        return (2, row.hit_ratio.value)
    rank = {Reason.CONTRACT_ERROR: 0, Reason.NO_TRAFFIC: 3, Reason.CACHING_OFF: 4}
    return (rank.get(row.hit_ratio.reason or Reason.NOT_EXPORTED, 1), 0.0)
