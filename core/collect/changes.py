"""Changes the collector finds by itself, and which addresses show one engine."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.catalogue import Kind
from core.collect.scrapes import Scrapes
from core.collect.slices import Block, KeyedSeries
from core.collect.state import EngineMemory, EngineTarget, State
from core.config import EngineLabelNames
from core.domain.counters import Steps
from core.domain.duplicates import are_one_engine
from core.domain.levers import LeverKind, label_changes
from core.domain.records import Change, Floats, stable_id


def place_key(place: EngineTarget) -> str:
    """Key of an engine at an address in the saved state."""
    return f"{place[0]}/{place[1]}"


def place_of(key: str) -> EngineTarget:
    """Engine and address of a key in the saved state."""
    engine, target = key.split("/")
    return int(engine), int(target)


def found(kind: LeverKind, engine_id: int | None, at: float, what: str) -> Change:
    """A change with an id that is the same whenever it is found again."""
    return Change(
        stable_id(kind, engine_id, round(at * 1000)), at, kind.value, "found", what, engine_id
    )


def restarts(
    block: Block, steps: Steps, *, leave_out: Collection[EngineTarget] = ()
) -> list[Change]:
    """One change per engine, address and scrape at which a counter fell.

    `leave_out` are addresses that only repeat another one.
    """
    fell = np.flatnonzero(steps.reset & block.samples.counted)
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
        (_without_model(key), key.target): key
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
        other = engines.get((_without_model(shown[0]), shown[0].target))
        engine = None if other is None else other.place
        configurations = [_configuration(key, names, other) for key in shown]
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


def _configuration(
    key: KeyedSeries, names: EngineLabelNames, other: KeyedSeries | None
) -> dict[str, str]:
    """Labels that are about the engine's settings: not its name, and none of the scraper's.

    `other` is any other series of the engine: what both carry, the scraper added.
    """
    left_out = {"__name__", "job", "instance", *names.model_dump().values()}
    left_out |= set(other.raw.labels) if other is not None else set()
    return {name: value for name, value in key.raw.labels.items() if name not in left_out}


@dataclass(frozen=True)
class Presence:
    """When engines were there: changes found, and when addresses no longer scraped were last."""

    changes: list[Change]
    gone: dict[EngineTarget, float]
    watch: "Watch"


@dataclass(frozen=True)
class Watch:
    """Since when anything was scraped without a break: a silent scraper tells of nobody."""

    begun: float
    resumed: Floats

    def since(self, t: float) -> float:
        """Beginning of the unbroken watch that `t` lies in."""
        earlier = self.resumed[self.resumed <= t]
        return float(earlier[-1]) if earlier.size else self.begun


def _watch(
    there: Mapping[EngineTarget, Floats], begun: float, newest: float, break_s: float
) -> Watch:
    times = np.unique(np.concatenate([np.zeros(0), *there.values()]))
    times = times[times >= newest]
    return Watch(begun, times[1:][np.diff(times) > break_s])


def read_presence(
    times_of: Mapping[EngineTarget, Floats],
    instances: Mapping[EngineTarget, str | None],
    scrapes: Scrapes,
    state: State,
    *,
    end: float,
    leave_after_s: float,
) -> Presence:
    """Find engines that appeared, left, came back or moved to another address.

    An engine is there while it gives samples or its target is still being
    scraped, however often that fails. Away for longer than `leave_after_s` while
    others were scraped, it has left. The start of the whole record is no
    arrival: an engine appears only when another was there that long before it.
    """
    known = {place_of(key): memory for key, memory in state.engines.items()}
    last_there = {place: _last_there(place, memory, state) for place, memory in known.items()}
    there = {
        place: _there(place, times_of.get(place, np.zeros(0)), last_there.get(place), scrapes)
        for place in known.keys() | times_of.keys()
    }
    begin = min(
        [float(times[0]) for times in there.values()] + [m.first_at for m in known.values()],
        default=end,
    )
    newest = max(last_there.values(), default=-np.inf)
    watch = _watch(there, state.watched_since, newest, leave_after_s)
    seen_to = max((float(times[-1]) for times in there.values()), default=end)
    changes: list[Change] = []
    for engine_id, places in _by_engine(there).items():
        before = [known[place] for place in places if place in known]
        times = np.unique(np.concatenate([there[place] for place in places]))
        last = max((last_there[place] for place in places if place in known), default=-np.inf)
        times = times[times >= last]
        if not before and times[0] > begin + leave_after_s:
            changes.append(_appeared(engine_id, float(times[0])))
        changes += _absences(engine_id, times, watch, leave_after_s)
        changes += _moves(places, there, known, instances)
        had_left = bool(before) and all(memory.gone_at is not None for memory in before)
        if _away(times[-1], seen_to, watch, leave_after_s) and not (had_left and times.size == 1):
            changes.append(_left(engine_id, float(times[-1])))
    gone = {
        place: float(times[-1])
        for place, times in there.items()
        if _away(times[-1], seen_to, watch, leave_after_s)
    }
    return Presence(changes, gone, watch)


def _away(last: float, until: float, watch: Watch, leave_after_s: float) -> bool:
    """Whether nothing was seen for so long although the scraper was at work."""
    return until - max(last, watch.since(until)) > leave_after_s


def _last_there(place: EngineTarget, memory: EngineMemory, state: State) -> float:
    """When a known engine last gave samples, or its target was last tried."""
    tried = state.up.get(place[1])
    return memory.last_at if tried is None else max(memory.last_at, tried[0])


def _there(
    place: EngineTarget, times: Floats, last_there: float | None, scrapes: Scrapes
) -> Floats:
    """Times at which an engine gave samples, or its target was tried after it had."""
    before = np.zeros(0) if last_there is None else np.array([last_there])
    own = np.concatenate([before, times])
    return np.unique(np.concatenate([own, scrapes.times(place[1], since=float(own.min()))]))


def _by_engine(there: Mapping[EngineTarget, Floats]) -> dict[int, list[EngineTarget]]:
    places: dict[int, list[EngineTarget]] = defaultdict(list)
    for place in sorted(there):
        places[place[0]].append(place)
    return places


def _absences(engine_id: int, times: Floats, watch: Watch, leave_after_s: float) -> list[Change]:
    away = np.flatnonzero(np.diff(times) > leave_after_s)
    return [
        change
        for i in away
        if _away(times[i], times[i + 1], watch, leave_after_s)
        for change in (
            _left(engine_id, float(times[i])),
            _appeared(engine_id, float(times[i + 1])),
        )
    ]


def _moves(
    places: Sequence[EngineTarget],
    there: Mapping[EngineTarget, Floats],
    known: Mapping[EngineTarget, EngineMemory],
    instances: Mapping[EngineTarget, str | None],
) -> list[Change]:
    """Addresses that took over from another: a restart that no counter shows."""
    moves = []
    for place in places:
        others = [there[other] for other in places if other != place]
        begun = float(there[place][0])
        before = [times for times in others if times[0] < begun]
        if place not in known and before and max(times[-1] for times in before) < begun:
            what = f"runs at {instances.get(place) or 'another address'} now"
            moves.append(found(LeverKind.RESTART, place[0], begun, what))
    return moves


def _appeared(engine_id: int, at: float) -> Change:
    return found(LeverKind.ENGINE_APPEARED, engine_id, at, "first scrape")


def _left(engine_id: int, at: float) -> Change:
    return found(LeverKind.ENGINE_LEFT, engine_id, at, "no longer scraped")


def duplicate_places(
    keys: Sequence[KeyedSeries], known: Mapping[str, EngineMemory]
) -> dict[EngineTarget, EngineTarget]:
    """Addresses that show the counters of another address of the same engine, or proxy.

    Known duplicates stay so until their counters contradict it, also while the
    address they repeat is silent. The address that was there first is the one
    that counts.
    """
    counters: dict[int, dict[EngineTarget, dict[str, KeyedSeries]]] = defaultdict(dict)
    for key in keys:
        if key.name.instrument.kind is Kind.COUNTER:
            name = f"{key.instrument_key}/{key.label}"
            counters[key.engine.engine_id].setdefault(key.place, {})[name] = key
    duplicates = _remembered_duplicates(counters, known)
    for shown in counters.values():
        for first, second in combinations(sorted(shown, key=lambda p: _age(p, shown, known)), 2):
            if first in duplicates:
                continue
            verdict = are_one_engine(
                [
                    (_samples(shown[first][name]), _samples(shown[second][name]))
                    for name in shown[first].keys() & shown[second].keys()
                ]
            )
            if verdict:
                duplicates[second] = first
            elif verdict is False and duplicates.get(second) == first:
                del duplicates[second]
    return duplicates


def _remembered_duplicates(
    counters: Mapping[int, Mapping[EngineTarget, object]], known: Mapping[str, EngineMemory]
) -> dict[EngineTarget, EngineTarget]:
    remembered = {}
    for shown in counters.values():
        for place in shown:
            memory = known.get(place_key(place))
            if memory is not None and memory.duplicate_of is not None:
                first = (place[0], memory.duplicate_of)
                if place_key(first) in known:
                    remembered[place] = first
    return remembered


def _age(
    place: EngineTarget,
    shown: Mapping[EngineTarget, Mapping[str, KeyedSeries]],
    known: Mapping[str, EngineMemory],
) -> tuple[bool, float, EngineTarget]:
    memory = known.get(place_key(place))
    if memory is not None:
        return (memory.duplicate_of is not None, memory.first_at, place)
    return (True, min(float(key.raw.times[0]) for key in shown[place].values()), place)


def _samples(key: KeyedSeries) -> tuple[Floats, Floats]:
    finite = np.isfinite(key.raw.values)
    return key.raw.times[finite], key.raw.values[finite]
