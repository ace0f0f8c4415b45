"""Preemption windows of an engine, and what a request was exposed to.

`num_preemptions` counts events of an engine, never requests. Time is cut into windows
of equal length that lie side by side, counted from the epoch, each named by its end: a
window looks back over its own length. Its state is

| state | when |
|---|---|
| 1 | an increase between neighbouring samples at most two scrape intervals apart |
| unknown | else: not read to its end, no series, one sample, a gap, too little coverage |
| 0 | else |

A gap is a distance of more than two scrape intervals between neighbouring samples; it
touches every window it reaches into. Coverage is the number of samples over the number
that the scrape interval promises. An increase belongs to the minute of its later
sample, as in the cells: one at the very start of a window may have happened up to two
scrape intervals before it. `queries/macros/preempt.sql` holds the same rule for many
engines at once, with the numbers of `Rule` as its parameters.

A state of 1 says that the engine preempted something in the window. It says nothing
about any one request.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import expm1
from typing import NamedTuple

from core.domain.counters import GAP_INTERVALS, JITTER

MINUTE_S = 60
WINDOW_S = 300
LEAST_OFFSET_S = 1.0
"""Clocks are never trusted to agree better than this."""


@dataclass(frozen=True)
class Rule:
    """Numbers behind the state of a window.

    Parameters
    ----------
    window_s : int
        Length of a window in seconds, whole minutes.
    fewest : int
        Samples that a 0 needs.
    coverage : float
        Share of the expected samples that a 0 needs.
    gap_intervals : float
        Scrape intervals beyond which two neighbouring samples leave a gap.
    """

    window_s: int = WINDOW_S
    fewest: int = 2
    coverage: float = 0.9
    gap_intervals: float = GAP_INTERVALS + JITTER


DEFAULT = Rule()


class Preempt(StrEnum):
    """State of a window, or exposure of a request."""

    ONE = "1"
    ZERO = "0"
    UNKNOWN = "unknown"


class Unsure(StrEnum):
    """Why a window has no state."""

    NOT_OVER = "not_over"
    NO_SERIES = "no_series"
    FEW_SAMPLES = "few_samples"
    GAP = "gap"
    COVERAGE = "coverage"


@dataclass(frozen=True)
class PreemptCell:
    """Minute cell of one engine's `num_preemptions`.

    Parameters
    ----------
    minute : int
        Its start, seconds since the epoch.
    increase, gap_increase : float or None
        Events between neighbouring samples, and the part of them seen across a gap of
        more than two scrape intervals; None where the minute holds no pair.
    samples : int
        Scrapes in the minute.
    largest_gap_s : float or None
        Longest distance between two neighbouring samples that ends in the minute.
    first_at, last_at : float
        Its first and last sample, seconds since the epoch.
    """

    minute: int
    increase: float | None
    gap_increase: float | None
    samples: int
    largest_gap_s: float | None
    first_at: float
    last_at: float

    @property
    def timed(self) -> bool:
        """Whether an event is known to lie between two close samples.

        >>> PreemptCell(0, 3.0, 1.0, 4, 60.0, 0.0, 45.0).timed
        True
        >>> PreemptCell(0, 3.0, 3.0, 4, 60.0, 0.0, 45.0).timed
        False
        """
        if self.increase is None or self.gap_increase is None:
            return False
        return self.increase - self.gap_increase > 0


@dataclass(frozen=True)
class PreemptWindow:
    """One window: [start, end), its state, and for unknown the reason."""

    start: int
    end: int
    state: Preempt
    why: Unsure | None = None


def preempt_windows(
    cells: Iterable[PreemptCell],
    *,
    start: float,
    end: float,
    interval_s: float | None,
    read_to: float | None = None,
    rule: Rule = DEFAULT,
) -> tuple[PreemptWindow, ...]:
    """States of all windows that touch [start, end], of one engine.

    Parameters
    ----------
    cells : iterable of PreemptCell
        Minute cells of one engine, in any order; those of the whole windows, and those
        after them in which a gap may end.
    start, end : float
        Seconds since the epoch.
    interval_s : float or None
        Scrape interval of the engine; None: nobody knows how many samples to expect.
    read_to : float or None
        Until when samples are there, seconds since the epoch: what ends later may still
        turn out 1. None where nobody says.

    Unknown when
    ------------
    See the table of the module.

    >>> cells = [PreemptCell(60 * i, 0.0, 0.0, 4, 15.0, 60 * i, 60 * i + 45) for i in range(10)]
    >>> [str(w.state) for w in preempt_windows(cells, start=10, end=310, interval_s=15)]
    ['0', '0']
    >>> [str(w.state) for w in preempt_windows(cells[:5], start=10, end=310, interval_s=15)]
    ['0', 'unknown']
    """
    known = sorted(cells, key=lambda cell: (cell.minute, cell.first_at))
    size = rule.window_s
    found = []
    for begin in range(int(start // size) * size, int(end) + 1, size):
        low, high = (bisect_left(known, t, key=lambda c: c.minute) for t in (begin, begin + size))
        mine, later = known[low:high], known[high] if high < len(known) else None
        found.append(_window(begin, mine, later, interval_s, read_to, rule))
    return tuple(found)


def _window(
    start: int,
    mine: Sequence[PreemptCell],
    later: PreemptCell | None,
    interval_s: float | None,
    read_to: float | None,
    rule: Rule,
) -> PreemptWindow:
    end = start + rule.window_s
    if any(cell.timed for cell in mine):
        return PreemptWindow(start, end, Preempt.ONE)
    if read_to is not None and read_to < end:
        return PreemptWindow(start, end, Preempt.UNKNOWN, Unsure.NOT_OVER)
    why = _unsure(mine, later, interval_s, rule)
    return PreemptWindow(start, end, Preempt.ZERO if why is None else Preempt.UNKNOWN, why)


def _unsure(
    mine: Sequence[PreemptCell],
    later: PreemptCell | None,
    interval_s: float | None,
    rule: Rule,
) -> Unsure | None:
    if not mine:
        return Unsure.NO_SERIES
    samples = sum(cell.samples for cell in mine)
    if samples < rule.fewest:
        return Unsure.FEW_SAMPLES
    if interval_s is None:
        return Unsure.COVERAGE
    apart = [cell.largest_gap_s for cell in mine if cell.largest_gap_s is not None]
    if later is not None:
        apart.append(later.first_at - max(cell.last_at for cell in mine))
    if max(apart, default=interval_s) > rule.gap_intervals * interval_s:
        return Unsure.GAP
    short = samples * interval_s < rule.coverage * rule.window_s
    return Unsure.COVERAGE if short else None


def joined(states: Iterable[Preempt]) -> Preempt:
    """One state of several: 1 if any is 1, else unknown if any is or there are none, else 0.

    >>> str(joined([Preempt.ZERO, Preempt.UNKNOWN])), str(joined([]))
    ('unknown', 'unknown')
    """
    found = set(states)
    if Preempt.ONE in found:
        return Preempt.ONE
    return Preempt.UNKNOWN if Preempt.UNKNOWN in found or not found else Preempt.ZERO


def tolerance_s(offsets_s: Iterable[float | None], interval_s: float | None) -> float:
    """By how much a request is widened on both sides before it is laid over windows.

    Parameters
    ----------
    offsets_s : iterable of float or None
        Measured clock differences of the sources against one clock; None: not measured.
    interval_s : float or None
        Scrape interval: the edges of windows are known no better than to one scrape.

    >>> tolerance_s([0.4, -2.0, None], 15.0), tolerance_s([], None)
    (17.4, 1.0)
    """
    offset = max(LEAST_OFFSET_S, sum(abs(one) for one in offsets_s if one is not None))
    return offset if interval_s is None else offset + interval_s


def exposure(
    windows: Iterable[PreemptWindow], start: float, end: float | None, *, tolerance: float = 0.0
) -> Preempt:
    """What a request from `start` to `end` was exposed to on one engine.

    Parameters
    ----------
    windows : iterable of PreemptWindow
        Windows of one engine, in any order, none over another.
    end : float or None
        None for a request without an end: some of it lies in no window.
    tolerance : float
        Seconds by which the request is widened on both sides.

    Returns
    -------
    Preempt
        1 if any window it overlaps is 1; else unknown if any of them is unknown or any
        part of the request lies in no window; else 0.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> [str(exposure([zero], 10, end)) for end in (20, 310, None)]
    ['0', 'unknown', 'unknown']
    """
    touched = touching(windows, start, end, tolerance=tolerance)
    state = joined(one.state for one in touched)
    whole = end is not None and _covers(touched, start - tolerance, end + tolerance)
    return Preempt.UNKNOWN if state is Preempt.ZERO and not whole else state


def _covers(windows: Sequence[PreemptWindow], start: float, end: float) -> bool:
    """Whether windows, sorted, hold every moment from start to end."""
    reached = start
    for one in windows:
        if one.start > reached:
            return False
        reached = max(reached, one.end)
    return bool(windows) and reached >= end


def touching(
    windows: Iterable[PreemptWindow], start: float, end: float | None, *, tolerance: float = 0.0
) -> list[PreemptWindow]:
    """Windows that a request overlaps, by start; of one without an end, the one it began in.

    A window that only touches is not overlapped.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> [len(touching([zero], t, 400.0)) for t in (299.0, 300.0)]
    [1, 0]
    >>> len(touching([zero], 300.0, 400.0, tolerance=1.0))
    1
    """
    low, high = start - tolerance, (start if end is None else end) + tolerance
    found = [
        one for one in windows if one.end > low and (one.start < high or one.start <= low == high)
    ]
    return sorted(found, key=lambda one: one.start)


def is_retrospective(
    windows: Iterable[PreemptWindow], start: float, end: float | None, *, tolerance: float = 0.0
) -> bool:
    """Whether a window the request overlaps reaches past its end: it tells of time after it.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> is_retrospective([zero], 10.0, 299.0), is_retrospective([zero], 10.0, None)
    (True, False)
    """
    touched = touching(windows, start, end, tolerance=tolerance)
    return end is not None and any(one.end > end for one in touched)


class EventsInOverlap(NamedTuple):
    """What the windows of known increase say about the time of a request.

    Parameters
    ----------
    covered_share : float
        Share of the widened request that lies in windows of known increase.
    expected : float
        Events expected in that share at least, at an even rate inside each window.
    any_probability : float
        Probability of one event or more, if they come at random at that rate.
    """

    covered_share: float
    expected: float
    any_probability: float


def events_in_overlap(
    increases: Iterable[tuple[PreemptWindow, float | None]],
    start: float,
    end: float,
    *,
    tolerance: float = 0.0,
) -> EventsInOverlap | None:
    """Events of the engine while a request ran: a magnitude, never a count of the request's.

    Parameters
    ----------
    increases : iterable of (PreemptWindow, float or None)
        Windows of one engine, none over another, and the events in each; None: not known,
        and then that time is not covered.
    tolerance : float
        Seconds by which the request is widened on both sides.

    Unknown when
    ------------
    The widened request has no length (None). Where `covered_share` is below 1 the numbers
    are at least what happened.

    >>> window = PreemptWindow(0, 60, Preempt.ONE)
    >>> events_in_overlap([(window, 3.0)], 50.0, 70.0)
    EventsInOverlap(covered_share=0.5, expected=0.5, any_probability=0.393...)
    """
    low, high = start - tolerance, end + tolerance
    if not high > low:
        return None
    shared = [
        (max(0.0, min(high, one.end) - max(low, one.start)), events / (one.end - one.start))
        for one, events in increases
        if events is not None
    ]
    expected = sum(seconds * rate for seconds, rate in shared)
    covered = sum(seconds for seconds, _ in shared) / (high - low)
    return EventsInOverlap(covered, expected, -expm1(-expected))
