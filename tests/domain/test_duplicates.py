"""Duplicates: one process under two addresses, and never two processes."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.domain.duplicates import Samples, are_one_engine, is_same_counter

INTERVAL_S = 15.0


def samples(times: list[float], values: list[float]) -> Samples:
    return np.array(times), np.array(values, dtype=float)


def rising(steps: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    return st.lists(steps, min_size=1, max_size=12).map(lambda found: list(accumulate(found)))


@st.composite
def any_series(draw: st.DrawFn, offset: int) -> Samples:
    times = draw(rising(st.integers(1, 40)))
    values = draw(st.lists(st.integers(0, 20), min_size=len(times), max_size=len(times)))
    return samples([2.0 * t + offset for t in times], [float(v) for v in values])


@given(any_series(0), any_series(1))
def test_the_order_of_two_addresses_is_irrelevant(a: Samples, b: Samples) -> None:
    """The verdict is about the pair: asked either way round it is the same."""
    assert is_same_counter(a, b) is is_same_counter(b, a)
    assert are_one_engine([(a, b)]) is are_one_engine([(b, a)])


def test_scrapes_of_one_instant_have_no_order() -> None:
    """Two scrapes with one time stamp give the same verdict either way round."""
    times = [0.0, 15.0, 30.0]
    a, b = samples(times, [5.0, 7.0, 9.0]), samples(times, [6.0, 8.0, 11.0])
    assert is_same_counter(a, b) is is_same_counter(b, a)


@given(
    st.lists(st.integers(0, 50), min_size=40, max_size=40),
    st.integers(1, 14),
    st.none() | st.integers(4, 36),
)
def test_two_scrapes_of_one_process_are_never_two(
    steps: list[int], offset: int, restart: int | None
) -> None:
    """A counter read at two rhythms, a restart among them, is never called two counters."""
    values = [float(v + 10_000) for v in accumulate(steps)]
    if restart is not None:
        values[restart:] = [v - values[restart] for v in values[restart:]]
    at = [INTERVAL_S * k + (offset if k % 2 else 0) for k in range(40)]
    a, b = samples(at[::2], values[::2]), samples(at[1::2], values[1::2])
    assert is_same_counter(a, b) is not False
    if any(values):
        assert is_same_counter(a, b) is True


@given(st.integers(1, 100), st.integers(1, 14))
def test_processes_that_overtake_each_other_are_two(rate: int, offset: int) -> None:
    """A counter that is ahead and one that is behind cannot be one."""
    times = [INTERVAL_S * k for k in range(10)]
    a = samples(times, [1000.0 + rate * k for k in range(10)])
    b = samples([t + offset for t in times], [1.0 + rate * k for k in range(10)])
    assert is_same_counter(a, b) is False


def test_nothing_to_tell_is_unknown() -> None:
    """Zeros, no overlap, or no samples leave the question open."""
    times = [0.0, 15.0, 30.0]
    zeros, some = samples(times, [0.0] * 3), samples(times, [1.0, 2.0, 3.0])
    late = samples([1000.0, 1015.0], [1.0, 2.0])
    none = samples([], [])
    assert is_same_counter(zeros, samples([7.0, 22.0, 37.0], [0.0] * 3)) is None
    assert is_same_counter(some, late) is None
    assert is_same_counter(some, none) is is_same_counter(none, some) is None
    assert are_one_engine([]) is are_one_engine([(some, late)]) is None


def test_one_counter_that_differs_is_enough() -> None:
    """Two targets are one engine only when every counter that tells says so."""
    times, later = [0.0, 15.0, 30.0], [7.0, 22.0, 37.0]
    same = (samples(times, [1.0, 3.0, 5.0]), samples(later, [2.0, 4.0, 6.0]))
    other = (samples(times, [1.0, 3.0, 5.0]), samples(later, [100.0, 101.0, 102.0]))
    open_question = (samples(times, [0.0] * 3), samples(later, [0.0] * 3))
    assert are_one_engine([same, open_question]) is True
    assert are_one_engine([same, other]) is False
