"""Stop and rollback rules in words: what each says, whether it is met, and what was seen."""

from core import format as fmt
from core.domain.experiments.rules import MeasuredRule, RuleState, Side
from core.domain.reading import Reading
from core.domain.statistics.sums import Interval
from core.messages import named, say
from core.report.cells import covered, unknown
from core.report.document import Cell, Kind
from core.views.experiment_efficiency import EfficiencyRow
from core.views.experiment_rules import JudgedRule
from core.views.experiments import ExperimentView

RULE_TITLES = (
    say("plan_rules.action"),
    say("plan_rules.rule"),
    say("plan_rules.state"),
    say("plan_rules.seen"),
    say("plan_rules.behind"),
)
WIDE = (1, 3, 4)
"""Places of the columns with long words."""


def are_shown(one: ExperimentView) -> bool:
    """Whether a rule is measured, or the verdict or its interval says regression."""
    return one.says_regression or any(rule.measured for rule in one.rules)


def rule_rows(one: ExperimentView) -> list[list[Cell]]:
    """Every stop and rollback rule with its state; the number behind it for a file."""
    return [_row(one, rule) for rule in one.rules]


def rule_notes(one: ExperimentView) -> list[str]:
    """How a rule is judged, and the way back."""
    said = [say("plan_rules.note")] if any(rule.measured for rule in one.rules) else []
    return [*said, say("plan_rules.restore", how=one.plan.restore_procedure)]


def met_words(one: ExperimentView) -> list[str]:
    """A line that names every rule that is met, if one of them is measured, and the way back."""
    met = [rule for rule in one.rules if rule.state is RuleState.MET]
    if not any(rule.measured for rule in met):
        return []
    rules = "; ".join(_met(one, rule) for rule in met)
    return [say("plan_rules.met", rules=rules, how=one.plan.restore_procedure)]


def _met(one: ExperimentView, rule: JudgedRule) -> str:
    words = say("plan_rules.of", action=say(f"rule_action.{rule.action}"), rule=rule.text)
    if rule.measured is None:
        return words
    seen, behind = _evidence(one, rule)
    return say("plan_rules.measured", rule=words, seen=seen.text, behind=behind.text)


def _row(one: ExperimentView, rule: JudgedRule) -> list[Cell]:
    kind = Kind.BAD if rule.state is RuleState.MET else Kind.KNOWN
    state = Cell(say(f"rule_state.{rule.state}"), kind)
    return [
        Cell(say(f"rule_action.{rule.action}")),
        Cell(rule.text),
        state,
        *_evidence(one, rule),
    ]


def _evidence(one: ExperimentView, rule: JudgedRule) -> tuple[Cell, Cell]:
    """What was seen, and what stands behind it."""
    if rule.measured is not None:
        return _seen(rule.measured, rule), _behind(rule.measured, rule.row)
    if rule.of_verdict:
        verdict = say("outcome.none") if one.verdict is None else named("outcome.", one.verdict)
        seen = Cell(say("review.verdict_is", verdict=verdict))
        return seen, Cell(say("experiments.gate"))
    return Cell(say("plan_rules.not_measured")), Cell(say("plan_rules.not_measured"))


def _seen(measured: MeasuredRule, rule: JudgedRule) -> Cell:
    """The figure in the unit of the rule, its interval beside it; or why it is not known."""
    row, edges = rule.row, rule.seen
    if row is None or edges is None:
        return unknown(_why(measured, row))
    low, high = edges
    if low < high:
        text = f"{_number(measured, low)} – {_number(measured, high)} {measured.unit}"
        if rule.state is RuleState.UNKNOWN:
            text = say("plan_rules.between", seen=text)
        return Cell(text)
    text = f"{_number(measured, low)} {measured.unit}"
    if measured.side is Side.DIFFERENCE:
        text = _with_interval(measured, text, row.interval)
    return Cell(text, exact=measured.written(low))


def _with_interval(measured: MeasuredRule, text: str, interval: Interval | None) -> str:
    if interval is None:
        return say("experiments.no_interval", value=text)
    low, high = (_number(measured, end) for end in interval)
    return say("estimate", value=text, limits=say("estimate.limits", low=low, high=high))


def _number(measured: MeasuredRule, value: float) -> str:
    signed = measured.side is Side.DIFFERENCE
    return fmt.against(measured.written(value), measured.threshold, signed=signed)


def _why(measured: MeasuredRule, row: EfficiencyRow | None) -> str:
    """Why a figure, or its difference, is not known."""
    if row is None:
        return say("cell.unknown")
    if row.base is None or row.new is None:
        return say("experiments.shared")
    of = [row.new] if measured.side is Side.NEW else [row.new, row.base]
    missing = next((one for one in of if not one.known), None)
    return say("experiments.no_delta") if missing is None else fmt.reading(missing)


def _behind(measured: MeasuredRule, row: EfficiencyRow | None) -> Cell:
    """How much stands behind a figure, by arm."""
    if row is None or row.base is None or row.new is None:
        return Cell(say("table.none"))
    new = _counted(row.new)
    if measured.side is Side.NEW:
        return Cell(new)
    return Cell(say("plan_rules.both", base=_counted(row.base), new=new))


def _counted(reading: Reading) -> str:
    """Requests that know the figure, or what was divided by what."""
    if reading.coverage is not None:
        return covered(reading).text
    return fmt.terms(reading) or say("table.none")
