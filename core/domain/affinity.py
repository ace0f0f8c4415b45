"""Follow-up turns on the engine of the turn before, or on another: what routing decides.

A follow-up turn repeats its session's history at the beginning of its prompt, so an engine
that served the turn before may still hold its KV. What that history could have given is an
estimate; nobody measures it. Sums come from the query `follow_ups`, which names every rule.
"""

from dataclasses import dataclass
from enum import StrEnum

from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason, Reported

BLOCK_TOKENS = 16
"""Block size of vLLM on GPU by default, where an engine's configuration is not known."""
LOOK_BACK_S = 86_400
"""So long before a window turns are looked for; one session that pauses for weeks would
otherwise make every reader pay for all that was written meanwhile."""


class Place(StrEnum):
    """Where a follow-up turn was asked, compared with the turn before."""

    SAME = "same"
    ANOTHER = "another"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FollowUps:
    """Sums over follow-up turns of one place.

    Parameters
    ----------
    turns, measured : int
        Turns, and those whose first request has a measured cached count.
    input_tokens, cached_tokens : int or None
        Tokens of the measured ones; None without any.
    gaps : int
        Turns whose idle gap is known.
    gap_median_s : float or None
        Median of the known gaps.
    offers, offered_tokens, delivered_tokens : int, int or None, int or None
        Measured turns whose offer is known, the sum of the offers, and their cached tokens.
    above, above_tokens : int, int or None
        Turns with more cached tokens than were offered, and by how many.
    assumed_blocks : int
        Offers made with `BLOCK_TOKENS`.
    overlapping, other_model : int
        Turns without an offer, as the turn before was still running or asked another model.
    pod_level, pool_level, no_request, long_ago : int
        Why the place is unknown: only a pod is named, nobody named an engine, the turn
        before holds no request, or it is older than `LOOK_BACK_S`.
    """

    place: Place
    turns: int
    measured: int
    input_tokens: int | None
    cached_tokens: int | None
    gaps: int
    gap_median_s: float | None
    offers: int
    offered_tokens: int | None
    delivered_tokens: int | None
    above: int
    above_tokens: int | None
    assumed_blocks: int
    overlapping: int
    other_model: int
    pod_level: int
    pool_level: int
    no_request: int
    long_ago: int


def offered_tokens(
    history_tokens: int | None, input_tokens: int | None, *, block_tokens: int = BLOCK_TOKENS
) -> int | None:
    """Tokens that a session's own history could have given a request at most.

    Parameters
    ----------
    history_tokens : int or None
        Input and output of the turn before.
    input_tokens : int or None
        Input of this request, of which one token at least is computed.
    block_tokens : int
        Tokens of a KV block: only whole blocks are reused.

    Unknown when
    ------------
    Either count is unknown.

    Notes
    -----
    Assumes that the prompt begins with the whole history, unchanged. The KV of a last
    output token is never made, so a history that fills its last block exactly offers one
    block less than this in truth.

    >>> offered_tokens(1050, 1200), offered_tokens(5000, 640), offered_tokens(None, 640)
    (1040, 624, None)
    >>> offered_tokens(5000, 640, block_tokens=32), offered_tokens(10, 640)
    (608, 0)
    """
    if history_tokens is None or input_tokens is None:
        return None
    return min(history_tokens, input_tokens - 1) // block_tokens * block_tokens


def same_engine_share(
    same: int,
    another: int,
    unknown: int,
    *,
    absent: Reason = Reason.NOT_ATTRIBUTED,
    quiet: Reason = Reason.NO_TRAFFIC,
) -> Reading:
    """Share of follow-up turns on the engine of the turn before, of those with both known.

    Unknown when
    ------------
    There is no follow-up turn (`quiet`), or of none both engines are known (`absent`).

    >>> same_engine_share(3, 1, 4).value
    0.75
    >>> same_engine_share(0, 0, 4).reason
    <Reason.NOT_ATTRIBUTED: 'not_attributed'>
    """
    known = same + another
    all_turns = known + unknown
    coverage = Reported(known, all_turns) if all_turns else None
    if not known:
        reason = absent if unknown else quiet
        return Reading("same_engine_share", None, reason, coverage=coverage)
    return ratio_of_sums("same_engine_share", same, known, coverage=coverage)


def cached_share(found: FollowUps, *, quiet: Reason = Reason.NO_TRAFFIC) -> Reading:
    """Cached over input tokens of the first requests of follow-up turns, where measured.

    Unknown when
    ------------
    There is no turn (`quiet`), or none has a measured cached count.
    """
    return ratio_of_sums(
        "follow_up_cached_share",
        found.cached_tokens,
        found.input_tokens,
        coverage=Reported(found.measured, found.turns) if found.turns else None,
        absent=Reason.NOT_MEASURED if found.turns else quiet,
    )


def delivered_share(found: FollowUps, *, quiet: Reason = Reason.NO_TRAFFIC) -> Reading:
    """Cached tokens over offered tokens; above 1 where other prefixes gave more.

    Unknown when
    ------------
    There is no turn (`quiet`), no offer of a measured turn is known (not measured), or
    nothing was offered, as the histories are shorter than a block (no traffic).
    """
    return ratio_of_sums(
        "offered_delivered_share",
        found.delivered_tokens,
        found.offered_tokens,
        coverage=Reported(found.offers, found.turns) if found.turns else None,
        absent=Reason.NOT_MEASURED if found.turns else quiet,
        at_most_one=False,
    )
