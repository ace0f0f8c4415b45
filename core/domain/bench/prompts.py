"""Prompts of a run made again: what they have in common, in numbers; no text is kept.

Counted on the tokens that the server sees: the chat template's are among them.
"""

from dataclasses import dataclass
from enum import StrEnum

BOUNDARY_TOKENS = 8
"""Where prefix and suffix meet, tokens of both may be joined as the text is tokenised again."""


@dataclass(frozen=True)
class Prompts:
    """All prompts of one workload and seed, as they were made again.

    Parameters
    ----------
    version : str
        Of the vLLM that made them.
    requests, shortest, longest, total_tokens : int
        How many, tokens of the shortest and the longest, and of all.
    shared_tokens : int
        Leading tokens that all requests of one prefix have in common; of several prefixes
        the fewest.

    Raises
    ------
    ValueError
        For numbers that no prompts can have.
    """

    version: str
    requests: int
    shortest: int
    longest: int
    shared_tokens: int
    total_tokens: int

    def __post_init__(self) -> None:
        """Numbers that come from another program are looked at before they are believed."""
        lowest, highest = self.requests * self.shortest, self.requests * self.longest
        in_order = 0 <= self.shared_tokens <= self.shortest <= self.longest
        if not (self.requests >= 1 and in_order and lowest <= self.total_tokens <= highest):
            raise ValueError(f"no prompts have these numbers: {self}")


class Unmade(StrEnum):
    """Why nothing is known of prompts made again."""

    NOT_MADE = "not_made"
    NO_VLLM = "no_vllm"
    OTHER_VERSION = "other_version"
    TEMPLATE = "template"
    TOO_LONG = "too_long"
    FAILED = "failed"
    BROKEN = "broken"


class Sharing(StrEnum):
    """What prompts made again say of the ones that were sent."""

    SHARED = "shared"
    NOT_SHARED = "not_shared"
    NOTHING_PLANNED = "nothing_planned"
    OTHER_PROMPTS = "other_prompts"


def sharing(prompts: Prompts, planned: int, *, sent_tokens: float | None) -> Sharing:
    """Whether the prompts shared the planned prefix.

    Parameters
    ----------
    prompts : Prompts
    planned : int
        Tokens of the prefix, without the chat template's.
    sent_tokens : float or None
        Prompt tokens that the server counted: where they differ, the prompts made again are
        not the ones that were sent. None: not known, so they are taken for the same.

    Examples
    --------
    >>> made = Prompts("0.32.0", 16, 2115, 2117, 2049, 33843)
    >>> sharing(made, 2048, sent_tokens=33843).value
    'shared'
    >>> sharing(made, 2100, sent_tokens=None).value
    'not_shared'
    """
    if sent_tokens is not None and sent_tokens != prompts.total_tokens:
        return Sharing.OTHER_PROMPTS
    if planned == 0:
        return Sharing.NOTHING_PLANNED
    is_shared = prompts.shared_tokens >= planned - min(BOUNDARY_TOKENS, planned // 2)
    return Sharing.SHARED if is_shared else Sharing.NOT_SHARED
