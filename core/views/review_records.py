"""What was planned, looked at and decided in a period, as it was recorded."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from core.cache.store import Row, Store
from core.domain.experiments.look_record import LookRow, TakenLook, stored_looks
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import History, Marks, PlanRow, PlanVersion, history
from core.domain.scope import Window
from core.views.experiment_arms import marks_of


@dataclass(frozen=True)
class PlanEntry:
    """A version of a plan that was registered in the period; `fault`: it cannot be used.

    `marks` say what was known when it was registered; None: of one that cannot be used.
    """

    experiment: str
    number: int
    plan_hash: str
    registered_at: float
    version: PlanVersion | None
    marks: Marks | None
    fault: str | None


@dataclass(frozen=True)
class LookEntry:
    """A look that was taken in the period; `taken` None: it cannot be read, `fault` says why.

    `plan` is the version it was taken at; None: it cannot be read.
    """

    experiment: str
    taken_at: float
    taken: TakenLook | None
    plan: ExperimentPlan | None
    fault: str | None


@dataclass(frozen=True)
class DecisionEntry:
    """A decision of the period."""

    experiment: str
    decided_at: float
    decided_by: str
    decision: str
    verdict: str | None
    override: bool
    reason: str | None
    plan_hash: str | None


@dataclass(frozen=True)
class Records:
    """Entries of one period, oldest first in each experiment."""

    plans: tuple[PlanEntry, ...]
    looks: tuple[LookEntry, ...]
    decisions: tuple[DecisionEntry, ...]


def records_in(store: Store, window: Window, now: float) -> Records:
    """Read what was recorded in a window, of every experiment; marks by the data until now."""
    every = {"experiment": None}
    plans = _by_experiment(store.read("experiment_plans", every))
    looks = _by_experiment(store.read("experiment_looks", every))
    known = {name: history(PlanRow(*row) for row in rows) for name, rows in plans.items()}
    return Records(
        plans=tuple(
            entry for name in plans for entry in _plans(store, name, plans[name], window, now=now)
        ),
        looks=tuple(
            entry
            for name in looks
            for entry in _looks(name, looks[name], known.get(name, History()))
            if _inside(entry.taken_at, window)
        ),
        decisions=tuple(
            _decision(row)
            for row in store.read("experiment_decisions", every)
            if _inside(row.decided_at, window)
        ),
    )


def _by_experiment(rows: Iterable[Row]) -> dict[str, list[Row]]:
    return {name: list(mine) for name, mine in groupby(rows, key=lambda row: row.experiment)}


def _plans(
    store: Store, name: str, rows: Iterable[Row], window: Window, *, now: float
) -> list[PlanEntry]:
    stored = [PlanRow(*row) for row in rows]
    if not any(_inside(row.registered_at, window) for row in stored):
        return []
    found = history(stored)
    marked = marks_of(store, found, now)
    first = {row.plan_hash: row.registered_at for row in reversed(stored)}
    entries = [
        PlanEntry(name, one.number, one.plan_hash, one.registered_at, one, mark, None)
        for one, mark in zip(found.versions, marked, strict=True)
    ]
    entries += [
        PlanEntry(name, one.number, one.plan_hash, first[one.plan_hash], None, None, one.fault)
        for one in found.broken
    ]
    inside = (one for one in entries if _inside(one.registered_at, window))
    return sorted(inside, key=lambda one: one.number)


def _looks(name: str, rows: Iterable[Row], known: History) -> list[LookEntry]:
    found = stored_looks(LookRow(*row) for row in rows)
    versions = {one.plan_hash: one.plan for one in known.versions}
    entries = [
        LookEntry(name, one.taken_at, one, versions.get(one.record.plan_hash), None)
        for one in found.taken
    ]
    entries += [LookEntry(name, one.taken_at, None, None, one.fault) for one in found.broken]
    return sorted(entries, key=lambda one: one.taken_at)


def _decision(row: Row) -> DecisionEntry:
    return DecisionEntry(
        experiment=row.experiment,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decision=row.decision,
        verdict=row.verdict,
        override=row.override,
        reason=row.reason,
        plan_hash=row.plan_hash,
    )


def _inside(at: float, window: Window) -> bool:
    return window.start <= at < window.end
