"""How far a sample tells a quantile: an interval by ranks, mapped to histogram buckets.

The interval holds for independent values. Where values come in groups (blocks that are
evicted together) their number is an upper bound of what they are worth, and the true
interval is wider.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from scipy.special import bdtr, bdtrc

LEVEL = 0.95


@dataclass(frozen=True)
class RankInterval:
    """Ranks (from 1) between which the quantile lies; None: no such limit exists.

    `coverage` is the probability that the interval holds the quantile.
    """

    lower: int | None
    upper: int | None
    coverage: float


def rank_interval(n: int, q: float, *, level: float = LEVEL) -> RankInterval:
    """Ranks of the sampled values that enclose the q-quantile.

    Parameters
    ----------
    n : int
        Independent sampled values.
    q : float
        Within 0 to 1, both excluded.
    level : float
        Wanted coverage; each tail holds half of the rest at most.

    Notes
    -----
    lower is the largest r with P(Bin(n, q) <= r - 1) <= tail, upper the smallest s with
    P(Bin(n, q) >= s) <= tail. Without a limit on a side that side covers all.

    Source
    ------
    Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.

    >>> rank_interval(20, 0.5)
    RankInterval(lower=6, upper=15, coverage=0.9586...)
    >>> rank_interval(71, 0.95).upper, rank_interval(72, 0.95).upper
    (None, 72)
    """
    tail = (1 - level) / 2
    at_most = bisect_left(range(1, n + 1), 1, key=lambda r: bdtr(r - 1, n, q) > tail)
    at_least = bisect_left(range(1, n + 1), 1, key=lambda s: bdtrc(s - 1, n, q) <= tail)
    lower = at_most if at_most >= 1 else None
    upper = at_least + 1 if at_least < n else None
    below = 1.0 if upper is None else float(bdtr(upper - 1, n, q))
    missed = 0.0 if lower is None else float(bdtr(lower - 1, n, q))
    return RankInterval(lower, upper, below - missed)


def sampled_bounds(
    buckets: Sequence[tuple[float, float]], q: float, *, level: float = LEVEL
) -> tuple[float, float] | None:
    """Bucket edges between which the q-quantile lies, sampling included.

    Parameters
    ----------
    buckets : sequence of (upper edge, observations in this bucket alone)
        Rising edges, the last one inf.

    Returns
    -------
    tuple or None
        The lower edge of the bucket that holds the lower rank (0 without such a limit),
        and the upper edge of the one that holds the upper rank (inf without one); None
        without observations or where a bucket holds a negative number.

    >>> sampled_bounds([(1, 4), (2, 12), (5, 4), (inf, 0)], 0.5)
    (1, 2)
    >>> sampled_bounds([(1, 3), (inf, 0)], 0.5)
    (0.0, inf)
    """
    counts = [count for _, count in buckets]
    n = round(sum(counts))
    if not counts or min(counts) < 0 or n <= 0:
        return None
    ranks = rank_interval(n, q, level=level)
    up_to = list(accumulate(counts))
    lower, upper = 0.0, inf
    if ranks.lower is not None:
        first = bisect_left(up_to, ranks.lower)
        lower = buckets[first - 1][0] if first else min(0.0, buckets[0][0])
    if ranks.upper is not None:
        upper = buckets[bisect_left(up_to, ranks.upper)][0]
    return lower, upper


@dataclass(frozen=True)
class SampledCount:
    """How many of the events a random sample holds.

    `lower` and `upper` hold the count with a probability of `LEVEL` or more; `none` is the
    probability that the sample holds none.
    """

    expected: float
    sd: float
    lower: int
    upper: int
    none: float


def sampled_count(events: int, rate: float | None) -> SampledCount | None:
    """What a sample at a known rate can be expected to hold.

    Parameters
    ----------
    events : int
        Events that each were sampled or not.
    rate : float or None
        Probability of each to be sampled.

    Unknown when
    ------------
    The rate is not known or no probability (None).

    Source
    ------
    The binomial distribution; events that go together make the spread larger.

    >>> sampled_count(200, 0.01)
    SampledCount(expected=2.0, sd=1.407..., lower=0, upper=5, none=0.133...)
    """
    if rate is None or not 0 < rate <= 1:
        return None
    tail = (1 - LEVEL) / 2
    lower, upper = (
        bisect_left(range(events), q, key=lambda k: bdtr(k, events, rate)) for q in (tail, 1 - tail)
    )
    sd = (events * rate * (1 - rate)) ** 0.5
    return SampledCount(events * rate, sd, lower, upper, (1 - rate) ** events)
