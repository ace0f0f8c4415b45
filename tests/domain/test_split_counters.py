"""A counter split into many series: their cells add up to the cells of the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.domain.counters import (
    CounterCells,
    SampleBlock,
    begin_anew,
    counter_cells,
    counter_steps,
    sum_cells,
)
from core.domain.records import Floats

EVERY = 15.0
steps_of = st.lists(st.lists(st.integers(0, 1000), min_size=9, max_size=9), min_size=1, max_size=5)


def cells_of(values: list[Floats], *, since: Floats | None = None) -> CounterCells:
    """Cells of series scraped at the same times."""
    n = len(values[0])
    block = SampleBlock(
        series=np.repeat(np.arange(len(values)), n),
        time=np.tile(EVERY * np.arange(n), len(values)),
        value=np.concatenate(values),
        counted=np.ones(n * len(values), dtype=bool),
    )
    steps = counter_steps(block)
    if since is not None:
        steps = begin_anew(block, steps, since=since)
    return counter_cells(block, steps, scrape_interval_s=np.full(len(values), EVERY))


@given(steps_of)
def test_a_split_counter_is_the_whole(steps: list[list[int]]) -> None:
    """However a counter is split by users, one cell a minute says what the whole would."""
    parts = [np.cumsum(np.array(one, dtype=float)) for one in steps]
    summed = sum_cells(cells_of(parts), np.zeros(len(parts), dtype=np.int64))
    whole = cells_of([np.sum(parts, axis=0)])
    for name, expected in vars(whole).items():
        assert np.array_equal(getattr(summed, name), expected, equal_nan=True), name


@given(steps_of)
def test_groups_keep_to_themselves(steps: list[list[int]]) -> None:
    """Each in a group of its own, in any order, series come out as they went in."""
    cells = cells_of([np.cumsum(np.array(one, dtype=float)) for one in steps])
    turned = np.arange(len(steps), dtype=np.int64)[::-1]
    back = sum_cells(sum_cells(cells, turned), turned)
    for name, expected in vars(cells).items():
        assert np.array_equal(getattr(back, name), expected, equal_nan=True), name


def test_what_no_series_knows_stays_unknown() -> None:
    """A minute with single samples alone has no increase; known beside unknown is known."""
    alone = sum_cells(cells_of([np.array([5.0]), np.array([7.0])]), np.zeros(2, dtype=np.int64))
    assert np.isnan(alone.increase).all()
    assert alone.samples.tolist() == [1]
    nothing = cells_of([np.zeros(0)])
    assert sum_cells(nothing, np.zeros(1, dtype=np.int64)).series.size == 0
    since = np.array([np.nan, -EVERY])
    beside = cells_of([np.array([5.0]), np.array([7.0])], since=since)
    summed = sum_cells(beside, np.zeros(2, dtype=np.int64))
    assert (summed.increase.tolist(), summed.resets.tolist()) == ([7.0], [0])


def test_a_series_that_began_is_counted_whole() -> None:
    """A birth is no reset; a second beginning is one, whatever the value was before."""
    values = np.array([100.0, 110.0, 250.0])
    since = np.array([-EVERY, np.nan, EVERY + 1])
    cells = cells_of([values], since=since)
    assert (cells.increase.tolist(), cells.resets.tolist()) == ([100.0 + 10 + 250], [1])
    assert cells.covered_s.tolist() == [EVERY + EVERY + EVERY - 1]
