"""Histograms: cumulative buckets to increments, quantiles as bucket intervals."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

import numpy as np

from core.domain.counters import CounterCells
from core.domain.records import Floats, Ints


@dataclass(frozen=True)
class BucketCells:
    """Observations that fell into one bucket in one minute; zeros are left out.

    Sparse on purpose: the `_count` cell of the same histogram and minute says
    that it was observed, so a bucket without a cell there held none.
    """

    series: Ints
    minute: Ints
    increase: Floats


def bucket_increments(cells: CounterCells, *, histogram: Ints, le: Floats) -> BucketCells:
    """Turn increases of cumulative `le` series into increments per bucket.

    Parameters
    ----------
    cells : CounterCells
        Cells of `le` series.
    histogram, le : arrays, shape (number of series,)
        Which histogram a series belongs to, and its upper edge (inf for +Inf).

    Returns
    -------
    BucketCells
        A negative increment (cumulative buckets that do not rise with `le`) is
        kept: `quantile_bounds` refuses it, and nothing is repaired.
    """
    known = ~np.isnan(cells.increase)
    series, minute, increase = cells.series[known], cells.minute[known], cells.increase[known]
    order = np.lexsort((le[series], minute, histogram[series]))
    series, minute, increase = series[order], minute[order], increase[order]
    same = np.zeros(series.size, dtype=bool)
    same[1:] = (histogram[series[1:]] == histogram[series[:-1]]) & (minute[1:] == minute[:-1])
    step = np.where(same, np.diff(increase, prepend=np.nan), increase)
    some = step != 0
    return BucketCells(series[some], minute[some], step[some])


@dataclass(frozen=True)
class QuantileBounds:
    """A quantile as far as buckets tell it.

    `lower` and `upper` are bucket edges; `estimate` is Prometheus' linear
    interpolation between them; `censored` says the quantile lies above the
    largest finite edge, where no number is known.
    """

    lower: float
    upper: float
    estimate: float
    censored: bool


def quantile_bounds(buckets: Sequence[tuple[float, float]], q: float) -> QuantileBounds | None:
    """Locate the q-quantile between two bucket edges.

    Parameters
    ----------
    buckets : sequence of (upper edge, observations in this bucket alone)
        Rising edges, the last one inf.
    q : float
        Within 0 to 1.

    Returns
    -------
    QuantileBounds or None
        None (unknown) without observations, with fewer than two buckets, or
        when a bucket holds a negative number, which breaks the contract.

    Source
    ------
    histogram_quantile of Prometheus 2.42 (promql/quantile.go), edges added.

    >>> quantile_bounds([(1, 10), (2, 20), (5, 40), (10, 25), (inf, 5)], 0.5)
    QuantileBounds(lower=2, upper=5, estimate=3.5, censored=False)
    """
    counts = [count for _, count in buckets]
    if len(buckets) < 2 or min(counts) < 0 or sum(counts) <= 0:
        return None
    rank = q * sum(counts)
    below = [0.0, *accumulate(counts)]
    at = next(i for i in range(len(buckets)) if below[i + 1] >= rank and counts[i] > 0)
    upper = buckets[at][0]
    lower = buckets[at - 1][0] if at else min(0.0, upper)
    if upper == inf:
        return QuantileBounds(lower, inf, lower, censored=True)
    if at == 0 and upper <= 0:
        return QuantileBounds(upper, upper, upper, censored=False)
    return QuantileBounds(
        lower, upper, lower + (upper - lower) * (rank - below[at]) / counts[at], censored=False
    )


@dataclass(frozen=True)
class ShareBounds:
    """Share of observations up to a threshold, as far as buckets tell it.

    `lower` and `upper` meet at a bucket edge; `estimate` is linear between them, None above
    the largest finite edge and below the smallest value a bucket can hold.
    """

    lower: float
    upper: float
    estimate: float | None


def share_below(buckets: Sequence[tuple[float, float]], threshold: float) -> ShareBounds | None:
    """Share of observations up to a threshold.

    Parameters
    ----------
    buckets : sequence of (upper edge, observations in this bucket alone)
        Rising edges, the last one inf.
    threshold : float
        Finite.

    Unknown when
    ------------
    As in `quantile_bounds`.

    >>> share_below([(1, 10), (2, 20), (5, 40), (10, 25), (inf, 5)], 10)
    ShareBounds(lower=0.95, upper=0.95, estimate=0.95)
    """
    counts = [count for _, count in buckets]
    if len(buckets) < 2 or min(counts) < 0 or sum(counts) <= 0:
        return None
    edges = [edge for edge, _ in buckets]
    below = [count / sum(counts) for count in (0.0, *accumulate(counts))]
    at = bisect_left(edges, threshold)
    lower, upper = below[at], below[at + 1]
    if edges[at] == threshold:
        return ShareBounds(upper, upper, upper)
    start = edges[at - 1] if at else min(0.0, edges[0])
    if edges[at] == inf or threshold < start:
        return ShareBounds(lower, upper, None)
    part = (threshold - start) / (edges[at] - start)
    return ShareBounds(lower, upper, lower + (upper - lower) * part)
