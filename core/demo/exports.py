"""What vLLM would export for some traffic: increments of counters, and gauges.

Names, labels and bucket edges are those of the real server.
"""

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from core.demo.configuration import BLOCK_TOKENS
from core.demo.fleet import Model
from core.demo.traffic import Traffic, whole_blocks
from core.domain.records import Floats, Ints

CONTEXT_GROWTH_TOKENS = 600
"""Tokens a request has generated, on average, while it holds its KV blocks."""
FULLEST_UNPRESSED = 0.93
PRESSED_RUNNING = 2.5
PRESSED_WAITING = 13
PRESSED_PREEMPTIONS = 1.6
PRESSED_ATTEMPTS = (2.0, 7.0)
"""Further lookups of a waiting request by an old engine under KV pressure, at least and at most."""
MOST_WAITING = 20
FIRST_TOKEN_EDGES = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0, inf),
)
FIRST_TOKEN_SHAPE = 3.0
"""Shape of the log-logistic law of times to first token."""
CACHED_SPEEDUP = 0.85
"""Share of the time to first token that goes away when all of a prompt is cached."""
PRESSED_DELAY = 14.0
_EDGES = np.array(FIRST_TOKEN_EDGES)
_LOWER_EDGES = np.append(_EDGES[0] / 2, _EDGES[:-1])
_WITHIN_BUCKET = np.append(np.sqrt(_LOWER_EDGES[:-1] * _EDGES[:-1]), _LOWER_EDGES[-1])
"""A time within each bucket, so that the sum fits the counts."""


class Name(NamedTuple):
    """A series of an engine: its exported name and at most one label of its own."""

    metric: str
    label: str = ""
    value: str = ""


Measured = Mapping[Name, Ints | Floats]
"""One value per scrape interval for every series."""


def token_increments(traffic: Traffic, rng: np.random.Generator) -> Measured:
    """Increments of the counters of tokens and of preemptions."""
    queries, hits = _lookups(traffic, rng)
    by_source = "vllm:prompt_tokens_by_source_total"
    return {
        Name("vllm:prefix_cache_queries_total"): queries,
        Name("vllm:prefix_cache_hits_total"): hits,
        Name("vllm:external_prefix_cache_queries_total"): traffic.external_queries_tokens,
        Name("vllm:external_prefix_cache_hits_total"): traffic.external_hits_tokens,
        Name("vllm:prompt_tokens_total"): traffic.prompt_tokens,
        Name("vllm:prompt_tokens_cached_total"): traffic.cached_tokens,
        Name(by_source, "source", "local_compute"): traffic.prompt_tokens - traffic.cached_tokens,
        Name(by_source, "source", "local_cache_hit"): traffic.local_hits_tokens,
        Name(by_source, "source", "external_kv_transfer"): traffic.external_hits_tokens,
        Name("vllm:num_preemptions_total"): rng.poisson(PRESSED_PREEMPTIONS * traffic.pressed),
    }


def first_token_increments(model: Model, traffic: Traffic, rng: np.random.Generator) -> Measured:
    """Increments of the histogram of times to first token."""
    cached = traffic.cached_tokens / np.maximum(traffic.prompt_tokens, 1)
    median = model.first_token_s * (1 - CACHED_SPEEDUP * cached)
    median = median * np.where(traffic.pressed, PRESSED_DELAY, 1.0)
    below = 1 / (1 + (_EDGES / median[:, None]) ** -FIRST_TOKEN_SHAPE)
    counts = rng.multinomial(traffic.requests, np.diff(below, axis=1, prepend=0))
    family = "vllm:time_to_first_token_seconds"
    buckets = {
        Name(f"{family}_bucket", "le", edge_text(edge)): column
        for edge, column in zip(FIRST_TOKEN_EDGES, counts.cumsum(axis=1).T, strict=True)
    }
    return buckets | {
        Name(f"{family}_count"): traffic.requests,
        Name(f"{family}_sum"): counts @ _WITHIN_BUCKET,
    }


def gauges(model: Model, traffic: Traffic, rng: np.random.Generator) -> Measured:
    """Gauges at the end of each interval."""
    pressed = traffic.pressed
    at_once = traffic.rate * model.generation_s * np.where(pressed, PRESSED_RUNNING, 1.0)
    running = rng.poisson(at_once)
    held = running * (model.prompt_tokens + CONTEXT_GROWTH_TOKENS)
    usage = held / (model.gpu_blocks * BLOCK_TOKENS) * rng.uniform(0.85, 1.0, held.size)
    usage = np.minimum(usage, FULLEST_UNPRESSED)
    usage = np.where(pressed, rng.uniform(0.97, 1.0, held.size), usage)
    capacity = np.minimum(rng.poisson(PRESSED_WAITING * pressed), MOST_WAITING)
    deferred = rng.poisson(0.3 * (traffic.external_hits_tokens > 0))
    by_reason = "vllm:num_requests_waiting_by_reason"
    return {
        Name("vllm:kv_cache_usage_perc"): np.round(usage, 4),
        Name("vllm:num_requests_running"): running,
        Name("vllm:num_requests_waiting"): capacity + deferred,
        Name(by_reason, "reason", "capacity"): capacity,
        Name(by_reason, "reason", "deferred"): deferred,
    }


def _lookups(traffic: Traffic, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Looked-up and hit tokens: under pressure an old engine counts them at every attempt."""
    attempts = rng.uniform(*PRESSED_ATTEMPTS, traffic.rate.size) * traffic.pressed
    again = np.round(traffic.prompt_tokens * attempts).astype(np.int64)
    hit_again = whole_blocks(traffic.local_hits_tokens, 0.25 * attempts)
    return traffic.prompt_tokens + again, traffic.local_hits_tokens + hit_again


def edge_text(edge: float) -> str:
    """A bucket edge as the server writes it."""
    return "+Inf" if edge == inf else str(edge)
