"""Cluster bootstrap: a sensitivity result beside the interval, never the one decided on.

Whole clusters are drawn again inside each arm, as counts, and ratios come from the
clusters' sums: the cost is resamples times clusters, whatever the number of records.
"""

from dataclasses import dataclass, replace
from math import ceil, floor, isclose, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from core.domain.records import Floats, Ints
from core.domain.statistics.group import Group, Undefined, group
from core.domain.statistics.influence import ROUNDING
from core.domain.statistics.quantiles import CONFIDENCE
from core.domain.statistics.replicates import Arms, Replicates
from core.domain.statistics.sums import ClusterSums, Interval

RESAMPLES = 1999
MOST_CLUSTERS = 20_000
MOST_WITHOUT_VARIANCE = 0.05
MOST_ACCELERATION = 0.25
AT_ONCE = 4_000_000
"""Counts held at the same time."""
MOST_DRAWS = 20


class BcaLevels(NamedTuple):
    """Tails of the resamples at which the BCa limits lie, and what moved them."""

    lower: float
    upper: float
    bias: float
    acceleration: float


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Intervals by resampling of clusters; None where undefined, and `reason` says why.

    Parameters
    ----------
    estimate : float or None
        Of the data: a rate or mean, or new minus base.
    standard_error : float or None
        Standard deviation of the resampled estimates.
    resamples, redrawn : int
        Those used, and those drawn again because an arm had no weight.
    without_variance : float or None
        Share of resamples in which no cluster differs from another.
    """

    estimate: float | None
    reason: Undefined | None
    confidence: float
    percentile: Interval | None = None
    bca: Interval | None = None
    studentised: Interval | None = None
    standard_error: float | None = None
    resamples: int = 0
    redrawn: int = 0
    without_variance: float | None = None

    @property
    def degenerate(self) -> bool:
        """Too many resamples without variance, or an arm at 0 or 1: not shown."""
        return self.reason is Undefined.DEGENERATE


def cluster_bootstrap(
    new: ClusterSums,
    base: ClusterSums | None = None,
    *,
    rng: np.random.Generator,
    paired: bool = False,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Bootstrap:
    """Resample the clusters of one group, or of two arms for their difference.

    Parameters
    ----------
    base : ClusterSums or None
        None: the interval of `new` alone.
    rng : Generator
        Made from a seed that the caller records.
    paired : bool
        The arms hold the same tasks at the same places; whole tasks are drawn.

    Unknown when an arm has fewer than two clusters, there are more than 20,000 of them,
    an arm's rate is 0 or 1, or more than 5 % of the resamples have no variance.

    Source
    ------
    Davison and Hinkley, Bootstrap Methods and their Application (1997), chapter 5.

    >>> from core.domain.statistics.sums import of_records
    >>> sums = of_records([1, 0, 1, 1, 0, 1, 1, 1, 0, 0], clusters="abcdefghij")
    >>> cluster_bootstrap(sums, rng=np.random.default_rng(1)).percentile
    Interval(lower=0.3, upper=0.9)
    """
    groups = [group(sums) for sums in (new, base) if sums is not None]
    estimate = _estimate(groups)
    reason = _refusal(groups)
    if reason is not None or estimate is None:
        return Bootstrap(estimate=estimate, reason=reason, confidence=confidence)
    arms = Arms(new, base, paired=paired)
    drawn, redrawn = _draw(arms, resamples, rng)
    if drawn is None:
        return Bootstrap(estimate=estimate, reason=Undefined.DEGENERATE, confidence=confidence)
    constant = float(np.count_nonzero(drawn.variances == 0)) / resamples
    found = Bootstrap(
        estimate=estimate,
        reason=Undefined.DEGENERATE if constant > MOST_WITHOUT_VARIANCE else None,
        confidence=confidence,
        standard_error=float(drawn.estimates.std()),
        resamples=resamples,
        redrawn=redrawn,
        without_variance=constant,
    )
    return found if found.degenerate else _with_intervals(found, estimate, arms, drawn)


def order_statistic(ordered: Floats, level: float) -> float:
    """Quantile of sorted resamples: place (B + 1) q where whole, else the inverse CDF.

    >>> order_statistic(np.arange(1.0, 20.0), 0.25), order_statistic(np.arange(1.0, 5.0), 0.3)
    (5.0, 2.0)
    """
    exact = (ordered.size + 1) * level
    whole = isclose(exact, round(exact), rel_tol=0, abs_tol=1e-9)
    place = round(exact) if whole else ceil(ordered.size * level - 1e-9)
    return float(ordered[min(max(place, 1), ordered.size) - 1])


def percentile_interval(estimates: Floats, *, confidence: float = CONFIDENCE) -> Interval:
    """Limits at the two tails of the resampled estimates.

    >>> percentile_interval(np.arange(1.0, 40.0), confidence=0.9)
    Interval(lower=2.0, upper=38.0)
    """
    ordered, tail = np.sort(estimates), (1 - confidence) / 2
    return Interval(order_statistic(ordered, tail), order_statistic(ordered, 1 - tail))


def bca_levels(
    estimates: Floats, estimate: float, influence: Floats, *, confidence: float = CONFIDENCE
) -> BcaLevels | None:
    """Tails of the bias-corrected and accelerated interval.

    Parameters
    ----------
    influence : float array
        Jackknife influence of every cluster, of both arms.

    Unknown when all resamples lie on one side of the estimate, or no cluster has influence.

    Source
    ------
    Efron, JASA 82 (1987) 171-185.
    """
    ties = np.abs(estimates - estimate) <= ROUNDING
    below = np.count_nonzero((estimates < estimate) & ~ties) + np.count_nonzero(ties) / 2
    bias = float(ndtri(below / estimates.size))
    square = float(influence @ influence)
    if not np.isfinite(bias) or square == 0:
        return None
    found = float((influence**3).sum()) / (6 * square**1.5)
    acceleration = min(max(found, -MOST_ACCELERATION), MOST_ACCELERATION)
    z = float(ndtri((1 + confidence) / 2))
    levels = []
    for tail in (-z, z):
        left = 1 - acceleration * (bias + tail)
        if left <= 0:
            return None
        levels.append(float(ndtr(bias + (bias + tail) / left)))
    return BcaLevels(levels[0], levels[1], bias, acceleration)


def bca_interval(
    estimates: Floats, estimate: float, influence: Floats, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """Bias-corrected and accelerated limits; None where its tails are undefined."""
    levels = bca_levels(estimates, estimate, influence, confidence=confidence)
    if levels is None:
        return None
    ordered = np.sort(estimates)
    return Interval(order_statistic(ordered, levels.lower), order_statistic(ordered, levels.upper))


def studentised_interval(
    drawn: Replicates, estimate: float, *, variance: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """Limits from resampled t statistics, where they are defined; None without any."""
    varied = drawn.variances > 0
    if variance <= 0 or not bool(varied.any()):
        return None
    shifted = drawn.estimates[varied] - estimate
    tails = percentile_interval(shifted / np.sqrt(drawn.variances[varied]), confidence=confidence)
    error = sqrt(variance)
    return Interval(estimate - tails.upper * error, estimate - tails.lower * error)


def _with_intervals(found: Bootstrap, estimate: float, arms: Arms, drawn: Replicates) -> Bootstrap:
    level = found.confidence
    return replace(
        found,
        percentile=percentile_interval(drawn.estimates, confidence=level),
        bca=bca_interval(drawn.estimates, estimate, arms.jackknife(), confidence=level),
        studentised=studentised_interval(
            drawn, estimate, variance=arms.variance(), confidence=level
        ),
    )


def _estimate(groups: list[Group]) -> float | None:
    values = [one.estimate for one in groups]
    if values[0] is None or values[-1] is None:
        return None
    return values[0] if len(values) == 1 else values[0] - values[-1]


def _refusal(groups: list[Group]) -> Undefined | None:
    for one in groups:
        if one.reason is not None:
            return one.reason
    if sum(one.clusters for one in groups) > MOST_CLUSTERS:
        return Undefined.TOO_MANY_CLUSTERS
    extreme = any(one.binomial is not None and one.binomial <= ROUNDING for one in groups)
    return Undefined.DEGENERATE if extreme else None


def _draw(arms: Arms, resamples: int, rng: np.random.Generator) -> tuple[Replicates | None, int]:
    """Resamples in chunks, those without weight drawn again."""
    chunk = max(1, floor(AT_ONCE / arms.places))
    parts: list[Replicates] = []
    left, redrawn = resamples, 0
    for _ in range(MOST_DRAWS * ceil(resamples / chunk)):
        counts = [_counts(rng, size, min(chunk, left)) for size in arms.sizes]
        found = arms.replicates(*counts)
        parts.append(found)
        redrawn += min(chunk, left) - found.estimates.size
        left -= found.estimates.size
        if left == 0:
            estimates = np.concatenate([one.estimates for one in parts])
            variances = np.concatenate([one.variances for one in parts])
            return Replicates(estimates, variances), redrawn
    return None, redrawn


def _counts(rng: np.random.Generator, size: int, rows: int) -> Ints:
    """How often each cluster was drawn, shape (rows, size)."""
    return rng.multinomial(size, np.full(size, 1 / size), size=rows).astype(np.int64)
