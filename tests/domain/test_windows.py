"""Preemption windows and exposure: cases worked by hand, and what holds for all."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.windows import (
    Preempt,
    PreemptCell,
    PreemptWindow,
    Rule,
    Unsure,
    events_in_overlap,
    exposure,
    is_retrospective,
    joined,
    preempt_windows,
    tolerance_s,
    touching,
)

ONE, ZERO, UNKNOWN = Preempt.ONE, Preempt.ZERO, Preempt.UNKNOWN


def quiet(minute: int, *, samples: int = 4, **more: float | None) -> PreemptCell:
    """A minute, scraped every 15 s from its start, in which the counter stood still."""
    told = {
        "increase": 0.0,
        "gap_increase": 0.0,
        "largest_gap_s": 15.0,
        "first_at": float(minute),
        "last_at": minute + 15.0 * (samples - 1),
    } | more
    return PreemptCell(minute, samples=samples, **told)


def busy(minute: int, *, samples: int = 4, **more: float | None) -> PreemptCell:
    """A minute with one event between two close scrapes."""
    return quiet(minute, samples=samples, **({"increase": 1.0} | more))


def found(cells: list[PreemptCell], **more: float | Rule | None) -> list[PreemptWindow]:
    asked = {"start": 0, "end": 299, "interval_s": 15.0} | more
    return list(preempt_windows(cells, **asked))


def states(cells: list[PreemptCell], start: float = 0, end: float = 299) -> list[Preempt]:
    return [one.state for one in found(cells, start=start, end=end)]


WHOLE = [quiet(60 * i) for i in range(5)]
"""A whole window of 20 scrapes."""


def test_a_quiet_engine_is_0() -> None:
    """Five minutes of scrapes without an increase."""
    assert states(WHOLE) == [ZERO]


def test_an_increase_between_close_scrapes_is_1_whatever_the_coverage() -> None:
    """One pair of scrapes is enough, though 18 samples would be needed for a 0."""
    assert states([busy(120, samples=1)]) == [ONE]
    assert states([quiet(120, samples=1)]) == [UNKNOWN]


@pytest.mark.parametrize(
    ("samples", "state", "why"),
    [
        (20, ZERO, None),
        (18, ZERO, None),
        (17, UNKNOWN, Unsure.COVERAGE),
        (2, UNKNOWN, Unsure.COVERAGE),
        (1, UNKNOWN, Unsure.FEW_SAMPLES),
    ],
)
def test_a_0_needs_nine_tenths_of_the_samples(
    samples: int, state: Preempt, why: Unsure | None
) -> None:
    """Of 20 expected, 18 are enough and 17 are not; one has no neighbour at all."""
    each = [samples // 5 + (i < samples % 5) for i in range(5)]
    cells = [quiet(60 * i, samples=n, last_at=60.0 * i + 59) for i, n in enumerate(each) if n]
    (window,) = found(cells)
    assert (window.state, window.why) == (state, why)


def test_two_samples_are_a_0_where_no_more_are_expected() -> None:
    """A scrape every 150 s promises two samples in 300 s."""
    cells = [
        quiet(0, samples=1, largest_gap_s=150.0, first_at=10.0, last_at=10.0),
        quiet(120, samples=1, largest_gap_s=150.0, first_at=160.0, last_at=160.0),
    ]
    assert found(cells, interval_s=150.0)[0].state is ZERO
    assert found(cells[:1], interval_s=150.0)[0].why is Unsure.FEW_SAMPLES


def test_without_a_scrape_interval_nothing_is_0() -> None:
    """Nobody can say how many samples to expect; an event is a fact all the same."""
    assert found(WHOLE, interval_s=None)[0].why is Unsure.COVERAGE
    assert found([busy(0)], interval_s=None)[0].state is ONE


def test_no_series_is_unknown_and_says_so() -> None:
    """A window without any cell is not a quiet one."""
    (window,) = found([])
    assert (window.state, window.why) == (UNKNOWN, Unsure.NO_SERIES)


def test_a_minute_without_a_pair_is_no_event() -> None:
    """First scrapes of a series have no increase; they are samples all the same."""
    first = quiet(0, increase=None, gap_increase=None, largest_gap_s=None)
    assert states([first, *WHOLE[1:]]) == [ZERO]


def test_an_increase_across_a_gap_makes_no_1() -> None:
    """Two events over a gap of 100 s: nobody knows when, so neither 1 nor 0."""
    gap = quiet(240, increase=2.0, gap_increase=2.0, largest_gap_s=100.0)
    (window,) = found([*WHOLE[:4], gap])
    assert (window.state, window.why) == (UNKNOWN, Unsure.GAP)


@pytest.mark.parametrize(("gap_s", "state"), [(30.0, ZERO), (30.7, ZERO), (31.0, UNKNOWN)])
def test_a_gap_without_an_increase_is_no_0_either(gap_s: float, state: Preempt) -> None:
    """A counter may have restarted in it; two intervals, with a little jitter, are no gap."""
    assert states([*WHOLE[:4], quiet(240, largest_gap_s=gap_s)]) == [state]


def test_part_of_an_increase_in_a_gap_leaves_the_rest() -> None:
    """Three events of which two lie in a gap: the third was seen between close scrapes."""
    assert states([quiet(240, increase=3.0, gap_increase=2.0, largest_gap_s=100.0)]) == [ONE]


@pytest.mark.parametrize("events", [0.0, 1.0])
def test_a_gap_touches_both_windows_it_reaches_into(events: float) -> None:
    """From 285 s to 320 s: on both sides of 300 s nobody knows."""
    cells = [quiet(60 * i) for i in range(10)]
    gap = {"increase": events, "gap_increase": events, "largest_gap_s": 35.0}
    cells[5] = quiet(300, samples=3, first_at=320.0, last_at=350.0, **gap)
    assert states(cells, 0, 599) == [UNKNOWN, UNKNOWN]
    assert {w.why for w in found(cells, end=599)} == {Unsure.GAP}


def test_a_gap_inside_a_window_leaves_its_neighbour_alone() -> None:
    """From 300 s to 345 s: the window before has all of its scrapes and no gap."""
    cells = [quiet(60 * i) for i in range(10)]
    cells[5] = quiet(300, samples=3, largest_gap_s=45.0)
    assert states(cells, 0, 599) == [ZERO, UNKNOWN]


def test_a_gap_does_not_undo_a_1() -> None:
    """A window with a timed event stays 1 when a gap follows."""
    cells = [busy(0), quiet(240, increase=1.0, gap_increase=1.0, largest_gap_s=90.0)]
    assert states(cells) == [ONE]


def test_a_window_that_is_not_over_is_no_0() -> None:
    """Until it is read to its end an event may still come; one that came stays."""
    cells = [quiet(0), busy(60), *(quiet(60 * i) for i in range(5, 10))]
    early = found(cells, end=599, read_to=420.0)
    assert [(w.state, w.why) for w in early] == [(ONE, None), (UNKNOWN, Unsure.NOT_OVER)]
    assert [w.state for w in found(cells, end=599, read_to=600.0)] == [ONE, ZERO]


def test_windows_lie_side_by_side_on_a_grid() -> None:
    """Every moment is in exactly one window, wherever the asked stretch begins."""
    windows = found([], start=310, end=905)
    assert [(w.start, w.end) for w in windows] == [(300, 600), (600, 900), (900, 1200)]


def test_another_length_of_window() -> None:
    """A minute's window finds the event in its own minute only."""
    cells = [quiet(0), busy(60), quiet(120)]
    assert [w.state for w in found(cells, end=179, rule=Rule(window_s=60))] == [ZERO, ONE, ZERO]


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
        ((ZERO, ZERO), 10, 600, ZERO),
        ((ZERO, ZERO), 10, 601, UNKNOWN),
        ((ONE, ZERO), 10, 700, ONE),
        ((ZERO,), -10, 20, UNKNOWN),
        ((), 10, 20, UNKNOWN),
        ((ONE, ZERO), 300, 310, ZERO),
        ((ZERO, ONE), 10, 300, ZERO),
        ((ZERO, ONE), 10, 301, ONE),
        ((ZERO, ONE), 300, 300, ONE),
    ],
)
def test_exposure_by_hand(
    given_states: tuple[Preempt, ...], start: float, end: float, expected: Preempt
) -> None:
    """1 if any is 1, else unknown if any is or a part lies in none, else 0; to touch is not
    to overlap.
    """
    assert exposure(windows_of(*given_states), start, end) is expected


def test_a_request_is_widened_by_the_tolerance() -> None:
    """Ten seconds before a window of 1: with clocks 11 s apart it may have run in it."""
    windows = windows_of(ZERO, ONE)
    assert exposure(windows, 20, 290, tolerance=9.0) is ZERO
    assert exposure(windows, 20, 290, tolerance=11.0) is ONE
    assert exposure(windows_of(ZERO), 5, 290, tolerance=6.0) is UNKNOWN
    assert [w.start for w in touching(windows, 310, 320, tolerance=11.0)] == [0, 300]


def test_the_tolerance_adds_up_what_is_not_known() -> None:
    """Both clocks, whichever way they differ, at least a second, and one scrape."""
    assert tolerance_s([-0.2, 0.3], 2.0) == 3.0
    assert tolerance_s([-2.0, 3.0], 15.0) == 20.0
    assert tolerance_s([None], 15.0) == 16.0


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
        first_at=st.just(0.0),
        last_at=st.just(0.0),
    ).map(lambda c: replace(c, first_at=c.minute + 1.0, last_at=c.minute + 50.0)),
    max_size=12,
    unique_by=lambda c: c.minute,
)


@given(CELLS, st.randoms())
def test_the_order_of_cells_is_irrelevant(
    cells: list[PreemptCell], shuffled: random.Random
) -> None:
    """Cells may come in any order."""
    mixed = cells[:]
    shuffled.shuffle(mixed)
    assert found(mixed, end=899) == found(cells, end=899)


@given(CELLS)
def test_an_unknown_window_has_a_reason_and_no_other(cells: list[PreemptCell]) -> None:
    """Unknown is never without its reason, and a known state never with one."""
    for window in found(cells, end=899):
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
        assert touched[-1].end >= start + length


@given(STATES)
def test_joining_is_by_rank(given_states: list[Preempt]) -> None:
    """1 before unknown before 0; nothing joined is unknown."""
    expected = next((one for one in (ONE, UNKNOWN, ZERO) if one in given_states), UNKNOWN)
    assert joined(given_states) is expected


def test_events_in_overlap_are_shared_out_over_the_window() -> None:
    """Half a window holds half its events; the widened request is what is covered."""
    windows = [
        (PreemptWindow(0, 60, Preempt.ZERO), 0.0),
        (PreemptWindow(60, 120, Preempt.ONE), 4.0),
    ]
    found = events_in_overlap(windows, 55, 85, tolerance=5)
    assert found is not None
    assert (found.covered_share, found.expected) == (1.0, 2.0)
    assert found.any_probability == pytest.approx(0.8646647)


def test_a_window_of_unknown_increase_covers_nothing() -> None:
    """Its share is missing from what is covered, so a low figure shows as incomplete."""
    windows = [
        (PreemptWindow(0, 60, Preempt.ONE), 6.0),
        (PreemptWindow(60, 120, Preempt.UNKNOWN), None),
    ]
    found = events_in_overlap(windows, 50, 70)
    assert found is not None
    assert (found.covered_share, found.expected) == (0.5, 1.0)


def test_a_moment_has_no_overlap() -> None:
    """No time, no events to expect."""
    assert events_in_overlap([(PreemptWindow(0, 60, Preempt.ONE), 6.0)], 10, 10) is None
