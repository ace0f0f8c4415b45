"""An experiment written by hand: arms of sessions, requests and scores, and its plan."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import History, PlanRow, history
from core.experiments import record_look, register
from core.views.experiments import ExperimentView, build_experiment
from tests.domain.experiments.plans import DAY, START, plan
from tests.pages.homes import Tables, at
from tests.pages.written_requests import langfuse_row, observation, score

REGISTERED = START - 3600.0
MIDDLE = START + 7 * DAY
"""A moment inside the period, with half of it behind."""
NAME = "compact-prompt"
Grade = Callable[[int, int], bool | None]


@dataclass(frozen=True)
class Arm:
    """Sessions of one arm, each with the same number of requests.

    `passes` says of session i and request j whether it passes; None: it has no score.
    """

    value: str
    sessions: int = 40
    requests: int = 5
    passes: Grade = lambda session, request: (session * 7 + request * 3) % 20 > 0
    name: str = ""
    start: float = START + 600.0
    more: dict[str, Any] = field(default_factory=dict)
    version: str | None = "v2"
    by: str = "arm"
    step: float = 60.0

    @property
    def tables(self) -> Tables:
        """Rows of its requests and scores."""
        found: Tables = {"observations": [], "scores": []}
        for i, j in self._places():
            one, when = f"{self.value}-{i}-{j}", self.start + (i * self.requests + j) * self.step
            session = f"{self.name or self.value}-{i}"
            more = {"session_id": session, self.by: self.value} | self.more
            found["observations"].append(observation(one, start=when, **more))
            passed = self.passes(i, j)
            if passed is not None:
                found["scores"].append(self._score(one, when, passed=passed))
        return found

    def _places(self) -> Iterator[tuple[int, int]]:
        return ((i, j) for i in range(self.sessions) for j in range(self.requests))

    def _score(self, one: str, when: float, *, passed: bool) -> dict[str, Any]:
        return score(
            "answer_ok",
            "observation",
            of=one,
            trace_id=f"trace-{one}",
            data_type="BOOLEAN",
            value=float(passed),
            evaluator_version=self.version,
            scored_at=at(when + 60),
            updated_at=at(when + 60),
            seen_at=at(when + 70),
        )


def every(n: int, *, of: int) -> Grade:
    """All requests of a session alike: n of each `of` sessions pass."""
    return lambda session, _: session % of < n


def lever(at_s: float, kind: str, /, n: int = 1, **more: Any) -> Tables:
    """One entry of the lever log."""
    return {
        "levers": [
            {
                "lever_id": n,
                "happened_at": at(at_s),
                "kind": kind,
                "origin": "entered",
                "what": f"change {n}",
                **more,
            }
        ]
    }


class Trial:
    """A cache of one's own with an experiment in it; everything enters by the inbox."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "cache.duckdb")
        self.inbox = Inbox(folder / "inbox")
        self.put({"sources": [langfuse_row(read_to=at(MIDDLE))]})

    def put(self, *tables: Tables) -> Self:
        for some in tables:
            self.inbox.write("test", {name: rows(name, found) for name, found in some.items()})
        self.merge()
        return self

    def merge(self) -> None:
        waiting = len(self.inbox.waiting())
        assert self.store.merge_waiting(self.inbox) == waiting

    def arms(self, *arms: Arm) -> Self:
        return self.put(*(arm.tables for arm in arms))

    def registered(self, one: ExperimentPlan | None = None, *, when: float = REGISTERED) -> Self:
        chosen = plan() if one is None else one
        register(self.inbox, chosen, by_whom="Mina", at=when, known=self.known(chosen.experiment))
        self.merge()
        return self

    def known(self, name: str = NAME) -> History:
        found = self.store.read("experiment_plans", {"experiment": name})
        return history(PlanRow(*row) for row in found)

    def looked(self, now: float) -> ExperimentView:
        record_look(self.inbox, self.seen(now).look("Jun"), at=now)
        self.merge()
        return self.seen(now + 1)

    def seen(self, now: float = MIDDLE, name: str = NAME, *, read: bool = True) -> ExperimentView:
        if read:
            self.put({"sources": [langfuse_row(read_to=at(max(now, MIDDLE)))]})
        found = build_experiment(self.store, name, now)
        assert found is not None
        return found


def reasons(lines: Sequence[Any]) -> list[str]:
    """Reasons of some lines of evidence."""
    return [line.reason for line in lines]
