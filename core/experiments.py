"""Plans, looks and decisions as people enter them. They pass through the inbox.

Keys are made of content, not of time, so a second click adds nothing; the cache keeps the
first time. Nothing that was recorded is ever changed or taken away.
"""

from collections.abc import Sequence

from core.cache.inbox import Inbox, rows
from core.catalogue import METRICS
from core.domain.experiments.decision import Decision, DecisionRecord, is_override
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import LookRecord, TakenLook
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.texts import Signature
from core.domain.experiments.versions import History, PlanVersion
from core.domain.records import stable_id
from core.errors import EntryError

SOURCE = "experiments"


def register(inbox: Inbox, plan: ExperimentPlan, *, by_whom: str, at: float, known: History) -> int:
    """Record a plan at a moment, seconds since the epoch; returns the number of its version.

    `known` are the stored versions of this experiment. A plan like the newest of them adds
    nothing.

    Raises
    ------
    EntryError
        If the efficiency metric is not in the catalogue, or the name cannot be used.
    """
    if plan.efficiency_metric not in METRICS:
        raise EntryError(f"efficiency_metric: {plan.efficiency_metric} is not in the catalogue")
    by = Signature.checked(by=by_whom).by
    newest = known.newest
    if newest is not None and newest.plan_hash == plan.plan_hash:
        return newest.number
    number = known.next_number
    record = {
        "plan_key": stable_id("plan", plan.experiment, number, plan.plan_hash, by),
        "experiment": plan.experiment,
        "version": number,
        "plan_hash": plan.plan_hash,
        "registered_at": _micros(at),
        "registered_by": by,
        "body": plan.to_json(),
    }
    inbox.write(SOURCE, {"experiment_plans": rows("experiment_plans", [record])})
    return number


def record_look(inbox: Inbox, look: LookRecord, *, at: float) -> int:
    """Record a look that was taken at a moment; returns its key."""
    body = look.to_json()
    key = stable_id("look", body)
    record = {
        "look_key": key,
        "experiment": look.experiment,
        "plan_hash": look.plan_hash,
        "number": look.number,
        "taken_at": _micros(at),
        "taken_by": look.taken_by,
        "verdict": look.verdict,
        "body": body,
    }
    inbox.write(SOURCE, {"experiment_looks": rows("experiment_looks", [record])})
    return key


def decide(
    inbox: Inbox,
    decision: Decision,
    *,
    version: PlanVersion,
    look: TakenLook | None,
    holds: Sequence[EvidenceLine] = (),
    by_whom: str,
    reason: str | None,
    at: float,
) -> DecisionRecord:
    """Record what was decided at a moment, and whether it goes past the gate.

    `look` is what the decision rests on, `holds` what was found since. A look at another
    version of the plan says nothing about this one.

    Raises
    ------
    EntryError
        If an override has no reason, or the name cannot be used.
    """
    verdict = None
    if look is not None and look.record.plan_hash == version.plan_hash:
        verdict = look.record.verdict
    record = DecisionRecord.checked(
        experiment=version.plan.experiment,
        decision=decision,
        by=by_whom,
        plan_hash=version.plan_hash,
        look_key=None if look is None else look.look_key,
        verdict=verdict,
        override=is_override(decision, verdict, holds=holds),
        reason=reason,
    )
    row = {
        "decision_key": stable_id("decision", record.to_json()),
        "experiment": record.experiment,
        "plan_hash": record.plan_hash,
        "look_key": record.look_key,
        "decided_at": _micros(at),
        "decided_by": record.by,
        "decision": record.decision.value,
        "verdict": record.verdict,
        "override": record.override,
        "reason": record.reason,
    }
    inbox.write(SOURCE, {"experiment_decisions": rows("experiment_decisions", [row])})
    return record


def _micros(at: float) -> int:
    return round(at * 1_000_000)
