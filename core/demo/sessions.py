"""Who talks when: sessions, their turns, and the calls within a turn.

The engines' traffic says when somewhere a request got its first token. Here each
of these moments is given to a session that is due, or to a new one.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from core.demo.fleet import FLEET, Model
from core.domain.records import Bools, Floats, Ints

TURNS_MEAN = {"chat": 5.0, "agents": 3.5}
TOOL_TURNS = {"chat": 0.12, "agents": 0.45}
"""Share of the turns that call a tool and the model again, by namespace."""
SECOND_TOOL = 0.3
GAP_MEDIAN_S = {"chat": 32.0, "agents": 16.0}
GAP_SPREAD = 1.1
"""Spread of the log-normal law of idle gaps between turns."""
GAP_BOUNDS_S = (1.5, 3600.0)
OVERLAPPING_TURNS = 0.03
"""Share of the turns whose successor begins before their end."""
TOOL_MS = (300, 4000)
SHORTEST_WAIT_MS = 150
OVERDUE_MS = 20_000
"""A session that waited so long for its own engine goes to any."""
NOBODY = -1
FLAGS = ("rooted", "moved", "last", "over")

_HOME_OF = [engine.instance for engine in FLEET]
Waiting = dict[str, list[tuple[int, int, "Talk"]]]
"""Heaps of sessions by the engine they were on: when due, serial number, session."""


@dataclass(frozen=True)
class Moments:
    """First tokens in order of time, and what was drawn for them.

    Parameters
    ----------
    at_ms, place : int array
        When, and at which place of the fleet.
    wait_ms, busy_ms : int array
        Usual time to first token, and from then to the end of the answer.
    affine : bool array
        Whether the gateway keeps sessions on their engine.
    outside : bool array
        Requests of nobody: a direct client's, or without a trace at the gateway.
    turns, calls, gap_ms, tool_ms : int array
        What holds if a session, or a turn, begins or goes on here.
    overlapping : bool array
        Whether a next turn does not wait for the end.
    """

    at_ms: Ints
    place: Ints
    wait_ms: Ints
    busy_ms: Ints
    affine: Bools
    outside: Bools
    turns: Ints
    calls: Ints
    gap_ms: Ints
    tool_ms: Ints
    overlapping: Bools


class Moment(NamedTuple):
    """One row of `Moments`."""

    at_ms: int
    place: int
    wait_ms: int
    busy_ms: int
    affine: bool
    outside: bool
    turns: int
    calls: int
    gap_ms: int
    tool_ms: int
    overlapping: bool


@dataclass(frozen=True)
class Calls:
    """What each moment became.

    Parameters
    ----------
    session, trace : int array
        Serial numbers; `NOBODY` outside of sessions.
    turn, step : int array
        Which turn of the session, and which call of the turn, from 0.
    rooted : bool array
        The turn has a root observation.
    free_ms, before_ms, opened_ms : int array
        Earliest start; end of the session's previous call; start of the turn.
    moved : bool array
        The previous call was served elsewhere.
    last, over : bool array
        The turn ends with this call; the session does.
    """

    session: Ints
    trace: Ints
    turn: Ints
    step: Ints
    rooted: Bools
    free_ms: Ints
    before_ms: Ints
    opened_ms: Ints
    moved: Bools
    last: Bools
    over: Bools


@dataclass(slots=True)
class Talk:
    """A session that goes on."""

    session: int
    turns_left: int
    trace: int = NOBODY
    turn: int = -1
    step: int = 0
    calls: int = 0
    free_ms: int = 0
    before_ms: int = 0
    opened_ms: int = 0
    place: int = NOBODY


class Conversations:
    """All sessions of the fleet; those that are due are kept by the engine they were on."""

    def __init__(self) -> None:
        by_model: dict[Model, Waiting] = {engine.model: {} for engine in FLEET}
        for engine in FLEET:
            by_model[engine.model][engine.instance] = []
        self._waiting = [by_model[engine.model] for engine in FLEET]
        self._sessions = 0
        self._traces = 0

    def calls(self, moments: Moments) -> Calls:
        """Give every moment to a session; moments come in order, cycle after cycle."""
        columns = [getattr(moments, name).tolist() for name in Moment._fields]
        rows = [self._call(Moment._make(one)) for one in zip(*columns, strict=True)]
        found = np.array(rows, dtype=np.int64).reshape(-1, len(Calls.__dataclass_fields__)).T
        named: dict[str, Any] = dict(zip(Calls.__dataclass_fields__, found, strict=True))
        return Calls(**named | {flag: named[flag].astype(np.bool_) for flag in FLAGS})

    def _call(self, moment: Moment) -> tuple[int, ...]:
        """Serve one moment; what comes out is a row of `Calls`."""
        if moment.outside:
            return (NOBODY, NOBODY, 0, 0, 0, 0, 0, 0, 0, 1, 1)
        talk = self._due(moment)
        if talk is None:
            talk = Talk(self._sessions, moment.turns)
            self._sessions += 1
        if talk.step == talk.calls:
            talk.trace, talk.turn = self._traces, talk.turn + 1
            talk.step, talk.calls = 0, moment.calls
            talk.opened_ms = max(talk.free_ms, moment.at_ms - 2 * moment.wait_ms)
            self._traces += 1
        moved = talk.place not in (NOBODY, moment.place)
        last = talk.step + 1 == talk.calls
        over = last and talk.turns_left == 1
        named = (talk.session, talk.trace, talk.turn, talk.step, talk.calls > 1)
        times = (talk.free_ms, talk.before_ms, talk.opened_ms)
        self._go_on(talk, moment, last=last, over=over)
        return (*named, *times, moved, last, over)

    def _go_on(self, talk: Talk, moment: Moment, *, last: bool, over: bool) -> None:
        """Note a call, and when its session is due again."""
        talk.step, talk.place = talk.step + 1, moment.place
        talk.turns_left -= last
        talk.before_ms = moment.at_ms + moment.busy_ms
        talk.free_ms = talk.before_ms + (moment.gap_ms if last else moment.tool_ms)
        if last and moment.overlapping:
            talk.free_ms = moment.at_ms + moment.busy_ms // 2
        if not over:
            heap = self._waiting[moment.place][_HOME_OF[moment.place]]
            heappush(heap, (talk.free_ms + SHORTEST_WAIT_MS, talk.session, talk))

    def _due(self, moment: Moment) -> Talk | None:
        """Return the session that waited longest; with affinity, of those of this engine."""
        waiting, at_ms = self._waiting[moment.place], moment.at_ms
        longest = min([heap for heap in waiting.values() if heap], default=None, key=_first_due)
        if longest is None or longest[0][0] > at_ms:
            return None
        if moment.affine and longest[0][0] > at_ms - OVERDUE_MS:
            own = waiting[_HOME_OF[moment.place]]
            return heappop(own)[2] if own and own[0][0] <= at_ms else None
        return heappop(longest)[2]


def _first_due(heap: list[tuple[int, int, Talk]]) -> tuple[int, int]:
    return heap[0][:2]


def drawn_turns(chat: Bools, rng: np.random.Generator) -> dict[str, Any]:
    """Draw what `Moments` holds of sessions and turns; not chat is agents."""
    size = chat.size
    tools = rng.random(size) < _by(chat, TOOL_TURNS)
    calls = 1 + tools * (1 + (rng.random(size) < SECOND_TOOL))
    gap = _by(chat, GAP_MEDIAN_S) * rng.lognormal(0.0, GAP_SPREAD, size)
    return {
        "turns": rng.geometric(1 / _by(chat, TURNS_MEAN)),
        "calls": calls,
        "gap_ms": (1000 * np.clip(gap, *GAP_BOUNDS_S)).astype(np.int64),
        "tool_ms": rng.integers(*TOOL_MS, size),
        "overlapping": rng.random(size) < OVERLAPPING_TURNS,
    }


def _by(chat: Bools, values: dict[str, float]) -> Floats:
    return np.where(chat, values["chat"], values["agents"])
