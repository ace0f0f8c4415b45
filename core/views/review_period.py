"""What a review says of one period: who was there, and sums turned into readings."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.gauges import rate_per_min
from core.domain.prefill import COMPUTED, EXTERNAL, LOCAL
from core.domain.ratios import change, ratio_of_sums, shift
from core.domain.reading import Coverage, Reading, Reported
from core.domain.scope import MINUTE_S, Scope
from core.views.accounts import BY_SOURCE, OF_SOURCE, REQUESTS, PrefillSums, prefill_sums
from core.views.first_tokens import FirstTokens, first_tokens
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.lines import PREFILL, or_absent, tokens_per_s
from core.views.pressure import PressureSums, pressure_sums
from core.views.requests import RequestSums, request_params, request_sums
from core.views.sums import CacheSums, cache_sums

TOTALS = frozenset((*OF_SOURCE.values(), "preemptions"))
"""Readings that grow with the time that was observed."""
ALIKE = 0.05
"""Totals are compared where the observed shares of both periods differ by no more."""


@dataclass(frozen=True)
class RequestCoverage:
    """What the requests of a period carry, as counts of attempts."""

    requests: int
    with_usage: int
    measured: int
    violations: int
    with_session: int
    with_engine: int
    incomplete: int


@dataclass(frozen=True)
class Period:
    """One period: its fleet, its efficiency, and what its requests carry."""

    fleet: Fleet
    efficiency: tuple[Reading, ...]
    requests: RequestCoverage
    broken: tuple[str, ...]
    inflated: tuple[str, ...]

    @property
    def begins_late(self) -> dict[str, float]:
        """Since when a source was read that does not reach back to the start of the period."""
        sides = {"prometheus": self.fleet.prometheus, "langfuse": self.fleet.requests}
        return {
            side: source.backfill_from
            for side, source in sides.items()
            if source is not None
            and source.read_to is not None
            and source.backfill_from is not None
            and source.backfill_from >= self.fleet.window.start + MINUTE_S
        }

    @property
    def unread(self) -> tuple[str, ...]:
        """Sources that are connected and of which nothing was read yet."""
        sides = {"prometheus": self.fleet.prometheus, "langfuse": self.fleet.requests}
        return tuple(
            side for side, source in sides.items() if source is not None and source.read_to is None
        )

    @property
    def observed(self) -> Coverage:
        """How much of all engines of the period was observed."""
        return self.fleet.coverage(sum(self.fleet.covered_s.values()), len(self.fleet.covered_s), 0)


@dataclass(frozen=True)
class EfficiencyRow:
    """One metric now and before.

    Parameters
    ----------
    change : float or None
        Now minus before, in the metric's unit; None: unknown.
    shift : int or None
        Of two intervals: 1 now lies wholly above, -1 below, 0 they overlap.
    unlike : bool
        A total of periods that were observed to different extents: no change is given.
    """

    now: Reading
    before: Reading
    change: float | None
    shift: int | None
    unlike: bool


def load_period(store: Store, scope: Scope, now: float) -> Period:
    """Read one period: the window of the scope at `now`, seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    numbers = _Numbers.load(store, fleet)
    found = store.read("request_coverage", request_params(scope, fleet.window))[0]
    return Period(
        fleet=fleet,
        efficiency=tuple(numbers.readings()),
        requests=RequestCoverage(*found),
        broken=numbers.cache.broken("engine_hit_ratio"),
        inflated=tuple(one.name for one in numbers.cache.inflated()),
    )


def compared(now: Period, before: Period) -> tuple[EfficiencyRow, ...]:
    """Every metric of both periods beside each other."""
    pairs = zip(now.efficiency, before.efficiency, strict=True)
    cut = any("prometheus" in period.begins_late for period in (now, before))
    return tuple(_row(new, old, cut=cut) for new, old in pairs)


def _row(now: Reading, before: Reading, *, cut: bool) -> EfficiencyRow:
    both = now.known and before.known
    unlike = both and now.metric in TOTALS and (cut or not _alike(now, before))
    return EfficiencyRow(
        now=now,
        before=before,
        change=None if unlike else change(now, before),
        shift=shift(now, before),
        unlike=unlike,
    )


def _alike(now: Reading, before: Reading) -> bool:
    """Whether two totals stand for the same share of their periods."""
    shares = [one.coverage.share if one.coverage else None for one in (now, before)]
    new, old = shares
    return new is None or old is None or abs(new - old) <= ALIKE


@dataclass(frozen=True)
class _Numbers:
    """Sums of one window, as read."""

    fleet: Fleet
    cache: CacheSums
    requests: RequestSums
    prefill: PrefillSums
    by_source: tuple[Row, ...]
    throughput: tuple[Row, ...]
    completed: Row
    pressure: PressureSums
    ttft: FirstTokens

    @classmethod
    def load(cls, store: Store, fleet: Fleet) -> "_Numbers":
        params = query_params(fleet.scope, fleet.window)
        return cls(
            fleet=fleet,
            cache=cache_sums(store, fleet),
            requests=request_sums(store, fleet),
            prefill=prefill_sums(store, fleet, fleet.window),
            by_source=tuple(store.read("prefill_by_source", params)),
            throughput=tuple(store.read("throughput", params)),
            completed=store.read("completed_requests", params)[0],
            pressure=pressure_sums(store, fleet),
            ttft=first_tokens(store, params),
        )

    def readings(self) -> Iterable[Reading]:
        """Reuse, its tokens, what moves with it, and the load it came under."""
        yield self.cache.ratio("engine_hit_ratio")
        yield self.requests.share()
        yield self.requests.mean_ratio()
        for source in (LOCAL, EXTERNAL, COMPUTED):
            amounts = self.prefill.amounts(BY_SOURCE, source)
            yield self.prefill.tokens(OF_SOURCE[source], amounts, BY_SOURCE)
        for metric, source in PREFILL.items():
            yield self._rate(metric, BY_SOURCE, (r for r in self.by_source if r.source == source))
        yield self.ttft.reading(self.fleet, "ttft_p50")
        yield self.ttft.reading(self.fleet, "ttft_p95")
        for name in ("prompt_tokens", "generation_tokens"):
            rows = (row for row in self.throughput if row.instrument == name)
            yield self._rate(f"{name}_per_s", name, rows)
        yield self.pressure.events_reading()
        yield self.pressure.kv_reading()
        yield self.pressure.kv_mean_reading()
        yield self.pressure.waiting_reading()
        yield self._completed_per_min()
        yield self._input_length()

    def _rate(self, metric: str, instrument: str, rows: Iterable[Row]) -> Reading:
        amounts = self.prefill.amounts(instrument)
        for label in (LOCAL, EXTERNAL, COMPUTED):
            amounts |= self.prefill.amounts(instrument, label)
        counted = self.prefill.tokens(metric, amounts, instrument)
        absent = self.fleet.absent(instrument)
        return or_absent(metric, tokens_per_s(rows), absent, counted.coverage)

    def _completed_per_min(self) -> Reading:
        found = self.completed
        value = rate_per_min(found.requests, found.observed_s)
        absent = self.fleet.absent("request_prompt_tokens")
        return or_absent("completed_requests_per_min", value, absent, self._completed_coverage())

    def _input_length(self) -> Reading:
        return ratio_of_sums(
            "mean_prompt_tokens",
            self.completed.prompt_tokens,
            self.completed.requests,
            coverage=self._completed_coverage(),
            absent=self.fleet.absent("request_prompt_tokens"),
            at_most_one=False,
        )

    def _completed_coverage(self) -> Coverage | Reported | None:
        ended = self.prefill.amounts(REQUESTS)
        return self.prefill.tokens("request_prompt_tokens", ended, REQUESTS).coverage
