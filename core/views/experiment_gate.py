"""The quality side of an experiment: both arms, their difference, and what could tip it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

from core.domain.experiments.arms import Arm
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.looks import LookFigures
from core.domain.experiments.plan import ExperimentPlan
from core.domain.quality import Estimand, Tally
from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import Difference
from core.domain.statistics.gate import alpha_of
from core.domain.statistics.missing import (
    Bounds,
    IntervalTippingPoint,
    Observed,
    Scored,
    TippingPoint,
    bounding_interval,
    difference_bounds,
    interval_tipping_point,
    tipping_point,
)
from core.domain.statistics.paired import paired_difference
from core.domain.statistics.planning import POWER, clusters_for, detectable_margin
from core.domain.statistics.proportion import Estimate, mean, proportion
from core.domain.statistics.sums import ClusterSums, Interval
from core.views.experiment_arms import ArmSums

INCOMPLETE_MARGIN = 0.02
"""Largest rise of the incomplete rate where the plan's margin is in the unit of a mean."""


@dataclass(frozen=True)
class ArmQuality:
    """One arm: counts, its own estimate with interval, and its rate of incomplete requests."""

    arm: Arm
    tally: Tally
    estimate: Estimate
    incomplete: Estimate


@dataclass(frozen=True)
class Missing:
    """What scores that are missing could do to the difference; None where nothing is known.

    Parameters
    ----------
    bounds : Bounds or None
        Least and most the difference can be, without sampling uncertainty.
    interval : Interval or None
        The interval that holds whatever the missing scores are.
    tips, interval_tips
        Where the estimate, and the lower limit, would reach minus the margin.
    """

    bounds: Bounds | None
    interval: Interval | None
    tips: TippingPoint | None
    interval_tips: IntervalTippingPoint | None


@dataclass(frozen=True)
class Detectable:
    """What these data could show with the plan's power, if there were no difference."""

    margin: float | None
    power: float
    clusters_new: int | None
    clusters_base: int | None
    """Sessions that the plan's own margin would take, at the spread seen now."""


@dataclass(frozen=True)
class GateFigures:
    """New minus baseline at one confidence, with everything that stands beside it."""

    design: Design
    difference: Difference
    confidence: float
    base: ArmQuality
    new: ArmQuality
    missing: Missing | None
    """None for means and for scores of a sample: missing scores have no known worst there."""
    complete: Difference
    complete_margin: float
    joint: Difference | None
    """One sum over all sessions, where some lie in both arms; beside the result, not for it."""
    detectable: Detectable

    @property
    def look(self) -> LookFigures:
        """The figures that a look records."""
        found = self.difference
        return LookFigures(
            estimate=found.estimate,
            interval=found.interval,
            se=standard_error(found),
            df=found.df,
            clusters_new=found.new.clusters,
            clusters_base=found.base.clusters,
        )


def standard_error(found: Difference) -> float | None:
    """Standard error of a difference; None where its method has none."""
    return None if found.variance is None else sqrt(found.variance)


def design_of(arms: ArmSums) -> Design:
    """How records of the arms belong together: the plan says, and whether sessions are there."""
    if arms.plan.comparison is Comparison.PAIRED_DATA_SET:
        return Design.PAIRED
    return Design.NO_CLUSTERS if arms.no_sessions else Design.SEPARATE


def differ(
    arms: ArmSums, measure: Callable[[Arm], ClusterSums], *, confidence: float, unbounded: bool
) -> Difference:
    """New minus baseline of some sums, by the design of the experiment."""
    return _differ(
        measure(Arm.NEW),
        measure(Arm.BASE),
        design=design_of(arms),
        confidence=confidence,
        unbounded=unbounded,
    )


def _differ(
    new: ClusterSums, base: ClusterSums, *, design: Design, confidence: float, unbounded: bool
) -> Difference:
    if design is Design.PAIRED:
        here = (new.w > 0) | (base.w > 0)
        new, base = new.where(here), base.where(here)
    else:
        new, base = new.present, base.present
    return difference_interval(new, base, design=design, confidence=confidence, unbounded=unbounded)


def gate_figures(arms: ArmSums, *, confidence: float) -> GateFigures:
    """Everything about the difference, its interval at one two-sided confidence."""
    plan, unbounded = arms.plan, arms.plan.estimand is Estimand.MEAN
    found = differ(arms, arms.oriented, confidence=confidence, unbounded=unbounded)
    return GateFigures(
        design=design_of(arms),
        difference=found,
        confidence=confidence,
        base=_arm(arms, Arm.BASE),
        new=_arm(arms, Arm.NEW),
        missing=None if unbounded or arms.series.sampled else _missing(arms, confidence),
        complete=differ(
            arms, lambda arm: -arms.incomplete(arm), confidence=confidence, unbounded=False
        ),
        complete_margin=INCOMPLETE_MARGIN if unbounded else plan.margin,
        joint=_joint(arms, confidence, unbounded=unbounded),
        detectable=_detectable(plan, found),
    )


def _arm(arms: ArmSums, arm: Arm) -> ArmQuality:
    of = mean if arms.plan.estimand is Estimand.MEAN else proportion
    return ArmQuality(
        arm=arm,
        tally=arms.tally(arm),
        estimate=of(arms.scores(arm).present),
        incomplete=proportion(arms.incomplete(arm).present),
    )


def _missing(arms: ArmSums, confidence: float) -> Missing:
    scored = {arm: Scored(arms.oriented(arm), arms.unscored(arm)) for arm in Arm}
    seen = {
        arm: Observed(
            passes=float(one.observed.y.sum()),
            observed=one.observed.weight,
            eligible=one.observed.weight + one.missing.weight,
        )
        for arm, one in scored.items()
    }
    design, margin = design_of(arms), arms.plan.margin

    def interval(new: ClusterSums, base: ClusterSums) -> Interval | None:
        found = _differ(new, base, design=design, confidence=confidence, unbounded=False)
        return found.interval

    new, base = Arm.NEW, Arm.BASE
    lacking = any(one.missing.records for one in scored.values())
    return Missing(
        bounds=difference_bounds(seen[new], seen[base]),
        interval=bounding_interval(scored[new], scored[base], interval=interval)
        if lacking
        else None,
        tips=tipping_point(seen[new], seen[base], margin=margin),
        interval_tips=interval_tipping_point(
            scored[new], scored[base], margin=margin, interval=interval
        ),
    )


def _joint(arms: ArmSums, confidence: float, *, unbounded: bool) -> Difference | None:
    new, base = arms.oriented(Arm.NEW), arms.oriented(Arm.BASE)
    here = (new.w > 0) | (base.w > 0)
    shared = bool(((new.w > 0) & (base.w > 0)).any())
    if design_of(arms) is Design.PAIRED or not shared:
        return None
    return paired_difference(
        new.where(here), base.where(here), confidence=confidence, unbounded=unbounded
    )


def _detectable(plan: ExperimentPlan, found: Difference) -> Detectable:
    power = POWER if plan.assumptions is None else plan.assumptions.power
    se, df = standard_error(found), inf if found.df is None else found.df
    margin = None
    if se is not None:
        margin = detectable_margin(se, df=df, alpha=alpha_of(found.confidence), power=power)
    if se is None or margin is None or plan.margin <= 0:
        return Detectable(margin, power, None, None)
    target = se * plan.margin / margin
    return Detectable(
        margin=margin,
        power=power,
        clusters_new=clusters_for(found.new.clusters, se=se, se_target=target),
        clusters_base=clusters_for(found.base.clusters, se=se, se_target=target),
    )
