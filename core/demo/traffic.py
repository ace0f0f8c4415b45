"""What each engine of the fleet does in each scrape interval.

Load, routing, warmth of the cache and KV pressure become requests and tokens
here. Nothing of this room knows how a server would export them.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from core.demo.configuration import BLOCK_TOKENS
from core.demo.fleet import AFFINITY, CYCLE_S, FLEET, SCRAPE_S, Engine
from core.domain.records import Bools, Floats, Ints

DAY_S = 86_400
RIPPLE_S = 2_700
AFFINITY_LAG_S = 90.0
WARMING_S = 200.0
PRESSED_HITS = 0.5
"""Share of its usual hits that is left to a cache under KV pressure."""
REQUEST_SHAPE = 1.5
"""Shape of the gamma law of prompt lengths."""

_GRID: Floats = np.arange(0.0, CYCLE_S, SCRAPE_S)


@dataclass(frozen=True)
class Traffic:
    """What one engine did in each scrape interval.

    Parameters
    ----------
    rate : float array
        Expected requests per second.
    requests, prompt_tokens : int array
        Requests that got their first token, and their prompt tokens.
    local_hits_tokens : int array
        Of the prompt tokens, those that came from the engine's own cache.
    external_queries_tokens, external_hits_tokens : int array
        Of the rest, those looked up in a KV connector and found there.
    pressed : bool array
        Whether the engine had too little KV room.
    """

    rate: Floats
    requests: Ints
    prompt_tokens: Ints
    local_hits_tokens: Ints
    external_queries_tokens: Ints
    external_hits_tokens: Ints
    pressed: Bools

    @property
    def cached_tokens(self) -> Ints:
        """Prompt tokens that were not computed."""
        return self.local_hits_tokens + self.external_hits_tokens


@dataclass(frozen=True)
class EngineCycle:
    """One engine's traffic in one story cycle.

    Parameters
    ----------
    engine : Engine
    elapsed, at : float array
        Ends of the scrape intervals: seconds since the epoch of the fleet, and of Unix.
    traffic : Traffic
    rng : Generator
        What is drawn further for this engine and cycle goes on from here.
    """

    engine: Engine
    elapsed: Floats
    at: Floats
    traffic: Traffic
    rng: np.random.Generator


def engine_cycle(place: int, number: int, *, seed: int, epoch: float) -> EngineCycle:
    """What the engine at a place of the fleet does in a cycle; the same whoever asks."""
    engine = FLEET[place]
    rng = np.random.default_rng([seed, place, number])
    elapsed = number * CYCLE_S + engine.scrape_offset_s + _GRID
    at = np.round(epoch + elapsed, 3)
    return EngineCycle(engine, elapsed, at, engine_traffic(engine, elapsed, at, rng), rng)


def engine_traffic(
    engine: Engine, elapsed: Floats, at: Floats, rng: np.random.Generator
) -> Traffic:
    """Traffic in the scrape intervals that end `elapsed` seconds after the epoch, at `at`."""
    model = engine.model
    affinity = _affinity(elapsed)
    pressed = engine.kv_pressure.covers(elapsed)
    rate = model.requests_per_s * engine.share * _load(at)
    rate = rate * (1 + affinity * (engine.affine_share - 1))
    rate = rate * engine.traffic.covers(elapsed) * ~engine.restart.covers(elapsed)
    requests = rng.poisson(rate * SCRAPE_S)
    prompt = _prompt_tokens(requests, model.prompt_tokens, rng)
    ratio = model.hit_ratio + affinity * (model.affine_hit_ratio - model.hit_ratio)
    ratio = ratio * _warmth(engine, elapsed) * np.where(pressed, PRESSED_HITS, 1.0)
    local = whole_blocks(prompt, rng.normal(ratio, 0.035))
    missed = (prompt - local) * (model.external_hit_ratio > 0)
    external = whole_blocks(missed, rng.normal(model.external_hit_ratio, 0.02, missed.size))
    return Traffic(rate, requests, prompt, local, missed, external, pressed)


def whole_blocks(tokens: Ints, share: Floats) -> Ints:
    """A share of tokens in whole blocks; at most nine tenths, as the last token is computed."""
    blocks = np.floor(tokens * np.clip(share, 0, 0.9) / BLOCK_TOKENS).astype(np.int64)
    whole: Ints = blocks * BLOCK_TOKENS
    return whole


def _prompt_tokens(requests: Ints, mean: int, rng: np.random.Generator) -> Ints:
    """Summed prompt lengths: every prompt has a block at least."""
    beyond = rng.gamma(REQUEST_SHAPE * requests) * (mean - BLOCK_TOKENS) / REQUEST_SHAPE
    tokens: Ints = requests * BLOCK_TOKENS + np.round(beyond).astype(np.int64)
    return tokens


def _load(at: Floats) -> Floats:
    """Load relative to its mean: highest at 15:00 in Seoul, with a ripple."""
    day = np.sin(2 * pi * at / DAY_S)
    ripple = np.sin(2 * pi * at / RIPPLE_S)
    load: Floats = 1 + 0.4 * day + 0.08 * ripple
    return load


def _affinity(elapsed: Floats) -> Floats:
    """How far sessions have settled on their engines, 0 to 1."""
    since = AFFINITY.since_start(elapsed)
    settling = 1 - np.exp(-since / AFFINITY_LAG_S)
    scattering = np.exp((AFFINITY.length_s - since) / AFFINITY_LAG_S)
    return np.where(AFFINITY.covers(elapsed), settling, scattering)


def _warmth(engine: Engine, elapsed: Floats) -> Floats:
    """Share of its usual hits that a cache gives after a start."""
    warmth: Floats = 1 - np.exp(-engine.running_s(elapsed) / WARMING_S)
    return warmth
