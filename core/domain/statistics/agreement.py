"""How far an evaluator agrees with another, with a reference, or with itself.

With most answers passing, chance-corrected agreement is low even where two raters nearly
always agree, so percent agreement, kappa, AC1 and the table of counts go together, and no
threshold stands on kappa alone.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import numpy as np

from core.domain.records import Floats, Ints
from core.domain.statistics.influence import ROUNDING
from core.domain.statistics.sums import ClusterSums


class Weighting(StrEnum):
    """What a disagreement costs."""

    NOMINAL = "nominal"
    QUADRATIC = "quadratic"


class Kappa(NamedTuple):
    """Cohen's kappa with its parts; weighted where a weighting was asked for.

    Parameters
    ----------
    observed, expected : float
        Agreement that was seen, and that independent raters of these margins would have.
    kappa : float or None
        None where the expected agreement is 1.
    se : float or None
        Standard error of independent observations, None where nothing varies; sessions
        need `agreement_intervals`.
    """

    observed: float
    expected: float
    kappa: float | None
    se: float | None


def cohen_kappa(
    table: Sequence[Sequence[int]], *, weighting: Weighting = Weighting.NOMINAL
) -> Kappa | None:
    """Chance-corrected agreement of two raters.

    Parameters
    ----------
    table : k rows of k counts
        Observations by category of the first (rows) and of the second rater, categories in
        order.
    weighting : Weighting
        `QUADRATIC` for ordered categories.

    Unknown when
    ------------
    The table is empty (None), or both raters used one and the same category only (no
    kappa).

    Source
    ------
    Cohen, Psychological Bulletin 70 (1968); Fleiss, Cohen, Everitt, Psychological Bulletin
    72 (1969) for the standard error.

    >>> round(cohen_kappa([[20, 5], [10, 15]]).kappa, 4)
    0.4
    """
    counts = np.asarray(table, dtype=np.float64)
    n = float(counts.sum())
    if not n > 0:
        return None
    p, weight = counts / n, _weights(len(counts), weighting)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float((p * weight).sum()), float(rows @ weight @ columns)
    if not expected < 1:
        return Kappa(observed, expected, None, None)
    kappa = (observed - expected) / (1 - expected)
    margins = (weight @ columns)[:, None] + (weight.T @ rows)[None, :]
    spread = float((p * (weight - margins * (1 - kappa)) ** 2).sum())
    variance = spread - (kappa - expected * (1 - kappa)) ** 2
    se = sqrt(variance / n) / (1 - expected) if variance > ROUNDING else None
    return Kappa(observed, expected, kappa, se)


def _weights(categories: int, weighting: Weighting) -> Floats:
    if weighting is Weighting.NOMINAL:
        return np.eye(categories)
    place = np.arange(categories)
    apart = (place[:, None] - place[None, :]) / max(categories - 1, 1)
    weights: Floats = 1 - apart**2
    return weights


def gwet_ac1(table: Sequence[Sequence[int]]) -> float | None:
    """Agreement beyond chance that does not break down where one category prevails.

    Unknown when
    ------------
    The table is empty or has one category (None).

    Source
    ------
    Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008).

    >>> round(gwet_ac1([[90, 5], [5, 0]]), 4)
    0.8895
    """
    counts = np.asarray(table, dtype=np.float64)
    n, categories = float(counts.sum()), len(counts)
    if not n > 0 or categories < 2:
        return None
    share = (counts.sum(axis=0) + counts.sum(axis=1)) / (2 * n)
    expected = float((share * (1 - share)).sum()) / (categories - 1)
    return (float(np.trace(counts)) / n - expected) / (1 - expected)


def agreeing(counts: Ints) -> ClusterSums:
    """Sums of "both raters agree" per session: percent agreement is their proportion.

    Parameters
    ----------
    counts : int array, shape (G, 4)
        Observations of each session: both pass, only the first, only the second, both fail.

    >>> agreeing(np.array([[8, 1, 0, 1], [4, 0, 1, 0]])).estimate
    0.866...
    """
    n = counts.sum(axis=1)
    weight = n.astype(np.float64)
    return ClusterSums((counts[:, 0] + counts[:, 3]).astype(np.float64), weight, weight, n)


def flip_rate(counts: Ints) -> float | None:
    """Share of repeated observations whose repeats of one evaluator do not all say the same.

    Parameters
    ----------
    counts : int array, shape (observations, categories)
        How often each observation got each category.

    Unknown when
    ------------
    No observation was repeated (None).

    >>> flip_rate(np.array([[3, 0], [2, 1], [1, 0]]))
    0.5
    """
    repeated = counts[counts.sum(axis=1) >= 2]
    if not repeated.shape[0]:
        return None
    return float((repeated.max(axis=1) < repeated.sum(axis=1)).mean())


def true_scale_margin(margin: float, *, sensitivity: float, specificity: float) -> float | None:
    """The true loss that a margin on the judged scale stands for.

    A judge that errs shrinks differences by sensitivity + specificity - 1, so the gate on
    its scores lets a larger true loss pass than its margin says.

    Unknown when
    ------------
    The judge is no better than chance (None).

    >>> round(true_scale_margin(0.02, sensitivity=0.9, specificity=0.8), 4)
    0.0286
    """
    shrink = sensitivity + specificity - 1
    return margin / shrink if shrink > 0 else None
