"""Preemption windows and exposure: cases worked by hand, and what holds for all."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.windows import (
    Preempt,
    PreemptCell,
    PreemptWindow,
    Unsure,
    exposure,
    is_retrospective,
    joined,
    preempt_windows,
    touching,
)

ONE, ZERO, UNKNOWN = Preempt.ONE, Preempt.ZERO, Preempt.UNKNOWN


def quiet(minute: int, *, samples: int = 4, **more: float | None) -> PreemptCell:
    """A minute in which the counter stood still."""
    told = {"increase": 0.0, "gap_increase": 0.0, "largest_gap_s": 15.0} | more
    return PreemptCell(minute, samples=samples, **told)


def busy(minute: int, **more: float | None) -> PreemptCell:
    """A minute with one event between two close scrapes."""
    return quiet(minute, **({"increase": 1.0} | more))


def states(cells: list[PreemptCell], start: float = 0, end: float = 299) -> list[Preempt]:
    return [one.state for one in preempt_windows(cells, start=start, end=end)]


def test_a_quiet_engine_is_0() -> None:
    """Five minutes of scrapes without an increase."""
    assert states([quiet(60 * i) for i in range(5)]) == [ZERO]


def test_an_increase_between_close_scrapes_is_1_whatever_the_coverage() -> None:
    """One pair of scrapes is enough, though three samples would be needed for a 0."""
    assert states([busy(120, samples=1)]) == [ONE]
    assert states([quiet(120, samples=2)]) == [UNKNOWN]


@pytest.mark.parametrize(("samples", "state"), [(1, UNKNOWN), (2, UNKNOWN), (3, ZERO), (20, ZERO)])
def test_a_0_needs_three_samples(samples: int, state: Preempt) -> None:
    """Samples count over the whole window, not in each minute."""
    cells = [quiet(60 * (i % 5), samples=1) for i in range(samples)]
    assert states(cells) == [state]


def test_no_series_is_unknown_and_says_so() -> None:
    """A window without any cell is not a quiet one."""
    (window,) = preempt_windows([], start=0, end=10)
    assert (window.state, window.why) == (UNKNOWN, Unsure.NO_SERIES)


def test_a_minute_without_a_pair_is_no_event() -> None:
    """First scrapes of a series have no increase; they are samples all the same."""
    first = quiet(0, samples=3, increase=None, gap_increase=None, largest_gap_s=None)
    assert states([first]) == [ZERO]


def test_an_increase_across_a_gap_makes_no_1() -> None:
    """Two events over a gap of 100 s: nobody knows when, so neither 1 nor 0."""
    gap = quiet(240, increase=2.0, gap_increase=2.0, largest_gap_s=100.0)
    (window,) = preempt_windows([*(quiet(60 * i) for i in range(3)), gap], start=0, end=10)
    assert (window.state, window.why) == (UNKNOWN, Unsure.GAP)


def test_part_of_an_increase_in_a_gap_leaves_the_rest() -> None:
    """Three events of which two lie in a gap: the third was seen between close scrapes."""
    assert states([quiet(240, increase=3.0, gap_increase=2.0, largest_gap_s=100.0)]) == [ONE]


def test_a_gap_reaches_into_the_window_before() -> None:
    """An event in a gap from 290 s to 310 s may lie on either side of 300 s."""
    cells = [quiet(60 * i) for i in range(10)]
    cells[5] = quiet(300, increase=1.0, gap_increase=1.0, largest_gap_s=40.0)
    assert states(cells, 0, 599) == [UNKNOWN, UNKNOWN]
    cells[5] = quiet(300, increase=0.0, gap_increase=0.0, largest_gap_s=40.0)
    assert states(cells, 0, 599) == [ZERO, ZERO]


def test_a_gap_does_not_undo_a_1() -> None:
    """A window with a timed event stays 1 when a gap follows."""
    cells = [busy(0), quiet(240, increase=1.0, gap_increase=1.0, largest_gap_s=90.0)]
    assert states(cells) == [ONE]


def test_a_window_that_is_not_over_is_no_0() -> None:
    """Until it is read to its end an event may still come; one that came stays."""
    cells = [quiet(0), busy(60), quiet(300), quiet(360)]
    found = preempt_windows(cells, start=0, end=599, read_to=420.0)
    assert [(w.state, w.why) for w in found] == [(ONE, None), (UNKNOWN, Unsure.NOT_OVER)]
    found = preempt_windows(cells, start=0, end=599, read_to=600.0)
    assert [w.state for w in found] == [ONE, ZERO]


def test_windows_lie_side_by_side_on_a_grid() -> None:
    """Every moment is in exactly one window, wherever the asked stretch begins."""
    windows = preempt_windows([], start=310, end=905)
    assert [(w.start, w.end) for w in windows] == [(300, 600), (600, 900), (900, 1200)]


def test_another_length_of_window() -> None:
    """A minute's window finds the event in its own minute only."""
    cells = [quiet(0), busy(60), quiet(120)]
    found = preempt_windows(cells, start=0, end=179, window_s=60)
    assert [w.state for w in found] == [ZERO, ONE, ZERO]


def windows_of(*given_states: Preempt) -> list[PreemptWindow]:
    return [PreemptWindow(300 * i, 300 * i + 300, state) for i, state in enumerate(given_states)]


@pytest.mark.parametrize(
    ("given_states", "start", "end", "expected"),
    [
        ((ZERO, ONE), 10, 20, ZERO),
        ((ZERO, ONE), 10, 310, ONE),
        ((UNKNOWN, ONE), 10, 310, ONE),
        ((ZERO, UNKNOWN), 10, 310, UNKNOWN),
        ((ZERO, ZERO), 10, 599, ZERO),
        ((ZERO, ZERO), 10, 600, UNKNOWN),
        ((ONE, ZERO), 10, 700, ONE),
        ((ZERO,), -10, 20, UNKNOWN),
        ((), 10, 20, UNKNOWN),
        ((ONE, ZERO), 300, 310, ZERO),
        ((ZERO, ONE), 10, 300, ONE),
    ],
)
def test_exposure_by_hand(
    given_states: tuple[Preempt, ...], start: float, end: float, expected: Preempt
) -> None:
    """1 if any is 1, else unknown if any is or a part lies in none, else 0; ends are half open."""
    assert exposure(windows_of(*given_states), start, end) is expected


def test_a_request_without_an_end_is_never_0() -> None:
    """Nobody knows which windows it ran through; the one it began in may still be 1."""
    assert exposure(windows_of(ZERO, ZERO), 10, None) is UNKNOWN
    assert exposure(windows_of(ONE, ZERO), 10, None) is ONE
    assert exposure(windows_of(ZERO, ONE), 10, None) is UNKNOWN


def test_a_hole_between_windows_is_no_0() -> None:
    """A request over a hole lies partly in no window."""
    first, _, third = windows_of(ZERO, ZERO, ZERO)
    assert exposure([third, first], 10, 700) is UNKNOWN


def test_a_window_past_the_end_is_retrospective() -> None:
    """Only windows that the request overlaps count, and only beyond its end."""
    windows = windows_of(ZERO, ZERO)
    assert is_retrospective(windows, 10, 20)
    assert not is_retrospective(windows, 10, None)
    assert not is_retrospective(windows[:1], 10, 300)


STATES = st.lists(st.sampled_from(Preempt), max_size=6)
CELLS = st.lists(
    st.builds(
        PreemptCell,
        minute=st.integers(0, 14).map(lambda i: i * 60),
        increase=st.none() | st.integers(0, 3).map(float),
        gap_increase=st.none() | st.integers(0, 3).map(float),
        samples=st.integers(0, 4),
        largest_gap_s=st.none() | st.integers(1, 400).map(float),
    ),
    max_size=12,
)


@given(CELLS, st.randoms())
def test_the_order_of_cells_is_irrelevant(
    cells: list[PreemptCell], shuffled: random.Random
) -> None:
    """Cells may come in any order."""
    mixed = cells[:]
    shuffled.shuffle(mixed)
    assert preempt_windows(mixed, start=0, end=899) == preempt_windows(cells, start=0, end=899)


@given(CELLS)
def test_an_unknown_window_has_a_reason_and_no_other(cells: list[PreemptCell]) -> None:
    """Unknown is never without its reason, and a known state never with one."""
    for window in preempt_windows(cells, start=0, end=899):
        assert (window.state is UNKNOWN) == (window.why is not None)


@given(STATES, st.integers(0, 1800), st.integers(0, 900), st.randoms())
def test_the_order_of_windows_is_irrelevant(
    given_states: list[Preempt], start: int, length: int, shuffled: random.Random
) -> None:
    """Windows may come in any order."""
    windows = windows_of(*given_states)
    mixed = windows[:]
    shuffled.shuffle(mixed)
    end = start + length
    assert exposure(mixed, start, end) is exposure(windows, start, end)
    assert touching(mixed, start, end) == touching(windows, start, end)


@given(STATES, st.integers(0, 1800), st.integers(0, 900))
def test_a_0_stands_on_zeros_alone(given_states: list[Preempt], start: int, length: int) -> None:
    """An exposure of 0 means that every moment lies in a window, and every window is 0."""
    windows = windows_of(*given_states)
    if exposure(windows, start, start + length) is ZERO:
        touched = touching(windows, start, start + length)
        assert {one.state for one in touched} == {ZERO}
        assert touched[0].start <= start
        assert touched[-1].end > start + length


@given(STATES)
def test_joining_is_by_rank(given_states: list[Preempt]) -> None:
    """1 before unknown before 0; nothing joined is unknown."""
    expected = next((one for one in (ONE, UNKNOWN, ZERO) if one in given_states), UNKNOWN)
    assert joined(given_states) is expected
