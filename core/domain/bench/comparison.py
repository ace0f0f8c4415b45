"""OFF against ON: ratios of medians, and intervals that say what they vary over.

A run is what repeats. From one run per side an interval shows the variation inside the two
runs alone, and carries no verdict.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import ceil, exp, isfinite, log
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from core.domain.records import Floats
from core.domain.statistics.sums import Interval

FEWEST_PAIRS = 3
"""Pairs of runs below which there is no speed verdict."""
RESAMPLES = 1999
CONFIDENCE = 0.95
EQUIVALENT = Interval(0.95, 1.05)
"""Ratios OFF over ON inside which nothing shared counts as nothing lost."""


class Basis(StrEnum):
    """What an interval varies over."""

    RUNS = "runs"
    WITHIN_RUN = "within_run"


class Estimate(NamedTuple):
    """A figure with its interval, if one can be given, and of how many runs (or pairs)."""

    value: float
    interval: Interval | None
    basis: Basis | None
    runs: int


class MedianRatio(NamedTuple):
    """Medians of both sides in their unit, and OFF over ON: above 1, ON is faster."""

    median_off: float
    median_on: float
    ratio: float


class Speed(StrEnum):
    """What an interval over runs says of ON."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_TOLD_APART = "not_told_apart"


class Overhead(StrEnum):
    """What it says where nothing is shared, against the limits of equivalence."""

    WITHIN_LIMITS = "within_limits"
    BEYOND_LIMITS = "beyond_limits"
    OPEN = "open"


def ratio_of_medians(off: Sequence[float], on: Sequence[float]) -> MedianRatio | None:
    """Median OFF over median ON.

    Unknown when
    ------------
    A side is empty or holds a value that is no positive time.

    >>> ratio_of_medians([2.0, 4.0, 3.0], [1.5])
    MedianRatio(median_off=3.0, median_on=1.5, ratio=2.0)
    >>> ratio_of_medians([0.0], [0.0]) is None
    True
    """
    if not off or not on or not all(isfinite(v) and v > 0 for v in (*off, *on)):
        return None
    median_off, median_on = float(np.median(off)), float(np.median(on))
    return MedianRatio(median_off, median_on, median_off / median_on)


def within_run_interval(
    off: Sequence[float],
    on: Sequence[float],
    *,
    wave: int,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Percentile bootstrap of the ratio of medians of two runs: no run-to-run variation.

    Parameters
    ----------
    off, on : sequence of float
        Times of the requests in the order they started.
    wave : int
        Requests that are drawn together: those of one wave wait for each other.

    Unknown when
    ------------
    A side has no more than one wave, or no ratio.

    Source
    ------
    Künsch (1989), Annals of Statistics 17, 1217-1241: blocks, here in a circle.
    """
    if ratio_of_medians(off, on) is None or min(len(off), len(on)) <= wave:
        return None
    drawn = _medians(off, wave, rng, resamples) / _medians(on, wave, rng, resamples)
    return _percentiles(drawn)


def within_run_median_interval(
    values: Sequence[float], *, wave: int, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval | None:
    """The same for the median of one run; None for no more than one wave."""
    if len(values) <= wave:
        return None
    return _percentiles(_medians(values, wave, rng, resamples))


def _medians(
    values: Sequence[float], wave: int, rng: np.random.Generator, resamples: int
) -> Floats:
    n = len(values)
    starts = rng.integers(n, size=(resamples, ceil(n / wave), 1))
    places = (starts + np.arange(wave)).reshape(resamples, -1)[:, :n] % n
    medians: Floats = np.median(np.asarray(values, dtype=float)[places], axis=1)
    return medians


def _percentiles(drawn: Floats) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(lower), float(upper))


def over_runs(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate | None:
    """Geometric mean of positive figures of runs, with a t interval on their logarithms.

    Unknown when
    ------------
    There is none, or one is not positive. A single one has no interval.

    >>> ratio = over_runs([1.92, 1.88, 1.97, 1.85, 1.95])
    >>> round(ratio.value, 4), [round(limit, 4) for limit in ratio.interval]
    (1.9135, [1.8531, 1.9758])
    """
    if not values or not all(isfinite(v) and v > 0 for v in values):
        return None
    logs = [log(value) for value in values]
    n, mean = len(logs), sum(logs) / len(logs)
    if n == 1:
        return Estimate(values[0], None, None, 1)
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2))
    half = quantile * float(np.std(logs, ddof=1)) / n**0.5
    return Estimate(exp(mean), Interval(exp(mean - half), exp(mean + half)), Basis.RUNS, n)


def speed(ratio: Estimate | None) -> Speed | None:
    """A verdict from an interval over at least three pairs of runs; else None.

    >>> speed(Estimate(1.9, Interval(1.8, 2.0), Basis.RUNS, 3))
    <Speed.FASTER: 'faster'>
    >>> speed(Estimate(1.9, Interval(1.8, 2.0), Basis.WITHIN_RUN, 1)) is None
    True
    """
    limits = _judged(ratio)
    if limits is None:
        return None
    if limits.lower > 1:
        return Speed.FASTER
    return Speed.SLOWER if limits.upper < 1 else Speed.NOT_TOLD_APART


def overhead(ratio: Estimate | None) -> Overhead | None:
    """Whether OFF over ON stays inside the limits of equivalence; None below three pairs.

    >>> overhead(Estimate(1.0, Interval(0.96, 1.04), Basis.RUNS, 3))
    <Overhead.WITHIN_LIMITS: 'within_limits'>
    """
    limits = _judged(ratio)
    if limits is None:
        return None
    if limits.lower >= EQUIVALENT.lower and limits.upper <= EQUIVALENT.upper:
        return Overhead.WITHIN_LIMITS
    outside = limits.upper < EQUIVALENT.lower or limits.lower > EQUIVALENT.upper
    return Overhead.BEYOND_LIMITS if outside else Overhead.OPEN


def _judged(ratio: Estimate | None) -> Interval | None:
    if ratio is None or ratio.basis is not Basis.RUNS or ratio.runs < FEWEST_PAIRS:
        return None
    return ratio.interval
