"""The engine of one request while it ran: its minutes, and the preemption windows they touch."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from core.cache.store import Row, Store
from core.domain.ratios import total
from core.domain.reading import Reading
from core.domain.scope import MINUTE_S, Scope, Window
from core.domain.windows import (
    Preempt,
    PreemptCell,
    PreemptWindow,
    Rule,
    exposure,
    is_retrospective,
    joined,
    preempt_windows,
    tolerance_s,
)
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.pressure import mean_requests
from core.views.sums import cache_sums

LONGEST_S = 6 * 3600
"""Of a request that lasted longer, the engine is shown for so long."""
LATE_S = 1800
"""A gap that ends so much later still tells which windows it reaches into."""


@dataclass(frozen=True)
class EngineMinutes:
    """One engine in the minutes that the request touches."""

    name: str
    hit_ratio: Reading
    kv_usage_max: Reading
    waiting: Reading
    preemptions: Reading
    exposure: Preempt


@dataclass(frozen=True)
class EngineWindows:
    """The engine, or all the engines it may have been, while the request ran.

    `minutes` are the minutes that the request touches, `context` is the longer stretch
    that is drawn; `kv_usage_max` and `waiting` have one value a minute of it.
    """

    attribution: str
    minutes: Fleet
    context: Fleet
    readings: tuple[Reading, ...]
    engines: tuple[EngineMinutes, ...]
    starts: tuple[int, ...]
    kv_usage_max: tuple[float | None, ...]
    waiting: tuple[float | None, ...]
    windows: tuple[PreemptWindow, ...]
    exposure: Preempt
    retrospective: bool
    scrape_interval_s: float | None
    tolerance_s: float
    window_s: int
    cut: bool


@dataclass(frozen=True)
class Place:
    """Where a request ran, as far as anybody said."""

    attribution: str
    engine_id: int | None
    cluster: str | None
    namespace: str | None
    model: str | None
    pod: str | None
    engine: str | None

    @property
    def nowhere(self) -> bool:
        """Whether not even the model is known: no engine can be named."""
        return self.attribution == "pool" and self.model is None


def engine_windows(
    store: Store, place: Place, start: float, end: float | None, *, now: float, rule: Rule
) -> EngineWindows:
    """Read the engine's minutes around a request from `start` to `end` (None: no end)."""
    last = start if end is None else min(end, start + LONGEST_S)
    size = rule.window_s
    stretch = Window(int(start // size - 1) * size, int(last // size + 2) * size)
    minutes = Window(
        floor(start / MINUTE_S) * MINUTE_S,
        max(ceil(last / MINUTE_S), floor(start / MINUTE_S) + 1) * MINUTE_S,
    )
    context, here = (_fleet(store, place, one, now) for one in (stretch, minutes))
    intervals = scrape_intervals(store, context)
    windows = _windows(store, context, intervals, rule)
    longest = max(intervals.values(), default=None)
    tolerance = tolerance_of(context, longest)
    numbers = _Minutes.load(store, context, here, windows, (start, end, tolerance))
    together = _joined(windows)
    return EngineWindows(
        attribution=_attribution(place, context),
        minutes=here,
        context=context,
        readings=numbers.readings(None),
        engines=tuple(numbers.engine(one.engine_id, one.name) for one in here.engines),
        starts=numbers.starts,
        kv_usage_max=numbers.line(numbers.kv, lambda rows: max(r.usage_max for r in rows)),
        waiting=numbers.line(numbers.queue, mean_requests),
        windows=together,
        exposure=exposure(together, start, end, tolerance=tolerance),
        retrospective=is_retrospective(together, start, end, tolerance=tolerance),
        scrape_interval_s=longest,
        tolerance_s=tolerance,
        window_s=size,
        cut=end is not None and end > last,
    )


def tolerance_of(fleet: Fleet, interval_s: float | None) -> float:
    """By how much requests are widened: clock differences of both sources, and a scrape."""
    sources = (fleet.prometheus, fleet.requests)
    return tolerance_s((s.clock_skew_s for s in sources if s is not None), interval_s)


def _fleet(store: Store, place: Place, window: Window, now: float) -> Fleet:
    """Engines that the request may have run on, in one window."""
    scope = Scope(
        cluster=place.cluster,
        namespace=place.namespace,
        model=place.model if place.attribution == "pool" else None,
        pod=place.pod,
        engine=place.engine,
        start=window.start,
        end=window.end,
    )
    fleet = load_fleet(store, scope, now)
    if place.nowhere:
        return replace(fleet, engines=())
    if place.engine_id is None:
        return fleet
    mine = tuple(one for one in fleet.engines if one.engine_id == place.engine_id)
    return replace(fleet, engines=mine)


def _attribution(place: Place, fleet: Fleet) -> str:
    """A pod whose row names the engine core too is as good as the engine."""
    narrowed = place.attribution == "pod" and place.engine is not None
    return "engine" if narrowed and len(fleet.engines) == 1 else place.attribution


def _windows(
    store: Store, fleet: Fleet, intervals: Mapping[int, float], rule: Rule
) -> dict[int, tuple[PreemptWindow, ...]]:
    """Preemption windows in which each engine was there, over a stretch of whole windows."""
    stretch = fleet.window
    params = query_params(fleet.scope, Window(stretch.start, stretch.end + LATE_S))
    cells: dict[int, list[PreemptCell]] = defaultdict(list)
    for row in store.read("preemption_cells", params):
        cells[row.engine_id].append(PreemptCell(*row[1:]))
    read_to = None if fleet.prometheus is None else fleet.prometheus.read_to
    return {
        one.engine_id: tuple(
            window
            for window in preempt_windows(
                cells[one.engine_id],
                start=stretch.start,
                end=stretch.end - 1,
                interval_s=intervals.get(one.engine_id),
                read_to=read_to,
                rule=rule,
            )
            if one.life.was_there(window.start, window.end)
        )
        for one in fleet.engines
    }


def _joined(windows: Mapping[int, Sequence[PreemptWindow]]) -> tuple[PreemptWindow, ...]:
    """One window of all engines that were there, for each stretch of time."""
    alike: dict[int, list[PreemptWindow]] = defaultdict(list)
    for window in (one for found in windows.values() for one in found):
        alike[window.start].append(window)
    found = []
    for start, same in sorted(alike.items()):
        state = joined(one.state for one in same)
        why = next((one.why for one in same if one.why is not None), None)
        unsure = why if state is Preempt.UNKNOWN else None
        found.append(PreemptWindow(start, same[0].end, state, unsure))
    return tuple(found)


def scrape_intervals(store: Store, fleet: Fleet) -> dict[int, float]:
    """Scrape interval of each engine of the fleet; one of which nobody knows it is absent."""
    here = {one.engine_id for one in fleet.engines}
    params = query_params(fleet.scope, fleet.window)
    return {
        row.engine_id: row.scrape_interval_s
        for row in store.read("engines_in_window", params)
        if row.engine_id in here and row.scrape_interval_s is not None
    }


@dataclass(frozen=True)
class _Minutes:
    """Rows of the engines' minutes, as read."""

    store: Store
    here: Fleet
    starts: tuple[int, ...]
    kv: tuple[Row, ...]
    queue: tuple[Row, ...]
    events: tuple[Row, ...]
    exposures: dict[int, Preempt]

    @classmethod
    def load(
        cls,
        store: Store,
        context: Fleet,
        here: Fleet,
        windows: Mapping[int, Sequence[PreemptWindow]],
        asked: tuple[float, float | None, float],
    ) -> "_Minutes":
        start, end, tolerance = asked
        ids = {one.engine_id for one in context.engines}
        params = query_params(context.scope, context.window) | {
            "bin_s": MINUTE_S,
            "span_s": MINUTE_S,
        }

        def rows(name: str) -> tuple[Row, ...]:
            return tuple(row for row in store.read(name, params) if row.engine_id in ids)

        return cls(
            store=store,
            here=here,
            starts=tuple(range(context.window.start, context.window.end, MINUTE_S)),
            kv=rows("kv_usage"),
            queue=tuple(r for r in rows("queue") if r.instrument == "num_requests_waiting"),
            events=rows("pressure"),
            exposures={
                one: exposure(found, start, end, tolerance=tolerance)
                for one, found in windows.items()
            },
        )

    def line(
        self, rows: Iterable[Row], value: Callable[[list[Row]], float | None]
    ) -> tuple[float | None, ...]:
        """One value a minute of the stretch; None where there is no scrape."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in rows:
            found[int(row.bin)].append(row)
        return tuple(value(found[t]) if t in found else None for t in self.starts)

    def engine(self, engine_id: int, name: str) -> EngineMinutes:
        """One engine's line of the table."""
        ratio, kv, waiting, events = self.readings({engine_id})
        seen = self.exposures.get(engine_id, Preempt.UNKNOWN)
        return EngineMinutes(name, ratio, kv, waiting, events, seen)

    def readings(self, engines: set[int] | None) -> tuple[Reading, ...]:
        """Hit ratio, KV usage, waiting and preemptions of the request's minutes."""
        ids = {one.engine_id for one in self.here.engines} if engines is None else engines
        kv = [row.usage_max for row in self._of(self.kv, ids)]
        return (
            cache_sums(self.store, self.here).ratio("engine_hit_ratio", engines=ids),
            self._reading("kv_usage_max", max(kv, default=None), "kv_cache_usage_perc", ids),
            self._reading(
                "requests_waiting",
                mean_requests(self._of(self.queue, ids)),
                "num_requests_waiting",
                ids,
            ),
            total(
                "preemptions",
                (row.preemptions for row in self._of(self.events, ids)),
                absent=self.here.absent("num_preemptions", engines=ids),
            ),
        )

    def _of(self, rows: Sequence[Row], ids: set[int]) -> list[Row]:
        window = self.here.window
        return [r for r in rows if r.engine_id in ids and window.start <= r.bin < window.end]

    def _reading(self, metric: str, value: float | None, instrument: str, ids: set[int]) -> Reading:
        if value is None:
            return Reading(metric, None, self.here.absent(instrument, engines=ids))
        return Reading(metric, value)
