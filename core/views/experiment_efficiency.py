"""The efficiency side of an experiment, by arm: rows beside the gate, none with a verdict.

Requests of an arm are known, so their rows have both arms and, by sessions, an interval of
the difference. What engines count has arms only where each arm has engines of its own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.cache.store import Store
from core.domain.experiments.arms import Arm
from core.domain.experiments.plan import ExperimentPlan
from core.domain.histograms import quantile_bounds
from core.domain.quality import SessionSums
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason, Reported
from core.domain.records import Bools, Floats
from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.sums import ClusterSums, Interval
from core.views.experiment_arms import ArmSums, arm_params, arm_rows, so_far, windows
from core.views.experiment_gate import GateFigures, design_of
from core.views.quality_sums import sums_of

STEP = 1.05
"""Ratio of neighbouring edges of the buckets of first tokens: a quantile is that sharp."""
MOST_SESSIONLESS = 0.01


@dataclass(frozen=True)
class EfficiencyRow:
    """One figure of both arms.

    Parameters
    ----------
    base, new : Reading or None
        None: engines are shared, so that the figure has no arms.
    delta, interval
        New minus baseline in the metric's unit, and its interval by sessions; None where it
        is not known.
    beside : bool
        A condition to read the others by, and no result.
    """

    metric: str
    base: Reading | None
    new: Reading | None
    delta: float | None = None
    interval: Interval | None = None
    beside: bool = False


@dataclass(frozen=True)
class Ratio:
    """How a figure is made of the columns of `arm_efficiency`: numerator over denominator."""

    metric: str
    top: str
    bottom: str
    squares: str
    records: str
    beside: bool = False
    at_most_one: bool = False


RATIOS = (
    Ratio(
        "gateway_cached_share",
        "cached_tokens",
        "measured_tokens",
        "measured_squares",
        "measured",
        at_most_one=True,
    ),
    Ratio(
        "request_cached_ratio", "ratio_sum", "measured", "measured", "measured", at_most_one=True
    ),
    Ratio("arm_cached_tokens", "cached_tokens", "measured", "measured", "measured"),
    Ratio("arm_first_token_s", "first_token_s", "first_tokens", "first_tokens", "first_tokens"),
    Ratio("arm_output_rate", "output_tokens", "busy_s", "busy_squares", "timed"),
    Ratio(
        "arm_input_tokens", "input_tokens", "with_input", "with_input", "with_input", beside=True
    ),
)
QUANTILES = {"arm_first_token_p50": 0.5, "arm_first_token_p95": 0.95}


@dataclass(frozen=True)
class RequestRows:
    """Sums of the requests of both arms, per session, on one axis of sessions."""

    plan: ExperimentPlan
    sums: SessionSums
    design: Design
    confidence: float
    minutes: Mapping[Arm, float]

    def rows_of(self, arm: Arm) -> Bools:
        """The rows of one arm."""
        value = self.plan.arms.value_of(arm)
        return self.sums.group(by=arm.value if value is None else value)

    def total(self, arm: Arm, column: str) -> float | None:
        """Sum of a column over one arm; None where no request of it knows one."""
        known = self.sums.columns[column][self.rows_of(arm)]
        known = known[~np.isnan(known)]
        return float(known.sum()) if known.size else None

    def count(self, arm: Arm, column: str) -> int:
        """Requests of one arm that a column counts."""
        return int(self.sums.columns[column][self.rows_of(arm)].sum())

    def row(self, ratio: Ratio) -> EfficiencyRow:
        """Both arms of one ratio, and what they differ by."""
        readings = {arm: self._reading(ratio, arm) for arm in Arm}
        base, new = readings[Arm.BASE], readings[Arm.NEW]
        delta = None
        if base.value is not None and new.value is not None:
            delta = new.value - base.value
        interval = None
        if delta is not None and not self._sessionless():
            found = difference_interval(
                *(self._per_session(ratio, arm) for arm in (Arm.NEW, Arm.BASE)),
                design=self.design,
                confidence=self.confidence,
                unbounded=True,
            )
            interval = found.interval
            delta = delta if found.estimate is None else found.estimate
        return EfficiencyRow(ratio.metric, base, new, delta, interval, ratio.beside)

    def rate(self) -> EfficiencyRow:
        """Requests a minute of each arm's period so far; no traffic where there was none."""
        base, new = (
            ratio_of_sums(
                "arm_request_rate",
                float(requests) if (requests := self.count(arm, "requests")) else None,
                self.minutes[arm],
                absent=Reason.NO_TRAFFIC,
                at_most_one=False,
            )
            for arm in (Arm.BASE, Arm.NEW)
        )
        delta = None if base.value is None or new.value is None else new.value - base.value
        return EfficiencyRow("arm_request_rate", base, new, delta, beside=True)

    def _reading(self, ratio: Ratio, arm: Arm) -> Reading:
        requests, known = self.count(arm, "requests"), self.count(arm, ratio.records)
        return ratio_of_sums(
            ratio.metric,
            self.total(arm, ratio.top),
            self.total(arm, ratio.bottom),
            coverage=Reported(known, requests) if requests else None,
            absent=Reason.NOT_MEASURED if requests else Reason.NO_TRAFFIC,
            quiet=Reason.NOT_MEASURED if requests else Reason.NO_TRAFFIC,
            at_most_one=ratio.at_most_one,
        )

    def _sessionless(self) -> bool:
        """Whether too many requests have no session for an interval by sessions."""
        alone = self.sums.columns["requests"][self.sums.session < 0].sum()
        whole = self.sums.columns["requests"].sum()
        return bool(alone > MOST_SESSIONLESS * whole)

    def _per_session(self, ratio: Ratio, arm: Arm) -> ClusterSums:
        rows = self.rows_of(arm)
        rows &= (self.sums.session >= 0) & (self.sums.columns[ratio.records] > 0)

        def per(column: str) -> Floats:
            values = self.sums.columns[column][rows]
            found = np.bincount(self.sums.session[rows], values, self.sums.sessions)
            return found.astype(np.float64)

        whole = ClusterSums(
            per(ratio.top), per(ratio.bottom), per(ratio.squares), per(ratio.records).astype(int)
        )
        return whole if self.design is Design.PAIRED else whole.present


def efficiency(
    store: Store, arms: ArmSums, figures: GateFigures, now: float
) -> tuple[EfficiencyRow, ...]:
    """Rows of the requests of both arms, results first and conditions after them."""
    plan = arms.plan
    found = RequestRows(
        plan=plan,
        sums=_read(store, arms, now),
        design=design_of(arms),
        confidence=figures.confidence,
        minutes={arm: so_far(plan, now, arm).length_s / 60 for arm in Arm},
    )
    rows = [found.row(ratio) for ratio in RATIOS]
    rows[4:4] = _quantiles(store, plan, now, found)
    return (*rows, found.rate(), _incomplete(figures))


def _read(store: Store, arms: ArmSums, now: float) -> SessionSums:
    """The sums per session, in the form of the quality side: one group, one axis of sessions."""
    plan, parts = arms.plan, []
    for here, window in windows(plan, now):
        params = arm_params(plan, window)
        params |= {"alone": plan.requests_stand_alone or arms.no_sessions}
        table = store.columns("arm_efficiency", params)
        if len(here) == 1:
            name = pa.array([here[0].value] * len(table), pa.string())
            table = table.set_column(0, "value", name)
        table = table.filter(pc.is_valid(table["value"]))
        nothing = pa.array(["all"] * len(table), pa.string())
        parts.append(table.add_column(1, "across_value", nothing))
    return sums_of(
        pa.concat_tables(parts, promote_options="permissive").rename_columns({"value": "by_value"})
    )


def _quantiles(
    store: Store, plan: ExperimentPlan, now: float, found: RequestRows
) -> list[EfficiencyRow]:
    """Quantiles of the time to first token, as the edges of their bucket."""
    counts: dict[Arm, dict[int, int]] = defaultdict(dict)
    for arm, row in arm_rows(store, "arm_first_tokens", plan, now, step=STEP):
        counts[arm][row.bucket] = row.requests
    return [
        EfficiencyRow(
            metric,
            _quantile(metric, q, counts[Arm.BASE], found, Arm.BASE),
            _quantile(metric, q, counts[Arm.NEW], found, Arm.NEW),
        )
        for metric, q in QUANTILES.items()
    ]


def _quantile(
    metric: str, q: float, counts: Mapping[int, int], found: RequestRows, arm: Arm
) -> Reading:
    requests = found.count(arm, "requests")
    bounds = quantile_bounds(_buckets(counts), q) if counts else None
    if bounds is None:
        return Reading(metric, None, Reason.NOT_MEASURED if requests else Reason.NO_TRAFFIC)
    known = Reported(found.count(arm, "first_tokens"), requests)
    return Reading(metric, bounds.estimate, low=bounds.lower, high=bounds.upper, coverage=known)


def _buckets(counts: Mapping[int, int]) -> Sequence[tuple[float, float]]:
    """Every bucket between the lowest and the highest, with an empty one on each side."""
    low, high = min(counts) - 1, max(counts)
    held = [(k, float(counts[k]) if k in counts else 0.0) for k in range(low, high + 1)]
    return [*((STEP ** (k + 1), n) for k, n in held), (inf, 0.0)]


def _incomplete(figures: GateFigures) -> EfficiencyRow:
    """The rate of incomplete requests, of all logical requests of both arms."""
    base, new = (
        ratio_of_sums(
            "incomplete_rate",
            float(one.tally.counts.incomplete),
            float(one.tally.requests),
        )
        for one in (figures.base, figures.new)
    )
    found = figures.complete
    interval = None
    if found.interval is not None:
        interval = Interval(-found.interval.upper, -found.interval.lower)
    delta = None if found.estimate is None else 0.0 - found.estimate
    return EfficiencyRow("incomplete_rate", base, new, delta, interval)
