"""Whether one number can stand for all strata: crude against adjusted, and stratum by stratum."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.domain.statistics.standardised import Stratum
from core.domain.statistics.sums import ClusterSums, Interval


def is_sign_change(crude: float | None, adjusted: float | None) -> bool:
    """Whether crude and adjusted difference point in opposite directions.

    >>> is_sign_change(-0.046, 0.054), is_sign_change(None, 0.054)
    (True, False)
    """
    return crude is not None and adjusted is not None and crude * adjusted < 0


class StratumDifference(NamedTuple):
    """Row of the table of heterogeneity."""

    delta: float | None
    interval: Interval | None


def stratum_differences(
    strata: Sequence[Stratum], interval_of: Callable[[ClusterSums, ClusterSums], Interval | None]
) -> tuple[StratumDifference, ...]:
    """Difference of every stratum with its own interval.

    Parameters
    ----------
    interval_of : callable
        Interval of a difference, of the new and the baseline sums.
    """
    return tuple(
        StratumDifference(one.delta, None if one.delta is None else interval_of(one.new, one.base))
        for one in strata
    )


def is_contradictory(rows: Sequence[StratumDifference]) -> bool:
    """Whether two strata differ in sign and each excludes the estimate of the other.

    Then there is no pooled verdict: one number for both would describe neither.

    >>> up = StratumDifference(0.1, Interval(0.05, 0.15))
    >>> down = StratumDifference(-0.1, Interval(-0.2, 0.0))
    >>> is_contradictory([up, down]), is_contradictory([up, up])
    (True, False)
    """
    known = [
        (row.delta, row.interval)
        for row in rows
        if row.delta is not None and row.interval is not None
    ]
    return any(
        a * b < 0 and not _holds(of_a, b) and not _holds(of_b, a)
        for i, (a, of_a) in enumerate(known)
        for b, of_b in known[:i]
    )


def _holds(interval: Interval, value: float) -> bool:
    return interval.lower <= value <= interval.upper
