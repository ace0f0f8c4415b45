"""Differences between accounts: over the engines that give both, with their sign."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.prefill import difference, sum_over
from core.domain.reading import Reason

AMOUNTS = st.dictionaries(st.integers(0, 5), st.integers(0, 10**9).map(float))


def test_engines_that_give_one_side_alone_make_no_difference() -> None:
    """An engine without request histograms does not look like one with aborted requests."""
    reading = difference(
        "prefill_difference", {1: 90.0}, {1: 100.0, 2: 7000.0}, absent=Reason.NOT_EXPORTED
    )
    assert reading.value == -10.0


@pytest.mark.parametrize("those", [{}, {2: 1.0}])
def test_no_engine_with_both_is_unknown(those: dict[int, float]) -> None:
    """Nothing to compare is a word, not a difference of 0."""
    reading = difference("prefill_difference", {1: 5.0}, those, absent=Reason.NOT_EXPORTED)
    assert (reading.value, reading.reason) == (None, Reason.NOT_EXPORTED)


@given(AMOUNTS, AMOUNTS)
def test_a_difference_turns_with_its_sides(one: dict[int, float], two: dict[int, float]) -> None:
    """Swapping the sides swaps the sign and nothing else."""
    there = difference("prefill_difference", one, two, absent=Reason.NOT_EXPORTED)
    back = difference("prefill_difference", two, one, absent=Reason.NOT_EXPORTED)
    assert there.reason == back.reason
    if there.value is not None and back.value is not None:
        assert there.value == -back.value


@given(AMOUNTS, AMOUNTS)
def test_parts_are_summed_where_all_are_known(one: dict[int, float], two: dict[int, float]) -> None:
    """An engine without one part has no whole."""
    whole = sum_over(one, two)
    assert whole.keys() == one.keys() & two.keys()
    assert all(whole[engine] == one[engine] + two[engine] for engine in whole)
