"""The gate: an interval of new minus baseline becomes one of three verdicts, or a hold.

| verdict | when |
|---|---|
| hold | there is a reason to hold, or no interval |
| non_inferior | lower > -margin |
| regression | upper < -margin |
| inconclusive | otherwise |

Comparisons are strict and on unrounded numbers. What the interval says is kept beside a
hold: a regression under hold is a warning, and a hold never becomes a pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from core.domain.statistics.holds import Hold, HoldReason
from core.domain.statistics.sums import Interval


class Verdict(StrEnum):
    """What a comparison says about a margin that was set before."""

    NON_INFERIOR = "non_inferior"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    HOLD = "hold"


class Flag(StrEnum):
    """Where an interval lies against 0; says nothing about the margin."""

    STATISTICALLY_LOWER = "statistically_lower"
    STATISTICALLY_HIGHER = "statistically_higher"


@dataclass(frozen=True)
class GateResult:
    """A verdict with all that led to it.

    Parameters
    ----------
    verdict : Verdict
        What counts.
    interval_verdict : Verdict or None
        What the interval alone says; None without an interval.
    flags : tuple of Flag
        Where the interval lies against 0.
    holds : tuple of Hold
        Every reason to hold, in the order found.
    """

    verdict: Verdict
    interval_verdict: Verdict | None
    flags: tuple[Flag, ...]
    holds: tuple[Hold, ...]


def judge(interval: Interval | None, margin: float, *, holds: Iterable[Hold] = ()) -> GateResult:
    """Verdict of the gate.

    Parameters
    ----------
    interval : Interval or None
        Limits of new minus baseline, at the level of the plan. Limits that are no numbers,
        or in the wrong order, are no interval.
    margin : float
        Largest loss that the plan accepts, in the unit of the difference; 0 or more.
    holds : iterable of Hold
        Reasons found by `find_holds`.

    Raises
    ------
    ValueError
        If the margin is negative or not finite.

    >>> str(judge(Interval(-0.008, 0.004), 0.02).verdict)
    'non_inferior'
    >>> str(judge(Interval(-0.02, 0.01), 0.02).verdict)
    'inconclusive'
    >>> judge(None, 0.02).holds[0].reason
    <HoldReason.NO_INTERVAL: 'no_interval'>
    """
    if not (isfinite(margin) and margin >= 0):
        raise ValueError(f"margin must be finite and not negative, got {margin!r}")
    known = interval is not None and interval.lower <= interval.upper
    said = interval_verdict(interval, margin) if interval is not None and known else None
    found = tuple(holds)
    if said is None and not found:
        found = (Hold(HoldReason.NO_INTERVAL),)
    return GateResult(
        verdict=Verdict.HOLD if found or said is None else said,
        interval_verdict=said,
        flags=flags(interval) if interval is not None and known else (),
        holds=found,
    )


def interval_verdict(interval: Interval, margin: float) -> Verdict:
    """What an interval says when nothing holds.

    >>> str(interval_verdict(Interval(-0.05, -0.03), 0.02))
    'regression'
    """
    if interval.lower > -margin:
        return Verdict.NON_INFERIOR
    return Verdict.REGRESSION if interval.upper < -margin else Verdict.INCONCLUSIVE


def flags(interval: Interval) -> tuple[Flag, ...]:
    """On which side of 0 the whole interval lies, if on one.

    >>> [str(flag) for flag in flags(Interval(-0.015, -0.005))]
    ['statistically_lower']
    """
    if interval.upper < 0:
        return (Flag.STATISTICALLY_LOWER,)
    return (Flag.STATISTICALLY_HIGHER,) if interval.lower > 0 else ()


def confidence_of(alpha: float) -> float:
    """Two-sided confidence of the interval whose one limit is a claim at one-sided alpha.

    >>> confidence_of(0.05)
    0.9
    """
    return 1 - 2 * alpha


def alpha_of(confidence: float) -> float:
    """One-sided alpha of each limit of a two-sided interval.

    >>> round(alpha_of(0.95), 12)
    0.025
    """
    return (1 - confidence) / 2
