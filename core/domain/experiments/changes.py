"""The lever log against an experiment: its own change, what else changed, and what it means.

| change inside an arm's period, in an arm's scope | meaning |
|---|---|
| entered by hand, and not the experiment's own | hold |
| configuration found changed, and any kind not named here | hold |
| restart, engine appeared or left, cache reset | note; hold where arms follow in time |
| of the kinds that the lever itself leaves, within half an hour of it | note |

The own change is the first one entered of the plan's kind: after registration, and where
arms follow in time, from the end of the baseline on. A second one of that kind is another
change, and so is taking the first one back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.experiments.arms import Arm, ByTime
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.evidence import Evidence, EvidenceLine, together, whose
from core.domain.experiments.plan import ExperimentPlan
from core.domain.levers import LeverKind

OWN_S = 1800
"""So long after (or before) the own change, what it leaves on engines is found."""
_ROLLED_OUT = frozenset(
    {
        LeverKind.CONFIGURATION,
        LeverKind.RESTART,
        LeverKind.ENGINE_APPEARED,
        LeverKind.ENGINE_LEFT,
    }
)
_SCALED = frozenset({LeverKind.ENGINE_APPEARED, LeverKind.ENGINE_LEFT})
TRACES: dict[LeverKind, frozenset[LeverKind]] = {
    LeverKind.MEMORY_CONCURRENCY: _ROLLED_OUT,
    LeverKind.KV_DTYPE: _ROLLED_OUT,
    LeverKind.MATCH_UNIT_BLOCKS: _ROLLED_OUT,
    LeverKind.REPLICAS: _SCALED,
    LeverKind.SCALING_STABILITY: _SCALED,
}
"""What the collector finds when a lever is pulled; the other levers leave engines alone."""


ENGINES_CHANGED = frozenset(
    {
        LeverKind.RESTART,
        LeverKind.ENGINE_APPEARED,
        LeverKind.ENGINE_LEFT,
        LeverKind.CACHE_RESET,
    }
)
"""What arms at one time meet alike."""


class ChangeReason(StrEnum):
    """What a logged change is to an experiment."""

    ANOTHER_CHANGE = "another_change"
    OWN_CHANGE = "own_change"
    OWN_TRACE = "own_trace"
    ENGINES_CHANGED = "engines_changed"


@dataclass(frozen=True)
class LoggedChange:
    """One entry of the lever log.

    Parameters
    ----------
    kind : str
        A `LeverKind`; one that this version does not know is another change.
    cluster, namespace, model : str or None
        Labels of its engine; None: not known, or no engine.
    """

    lever_id: int
    at: float
    kind: str
    what: str
    engine_id: int | None = None
    cluster: str | None = None
    namespace: str | None = None
    model: str | None = None


def own_change(
    plan: ExperimentPlan, changes: Sequence[LoggedChange], *, registered_at: float
) -> LoggedChange | None:
    """The change that the experiment is about; None while none is logged.

    Parameters
    ----------
    changes : sequence of LoggedChange
        From registration or the start of the period on, whichever is earlier.
    registered_at : float
        When the plan was registered, seconds since the epoch.
    """
    split = plan.arms.split
    since = split.base.end if isinstance(split, ByTime) else min(registered_at, plan.period.start)
    mine = [c for c in changes if c.kind == plan.lever and since <= c.at < plan.period.end]
    return min(mine, key=lambda change: (change.at, change.lever_id), default=None)


def judge_changes(
    plan: ExperimentPlan, changes: Sequence[LoggedChange], *, registered_at: float
) -> Evidence:
    """Reasons to hold and notes out of the lever log, in the order of time."""
    own = own_change(plan, changes, registered_at=registered_at)
    ordered = sorted(changes, key=lambda change: (change.at, change.lever_id))
    return together(_judged(plan, change, own) for change in ordered)


def _judged(plan: ExperimentPlan, change: LoggedChange, own: LoggedChange | None) -> Evidence:
    arms = [arm for arm in Arm if concerns(plan, change, arm)]
    if own is not None and change.lever_id == own.lever_id:
        return Evidence(notes=(_line(ChangeReason.OWN_CHANGE, change, arms),))
    if not arms:
        return Evidence()
    if own is not None and _is_trace(plan.lever, change, own):
        return Evidence(notes=(_line(ChangeReason.OWN_TRACE, change, arms),))
    if change.kind in ENGINES_CHANGED and plan.comparison is not Comparison.BEFORE_AFTER:
        return Evidence(notes=(_line(ChangeReason.ENGINES_CHANGED, change, arms),))
    return Evidence(holds=(_line(ChangeReason.ANOTHER_CHANGE, change, arms),))


def concerns(plan: ExperimentPlan, change: LoggedChange, arm: Arm) -> bool:
    """Whether a change lies in an arm's period, on an engine that may serve the arm.

    A change without an engine concerns everybody, and a label that is not known excludes
    nothing.
    """
    if not plan.period_of(arm).holds(change.at):
        return False
    pairs = (
        (plan.arms.label_of(arm, "cluster"), change.cluster),
        (plan.arms.label_of(arm, "namespace"), change.namespace),
        (plan.arms.label_of(arm, "model"), change.model),
    )
    known = [(wanted, seen) for wanted, seen in pairs if wanted is not None and seen is not None]
    return all(wanted == seen for wanted, seen in known)


def _is_trace(lever: LeverKind, change: LoggedChange, own: LoggedChange) -> bool:
    return change.kind in TRACES.get(lever, frozenset()) and abs(change.at - own.at) <= OWN_S


def _line(reason: ChangeReason, change: LoggedChange, arms: Sequence[Arm]) -> EvidenceLine:
    return EvidenceLine.checked(
        reason=reason.value,
        of=whose(arms),
        at=float(change.at),
        detail=f"{change.kind}: {change.what}",
        lever_id=change.lever_id,
    )
