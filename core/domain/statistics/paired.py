"""Difference of two arms that were given the same tasks: new minus base.

A task is the unit: its repeats are in its sums and never count as records of their own.
"""

from dataclasses import replace
from math import sqrt

import numpy as np

from core.domain.records import Bools, Floats
from core.domain.statistics.difference import Difference, Method, estimate_of
from core.domain.statistics.group import Group, Undefined, group
from core.domain.statistics.influence import settled, variance_of_influence
from core.domain.statistics.pairs import check_places
from core.domain.statistics.quantiles import CONFIDENCE, normal, student
from core.domain.statistics.sums import ClusterSums, Interval


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
    check_places(new, base)
    arms = group(new), group(base)
    estimate, influence = estimate_of(*arms), _influence(new, base, arms)
    variance = None if influence is None else variance_of_influence(influence)
    both = (new.w > 0) & (base.w > 0)
    found = Difference(
        estimate=estimate,
        interval=None,
        reason=_undefined(arms, variance, unbounded=unbounded),
        method=Method.PAIRED,
        confidence=confidence,
        new=arms[0],
        base=arms[1],
        variance=variance,
        df=None if influence is None or variance is None else float(influence.size - 1),
        paired_clusters=int(np.count_nonzero(both)),
        unpaired_clusters=int(np.count_nonzero((new.w > 0) ^ (base.w > 0))),
        discordant_clusters=_discordant(new, base, both),
    )
    return _with_interval(found) if found.reason is None else found


def _with_interval(found: Difference) -> Difference:
    """The same with its interval: by t, or by the rule for no variance."""
    estimate, variance, df, pairs = found.estimate, found.variance, found.df, found.paired_clusters
    if estimate is None or variance is None or df is None or pairs is None:
        return found
    if variance == 0:
        square = normal(found.confidence) ** 2
        other = square / (pairs + square)
        interval = Interval(estimate - other * (1 + estimate), estimate + other * (1 - estimate))
        return replace(found, method=Method.PAIRED_NO_VARIANCE, interval=interval)
    half = student(df, confidence=found.confidence) * sqrt(variance)
    return replace(found, interval=Interval(estimate - half, estimate + half))


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


def _discordant(new: ClusterSums, base: ClusterSums, both: Bools) -> int:
    """Tasks of both arms whose rates differ."""
    cross = new.y[both] * base.w[both], base.y[both] * new.w[both]
    apart = settled(cross[0] - cross[1], of=np.abs(cross[0]) + np.abs(cross[1]))
    return int(np.count_nonzero(apart))
