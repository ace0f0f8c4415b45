"""Differences of two pass rates where every record is independent of all others.

For sessions this is an assumption, and a wrong one: the gate takes it only from a plan
that declares it.
"""

from math import acos, cos, pi, sqrt
from typing import NamedTuple

from scipy.special import ndtr

from core.domain.statistics.proportion import wilson
from core.domain.statistics.quantiles import CONFIDENCE, normal
from core.domain.statistics.score_limit import score_limit
from core.domain.statistics.sums import Interval


class Passes(NamedTuple):
    """Passes among so many independent records of one arm."""

    passes: float
    records: float

    @property
    def rate(self) -> float:
        """Share that passed."""
        return self.passes / self.records


class ScoreTest(NamedTuple):
    """Statistic and one-sided p of a non-inferiority test, at the restricted rates."""

    p_new: float
    p_base: float
    z: float
    p_value: float


def square_and_add(
    new: tuple[float, Interval], base: tuple[float, Interval], *, phi: float = 0.0
) -> Interval:
    """Limits of a difference from the limits of both rates (Newcombe; MOVER).

    Parameters
    ----------
    new, base : (rate, its limits)
    phi : float
        Correlation of the two rates, for the same tasks in both arms.

    Source
    ------
    Newcombe, Stat Med 17 (1998) 873-890, and 2635-2650 for paired data.

    >>> square_and_add((0.75, Interval(0.5, 1.0)), (0.25, Interval(0.25, 0.25)))
    Interval(lower=0.25, upper=0.75)
    """
    (rate, own), (other, reference) = new, base
    difference = rate - other
    down = _distance(rate - own.lower, reference.upper - other, phi)
    up = _distance(own.upper - rate, other - reference.lower, phi)
    return Interval(difference - down, difference + up)


def newcombe(new: Passes, base: Passes, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Interval of a difference by Newcombe's method 10; None where an arm has no record.

    >>> newcombe(Passes(56, 70), Passes(48, 80))
    Interval(lower=0.0524..., upper=0.3338...)
    """
    if min(new.records, base.records) <= 0:
        return None
    c = normal(confidence)
    one, other = ((a.rate, wilson(a.rate, a.records, c=c)) for a in (new, base))
    return square_and_add(one, other)


def miettinen_nurminen(
    new: Passes, base: Passes, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """Score interval of a difference; None where an arm has no record.

    Source
    ------
    Miettinen and Nurminen, Stat Med 4 (1985) 213-226.

    >>> miettinen_nurminen(Passes(56, 70), Passes(48, 80))
    Interval(lower=0.0528..., upper=0.3381...)
    """
    if min(new.records, base.records) <= 0:
        return None
    total = new.records + base.records
    scale = normal(confidence) * sqrt(total / (total - 1))
    estimate = new.rate - base.rate

    def error(difference: float) -> float:
        return scale * sqrt(_restricted_variance(new, base, difference))

    return Interval(
        score_limit(lambda d: estimate - d > error(d), outside=-1.0, inside=estimate),
        score_limit(lambda d: d - estimate > error(d), outside=1.0, inside=estimate),
    )


def farrington_manning(new: Passes, base: Passes, *, null_difference: float) -> ScoreTest | None:
    """Test whether the new rate is above the base by more than the null difference.

    Parameters
    ----------
    null_difference : float
        Minus the margin, for non-inferiority.

    Unknown when an arm has no record, or neither rate can vary at the null.

    Source
    ------
    Farrington and Manning, Stat Med 9 (1990) 1447-1454.

    >>> farrington_manning(Passes(930, 1000), Passes(1900, 2000), null_difference=-0.03)
    ScoreTest(p_new=0.9224..., p_base=0.9524..., z=1.0301..., p_value=0.1514...)
    """
    if min(new.records, base.records) <= 0:
        return None
    variance = _restricted_variance(new, base, null_difference)
    if variance <= 0:
        return None
    z = (new.rate - base.rate - null_difference) / sqrt(variance)
    p_base = restricted_base_rate(new, base, null_difference)
    return ScoreTest(p_base + null_difference, p_base, z, float(ndtr(-z)))


def restricted_base_rate(new: Passes, base: Passes, difference: float) -> float:
    """Most likely base rate if the new one is above it by exactly the difference.

    The root of the likelihood's cubic that lies between the possible rates, in its
    trigonometric form; it is held to that range against rounding.

    >>> round(restricted_base_rate(Passes(465, 500), Passes(475, 500), -0.05), 6)
    0.959611
    """
    total, passes = new.records + base.records, new.passes + base.passes
    two = (new.records + 2 * base.records) * difference - total - passes
    one = (base.records * difference - total - 2 * base.passes) * difference + passes
    zero = base.passes * difference * (1 - difference)
    third = two / (3 * total)
    q = third**3 - one * two / (6 * total**2) + zero / (2 * total)
    size = sqrt(max(0.0, third**2 - one / (3 * total)))
    u = size if q >= 0 else -size
    turn = 1.0 if u == 0 else min(1.0, max(-1.0, q / u**3))
    root = 2 * u * cos((pi + acos(turn)) / 3) - third
    lowest, highest = max(0.0, -difference), min(1.0, 1 - difference)
    return min(highest, max(lowest, root))


def _restricted_variance(new: Passes, base: Passes, difference: float) -> float:
    p_base = restricted_base_rate(new, base, difference)
    p_new = min(1.0, max(0.0, p_base + difference))
    return p_new * (1 - p_new) / new.records + p_base * (1 - p_base) / base.records


def _distance(one: float, other: float, phi: float) -> float:
    """Root of a^2 - 2 phi a b + b^2, in a form that rounding cannot make negative."""
    return sqrt((one - other) ** 2 + 2 * (1 - phi) * one * other)
