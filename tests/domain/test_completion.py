"""How a request ended, and of what kind an error is."""

from itertools import product
from typing import Any

import pytest

from core.domain.completion import INCOMPLETE, Basis, State, completion, error_kind

PLAIN: dict[str, Any] = {
    "level": "DEFAULT",
    "error_text": "",
    "ended": True,
    "estimate": False,
    "finish_reason": None,
    "output": None,
    "max_tokens": None,
}


@pytest.mark.parametrize(
    ("given", "state", "basis"),
    [
        ({}, "complete", "ended"),
        ({"ended": None}, "unknown", "no_end"),
        ({"ended": False}, "unfinished", "no_end"),
        ({"ended": False, "finish_reason": "stop"}, "unfinished", "no_end"),
        ({"finish_reason": "stop"}, "complete", "finish_reason"),
        ({"finish_reason": "length"}, "truncated", "finish_reason"),
        ({"finish_reason": "max_tokens"}, "truncated", "finish_reason"),
        ({"finish_reason": "stop", "output": 12, "max_tokens": 12}, "complete", "finish_reason"),
        ({"output": 12, "max_tokens": 12}, "truncated", "max_tokens"),
        ({"output": 11, "max_tokens": 12}, "complete", "ended"),
        ({"output": 12}, "complete", "ended"),
        ({"max_tokens": 12}, "complete", "ended"),
        ({"output": 12, "max_tokens": 12, "ended": None}, "truncated", "max_tokens"),
        ({"estimate": True}, "cancelled", "estimate"),
        ({"estimate": True, "finish_reason": "length"}, "cancelled", "estimate"),
        ({"estimate": True, "ended": False}, "cancelled", "estimate"),
        ({"level": "ERROR"}, "error", "level"),
        ({"level": "ERROR", "ended": False}, "error", "level"),
        ({"level": "ERROR", "estimate": True}, "error", "level"),
        ({"level": "ERROR", "error_text": "Request cancelled"}, "cancelled", "level"),
        ({"level": "WARNING", "error_text": "timeout"}, "complete", "ended"),
        ({"level": None}, "complete", "ended"),
    ],
)
def test_the_strongest_sign_decides(given: dict[str, Any], state: str, basis: str) -> None:
    """Error before estimate before missing end before finish reason before the limit."""
    done = completion(**PLAIN | given)
    assert (done.state, done.basis) == (state, basis)
    assert (done.error_kind is not None) == (given.get("level") == "ERROR")


def test_every_combination_has_one_state() -> None:
    """No combination raises, and only what broke off counts as incomplete."""
    values = {
        "level": ["ERROR", "DEFAULT", None],
        "ended": [True, False, None],
        "estimate": [True, False],
        "finish_reason": ["stop", "length", None],
        "output": [0, 12, None],
        "max_tokens": [0, 12, None],
    }
    for given in product(*values.values()):
        done = completion(**PLAIN | dict(zip(values, given, strict=True)))
        broke = given[0] == "ERROR" or given[2] or given[1] is False
        assert (done.state in INCOMPLETE) == broke
        assert isinstance(done.basis, Basis)
    assert {State.COMPLETE, State.TRUNCATED, State.UNKNOWN} == set(State) - INCOMPLETE


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("litellm.Timeout: Timeout Error: Hosted_vllmException - Request timed out", "timeout"),
        ("litellm.APIConnectionError: peer closed connection without sending", "connection"),
        ("InternalServerError: Cannot connect to host 10.0.0.4:8000", "connection"),
        ("litellm.BadRequestError: Hosted_vllmException - maximum context length", "bad_request"),
        ("litellm.BadRequestError: your prompt has 14990 tokens of 4096", "bad_request"),
        ("prompt of 24998 tokens is invalid", "bad_request"),
        ("HTTP 499", "cancelled"),
        ("client disconnected: request was cancelled", "cancelled"),
        ("asyncio.CancelledError", "cancelled"),
        ("HTTP 504 Gateway Time-out", "timeout"),
        ("429 Too Many Requests", "rate_limit"),
        ("RateLimitError", "rate_limit"),
        ("/chat/completions: Invalid model name passed in model=nope", "bad_request"),
        ("No connected db.", "auth"),
        ("AuthenticationError 401", "auth"),
        ("something else at 127.0.0.1", "other"),
        ("", "other"),
    ],
)  # fmt: skip
def test_an_error_is_told_by_its_words(text: str, kind: str) -> None:
    """Numbers count only where they stand alone: 14990 tokens are no status 499."""
    assert error_kind(text) == kind
