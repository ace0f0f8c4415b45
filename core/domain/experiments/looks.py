"""Looks at a running experiment: which planned one is due, its boundary, and its record.

A planned look may be taken once, when its information is there; one that was passed over
is missed. Any other look is stored as not planned: it shows an estimate, spends nothing
and has no verdict. The last look is also due when the period is over, and spends the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import LookReason, LookRecord, TakenLook, counted
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import PlanVersion
from core.domain.statistics.gate import Verdict, judge
from core.domain.statistics.holds import HoldReason
from core.domain.statistics.sequential import Boundary, boundaries, information_fraction
from core.domain.statistics.sums import Interval

LOOK_SPENDS_NOTHING = "look_spends_nothing"
NOISE = 1e-9
"""Information that is short of a look's by less than this is arithmetic."""


@dataclass(frozen=True)
class LookFigures:
    """What the data say at a look; the interval is at the look's confidence."""

    estimate: float | None
    interval: Interval | None
    se: float | None
    df: float | None
    clusters_new: int
    clusters_base: int


@dataclass(frozen=True)
class Standing:
    """Where an experiment stands between its looks.

    Parameters
    ----------
    due : int or None
        The planned look that may be taken now, from 1; None: a look now decides nothing.
    final : bool
        Whether the look that is due is the last.
    next : int or None
        The planned look to come or due; None: all were taken.
    missed : tuple of int
        Planned looks that were passed over.
    information : float or None
        Fraction of the planned information now.
    """

    due: int | None
    final: bool
    next: int | None
    missed: tuple[int, ...]
    information: float | None


def information(
    plan: ExperimentPlan, *, clusters_new: int, clusters_base: int, se: float | None = None
) -> float | None:
    """Fraction of the planned information that is there.

    From the standard error where one was planned, else from clusters: a difference is as
    sure as the harmonic sum of its arms.

    Unknown when
    ------------
    The plan names no whole, or a standard error was planned and there is none yet (None).
    """
    if plan.planned_se is not None:
        return None if se is None else information_fraction(se, se_planned=plan.planned_se)
    if plan.planned_clusters is None:
        return None
    if clusters_new < 1 or clusters_base < 1:
        return 0.0
    planned = 1 / plan.planned_clusters.new + 1 / plan.planned_clusters.base
    return planned / (1 / clusters_new + 1 / clusters_base)


def standing(
    version: PlanVersion, looks: Sequence[TakenLook], *, at: float, information_now: float | None
) -> Standing:
    """Which planned look is due at a moment.

    Parameters
    ----------
    looks : sequence of TakenLook
        All stored looks of the experiment, in any order.
    at : float
        Until when data are read, seconds since the epoch: the period is over when its last
        data are there, not when the clock says so.
    information_now : float or None
        From `information`.
    """
    planned = version.plan.looks
    numbers = [look.record.number for look in counted(looks, version.plan_hash)]
    taken = [number for number in numbers if number is not None]
    latest = max([0, *taken])
    if latest >= len(planned):
        return Standing(
            None, final=False, next=None, missed=_missed(taken, latest), information=information_now
        )
    if at >= version.plan.period.end:
        due: int | None = len(planned)
    else:
        due = max(_reached(version.plan, information_now, latest), default=None)
    coming = due or latest + 1
    return Standing(
        due=due,
        final=due == len(planned),
        next=coming,
        missed=_missed(taken, coming - 1),
        information=information_now,
    )


def _missed(taken: Sequence[int], until: int) -> tuple[int, ...]:
    return tuple(number for number in range(1, until + 1) if number not in taken)


def _reached(plan: ExperimentPlan, now: float | None, latest: int) -> list[int]:
    if now is None:
        return []
    return [
        number
        for number, look in enumerate(plan.looks, start=1)
        if number > latest and now >= look.fraction - NOISE
    ]


def look_boundary(
    version: PlanVersion,
    looks: Sequence[TakenLook],
    *,
    now: Standing,
    clusters_new: int,
    clusters_base: int,
) -> Boundary | None:
    """Boundary of the look that is due, after what earlier ones have spent.

    Unknown when
    ------------
    No look is due; an arm has fewer clusters than the plan asks, so that nothing is spent;
    or the information has not risen since the last look that spent (None).
    """
    plan = version.plan
    if now.due is None or min(clusters_new, clusters_base) < plan.minimum_clusters:
        return None
    whole = plan.planned_clusters is None and plan.planned_se is None
    here = 1.0 if whole else now.information
    before = _spending_fractions(looks, version.plan_hash)
    if here is None or not here > max([0.0, *before]):
        return None
    return boundaries([*before, here], alpha=plan.alpha, spending=plan.spending, ended=now.final)[
        -1
    ]


def _spending_fractions(looks: Sequence[TakenLook], plan_hash: str) -> list[float]:
    records = [look.record for look in counted(looks, plan_hash)]
    return [one.information for one in records if one.boundary is not None and one.information]


def take_look(
    version: PlanVersion,
    looks: Sequence[TakenLook],
    *,
    now: Standing,
    figures: LookFigures,
    holds: Sequence[EvidenceLine],
    by: str,
    watermark: float | None,
    reason: LookReason = LookReason.OPERATIONAL,
) -> LookRecord:
    """The record of a look: with a verdict where one is due, without one otherwise.

    Parameters
    ----------
    holds : sequence of EvidenceLine
        Every reason to hold that was found, of statistics and of the experiment.
    reason : LookReason
        Why a look is taken that is not planned; a planned one says so itself.

    Raises
    ------
    EntryError
        If the name of who looks cannot be used.
    """
    shared = _as_fields(version, figures) | {
        "taken_by": by,
        "information": now.information,
        "watermark": _finite(watermark),
    }
    if now.due is None:
        return LookRecord.checked(**shared, reason=reason, holds=_not_planned(holds))
    bound = look_boundary(
        version,
        looks,
        now=now,
        clusters_new=figures.clusters_new,
        clusters_base=figures.clusters_base,
    )
    z, level = (None, None) if bound is None else (bound.z, bound.level)
    found = tuple(holds) if z is not None else (*holds, _spends_nothing(now))
    return LookRecord.checked(
        **shared,
        **_verdict(version.plan, figures.interval, found, final=now.final),
        number=now.due,
        final=now.final,
        information_planned=version.plan.looks[now.due - 1].fraction,
        spent_alpha=_spent(looks, version.plan_hash) if bound is None else bound.spent,
        boundary=z,
        level=level,
    )


def _verdict(
    plan: ExperimentPlan,
    interval: Interval | None,
    holds: tuple[EvidenceLine, ...],
    *,
    final: bool,
) -> dict[str, Any]:
    said = judge(interval, plan.margin)
    if said.interval_verdict is None and not holds:
        holds = tuple(map(EvidenceLine.of_statistics, said.holds))
    verdict = Verdict.HOLD if holds else said.verdict
    return {
        "verdict": verdict,
        "interval_verdict": said.interval_verdict,
        "holds": holds,
        "reason": _came_to(verdict, final=final),
    }


def _not_planned(holds: Sequence[EvidenceLine]) -> tuple[EvidenceLine, ...]:
    reason = HoldReason.LOOK_NOT_PLANNED.value
    known = any(line.reason == reason for line in holds)
    return tuple(holds) if known else (*holds, EvidenceLine.checked(reason=reason))


def _spends_nothing(now: Standing) -> EvidenceLine:
    return EvidenceLine.checked(reason=LOOK_SPENDS_NOTHING, value=now.information)


def _as_fields(version: PlanVersion, figures: LookFigures) -> dict[str, Any]:
    lower, upper = (None, None) if figures.interval is None else figures.interval
    return {
        "experiment": version.plan.experiment,
        "plan_hash": version.plan_hash,
        "estimate": _finite(figures.estimate),
        "lower": _finite(lower),
        "upper": _finite(upper),
        "se": _finite(figures.se),
        "df": _finite(figures.df),
        "clusters_new": figures.clusters_new,
        "clusters_base": figures.clusters_base,
    }


def _finite(number: float | None) -> float | None:
    """A number that JSON can hold; a limit or a df without end is none that is known."""
    return None if number is None or not isfinite(number) else float(number)


def _spent(looks: Sequence[TakenLook], plan_hash: str) -> float:
    """What earlier looks have spent; nothing before the first."""
    records = [look.record for look in counted(looks, plan_hash)]
    return max([0.0, *(one.spent_alpha for one in records if one.spent_alpha is not None)])


def _came_to(verdict: Verdict, *, final: bool) -> LookReason:
    if final:
        return LookReason.PLANNED_END
    crossed = verdict in {Verdict.NON_INFERIOR, Verdict.REGRESSION}
    return LookReason.BOUNDARY if crossed else LookReason.PLANNED_LOOK
