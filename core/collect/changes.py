"""Changes the collector finds by itself, and which addresses show one engine."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.catalogue import Kind
from core.collect.slices import Block, KeyedSeries
from core.collect.state import EngineMemory, EngineTarget, State
from core.config import EngineLabelNames
from core.domain.counters import Steps
from core.domain.duplicates import are_one_engine
from core.domain.levers import LeverKind, label_changes
from core.domain.records import Change, stable_id


def place_key(place: EngineTarget) -> str:
    """Key of an engine at an address in the saved state."""
    return f"{place[0]}/{place[1]}"


def found(kind: LeverKind, engine_id: int | None, at: float, what: str) -> Change:
    """A change with an id that is the same whenever it is found again."""
    return Change(
        stable_id(kind, engine_id, round(at * 1000)), at, kind.value, "found", what, engine_id
    )


def restarts(
    block: Block, steps: Steps, *, since: float, leave_out: Collection[EngineTarget] = ()
) -> list[Change]:
    """One change per engine, address and scrape at which a counter fell.

    `leave_out` are addresses that only repeat another one.
    """
    fell = np.flatnonzero(steps.reset & (block.samples.time >= since))
    seen: dict[tuple[EngineTarget, float], Change] = {}
    for i in fell:
        key = block.keys[int(block.samples.series[i])]
        at = float(block.samples.time[i])
        if key.place in leave_out:
            continue
        change = found(LeverKind.RESTART, key.engine.engine_id, at, "counters began again at zero")
        seen.setdefault((key.place, at), change)
    return list(seen.values())


@dataclass(frozen=True)
class Configurations:
    """Changes found, labels as of the settled time, and labels that are news."""

    changes: list[Change]
    settled: dict[str, dict[str, str]]
    fresh: dict[EngineTarget, dict[str, str]]


def read_configurations(
    keys: Sequence[KeyedSeries], state: State, names: EngineLabelNames, *, settle_to: float
) -> Configurations:
    """Read `cache_config_info`: what it says now, and what changed.

    The series has no model name, so it is matched to its engine by the other
    labels and the address.
    """
    engines = {
        (_without_model(key), key.target): key.place
        for key in keys
        if key.name.instrument.kind is not Kind.INFO
    }
    series: dict[str, list[KeyedSeries]] = defaultdict(list)
    for key in keys:
        if key.name.instrument.kind is Kind.INFO:
            series[place_key(key.place)].append(key)
    changes: list[Change] = []
    settled: dict[str, dict[str, str]] = {}
    fresh: dict[EngineTarget, dict[str, str]] = {}
    for place, shown in series.items():
        before = known = state.configs.get(place)
        engine = engines.get((_without_model(shown[0]), shown[0].target))
        configurations = [_configuration(key, names) for key in shown]
        for at, i in _in_order(shown):
            labels = configurations[i]
            if before is not None and labels != before:
                what = label_changes(before, labels)
                changes.append(
                    found(LeverKind.CONFIGURATION, engine[0] if engine else None, at, what)
                )
            if at < settle_to:
                settled[place] = labels
            before = labels
        if before is not None and before != known and engine is not None:
            fresh[engine] = before
    return Configurations(changes, settled, fresh)


def _in_order(shown: Sequence[KeyedSeries]) -> list[tuple[float, int]]:
    """Time and label set of every sample: a set may come back after another."""
    return sorted((float(at), i) for i, key in enumerate(shown) for at in key.raw.times)


def _without_model(key: KeyedSeries) -> tuple[str | None, ...]:
    cluster, namespace, pod, _, engine = key.engine.as_tuple()
    return (cluster, namespace, pod, engine)


def _configuration(key: KeyedSeries, labels: EngineLabelNames) -> dict[str, str]:
    identity = {"__name__", "job", "instance", *labels.model_dump().values()}
    return {name: value for name, value in key.raw.labels.items() if name not in identity}


def arrivals(
    seen: Mapping[EngineTarget, EngineMemory],
    state: State,
    *,
    settling_s: float,
) -> list[Change]:
    """Engines that appeared, came back, or moved to another address.

    The start of the whole record is no arrival: an engine appears only when
    another was there at least `settling_s` before it.
    """
    places = dict(state.engines.items())
    places |= {place_key(place): memory for place, memory in seen.items()}
    begin = min((memory.first_at for memory in places.values()), default=0.0)
    changes = []
    for place, memory in seen.items():
        before = state.engines.get(place_key(place))
        if before is not None:
            if before.gone_at is not None:
                changes.append(_appeared(place, memory.back_at))
            continue
        others = [
            m for key, m in places.items() if m.labels == memory.labels and key != place_key(place)
        ]
        if others and max(m.last_at for m in others) < memory.first_at:
            what = f"runs at {memory.instance or 'another address'} now"
            changes.append(found(LeverKind.RESTART, place[0], memory.first_at, what))
        elif not others and memory.first_at > begin + settling_s:
            changes.append(_appeared(place, memory.first_at))
    return changes


def _appeared(place: EngineTarget, at: float) -> Change:
    return found(LeverKind.ENGINE_APPEARED, place[0], at, "first scrape")


def departures(
    places: Mapping[EngineTarget, EngineMemory],
    last_up: Mapping[int, float],
    *,
    end: float,
    leave_after_s: float,
) -> tuple[dict[EngineTarget, float], list[Change]]:
    """Addresses that are no longer scraped, and engines that have none left.

    A target whose `up` is still sampled has not left, however long it fails.
    """
    gone = {}
    for place, memory in places.items():
        newest = max(memory.last_at, last_up.get(place[1], memory.last_at))
        if memory.gone_at is not None or end - newest > leave_after_s:
            gone[place] = memory.gone_at if memory.gone_at is not None else memory.last_at
    remaining = {place[0] for place in places if place not in gone}
    changes = [
        found(LeverKind.ENGINE_LEFT, place[0], at, "no longer scraped")
        for place, at in gone.items()
        if place[0] not in remaining and places[place].gone_at is None
    ]
    return gone, changes


def duplicate_places(keys: Sequence[KeyedSeries], state: State) -> dict[EngineTarget, EngineTarget]:
    """Addresses that show the counters of another address of the same engine.

    Known duplicates stay so until their counters contradict it. The address
    that was there first stays the one that counts.
    """
    counters: dict[int, dict[EngineTarget, dict[str, KeyedSeries]]] = defaultdict(dict)
    for key in keys:
        if key.name.instrument.kind is Kind.COUNTER and not key.name.renamed:
            name = f"{key.instrument_key}/{key.label}"
            counters[key.engine.engine_id].setdefault(key.place, {})[name] = key
    duplicates: dict[EngineTarget, EngineTarget] = {}
    for shown in counters.values():
        for first, second in combinations(sorted(shown, key=lambda p: _age(p, state)), 2):
            if first in duplicates:
                continue
            verdict = are_one_engine(
                [
                    (_samples(shown[first][name]), _samples(shown[second][name]))
                    for name in shown[first].keys() & shown[second].keys()
                ]
            )
            memory = state.engines.get(place_key(second))
            remembered = memory is not None and memory.duplicate_of == first[1]
            if verdict or (verdict is None and remembered):
                duplicates[second] = first
    return duplicates


def _age(place: EngineTarget, state: State) -> tuple[bool, float, EngineTarget]:
    memory = state.engines.get(place_key(place))
    was_duplicate = memory is not None and memory.duplicate_of is not None
    return (was_duplicate, memory.first_at if memory else float("inf"), place)


def _samples(key: KeyedSeries) -> tuple[np.ndarray, np.ndarray]:
    finite = np.isfinite(key.raw.values)
    return key.raw.times[finite], key.raw.values[finite]


def minutes_of(keys: Iterable[KeyedSeries]) -> dict[EngineTarget, set[int]]:
    """Minutes in which each address gave any sample."""
    minutes: dict[EngineTarget, set[int]] = defaultdict(set)
    for key in keys:
        minutes[key.place].update((np.unique(key.raw.times // 60) * 60).astype(int).tolist())
    return minutes
