"""Intervals of two raters' agreement: whole sessions drawn again, as their counts."""

from dataclasses import dataclass, replace

import numpy as np

from core.domain.records import Floats, Ints
from core.domain.statistics.bootstrap import (
    AT_ONCE,
    MOST_CLUSTERS,
    RESAMPLES,
    percentile_interval,
)
from core.domain.statistics.group import Undefined
from core.domain.statistics.quantiles import CONFIDENCE
from core.domain.statistics.sums import Interval

MOST_WITHOUT_VALUE = 0.05
"""Share of resamples without a value above which the rest says nothing."""


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
    found = AgreementIntervals(
        ac1=percentile_interval(ac1, confidence=confidence),
        undefined=undefined,
        resamples=resamples,
    )
    if undefined > MOST_WITHOUT_VALUE * resamples:
        return replace(found, reason=Undefined.DEGENERATE)
    return replace(
        found,
        kappa=percentile_interval(kappa[~np.isnan(kappa)], confidence=confidence),
        alpha=percentile_interval(alpha[~np.isnan(alpha)], confidence=confidence),
    )


def _resampled(counts: Ints, rng: np.random.Generator, resamples: int) -> Floats:
    """Counts of whole resamples, shape (resamples, 4), a few at a time.

    Sessions with the same counts are drawn together: how many of each kind a resample
    holds is multinomial, and kinds are far fewer than sessions.
    """
    kinds, of_a_kind = np.unique(counts, axis=0, return_counts=True)
    clusters, step = counts.shape[0], max(1, AT_ONCE // kinds.shape[0])
    sizes = [min(step, resamples - done) for done in range(0, resamples, step)]
    drawn = [rng.multinomial(clusters, of_a_kind / clusters, size=size) @ kinds for size in sizes]
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
