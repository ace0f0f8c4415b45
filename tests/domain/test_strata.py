"""Strata of cached_ratio from whole tokens, and bins that cover every value once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.strata import (
    CACHED_STRATA,
    CachedStratum,
    bin_edges,
    bin_index,
    cached_stratum,
)


@pytest.mark.parametrize(
    ("cached", "total", "stratum"),
    [
        (0, 10, "0"),
        (1, 10**12, "(0,0.5]"),
        (5, 10, "(0,0.5]"),
        (500_001, 10**6, "(0.5,0.9]"),
        (9, 10, "(0.5,0.9]"),
        (900_001, 10**6, "(0.9,1]"),
        (10, 10, "(0.9,1]"),
        (None, 10, "unknown"),
        (0, None, "unknown"),
        (None, None, "unknown"),
        (0, 0, "unknown"),
        (1, 0, "contract_violation"),
        (11, 10, "contract_violation"),
        (-1, 10, "contract_violation"),
        (-1, None, "contract_violation"),
        (None, -1, "contract_violation"),
    ],
)
def test_edges_are_decided_from_whole_tokens(
    cached: int | None, total: int | None, stratum: str
) -> None:
    """An upper edge belongs to its stratum, 1.0 to the last, and unknown is never 0."""
    assert cached_stratum(cached, total) == stratum


def test_the_table_has_five_rows_in_order() -> None:
    """Violations are counted beside the table."""
    assert [str(row) for row in CACHED_STRATA] == [
        "0",
        "(0,0.5]",
        "(0.5,0.9]",
        "(0.9,1]",
        "unknown",
    ]


@given(st.integers(1, 10**12), st.data())
def test_every_measured_request_has_one_of_four_strata(total: int, data: st.DataObject) -> None:
    """They cover 0 to 1 without a hole, and rise with the cached tokens."""
    one = data.draw(st.integers(0, total))
    other = data.draw(st.integers(one, total))
    order = CACHED_STRATA.index
    assert order(cached_stratum(one, total)) <= order(cached_stratum(other, total)) <= 3
    assert (cached_stratum(one, total) is CachedStratum.ZERO) == (one == 0)


@given(st.floats(-1e6, 1e6), st.lists(st.floats(-1e6, 1e6), max_size=5, unique=True).map(sorted))
def test_bins_cover_every_value_once(value: float, edges: list[float]) -> None:
    """A value lies in its bin and in no other."""
    index = bin_index(value, edges)
    inside = [
        i
        for i in range(len(edges) + 1)
        for low, high in [bin_edges(i, edges)]
        if (low is None or low <= value) and (high is None or value < high)
    ]
    assert inside == [index]


def test_an_unknown_value_has_no_bin() -> None:
    """Neither the first nor the last."""
    assert bin_index(None, [1.0]) is None
    assert bin_index(float("nan"), [1.0]) is None
