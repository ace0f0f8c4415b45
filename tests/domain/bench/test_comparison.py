"""Ratios and intervals of OFF against ON say what they vary over, and no more."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bench.comparison import (
    Basis,
    Estimate,
    Overhead,
    Speed,
    over_runs,
    overhead,
    ratio_of_medians,
    speed,
    within_run_interval,
    within_run_median_interval,
)
from core.domain.statistics.sums import Interval

TIMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@given(TIMES, TIMES)
def test_swapping_the_sides_turns_the_ratio_over(off: list[float], on: list[float]) -> None:
    """OFF over ON is one over ON over OFF, and order inside a side is nothing."""
    found, other = ratio_of_medians(off, on), ratio_of_medians(on[::-1], off[::-1])
    assert found is not None
    assert other is not None
    assert found.ratio == pytest.approx(1 / other.ratio)


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [1.0, float("nan")], [float("inf")]])
def test_there_is_no_ratio_of_what_is_no_time(bad: list[float]) -> None:
    """A missing or failed side gives no ratio, never 0."""
    assert ratio_of_medians(bad, [1.0]) is None
    assert ratio_of_medians([1.0], bad) is None
    assert within_run_interval(bad * 9, [1.0] * 9, wave=2, rng=rng()) is None


def test_the_interval_within_runs_holds_the_ratio_and_repeats() -> None:
    """The same seed gives the same interval."""
    draw = np.random.default_rng(1)
    off, on = draw.lognormal(1, 0.3, 60).tolist(), draw.lognormal(0.3, 0.3, 60).tolist()
    limits = within_run_interval(off, on, wave=4, rng=rng())
    found = ratio_of_medians(off, on)
    assert limits is not None
    assert found is not None
    assert 1 < limits.lower < found.ratio < limits.upper
    assert within_run_interval(off, on, wave=4, rng=rng()) == limits


def test_waves_widen_the_interval() -> None:
    """Requests that are alike inside a wave are worth less than as many independent ones."""
    off = np.repeat(np.random.default_rng(2).lognormal(0, 0.5, 20), 8).tolist()
    on = np.repeat(np.random.default_rng(3).lognormal(0, 0.5, 20), 8).tolist()
    single = within_run_interval(off, on, wave=1, rng=rng())
    waves = within_run_interval(off, on, wave=8, rng=rng())
    assert single is not None
    assert waves is not None
    assert log(waves.upper / waves.lower) > 1.5 * log(single.upper / single.lower)


def test_one_wave_has_no_interval() -> None:
    """Nothing repeats in it."""
    assert within_run_interval([1.0] * 8, [1.0] * 30, wave=8, rng=rng()) is None
    assert within_run_median_interval([1.0] * 8, wave=8, rng=rng()) is None


def test_the_interval_over_runs_covers_as_stated() -> None:
    """95 of 100 intervals of five pairs hold the true ratio, give or take the draw."""
    draw = np.random.default_rng(11)
    held = 0
    for _ in range(2000):
        found = over_runs(np.exp(draw.normal(np.log(1.9), 0.1, 5)).tolist())
        assert found is not None
        assert found.interval is not None
        held += found.interval.lower <= 1.9 <= found.interval.upper
    assert 0.935 < held / 2000 < 0.965


@pytest.mark.parametrize("bad", [[], [0.0], [1.0, -1.0], [1.0, float("nan")]])
def test_no_figure_over_runs_of_what_is_none(bad: list[float]) -> None:
    """Nothing, a zero or less, or no number."""
    assert over_runs(bad) is None


def test_a_single_run_has_a_figure_and_no_interval() -> None:
    """Nor does anything tell between what it would lie."""
    assert over_runs([1.9]) == Estimate(1.9, None, None, 1)


def of(lower: float, upper: float, *, runs: int = 3, basis: Basis = Basis.RUNS) -> Estimate:
    return Estimate((lower * upper) ** 0.5, Interval(lower, upper), basis, runs)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (of(1.1, 2.0), Speed.FASTER),
        (of(0.5, 0.9), Speed.SLOWER),
        (of(0.9, 1.2), Speed.NOT_TOLD_APART),
        (of(1.1, 2.0, runs=2), None),
        (of(1.1, 2.0, basis=Basis.WITHIN_RUN), None),
        (Estimate(2.0, None, None, 1), None),
        (None, None),
    ],
)
def test_speed_is_judged_over_three_runs_at_least(
    ratio: Estimate | None, expected: Speed | None
) -> None:
    """An interval inside one run carries no verdict, however narrow."""
    assert speed(ratio) is expected


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (of(0.96, 1.04), Overhead.WITHIN_LIMITS),
        (of(0.80, 0.94), Overhead.BEYOND_LIMITS),
        (of(1.06, 1.20), Overhead.BEYOND_LIMITS),
        (of(0.80, 1.20), Overhead.OPEN),
        (of(0.96, 1.04, runs=2), None),
    ],
)
def test_overhead_is_judged_by_limits(ratio: Estimate, expected: Overhead | None) -> None:
    """Inside them, beyond them, or open: a wide interval shows neither."""
    assert overhead(ratio) is expected
