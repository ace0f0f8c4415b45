"""What missing scores could do to a result: bounds, and the point at which it tips.

All of it is for scores in [0, 1], where the worst a missing record can be is known.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from core.domain.statistics.score_limit import score_limit
from core.domain.statistics.sums import ClusterSums, Interval

Intervals = Callable[[ClusterSums, ClusterSums], Interval | None]
"""Interval of new minus base, as the gate makes it for its design and confidence."""


class Observed(NamedTuple):
    """Passes among the observed of the eligible: counts, or sums of weights."""

    passes: float
    observed: float
    eligible: float

    @property
    def missing(self) -> float:
        """Eligible without a score."""
        return self.eligible - self.observed

    @property
    def rate(self) -> float | None:
        """Rate among the observed; None without any."""
        return self.passes / self.observed if self.observed > 0 else None


class Bounds(NamedTuple):
    """What was observed, and the least and most it can be with every score there.

    No sampling uncertainty is in them. `observed` is None where nothing was observed.
    """

    observed: float | None
    lower: float
    upper: float


class TippingPoint(NamedTuple):
    """Rate among the missing of the new arm at which the estimate equals minus the margin.

    Below 0 no missing score can break the result, above 1 none can save it. `gap` is the
    observed rate minus it.
    """

    rate: float
    gap: float


class Tips(StrEnum):
    """Whether missing scores of the new arm can decide where an interval lies."""

    AT_RATE = "at_rate"
    NEVER_BREAKS = "never_breaks"
    NEVER_SAVES = "never_saves"


class IntervalTippingPoint(NamedTuple):
    """Rate among the missing of the new arm at which the lower limit equals minus the margin."""

    tips: Tips
    rate: float | None


class Scored(NamedTuple):
    """Sums of the records with a score, and of those without, over the same clusters."""

    observed: ClusterSums
    missing: ClusterSums

    def filled(self, rate: float) -> ClusterSums:
        """All records, the missing ones passing at a rate."""
        gap = self.missing
        return self.observed + ClusterSums(rate * gap.w, gap.w, gap.s, gap.n)


def bounds(arm: Observed) -> Bounds | None:
    """Least and most the rate of an arm can be; None without an eligible record.

    Source
    ------
    Manski, AER 80 (1990) 319-323.

    >>> bounds(Observed(passes=855, observed=900, eligible=1000))
    Bounds(observed=0.95, lower=0.855, upper=0.955)
    """
    if arm.eligible <= 0:
        return None
    worst, best = arm.passes / arm.eligible, (arm.passes + arm.missing) / arm.eligible
    return Bounds(arm.rate, worst, best)


def difference_bounds(new: Observed, base: Observed) -> Bounds | None:
    """Least and most the difference can be; None where an arm has no eligible record.

    >>> found = difference_bounds(Observed(855, 900, 1000), Observed(912, 950, 1000))
    >>> [round(value, 4) for value in found]
    [-0.01, -0.107, 0.043]
    """
    one, other = bounds(new), bounds(base)
    if one is None or other is None:
        return None
    observed = None
    if one.observed is not None and other.observed is not None:
        observed = one.observed - other.observed
    return Bounds(observed, one.lower - other.upper, one.upper - other.lower)


def tipping_point(new: Observed, base: Observed, *, margin: float) -> TippingPoint | None:
    """Rate among the new arm's missing that puts the estimate at minus the margin.

    The missing of the base pass at its observed rate.

    Unknown when nothing is missing in the new arm, or an arm has no observed record.

    >>> found = tipping_point(Observed(855, 900, 1000), Observed(912, 950, 1000), margin=0.02)
    >>> round(found.rate, 9), round(found.gap, 9)
    (0.85, 0.1)
    """
    if new.rate is None or base.rate is None or new.missing <= 0:
        return None
    rate = ((base.rate - margin) * new.eligible - new.passes) / new.missing
    return TippingPoint(rate, new.rate - rate)


def bounding_interval(new: Scored, base: Scored, *, interval: Intervals) -> Interval | None:
    """Interval that holds whatever the missing scores are, sampling uncertainty included.

    Its lower limit has every missing score of the new arm a fail and of the base a pass,
    its upper limit the reverse. None where either interval is undefined.
    """
    worst = interval(new.filled(0.0), base.filled(1.0))
    best = interval(new.filled(1.0), base.filled(0.0))
    if worst is None or best is None:
        return None
    return Interval(worst.lower, best.upper)


def interval_tipping_point(
    new: Scored, base: Scored, *, margin: float, interval: Intervals
) -> IntervalTippingPoint | None:
    """Rate among the new arm's missing that puts the lower limit at minus the margin.

    The missing of the base pass at its observed rate. Found by halving between 0 and 1;
    where the limit is not monotone in the rate, it is one of the crossings.

    Unknown when nothing is missing in the new arm, the base has no observed record, or
    the interval is undefined.
    """
    rate = base.observed.estimate
    if rate is None or new.missing.weight <= 0:
        return None
    reference = base.filled(rate)

    def lower(assumed: float) -> float | None:
        found = interval(new.filled(assumed), reference)
        return None if found is None else found.lower

    worst, best = lower(0.0), lower(1.0)
    if worst is None or best is None:
        return None
    if worst > -margin:
        return IntervalTippingPoint(Tips.NEVER_BREAKS, None)
    if best <= -margin:
        return IntervalTippingPoint(Tips.NEVER_SAVES, None)

    def fails(assumed: float) -> bool:
        limit = lower(assumed)
        return limit is None or limit <= -margin

    tip = score_limit(fails, outside=0.0, inside=1.0)
    return IntervalTippingPoint(Tips.AT_RATE, tip)
