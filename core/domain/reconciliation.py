"""From the tokens the engines prefilled to the tokens whose cached count is known.

Each step names one way in which tokens leave the picture. What no row explains is a
step of its own and keeps its sign: a gateway can also know of tokens that these
engines never saw.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """One step of the reconciliation, in order."""

    ENGINES = "engines"
    CHOICES = "choices"
    NOT_SEEN = "not_seen"
    GATEWAY = "gateway"
    NOT_REPORTED = "not_reported"
    UNPROVEN = "unproven"
    ESTIMATES = "estimates"
    MEASURED = "measured"


TOTALS = (Step.ENGINES, Step.GATEWAY, Step.MEASURED)
"""Steps that are levels; the others are what lies between two of them."""


@dataclass(frozen=True)
class GatewayGroup:
    """Requests of one status: how many, and their input tokens where known."""

    status: str
    reason: str | None
    requests: int
    input_tokens: int | None
    cached_tokens: int | None
    choice_tokens: int | None
    choice_requests: int


@dataclass(frozen=True)
class Line:
    """One step: tokens (None: unknown), cached tokens where known, requests behind it."""

    step: Step
    tokens: float | None
    cached_tokens: float | None = None
    requests: int | None = None


def reconcile(
    engine_tokens: float | None,
    engine_cached_tokens: float | None,
    groups: Iterable[GatewayGroup],
) -> tuple[Line, ...]:
    """The steps from the engines' prompt tokens to the gateway's measured input.

    Parameters
    ----------
    engine_tokens, engine_cached_tokens : float or None
        Prompt tokens of the engines in the window, and those of them not computed.
    groups : iterable of GatewayGroup
        Requests that the gateway recorded, by status of their usage.

    Unknown when
    ------------
    The step between engines and gateway is unknown when either side is.

    >>> lines = reconcile(1000.0, 900.0, [GatewayGroup("measured", None, 8, 800, 700, None, 0)])
    >>> [(line.step.value, line.tokens) for line in lines if line.tokens]
    [('engines', 1000.0), ('not_seen', -200.0), ('gateway', 800), ('measured', 800)]
    """
    found = list(groups)
    seen = _tokens(g.input_tokens for g in found)
    again = _tokens(g.choice_tokens for g in found)
    unseen = None
    if engine_tokens is not None and seen is not None:
        unseen = seen - engine_tokens + (again if again is not None else 0)
    return (
        Line(Step.ENGINES, engine_tokens, engine_cached_tokens),
        Line(
            Step.CHOICES,
            None if again is None else -again,
            None,
            sum(g.choice_requests for g in found),
        ),
        Line(Step.NOT_SEEN, unseen),
        Line(
            Step.GATEWAY,
            seen,
            _tokens(g.cached_tokens for g in found),
            sum(g.requests for g in found if g.input_tokens is not None),
        ),
        _left_out(Step.NOT_REPORTED, found, ("not_reported", "no_input")),
        _left_out(Step.UNPROVEN, found, ("zero_unproven", "empty_input")),
        _left_out(Step.ESTIMATES, found, ("estimate",)),
        _measured(found),
    )


def _left_out(step: Step, groups: list[GatewayGroup], reasons: tuple[str, ...]) -> Line:
    mine = [g for g in groups if g.status == "unknown" and g.reason in reasons]
    tokens = _tokens(g.input_tokens for g in mine)
    return Line(step, None if tokens is None else -tokens, None, sum(g.requests for g in mine))


def _measured(groups: list[GatewayGroup]) -> Line:
    mine = [g for g in groups if g.status == "measured"]
    return Line(
        Step.MEASURED,
        _tokens(g.input_tokens for g in mine),
        _tokens(g.cached_tokens for g in mine),
        sum(g.requests for g in mine),
    )


def _tokens(amounts: Iterable[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
