"""What cannot be known about one request, from what its row does and does not say."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from core.domain.usage import Status
from core.domain.windows import Preempt

STREAM_START_IS_REQUEST = ("litellm", "litellm_otel")
"""Exporters whose streamed rows start with the request, failed attempts included."""


class Unknown(StrEnum):
    """One thing that nobody can tell of a request."""

    ENGINE = "engine"
    CORE = "core"
    NO_ENGINES = "no_engines"
    CACHED = "cached"
    CACHED_SCOPE = "cached_scope"
    LOCAL_OR_EXTERNAL = "local_or_external"
    ATTEMPTS = "attempts"
    OTHER_SAMPLES = "other_samples"
    END = "end"
    NO_FIRST_TOKEN = "no_first_token"  # noqa: S105 - no password
    WHOLE_LATENCY = "whole_latency"
    LATENCY_PARTS = "latency_parts"
    SESSION = "session"
    EXPOSURE = "exposure"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    TEXTS = "texts"


@dataclass(frozen=True)
class Facts:
    """What the list is built from; times in seconds since the epoch."""

    exporter: str
    attribution: str
    engines_connected: bool
    usage_status: str
    cached_scope: str
    choices: int | None
    start_at: float
    end_at: float | None
    first_token_at: float | None
    session_id: str | None
    exposure: Preempt


def is_whole_latency(start_at: float, first_token_at: float | None, end_at: float | None) -> bool:
    """Whether a "first token" is the end of the call: what gateways write for one not streamed.

    >>> is_whole_latency(0.0, 5.0, 5.0), is_whole_latency(0.0, 1.0, 5.0)
    (True, False)
    """
    if first_token_at is None or end_at is None:
        return False
    return start_at < end_at <= first_token_at


def unknowns(facts: Facts) -> tuple[Unknown, ...]:
    """Everything that cannot be known, in the order of a request's life."""
    return (*_place(facts), *_tokens(facts), *_time(facts), *_always(facts))


def _place(facts: Facts) -> Iterator[Unknown]:
    if not facts.engines_connected:
        yield Unknown.NO_ENGINES
    if facts.attribution == "pool":
        yield Unknown.ENGINE
    elif facts.attribution == "pod":
        yield Unknown.CORE
    if facts.session_id is None:
        yield Unknown.SESSION


def _tokens(facts: Facts) -> Iterator[Unknown]:
    if facts.usage_status != Status.MEASURED:
        yield Unknown.CACHED
    elif facts.cached_scope == "both":
        yield Unknown.LOCAL_OR_EXTERNAL
    elif facts.cached_scope == "unknown":
        yield Unknown.CACHED_SCOPE
    if facts.choices is not None and facts.choices > 1:
        yield Unknown.OTHER_SAMPLES


def _time(facts: Facts) -> Iterator[Unknown]:
    if facts.end_at is None:
        yield Unknown.END
    if facts.first_token_at is None:
        yield Unknown.NO_FIRST_TOKEN
    elif is_whole_latency(facts.start_at, facts.first_token_at, facts.end_at):
        yield Unknown.WHOLE_LATENCY
    elif facts.exporter in STREAM_START_IS_REQUEST:
        yield Unknown.LATENCY_PARTS


def _always(facts: Facts) -> Iterator[Unknown]:
    yield Unknown.ATTEMPTS
    if facts.engines_connected and facts.exposure is Preempt.UNKNOWN:
        yield Unknown.EXPOSURE
    yield Unknown.PREEMPTED
    yield Unknown.EVICTED
    yield Unknown.TEXTS
