"""Preemption: windows of the engines, and what the requests over them went through."""

from dataclasses import dataclass

from core.cache.store import Store
from core.domain.scope import Scope
from core.domain.windows import WINDOW_S, Preempt, Rule
from core.views.engine_windows import scrape_intervals, tolerance_of
from core.views.exposures import ExposureRow, ScoreRow, exposures, scores
from core.views.fleet import Fleet, load_fleet
from core.views.lines import Line
from core.views.pressure import pressure_sums
from core.views.request_preemptions import PreemptedRequests, preempted_requests
from core.views.strip import EnginePressure, Lane, engine_rows, strip
from core.views.window_rule import WindowRule

FEW_SCRAPES = 3
"""A window that holds fewer is mostly unknown."""


@dataclass(frozen=True)
class PreemptionView:
    """Everything the Preemption page shows, but for the requests of one window."""

    fleet: Fleet
    rule: WindowRule
    scrape_interval_s: float | None
    lanes: tuple[Lane, ...]
    kv_usage_max: Line
    kv_usage_mean: Line
    preemptions: Line
    running: Line
    waiting: dict[str, Line]
    engines: tuple[EnginePressure, ...]
    requests_connected: bool
    exposures: tuple[ExposureRow, ...]
    scores: tuple[ScoreRow, ...]
    preempted: PreemptedRequests

    @property
    def short(self) -> bool:
        """Whether a window is too short for the scrape interval."""
        interval = self.scrape_interval_s
        return interval is not None and interval * FEW_SCRAPES > self.rule.rule.window_s

    @property
    def requests(self) -> int:
        """Requests that start in the window."""
        return sum(row.requests for row in self.exposures)

    def exposed(self, state: Preempt) -> ExposureRow:
        """The row of one exposure."""
        return next(row for row in self.exposures if row.exposure is state)


def build(store: Store, scope: Scope, now: float, window_s: int = WINDOW_S) -> PreemptionView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    interval = max(scrape_intervals(store, fleet).values(), default=None)
    read_to = None if fleet.prometheus is None else fleet.prometheus.read_to
    rule = WindowRule(Rule(window_s), read_to, tolerance_of(fleet, interval))
    lanes = strip(store, fleet, rule)
    pressure = pressure_sums(store, fleet)
    return PreemptionView(
        fleet=fleet,
        rule=rule,
        scrape_interval_s=interval,
        lanes=lanes,
        kv_usage_max=pressure.kv_usage_max(),
        kv_usage_mean=pressure.kv_usage_mean(),
        preemptions=pressure.preemptions(),
        running=pressure.running(),
        waiting=pressure.waiting(),
        engines=engine_rows(pressure, lanes),
        requests_connected=fleet.requests is not None,
        exposures=exposures(store, fleet, rule),
        scores=scores(store, fleet, rule),
        preempted=preempted_requests(store, fleet),
    )
