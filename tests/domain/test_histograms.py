"""Histograms: increments that add back up, quantiles that stay inside their bucket."""

import json
from itertools import accumulate
from math import ceil, inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.domain.counters import CounterCells
from core.domain.histograms import (
    QuantileBounds,
    ShareBounds,
    bucket_increments,
    quantile_bounds,
    share_below,
)

CASES = json.loads((Path(__file__).parent / "worked_cases.json").read_text(encoding="utf-8"))
EDGES = st.lists(st.integers(1, 1000), min_size=1, max_size=8, unique=True).map(
    lambda edges: [*map(float, sorted(edges)), inf]
)
Q = st.integers(0, 64).map(lambda k: k / 64)
"""Quantiles that multiply with whole counts exactly."""


@st.composite
def buckets(draw: st.DrawFn) -> list[tuple[float, float]]:
    edges = draw(EDGES)
    counts = draw(st.lists(st.integers(0, 20), min_size=len(edges), max_size=len(edges)))
    return list(zip(edges, map(float, counts), strict=True))


def order_statistic(found: list[tuple[float, float]], q: float) -> int:
    """Index of the bucket of the q-quantile, by laying every observation out in order."""
    laid_out = [i for i, (_, count) in enumerate(found) for _ in range(int(count))]
    return laid_out[max(1, ceil(q * len(laid_out))) - 1]


@given(buckets(), Q)
def test_quantiles_are_in_the_bucket_of_their_observation(
    found: list[tuple[float, float]], q: float
) -> None:
    """The bounds are the edges of the bucket that holds the observation of that rank."""
    bounds = quantile_bounds(found, q)
    if not any(count for _, count in found):
        assert bounds is None
        return
    assert bounds is not None
    at = order_statistic(found, q)
    lower = found[at - 1][0] if at else 0.0
    assert (bounds.lower, bounds.upper) == (lower, found[at][0])
    assert bounds.censored == (found[at][0] == inf)
    below = sum(count for _, count in found[:at])
    rank = q * sum(count for _, count in found)
    assert bounds.estimate == (
        lower
        if bounds.censored
        else pytest.approx(lower + (found[at][0] - lower) * (rank - below) / found[at][1])
    )


@given(buckets(), st.floats(0, 1))
def test_estimates_never_leave_their_bounds(found: list[tuple[float, float]], q: float) -> None:
    """For every q there is an answer, and the estimate lies between finite bounds."""
    assume(any(count for _, count in found))
    bounds = quantile_bounds(found, q)
    assert bounds is not None
    assert bounds.lower <= bounds.estimate <= bounds.upper
    assert np.isfinite(bounds.estimate)


@given(buckets(), Q, Q)
def test_a_higher_quantile_is_never_lower(
    found: list[tuple[float, float]], one: float, other: float
) -> None:
    """p95 is at or above p50, whatever the buckets hold."""
    assume(any(count for _, count in found))
    low, high = quantile_bounds(found, min(one, other)), quantile_bounds(found, max(one, other))
    assert low is not None
    assert high is not None
    assert low.lower <= high.lower
    assert low.upper <= high.upper
    assert low.estimate <= high.estimate


@given(buckets(), Q, st.data())
def test_negative_buckets_give_no_quantile(
    found: list[tuple[float, float]], q: float, data: st.DataObject
) -> None:
    """Cumulative counts that fall break the contract: unknown, nothing is repaired."""
    at = data.draw(st.integers(0, len(found) - 1))
    found[at] = (found[at][0], -1.0)
    assert quantile_bounds(found, q) is None


def test_one_bucket_tells_nothing() -> None:
    """Without a finite edge every quantile is unknown."""
    assert quantile_bounds([(inf, 10.0)], 0.5) is None
    assert quantile_bounds([], 0.5) is None


def test_a_first_edge_that_is_not_positive_is_its_own_answer() -> None:
    """Below a first edge of 0 or less no lower edge is known, so none is invented."""
    assert quantile_bounds([(-1.0, 5.0), (inf, 0.0)], 0.5) == QuantileBounds(
        -1.0, -1.0, -1.0, censored=False
    )


@pytest.mark.parametrize("case", CASES["histogram_quantile"], ids=lambda case: case["id"])
def test_worked_quantiles(case: dict[str, dict[str, object]]) -> None:
    """The worked examples, cumulative as Prometheus writes them, edges as text."""
    edges = [float(le) for le, _ in case["inputs"]["buckets"]]  # type: ignore[attr-defined]
    cumulative = [count for _, count in case["inputs"]["buckets"]]  # type: ignore[attr-defined]
    alone = np.diff(cumulative, prepend=0).tolist()
    bounds = quantile_bounds(list(zip(edges, alone, strict=True)), case["inputs"]["q"])  # type: ignore[arg-type]
    expected = case["expected"]
    if expected["estimate"] is None:
        assert bounds is None
        return
    assert bounds is not None
    assert bounds.estimate == pytest.approx(expected["estimate"], abs=1e-9)
    assert (bounds.lower, bounds.upper) == (expected["bucket_lower"], expected["bucket_upper"])
    assert bounds.censored == expected["censored_at_top"]


def cumulative_cells(increases: list[tuple[int, int, float]], order: list[int]) -> CounterCells:
    """Cells of (series, minute, increase) in an order of one's own."""
    picked = [increases[i] for i in order]
    series, minutes, values = (list(column) for column in zip(*picked, strict=True))
    size = len(picked)
    return CounterCells(
        np.array(series, dtype=np.int64),
        np.array(minutes, dtype=np.int64),
        np.array(values, dtype=float),
        *(np.zeros(size) for _ in range(7)),
    )


@given(
    st.lists(EDGES, min_size=1, max_size=3),
    st.integers(1, 4),
    st.data(),
    st.randoms(use_true_random=False),
)
def test_increments_sum_back_to_the_cumulative(
    histograms: list[list[float]], minutes: int, data: st.DataObject, shuffling: object
) -> None:
    """Added up over rising edges, increments are the cumulative increases they came from."""
    edges = [(h, le) for h, found in enumerate(histograms) for le in found]
    numbers = {edge: i for i, edge in enumerate(edges)}
    increases, expected = [], {}
    for h, found in enumerate(histograms):
        for minute in range(0, 60 * minutes, 60):
            size = len(found)
            alone = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
            for le, total in zip(found, accumulate(alone), strict=True):
                increases.append((numbers[h, le], minute, float(total)))
                expected[h, minute, le] = float(total)
    order = list(range(len(increases)))
    shuffling.shuffle(order)  # type: ignore[attr-defined]
    cells = bucket_increments(
        cumulative_cells(increases, order),
        histogram=np.array([h for h, _ in edges], dtype=np.int64),
        le=np.array([le for _, le in edges]),
    )
    assert (cells.increase != 0).all()
    alone_of = {
        (*edges[s], m): v
        for s, m, v in zip(
            cells.series.tolist(), cells.minute.tolist(), cells.increase.tolist(), strict=True
        )
    }
    for (h, minute, le), total in expected.items():
        parts = [v for (g, e, m), v in alone_of.items() if (g, m) == (h, minute) and e <= le]
        assert sum(parts) == total


def test_cumulative_counts_that_fall_stay_visible() -> None:
    """A bucket below its neighbour gives a negative increment, which no quantile accepts."""
    cells = bucket_increments(
        cumulative_cells([(0, 0, 5.0), (1, 0, 3.0), (2, 0, 9.0)], [0, 1, 2]),
        histogram=np.zeros(3, dtype=np.int64),
        le=np.array([1.0, 2.0, inf]),
    )
    assert cells.increase.tolist() == [5.0, -2.0, 6.0]


def test_unknown_increases_are_no_increments() -> None:
    """A minute without a pair has no bucket cell at all, not one that says none."""
    cells = bucket_increments(
        cumulative_cells(
            [(0, 0, np.nan), (1, 0, np.nan), (0, 60, 2.0), (1, 60, 2.0)], [0, 1, 2, 3]
        ),
        histogram=np.zeros(2, dtype=np.int64),
        le=np.array([1.0, inf]),
    )
    assert (cells.series.tolist(), cells.minute.tolist()) == ([0], [60])


SOME = [(1.0, 10.0), (2.0, 20.0), (5.0, 40.0), (10.0, 25.0), (inf, 5.0)]


@pytest.mark.parametrize(
    ("threshold", "found"),
    [
        (0.0, ShareBounds(0.0, 0.1, 0.0)),
        (-1.0, ShareBounds(0.0, 0.1, None)),
        (1.0, ShareBounds(0.1, 0.1, 0.1)),
        (3.5, ShareBounds(0.3, 0.7, 0.5)),
        (11.0, ShareBounds(0.95, 1.0, None)),
    ],
)
def test_a_share_is_exact_at_an_edge_and_bounded_between(
    threshold: float, found: ShareBounds
) -> None:
    """Above the largest finite edge, and below 0, nothing but bounds is known."""
    assert share_below(SOME, threshold) == found


@given(st.floats(-5, 20), st.floats(-5, 20))
def test_shares_rise_with_the_threshold(one: float, other: float) -> None:
    """So do both bounds, and an estimate stays between them."""
    low, high = share_below(SOME, min(one, other)), share_below(SOME, max(one, other))
    assert low is not None
    assert high is not None
    assert low.lower <= high.lower
    assert low.upper <= high.upper
    assert low.estimate is None or low.lower <= low.estimate <= low.upper


@given(st.floats(0.01, 0.94))
def test_a_share_undoes_a_quantile(q: float) -> None:
    """The share up to the estimate of a quantile is the quantile's own."""
    found = quantile_bounds(SOME, q)
    assert found is not None
    share = share_below(SOME, found.estimate)
    assert share is not None
    assert share.estimate == pytest.approx(q)


@pytest.mark.parametrize(
    "buckets", [[], [(inf, 3.0)], [(1.0, 0.0), (inf, 0.0)], [(1.0, -1.0), (inf, 3.0)]]
)
def test_no_observations_have_no_share(buckets: list[tuple[float, float]]) -> None:
    """Nothing observed is not 0 percent."""
    assert share_below(buckets, 1.0) is None
