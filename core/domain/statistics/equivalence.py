"""Equivalence: both limits inside the margins. A claim of its own, never the default.

Passing the gate shows that the new arm is not worse by the margin; it does not show that
the arms are equal within it.
"""

from dataclasses import dataclass

from scipy.special import stdtr

from core.domain.statistics.quantiles import student
from core.domain.statistics.sums import Interval


@dataclass(frozen=True)
class Tost:
    """Two one-sided tests.

    Parameters
    ----------
    t_lower, t_upper : float
        Distance of the difference from the lower and the upper limit, in standard errors.
    p_lower, p_upper : float
        One-sided p-values of "above the lower limit" and "below the upper limit".
    interval : Interval
        Of two-sided confidence 1 - 2 alpha; strictly inside the limits where `equivalent`.
    """

    t_lower: float
    t_upper: float
    p_lower: float
    p_upper: float
    interval: Interval
    equivalent: bool

    @property
    def p(self) -> float:
        """The larger of both p-values."""
        return max(self.p_lower, self.p_upper)


def is_equivalent(interval: Interval, low: float, high: float) -> bool:
    """Whether an interval lies strictly inside the limits.

    Parameters
    ----------
    interval : Interval
        Of two-sided confidence 1 - 2 alpha: 0.90 for alpha 0.05.
    low, high : float
        Limits of the difference, low below high.

    >>> is_equivalent(Interval(-0.015, 0.01), -0.02, 0.02)
    True
    >>> is_equivalent(Interval(-0.02, 0.01), -0.02, 0.02)
    False
    """
    return low < interval.lower and interval.upper < high


def tost(
    delta: float, se: float, *, df: float, low: float, high: float, alpha: float = 0.05
) -> Tost | None:
    """Test a difference against a lower and an upper limit, with Student's t.

    Parameters
    ----------
    delta, se : float
        Difference and its standard error, in the same unit as the limits.
    df : float
        Degrees of freedom of the standard error.
    low, high : float
        Limits of equivalence.
    alpha : float
        Level of each one-sided test.

    Unknown when
    ------------
    The standard error or its degrees of freedom are not positive (None).

    Source
    ------
    Schuirmann, J. Pharmacokin. Biopharm. 15 (1987).

    >>> round(tost(-0.004, 0.006, df=57, low=-0.02, high=0.02).p, 6)
    0.004976
    """
    if not (se > 0 and df > 0):
        return None
    t_lower, t_upper = (delta - low) / se, (delta - high) / se
    half = student(df, confidence=1 - 2 * alpha) * se
    p_lower, p_upper = float(stdtr(df, -t_lower)), float(stdtr(df, t_upper))
    return Tost(
        t_lower,
        t_upper,
        p_lower,
        p_upper,
        Interval(delta - half, delta + half),
        equivalent=max(p_lower, p_upper) < alpha,
    )
