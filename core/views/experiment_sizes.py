"""How many sessions a plan needs, from what it assumes."""

from dataclasses import dataclass

from core.domain.experiments.plan import Assumptions, ExperimentPlan
from core.domain.quality import Estimand
from core.domain.statistics.independent import Passes, restricted_base_rate
from core.domain.statistics.planning import ArmSize, arm_size, design_effect, records_needed

LARGE = 10**6


@dataclass(frozen=True)
class SamplePlan:
    """What each arm must bring; None: no number of sessions is enough."""

    effect: float
    base: ArmSize | None
    new: ArmSize | None


def sample_plan(
    assumed: Assumptions, *, margin: float, alpha: float, ratio: float, coverage: float
) -> SamplePlan:
    """Requests and sessions of both arms for a non-inferiority claim on pass rates.

    Parameters
    ----------
    assumed : Assumptions
        Rates, correlation within sessions and their sizes, and the wanted power.
    margin, alpha : float
        Of the gate; the level is one-sided.
    ratio : float
        New sessions per one of the baseline.
    coverage : float
        Share of the requests that will have a score.
    """
    effect = design_effect(
        assumed.mean_session_size, cv_size=assumed.cv_session_size, icc=assumed.icc
    )
    records = records_needed(
        assumed.p_new,
        assumed.p_base,
        margin=margin,
        alpha=alpha,
        power=assumed.power,
        ratio=ratio,
        restricted=_restricted(assumed, margin, ratio),
    )
    if records is None:
        return SamplePlan(effect, None, None)
    base, new = (
        arm_size(n, effect=effect, mean_size=assumed.mean_session_size, coverage=coverage)
        for n in (records, records * ratio)
    )
    return SamplePlan(effect, base, new)


def sample_plan_of(plan: ExperimentPlan) -> SamplePlan | None:
    """What a plan's own assumptions ask for; None where it has none, or is about a mean."""
    if plan.assumptions is None or plan.estimand is Estimand.MEAN:
        return None
    return sample_plan(
        plan.assumptions,
        margin=plan.margin,
        alpha=plan.alpha,
        ratio=plan.ratio,
        coverage=plan.minimum_coverage,
    )


def _restricted(assumed: Assumptions, margin: float, ratio: float) -> tuple[float, float] | None:
    """Most likely rates of both arms if they differed by exactly minus the margin."""
    if not assumed.p_new - assumed.p_base + margin > 0:
        return None
    base = restricted_base_rate(
        Passes(assumed.p_new * LARGE * ratio, LARGE * ratio),
        Passes(assumed.p_base * LARGE, LARGE),
        -margin,
    )
    return base - margin, base
