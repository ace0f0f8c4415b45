"""Ratios of sums. Sum first, divide last; never an average of ratios."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

from core.domain.reading import Coverage, Reading, Reason, Reported


def ratio_of_sums(
    metric: str,
    numerator: float | None,
    denominator: float | None,
    *,
    coverage: Coverage | Reported | None = None,
    restarted: int = 0,
    absent: Reason = Reason.NOT_EXPORTED,
    quiet: Reason = Reason.NO_TRAFFIC,
    at_most_one: bool = True,
) -> Reading:
    """Divide two sums taken over the same series and window.

    Parameters
    ----------
    numerator, denominator : float or None
        Sums of increases; None when no series gave one.
    absent : Reason
        What a missing sum means here.
    quiet : Reason
        What a denominator of 0 means here.
    at_most_one : bool
        Whether a ratio above 1 breaks the metric's contract.

    Unknown when
    ------------
    A sum is None (`absent`), or the denominator is 0 (`quiet`). A negative
    sum, one that is no finite number, or a ratio above 1 where that cannot be,
    is a contract error: the sums stay visible and no ratio is given.

    >>> ratio_of_sums("engine_hit_ratio", 90000.0, 101000.0).value
    0.8910891089108911
    >>> ratio_of_sums("engine_hit_ratio", 0.0, 0.0).reason
    <Reason.NO_TRAFFIC: 'no_traffic'>
    >>> ratio_of_sums("engine_hit_ratio", 3.0, 2.0).reason
    <Reason.CONTRACT_ERROR: 'contract_error'>
    """

    def unknown(reason: Reason) -> Reading:
        return Reading(metric, None, reason, numerator, denominator, coverage, restarted=restarted)

    if numerator is None or denominator is None:
        return unknown(absent)
    if not (isfinite(numerator) and isfinite(denominator)):
        return unknown(Reason.CONTRACT_ERROR)
    if numerator < 0 or denominator < 0 or (at_most_one and numerator > denominator):
        return unknown(Reason.CONTRACT_ERROR)
    if denominator == 0:
        return unknown(quiet)
    return Reading(
        metric,
        numerator / denominator,
        None,
        numerator,
        denominator,
        coverage,
        restarted=restarted,
    )


def total(metric: str, amounts: Iterable[float | None], *, absent: Reason, **more: Any) -> Reading:
    """Sum what is known; unknown (`absent`) when nothing is.

    >>> total("preemptions", [None, 2.0], absent=Reason.NOT_EXPORTED).value
    2.0
    >>> total("preemptions", [None], absent=Reason.NOT_EXPORTED).known
    False
    """
    known = [amount for amount in amounts if amount is not None]
    if not known:
        return Reading(metric, None, absent, **more)
    return Reading(metric, sum(known), **more)


def change(now: Reading, before: Reading | None) -> float | None:
    """Difference of two readings in the metric's unit.

    None unless both are known as numbers: of two bucket intervals nobody knows
    the difference.
    """
    if before is None or now.value is None or before.value is None or now.low is not None:
        return None
    return now.value - before.value


def shift(now: Reading, before: Reading) -> int | None:
    """Whether an interval lies wholly above (1) or below (-1) another; 0: they overlap.

    None unless both are known as intervals, as quantiles of bucketed histograms are.

    >>> old, new = (Reading("ttft_p95", low, low=low, high=low + 1) for low in (1.0, 2.0))
    >>> shift(new, old), shift(old, old), shift(new, Reading("ttft_p95", 3.0))
    (1, 0, None)
    """
    if now.low is None or now.high is None or before.low is None or before.high is None:
        return None
    return int(now.low >= before.high) - int(now.high <= before.low)


INFLATION_TOLERANCE = 0.005
"""Relative excess of queries over prompt tokens that scrape edges alone explain."""


def is_inflated(queries_per_prompt_token: Reading) -> bool:
    """Whether lookups were counted more than once (vLLM up to 0.26, under pressure).

    >>> is_inflated(ratio_of_sums("lookup_inflation", 14.0, 1.0, at_most_one=False))
    True
    """
    value = queries_per_prompt_token.value
    return value is not None and value > 1 + INFLATION_TOLERANCE
