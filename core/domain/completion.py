"""How a request ended.

| state | when | in quality statistics |
|---|---|---|
| complete | it ended without error, and nothing says it was cut | complete |
| truncated | its finish reason is `length`, or its output reached `max_tokens` | complete |
| error | its level is ERROR | incomplete |
| cancelled | the gateway's own estimate stands for its usage, or its error says so | incomplete |
| unfinished | it has no end | incomplete |
| unknown | its end equals its start: a sender that gave no end | complete |

A truncated answer is a whole answer of the length that was allowed, and is judged
like any other; how many there are is said apart. One read from `max_tokens` is
probable, not certain; the basis says which.
Error texts are looked at here and never kept.
"""

import re
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Completion state of a request."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    ERROR = "error"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"


class Basis(StrEnum):
    """What a state was read from."""

    LEVEL = "level"
    FINISH_REASON = "finish_reason"
    MAX_TOKENS = "max_tokens"
    ESTIMATE = "estimate"
    NO_END = "no_end"
    ENDED = "ended"


INCOMPLETE = frozenset({State.ERROR, State.CANCELLED, State.UNFINISHED})
"""States that statistics count as incomplete."""
CUT = ("length", "max_tokens")

_KINDS: tuple[tuple[str, tuple[str, ...], frozenset[str]], ...] = (
    ("cancelled", ("cancel", "client disconnect", "aborted by"), frozenset({"499"})),
    (
        "timeout",
        ("timeout", "time out", "time-out", "timed out", "timedout", "deadline"),
        frozenset({"408", "504"}),
    ),
    (
        "rate_limit",
        ("ratelimit", "rate limit", "rate_limit", "rate-limit", "too many requests"),
        frozenset({"429"}),
    ),
    (
        "connection",
        ("cannot connect", "connection", "not completed", "disconnected", "reset", "refused"),
        frozenset(),
    ),
    (
        "bad_request",
        ("badrequest", "bad request", "bad_request", "bad-request", "invalid"),
        frozenset({"400", "404", "422"}),
    ),
    ("auth", ("auth", "api key", "no connected db"), frozenset({"401", "403"})),
)
"""Kinds of errors in the order they are looked for: words, and numbers that stand alone."""
_NUMBER = re.compile(r"\b[45]\d\d\b")


class Completion(NamedTuple):
    """State, what it was read from, and for errors of what kind."""

    state: State
    basis: Basis
    error_kind: str | None = None


def completion(
    *,
    level: str | None,
    error_text: str,
    ended: bool | None,
    estimate: bool,
    finish_reason: str | None,
    output: int | None,
    max_tokens: int | None,
) -> Completion:
    """The completion state of one attempt.

    Parameters
    ----------
    ended : bool or None
        False: no end was given. None: the end equals the start.
    estimate : bool
        Its usage is the gateway's own count, as it writes for streams that broke off.
    output, max_tokens : int or None
        Tokens generated, and the limit it was sent with.

    >>> completion(level="ERROR", error_text="Timeout", ended=True, estimate=False,
    ...            finish_reason=None, output=None, max_tokens=None).error_kind
    'timeout'
    """
    if level == "ERROR":
        kind = error_kind(error_text)
        state = State.CANCELLED if kind == "cancelled" else State.ERROR
        return Completion(state, Basis.LEVEL, kind)
    if estimate:
        return Completion(State.CANCELLED, Basis.ESTIMATE)
    if ended is False:
        return Completion(State.UNFINISHED, Basis.NO_END)
    return _answered(finish_reason, output, max_tokens, ended=ended)


def _answered(
    finish_reason: str | None, output: int | None, max_tokens: int | None, *, ended: bool | None
) -> Completion:
    if finish_reason is not None:
        cut = any(word in finish_reason for word in CUT)
        return Completion(State.TRUNCATED if cut else State.COMPLETE, Basis.FINISH_REASON)
    if output is not None and max_tokens is not None and output >= max_tokens:
        return Completion(State.TRUNCATED, Basis.MAX_TOKENS)
    if ended is None:
        return Completion(State.UNKNOWN, Basis.NO_END)
    return Completion(State.COMPLETE, Basis.ENDED)


def error_kind(text: str) -> str:
    """Kind of an error by its words.

    >>> error_kind("Cannot connect to host"), error_kind("")
    ('connection', 'other')
    """
    said = text.lower()
    codes = set(_NUMBER.findall(said))
    for kind, words, numbers in _KINDS:
        if not codes.isdisjoint(numbers) or any(word in said for word in words):
            return kind
    return "other"
