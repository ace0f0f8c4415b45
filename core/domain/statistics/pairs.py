"""Paired pass rates with one binary record of each arm a task: a table of four counts."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from core.domain.statistics.independent import square_and_add
from core.domain.statistics.proportion import wilson
from core.domain.statistics.quantiles import CONFIDENCE, normal
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
    check_places(new, base)
    for arm in (new, base):
        plain = arm.w.size > 0 and bool(((arm.n == 1) & (arm.w > 0) & (arm.w == arm.w[0])).all())
        if not plain or not bool(((arm.y == 0) | (arm.y == arm.w)).all()):
            return None
    one, other = new.y > 0, base.y > 0
    cells = (one & other, one & ~other, ~one & other, ~one & ~other)
    return PairCounts(*(int(np.count_nonzero(cell)) for cell in cells))


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


def check_places(new: ClusterSums, base: ClusterSums) -> None:
    """Refuse arms that cannot be over the same tasks.

    Raises
    ------
    ValueError
        If they differ in places.
    """
    if new.w.size != base.w.size:
        raise ValueError(f"arms over the same tasks: {new.w.size} and {base.w.size} places")
