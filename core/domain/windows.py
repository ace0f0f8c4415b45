"""Preemption windows of an engine, and what a request was exposed to.

`num_preemptions` counts events of an engine, never requests. Time is cut into windows
of equal length that lie side by side, counted from the epoch, each named by its end: a
window looks back over its own length. Its state is

| state | when |
|---|---|
| 1 | an increase between neighbouring samples at most two scrape intervals apart |
| unknown | else: no series, fewer than three samples, a gap with an increase, not read yet |
| 0 | else |

An increase across a longer gap happened at some moment of the gap, so every window the
gap can reach is unknown by it. An increase belongs to the minute of its later sample,
as in the cells: one at the very start of a window may have happened up to two scrape
intervals before it.

A state of 1 says that the engine preempted something in the window. It says nothing
about any one request.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

MINUTE_S = 60
WINDOW_S = 300
FEWEST_SAMPLES = 3


class Preempt(StrEnum):
    """State of a window, or exposure of a request."""

    ONE = "1"
    ZERO = "0"
    UNKNOWN = "unknown"


class Unsure(StrEnum):
    """Why a window has no state."""

    NO_SERIES = "no_series"
    FEW_SAMPLES = "few_samples"
    GAP = "gap"
    NOT_OVER = "not_over"


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
    """

    minute: int
    increase: float | None
    gap_increase: float | None
    samples: int
    largest_gap_s: float | None

    @property
    def timed(self) -> bool:
        """Whether an event is known to lie between two close samples.

        >>> PreemptCell(0, 3.0, 1.0, 4, 60.0).timed, PreemptCell(0, 3.0, 3.0, 4, 60.0).timed
        (True, False)
        """
        if self.increase is None or self.gap_increase is None:
            return False
        return self.increase - self.gap_increase > 0

    @property
    def loose(self) -> tuple[float, float] | None:
        """Stretch in which an event across a gap may have happened; None without one."""
        if self.gap_increase is None or self.gap_increase <= 0 or self.largest_gap_s is None:
            return None
        return (self.minute - self.largest_gap_s, self.minute + MINUTE_S)


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
    read_to: float | None = None,
    window_s: int = WINDOW_S,
) -> tuple[PreemptWindow, ...]:
    """States of all windows that touch [start, end], of one engine.

    Parameters
    ----------
    cells : iterable of PreemptCell
        Minute cells of one engine, in any order; those of the whole windows, and those
        after them in which a gap may end.
    start, end : float
        Seconds since the epoch.
    read_to : float or None
        Until when samples are there, seconds since the epoch: what ends later may still
        turn out 1. None where nobody says.
    window_s : int
        Length of a window in seconds, whole minutes. It should hold several scrapes: a
        window with fewer than three samples is unknown.

    Unknown when
    ------------
    See the table of the module.

    >>> cells = [PreemptCell(60 * i, 0.0, 0.0, 4, 15.0) for i in range(10)]
    >>> [str(w.state) for w in preempt_windows(cells, start=10, end=310)]
    ['0', '0']
    >>> [str(w.state) for w in preempt_windows(cells[:5], start=10, end=310)]
    ['0', 'unknown']
    """
    known = list(cells)
    first = int(start // window_s) * window_s
    return tuple(
        _window(known, begin, begin + window_s, read_to)
        for begin in range(first, int(end) + 1, window_s)
    )


def _window(
    cells: Sequence[PreemptCell], start: int, end: int, read_to: float | None
) -> PreemptWindow:
    mine = [cell for cell in cells if start <= cell.minute < end]
    if any(cell.timed for cell in mine):
        return PreemptWindow(start, end, Preempt.ONE)
    why = _unsure(cells, mine, start, end)
    if why is None and read_to is not None and read_to < end:
        why = Unsure.NOT_OVER
    return PreemptWindow(start, end, Preempt.ZERO if why is None else Preempt.UNKNOWN, why)


def _unsure(
    cells: Sequence[PreemptCell], mine: Sequence[PreemptCell], start: int, end: int
) -> Unsure | None:
    if not mine:
        return Unsure.NO_SERIES
    loose = [stretch for cell in cells if (stretch := cell.loose) is not None]
    if any(low < end and high > start for low, high in loose):
        return Unsure.GAP
    few = sum(cell.samples for cell in mine) < FEWEST_SAMPLES
    return Unsure.FEW_SAMPLES if few else None


def joined(states: Iterable[Preempt]) -> Preempt:
    """One state of several: 1 if any is 1, else unknown if any is or there are none, else 0.

    >>> str(joined([Preempt.ZERO, Preempt.UNKNOWN])), str(joined([]))
    ('unknown', 'unknown')
    """
    found = set(states)
    if Preempt.ONE in found:
        return Preempt.ONE
    return Preempt.UNKNOWN if Preempt.UNKNOWN in found or not found else Preempt.ZERO


def exposure(windows: Iterable[PreemptWindow], start: float, end: float | None) -> Preempt:
    """What a request from `start` to `end` was exposed to on one engine.

    Parameters
    ----------
    windows : iterable of PreemptWindow
        Windows of one engine, in any order, none over another.
    end : float or None
        None for a request without an end: some of it lies in no window.

    Returns
    -------
    Preempt
        1 if any window it overlaps is 1; else unknown if any of them is unknown or any
        part of the request lies in no window; else 0.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> [str(exposure([zero], 10, end)) for end in (20, 310, None)]
    ['0', 'unknown', 'unknown']
    """
    touched = touching(windows, start, end)
    state = joined(one.state for one in touched)
    whole = end is not None and _covers(touched, start, end)
    return Preempt.UNKNOWN if state is Preempt.ZERO and not whole else state


def _covers(windows: Sequence[PreemptWindow], start: float, end: float) -> bool:
    """Whether windows, sorted, hold every moment from start to end."""
    reached = start
    for one in windows:
        if one.start > reached:
            return False
        reached = max(reached, one.end)
    return bool(windows) and reached > end


def touching(
    windows: Iterable[PreemptWindow], start: float, end: float | None
) -> list[PreemptWindow]:
    """Windows that a request overlaps, by start; of one without an end, the one it began in.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> len(touching([zero], 299.0, 400.0)), len(touching([zero], 300.0, 400.0))
    (1, 0)
    """
    last = start if end is None else end
    found = [one for one in windows if one.start <= last and one.end > start]
    return sorted(found, key=lambda one: one.start)


def is_retrospective(windows: Iterable[PreemptWindow], start: float, end: float | None) -> bool:
    """Whether a window the request overlaps reaches past its end: it tells of time after it.

    >>> zero = PreemptWindow(0, 300, Preempt.ZERO)
    >>> is_retrospective([zero], 10.0, 299.0), is_retrospective([zero], 10.0, None)
    (True, False)
    """
    return end is not None and any(one.end > end for one in touching(windows, start, end))
