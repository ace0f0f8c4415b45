"""One slice of raw samples turned into a batch, and the state moved on.

A pure function of the state, the slice and the settings: reading the same slice
again from the same state gives the same rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa

from core.catalogue import INSTRUMENTS, Kind
from core.collect.batch import (
    Silenced,
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
    arrivals,
    departures,
    duplicate_places,
    minutes_of,
    place_key,
    read_configurations,
    restarts,
)
from core.collect.slices import Block, KeyedSeries, build_block, key_series
from core.collect.state import EngineMemory, EngineTarget, Sample, State
from core.config import Settings
from core.domain.counters import counter_cells, counter_steps, scrape_interval
from core.domain.records import Floats, RawSeries, Target

DEFAULT_INTERVAL_S = 15.0
"""Used only for an engine of which no two scrapes were ever seen."""
MEMORY_S = 7 * 86_400
"""A series or engine not seen for so long is met as a new one."""


@dataclass(frozen=True)
class Slice:
    """Raw samples of [start, end), and of `up` of their targets."""

    start: int
    end: int
    samples: Sequence[RawSeries]
    up: Sequence[RawSeries]


@dataclass(frozen=True)
class Advance:
    """The rows of one slice and the state after it."""

    tables: dict[str, pa.Table]
    state: State
    points: int
    seconds: int
    rejected: dict[str, int]


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
    keys = [k for k in key_series(read.samples, settings.labels) if k.raw.times.size]
    native = [k for k in key_series(read.samples, settings.labels) if k.raw.native_histogram]
    read_keys = [key for key in keys if not key.name.renamed]
    ups = _ups(read.up, state)
    intervals = _intervals(read_keys, ups, state)
    duplicates = duplicate_places(read_keys, state)

    counters = [k for k in read_keys if k.name.instrument.kind in (Kind.COUNTER, Kind.HISTOGRAM)]
    gauges = [k for k in read_keys if k.name.instrument.kind is Kind.GAUGE]
    counter_block = build_block(counters, _earlier(counters, state, ups), counters=True)
    gauge_block = build_block(gauges, {}, counters=False)
    steps = counter_steps(counter_block.samples, instrument=counter_block.instruments)
    interval = np.array([intervals.get(k.place[1], DEFAULT_INTERVAL_S) for k in counters])
    cells = counter_cells(
        counter_block.samples, steps, since=read.start, scrape_interval_s=interval
    )
    silenced = Silenced(duplicates, minutes_of(read_keys))

    seen = _seen(keys, state, duplicates)
    places = _known_places(state) | seen
    gone, left = departures(
        places,
        {target: at for target, (at, _) in ups.newest.items()},
        end=read.end,
        leave_after_s=settings.leave_after_s,
    )
    configurations = read_configurations(read_keys, state, settings.labels, settle_to=settle_to)
    found = [
        *restarts(counter_block, steps, since=read.start, leave_out=duplicates),
        *configurations.changes,
        *arrivals(seen, state, settling_s=settings.leave_after_s),
        *left,
    ]
    exports = _exports(keys, native, set(seen))
    changed = {k: v for k, v in exports.items() if state.exports.get(k) != v}
    tables = {
        "engines": engine_rows(places.keys() & seen.keys(), seen),
        "targets": target_rows(places, gone, duplicates, intervals, ups.newest),
        "series": series_rows(read_keys, state),
        "counter_cells": counter_rows(cells, counters, silenced),
        "bucket_cells": bucket_rows(counter_block, cells, silenced),
        "gauge_cells": gauge_rows(gauge_block, read.start, silenced),
        "exports": export_rows(changed, read.end),
        "configurations": configuration_rows(configurations.fresh),
        "levers": lever_rows(found),
    }
    after = msgspec.structs.replace(
        state,
        settled=settle_to,
        last=_fresh(state.last | _last_samples(read_keys, settle_to), settle_to),
        up=_last_scrapes(ups, settle_to),
        engines=_remembered(places, gone, settle_to),
        intervals=intervals,
        exports=state.exports | exports,
        configs=state.configs | configurations.settled,
    )
    points = sum(key.raw.times.size for key in keys)
    rejected = _rejected((counter_block, gauge_block))
    return Advance(tables, after, points, read.end - read.start, rejected)


@dataclass(frozen=True)
class _Ups:
    """Scrapes of every target: times and outcomes, the last one before the slice first."""

    scrapes: dict[int, tuple[Floats, Floats]]

    @property
    def newest(self) -> dict[int, Sample]:
        return {t: (float(at[-1]), float(up[-1])) for t, (at, up) in self.scrapes.items()}

    def scrape_before(self, target: int, at: float) -> Sample | None:
        """The scrape of the target just before a time."""
        if target not in self.scrapes:
            return None
        times, up = self.scrapes[target]
        i = int(np.searchsorted(times, at - 1e-4)) - 1
        return (float(times[i]), float(up[i])) if i >= 0 else None


def _ups(series: Iterable[RawSeries], state: State) -> _Ups:
    scrapes = {target: (np.array([at]), np.array([up])) for target, (at, up) in state.up.items()}
    for raw in series:
        target = Target(raw.labels.get("job"), raw.labels.get("instance")).target_id
        times, up = scrapes.get(target, (np.zeros(0), np.zeros(0)))
        fresh = raw.times > times[-1] if times.size else np.ones(raw.times.size, dtype=bool)
        scrapes[target] = (
            np.concatenate([times, raw.times[fresh]]),
            np.concatenate([up, raw.values[fresh]]),
        )
    return _Ups({target: s for target, s in scrapes.items() if s[0].size})


def _intervals(keys: Iterable[KeyedSeries], ups: _Ups, state: State) -> dict[int, float]:
    """Scrape interval per target, from its own scrapes, else from what it told before."""
    intervals = dict(state.intervals)
    for target, (times, _) in ups.scrapes.items():
        if times.size > 2 and (interval := scrape_interval(times)) is not None:
            intervals[target] = interval
    for key in keys:
        if key.place[1] not in intervals and key.raw.times.size > 2:
            intervals[key.place[1]] = float(np.median(np.diff(key.raw.times)))
    return intervals


def _earlier(keys: Iterable[KeyedSeries], state: State, ups: _Ups) -> dict[int, Sample]:
    """The sample before the slice of each series.

    A series without one that was born between two successful scrapes of its
    target started at 0 at the earlier of them.
    """
    earlier = {}
    for key in keys:
        known = state.last.get(key.series_id)
        if known is None:
            before = ups.scrape_before(key.place[1], float(key.raw.times[0]))
            known = (before[0], 0.0) if before is not None and before[1] == 1 else None
        if known is not None:
            earlier[key.series_id] = known
    return earlier


def _seen(
    keys: Iterable[KeyedSeries], state: State, duplicates: dict[EngineTarget, EngineTarget]
) -> dict[EngineTarget, EngineMemory]:
    """Engines at addresses that gave samples in the slice.

    `cache_config_info` carries no model name and names no engine.
    """
    first: dict[EngineTarget, float] = {}
    last: dict[EngineTarget, float] = {}
    shown: dict[EngineTarget, KeyedSeries] = {}
    for key in keys:
        if key.name.instrument.kind is not Kind.INFO:
            shown[key.place] = key
            first[key.place] = min(first.get(key.place, np.inf), float(key.raw.times[0]))
            last[key.place] = max(last.get(key.place, -np.inf), float(key.raw.times[-1]))
    seen = {}
    for place, key in shown.items():
        before = state.engines.get(place_key(place))
        seen[place] = EngineMemory(
            labels=key.engine.as_tuple(),
            job=key.target.job,
            instance=key.target.instance,
            first_at=before.first_at if before else first[place],
            last_at=last[place],
            back_at=first[place],
            duplicate_of=duplicates[place][1] if place in duplicates else None,
        )
    return seen


def _known_places(state: State) -> dict[EngineTarget, EngineMemory]:
    return {_place(key): memory for key, memory in state.engines.items()}


def _place(key: str) -> EngineTarget:
    engine, target = key.split("/")
    return int(engine), int(target)


def _exports(
    keys: Sequence[KeyedSeries], native: Sequence[KeyedSeries], places: set[EngineTarget]
) -> dict[str, tuple[str, str | None]]:
    """State and exported name of every instrument for every engine seen in the slice."""
    shown: dict[tuple[EngineTarget, str], tuple[str, str | None]] = {}
    info: dict[tuple[object, ...], KeyedSeries] = {}
    for key in sorted(keys, key=lambda k: k.name.renamed, reverse=True):
        if key.name.instrument.kind is Kind.INFO:
            info[_info_key(key)] = key
        state = "renamed" if key.name.renamed else "exported"
        shown[key.place, key.name.instrument.key] = (state, key.exported_name)
    for key in native:
        shown[key.place, key.name.instrument.key] = ("native_histogram", key.exported_name)
    for key in keys:
        if key.place in places and (found := info.get(_info_key(key))):
            name = found.name.instrument.key
            shown[key.place, name] = ("exported", found.exported_name)
    return {
        f"{place_key(place)}/{name}": shown.get((place, name), ("not_exported", None))
        for place in places
        for name in INSTRUMENTS
    }


def _info_key(key: KeyedSeries) -> tuple[object, ...]:
    return (key.target, key.engine.engine, key.engine.pod)


def _fresh(last: dict[int, Sample], settle_to: int) -> dict[int, Sample]:
    """Forget series not seen for so long that nothing can be said about between."""
    return {series: s for series, s in last.items() if settle_to - s[0] <= MEMORY_S}


def _last_samples(keys: Sequence[KeyedSeries], settle_to: int) -> dict[int, Sample]:
    found = {key.series_id: _last_before(key.raw.times, key.raw.values, settle_to) for key in keys}
    return {series: sample for series, sample in found.items() if sample is not None}


def _last_scrapes(ups: _Ups, settle_to: int) -> dict[int, Sample]:
    found = {target: _last_before(*scrapes, settle_to) for target, scrapes in ups.scrapes.items()}
    return {target: sample for target, sample in found.items() if sample is not None}


def _remembered(
    places: dict[EngineTarget, EngineMemory], gone: dict[EngineTarget, float], settle_to: int
) -> dict[str, EngineMemory]:
    """Engines as of `settle_to`: nothing of the unsettled part enters."""
    return {
        place_key(place): msgspec.structs.replace(
            memory, gone_at=gone.get(place), last_at=min(memory.last_at, float(settle_to))
        )
        for place, memory in places.items()
        if memory.first_at < settle_to and settle_to - memory.last_at <= MEMORY_S
    }


def _last_before(times: Floats, values: Floats, limit: float) -> Sample | None:
    good = np.flatnonzero((times < limit) & np.isfinite(values) & (values >= 0))
    return (float(times[good[-1]]), float(values[good[-1]])) if good.size else None


def _rejected(blocks: Iterable[Block]) -> dict[str, int]:
    """Samples that no counter or gauge can have, by exported name."""
    found: dict[str, int] = {}
    for block in blocks:
        for i in np.flatnonzero(block.rejected):
            name = block.keys[int(i)].exported_name
            found[name] = found.get(name, 0) + int(block.rejected[i])
    return found
