"""Live: one screen for the on-call engineer."""

from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.histograms import QuantileBounds
from core.domain.ratios import change
from core.domain.reading import Reading, Reason
from core.domain.scope import Scope, Window
from core.views.first_tokens import FirstTokens, first_tokens
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.lines import LOCAL, Line, or_absent, prefill_lines, tokens_per_s
from core.views.pressure import PressureSums, pressure_sums
from core.views.requests import RequestSums, request_sums, share_line
from core.views.sums import CacheSums, Inflated, cache_sums, ratio_line


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
    pressure = current.pressure
    return LiveView(
        fleet=fleet,
        tiles=tuple(Tile(r, change(r, before.get(r.metric))) for r in current.readings()),
        inflated=current.sums.inflated(),
        broken=current.sums.broken("engine_hit_ratio"),
        hit_ratio=ratio_line("engine_hit_ratio", fleet.bins, current.sums.sound_in(over_time)),
        gateway_share=share_line(store, fleet),
        prefill=prefill_lines(fleet.bins, current.prefill),
        kv_usage_max=pressure.kv_usage_max(),
        kv_usage_mean=pressure.kv_usage_mean(),
        preemptions=pressure.preemptions(),
        running=pressure.running(),
        waiting=pressure.waiting(),
        ttft=current.ttft.lines(fleet.bins),
        ttft_left_out=current.ttft.engines_left_out,
        engines=_engine_rows(fleet, current),
    )


@dataclass(frozen=True)
class _Numbers:
    """Sums of one window, as read."""

    fleet: Fleet
    sums: CacheSums
    requests: RequestSums
    prefill: tuple[Row, ...]
    pressure: PressureSums
    ttft: FirstTokens

    @classmethod
    def load(cls, store: Store, fleet: Fleet, window: Window) -> "_Numbers":
        params = query_params(fleet.scope, window)
        return cls(
            fleet=fleet,
            sums=cache_sums(store, fleet, window),
            requests=request_sums(store, fleet, window),
            prefill=tuple(store.read("prefill_by_source", params)),
            pressure=pressure_sums(store, fleet, window),
            ttft=first_tokens(store, params),
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
            self.ttft.reading(self.fleet, "ttft_p95"),
        )

    def _cached_prefill(self) -> Reading:
        local = [row for row in self.prefill if row.source == LOCAL]
        return or_absent(
            "cached_prefill_tokens_per_s",
            tokens_per_s(local),
            self.fleet.absent("prompt_tokens_by_source"),
            self.fleet.coverage_of_rows(self.pressure.events),
        )


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
