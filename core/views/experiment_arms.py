"""The arms of a plan in the cache: which requests they are, and their sums per session.

Labels and times are the plan's own, never those a page looks at. Arms told apart by an
attribute are read at once; arms that follow in time are read one after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import pyarrow as pa

from core.cache.store import Row, Store
from core.config import EvaluatorSettings
from core.domain.experiments.arms import Arm
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import History, Marks, marks
from core.domain.quality import Dimension, Estimand, SessionSums, Tally
from core.domain.records import Bools
from core.domain.scope import MINUTE_S, Scope, Window
from core.domain.statistics.sums import ClusterSums
from core.views.fleet import Fleet, query_params
from core.views.quality_sums import Asked, Series, quality_params, score_series, sums_of


@dataclass(frozen=True)
class ArmSums:
    """Sums per session of both arms, on one axis of sessions."""

    plan: ExperimentPlan
    series: Series
    sums: SessionSums
    rows: Mapping[Arm, Bools]
    sessionless: Mapping[Arm, int]
    """Requests of each arm without a session."""
    no_sessions: bool
    """No request has one: each stands alone in the sums."""

    def tally(self, arm: Arm) -> Tally:
        """Counts of the requests of one arm."""
        return self.sums.tally(self.rows[arm])

    def scores(self, arm: Arm, estimand: Estimand | None = None) -> ClusterSums:
        """Sums of the plan's estimand in one arm, as they were measured."""
        return self.sums.sums(estimand or self.plan.estimand, self.rows[arm])

    def oriented(self, arm: Arm) -> ClusterSums:
        """The same, turned round where a lower score is the better one."""
        scores = self.scores(arm)
        if self.plan.higher_is_better:
            return scores
        if self.plan.estimand is Estimand.MEAN:
            return ClusterSums(-scores.y, scores.w, scores.s, scores.n)
        return -scores

    def incomplete(self, arm: Arm) -> ClusterSums:
        """Sums of being incomplete in one arm."""
        return self.sums.incomplete(self.rows[arm])

    def unscored(self, arm: Arm) -> ClusterSums:
        """Sums of complete requests of one arm that lack a score."""
        return self.sums.unscored(self.rows[arm])


def dimension_of(plan: ExperimentPlan) -> Dimension:
    """What requests are grouped by: nothing where time tells the arms apart."""
    split = plan.arms.dimension
    return Dimension.NOTHING if split is None else Dimension(split.value)


def so_far(plan: ExperimentPlan, now: float, arm: Arm | None = None) -> Window:
    """The period of an arm, or of the plan, up to now; empty before it begins."""
    period = plan.period if arm is None else plan.period_of(arm)
    return Window(period.start, max(period.start, min(period.end, ceil(now))))


def plan_scope(plan: ExperimentPlan, now: float, arm: Arm | None = None) -> Scope:
    """Labels of both arms, or of one, in the period up to now; at least a minute long."""
    window = so_far(plan, now, arm)

    def label(name: str) -> str | None:
        both: str | None = getattr(plan.arms, name)
        return both if arm is None else plan.arms.label_of(arm, name)

    return Scope(
        cluster=label("cluster"),
        namespace=label("namespace"),
        model=label("model"),
        start=window.start,
        end=max(window.end, window.start + MINUTE_S),
    )


def read_until(fleet: Fleet, now: float) -> float:
    """Until when the data are there: a period is over when its last requests were read.

    Where no source of requests is known, nothing more will be read, and the clock counts.
    """
    source = fleet.requests
    if source is None:
        return now
    return min(now, fleet.window.start if source.read_to is None else source.read_to)


def windows(plan: ExperimentPlan, now: float) -> tuple[tuple[tuple[Arm, ...], Window], ...]:
    """Stretches of time to read, and whose requests begin in each."""
    if plan.arms.dimension is not None:
        return ((tuple(Arm), so_far(plan, now)),)
    return tuple(((arm,), so_far(plan, now, arm)) for arm in Arm)


def arm_params(plan: ExperimentPlan, window: Window) -> dict[str, object]:
    """Parameters of the queries that group requests by what tells the arms apart."""
    scope = Scope(cluster=plan.arms.cluster, namespace=plan.arms.namespace, model=plan.arms.model)
    return query_params(scope, window) | {"dimension": dimension_of(plan).value}


def arm_rows(
    store: Store, name: str, plan: ExperimentPlan, now: float, **params: object
) -> Iterator[tuple[Arm, Row]]:
    """Rows of a query that groups by arm, each with its arm; those of no arm are left out."""
    for arms, window in windows(plan, now):
        if window.length_s < 1:
            continue
        rows = store.read(name, arm_params(plan, window) | params)
        for row in rows:
            yield from ((arm, row) for arm in arms if row.value == plan.arms.value_of(arm))


def first_data(store: Store, plan: ExperimentPlan, now: float) -> dict[Arm, float | None]:
    """When the first request of each arm's period began; None: none is known."""
    found: dict[Arm, float | None] = dict.fromkeys(Arm)
    return found | {arm: row.first_at for arm, row in arm_rows(store, "arm_requests", plan, now)}


def marks_of(store: Store, known: History, now: float) -> list[Marks]:
    """Marks of each readable version of a plan, oldest first, by the data until now."""
    seen = [first_data(store, one.plan, now) for one in known.versions]
    return marks(known.versions, seen)


def plan_series(
    store: Store, plan: ExperimentPlan, window: Window, evaluators: Sequence[EvaluatorSettings]
) -> Series:
    """The primary score as the cache knows it, with the pass mark of the plan."""
    wanted = plan.primary
    mapping = next(
        (one for one in evaluators if one.score == wanted.name),
        EvaluatorSettings(score=wanted.name),
    )
    usual = Series(wanted.name, wanted.evaluator, wanted.evaluator_version, wanted.data_type.value)
    seen = (one for one in score_series(store, window, evaluators) if one.level == "observation")
    found = next((one for one in seen if one.key == usual.key), usual)
    marked = {"pass_at": wanted.pass_at, "pass_labels": tuple(wanted.pass_labels)}
    return replace(found, mapping=mapping.model_copy(update=marked))


def arm_sums(
    store: Store, fleet: Fleet, plan: ExperimentPlan, series: Series, now: float
) -> ArmSums:
    """Sums of both arms over their periods up to now.

    Where no request has a session, each stands alone: the plan says whether the gate may
    take that.
    """
    asked = Asked(series, dimension_of(plan))
    found = _read(store, fleet, plan, asked, now)
    tallies = {arm: found.tally(rows) for arm, rows in _rows(plan, found).items()}
    sessionless = {arm: tally.sessionless for arm, tally in tallies.items()}
    lacking = sum(sessionless.values())
    none = lacking > 0 and lacking == sum(tally.requests for tally in tallies.values())
    if lacking and (plan.requests_stand_alone or none):
        found = _read(store, fleet, plan, replace(asked, alone=True), now)
    return ArmSums(plan, series, found, _rows(plan, found), sessionless, no_sessions=none)


def _read(
    store: Store, fleet: Fleet, plan: ExperimentPlan, asked: Asked, now: float
) -> SessionSums:
    parts = []
    for arms, window in windows(plan, now):
        table = store.columns("quality_sums", quality_params(store, fleet, asked, window=window))
        if len(arms) == 1:
            name = pa.array([arms[0].value] * len(table), pa.string())
            table = table.set_column(0, "by_value", name)
        parts.append(table)
    return sums_of(pa.concat_tables(parts, promote_options="permissive"))


def _rows(plan: ExperimentPlan, sums: SessionSums) -> dict[Arm, Bools]:
    return {
        arm: sums.group(by=arm.value if (value := plan.arms.value_of(arm)) is None else value)
        for arm in Arm
    }
