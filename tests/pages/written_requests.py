"""Rows of the request side, written by hand: observations, scores, violations, orders."""

from typing import Any

from core.domain.records import stable_id
from tests.pages.homes import T0, Tables, at

START = T0 + 130.0
"""When an ordinary request starts: in the third minute of what is written by hand."""


def observation(name: str, /, *, start: float = START, **more: Any) -> dict[str, Any]:
    """One complete, streamed, measured request of turn `trace-<name>`; `more` changes it.

    A time is seconds since the epoch; None leaves it out.
    """
    trace = more.pop("trace_id", f"trace-{name}")
    times = {
        "end_at": more.pop("end_at", start + 4.0),
        "first_token_at": more.pop("first_token_at", start + 1.0),
        "updated_at": more.pop("updated_at", start + 5.0),
        "first_start_at": more.pop("first_start_at", start),
        "last_start_at": more.pop("last_start_at", start),
    }
    return {
        "observation_key": stable_id("observation", trace, name),
        "observation_id": name,
        "trace_id": trace,
        "type": "GENERATION",
        "synthetic_root": False,
        "start_at": at(start),
        "turn_id": trace,
        "exporter": "litellm",
        "logical_id": f"call-{name}",
        "gateway_request_id": f"call-{name}",
        "response_id": f"chatcmpl-{name}",
        "project_id": "project",
        "model": "small",
        "session_id": "session-1",
        "state": "complete",
        "state_basis": "finish_reason",
        "usage_status": "measured",
        "contract": "exclusive",
        "cached_scope": "both",
        "total_input": 1000,
        "cached_input": 800,
        "output": 50,
        "total": 1050,
        "raw_usage": '{"input": 200, "cache_read_input_tokens": 800, "output": 50}',
        "digest": stable_id(name),
        "revisions": 0,
        **{key: None if t is None else at(t) for key, t in times.items()},
        **more,
    }


def score(name: str, level: str, *, of: str, **more: Any) -> dict[str, Any]:
    """One judge's value at one level, about the id `of`."""
    return {
        "score_id": f"{level}-{name}-{of}",
        "name": name,
        "level": level,
        f"{level}_id": of,
        "data_type": "NUMERIC",
        "value": 0.75,
        "status": "ok",
        "evaluator": "judge",
        "evaluator_version": "v2",
        "repeat": 1,
        "scored_at": at(START + 60),
        "updated_at": at(START + 60),
        "seen_at": at(START + 70),
        "digest": 1,
        "revisions": 0,
        **more,
    }


def langfuse_row(**more: Any) -> dict[str, Any]:
    """How the request source stands."""
    return {
        "source": "langfuse",
        "state": "following",
        "checked_at": at(T0 + 600),
        "read_to": at(T0 + 590),
        "backfill_from": at(T0 - 86_400),
        "clock_skew_s": 0.4,
        **more,
    }


def session_of(n: int, *, gap_s: float = 60.0) -> Tables:
    """A session of n turns, a request each, `gap_s` from start to start."""
    return {"observations": [observation(f"turn-{i}", start=START + gap_s * i) for i in range(n)]}
