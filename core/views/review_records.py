"""What was planned, looked at and decided in a period, as it was recorded."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from core.cache.store import Row, Store
from core.domain.experiments.look_record import LookRow, TakenLook, stored_looks
from core.domain.experiments.versions import BrokenPlan, PlanRow, PlanVersion, history
from core.domain.scope import Window


@dataclass(frozen=True)
class PlanEntry:
    """A version of a plan that was registered in the period; `fault`: it cannot be used."""

    experiment: str
    number: int
    plan_hash: str
    registered_at: float
    version: PlanVersion | None
    fault: str | None


@dataclass(frozen=True)
class LookEntry:
    """A look that was taken in the period; `taken` None: it cannot be read, `fault` says why."""

    experiment: str
    taken_at: float
    taken: TakenLook | None
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


def records_in(store: Store, window: Window) -> Records:
    """Read what was recorded in a window, of every experiment."""
    every = {"experiment": None}
    return Records(
        plans=tuple(_plans(store.read("experiment_plans", every), window)),
        looks=tuple(_looks(store.read("experiment_looks", every), window)),
        decisions=tuple(
            _decision(row)
            for row in store.read("experiment_decisions", every)
            if _inside(row.decided_at, window)
        ),
    )


def _plans(rows: Iterable[Row], window: Window) -> Iterable[PlanEntry]:
    for experiment, mine in groupby(rows, key=lambda row: row.experiment):
        stored = [PlanRow(*row) for row in mine]
        found = history(stored)
        first = {row.plan_hash: row.registered_at for row in reversed(stored)}
        entries = [_plan(experiment, one, first[one.plan_hash]) for one in found.versions]
        entries += [_plan(experiment, one, first[one.plan_hash]) for one in found.broken]
        inside = (one for one in entries if _inside(one.registered_at, window))
        yield from sorted(inside, key=lambda one: one.number)


def _plan(experiment: str, one: PlanVersion | BrokenPlan, at: float) -> PlanEntry:
    if isinstance(one, BrokenPlan):
        return PlanEntry(experiment, one.number, one.plan_hash, at, None, one.fault)
    return PlanEntry(experiment, one.number, one.plan_hash, one.registered_at, one, None)


def _looks(rows: Iterable[Row], window: Window) -> Iterable[LookEntry]:
    for experiment, mine in groupby(rows, key=lambda row: row.experiment):
        found = stored_looks(LookRow(*row) for row in mine)
        entries = [
            *(LookEntry(experiment, one.taken_at, one, None) for one in found.taken),
            *(LookEntry(experiment, one.taken_at, None, one.fault) for one in found.broken),
        ]
        inside = (one for one in entries if _inside(one.taken_at, window))
        yield from sorted(inside, key=lambda one: one.taken_at)


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
