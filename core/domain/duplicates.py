"""Is one engine scraped twice under two addresses?"""

import numpy as np

from core.domain.records import Floats

Samples = tuple[Floats, Floats]
"""Times (seconds) and counter values of one series."""


def is_same_counter(a: Samples, b: Samples) -> bool | None:
    """Whether two series with the same identity labels show one counter.

    Two scrapes of one process interleave: sorted by time, their values never
    fall, except where both fall (its restart). Two processes overtake each
    other.

    Unknown when
    ------------
    The two do not overlap in time, or nothing but zeros was seen: None.

    >>> t = np.array([0.0, 15.0, 30.0])
    >>> is_same_counter((t, np.array([5.0, 7, 9])), (t + 7, np.array([6.0, 8, 11])))
    True
    >>> is_same_counter((t, np.array([5.0, 7, 9])), (t + 7, np.array([1.0, 2, 3])))
    False
    """
    times, values, owner = _interleaved(a, b)
    if np.count_nonzero(np.diff(owner)) < 2 or not values.any():
        return None
    falls = np.flatnonzero(np.diff(values) < 0) + 1
    for i in falls:
        if not _falls_around(a, times[i]) or not _falls_around(b, times[i]):
            return False
    return True


def _interleaved(a: Samples, b: Samples) -> tuple[Floats, Floats, Floats]:
    """Both series in one, ordered by time, cut to where they overlap."""
    times = np.concatenate([a[0], b[0]])
    values = np.concatenate([a[1], b[1]])
    owner = np.concatenate([np.zeros(a[0].size), np.ones(b[0].size)])
    if not a[0].size or not b[0].size:
        return times[:0], values[:0], owner[:0]
    low, high = max(a[0][0], b[0][0]), min(a[0][-1], b[0][-1])
    reach = max(_step(a[0]), _step(b[0]))
    near = (times >= low - reach) & (times <= high + reach)
    order = np.lexsort((values[near], times[near]))
    return times[near][order], values[near][order], owner[near][order]


def _step(times: Floats) -> float:
    return float(np.median(np.diff(times))) if times.size > 1 else 0.0


def _falls_around(samples: Samples, t: float) -> bool:
    """Whether this series itself falls within one scrape of `t`."""
    times, values = samples
    falls = times[1:][np.diff(values) < 0]
    return bool((np.abs(falls - t) <= _step(times) * 1.05).any())


def are_one_engine(pairs: list[tuple[Samples, Samples]]) -> bool | None:
    """Whether two targets with the same identity labels are one engine.

    Parameters
    ----------
    pairs : list
        The counters both targets export, the same counter twice in each pair.

    Unknown when
    ------------
    No counter tells (all zero, or the targets never overlap): None.
    """
    told = [same for a, b in pairs if (same := is_same_counter(a, b)) is not None]
    return all(told) if told else None
