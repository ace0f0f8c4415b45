"""The one sentence that the evidence of a pair supports, as a name; its words stand elsewhere."""

from enum import StrEnum

from core.domain.bench.comparison import Estimate, Overhead, Speed, overhead, speed


class Kind(StrEnum):
    """What a pair is made to tell."""

    NOTHING_SHARED = "nothing_shared"
    CACHE_ALONE = "cache_alone"
    WORKLOAD = "workload"


class Conclusion(StrEnum):
    """What a pair says; without a speed verdict, no sentence says faster or slower."""

    NO_VALID_PAIR = "no_valid_pair"
    NOT_A_PAIR = "not_a_pair"
    HITS_UNKNOWN = "hits_unknown"
    OTHER_PATH = "improved_by_another_path"
    NO_HITS = "no_hits"
    WAITS_FOR_CACHE_ALONE = "waits_for_cache_alone"
    HITS_FASTER = "hits_faster"
    HITS_SLOWER = "hits_slower"
    HITS_NOT_TOLD_APART = "hits_not_told_apart"
    HITS_NO_SPEED_VERDICT = "hits_no_speed_verdict"
    OVERHEAD_WITHIN_LIMITS = "overhead_within_limits"
    OVERHEAD_BEYOND_LIMITS = "overhead_beyond_limits"
    OVERHEAD_OPEN = "overhead_open"
    OVERHEAD_NO_SPEED_VERDICT = "overhead_no_speed_verdict"


_OF_SPEED = {
    Speed.FASTER: Conclusion.HITS_FASTER,
    Speed.SLOWER: Conclusion.HITS_SLOWER,
    Speed.NOT_TOLD_APART: Conclusion.HITS_NOT_TOLD_APART,
    None: Conclusion.HITS_NO_SPEED_VERDICT,
}
_OF_OVERHEAD = {
    Overhead.WITHIN_LIMITS: Conclusion.OVERHEAD_WITHIN_LIMITS,
    Overhead.BEYOND_LIMITS: Conclusion.OVERHEAD_BEYOND_LIMITS,
    Overhead.OPEN: Conclusion.OVERHEAD_OPEN,
    None: Conclusion.OVERHEAD_NO_SPEED_VERDICT,
}


def is_better(ratio: Estimate | None) -> bool:
    """Whether ON was faster as far as its interval goes, or its figure where it has none.

    >>> from core.domain.statistics.sums import Interval
    >>> is_better(Estimate(1.2, None, None, 1)), is_better(None)
    (True, False)
    >>> is_better(Estimate(1.2, Interval(0.9, 1.6), None, 1))
    False
    """
    if ratio is None:
        return False
    return (ratio.value if ratio.interval is None else ratio.interval.lower) > 1


def is_slower(ratio: Estimate | None) -> bool:
    """Whether ON was slower, in the same way."""
    if ratio is None:
        return False
    return (ratio.value if ratio.interval is None else ratio.interval.upper) < 1


def conclude(
    kind: Kind, ratio: Estimate | None, *, hit_observed: bool | None, is_proven: bool
) -> Conclusion:
    """What a pair with valid runs says.

    Parameters
    ----------
    ratio : Estimate or None
        Median TTFT OFF over ON.
    hit_observed : bool or None
        From counters. A latency is no proof of hits.
    is_proven : bool
        Whether the cache alone has shown hits on the same configuration; a workload's
        sentence about hits waits for that.

    >>> conclude(Kind.CACHE_ALONE, Estimate(1.5, None, None, 1), hit_observed=False,
    ...     is_proven=True)
    <Conclusion.OTHER_PATH: 'improved_by_another_path'>
    """
    if kind is Kind.NOTHING_SHARED:
        return _nothing_shared(ratio)
    if hit_observed is None:
        return Conclusion.HITS_UNKNOWN
    if not hit_observed:
        return Conclusion.OTHER_PATH if is_better(ratio) else Conclusion.NO_HITS
    if kind is Kind.WORKLOAD and not is_proven:
        return Conclusion.WAITS_FOR_CACHE_ALONE
    return _OF_SPEED[speed(ratio)]


def _nothing_shared(ratio: Estimate | None) -> Conclusion:
    found = overhead(ratio)
    if found is Overhead.BEYOND_LIMITS and is_better(ratio):
        return Conclusion.OTHER_PATH
    return _OF_OVERHEAD[found]


def needs_checklist(kind: Kind, ratio: Estimate | None) -> bool:
    """Whether there is something to look at: ON slower, or no difference where one was due."""
    if ratio is None:
        return False
    return is_slower(ratio) or (kind is not Kind.NOTHING_SHARED and not is_better(ratio))
