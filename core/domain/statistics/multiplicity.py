"""Several claims at once: adjusted p-values, levels of several intervals.

A gate in which all scores must pass needs no adjustment. Where any one of several may
pass, or each stratum is a claim of its own, Holm's adjustment keeps the level. Tables that
only explore show q-values of Benjamini and Hochberg.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from core.domain.records import Floats, Ints

FURTHEST_Z = 8.0
"""Levels below that of 8 standard errors (6e-16) are all given as that one."""


def holm(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """p-values adjusted for the family, in the given order.

    Parameters
    ----------
    p : sequence of float or None
        None for a test that was not run: it stays None and is not part of the family.

    Raises
    ------
    ValueError
        If a p-value is outside 0 to 1.

    Source
    ------
    Holm, Scandinavian Journal of Statistics 6 (1979).

    >>> [None if one is None else round(one, 12) for one in holm([0.01, None, 0.04])]
    [0.02, None, 0.04]
    """

    def adjusted(rising: Floats, rank: Ints) -> Floats:
        return np.maximum.accumulate(rising * (rising.size - rank + 1))

    return _adjusted(p, adjusted)


def benjamini_hochberg(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """q-values of a table that explores, in the given order.

    Parameters
    ----------
    p : sequence of float or None
        None for a test that was not run: it stays None and is not part of the family.

    Raises
    ------
    ValueError
        If a p-value is outside 0 to 1.

    Source
    ------
    Benjamini, Hochberg, Journal of the Royal Statistical Society B 57 (1995).

    >>> benjamini_hochberg([0.01, None, 0.04])
    (0.02, None, 0.04)
    """

    def adjusted(rising: Floats, rank: Ints) -> Floats:
        steps: Floats = (rising * (rising.size / rank))[::-1]
        return np.minimum.accumulate(steps)[::-1]

    return _adjusted(p, adjusted)


def _adjusted(
    p: Sequence[float | None], rule: Callable[[Floats, Ints], Floats]
) -> tuple[float | None, ...]:
    known = np.array([one for one in p if one is not None], dtype=float)
    if not ((known >= 0) & (known <= 1)).all():
        raise ValueError(f"p-values lie within 0 to 1, got {p!r}")
    order = np.argsort(known, kind="stable")
    found = np.empty_like(known)
    found[order] = np.minimum(rule(known[order], np.arange(1, known.size + 1)), 1.0)
    values = iter(found.tolist())
    return tuple(None if one is None else next(values) for one in p)


def smallest_level(lower_at: Callable[[float], float | None], margin: float) -> float | None:
    """One-sided p-value that belongs to an interval: the level at which it just passes.

    Parameters
    ----------
    lower_at : callable
        Lower limit of new minus baseline at a one-sided level between 0 and 0.5; None
        where there is no interval. It rises with the level.
    margin : float
        Margin of the gate.

    Returns
    -------
    float or None
        The smallest level at which the lower limit is above -margin. 1.0 where none below
        0.5 is: the p-value is not known better, and no claim would rest on it.

    Unknown when
    ------------
    There is no interval (None).

    >>> round(smallest_level(lambda alpha: 0.01 + 0.02 * float(ndtri(alpha)), 0.03), 6)
    0.02275
    """

    def above(z: float) -> float:
        lower = lower_at(float(ndtr(-z)))
        return np.nan if lower is None else lower + margin

    nearest, furthest = above(1e-6), above(FURTHEST_Z)
    if np.isnan(nearest) or np.isnan(furthest):
        return None
    if nearest <= 0:
        return 1.0
    if furthest > 0:
        return float(ndtr(-FURTHEST_Z))
    return float(ndtr(-brentq(above, 1e-6, FURTHEST_Z, xtol=1e-12)))


def one_sided_p(delta: float, se: float, *, df: float, margin: float) -> float | None:
    """p-value of "above -margin" for an interval delta ± t·se alone.

    Unknown when
    ------------
    The standard error or the degrees of freedom are not positive (None).

    >>> round(one_sided_p(0.0, 0.01, df=40, margin=0.02), 4)
    0.0262
    """
    if not (se > 0 and df > 0):
        return None
    return float(stdtr(df, -(delta + margin) / se))


@dataclass(frozen=True)
class CriticalValues:
    """Quantiles for several two-sided intervals that hold together.

    `z` and `t` are Bonferroni's; `z_sidak` is exact for independent intervals.
    """

    z: float
    t: float
    z_sidak: float


def critical_values(
    intervals: int, *, df: float, confidence: float = 0.95
) -> CriticalValues | None:
    """Quantiles for intervals that all hold with the given confidence.

    Unknown when
    ------------
    There is no interval, or the degrees of freedom are not positive (None).

    >>> round(critical_values(8, df=39).t, 4)
    2.8908
    """
    if intervals < 1 or not df > 0:
        return None
    tail = (1 - confidence) / (2 * intervals)
    sidak = (1 - confidence ** (1 / intervals)) / 2
    return CriticalValues(-float(ndtri(tail)), -float(stdtrit(df, tail)), -float(ndtri(sidak)))


def selected_confidence(selected: int, tests: int, *, alpha: float = 0.05) -> float | None:
    """Confidence of intervals that are shown because their rows were selected by q-values.

    Unknown when
    ------------
    Nothing was selected (None).

    Source
    ------
    Benjamini, Yekutieli, Journal of the American Statistical Association 100 (2005).

    >>> selected_confidence(4, 10)
    0.98
    """
    return 1 - alpha * selected / tests if 0 < selected <= tests else None
