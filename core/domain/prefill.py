"""Three accounts of the same prompt tokens, each with its own population.

| account | counted | local, external |
|---|---|---|
| by source | when a prefill ends | told apart |
| cached, by tier | cached: when a prefill ends; tiers: at admission | the total holds both |
| requests | when a request completes | together |

They are compared and never merged: a difference says which requests one account holds and
the other does not.
"""

from collections.abc import Mapping
from enum import StrEnum

from core.domain.reading import Reading, Reason

LOCAL, EXTERNAL, COMPUTED = "local_cache_hit", "external_kv_transfer", "local_compute"
SOURCES = (LOCAL, EXTERNAL, COMPUTED)
LOCAL_TIER = "device"

Amounts = Mapping[int, float]
"""Engine -> its sum over the window."""


class Account(StrEnum):
    """One way in which an engine counts its prompt tokens."""

    SOURCE = "source"
    TIER = "tier"
    REQUEST = "request"


def sum_over(*parts: Amounts) -> dict[int, float]:
    """Each engine's sum over parts; an engine that lacks one of them is left out.

    >>> sum_over({1: 2.0, 2: 3.0}, {1: 4.0})
    {1: 6.0}
    """
    engines = set.intersection(*(set(part) for part in parts))
    return {engine: sum(part[engine] for part in parts) for engine in sorted(engines)}


def difference(metric: str, these: Amounts, those: Amounts, *, absent: Reason) -> Reading:
    """Sum of these less sum of those, over the engines that give both.

    Unknown when
    ------------
    No engine gives both (`absent`).

    >>> difference("prefill_difference", {1: 5.0, 2: 9.0}, {1: 7.0}, absent=Reason.NO_ENGINE).value
    -2.0
    """
    both = these.keys() & those.keys()
    if not both:
        return Reading(metric, None, absent)
    return Reading(metric, sum(these[e] for e in both) - sum(those[e] for e in both))
