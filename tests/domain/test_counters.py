"""Counters and gauges against a rule written a second time, one sample after the other."""

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.counters import (
    CounterCells,
    GaugeCells,
    SampleBlock,
    counter_cells,
    counter_steps,
    gauge_cells,
)

CASES = json.loads((Path(__file__).parent / "worked_cases.json").read_text(encoding="utf-8"))
INTERVAL_S = 15.0
COVERED_S = INTERVAL_S * 2.05
MINUTE_S = 60

Samples = list[tuple[float, float]]
"""Time and value of one series."""


def samples_of(values: st.SearchStrategy[int]) -> st.SearchStrategy[Samples]:
    """Rising times, in quarters of a second so that sums are exact, and whole values."""
    steps = st.one_of(st.just(60), st.integers(1, 40), st.integers(100, 900))
    pairs = st.lists(st.tuples(steps, values), max_size=25)
    return st.builds(_placed, st.integers(0, 480), pairs)


def _placed(start: int, pairs: list[tuple[int, int]]) -> Samples:
    times = np.cumsum([start, *(step for step, _ in pairs)])[1:] / 4
    return [(float(t), float(value)) for t, (_, value) in zip(times, pairs, strict=True)]


COUNTERS = st.lists(samples_of(st.integers(0, 50)), max_size=5)
GAUGES = st.lists(samples_of(st.integers(-20, 20)), max_size=5)


def block_of(series: list[Samples], *, since: float = 0.0) -> SampleBlock:
    flat = [(i, t, v) for i, samples in enumerate(series) for t, v in samples]
    return SampleBlock(
        np.array([i for i, _, _ in flat], dtype=np.int64),
        np.array([t for _, t, _ in flat], dtype=float),
        np.array([v for _, _, v in flat], dtype=float),
        np.array([t >= since for _, t, _ in flat], dtype=bool),
    )


def cells_of(series: list[Samples], *, since: float = 0.0) -> CounterCells:
    block = block_of(series, since=since)
    intervals = np.full(len(series), INTERVAL_S)
    return counter_cells(block, counter_steps(block), scrape_interval_s=intervals)


@dataclass
class Cell:
    """One cell, put together sample after sample."""

    increase: float | None = None
    gap_increase: float | None = None
    samples: int = 0
    resets: int = 0
    covered_s: float = 0.0
    largest_gap_s: float | None = None
    first_at: float = float("inf")
    last_at: float = float("-inf")

    def add_pair(self, gap: float, increase: float, *, reset: bool) -> None:
        across = gap > COVERED_S
        self.increase = (self.increase or 0.0) + increase
        self.gap_increase = (self.gap_increase or 0.0) + (increase if across else 0.0)
        self.resets += reset
        self.covered_s += 0.0 if across else gap
        self.largest_gap_s = max(self.largest_gap_s or 0.0, gap)

    def joined(self, other: "Cell") -> "Cell":
        def known(a: float | None, b: float | None) -> list[float]:
            return [value for value in (a, b) if value is not None]

        return Cell(
            increase=sum(known(self.increase, other.increase), 0.0)
            if known(self.increase, other.increase)
            else None,
            gap_increase=sum(known(self.gap_increase, other.gap_increase), 0.0)
            if known(self.gap_increase, other.gap_increase)
            else None,
            samples=self.samples + other.samples,
            resets=self.resets + other.resets,
            covered_s=self.covered_s + other.covered_s,
            largest_gap_s=max(known(self.largest_gap_s, other.largest_gap_s), default=None),
            first_at=min(self.first_at, other.first_at),
            last_at=max(self.last_at, other.last_at),
        )


Cells = dict[tuple[int, int], Cell]


def plain(cells: CounterCells) -> Cells:
    """Cells by series and minute, NaN as None."""
    found: Cells = {}
    for i, key in enumerate(zip(cells.series.tolist(), cells.minute.tolist(), strict=True)):
        values = {name: array[i].item() for name, array in vars(cells).items()}
        values = {name: None if isnan(value) else value for name, value in values.items()}
        del values["series"], values["minute"]
        assert key not in found
        found[key] = Cell(**values)
    return found


def one_by_one(series: list[Samples], *, since: float = 0.0) -> Cells:
    """The rule in its plainest form: a step up counts, after a fall the new value counts."""
    found: Cells = defaultdict(Cell)
    for number, samples in enumerate(series):
        before: tuple[float, float] | None = None
        for t, value in samples:
            if t >= since:
                cell = found[number, int(t // MINUTE_S) * MINUTE_S]
                cell.samples += 1
                cell.first_at, cell.last_at = min(cell.first_at, t), max(cell.last_at, t)
                if before is not None:
                    fell = value < before[1]
                    step = value if fell else value - before[1]
                    cell.add_pair(t - before[0], step, reset=fell)
            before = (t, value)
    return dict(found)


@given(COUNTERS)
def test_increases_are_never_negative(series: list[Samples]) -> None:
    """Whatever a counter does, no step of it is below zero, and only falls are resets."""
    block = block_of(series)
    steps = counter_steps(block)
    assert (steps.increase[steps.paired] >= 0).all()
    fell = sum(b < a for samples in series for (_, a), (_, b) in _pairs(samples))
    assert int(steps.reset.sum()) == fell
    assert int(steps.paired.sum()) == sum(max(0, len(samples) - 1) for samples in series)


def _pairs(samples: Samples) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return list(pairwise(samples))


@given(COUNTERS, st.integers(0, 2000))
def test_cells_follow_the_rule_sample_by_sample(series: list[Samples], since: int) -> None:
    """All series at once give the cells that one sample after the other gives."""
    assert plain(cells_of(series, since=since)) == one_by_one(series, since=since)


@given(COUNTERS, st.integers(0, 2000))
def test_cells_add_up_over_a_split(series: list[Samples], split: int) -> None:
    """Two slices, the last sample carried over, hold together what one slice holds."""
    early = [[(t, v) for t, v in samples if t < split] for samples in series]
    late = [[(t, v) for t, v in samples if t >= split] for samples in series]
    carried = [before[-1:] + after for before, after in zip(early, late, strict=True)]
    first, second = plain(cells_of(early)), plain(cells_of(carried, since=split))
    joined = {
        key: first.get(key, Cell()).joined(second.get(key, Cell()))
        for key in first.keys() | second.keys()
    }
    assert joined == plain(cells_of(series))


@given(COUNTERS, st.randoms(use_true_random=False))
def test_order_of_series_is_irrelevant(series: list[Samples], shuffling: object) -> None:
    """A series has the same cells wherever it stands among the others."""
    order = list(range(len(series)))
    shuffling.shuffle(order)  # type: ignore[attr-defined]
    shuffled = plain(cells_of([series[i] for i in order]))
    back = {(order[number], minute): cell for (number, minute), cell in shuffled.items()}
    assert back == plain(cells_of(series))


@given(st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=1, max_size=5))
def test_a_restart_of_one_part_is_a_restart_of_all(values: list[list[int]]) -> None:
    """Parts of one histogram share their restarts: where one falls, each new value counts."""
    series = [[(15.0 * k, float(v)) for k, v in enumerate(row)] for row in values]
    together = np.zeros(len(series), dtype=np.int64)
    steps = counter_steps(block_of(series), instrument=together)
    increase = steps.increase.reshape(len(series), -1)
    for k in range(1, 6):
        fell = any(row[k] < row[k - 1] for row in values)
        expected = [row[k] if fell else row[k] - row[k - 1] for row in values]
        assert increase[:, k].tolist() == expected
    assert (steps.increase[steps.paired] >= 0).all()


@given(COUNTERS)
def test_parts_of_different_instruments_restart_apart(series: list[Samples]) -> None:
    """Series that share no process are differenced as if each were alone."""
    block = block_of(series)
    alone = counter_steps(block)
    numbered = counter_steps(block, instrument=np.arange(len(series), dtype=np.int64))
    assert np.array_equal(alone.increase, numbered.increase, equal_nan=True)
    assert np.array_equal(alone.reset, numbered.reset)


def test_a_minute_without_a_pair_is_unknown() -> None:
    """The first sample ever says nothing about an increase: unknown, not zero."""
    cells = cells_of([[(5.0, 100.0)]])
    assert plain(cells) == {(0, 0): Cell(samples=1, first_at=5.0, last_at=5.0)}
    assert isnan(cells.increase[0])


def test_no_samples_are_no_cells() -> None:
    """An empty slice gives empty arrays of the right kinds."""
    cells = cells_of([])
    assert all(array.size == 0 for array in vars(cells).values())
    assert cells.minute.dtype == cells.samples.dtype == np.int64


@given(GAUGES, st.integers(0, 2000))
def test_gauge_cells_follow_their_samples(series: list[Samples], since: int) -> None:
    """Sum, extremes and last value of a minute are those of its samples, and nothing else."""
    expected: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for number, samples in enumerate(series):
        for t, value in samples:
            if t >= since:
                expected[number, int(t // MINUTE_S) * MINUTE_S].append((t, value))
    assert _gauges(gauge_cells(block_of(series, since=since))) == {
        key: (
            len(found),
            sum(value for _, value in found),
            min(value for _, value in found),
            max(value for _, value in found),
            found[-1][1],
            found[-1][0],
        )
        for key, found in expected.items()
    }


def _gauges(cells: GaugeCells) -> dict[tuple[int, int], tuple[float, ...]]:
    keys = zip(cells.series.tolist(), cells.minute.tolist(), strict=True)
    names = ("samples", "value_sum", "value_min", "value_max", "value_last", "last_at")
    return {key: tuple(getattr(cells, n)[i].item() for n in names) for i, key in enumerate(keys)}


@pytest.mark.parametrize("case", CASES["counter_increase"], ids=lambda case: case["id"])
def test_worked_increases(case: dict[str, dict[str, object]]) -> None:
    """The worked example: steps up, one restart, the value after it whole."""
    block = block_of([[(float(t), float(v)) for t, v in case["inputs"]["samples"]]])  # type: ignore[attr-defined]
    steps = counter_steps(block)
    assert steps.increase[steps.paired].sum() == case["expected"]["raw_increase"]
    assert steps.reset.sum() == case["expected"]["resets"]


@pytest.mark.parametrize("case", CASES["scrape_coverage"], ids=lambda case: case["id"])
def test_worked_coverage(case: dict[str, dict[str, object]]) -> None:
    """The worked example: scrapes seen, the largest gap, and no second of it observed."""
    times: list[float] = case["inputs"]["sample_times"]  # type: ignore[assignment]
    cells = plain(cells_of([[(float(t), 1.0) for t in times]]))
    assert sum(cell.samples for cell in cells.values()) == case["expected"]["observed_samples"]
    gap = max(cell.largest_gap_s or 0.0 for cell in cells.values())
    assert gap == case["expected"]["max_gap_s"]
    observed = sum(cell.covered_s for cell in cells.values())
    assert observed == times[-1] - times[0] - gap
