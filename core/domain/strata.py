"""Strata of requests: by cached_ratio, and bins whose edges were fixed beforehand.

A request of which the cached tokens are not known has a stratum of its own; it is never
counted as one without cached tokens. `queries/` holds the same rules for many requests.
"""

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from math import isnan


class CachedStratum(StrEnum):
    """Where cached over total input tokens of a request lies; the upper edge belongs to it."""

    ZERO = "0"
    TO_HALF = "(0,0.5]"
    TO_NINE_TENTHS = "(0.5,0.9]"
    TO_ONE = "(0.9,1]"
    UNKNOWN = "unknown"
    CONTRACT_VIOLATION = "contract_violation"


CACHED_STRATA = (
    CachedStratum.ZERO,
    CachedStratum.TO_HALF,
    CachedStratum.TO_NINE_TENTHS,
    CachedStratum.TO_ONE,
    CachedStratum.UNKNOWN,
)
"""Rows of a table, in order, also the empty ones; violations are counted beside them."""


def cached_stratum(cached: int | None, total: int | None) -> CachedStratum:
    """Stratum of one request, decided from whole tokens.

    Parameters
    ----------
    cached, total : int or None
        Cached and total input tokens; None: not reported.

    Returns
    -------
    CachedStratum
        `UNKNOWN` without a count or without an input token; `CONTRACT_VIOLATION` where a
        count is negative or more was cached than there was.

    >>> str(cached_stratum(9, 10)), str(cached_stratum(10, 10)), str(cached_stratum(None, 10))
    ('(0.5,0.9]', '(0.9,1]', 'unknown')
    """
    if any(count is not None and count < 0 for count in (cached, total)):
        return CachedStratum.CONTRACT_VIOLATION
    if cached is None or total is None:
        return CachedStratum.UNKNOWN
    if cached > total:
        return CachedStratum.CONTRACT_VIOLATION
    if total == 0:
        return CachedStratum.UNKNOWN
    return _of_known(cached, total)


def _of_known(cached: int, total: int) -> CachedStratum:
    if cached == 0:
        return CachedStratum.ZERO
    if 2 * cached <= total:
        return CachedStratum.TO_HALF
    if 10 * cached <= 9 * total:
        return CachedStratum.TO_NINE_TENTHS
    return CachedStratum.TO_ONE


def bin_index(value: float | None, edges: Sequence[float]) -> int | None:
    """Number of the bin that holds a value: idle gap, input length, turn, hour or load.

    Parameters
    ----------
    value : float or None
        In the unit of the edges.
    edges : sequence of float
        Rising inner edges: k of them make k + 1 bins. A value on an edge belongs to the bin
        above it.

    Unknown when
    ------------
    The value is not known (None).

    >>> [bin_index(value, [60, 300]) for value in (0, 59.9, 60, 10_000, None)]
    [0, 0, 1, 2, None]
    """
    return None if value is None or isnan(value) else bisect_right(edges, value)


def bin_edges(index: int, edges: Sequence[float]) -> tuple[float | None, float | None]:
    """Lower and upper edge of a bin; None where it is open.

    >>> bin_edges(0, [60, 300]), bin_edges(1, [60, 300]), bin_edges(2, [60, 300])
    ((None, 60), (60, 300), (300, None))
    """
    lower = edges[index - 1] if index > 0 else None
    return lower, edges[index] if index < len(edges) else None
