"""What vLLM would export about requests that ended, and about generated tokens.

A request ends some scrape intervals after its first token, in the next cycle where
need be. One that is cancelled, or cut by a restart, is in none of these histograms.
"""

import numpy as np

from core.demo.arrivals import CANCELLED_SHARE, TOKENS_PER_S
from core.demo.exports import Measured, Name, edge_text
from core.demo.fleet import SCRAPE_S, Engine
from core.demo.traffic import Traffic
from core.domain.records import Bools, Ints

NEWER = "0.32.0"
"""The version that counts preemptions by request and cached tokens by tier."""
TIERS = ("device", "host", "disk", "p2p", "external_unspecified")
PREEMPTION_EDGES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, float("inf"))
OUTPUT_SPREAD = 0.1
FREE_WAIT_S, PRESSED_WAIT_S = 0.02, 1.5
PREFILL_TOKENS_PER_S = 9000.0


def generated_tokens(
    engine: Engine, traffic: Traffic, past: Traffic | None, down: Bools, rng: np.random.Generator
) -> Ints:
    """Tokens that the requests under way generate in each interval."""
    before = None if past is None else past.requests
    lags = range(_lag(engine) + 1)
    under_way = np.mean([_delayed(traffic.requests, before, lag) for lag in lags], axis=0)
    spread = rng.lognormal(-(OUTPUT_SPREAD**2) / 2, OUTPUT_SPREAD, under_way.size)
    tokens = under_way * engine.model.generation_s * TOKENS_PER_S * spread
    generated: Ints = np.round(tokens * ~down).astype(np.int64)
    return generated


def completed_increments(
    engine: Engine, traffic: Traffic, past: Traffic | None, down: Bools, rng: np.random.Generator
) -> Measured:
    """Increments of the counts and sums of requests that ended."""
    begun, prompt, cached = (
        _delayed(
            getattr(traffic, name), None if past is None else getattr(past, name), _lag(engine)
        )
        for name in ("requests", "prompt_tokens", "cached_tokens")
    )
    ended = rng.binomial(begun, 1 - CANCELLED_SHARE) * ~down
    share = ended / np.maximum(begun, 1)
    prompt = np.round(prompt * share).astype(np.int64)
    computed = prompt - np.round(cached * share).astype(np.int64)
    found: Measured = {
        Name("vllm:request_prompt_tokens_count"): ended,
        Name("vllm:request_prompt_tokens_sum"): prompt,
        Name("vllm:request_prefill_kv_computed_tokens_count"): ended,
        Name("vllm:request_prefill_kv_computed_tokens_sum"): computed,
        **_times(ended, computed, traffic.pressed),
    }
    return found if engine.vllm != NEWER else {**found, **_by_tier(traffic), **_preempted(ended)}


def _lag(engine: Engine) -> int:
    """Scrape intervals between a request's first token and its end."""
    return round(engine.model.generation_s / SCRAPE_S)


def _delayed(values: Ints, before: Ints | None, lag: int) -> Ints:
    """The values of so many intervals ago; `before` are those of the cycle before."""
    earlier = np.zeros(lag, dtype=np.int64) if before is None else before[before.size - lag :]
    return np.concatenate([earlier, values[: values.size - lag]])


def _by_tier(traffic: Traffic) -> Measured:
    """Cached tokens by the tier that had them; a connector that says no tier is unspecified."""
    nothing = np.zeros_like(traffic.requests)
    known = {
        "device": traffic.local_hits_tokens,
        "external_unspecified": traffic.external_hits_tokens,
    }
    name = "vllm:prompt_tokens_cached_by_source_total"
    return {Name(name, "source", tier): known.get(tier, nothing) for tier in TIERS}


def _preempted(ended: Ints) -> Measured:
    """Requests by how often they were preempted: never, at the engines that count it."""
    family = "vllm:request_num_preemptions"
    edges = [Name(f"{family}_bucket", "le", edge_text(edge)) for edge in PREEMPTION_EDGES]
    return {
        **dict.fromkeys(edges, ended),
        Name(f"{family}_count"): ended,
        Name(f"{family}_sum"): np.zeros_like(ended),
    }


def _times(ended: Ints, computed: Ints, pressed: Bools) -> Measured:
    """Seconds in the queue and in prefill; under KV pressure requests wait longer."""
    waits = np.where(pressed, PRESSED_WAIT_S, FREE_WAIT_S)
    return {
        Name("vllm:request_queue_time_seconds_count"): ended,
        Name("vllm:request_queue_time_seconds_sum"): ended * waits,
        Name("vllm:request_prefill_time_seconds_count"): ended,
        Name("vllm:request_prefill_time_seconds_sum"): computed / PREFILL_TOKENS_PER_S,
    }
