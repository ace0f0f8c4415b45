"""Intervals of one group: a pass rate, or a mean score.

Records are independent only in `wilson` and `clopper_pearson`. A clustered pass rate is
Wilson's interval with the records it is worth; a mean is its estimate and t standard errors.
"""

from dataclasses import dataclass
from math import sqrt

from scipy.special import betaincinv

from core.domain.statistics.group import Group, Undefined, group
from core.domain.statistics.quantiles import CONFIDENCE, normal, student
from core.domain.statistics.sums import ClusterSums, Interval


@dataclass(frozen=True, kw_only=True)
class Estimate(Group):
    """A group with its interval; `reason` says why there is none."""

    interval: Interval | None
    confidence: float


def wilson(rate: float, n: float, *, c: float) -> Interval:
    """Limits by Wilson's score, of a rate and the records it is worth.

    Parameters
    ----------
    rate : float
        Within 0 to 1; the lower limit is exactly 0 at 0, the upper exactly 1 at 1.
    n : float
        Independent records, above 0; need not be whole.
    c : float
        Critical value: normal, or Student's t where the variance was estimated.

    Source
    ------
    Wilson, JASA 22 (1927) 209-212.

    >>> wilson(0.0, 20, c=1.959964)
    Interval(lower=0.0, upper=0.1611...)
    """
    shrink = 1 + c * c / n
    centre = (rate + c * c / (2 * n)) / shrink
    half = c * sqrt(rate * (1 - rate) / n + c * c / (4 * n * n)) / shrink
    return Interval(
        0.0 if rate <= 0 else centre - half,
        1.0 if rate >= 1 else centre + half,
    )


def wilson_interval(passes: float, n: float, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson interval of independent records; None without records.

    >>> wilson_interval(1, 29)
    Interval(lower=0.0061..., upper=0.1717...)
    """
    return wilson(passes / n, n, c=normal(confidence)) if n > 0 else None


def clopper_pearson(passes: float, n: float, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Conservative interval of independent records; None without records.

    Parameters
    ----------
    passes, n : float
        Need not be whole: with effective sizes it is the interval of Korn and Graubard.

    Source
    ------
    Clopper and Pearson, Biometrika 26 (1934) 404-413.

    >>> clopper_pearson(3, 20)
    Interval(lower=0.0320..., upper=0.3789...)
    """
    if n <= 0:
        return None
    tail = (1 - confidence) / 2
    lower = 0.0 if passes <= 0 else float(betaincinv(passes, n - passes + 1, tail))
    upper = 1.0 if passes >= n else float(betaincinv(passes + 1, n - passes, 1 - tail))
    return Interval(lower, upper)


def proportion(sums: ClusterSums, *, confidence: float = CONFIDENCE) -> Estimate:
    """Pass rate of clustered, weighted records with its interval.

    Wilson with the effective number of records of the CR2 variance, and Student's t with
    Bell-McCaffrey degrees of freedom.

    Unknown when no record carries weight (no estimate), or fewer than two clusters do, or
    a score lies outside [0, 1] (no interval).

    Source
    ------
    Franco, Little, Louis and Slud, JSSAM 7 (2019) 334-364, for the effective sample size.

    >>> from core.domain.statistics.sums import of_records
    >>> found = proportion(of_records([1, 1, 0, 1, 1, 0, 1, 1], clusters=list("aabbccdd")))
    >>> found.estimate, found.n_eff, found.interval
    (0.75, 8.0, Interval(lower=0.2578..., upper=0.9628...))
    """
    found = group(sums)
    return _with(found, _rate_interval(found, confidence), confidence, Undefined.NOT_A_PROPORTION)


def mean(sums: ClusterSums, *, confidence: float = CONFIDENCE) -> Estimate:
    """Mean of numeric scores of clustered, weighted records: estimate and t standard errors.

    Unknown when no record carries weight (no estimate), or fewer than two clusters do, or
    no cluster differs from another (no interval: a width of 0 would claim certainty).

    >>> from core.domain.statistics.sums import of_records
    >>> mean(of_records([3, 4, 5, 4], clusters=list("abcd"))).interval
    Interval(lower=2.7007..., upper=5.2992...)
    """
    found = group(sums)
    interval = None
    if found.estimate is not None and found.v_cr2 and found.df is not None:
        half = student(found.df, confidence=confidence) * sqrt(found.v_cr2)
        interval = Interval(found.estimate - half, found.estimate + half)
    return _with(found, interval, confidence, Undefined.NO_VARIATION)


def _rate_interval(found: Group, confidence: float) -> Interval | None:
    n_eff = found.n_eff
    if found.estimate is None or n_eff is None or found.df is None:
        return None
    return wilson(found.estimate, n_eff, c=student(found.df, confidence=confidence))


def _with(
    found: Group, interval: Interval | None, confidence: float, otherwise: Undefined
) -> Estimate:
    pieces = dict(vars(found))
    if interval is None and found.reason is None:
        pieces["reason"] = otherwise
    return Estimate(**pieces, interval=interval, confidence=confidence)
