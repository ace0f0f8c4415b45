"""What a reader may have seen in quality tables, and what to look at next.

Each is an observation with possible explanations and a next check, in words; none names a
cause. Which of them apply is decided here, from intervals alone.
"""

from enum import StrEnum

from core.domain.statistics.gate import Verdict
from core.domain.statistics.sums import Interval


class Observed(StrEnum):
    """Six things that tables and gates can show."""

    HIT_UP_QUALITY_HELD = "hit_up_quality_held"
    HIT_UP_QUALITY_OPEN = "hit_up_quality_open"
    RATIO_WITH_SCORE = "ratio_with_score"
    LONG_GAP_LOW_SCORE = "long_gap_low_score"
    PREEMPTION_WITH_WORSE = "preemption_with_worse"
    ARM_LOWER = "arm_lower"


def below_zero(interval: Interval | None) -> bool:
    """Whether a whole interval lies below 0; an unknown one does not."""
    return interval is not None and interval.upper < 0


def above_zero(interval: Interval | None) -> bool:
    """Whether a whole interval lies above 0; an unknown one does not."""
    return interval is not None and interval.lower > 0


def of_hits_and_gate(hit_change: float | None, verdict: Verdict) -> tuple[Observed, ...]:
    """What a change of the hit ratio and a verdict of the gate show together.

    >>> of_hits_and_gate(0.1, Verdict.INCONCLUSIVE)
    (<Observed.HIT_UP_QUALITY_OPEN: 'hit_up_quality_open'>,)
    """
    found: list[Observed] = []
    if hit_change is not None and hit_change > 0:
        if verdict is Verdict.NON_INFERIOR:
            found.append(Observed.HIT_UP_QUALITY_HELD)
        elif verdict is Verdict.INCONCLUSIVE:
            found.append(Observed.HIT_UP_QUALITY_OPEN)
    if verdict is Verdict.REGRESSION:
        found.append(Observed.ARM_LOWER)
    return tuple(found)
