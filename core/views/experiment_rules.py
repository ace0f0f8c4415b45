"""Stop and rollback rules of a plan, each with what is known of it now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.rules import (
    MeasuredRule,
    RuleState,
    Side,
    is_met,
    is_of_verdict,
)
from core.domain.reading import Reading
from core.domain.statistics.gate import Verdict
from core.views.experiment_efficiency import EfficiencyRow

STATES = {True: RuleState.MET, False: RuleState.NOT_MET, None: RuleState.UNKNOWN}


class Action(StrEnum):
    """What a plan asks for when a rule is met."""

    STOP = "stop"
    ROLLBACK = "rollback"


@dataclass(frozen=True)
class JudgedRule:
    """One rule of a plan.

    Parameters
    ----------
    measured : MeasuredRule or None
        None: the verdict judges it, or a person.
    row : EfficiencyRow or None
        The figure of a measured rule; None: it is not among those of the experiment.
    of_verdict : bool
        Whether the verdict judges it.
    """

    action: Action
    text: str
    state: RuleState
    measured: MeasuredRule | None = None
    row: EfficiencyRow | None = None
    of_verdict: bool = False

    @property
    def seen(self) -> tuple[float, float] | None:
        """Least and most that the figure of a measured rule can be; None: not known."""
        return None if self.measured is None else _seen(self.measured, self.row)


def judged_rules(
    plan: ExperimentPlan, verdict: Verdict | None, rows: Sequence[EfficiencyRow]
) -> tuple[JudgedRule, ...]:
    """Stop rules, then rollback rules, in the order of the plan."""
    return tuple(_judge(action, text, verdict, rows) for action, text in _rules(plan))


def _rules(plan: ExperimentPlan) -> Iterator[tuple[Action, str]]:
    yield from ((Action.STOP, text) for text in plan.stop_rules)
    yield from ((Action.ROLLBACK, text) for text in plan.rollback_rules)


def _judge(
    action: Action, text: str, verdict: Verdict | None, rows: Sequence[EfficiencyRow]
) -> JudgedRule:
    rule = MeasuredRule.read(text)
    if rule is not None:
        row = next((one for one in rows if one.metric == rule.metric), None)
        return JudgedRule(action, text, STATES[rule.is_met(_seen(rule, row))], rule, row)
    if is_of_verdict(text):
        return JudgedRule(action, text, STATES[is_met(text, verdict)], of_verdict=True)
    return JudgedRule(action, text, RuleState.PERSON)


def _seen(rule: MeasuredRule, row: EfficiencyRow | None) -> tuple[float, float] | None:
    if row is None or row.base is None or row.new is None:
        return None
    if rule.side is Side.NEW:
        return _edges(row.new)
    if row.delta is not None:
        return row.delta, row.delta
    base, new = _edges(row.base), _edges(row.new)
    if base is None or new is None or None in (row.base.low, row.new.low):
        return None
    return new[0] - base[1], new[1] - base[0]


def _edges(reading: Reading) -> tuple[float, float] | None:
    """Edges of the bucket where only it is known; else the value twice."""
    if reading.value is None:
        return None
    if reading.low is None or reading.high is None:
        return reading.value, reading.value
    return reading.low, reading.high
