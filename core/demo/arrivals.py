"""The requests behind the engines' counters, one story cycle at a time.

Every request an engine counted in a scrape interval gets its moment in that
interval, and what becomes of it; whose it is, is decided in `sessions`. Most pass
the gateway and are told truly. The rest are the differences a reader has to live
with, in shares known here.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from core.demo.exports import CACHED_SPEEDUP, FIRST_TOKEN_SHAPE, PRESSED_DELAY
from core.demo.fleet import AFFINITY, FLEET, GPT_OSS, SCRAPE_S
from core.demo.sessions import Moments, drawn_turns
from core.demo.traffic import EngineCycle
from core.domain.records import Bools, Floats, Ints

WITHOUT_DETAILS = "llama-4-scout-2"
"""The pod that runs without `--enable-prompt-tokens-details`."""
DIRECT_CLIENT = GPT_OSS
DIRECT_SHARE = 0.04
"""Share of that model's requests that never pass the gateway."""
TIMEOUT_SHARE = 0.0008
CANCELLED_SHARE = 0.015
WRONG_SHARE = 0.0006
FAILED_SHARE = 0.002
"""Share of the requests whose first attempt fails, at models with several addresses."""
FAILED_IN_RESTART = 0.33
"""The same while an engine of the model restarts: its turn in the balancing."""
TOKENS_PER_S = 25.0
OUTPUT_SPREAD = 0.7
MOST_OUTPUT = {"chat": 2048, "agents": 4096}
NOWHERE = -1
_SCRAPE_MS = SCRAPE_S * 1000
_WAIT_BOUNDS_MS = (15.0, 120_000.0)


class Kind(IntEnum):
    """What is known of a request at the gateway, or what else a row is.

    `MEASURED` tells its cached tokens, `UNREPORTED` comes from an engine that does
    not say them, `CANCELLED` carries the proxy's estimate; `OVERLAP`, `BOOLEAN` and
    `TEXT` are wrong usage. `FAILED` is a first attempt, `TOOL` and `ROOT` come from
    the client. `DIRECT` and `TIMEOUT` have no row.
    """

    MEASURED = 0
    UNREPORTED = 1
    CANCELLED = 2
    OVERLAP = 3
    BOOLEAN = 4
    TEXT = 5
    FAILED = 6
    TOOL = 7
    ROOT = 8
    DIRECT = 9
    TIMEOUT = 10


WRONG = (Kind.OVERLAP, Kind.BOOLEAN, Kind.TEXT)
OUTSIDE = (Kind.DIRECT, Kind.TIMEOUT)

_CHAT = np.array([engine.model.namespace == "chat" for engine in FLEET])
_SILENT = np.array([engine.pod == WITHOUT_DETAILS for engine in FLEET])
_DIRECT = np.array([engine.model is DIRECT_CLIENT for engine in FLEET])


@dataclass(frozen=True)
class Arrivals:
    """Requests in order of engine and scrape interval.

    Parameters
    ----------
    counts, prompt_tokens, cached_tokens : int array, one value per interval
        As the engines count them.
    at_ms, place : int array
        First token, and the place of the engine in the fleet.
    wait_ms : int array
        Time to first token, for the cached share of the interval.
    ratio : float array
        Cached share of the interval.
    output, limit, busy_ms : int array
        Generated tokens, their allowed number, and how long that took.
    kind : int array
        A `Kind`; a cancelled one only holds where the turn ends with it.
    silent : bool array
        The engine does not say its cached tokens.
    other : int array
        Place of an engine whose attempt failed before, or `NOWHERE`.
    """

    counts: Ints
    prompt_tokens: Ints
    cached_tokens: Ints
    at_ms: Ints
    place: Ints
    wait_ms: Ints
    ratio: Floats
    output: Ints
    limit: Ints
    busy_ms: Ints
    kind: Ints
    silent: Bools
    other: Ints


def arrivals(cycles: list[EngineCycle], epoch: float, rng: np.random.Generator) -> Arrivals:
    """Draw the requests of all engines in a cycle."""
    counts = np.concatenate([made.traffic.requests for made in cycles])
    prompt = np.concatenate([made.traffic.prompt_tokens for made in cycles])
    cached = np.concatenate([made.traffic.cached_tokens for made in cycles])
    ends = np.concatenate([np.round(made.at * 1000).astype(np.int64) for made in cycles])
    pressed = np.concatenate([made.traffic.pressed for made in cycles])
    places = np.repeat(np.arange(len(cycles)), [made.at.size for made in cycles])
    group = np.repeat(np.arange(counts.size), counts)
    place, size = places[group], group.size
    at_ms = ends[group] - _SCRAPE_MS + rng.integers(1, _SCRAPE_MS + 1, size)
    ratio = (cached / np.maximum(prompt, 1))[group]
    kind = _kinds(place, rng)
    limit = np.where(_CHAT[place], MOST_OUTPUT["chat"], MOST_OUTPUT["agents"])
    output = np.minimum(_outputs(place, rng), limit)
    part = np.where(kind == Kind.CANCELLED, rng.uniform(0.05, 0.6, size), 1.0)
    output = np.maximum((output * part).astype(np.int64), 1)
    busy = 1000 * output / TOKENS_PER_S * rng.uniform(0.9, 1.1, size)
    return Arrivals(
        counts=counts,
        prompt_tokens=prompt,
        cached_tokens=cached,
        at_ms=at_ms,
        place=place,
        wait_ms=_waits(place, ratio, pressed[group], rng),
        ratio=ratio,
        output=output,
        limit=limit,
        busy_ms=busy.astype(np.int64),
        kind=kind,
        silent=_SILENT[place],
        other=_failed_before(place, at_ms / 1000 - epoch, rng),
    )


def moments(found: Arrivals, epoch: float, rng: np.random.Generator) -> tuple[Moments, Ints]:
    """The arrivals in order of time, and where each stands in that order."""
    order = np.argsort(found.at_ms, kind="stable")
    at_ms, place = found.at_ms[order], found.place[order]
    drawn = Moments(
        at_ms=at_ms,
        place=place,
        wait_ms=found.wait_ms[order],
        busy_ms=found.busy_ms[order],
        affine=AFFINITY.covers(at_ms / 1000 - epoch),
        outside=np.isin(found.kind[order], OUTSIDE),
        **drawn_turns(_CHAT[place], rng),
    )
    return drawn, np.argsort(order)


def _kinds(place: Ints, rng: np.random.Generator) -> Ints:
    """Draw what becomes of each request."""
    kind = np.where(_SILENT[place], Kind.UNREPORTED, Kind.MEASURED).astype(np.int64)
    wrong = (rng.random(place.size) < WRONG_SHARE) & (kind == Kind.MEASURED)
    kind[wrong] = np.resize(np.array(WRONG), int(wrong.sum()))
    kind[rng.random(place.size) < CANCELLED_SHARE] = Kind.CANCELLED
    kind[rng.random(place.size) < TIMEOUT_SHARE] = Kind.TIMEOUT
    kind[(rng.random(place.size) < DIRECT_SHARE) & _DIRECT[place]] = Kind.DIRECT
    return kind


def _outputs(place: Ints, rng: np.random.Generator) -> Ints:
    mean = np.array([engine.model.generation_s for engine in FLEET])[place] * TOKENS_PER_S
    spread = rng.lognormal(-(OUTPUT_SPREAD**2) / 2, OUTPUT_SPREAD, place.size)
    outputs: Ints = np.round(mean * spread).astype(np.int64)
    return outputs


def _waits(place: Ints, ratio: Floats, pressed: Bools, rng: np.random.Generator) -> Ints:
    """Times to first token, by the law of the engines' histogram."""
    median = np.array([engine.model.first_token_s for engine in FLEET])[place]
    median = median * (1 - CACHED_SPEEDUP * ratio) * np.where(pressed, PRESSED_DELAY, 1.0)
    drawn = rng.random(place.size)
    wait = 1000 * median * (drawn / (1 - drawn)) ** (1 / FIRST_TOKEN_SHAPE)
    waits: Ints = np.clip(wait, *_WAIT_BOUNDS_MS).astype(np.int64)
    return waits


def _failed_before(place: Ints, elapsed: Floats, rng: np.random.Generator) -> Ints:
    """Draw where a first attempt failed: now and then anywhere, often at a restarting engine."""
    other = np.where(rng.random(place.size) < FAILED_SHARE, _NEXT[place], NOWHERE)
    for down, engine in enumerate(FLEET):
        if not engine.restart.length_s:
            continue
        sharing = np.array([engine.model is one.model and engine is not one for one in FLEET])
        tried = engine.restart.covers(elapsed) & sharing[place]
        other[tried & (rng.random(place.size) < FAILED_IN_RESTART)] = down
    return other


def _next_place(place: int) -> int:
    """Another engine of the model that is always there, or nowhere."""
    mine = FLEET[place]
    others = [
        i
        for i, one in enumerate(FLEET)
        if one.model is mine.model
        and one.instance != mine.instance
        and one.traffic.length_s >= mine.traffic.length_s
        and not one.restart.length_s
    ]
    return min(others, key=lambda i: (i < place, i), default=NOWHERE)


_NEXT = np.array([_next_place(place) for place in range(len(FLEET))])
