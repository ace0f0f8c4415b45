"""How far an evaluator agrees with another, with a reference, or with itself.

With most answers passing, chance-corrected agreement is low even where two raters nearly
always agree, so percent agreement, kappa, AC1 and the table of counts go together, and no
threshold stands on kappa alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import numpy as np

from core.domain.records import Floats, Ints
from core.domain.statistics.group import Undefined
from core.domain.statistics.influence import ROUNDING
from core.domain.statistics.quantiles import CONFIDENCE
from core.domain.statistics.sums import ClusterSums, Interval

RESAMPLES = 1999
MOST_CLUSTERS = 20_000
"""Above this a bootstrap takes too long, and adds nothing."""
DEGENERATE_SHARE = 0.05
"""Share of resamples without a value above which the rest says nothing."""
_CELLS_AT_ONCE = 2_000_000


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


@dataclass(frozen=True, kw_only=True)
class AgreementIntervals:
    """Bootstrap intervals over sessions; None where undefined.

    Parameters
    ----------
    kappa, alpha, ac1 : Interval or None
        Of Cohen's kappa, Krippendorff's alpha (nominal) and Gwet's AC1.
    reason : Undefined or None
        Why one of them is missing.
    undefined : int
        Resamples in which kappa or alpha has no value.
    resamples : int
        Resamples drawn.
    """

    kappa: Interval | None = None
    alpha: Interval | None = None
    ac1: Interval | None = None
    reason: Undefined | None = None
    undefined: int = 0
    resamples: int = 0


def agreement_intervals(
    counts: Ints,
    rng: np.random.Generator,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> AgreementIntervals:
    """Percentile intervals of two raters' agreement on pass or fail.

    Parameters
    ----------
    counts : int array, shape (G, 4)
        As for `agreeing`.
    rng : numpy Generator
        Source of the resamples; its seed belongs beside the result.
    resamples : int
        One less than a round number, so that quantiles are resamples.

    Unknown when
    ------------
    Fewer than two sessions hold an observation, more than `MOST_CLUSTERS` do, or more than
    one in twenty resamples has no kappa or alpha.

    Source
    ------
    Field, Welsh, Journal of the Royal Statistical Society B 69 (2007): whole clusters.
    """
    here = counts[counts.sum(axis=1) > 0]
    if here.shape[0] < 2:
        return AgreementIntervals(reason=Undefined.TOO_FEW_CLUSTERS)
    if here.shape[0] > MOST_CLUSTERS:
        return AgreementIntervals(reason=Undefined.TOO_MANY_CLUSTERS)
    kappa, alpha, ac1 = _coefficients(_resampled(here, rng, resamples))
    undefined = int((np.isnan(kappa) | np.isnan(alpha)).sum())
    if undefined > DEGENERATE_SHARE * resamples:
        return AgreementIntervals(
            ac1=_percentile(ac1, confidence),
            reason=Undefined.DEGENERATE,
            undefined=undefined,
            resamples=resamples,
        )
    return AgreementIntervals(
        kappa=_percentile(kappa, confidence),
        alpha=_percentile(alpha, confidence),
        ac1=_percentile(ac1, confidence),
        undefined=undefined,
        resamples=resamples,
    )


def _resampled(counts: Ints, rng: np.random.Generator, resamples: int) -> Floats:
    """Counts of whole resamples, shape (resamples, 4), a few at a time."""
    clusters = counts.shape[0]
    share, step = np.full(clusters, 1 / clusters), max(1, _CELLS_AT_ONCE // clusters)
    sizes = [min(step, resamples - done) for done in range(0, resamples, step)]
    drawn = [rng.multinomial(clusters, share, size=size) @ counts for size in sizes]
    return np.concatenate(drawn).astype(np.float64)


def _coefficients(tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Kappa, alpha and AC1 of many 2x2 tables; NaN where one has none."""
    both, first, second, neither = tables.T
    n, differ = tables.sum(axis=1), first + second
    observed = 1 - differ / n
    passes, fails = 2 * both + differ, 2 * neither + differ
    by_margins = ((both + first) * (both + second) + (neither + first) * (neither + second)) / n**2
    evenly = passes * fails / (2 * n**2)

    def ratio(top: Floats, bottom: Floats) -> Floats:
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)

    return (
        ratio(observed - by_margins, 1 - by_margins),
        1 - ratio((2 * n - 1) * differ, passes * fails),
        ratio(observed - evenly, 1 - evenly),
    )


def _percentile(values: Floats, confidence: float) -> Interval:
    """Order statistics of the values there are."""
    tail = (1 - confidence) / 2
    lower, upper = np.nanquantile(values, [tail, 1 - tail], method="weibull")
    return Interval(float(lower), float(upper))
