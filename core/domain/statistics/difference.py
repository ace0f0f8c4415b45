"""Difference of two arms that share no cluster: new minus base.

Pass rates get the hull of two intervals. The robust one collapses where nearly all
answers pass and is skewed for a small arm against a large one; the one by effective
sizes is too short for strongly correlated uneven sessions. Their hull holds its level in
both, and has no switch that one more failure could throw.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt

from core.domain.statistics.group import FEW_CLUSTERS, FEW_DF, Group, Undefined
from core.domain.statistics.independent import square_and_add
from core.domain.statistics.proportion import wilson
from core.domain.statistics.quantiles import CONFIDENCE, student
from core.domain.statistics.sums import Interval

SPARSE = 5.0


class Method(StrEnum):
    """What an interval of a difference was made by."""

    HULL = "hull"
    CR2 = "cr2"
    PAIRED = "paired"
    PAIRED_NO_VARIANCE = "paired_no_variance"
    TANGO = "tango"
    NEWCOMBE = "newcombe"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """New minus base, in units of the score; None where undefined.

    Parameters
    ----------
    estimate : float or None
        Difference of the two ratios of sums.
    interval : Interval or None
        The interval to decide on, not limited to [-1, 1]; `reason` says why there is none.
    variance, df : float or None
        Of the robust interval.
    cr2, effective : Interval or None
        The two intervals the hull is made of.
    new, base : Group
        The arms.
    paired_clusters, unpaired_clusters, discordant_clusters : int or None
        Tasks in both arms, in one only, and with another rate in each; paired data only.
    independence_assumed : bool
        Records were taken as independent, for want of clusters.
    """

    estimate: float | None
    interval: Interval | None
    reason: Undefined | None
    method: Method
    confidence: float
    new: Group
    base: Group
    variance: float | None = None
    df: float | None = None
    cr2: Interval | None = None
    effective: Interval | None = None
    paired_clusters: int | None = None
    unpaired_clusters: int | None = None
    discordant_clusters: int | None = None
    independence_assumed: bool = False

    @property
    def few_clusters(self) -> bool:
        """Fewer than 20 clusters in an arm, or 10 degrees of freedom: never decided on.

        Records count as clusters where they were taken as independent.
        """
        alone = self.method is Method.NEWCOMBE
        fewest = min(a.records if alone else a.clusters for a in (self.new, self.base))
        return fewest < FEW_CLUSTERS or (self.df is not None and self.df < FEW_DF)

    @property
    def sparsity(self) -> float | None:
        """Records on the rarer side in the arm that has fewest of them."""
        if self.new.rarest is None or self.base.rarest is None:
            return None
        return min(self.new.rarest, self.base.rarest)

    @property
    def sparse(self) -> bool | None:
        """Fewer than five records on the rarer side of an arm; None for unbounded scores."""
        return None if self.sparsity is None else self.sparsity < SPARSE


def estimate_of(new: Group, base: Group) -> float | None:
    """New minus base; None where either is unknown."""
    if new.estimate is None or base.estimate is None:
        return None
    return new.estimate - base.estimate


def separate_difference(
    new: Group, base: Group, *, confidence: float = CONFIDENCE, unbounded: bool = False
) -> Difference:
    """Difference of two arms without a common cluster, with its interval.

    Parameters
    ----------
    unbounded : bool
        Numeric scores without known limits: the robust interval alone.

    Unknown when an arm has no record (no estimate); or fewer than two clusters in an arm,
    a score outside [0, 1] that is not declared unbounded, or unbounded scores that do not
    vary (no interval).

    Source
    ------
    Satterthwaite's combination of the arms' degrees of freedom; Newcombe, Stat Med 17
    (1998) 873-890, with the effective sizes of Franco et al., JSSAM 7 (2019).

    >>> from core.domain.statistics.group import group
    >>> from core.domain.statistics.sums import of_records
    >>> new = group(of_records([1, 1, 0, 1, 1, 1], clusters=list("aabbcc")))
    >>> base = group(of_records([1, 1, 1, 1, 0, 0], clusters=list("uuvvww")))
    >>> found = separate_difference(new, base)
    >>> round(found.estimate, 4), found.cr2 == found.interval, found.sparse
    (0.1667, True, True)
    """
    found = Difference(
        estimate=estimate_of(new, base),
        interval=None,
        reason=new.reason or base.reason,
        method=Method.CR2 if unbounded else Method.HULL,
        confidence=confidence,
        new=new,
        base=base,
    )
    return _unbounded(_with_cr2(found)) if unbounded else _bounded(_with_cr2(found))


def hull(one: Interval, other: Interval) -> Interval:
    """Smaller lower and larger upper limit.

    >>> hull(Interval(-0.1, 0.2), Interval(-0.2, 0.1))
    Interval(lower=-0.2, upper=0.2)
    """
    return Interval(min(one.lower, other.lower), max(one.upper, other.upper))


def _with_cr2(found: Difference) -> Difference:
    """The same with variance, degrees of freedom and the robust interval, where they exist."""
    spread = _welch(found.new, found.base)
    if found.estimate is None or spread is None:
        return found
    variance, df = spread
    half = student(df, confidence=found.confidence) * sqrt(variance)
    cr2 = Interval(found.estimate - half, found.estimate + half)
    return replace(found, variance=variance, df=df, cr2=cr2)


def _unbounded(found: Difference) -> Difference:
    """The robust interval, unless its width is 0 for want of any variation."""
    if found.cr2 is None:
        return found
    if found.variance == 0:
        return replace(found, reason=Undefined.NO_VARIATION)
    return replace(found, interval=found.cr2)


def _bounded(found: Difference) -> Difference:
    """The hull of the robust interval and the one by effective sizes."""
    if found.cr2 is None or found.df is None:
        return found
    effective = _effective(found.new, found.base, student(found.df, confidence=found.confidence))
    if effective is None:
        return replace(found, reason=Undefined.NOT_A_PROPORTION)
    return replace(found, effective=effective, interval=hull(found.cr2, effective))


def _welch(new: Group, base: Group) -> tuple[float, float] | None:
    """Variance of the difference and its degrees of freedom."""
    if new.v_cr2 is None or base.v_cr2 is None or new.df is None or base.df is None:
        return None
    variance = new.v_cr2 + base.v_cr2
    if variance == 0:
        return 0.0, float(new.clusters + base.clusters - 2)
    share = new.v_cr2 / variance
    return variance, 1 / (share**2 / new.df + (1 - share) ** 2 / base.df)


def _effective(new: Group, base: Group, c: float) -> Interval | None:
    """Interval by effective sizes, with one critical value for both arms."""
    one, other = _rate_and_limits(new, c), _rate_and_limits(base, c)
    return None if one is None or other is None else square_and_add(one, other)


def _rate_and_limits(arm: Group, c: float) -> tuple[float, Interval] | None:
    n_eff = arm.n_eff
    if arm.estimate is None or n_eff is None:
        return None
    return arm.estimate, wilson(arm.estimate, n_eff, c=c)
