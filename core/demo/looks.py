"""Looks and decisions that the demo's people made before the fleet was first seen.

Figures are those of the simulated rows at the moment of each look, through the same domain
functions as a look on the page. What is still open is for whoever opens the demo: the final
look at the affinity experiment is due.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from core.demo.experiments import (
    DANIEL,
    JIWOO,
    MINSEO,
    PROMPT_PLAN,
    SCHEMA_PLAN,
    SENA,
    TRIMMING_PLAN,
)
from core.demo.gateway import Gateway
from core.demo.graded import graded_sums
from core.domain.experiments.arms import Arm
from core.domain.experiments.decision import Decision
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import LookRecord, TakenLook
from core.domain.experiments.looks import (
    LookFigures,
    information,
    look_boundary,
    standing,
    take_look,
)
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import PlanVersion
from core.domain.quality import Estimand, SessionSums, Tally
from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import Difference
from core.domain.statistics.group import Group
from core.domain.statistics.holds import ArmFigures, Comparison, Hold, Limits, find_holds
from core.domain.statistics.quantiles import CONFIDENCE
from core.domain.statistics.sample_ratio import sample_ratio
from core.domain.statistics.sums import ClusterSums


@dataclass(frozen=True)
class Planned:
    """When somebody looked, in minutes after the fleet's epoch."""

    experiment: str
    minute: int
    by: str


@dataclass(frozen=True)
class Decided:
    """What somebody decided, some minutes after the fleet's epoch, on the last look before."""

    experiment: str
    minute: int
    by: str
    decision: Decision
    reason: str


LOOKS = (
    Planned(TRIMMING_PLAN, 143, DANIEL),
    Planned(PROMPT_PLAN, 244, MINSEO),
    Planned(PROMPT_PLAN, 325, MINSEO),
    Planned(SCHEMA_PLAN, 326, JIWOO),
)
"""A final look waits until all scores of its period are there."""
DECISIONS = (
    Decided(
        TRIMMING_PLAN,
        147,
        SENA,
        Decision.PROMOTE,
        "The sample was too small to tell, and prompts of 120,000 tokens have twice stopped "
        "agents this week. Promoted for agents above 60,000 tokens only; to be measured again "
        "over two weeks.",
    ),
    Decided(
        PROMPT_PLAN,
        331,
        SENA,
        Decision.PROMOTE,
        "Non-inferior without a hold, cached share of v4 not below v3.",
    ),
    Decided(
        SCHEMA_PLAN,
        329,
        JIWOO,
        Decision.ROLL_BACK,
        "Regression: JSON of arm B breaks far more often. Arm B is back on the old order; the "
        "schema of the search tool is looked at first.",
    ),
)


def demo_look(
    gateway: Gateway, version: PlanVersion, taken: Sequence[TakenLook], *, by: str, at: float
) -> LookRecord:
    """What somebody saw who looked at a moment, after the looks taken before."""
    plan = version.plan
    sums = graded_sums(gateway, plan, now=at)
    new, base = (_scores(plan, sums, arm) for arm in (Arm.NEW, Arm.BASE))
    clusters = {"clusters_new": new.clusters, "clusters_base": base.clusters}
    now = standing(version, taken, at=at, information_now=information(plan, **clusters))
    bound = look_boundary(version, taken, now=now, **clusters)
    confidence = None if bound is None else bound.confidence
    found = difference_interval(
        new.present, base.present, design=Design.SEPARATE, confidence=confidence or CONFIDENCE
    )
    figures = LookFigures(
        estimate=found.estimate,
        interval=found.interval,
        se=None if found.variance is None else sqrt(found.variance),
        df=found.df,
        **clusters,
    )
    holds = tuple(map(EvidenceLine.of_statistics, statistics_holds(version, sums, found)))
    return take_look(version, taken, now=now, figures=figures, holds=holds, by=by, watermark=at)


def _scores(plan: ExperimentPlan, sums: SessionSums, arm: Arm) -> ClusterSums:
    return sums.sums(plan.estimand, sums.group(by=arm.value))


def statistics_holds(
    version: PlanVersion, sums: SessionSums, found: Difference
) -> tuple[Hold, ...]:
    """Reasons to hold in the simulated rows; what the lever log says is not among them."""
    plan = version.plan
    sides = [_scores(plan, sums, arm) for arm in (Arm.NEW, Arm.BASE)]
    shared = int(((sides[0].w > 0) & (sides[1].w > 0)).sum())
    tallies = [sums.tally(sums.group(by=arm.value)) for arm in (Arm.NEW, Arm.BASE)]
    sessions = sum(one.sessions for one in tallies)
    ratio = sample_ratio([one.sessions for one in tallies], [plan.ratio, 1.0])
    comparison = Comparison(
        df=found.df,
        paired=False,
        shared_sessions=shared / (sessions - shared) if sessions > shared else None,
        sample_ratio_p=None if ratio is None else ratio.p,
        same_evaluator=True,
        violations=0,
        planned_look=True,
        plan_at=version.registered_at,
        first_data_at=plan.period.start,
        composite=plan.estimand is Estimand.COMPOSITE,
        complete_rate=None,
        complete_margin=plan.margin,
    )
    new, base = (
        _figures(tally, side) for tally, side in zip(tallies, (found.new, found.base), strict=True)
    )
    limits = Limits(clusters=plan.minimum_clusters, coverage=plan.minimum_coverage)
    return find_holds(new, base, comparison=comparison, limits=limits)


def _figures(tally: Tally, side: Group) -> ArmFigures:
    known = tally.requests > 0
    return ArmFigures(
        evaluated=tally.counts.ok,
        clusters=side.clusters,
        coverage=tally.counts.coverage,
        largest_share=side.largest_share,
        unknown_clusters=tally.sessionless / tally.requests if known else None,
        unknown_probability=tally.weightless / tally.requests if known else None,
    )
