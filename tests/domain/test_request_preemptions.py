"""Requests by their preemptions: bounds worked by hand, and what holds for all."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.request_preemptions import Between, request_preemptions, together

EDGES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, inf)
"""Edges of vLLM since 0.30."""


def buckets(*counts: float) -> list[tuple[float, float]]:
    return list(zip(EDGES, counts, strict=True))


@pytest.mark.parametrize(
    ("counts", "preemptions", "two_or_more", "exactly_one"),
    [
        ((10, 0, 0, 0, 0, 0, 0, 0), 0, 0, (0, 0)),
        ((10, 0, 0, 0, 0, 0, 0, 0), 4, 0, (4, 4)),
        ((10, 1, 1, 0, 0, 0, 0, 0), 8, 2, (3, 3)),
        ((10, 0, 0, 0, 0, 1, 0, 0), 9, 1, (0, 3)),
        ((10, 0, 0, 0, 0, 1, 0, 0), 14, 1, (4, 8)),
        ((2, 0, 0, 0, 0, 1, 0, 0), 9, 1, (0, 2)),
        ((10, 0, 0, 0, 0, 0, 1, 0), 11, 1, (0, 0)),
        ((10, 0, 0, 0, 0, 0, 0, 1), 30, 1, (0, 9)),
        ((0, 0, 0, 0, 0, 0, 0, 0), 0, 0, (0, 0)),
    ],
)
def test_bounds_by_hand(
    counts: tuple[float, ...],
    preemptions: float,
    two_or_more: float,
    exactly_one: tuple[float, float],
) -> None:
    """What is left of the sum after the least and the most of the higher buckets."""
    found = request_preemptions(buckets(*counts), preemptions)
    assert found is not None
    assert found.two_or_more == two_or_more
    assert (found.exactly_one.low, found.exactly_one.high) == exactly_one
    assert (found.any.low, found.any.high) == tuple(two_or_more + one for one in exactly_one)


@pytest.mark.parametrize(
    ("given_buckets", "preemptions"),
    [
        ([], 0.0),
        ([(2.0, 3.0), (inf, 0.0)], 3.0),
        ([(1.0, 3.0), (2.0, 0.0)], 3.0),
        ([(1.0, -1.0), (inf, 0.0)], 0.0),
        ([(1.0, 3.0), (inf, 0.0)], -1.0),
        ([(1.0, 3.0), (inf, 0.0)], 4.0),
        ([(1.0, 3.0), (2.0, 2.0), (inf, 0.0)], 3.0),
        ([(1.0, inf), (inf, 0.0)], 0.0),
    ],
)
def test_what_bounds_nothing_is_unknown(
    given_buckets: list[tuple[float, float]], preemptions: float
) -> None:
    """Other edges, no last edge, or numbers that contradict each other: no bounds."""
    assert request_preemptions(given_buckets, preemptions) is None


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_truth_lies_within_the_bounds(requests: list[int]) -> None:
    """Whatever requests went through, the number with exactly one is within its bounds."""
    edges = [*EDGES]
    counts = [0.0] * len(edges)
    for n in requests:
        counts[next(i for i, edge in enumerate(edges) if n <= edge)] += 1
    found = request_preemptions(buckets(*counts), float(sum(requests)))
    assert found is not None
    assert found.exactly_one.low <= requests.count(1) <= found.exactly_one.high
    assert found.two_or_more == sum(n > 1 for n in requests)
    assert found.at_most_one == sum(n <= 1 for n in requests)
    if max(requests, default=0) <= 5:
        assert found.exactly_one.exact


def test_engines_add_up_and_nothing_is_unknown() -> None:
    """Bounds of several engines add; no engine has none."""
    one = request_preemptions(buckets(10, 0, 0, 0, 0, 1, 0, 0), 9)
    two = request_preemptions(buckets(10, 1, 1, 0, 0, 0, 0, 0), 8)
    assert one is not None
    assert two is not None
    found = together([one, two])
    assert found is not None
    assert found.exactly_one == Between(3, 6)
    assert (found.at_most_one, found.two_or_more) == (20, 3)
    assert together([]) is None
