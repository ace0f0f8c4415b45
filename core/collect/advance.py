"""One slice of raw samples turned into a batch, and the state moved on.

A pure function of the state, the slice and the settings: reading the same slice
again from the same state gives the same rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa

from core.catalogue import ENGINE_INSTRUMENTS, Kind
from core.collect.batch import (
    bucket_rows,
    configuration_rows,
    counter_rows,
    engine_rows,
    export_rows,
    gauge_rows,
    lever_rows,
    series_rows,
    target_rows,
)
from core.collect.changes import (
    Configurations,
    Presence,
    duplicate_places,
    place_key,
    place_of,
    read_configurations,
    read_presence,
    restarts,
)
from core.collect.gateway import GatewayCounts, count_gateway, key_gateway
from core.collect.resets import Resets, read_resets
from core.collect.scrapes import DEFAULT_INTERVAL_S, Scrapes, read_scrapes, sample_times
from core.collect.slices import (
    Block,
    Keyed,
    KeyedSeries,
    build_block,
    join_duplicates,
    key_series,
    last_samples,
)
from core.collect.state import MEMORY_S, EngineMemory, EngineTarget, Sample, State
from core.config import Settings
from core.domain.counters import Steps, counter_cells, counter_steps
from core.domain.records import Floats, RawSeries


@dataclass(frozen=True)
class Slice:
    """Raw samples of [start, end), of `up` of their targets, and of calls of a cache reset."""

    start: int
    end: int
    samples: Sequence[RawSeries]
    up: Sequence[RawSeries]
    resets: Sequence[RawSeries] = ()


@dataclass(frozen=True)
class Advance:
    """The rows of one slice, the state after it, and what was odd about it."""

    tables: dict[str, pa.Table]
    state: State
    points: int
    seconds: int
    rejected: dict[str, int]
    odd: dict[str, str]


def advance(state: State, read: Slice, *, settle_to: int, settings: Settings) -> Advance:
    """Turn a slice into rows.

    Parameters
    ----------
    state : State
        Memory as of `read.start`.
    settle_to : int
        Samples before it are final and enter the new state; the rest of the
        slice will be read again.
    """
    facts = _facts(state, read, settle_to, settings)
    counters = build_block(
        facts.of(Kind.COUNTER, Kind.HISTOGRAM), _earlier(facts, state), counters=True
    )
    gauges = build_block(facts.of(Kind.GAUGE), {}, counters=False)
    steps = counter_steps(counters.samples, instrument=counters.instruments)
    gateway = count_gateway(facts.gateway, state, facts.scrapes, settle_to=settle_to)
    cells = _cell_tables(facts, counters, steps, gauges)
    changes = [
        *restarts(counters, steps, leave_out=facts.duplicates),
        *facts.configurations.changes,
        *facts.presence.changes,
        *facts.resets.changes,
    ]
    exports = _exports(facts)
    changed = {k: v for k, v in exports.items() if state.exports.get(k) != v}
    return Advance(
        tables=cells
        | {
            "counter_cells": pa.concat_tables([cells["counter_cells"], gateway.cells]),
            "gateway_series": gateway.series,
            "engines": engine_rows(facts.seen),
            "targets": target_rows(
                facts.places, facts.presence.gone, facts.duplicates, facts.scrapes
            ),
            "series": series_rows(facts.series, state),
            "exports": export_rows(changed, read.end),
            "configurations": configuration_rows(facts.configurations.fresh, read.end),
            "levers": lever_rows(changes),
        },
        state=_next_state(state, facts, gateway, exports, settle_to),
        points=sum(k.raw.times.size for k in (*facts.keyed.series, *facts.gateway.series)),
        seconds=read.end - read.start,
        rejected=_rejected((counters, gauges, gateway.block)),
        odd=facts.keyed.odd | facts.gateway.odd,
    )


@dataclass(frozen=True)
class _Facts:
    """What a slice says, before any arithmetic: who, when, and under which names."""

    keyed: Keyed
    gateway: Keyed
    times_of: Mapping[EngineTarget, Floats]
    scrapes: Scrapes
    duplicates: Mapping[EngineTarget, EngineTarget]
    seen: Mapping[EngineTarget, EngineMemory]
    places: Mapping[EngineTarget, EngineMemory]
    presence: Presence
    configurations: Configurations
    resets: Resets

    series: Sequence[KeyedSeries]
    """Series under a current name: what counts, then what only repeats it."""

    def of(self, *kinds: Kind) -> list[KeyedSeries]:
        """Series of some kinds of instruments."""
        return [key for key in self.series if key.name.instrument.kind in kinds]


def _facts(state: State, read: Slice, settle_to: int, settings: Settings) -> _Facts:
    keyed = key_series(read.samples, settings)
    current = [key for key in keyed.series if not key.name.renamed]
    times_of = sample_times(keyed.series)
    known = {place_of(key): memory for key, memory in state.engines.items()}
    gateway = key_gateway(read.samples, read.up, settings)
    targets = {key.target for key in (*keyed.series, *gateway.series)}
    targets |= {m.target for m in (*known.values(), *state.proxies.values())}
    scrapes = read_scrapes(
        read.up,
        sample_times(gateway.series) | times_of,
        targets,
        state,
        settings,
        settle_to=settle_to,
    )
    duplicates = duplicate_places(current, state.engines)
    seen = _seen(keyed.series, times_of, state, duplicates)
    presence = read_presence(
        times_of,
        {place: memory.target.instance for place, memory in seen.items()},
        scrapes,
        state,
        end=read.end,
        leave_after_s=settings.leave_after_s,
    )
    return _Facts(
        keyed=keyed,
        gateway=gateway,
        times_of=times_of,
        scrapes=scrapes,
        duplicates=duplicates,
        seen=seen,
        places=known | seen,
        presence=presence,
        configurations=read_configurations(current, state, settings.labels, settle_to=settle_to),
        resets=read_resets(
            read.resets, known | seen, duplicates, scrapes, state, settings, settle_to=settle_to
        ),
        series=[
            *join_duplicates(
                current,
                {place: (known | seen)[first].target for place, first in duplicates.items()},
            ),
            *(key for key in current if key.place in duplicates),
        ],
    )


def _cell_tables(
    facts: _Facts, counters: Block, steps: Steps, gauges: Block
) -> dict[str, pa.Table]:
    interval = [facts.scrapes.interval_s(k.place[1]) or DEFAULT_INTERVAL_S for k in counters.keys]
    cells = counter_cells(
        counters.samples, steps, scrape_interval_s=np.array(interval, dtype=float)
    )
    return {
        "counter_cells": counter_rows(cells, counters.keys, facts.duplicates),
        "bucket_cells": bucket_rows(counters, cells, facts.duplicates),
        "gauge_cells": gauge_rows(gauges, facts.duplicates),
    }


def _next_state(
    state: State,
    facts: _Facts,
    gateway: GatewayCounts,
    exports: dict[str, tuple[str, str | None]],
    settle_to: int,
) -> State:
    """The memory as of `settle_to`."""
    up, scrape_gaps_s = facts.scrapes.remember(settle_to)
    last = state.last | last_samples(facts.series, settle_to) | gateway.last | facts.resets.last
    return msgspec.structs.replace(
        state,
        settled=settle_to,
        last={series: s for series, s in last.items() if settle_to - s[0] <= MEMORY_S},
        up=up,
        scrape_gaps_s=scrape_gaps_s,
        watched_since=facts.presence.watch.since(settle_to),
        engines=_remembered(facts, settle_to),
        proxies=gateway.proxies,
        proxies_since=gateway.since,
        resets_since=facts.resets.since,
        exports=state.exports | exports,
        configs=state.configs | facts.configurations.settled,
    )


def _earlier(facts: _Facts, state: State) -> dict[int, Sample]:
    """The sample before the slice of each series.

    A series without one that was born between two successful scrapes of its
    target started at 0 at the earlier of them.
    """
    earlier = {}
    for key in facts.of(Kind.COUNTER, Kind.HISTOGRAM):
        known = state.last.get(key.series_id)
        if known is None:
            before = facts.scrapes.before(key.place[1], float(key.raw.times[0]))
            known = (before[0], 0.0) if before is not None and before[1] == 1 else None
        if known is not None:
            earlier[key.series_id] = known
    return earlier


def _seen(
    keys: Iterable[KeyedSeries],
    times_of: Mapping[EngineTarget, Floats],
    state: State,
    duplicates: Mapping[EngineTarget, EngineTarget],
) -> dict[EngineTarget, EngineMemory]:
    """Engines at addresses that gave samples in the slice."""
    shown = {key.place: key for key in keys if key.place in times_of}
    seen = {}
    for place, key in shown.items():
        before = state.engines.get(place_key(place))
        seen[place] = EngineMemory(
            labels=key.engine,
            target=key.target,
            first_at=before.first_at if before else float(times_of[place][0]),
            last_at=float(times_of[place][-1]),
            duplicate_of=duplicates[place][1] if place in duplicates else None,
        )
    return seen


def _exports(facts: _Facts) -> dict[str, tuple[str, str | None]]:
    """State and exported name of every instrument for every engine seen in the slice."""
    shown: dict[tuple[EngineTarget, str], tuple[str, str | None]] = {}
    info: dict[tuple[object, ...], KeyedSeries] = {}
    for key in sorted(facts.keyed.series, key=lambda k: k.name.renamed, reverse=True):
        if key.name.instrument.kind is Kind.INFO:
            info[_info_key(key)] = key
        state = "renamed" if key.name.renamed else "exported"
        shown[key.place, key.name.instrument.key] = (state, key.base_name)
    for key in facts.keyed.native:
        shown[key.place, key.name.instrument.key] = ("native_histogram", key.base_name)
    for key in facts.keyed.series:
        if key.place in facts.seen and (found := info.get(_info_key(key))):
            name = found.name.instrument.key
            shown[key.place, name] = ("exported", found.exported_name)
    return {
        f"{place_key(place)}/{name}": shown.get((place, name), ("not_exported", None))
        for place in facts.seen
        for name in ENGINE_INSTRUMENTS
    }


def _info_key(key: KeyedSeries) -> tuple[object, ...]:
    return (key.target, key.engine.engine, key.engine.pod)


def _remembered(facts: _Facts, settle_to: int) -> dict[str, EngineMemory]:
    """Engines as of `settle_to`: nothing of the unsettled part enters."""
    remembered = {}
    for place, memory in facts.places.items():
        times = facts.times_of.get(place, np.zeros(0))
        settled = times[times < settle_to]
        last_at = float(settled[-1]) if settled.size else min(memory.last_at, float(settle_to))
        if memory.first_at < settle_to and settle_to - last_at <= MEMORY_S:
            remembered[place_key(place)] = msgspec.structs.replace(
                memory, last_at=last_at, gone_at=facts.presence.gone.get(place)
            )
    return remembered


def _rejected(blocks: Iterable[Block]) -> dict[str, int]:
    """Samples that no counter or gauge can have, by exported name."""
    found: Counter[str] = Counter()
    for block in blocks:
        for i in np.flatnonzero(block.rejected):
            found[block.keys[int(i)].exported_name] += int(block.rejected[i])
    return found
