"""KV residency: how long sampled blocks stayed, as far as engines report it."""

from collections import Counter
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.levers import LeverKind
from core.domain.match_unit import possible_hit_tokens
from core.domain.reading import Reading, Reason
from core.domain.scope import Scope
from core.views.block_histograms import (
    INSTRUMENTS,
    Blocks,
    Buckets,
    Distribution,
    Residency,
    median_over_time,
)
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.requests import request_params

PROMPTS = (1024, 1025, 2047, 4096)
"""Prompt lengths for which possible hits are shown, tokens."""


@dataclass(frozen=True)
class EngineBlocks:
    """One engine: what it tells, and its medians."""

    name: str
    state: Residency
    evictions: Reading
    medians: tuple[Reading, ...]


@dataclass(frozen=True)
class MatchUnit:
    """What one engine's blocks allow: `possible` has the hit tokens for each of PROMPTS."""

    name: str
    block_size: int | None
    match_unit: int | None
    blocks: int | None
    possible: tuple[int | None, ...]


@dataclass(frozen=True)
class TurnGaps:
    """Idle gaps between turns: buckets of powers of two, and unknown ones by reason."""

    buckets: Buckets
    n: int
    unknown: dict[str, int]


@dataclass(frozen=True)
class KvResidencyView:
    """Everything the KV residency page shows."""

    fleet: Fleet
    evictions: Reading
    idle: Distribution
    reuse_gap: Distribution
    lifetime: Distribution
    engines: tuple[EngineBlocks, ...]
    states: dict[Residency, tuple[str, ...]]
    too_many_gaps: tuple[str, ...]
    sample_rates: tuple[str, ...]
    restarts: int
    resets: int
    medians: dict[str, tuple[Reading, ...]]
    evictions_over_time: dict[str, tuple[float | None, ...]]
    turn_gaps: TurnGaps
    match_units: tuple[MatchUnit, ...]

    @property
    def distributions(self) -> tuple[Distribution, Distribution, Distribution]:
        """The three histograms."""
        return (self.idle, self.reuse_gap, self.lifetime)

    @property
    def measured(self) -> bool:
        """Whether any engine told of a sampled eviction, or broke the contract."""
        return any(one.n or one.broken for one in self.distributions)


def build(store: Store, scope: Scope, now: float) -> KvResidencyView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    params = query_params(scope, fleet.window)
    blocks = Blocks(
        fleet,
        tuple(store.read("kv_block_buckets", params)),
        tuple(store.read("kv_block_counts", params)),
    )
    medians, evictions = median_over_time(
        blocks,
        store.read("block_idle_over_time", params),
        store.read("evictions_over_time", params),
    )
    settings = {row.engine_id: row for row in store.read("kv_configurations", {})}
    here = [settings[e.engine_id] for e in fleet.engines if e.engine_id in settings]
    kinds = Counter(mark.kind for mark in fleet.changes)
    return KvResidencyView(
        fleet=fleet,
        evictions=blocks.evictions(),
        idle=blocks.distribution("block_idle_s"),
        reuse_gap=blocks.distribution("block_reuse_gap_s"),
        lifetime=blocks.distribution("block_lifetime_s"),
        engines=_engines(blocks),
        states=_states(blocks),
        too_many_gaps=blocks.too_many_gaps(),
        sample_rates=tuple(sorted({r.sample_rate for r in here if r.sample_rate is not None})),
        restarts=kinds[LeverKind.RESTART],
        resets=kinds[LeverKind.CACHE_RESET],
        medians=medians,
        evictions_over_time=evictions,
        turn_gaps=_turn_gaps(store.read("turn_gaps", request_params(scope, fleet.window))),
        match_units=tuple(_match_unit(e.name, settings.get(e.engine_id)) for e in fleet.engines),
    )


def _states(blocks: Blocks) -> dict[Residency, tuple[str, ...]]:
    """Engines by what they tell."""
    found: dict[Residency, list[str]] = {}
    for engine in blocks.fleet.engines:
        found.setdefault(blocks.states[engine.engine_id], []).append(engine.name)
    return {state: tuple(names) for state, names in found.items()}


def _engines(blocks: Blocks) -> tuple[EngineBlocks, ...]:
    counted = blocks.counted(INSTRUMENTS["block_idle_s"])
    return tuple(
        EngineBlocks(
            name=engine.name,
            state=blocks.states[engine.engine_id],
            evictions=Reading("sampled_evictions", counted[engine.engine_id])
            if engine.engine_id in counted
            else Reading("sampled_evictions", None, _why(blocks.states[engine.engine_id])),
            medians=tuple(_of_one(blocks, metric, engine.engine_id) for metric in INSTRUMENTS),
        )
        for engine in blocks.fleet.engines
    )


def _of_one(blocks: Blocks, metric: str, engine_id: int) -> Reading:
    state = blocks.states[engine_id]
    if engine_id not in blocks.counted(INSTRUMENTS[metric]):
        return Reading(metric, None, _why(state))
    return blocks.distribution(metric, {engine_id}).quantiles[0].bucket


def _why(state: Residency) -> Reason:
    return {
        Residency.FLAG_OFF: Reason.FLAG_OFF,
        Residency.STATS_OFF: Reason.NOT_EXPORTED,
    }.get(state, Reason.TOO_FEW_SCRAPES)


def _turn_gaps(rows: list[Row]) -> TurnGaps:
    known = {row.power: row.turns for row in rows if row.power is not None}
    powers = range(min(known), max(known) + 1) if known else ()
    return TurnGaps(
        buckets=tuple((2.0 ** (p + 1), float(known[p]) if p in known else 0.0) for p in powers),
        n=sum(known.values()),
        unknown={row.reason: row.turns for row in rows if row.power is None},
    )


def _match_unit(name: str, labels: Row | None) -> MatchUnit:
    size = None if labels is None else _whole(labels.block_size)
    given = None if labels is None else _whole(labels.match_unit)
    unit = size if given is None else given
    return MatchUnit(
        name=name,
        block_size=size,
        match_unit=given,
        blocks=None if labels is None else _whole(labels.blocks),
        possible=tuple(
            None if unit is None else possible_hit_tokens(prompt, unit) for prompt in PROMPTS
        ),
    )


def _whole(text: str | None) -> int | None:
    """A label as a whole number above 0; Python's None and anything else is no number.

    >>> _whole("16"), _whole("None"), _whole(None)
    (16, None, None)
    """
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None
