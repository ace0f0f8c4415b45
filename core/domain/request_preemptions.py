"""How often requests were preempted, as far as the histogram of an engine tells.

`request_num_preemptions` has one observation per finished request. Its first bucket
(up to 1) mixes requests with none and with exactly one; the sum and the other buckets
say between which numbers the two lie.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite


@dataclass(frozen=True)
class Between:
    """A count that is known to lie from low to high, both included."""

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether only one count is possible."""
        return self.low == self.high


@dataclass(frozen=True)
class RequestPreemptions:
    """Finished requests by how often they were preempted.

    Parameters
    ----------
    at_most_one, two_or_more : float
        Requests in and above the first bucket.
    exactly_one : Between
        Requests with exactly one preemption.
    """

    at_most_one: float
    two_or_more: float
    exactly_one: Between

    @property
    def any(self) -> Between:
        """Requests with at least one preemption.

        >>> RequestPreemptions(8.0, 2.0, Between(1.0, 3.0)).any
        Between(low=3.0, high=5.0)
        """
        one = self.exactly_one
        return Between(self.two_or_more + one.low, self.two_or_more + one.high)


def request_preemptions(
    buckets: Iterable[tuple[float, float]], preemptions: float
) -> RequestPreemptions | None:
    """Split finished requests by their preemptions.

    Parameters
    ----------
    buckets : iterable of (upper edge, requests in this bucket alone)
        All edges of the engine, the last one inf.
    preemptions : float
        Sum of the histogram over the same requests.

    Returns
    -------
    RequestPreemptions or None
        The sum is that of the requests with exactly one, and of those above: each of
        them at least the smallest and at most the largest whole number of its bucket.
        What is left of the sum is the number with exactly one, which is also no more
        than the first bucket holds.

    Unknown when
    ------------
    No edge is 1 (a server may have other edges), the last edge is finite, or the numbers
    contradict each other: a negative one, or a sum too small or too large for them.

    >>> request_preemptions([(1, 8), (2, 1), (inf, 0)], 5.0)
    RequestPreemptions(at_most_one=8, two_or_more=1, exactly_one=Between(low=3.0, high=3.0))
    >>> request_preemptions([(1, 8), (2, 0), (5, 1), (inf, 0)], 6.0).exactly_one
    Between(low=1.0, high=3.0)
    """
    edges = sorted(buckets)
    numbers = [count for _, count in edges]
    if not edges or edges[-1][0] != inf or not all(map(isfinite, [*numbers, preemptions])):
        return None
    if min(numbers) < 0 or preemptions < 0 or all(edge != 1 for edge, _ in edges):
        return None
    first = sum(count for edge, count in edges if edge <= 1)
    above = [(low, high, n) for low, high, n in _ranges(edges) if low > 1]
    least = sum(n * low for low, _, n in above)
    most = sum(n * high for _, high, n in above if n)
    if preemptions < least or preemptions > most + first:
        return None
    one = Between(max(0.0, preemptions - most), min(first, preemptions - least))
    return RequestPreemptions(first, sum(n for *_, n in above), one)


def _ranges(edges: Sequence[tuple[float, float]]) -> list[tuple[float, float, float]]:
    """Smallest and largest whole number of each bucket, and its requests."""
    found, below = [], -1.0
    for edge, count in edges:
        high = edge if edge == inf else float(floor(edge))
        found.append((below + 1, high, count))
        below = high
    return found


def together(several: Iterable[RequestPreemptions]) -> RequestPreemptions | None:
    """Engines added up; None without any.

    >>> one = RequestPreemptions(8.0, 1.0, Between(1.0, 3.0))
    >>> together([one, one])
    RequestPreemptions(at_most_one=16.0, two_or_more=2.0, exactly_one=Between(low=2.0, high=6.0))
    """
    found = list(several)
    if not found:
        return None
    return RequestPreemptions(
        sum(one.at_most_one for one in found),
        sum(one.two_or_more for one in found),
        Between(
            sum(one.exactly_one.low for one in found), sum(one.exactly_one.high for one in found)
        ),
    )
