"""How much data a claim needs, and what the data at hand could have shown.

Nothing here looks at a result: rates, margin and power are assumptions of a plan, and a
pilot gives the standard error or the correlation within clusters.
"""

from dataclasses import dataclass
from math import ceil, inf, sqrt

from scipy.special import ndtri, stdtrit

from core.domain.records import Floats, Ints

ALPHA = 0.025
POWER = 0.90
_NOISE = 1e-9
"""Less than this is arithmetic: no further request, and no room above -margin."""


def records_needed(
    p_new: float,
    p_base: float,
    *,
    margin: float,
    alpha: float = ALPHA,
    power: float = POWER,
    ratio: float = 1.0,
    restricted: tuple[float, float] | None = None,
) -> float | None:
    """Independent baseline records that show non-inferiority, not rounded.

    Parameters
    ----------
    p_new, p_base : float
        Assumed pass rates.
    margin : float
        Margin of the gate.
    alpha, power : float
        One-sided level, and the wanted probability to pass.
    ratio : float
        New records per baseline record; the new arm needs `ratio` times the result.
    restricted : (float, float) or None
        Rates of new and baseline that are most likely when they differ by exactly -margin,
        for the test of Farrington and Manning; None plans for Wald's.

    Unknown when
    ------------
    The assumed difference is not above -margin, so no number is enough, or both rates are
    0 or 1, so that any number seems to be (None).

    Source
    ------
    Farrington, Manning, Statistics in Medicine 9 (1990).

    >>> round(records_needed(0.95, 0.95, margin=0.02), 2)
    2495.51
    >>> records_needed(0.93, 0.95, margin=0.02) is None
    True
    """
    room = p_new - p_base + margin
    spread = _spread(p_new, p_base, ratio)
    if not (room > _NOISE and spread > 0):
        return None
    null = spread if restricted is None else _spread(*restricted, ratio)
    z_alpha, z_power = float(ndtri(1 - alpha)), float(ndtri(power))
    return float((z_alpha * null + z_power * spread) ** 2 / room**2)


def _spread(p_new: float, p_base: float, ratio: float) -> float:
    return sqrt(p_new * (1 - p_new) / ratio + p_base * (1 - p_base))


def design_effect(
    mean_size: float, *, cv_size: float, icc: float, cv_weights: float = 0.0
) -> float:
    """By how much clusters (and weights) multiply the records that are needed.

    Parameters
    ----------
    mean_size, cv_size : float
        Mean records of a cluster, and their standard deviation over the mean.
    icc : float
        Correlation of two records of one cluster.
    cv_weights : float
        Standard deviation of the weights over their mean. Where weights are related to the
        score this factor is wrong: take the standard error of a pilot instead.

    Source
    ------
    Eldridge, Ashby, Kerry, International Journal of Epidemiology 35 (2006).

    >>> design_effect(5, cv_size=1, icc=0.1)
    1.9
    """
    return (1 + ((1 + cv_size**2) * mean_size - 1) * icc) * (1 + cv_weights**2)


@dataclass(frozen=True)
class ArmSize:
    """What one arm must bring, rounded up."""

    requests: int
    clusters: int


def arm_size(
    records: float, *, effect: float, mean_size: float, coverage: float = 1.0
) -> ArmSize | None:
    """Requests and clusters that are worth so many independent records.

    Parameters
    ----------
    records : float
        Independent records of the arm.
    effect : float
        From `design_effect`.
    mean_size : float
        Mean records of a cluster.
    coverage : float
        Share of the requests that will be evaluated.

    Unknown when
    ------------
    Nothing will be evaluated, or a cluster has no record (None).

    >>> arm_size(2496, effect=1.9, mean_size=5)
    ArmSize(requests=4743, clusters=949)
    """
    if not (coverage > 0 and mean_size > 0):
        return None
    requests = records * effect / coverage
    return ArmSize(_up(requests), _up(requests / mean_size))


def _up(value: float) -> int:
    return ceil(value - _NOISE * max(1.0, abs(value)))


@dataclass(frozen=True)
class Icc:
    """Correlation within clusters by analysis of variance; not limited to positive values.

    Parameters
    ----------
    icc : float
        Estimate.
    between, within : float
        Mean squares between and within clusters.
    typical_size : float
        Cluster size n_0 that makes both comparable.
    """

    icc: float
    between: float
    within: float
    typical_size: float

    @property
    def for_planning(self) -> float:
        """The estimate, or 0 where it is negative: a plan does not bet on that."""
        return max(0.0, self.icc)


def icc_of_passes(n: Ints, passes: Floats) -> Icc | None:
    """Correlation within clusters of a pass/fail score.

    Parameters
    ----------
    n, passes : arrays, shape (G,)
        Records of each cluster, at least 1, and the passes among them.

    Unknown when
    ------------
    Fewer than two clusters, no cluster with two records, or all records alike (None).

    Source
    ------
    Ridout, Demétrio, Firth, Biometrics 55 (1999), the ANOVA estimator.

    >>> import numpy as np
    >>> found = icc_of_passes(np.array([4, 6, 5, 3, 8, 4]), np.array([4., 3, 5, 0, 7, 4]))
    >>> round(found.icc, 6)
    0.507696
    """
    groups, total = n.size, int(n.sum())
    if groups < 2 or total <= groups:
        return None
    rate, mean = passes / n, float(passes.sum()) / total
    between = float((n * (rate - mean) ** 2).sum()) / (groups - 1)
    within = float((n * rate * (1 - rate)).sum()) / (total - groups)
    typical = (total - float((n.astype(float) ** 2).sum()) / total) / (groups - 1)
    scale = between + (typical - 1) * within
    if not scale > 0:
        return None
    return Icc((between - within) / scale, between, within, typical)


def discordance_variance(new_only: int, base_only: int, *, tasks: int) -> float | None:
    """Variance of one task's difference, one record per task and arm.

    Parameters
    ----------
    new_only, base_only : int
        Tasks that pass in one arm alone.

    Unknown when
    ------------
    There is no task (None).

    >>> round(discordance_variance(6, 10, tasks=100), 4)
    0.1584
    """
    if tasks <= 0:
        return None
    return (new_only + base_only) / tasks - ((new_only - base_only) / tasks) ** 2


def tasks_needed(
    variance: float, *, delta: float, margin: float, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Tasks of a paired design, not rounded.

    Parameters
    ----------
    variance : float
        Variance of one task's difference.
    delta, margin : float
        Assumed difference, and the margin of the gate.

    Unknown when
    ------------
    The assumed difference is not above -margin (None).

    >>> round(tasks_needed(0.1, delta=0.0, margin=0.05))
    420
    """
    if not delta + margin > _NOISE:
        return None
    z = float(ndtri(1 - alpha)) + float(ndtri(power))
    return z**2 * variance / (delta + margin) ** 2


def detectable_margin(
    se: float,
    *,
    df: float,
    alpha: float = ALPHA,
    power: float = POWER,
    assumed_delta: float = 0.0,
) -> float | None:
    """Smallest margin that data of this standard error could show.

    Parameters
    ----------
    se, df : float
        Standard error of the difference and its degrees of freedom, infinite for normal.
    power : float
        Wanted probability to pass; 0.5 gives the distance of the lower limit.

    Unknown when
    ------------
    The standard error or the degrees of freedom are not positive (None): a standard error
    of 0 would let any margin pass.

    >>> round(detectable_margin(0.0081, df=78), 6)
    0.026595
    """
    if not (se > 0 and df > 0):
        return None
    return (_quantile(1 - alpha, df) + _quantile(power, df)) * se - assumed_delta


def _quantile(q: float, df: float) -> float:
    return float(ndtri(q) if df == inf else stdtrit(df, q))


def clusters_for(clusters: int, *, se: float, se_target: float) -> int | None:
    """Clusters that would bring a standard error down to a target, rounded up.

    Unknown when
    ------------
    A standard error is not positive (None).

    >>> clusters_for(40, se=0.02, se_target=0.01)
    160
    """
    if not (se > 0 and se_target > 0):
        return None
    return _up(clusters * (se / se_target) ** 2)


def power_of_each(power: float, tests: int) -> float:
    """Power of each of several tests that must all pass, so that together they have `power`.

    >>> round(power_of_each(0.9, 4), 3)
    0.975
    """
    return 1 - (1 - power) / tests
