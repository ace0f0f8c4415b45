"""What is stored of experiments: plans with their versions, looks and decisions."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.experiments.look_record import (
    LookRow,
    StoredLooks,
    TakenLook,
    counted,
    stored_looks,
)
from core.domain.experiments.versions import History, PlanRow, history
from core.domain.statistics.gate import Verdict


@dataclass(frozen=True)
class StoredDecision:
    """One decision as it was recorded; `verdict` is what the look said then."""

    decided_at: float
    decided_by: str
    decision: str
    plan_hash: str | None
    look_key: int | None
    verdict: str | None
    override: bool
    reason: str | None


@dataclass(frozen=True)
class ExperimentLog:
    """All that was recorded of one experiment, oldest first; nothing is left out."""

    experiment: str
    history: History
    looks: StoredLooks
    decisions: tuple[StoredDecision, ...]

    @property
    def newest_look(self) -> TakenLook | None:
        """The last planned look that counts, at the newest version of the plan."""
        newest = self.history.newest
        looks = () if newest is None else counted(self.looks.taken, newest.plan_hash)
        return looks[-1] if looks else None

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of that look; None: no planned look was recorded."""
        return None if self.newest_look is None else self.newest_look.record.verdict


def experiment_logs(store: Store, experiment: str | None = None) -> tuple[ExperimentLog, ...]:
    """What is stored of one experiment or of all, those registered last first."""
    params = {"experiment": experiment}
    plans = _by_experiment(store.read("experiment_plans", params))
    looks = _by_experiment(store.read("experiment_looks", params))
    decisions = _by_experiment(store.read("experiment_decisions", params))
    order = sorted(plans, key=lambda name: plans[name][-1].registered_at, reverse=True)
    return tuple(
        ExperimentLog(
            experiment=name,
            history=history(PlanRow(*row) for row in plans[name]),
            looks=stored_looks(LookRow(*row) for row in looks.get(name, ())),
            decisions=tuple(_decision(row) for row in decisions.get(name, ())),
        )
        for name in order
    )


def _by_experiment(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.experiment].append(row)
    return found


def _decision(row: Row) -> StoredDecision:
    return StoredDecision(
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decision=row.decision,
        plan_hash=row.plan_hash,
        look_key=row.look_key,
        verdict=row.verdict,
        override=row.override,
        reason=row.reason,
    )
