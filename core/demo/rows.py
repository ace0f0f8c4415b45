"""Records of observations: requests, and what their clients do around them.

Kept as numbers only; `observations` makes their JSON.
"""

from dataclasses import dataclass

import numpy as np

from core.demo.arrivals import NOWHERE, Arrivals, Kind
from core.demo.exports import CACHED_SPEEDUP
from core.demo.identity import Identity, Keys
from core.demo.people import in_arm_b, streaming
from core.demo.sessions import Calls
from core.demo.shares import divided_hits, divided_prompts
from core.demo.shelf import Records
from core.domain.records import Bools, Floats, Ints

ROW = np.dtype(
    [("time", "i8"), ("key", "u8"), ("took", "i4"), ("first", "i4")]
    + [(name, "i4") for name in ("call", "trace", "session", "prompt", "cached", "output")]
    + [("limit", "i2"), ("turn", "i2"), ("place", "i1"), ("kind", "u1"), ("step", "u1")]
    + [(name, "?") for name in ("rooted", "stream", "retried", "last", "over")]
)
"""An observation, or a request without one. `time` is its start, `took` its length and
`first` its time to first token, in milliseconds; `place` is the engine's in the fleet."""

ROOT_PART, FAILED_PART, TOOL_PART = 1, 2, 3
"""What an observation is to its call or trace; the call itself is part 0."""

GROWTH_BY_TURN, GROWTH_BY_STEP = 0.3, 0.15
LONGEST_GROWTH_TURNS = 12
PROMPT_SPREAD = 0.4
FIRST_TURN_SHARE, NEXT_TURN_SHARE = 0.10, 0.80
"""Cached share that a session's first call, and a later one, would have if all were well."""
SHARE_BOUNDS = (0.02, 0.97)
FORGETTING_S = 900.0
"""Idle time after which a prefix has 1/e of its chance left."""
ELSEWHERE = 0.3
"""What is left of it on another engine."""
ARM_B_WARMTH = 1.15
LONGEST_FAILED_MS = 1500
AROUND_MS = 4
"""What a client needs between its own step and a call."""


@dataclass(frozen=True)
class Timing:
    """When requests began, how long a first attempt failed, and the wait for the first token."""

    begun_ms: Ints
    failed_ms: Ints
    wait_ms: Ints


def observation_keys(identity: Identity, serials: Ints, part: int) -> Keys:
    """Keys of observations, from the serial numbers of calls, or of traces for roots."""
    return identity.keys("observation", 4 * serials.astype(np.int64) + part)


def cycle_rows(
    found: Arrivals, calls: Calls, identity: Identity, rng: np.random.Generator, *, serial: int
) -> tuple[Records, Records]:
    """Records of a cycle's requests, numbered from a serial on, and of what is around them."""
    prompts = divided_prompts(found.prompt_tokens, found.counts, _weights(calls, rng))
    shares = _shares(calls, found.at_ms, in_arm_b(identity, calls.session), rng)
    hits = divided_hits(found.cached_tokens, found.counts, prompts, shares)
    kind = np.where((found.kind == Kind.CANCELLED) & ~calls.last, _uncancelled(found), found.kind)
    stream = streaming(identity, calls.session, found.place) | (kind == Kind.CANCELLED)
    retried = (found.other != NOWHERE) & (kind <= Kind.UNREPORTED)
    timing = _timing(found, calls, hits / prompts, retried)
    begun = np.where(stream, timing.begun_ms, timing.begun_ms + timing.failed_ms)
    rows = np.empty(kind.size, ROW)
    rows["call"] = serial + np.arange(kind.size)
    rows["key"] = observation_keys(identity, rows["call"], 0)
    rows["time"], rows["first"] = begun, found.at_ms - begun
    rows["took"] = found.at_ms - begun + found.busy_ms
    rows["prompt"], rows["cached"], rows["kind"] = prompts, hits, kind
    rows["stream"], rows["retried"] = stream, retried
    for name in ("output", "limit", "place"):
        rows[name] = getattr(found, name)
    for name in ("trace", "session", "turn", "step", "rooted", "last", "over"):
        rows[name] = getattr(calls, name)
    around = [
        _failed(rows, timing, found.other, identity),
        _tools(rows, calls, identity),
        _roots(rows, calls, identity),
    ]
    return rows, np.concatenate(around)


def _uncancelled(found: Arrivals) -> Ints:
    """What a request is that a client was not there to cancel: its answer was a tool's turn."""
    return np.where(found.silent, Kind.UNREPORTED, Kind.MEASURED)


def _weights(calls: Calls, rng: np.random.Generator) -> Floats:
    """Relative prompt lengths: a session's context grows."""
    grown = 1 + GROWTH_BY_TURN * np.minimum(calls.turn, LONGEST_GROWTH_TURNS)
    weights: Floats = grown + GROWTH_BY_STEP * calls.step
    return weights * rng.lognormal(0.0, PROMPT_SPREAD, weights.size)


def _shares(calls: Calls, at_ms: Ints, arm_b: Bools, rng: np.random.Generator) -> Floats:
    """Cached shares relative to each other: by turn, idle time, engine and arm."""
    idle_s = np.maximum(at_ms - calls.before_ms, 0) / 1000
    later = NEXT_TURN_SHARE * np.exp(-idle_s / FORGETTING_S)
    later = later * np.where(calls.moved, ELSEWHERE, 1.0)
    share = np.where((calls.turn > 0) | (calls.step > 0), later, FIRST_TURN_SHARE)
    share = share * np.where(arm_b, ARM_B_WARMTH, 1.0) * rng.uniform(0.7, 1.1, share.size)
    bounded: Floats = np.clip(share, *SHARE_BOUNDS)
    return bounded


def _timing(found: Arrivals, calls: Calls, ratio: Floats, retried: Bools) -> Timing:
    """When requests began: more cached is faster, and never before the step before."""
    speed = (1 - CACHED_SPEEDUP * ratio) / (1 - CACHED_SPEEDUP * found.ratio)
    earliest = np.maximum(calls.free_ms, calls.opened_ms + AROUND_MS)
    wait = np.minimum((found.wait_ms * speed).astype(np.int64) + 1, found.at_ms - earliest)
    failed = np.where(retried, np.minimum(wait // 2, LONGEST_FAILED_MS), 0)
    return Timing(found.at_ms - wait, failed, wait)


def _failed(rows: Records, timing: Timing, other: Ints, identity: Identity) -> Records:
    """First attempts that failed, at another engine."""
    chosen = rows["retried"]
    failed = _blank(rows, chosen, Kind.FAILED)
    failed["key"] = observation_keys(identity, failed["call"], FAILED_PART)
    failed["time"], failed["took"] = timing.begun_ms[chosen], timing.failed_ms[chosen]
    failed["place"] = other[chosen]
    return failed


def _tools(rows: Records, calls: Calls, identity: Identity) -> Records:
    """Tool runs between two calls of a turn."""
    chosen = calls.step > 0
    tools = _blank(rows, chosen, Kind.TOOL)
    tools["key"] = observation_keys(identity, tools["call"], TOOL_PART)
    tools["time"] = calls.before_ms[chosen] + 1
    tools["took"] = calls.free_ms[chosen] - calls.before_ms[chosen] - 2
    return tools


def _roots(rows: Records, calls: Calls, identity: Identity) -> Records:
    """Roots of turns with tools; a turn of one call is its own root."""
    chosen = calls.rooted & calls.last
    roots = _blank(rows, chosen, Kind.ROOT)
    roots["key"] = observation_keys(identity, roots["trace"], ROOT_PART)
    ends = roots["time"] + rows["took"][chosen] + AROUND_MS
    roots["time"] = calls.opened_ms[chosen]
    roots["took"] = ends - roots["time"]
    return roots


def _blank(rows: Records, chosen: Bools, kind: Kind) -> Records:
    """Copies of rows without what only a request has."""
    copies = rows[chosen]
    copies["kind"], copies["first"] = kind, -1
    for name in ("prompt", "cached", "output", "retried", "last", "over"):
        copies[name] = 0
    return copies
