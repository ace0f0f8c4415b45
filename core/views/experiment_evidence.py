"""Why the gate of an experiment holds, and what to know beside its verdict.

Statistics find what the sums show. The lever log, revisions, evaluator versions and the
time of registration are judged by the experiment's own rules.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from core.cache.store import Row, Store
from core.domain.experiments.arms import Arm
from core.domain.experiments.changes import LoggedChange, judge_changes
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.evidence import Evidence, EvidenceLine
from core.domain.experiments.plan import ExperimentPlan, Unit
from core.domain.experiments.revisions import (
    SeenEvaluator,
    SeenRevision,
    judge_evaluators,
    judge_revisions,
)
from core.domain.experiments.versions import Marks, PlanVersion, judge_registration
from core.domain.levers import LeverKind
from core.domain.quality import Estimand
from core.domain.statistics.holds import ArmFigures, HoldReason, Limits, find_holds
from core.domain.statistics.holds import Comparison as Compared
from core.domain.statistics.sample_ratio import sample_ratio
from core.views.experiment_arms import ArmSums, arm_rows, plan_scope, so_far
from core.views.experiment_gate import ArmQuality, GateFigures
from core.views.fleet import query_params

NOT_DRAWN = (Unit.POOL, Unit.PERIOD)
"""Units that nobody draws: their sessions are in no planned ratio."""


def evidence(
    store: Store,
    version: PlanVersion,
    mark: Marks,
    *,
    about: tuple[ArmSums, GateFigures, Sequence[LoggedChange]],
    now: float,
) -> Evidence:
    """Every reason to hold and every note about an experiment at a moment.

    `about` are its sums, what was made of them, and the lever log.
    """
    plan = version.plan
    arms, figures, changes = about
    logged = judge_changes(plan, changes, registered_at=version.registered_at)
    return (
        Evidence(holds=statistics_holds(plan, arms, figures))
        + judge_registration(version, mark)
        + logged
        + judge_revisions(_revisions(store, plan, now))
        + judge_evaluators(plan.primary, _evaluators(store, plan, now))
    )


def statistics_holds(
    plan: ExperimentPlan, arms: ArmSums, figures: GateFigures
) -> tuple[EvidenceLine, ...]:
    """What the sums do not fulfil; registration and evaluators have rules of their own."""
    limits = Limits(clusters=plan.minimum_clusters, coverage=plan.minimum_coverage)
    found = find_holds(
        _figures(arms, figures.new),
        _figures(arms, figures.base),
        comparison=_compared(plan, arms, figures),
        limits=limits,
    )
    dropped = {HoldReason.SAMPLE_RATIO_MISMATCH} if plan.unit in NOT_DRAWN else set()
    return tuple(EvidenceLine.of_statistics(one) for one in found if one.reason not in dropped)


def _figures(arms: ArmSums, quality: ArmQuality) -> ArmFigures:
    tally, counts = quality.tally, quality.tally.counts
    with_record = counts.ok + tally.weightless
    alone = arms.plan.requests_stand_alone
    sessionless = 0 if alone else arms.sessionless[quality.arm]
    return ArmFigures(
        evaluated=counts.ok,
        clusters=quality.estimate.clusters,
        coverage=counts.coverage,
        largest_share=quality.estimate.largest_share,
        unknown_clusters=_share(sessionless, tally.requests),
        unknown_probability=_share(tally.weightless, with_record),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole > 0 else None


def _compared(plan: ExperimentPlan, arms: ArmSums, figures: GateFigures) -> Compared:
    found = figures.difference
    newcombe = found.df is None and found.interval is not None
    ratio = sample_ratio(
        [figures.new.tally.sessions, figures.base.tally.sessions], [plan.ratio, 1.0]
    )
    return Compared(
        df=float(found.new.records + found.base.records - 2) if newcombe else found.df,
        paired=plan.comparison is Comparison.PAIRED_DATA_SET,
        shared_sessions=_shared_sessions(arms),
        sample_ratio_p=None if ratio is None else ratio.p,
        same_evaluator=True,
        violations=sum(one.tally.conflicts for one in (figures.new, figures.base)),
        planned_look=True,
        plan_at=0.0,
        first_data_at=None,
        composite=plan.estimand is Estimand.COMPOSITE,
        complete_rate=figures.complete.interval,
        complete_margin=figures.complete_margin,
    )


def _shared_sessions(arms: ArmSums) -> float | None:
    """Share of the sessions of both arms that have a request in each."""
    new, base = (arms.incomplete(arm).n > 0 for arm in (Arm.NEW, Arm.BASE))
    return _share(int(np.count_nonzero(new & base)), int(np.count_nonzero(new | base)))


def changes_of(store: Store, version: PlanVersion, now: float) -> tuple[Row, ...]:
    """The lever log from registration or the start of the period on, up to now or its end."""
    window = so_far(version.plan, now)
    start = min(version.registered_at, window.start)
    params = query_params(plan_scope(version.plan, now), window)
    params |= {"start": datetime.fromtimestamp(start, UTC)}
    return tuple(store.read("changes_in_period", params))


def logged(row: Row) -> LoggedChange:
    """An entry of the lever log as the rules of experiments read it."""
    return LoggedChange(
        lever_id=row.lever_id,
        at=row.happened_at,
        kind=LeverKind(row.kind) if row.kind in set(LeverKind) else LeverKind.OTHER,
        what=row.what,
        engine_id=row.engine_id,
        cluster=row.cluster,
        namespace=row.namespace,
        model=row.model_name,
    )


def _revisions(store: Store, plan: ExperimentPlan, now: float) -> tuple[SeenRevision, ...]:
    return tuple(
        SeenRevision(arm, row.name, row.revision, row.requests, row.first_at, row.last_at)
        for arm, row in arm_rows(store, "arm_revisions", plan, now)
    )


def _evaluators(store: Store, plan: ExperimentPlan, now: float) -> tuple[SeenEvaluator, ...]:
    found = arm_rows(store, "arm_evaluators", plan, now, score=plan.primary.name)
    return tuple(
        SeenEvaluator(arm, row.evaluator, row.evaluator_version, row.records) for arm, row in found
    )
