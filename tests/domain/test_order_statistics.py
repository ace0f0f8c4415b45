"""Sampling intervals of quantiles: reference ranks, missing limits, and their coverage."""

from itertools import accumulate
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from core.domain.histograms import quantile_bounds
from core.domain.order_statistics import LEVEL, rank_interval, sampled_bounds, sampled_count

TAIL = (1 - LEVEL) / 2
Q = st.sampled_from([0.1, 0.5, 0.9, 0.95, 0.99])


def test_the_median_of_twenty() -> None:
    """Ranks 6 and 15 cover 0.9586."""
    found = rank_interval(20, 0.5)
    assert (found.lower, found.upper) == (6, 15)
    assert found.coverage == pytest.approx(0.9586, abs=5e-5)


@pytest.mark.parametrize(("q", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_an_upper_limit_needs_so_many(q: float, n: int) -> None:
    """With one value fewer there is no upper limit at all."""
    assert rank_interval(n, q).upper == n
    assert rank_interval(n - 1, q).upper is None


def test_a_median_interval_needs_six() -> None:
    """Below six values the median has a limit on neither side."""
    assert (rank_interval(5, 0.5).lower, rank_interval(5, 0.5).upper) == (None, None)
    assert (rank_interval(6, 0.5).lower, rank_interval(6, 0.5).upper) == (1, 6)


@given(st.integers(1, 400), Q)
def test_ranks_are_the_outermost_ones(n: int, q: float) -> None:
    """Each limit leaves its tail at most, and the next rank inwards would leave more."""
    found = rank_interval(n, q)
    law = binom(n, q)
    ranks = range(1, n + 1)
    lower = max((r for r in ranks if law.cdf(r - 1) <= TAIL), default=None)
    upper = min((s for s in ranks if law.sf(s - 1) <= TAIL), default=None)
    assert (found.lower, found.upper) == (lower, upper)
    assert found.coverage >= LEVEL - 1e-9


@given(st.lists(st.integers(0, 30), min_size=2, max_size=8), Q)
def test_bounds_are_the_buckets_of_the_ranks(counts: list[int], q: float) -> None:
    """The edges are those around the values of these ranks, and hold the point's bucket."""
    edges = [*map(float, range(1, len(counts))), inf]
    buckets = list(zip(edges, map(float, counts), strict=True))
    bounds = sampled_bounds(buckets, q)
    n = sum(counts)
    if not n:
        assert bounds is None
        return
    assert bounds is not None
    laid_out = [i for i, count in enumerate(counts) for _ in range(count)]
    ranks = rank_interval(n, q)
    low = 0.0 if ranks.lower is None else [0.0, *edges][laid_out[ranks.lower - 1]]
    high = inf if ranks.upper is None else edges[laid_out[ranks.upper - 1]]
    assert bounds == (low, high)
    point = quantile_bounds(buckets, q)
    assert point is not None
    assert bounds[0] <= point.lower
    assert bounds[1] >= point.upper


def test_falling_counts_have_no_bounds() -> None:
    """A negative number in a bucket breaks the contract: nothing is told."""
    assert sampled_bounds([(0.1, 0.0), (0.2, 45.2), (0.3, -35.9), (inf, 0.0)], 0.5) is None


def test_intervals_cover_as_stated() -> None:
    """Of simulated samples the true median lies between the ranks as often as said."""
    rng = np.random.default_rng(3)
    ranks = rank_interval(20, 0.5)
    assert ranks.lower is not None
    assert ranks.upper is not None
    samples = np.sort(rng.exponential(size=(20_000, 20)), axis=1)
    true = np.log(2)
    held = (samples[:, ranks.lower - 1] <= true) & (true < samples[:, ranks.upper - 1])
    assert held.mean() == pytest.approx(ranks.coverage, abs=0.005)


def test_the_worked_lifetime() -> None:
    """Cumulative 600:30, 1200:45, 1800:60, +Inf:100: the median bucket, and no number above."""
    edges, cumulative = (600.0, 1200.0, 1800.0, inf), (30.0, 45.0, 60.0, 100.0)
    buckets = list(zip(edges, np.diff(cumulative, prepend=0.0).tolist(), strict=True))
    assert list(accumulate(count for _, count in buckets)) == list(cumulative)
    median, p95 = quantile_bounds(buckets, 0.5), quantile_bounds(buckets, 0.95)
    assert median is not None
    assert (median.lower, median.upper) == (1200, 1800)
    assert p95 is not None
    assert (p95.lower, p95.censored) == (1800, True)
    assert buckets[-1][1] / 100 == 0.4
    # ranks 40 and 61 of 100: the bucket of the 40th value begins at 600, the 61st is beyond 1800
    assert sampled_bounds(buckets, 0.5) == (600, inf)


@given(st.integers(0, 20_000), st.floats(0.001, 1.0))
def test_a_sampled_count_has_the_quantiles_of_its_distribution(events: int, rate: float) -> None:
    """Another implementation of the binomial gives the same limits."""
    found = sampled_count(events, rate)
    assert found is not None
    assert (found.lower, found.upper) == tuple(binom.ppf([0.025, 0.975], events, rate))
    assert found.none == pytest.approx(binom.pmf(0, events, rate), abs=1e-12)


def test_so_few_evictions_may_leave_no_sample() -> None:
    """Of 200 at one percent two are expected, and none in one case of seven."""
    found = sampled_count(200, 0.01)
    assert found is not None
    assert (found.expected, round(found.none, 3)) == (2.0, 0.134)


@pytest.mark.parametrize("rate", [None, 0.0, -0.1, 1.1])
def test_an_unknown_rate_scales_nothing(rate: float | None) -> None:
    """Without a probability there is no expectation."""
    assert sampled_count(100, rate) is None
