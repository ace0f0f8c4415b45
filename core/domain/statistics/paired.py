"""Difference of two arms that were given the same tasks: new minus base.

A task is the unit: its repeats are in its sums and never count as records of their own.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from core.domain.records import Bools, Floats
from core.domain.statistics.difference import Difference, Method, estimate_of
from core.domain.statistics.group import Group, Undefined, group
from core.domain.statistics.independent import square_and_add
from core.domain.statistics.influence import settled, variance_of_influence
from core.domain.statistics.proportion import wilson
from core.domain.statistics.quantiles import CONFIDENCE, normal, student
from core.domain.statistics.score_limit import score_limit
from core.domain.statistics.sums import ClusterSums, Interval


class PairCounts(NamedTuple):
    """Tasks by what happened to them, with one binary record of each arm."""

    both_pass: int
    new_only: int
    base_only: int
    both_fail: int

    @property
    def tasks(self) -> int:
        """All tasks."""
        return sum(self)

    @property
    def estimate(self) -> float:
        """New rate minus base rate."""
        return (self.new_only - self.base_only) / self.tasks


def pair_counts(new: ClusterSums, base: ClusterSums) -> PairCounts | None:
    """Count the tasks by outcome; None unless each has one binary record in each arm.

    >>> from core.domain.statistics.sums import of_records
    >>> pair_counts(of_records([1, 1, 0], clusters="abc"), of_records([1, 0, 0], clusters="abc"))
    PairCounts(both_pass=1, new_only=1, base_only=0, both_fail=1)
    """
    _same_places(new, base)
    for arm in (new, base):
        plain = arm.w.size > 0 and bool(((arm.n == 1) & (arm.w > 0) & (arm.w == arm.w[0])).all())
        if not plain or not bool(((arm.y == 0) | (arm.y == arm.w)).all()):
            return None
    one, other = new.y > 0, base.y > 0
    cells = (one & other, one & ~other, ~one & other, ~one & ~other)
    return PairCounts(*(int(np.count_nonzero(cell)) for cell in cells))


def paired_difference(
    new: ClusterSums,
    base: ClusterSums,
    *,
    confidence: float = CONFIDENCE,
    unbounded: bool = False,
) -> Difference:
    """Difference over tasks, linearised, with Student's t on G - 1 degrees of freedom.

    Also the sensitivity result where some sessions occur in both arms.

    Parameters
    ----------
    new, base : ClusterSums
        The same tasks at the same places. A task of one arm only stays in, with nothing
        on the other side.
    unbounded : bool
        Numeric scores without known limits.

    Notes
    -----
    Without any variance the difference was the same in every task. Up to z^2/(G + z^2) of
    other tasks may then behave in any way between -1 and 1; this is Tango's bound where
    all tasks agree and where all disagree. Only tasks in both arms count in it.

    Unknown when an arm has no record (no estimate); fewer than two tasks, a score outside
    [0, 1] that is not declared unbounded, or unbounded scores that do not vary (no interval).

    >>> from core.domain.statistics.sums import of_records
    >>> new = of_records([1, 1, 0, 1], clusters="abcd")
    >>> base = of_records([1, 0, 0, 1], clusters="abcd")
    >>> found = paired_difference(new, base)
    >>> found.estimate, found.df, found.interval
    (0.25, 3.0, Interval(lower=-0.5456..., upper=1.0456...))
    """
    _same_places(new, base)
    arms = group(new), group(base)
    estimate = estimate_of(*arms)
    influence = _influence(new, base, arms)
    variance = None if influence is None else variance_of_influence(influence)
    df = None if influence is None or variance is None else float(influence.size - 1)
    both = (new.w > 0) & (base.w > 0)
    pairs = int(np.count_nonzero(both))
    reason = _undefined(arms, variance, unbounded=unbounded)
    interval = None
    if estimate is not None and variance is not None and df is not None and reason is None:
        if variance == 0:
            interval = _without_variance(estimate, pairs, confidence)
        else:
            half = student(df, confidence=confidence) * sqrt(variance)
            interval = Interval(estimate - half, estimate + half)
    constant = interval is not None and variance == 0
    return Difference(
        estimate=estimate,
        interval=interval,
        reason=reason,
        method=Method.PAIRED_NO_VARIANCE if constant else Method.PAIRED,
        confidence=confidence,
        new=arms[0],
        base=arms[1],
        variance=variance,
        df=df,
        paired_clusters=pairs,
        unpaired_clusters=int(np.count_nonzero((new.w > 0) ^ (base.w > 0))),
        discordant_clusters=_discordant(new, base, both),
    )


def tango(counts: PairCounts, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Score interval of a difference of paired binary records; None without tasks.

    Source
    ------
    Tango, Stat Med 17 (1998) 891-908, equations for the restricted rate.

    >>> tango(PairCounts(794, 150, 86, 570))
    Interval(lower=0.0213..., upper=0.0589...)
    """
    n = counts.tasks
    if n <= 0:
        return None
    z, gain, estimate = normal(confidence), counts.new_only, counts.estimate

    def error(difference: float) -> float:
        one = -gain - counts.base_only + (2 * n - gain + counts.base_only) * difference
        rest = -counts.base_only * difference * (1 - difference)
        q = (sqrt(max(0.0, one * one - 8 * n * rest)) - one) / (4 * n)
        return z * sqrt(max(0.0, 2 * q + difference * (1 - difference)) / n)

    return Interval(
        score_limit(lambda d: estimate - d > error(d), outside=-1.0, inside=estimate),
        score_limit(lambda d: d - estimate > error(d), outside=1.0, inside=estimate),
    )


def newcombe_paired(counts: PairCounts, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Interval of paired binary records in closed form (method 10); None without tasks.

    Source
    ------
    Newcombe, Stat Med 17 (1998) 2635-2650, with the continuity-corrected correlation.

    >>> newcombe_paired(PairCounts(36, 12, 2, 0))
    Interval(lower=0.0569..., upper=0.3404...)
    """
    n = counts.tasks
    if n <= 0:
        return None
    c = normal(confidence)
    rates = (
        (counts.both_pass + counts.new_only) / n,
        (counts.both_pass + counts.base_only) / n,
    )
    one, other = ((rate, wilson(rate, n, c=c)) for rate in rates)
    return square_and_add(one, other, phi=_phi(counts))


def _phi(counts: PairCounts) -> float:
    a, b, c, d = counts
    product = (a + b) * (c + d) * (a + c) * (b + d)
    if product == 0:
        return 0.0
    excess = a * d - b * c
    corrected = max(excess - counts.tasks / 2, 0.0) if excess > 0 else excess
    return corrected / sqrt(product)


def _influence(new: ClusterSums, base: ClusterSums, arms: tuple[Group, Group]) -> Floats | None:
    """What each task adds to the difference, tasks without any weight left out."""
    parts, sizes = [], []
    here = (new.w > 0) | (base.w > 0)
    for sums, arm in ((new, arms[0]), (base, arms[1])):
        if arm.estimate is None or not arm.weight:
            return None
        score, expected = sums.y / arm.weight, arm.estimate * sums.w / arm.weight
        parts.append(score - expected)
        sizes.append(np.abs(score) + np.abs(expected))
    return settled(parts[0] - parts[1], of=sizes[0] + sizes[1])[here]


def _undefined(
    arms: tuple[Group, Group], variance: float | None, *, unbounded: bool
) -> Undefined | None:
    """Why there is no interval; an arm with fewer than two tasks has none."""
    reason = arms[0].reason or arms[1].reason
    if reason is not None:
        return reason
    if unbounded:
        return Undefined.NO_VARIATION if variance == 0 else None
    proportions = arms[0].within_unit and arms[1].within_unit
    return None if proportions else Undefined.NOT_A_PROPORTION


def _without_variance(estimate: float, pairs: int, confidence: float) -> Interval:
    square = normal(confidence) ** 2
    other = square / (pairs + square)
    return Interval(estimate - other * (1 + estimate), estimate + other * (1 - estimate))


def _discordant(new: ClusterSums, base: ClusterSums, both: Bools) -> int:
    """Tasks of both arms whose rates differ."""
    cross = new.y[both] * base.w[both], base.y[both] * new.w[both]
    apart = settled(cross[0] - cross[1], of=np.abs(cross[0]) + np.abs(cross[1]))
    return int(np.count_nonzero(apart))


def _same_places(new: ClusterSums, base: ClusterSums) -> None:
    if new.w.size != base.w.size:
        raise ValueError(f"arms over the same tasks: {new.w.size} and {base.w.size} places")
