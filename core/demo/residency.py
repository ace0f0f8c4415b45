"""What vLLM would export about sampled KV blocks, of an engine with `--kv-cache-metrics`.

Blocks are handed out in turn: the one given out now was freed when the engine had
handed out as many blocks fewer as lie free. While never-used blocks remain, and
until the blocks known before a reset are gone, nothing is reported.
"""

from dataclasses import dataclass

import numpy as np

from core.demo.configuration import BLOCK_TOKENS
from core.demo.exports import Measured, Name, edge_text
from core.demo.fleet import Engine
from core.demo.traffic import EngineCycle, Traffic
from core.domain.records import Bools, Floats, Ints

SAMPLE_RATE = 0.01
EDGES = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, float("inf")),
)
FREE = 0.6
"""Share of an engine's blocks that no running request holds."""
FREE_PRESSED = 0.04
MORE_PRESSED = 1.6
"""Blocks handed out under KV pressure per block otherwise: work is done again."""
AGE_SPREAD = 0.4
HIT_SHARE = 0.4
"""Share of evicted blocks that were ever hit."""
REUSE_S = 45.0
"""Median time between a hit block's allocation and its last hit."""
REUSE_SPREAD = 1.7
GAPS = (0.45, 0.25, 0.15, 0.15)
"""Shares of hit blocks with no gap between hits, one, two, and three."""


@dataclass(frozen=True)
class Past:
    """What the cycle before leaves behind: its traffic, and blocks handed out by each scrape."""

    traffic: Traffic
    elapsed: Floats
    blocks: Floats


def handed_out(traffic: Traffic, generated: Ints, past: Past | None) -> Floats:
    """Blocks handed out by each scrape, since the epoch of the fleet."""
    tokens = traffic.prompt_tokens - traffic.local_hits_tokens + generated
    more = np.where(traffic.pressed, MORE_PRESSED, 1.0) * tokens / BLOCK_TOKENS
    blocks: Floats = (0.0 if past is None else past.blocks[-1]) + np.cumsum(more)
    return blocks


def residency_increments(
    made: EngineCycle, blocks: Floats, past: Past | None, down: Bools, rng: np.random.Generator
) -> Measured:
    """Increments of the three histograms; nothing at all where the flag is off."""
    if not made.engine.kv_metrics:
        return {}
    age, evicted = _evictions(made, blocks, past)
    sampled = rng.binomial(np.floor(evicted).astype(np.int64) * ~down, SAMPLE_RATE)
    at = np.repeat(np.arange(sampled.size), sampled)
    idle = age[at] * rng.lognormal(0, AGE_SPREAD, at.size)
    hit = rng.random(at.size) < HIT_SHARE
    span = REUSE_S * rng.lognormal(0, REUSE_SPREAD, at.size)
    span = np.minimum(span, made.engine.running_s(made.elapsed)[at]) * hit
    gaps = rng.choice(len(GAPS), at.size, p=GAPS) * hit
    between = np.repeat(span / np.maximum(gaps, 1), gaps) * rng.random(int(gaps.sum()))
    size = sampled.size
    return {
        **_histogram("vllm:kv_block_idle_before_evict_seconds", at, idle, size),
        **_histogram("vllm:kv_block_lifetime_seconds", at, idle + span, size),
        **_histogram("vllm:kv_block_reuse_gap_seconds", np.repeat(at, gaps), between, size),
    }


def _evictions(made: EngineCycle, blocks: Floats, past: Past | None) -> tuple[Floats, Floats]:
    """For each interval the age of the blocks that are handed out again, and their number."""
    engine, elapsed = made.engine, made.elapsed
    times, handed = elapsed, blocks
    if past is not None:
        times, handed = np.append(past.elapsed, elapsed), np.append(past.blocks, blocks)
    since = elapsed - np.minimum(engine.running_s(elapsed), _since_reset(engine, elapsed))
    fresh = blocks - np.interp(since, times, handed)
    over = np.maximum(fresh - engine.model.gpu_blocks, 0)
    evicted = np.minimum(over, np.diff(blocks, prepend=blocks[0]))
    free = np.where(made.traffic.pressed, FREE_PRESSED, FREE) * engine.model.gpu_blocks
    age = elapsed - np.interp(blocks - free, handed, times)
    return np.maximum(age, 0.5), evicted


def _since_reset(engine: Engine, elapsed: Floats) -> Floats:
    never = np.full(elapsed.size, np.inf)
    if not engine.reset.length_s:
        return never
    return np.where(engine.reset.times_begun(elapsed) > 0, engine.reset.since_start(elapsed), never)


def _histogram(family: str, at: Ints, values: Floats, size: int) -> Measured:
    """Counts per interval up to each edge, and their count and sum."""
    counts = np.zeros((size, len(EDGES)), dtype=np.int64)
    np.add.at(counts, (at, np.searchsorted(np.array(EDGES), values)), 1)
    below = counts.cumsum(axis=1).T
    return {
        **{
            Name(f"{family}_bucket", "le", edge_text(edge)): column
            for edge, column in zip(EDGES, below, strict=True)
        },
        Name(f"{family}_count"): below[-1],
        Name(f"{family}_sum"): np.bincount(at, weights=values, minlength=size),
    }
