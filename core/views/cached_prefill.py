"""Cached prefill: prompt tokens cached and computed, where uncached ones remain, and where
follow-up turns were asked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.histograms import QuantileBounds
from core.domain.prefill import EXTERNAL, LOCAL
from core.domain.ratios import change
from core.domain.reading import Reading
from core.domain.scope import Scope, Window
from core.views.accounts import (
    BY_SOURCE,
    AccountRow,
    DifferenceRow,
    EngineTokens,
    PrefillSums,
    accounts,
    by_engine,
    differences,
    prefill_sums,
)
from core.views.affinity import Affinity, load_affinity
from core.views.first_tokens import FirstTokens, first_tokens
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.lines import (
    PREFILL,
    Line,
    line,
    or_absent,
    prefill_lines,
    tokens_per_s,
)
from core.views.live import Tile
from core.views.pressure import PressureSums, pressure_sums
from core.views.uncached import Uncached, load_uncached

THROUGHPUT = {
    "prompt_tokens_per_s": "prompt_tokens",
    "generation_tokens_per_s": "generation_tokens",
}


@dataclass(frozen=True)
class CachedPrefillView:
    """Everything the Cached prefill page shows."""

    fleet: Fleet
    tiles: tuple[Tile, ...]
    beside: tuple[Tile, ...]
    prefill: Mapping[str, Line]
    accounts: tuple[AccountRow, ...]
    differences: tuple[DifferenceRow, ...]
    throughput: Mapping[str, Line]
    running: Line
    waiting: Mapping[str, Line]
    ttft: Mapping[str, tuple[QuantileBounds | None, ...]]
    ttft_left_out: int
    engines: tuple[EngineTokens, ...]
    uncached: Uncached
    affinity: Affinity
    affinity_tiles: tuple[Tile, ...]

    def reading(self, metric: str) -> Reading:
        """The tile of a metric."""
        every = (*self.tiles, *self.beside, *self.affinity_tiles)
        return next(tile.reading for tile in every if tile.reading.metric == metric)


def build(store: Store, scope: Scope, now: float) -> CachedPrefillView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    current = _Numbers.load(store, fleet, fleet.window)
    window = fleet.window.earlier(scope.compare)
    earlier = _Numbers.load(store, fleet, window) if window else None
    return CachedPrefillView(
        fleet=fleet,
        tiles=_tiles(current.headline(), earlier.headline() if earlier else ()),
        beside=_tiles(current.beside(), earlier.beside() if earlier else ()),
        prefill=prefill_lines(fleet.bins, current.prefill),
        accounts=accounts(current.sums),
        differences=differences(current.sums),
        throughput={
            metric: line(fleet.bins, current.throughput_of(name), tokens_per_s)
            for metric, name in THROUGHPUT.items()
        },
        running=current.pressure.running(),
        waiting=current.pressure.waiting(),
        ttft=current.ttft.lines(fleet.bins),
        ttft_left_out=current.ttft.engines_left_out,
        engines=by_engine(current.sums),
        uncached=load_uncached(store, fleet),
        affinity=current.affinity,
        affinity_tiles=_tiles(
            current.affinity.readings, earlier.affinity.readings if earlier else ()
        ),
    )


def _tiles(now: Iterable[Reading], before: Iterable[Reading]) -> tuple[Tile, ...]:
    past = {reading.metric: reading for reading in before}
    return tuple(Tile(reading, change(reading, past.get(reading.metric))) for reading in now)


@dataclass(frozen=True)
class _Numbers:
    """Sums of one window, as read."""

    fleet: Fleet
    sums: PrefillSums
    prefill: tuple[Row, ...]
    throughput: tuple[Row, ...]
    pressure: PressureSums
    ttft: FirstTokens
    affinity: Affinity

    @classmethod
    def load(cls, store: Store, fleet: Fleet, window: Window) -> "_Numbers":
        params = query_params(fleet.scope, window)
        return cls(
            fleet=fleet,
            sums=prefill_sums(store, fleet, window),
            prefill=tuple(store.read("prefill_by_source", params)),
            throughput=tuple(store.read("throughput", params)),
            pressure=pressure_sums(store, fleet, window),
            ttft=first_tokens(store, params),
            affinity=load_affinity(store, fleet, window),
        )

    def throughput_of(self, instrument: str) -> list[Row]:
        """Rows of one counter of tokens."""
        return [row for row in self.throughput if row.instrument == instrument]

    def headline(self) -> tuple[Reading, ...]:
        """Shares and rates of prompt tokens by source."""
        return (
            self.sums.source_share("prefill_cached_share", LOCAL),
            self.sums.source_share("prefill_external_share", EXTERNAL),
            *(self._by_source(metric, source) for metric, source in PREFILL.items()),
        )

    def beside(self) -> tuple[Reading, ...]:
        """What moves with reuse, and with much else."""
        return (
            *(self._rate(metric, name) for metric, name in THROUGHPUT.items()),
            self.ttft.reading(self.fleet, "ttft_p50"),
            self.ttft.reading(self.fleet, "ttft_p95"),
            self.pressure.waiting_reading(),
        )

    def _by_source(self, metric: str, source: str) -> Reading:
        counted = self.sums.tokens(metric, self.sums.amounts(BY_SOURCE, source), BY_SOURCE)
        value = tokens_per_s(row for row in self.prefill if row.source == source)
        return or_absent(metric, value, self.fleet.absent(BY_SOURCE), counted.coverage)

    def _rate(self, metric: str, name: str) -> Reading:
        counted = self.sums.tokens(metric, self.sums.amounts(name), name)
        value = tokens_per_s(self.throughput_of(name))
        return or_absent(metric, value, self.fleet.absent(name), counted.coverage)
