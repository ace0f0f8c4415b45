"""Cache counters per engine, summed and turned into readings."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import is_inflated, ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.scope import Window
from core.views.fleet import Fleet, query_params

PAIRS: dict[str, tuple[str, str]] = {
    "engine_hit_ratio": ("hits_tokens", "queries_tokens"),
    "external_hit_ratio": ("external_hits_tokens", "external_queries_tokens"),
    "lookup_inflation": ("queries_tokens", "prompt_tokens"),
    "cached_prompt_ratio": ("prompt_cached_tokens", "prompt_tokens"),
}
"""Numerator and denominator column of each ratio."""
INSTRUMENTS_OF: dict[str, tuple[str, str]] = {
    "engine_hit_ratio": ("prefix_cache_hits", "prefix_cache_queries"),
    "external_hit_ratio": ("external_prefix_cache_hits", "external_prefix_cache_queries"),
    "lookup_inflation": ("prefix_cache_queries", "prompt_tokens"),
    "cached_prompt_ratio": ("prompt_tokens_cached", "prompt_tokens"),
}


@dataclass(frozen=True)
class Inflated:
    """An engine that counts lookups more than once."""

    name: str
    factor: Reading
    cached_prompt_ratio: Reading


@dataclass(frozen=True)
class CacheSums:
    """Increases of the cache counters of every engine in the window."""

    fleet: Fleet
    rows: tuple[Row, ...]

    def ratio(self, metric: str, *, engines: set[int] | None = None) -> Reading:
        """One ratio over some engines (default: all in scope), sums first.

        An engine counts only when both of its sums are known; one whose sums
        break the contract is left out of the fleet and named by `broken`.
        """
        top, bottom = PAIRS[metric]
        sound = [
            row
            for row in self.sound(engines, metric=metric)
            if getattr(row, top) is not None and getattr(row, bottom) is not None
        ]
        off = metric == "engine_hit_ratio" and self.fleet.caching_off.issuperset(
            row.engine_id for row in sound
        )
        return ratio_of_sums(
            metric,
            sum(getattr(r, top) for r in sound) if sound else None,
            sum(getattr(r, bottom) for r in sound) if sound else None,
            coverage=self.fleet.coverage(
                sum(r.covered_s for r in sound if r.covered_s is not None),
                len(sound),
                sum(r.samples for r in sound if r.samples is not None),
            ),
            restarted=sum(r.resets for r in sound if r.resets is not None),
            absent=self.fleet.absent(*INSTRUMENTS_OF[metric], engines=engines),
            quiet=Reason.CACHING_OFF if off else Reason.NO_TRAFFIC,
            at_most_one=metric != "lookup_inflation",
        )

    def sound(
        self, engines: set[int] | None = None, *, metric: str = "engine_hit_ratio"
    ) -> list[Row]:
        """Rows that a sum may use: all of one engine, of several those that keep the contract."""
        rows = [row for row in self.rows if engines is None or row.engine_id in engines]
        kept = [row for row in rows if not self._breaks(metric, row)]
        return kept if len(rows) > 1 and kept else rows

    def sound_in(self, rows: Sequence[Row]) -> list[Row]:
        """Those rows over time whose engine the fleet's sums use."""
        kept = {row.engine_id for row in self.sound()}
        return [row for row in rows if row.engine_id in kept]

    def inflated(self) -> tuple[Inflated, ...]:
        """Engines whose lookups were counted more than once, with what to read instead."""
        found = []
        for row in self.rows:
            one = {row.engine_id}
            factor = self.ratio("lookup_inflation", engines=one)
            if is_inflated(factor):
                cached = self.ratio("cached_prompt_ratio", engines=one)
                found.append(Inflated(self.fleet.name(row.engine_id), factor, cached))
        return tuple(found)

    def broken(self, metric: str) -> tuple[str, ...]:
        """Names of engines whose sums cannot be true."""
        return tuple(
            self.fleet.name(row.engine_id) for row in self.rows if self._breaks(metric, row)
        )

    @staticmethod
    def _breaks(metric: str, row: Row) -> bool:
        top, bottom = (getattr(row, column) for column in PAIRS[metric])
        reading = ratio_of_sums(metric, top, bottom, at_most_one=metric != "lookup_inflation")
        return reading.reason is Reason.CONTRACT_ERROR


def cache_sums(store: Store, fleet: Fleet, window: Window | None = None) -> CacheSums:
    """Sums of the fleet's window, or of another window (a comparison)."""
    params = query_params(fleet.scope, window or fleet.window)
    return CacheSums(fleet, tuple(store.read("hit_ratio_by_engine", params)))


def ratio_line(metric: str, bins: Sequence[int], rows: Sequence[Row]) -> tuple[Reading, ...]:
    """One ratio per chart bin, summed over engines first."""
    top, bottom = PAIRS[metric]
    found: dict[int, list[Row]] = {}
    for row in rows:
        if getattr(row, top) is not None and getattr(row, bottom) is not None:
            found.setdefault(int(row.bin), []).append(row)
    return tuple(
        ratio_of_sums(
            metric,
            sum(getattr(r, top) for r in found[b]) if b in found else None,
            sum(getattr(r, bottom) for r in found[b]) if b in found else None,
            absent=Reason.TOO_FEW_SCRAPES,
            at_most_one=metric != "lookup_inflation",
        )
        for b in bins
    )
