"""Counters: exact increases between neighbouring samples, kept as minute cells.

A counter's increase is taken per series between two neighbouring samples. A
fall is a restart, and the increase is then the new value. A series born while
its target was being scraped has a sample of value 0 at the scrape before.
Nothing is extrapolated and nothing is interpolated.

All functions work on the samples of many series at once, because a scrape of a
fleet has thousands of them.
"""

from dataclasses import dataclass

import numpy as np

from core.domain.records import Bools, Floats, Ints

MINUTE_S = 60
GAP_INTERVALS = 2
"""Scrapes further apart than this many intervals leave a gap between them."""
JITTER = 0.05
"""Share of one interval that scrape times may wander."""


@dataclass(frozen=True)
class SampleBlock:
    """Samples of many series, ordered by series, then time.

    Parameters
    ----------
    series : int array, shape (n,)
        Index of the series of each sample, rising from 0.
    time : float array, shape (n,)
        Seconds since the epoch.
    value : float array, shape (n,)
        Finite counter or gauge values.
    counted : bool array, shape (n,)
        False for a sample that only lends itself as the earlier half of a pair: it
        belongs to another slice, or it is the 0 a series was born with.
    """

    series: Ints
    time: Floats
    value: Floats
    counted: Bools


@dataclass(frozen=True)
class Steps:
    """What happened between each sample and the one before it in its series.

    All arrays have one entry per sample of the block; `paired` is False for the
    first sample of a series, and the other fields are then meaningless.
    """

    paired: Bools
    increase: Floats
    gap_s: Floats
    reset: Bools


def counter_steps(block: SampleBlock, *, instrument: Ints | None = None) -> Steps:
    """Difference neighbouring samples of every series.

    Parameters
    ----------
    block : SampleBlock
        Counter samples.
    instrument : int array, shape (number of series,), optional
        Series of one instrument (the buckets, count and sum of one histogram)
        share a number. A fall in one of them is a restart of all of them at
        that scrape, since they live in one process: without this a bucket that
        grew past its old value would hide its own restart.

    Returns
    -------
    Steps
        Increases are never negative.

    Source
    ------
    The rule of Prometheus' own `rate`, without its extrapolation.

    >>> time, value = np.array([0., 15, 30, 45]), np.array([10., 12, 1, 4])
    >>> block = SampleBlock(np.zeros(4, int), time, value, np.ones(4, bool))
    >>> steps = counter_steps(block)
    >>> float(steps.increase[steps.paired].sum()), int(steps.reset.sum())
    (6.0, 1)
    """
    paired = np.zeros(block.series.size, dtype=bool)
    paired[1:] = block.series[1:] == block.series[:-1]
    step = np.diff(block.value, prepend=np.nan)
    gap = np.diff(block.time, prepend=np.nan)
    reset = paired & (step < 0)
    if instrument is not None and reset.any():
        reset |= paired & _same_scrape(block, instrument, reset)
    return Steps(paired, np.where(reset, block.value, step), gap, reset)


def begin_anew(block: SampleBlock, steps: Steps, *, since: Floats) -> Steps:
    """Count the whole value of samples with which a series began.

    Parameters
    ----------
    since : float array, shape (n,)
        For such a sample the time of the scrape before it, which did not show the
        series; NaN for all others.

    Returns
    -------
    Steps
        The series began at 0 at that scrape. Where it had been there before, this
        is a restart, also if it has grown past its old value.

    >>> time, value = np.array([0., 15, 60]), np.array([10., 12, 13])
    >>> block = SampleBlock(np.zeros(3, int), time, value, np.ones(3, bool))
    >>> steps = begin_anew(block, counter_steps(block), since=np.array([np.nan, np.nan, 45]))
    >>> steps.increase[1:].tolist(), steps.gap_s[1:].tolist(), steps.reset.tolist()
    ([2.0, 13.0], [15.0, 15.0], [False, False, True])
    """
    begun = ~np.isnan(since)
    return Steps(
        steps.paired | begun,
        np.where(begun, block.value, steps.increase),
        np.where(begun, block.time - since, steps.gap_s),
        steps.reset | (begun & steps.paired),
    )


def _same_scrape(block: SampleBlock, instrument: Ints, reset: Bools) -> Bools:
    """Samples of the same instrument and time as any sample in `reset`."""
    group = instrument[block.series]
    fell = {(int(g), float(t)) for g, t in zip(group[reset], block.time[reset], strict=True)}
    suspect = np.isin(block.time, block.time[reset])
    for i in np.flatnonzero(suspect):
        suspect[i] = (int(group[i]), float(block.time[i])) in fell
    return suspect


@dataclass(frozen=True)
class CounterCells:
    """One entry per series and minute that holds a sample.

    `increase` is NaN where the minute holds no pair, so that unknown stays
    unknown; every other field adds up over minutes (`largest_gap_s` by maximum).
    `gap_increase` is the part of `increase` that was seen across a gap: it is
    exact in total, but nobody knows when in the gap it happened.
    """

    series: Ints
    minute: Ints
    increase: Floats
    gap_increase: Floats
    samples: Ints
    resets: Ints
    covered_s: Floats
    largest_gap_s: Floats
    first_at: Floats
    last_at: Floats


def largest_covered_gap(scrape_interval_s: Floats) -> Floats:
    """Longest distance of two scrapes that still counts as observed, in seconds.

    >>> round(float(largest_covered_gap(np.array([15.0]))[0]), 2)
    30.75
    """
    return scrape_interval_s * (GAP_INTERVALS + JITTER)


def counter_cells(block: SampleBlock, steps: Steps, *, scrape_interval_s: Floats) -> CounterCells:
    """Sum steps into minute cells; a step belongs to the minute of its later sample.

    Parameters
    ----------
    scrape_interval_s : float array, shape (number of series,)
        Scrape interval of the target of each series, seconds.

    >>> times, values = np.array([50., 65, 110, 130]), np.array([1., 2, 9, 9])
    >>> block = SampleBlock(np.zeros(4, int), times, values, times >= 60)
    >>> cells = counter_cells(block, counter_steps(block), scrape_interval_s=np.array([15.0]))
    >>> cells.minute.tolist(), cells.increase.tolist(), cells.gap_increase.tolist()
    ([60, 120], [8.0, 0.0], [7.0, 0.0])
    >>> cells.covered_s.tolist()
    [15.0, 20.0]
    """
    keep = block.counted
    series, time = block.series[keep], block.time[keep]
    paired, gap, increase = steps.paired[keep], steps.gap_s[keep], steps.increase[keep]
    minute = (time // MINUTE_S).astype(np.int64) * MINUTE_S
    first = cell_starts(series, minute)
    if not first.size:
        return CounterCells(*(np.zeros(0, dtype=kind) for kind in "qqddqqdddd"))
    across_gap = paired & (gap > largest_covered_gap(scrape_interval_s)[series])

    def total(values: Floats, where: Bools) -> Floats:
        sums: Floats = np.add.reduceat(np.where(where, values, 0.0), first)
        return sums

    pairs = np.add.reduceat(paired.astype(np.int64), first)
    return CounterCells(
        series=series[first],
        minute=minute[first],
        increase=np.where(pairs > 0, total(increase, paired), np.nan),
        gap_increase=np.where(pairs > 0, total(increase, across_gap), np.nan),
        samples=np.add.reduceat(np.ones(series.size, dtype=np.int64), first),
        resets=np.add.reduceat(steps.reset[keep].astype(np.int64), first),
        covered_s=total(gap, paired & ~across_gap),
        largest_gap_s=np.where(
            pairs > 0, np.maximum.reduceat(np.where(paired, gap, -np.inf), first), np.nan
        ),
        first_at=time[first],
        last_at=time[np.append(first[1:], series.size) - 1],
    )


def sum_cells(cells: CounterCells, group: Ints) -> CounterCells:
    """Add up the cells of series into which one process splits a counter.

    Parameters
    ----------
    group : int array, shape (number of series,)
        Group of each series; the result has one cell per group and minute.

    Notes
    -----
    Increases add up. Scrapes, resets and covered seconds do not: one scrape reads
    all series of a process, so those of the best observed series stand for all.

    >>> times, values = np.array([0., 15, 0, 15]), np.array([1., 3, 10, 15])
    >>> block = SampleBlock(np.array([0, 0, 1, 1]), times, values, np.ones(4, bool))
    >>> cells = counter_cells(block, counter_steps(block), scrape_interval_s=np.full(2, 15.0))
    >>> summed = sum_cells(cells, np.array([0, 0]))
    >>> summed.increase.tolist(), summed.samples.tolist(), summed.covered_s.tolist()
    ([7.0], [2], [15.0])
    """
    if not cells.series.size:
        return cells
    of = group[cells.series]
    order = np.lexsort((cells.minute, of))
    first = cell_starts(of[order], cells.minute[order])

    def total(values: Floats) -> Floats:
        known = ~np.isnan(values[order])
        sums = np.add.reduceat(np.where(known, values[order], 0.0), first)
        return np.where(np.logical_or.reduceat(known, first), sums, np.nan)

    return CounterCells(
        series=of[order][first],
        minute=cells.minute[order][first],
        increase=total(cells.increase),
        gap_increase=total(cells.gap_increase),
        samples=np.maximum.reduceat(cells.samples[order], first),
        resets=np.maximum.reduceat(cells.resets[order], first),
        covered_s=np.maximum.reduceat(cells.covered_s[order], first),
        largest_gap_s=np.fmax.reduceat(cells.largest_gap_s[order], first),
        first_at=np.minimum.reduceat(cells.first_at[order], first),
        last_at=np.maximum.reduceat(cells.last_at[order], first),
    )


def cell_starts(series: Ints, minute: Ints) -> Ints:
    """Indices at which a new (series, minute) group begins."""
    if not series.size:
        return np.zeros(0, dtype=np.int64)
    new = np.ones(series.size, dtype=bool)
    new[1:] = (series[1:] != series[:-1]) | (minute[1:] != minute[:-1])
    return np.flatnonzero(new)


@dataclass(frozen=True)
class GaugeCells:
    """One entry per series and minute: sums that merge into means, and extremes."""

    series: Ints
    minute: Ints
    samples: Ints
    value_sum: Floats
    value_min: Floats
    value_max: Floats
    value_last: Floats
    last_at: Floats


def gauge_cells(block: SampleBlock) -> GaugeCells:
    """Sum gauge samples into minute cells.

    >>> time, value = np.array([0., 15, 60]), np.array([.2, .4, .9])
    >>> cells = gauge_cells(SampleBlock(np.zeros(3, int), time, value, np.ones(3, bool)))
    >>> cells.samples.tolist(), cells.value_max.tolist()
    ([2, 1], [0.4, 0.9])
    """
    keep = block.counted
    series, time, value = block.series[keep], block.time[keep], block.value[keep]
    minute = (time // MINUTE_S).astype(np.int64) * MINUTE_S
    first = cell_starts(series, minute)
    if not first.size:
        return GaugeCells(*(np.zeros(0, dtype=kind) for kind in "qqqddddd"))
    last = np.append(first[1:], series.size) - 1
    return GaugeCells(
        series=series[first],
        minute=minute[first],
        samples=np.add.reduceat(np.ones(series.size, dtype=np.int64), first),
        value_sum=np.add.reduceat(value, first),
        value_min=np.minimum.reduceat(value, first),
        value_max=np.maximum.reduceat(value, first),
        value_last=value[last],
        last_at=time[last],
    )
