"""The efficiency table of an experiment: both arms beside the gate, without a verdict."""

from core import format as fmt
from core.catalogue import METRICS, Unit
from core.messages import say
from core.ui.frame import heading
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.experiment_efficiency import EfficiencyRow
from core.views.experiment_engines import has_own_engines
from core.views.experiments import ExperimentView


def efficiency_panel(one: ExperimentView) -> None:
    """Results first, then the conditions to read them by."""
    keys = [row.metric for row in one.efficiency]
    heading(say("experiments.efficiency"), *keys)
    columns = [
        Column(say("col.figure"), wide=True),
        Column(say("experiments.base"), numeric=True),
        Column(say("experiments.new"), numeric=True),
        Column(say("experiments.delta"), numeric=True),
    ]
    ordered = sorted(one.efficiency, key=lambda row: row.beside)
    table("experiment_efficiency", columns, [_row(one, row) for row in ordered], whole=True)
    lines(_notes(one))


def _row(one: ExperimentView, row: EfficiencyRow) -> list[Cell]:
    name = METRICS[row.metric].label
    if row.metric == one.plan.efficiency_metric:
        name = say("experiments.planned_metric", name=name)
    if row.beside:
        name = say("experiments.beside", name=name)
    if row.base is None or row.new is None:
        shared = say("experiments.shared")
        return [name, shared, shared, say("experiments.not_separable")]
    return [name, _value(row, "base"), _value(row, "new"), _delta(row)]


def _value(row: EfficiencyRow, side: str) -> Cell:
    reading = row.base if side == "base" else row.new
    if reading is None or not reading.known:
        return reading
    return fmt.reading(reading)


def _delta(row: EfficiencyRow) -> Cell:
    """The difference with its interval; where there is none, words say so."""
    if row.delta is None:
        return say("experiments.no_delta")
    unit = METRICS[row.metric].unit
    if unit is Unit.RATIO:
        words = fmt.points(row.delta, row.interval, ratio=True)
    else:
        words = fmt.difference(row.delta, unit)
        if row.interval is not None:
            low, high = (fmt.difference(limit, unit) for limit in row.interval)
            words = say("estimate", value=words, low=low, high=high)
    return words if row.interval is not None else say("experiments.no_interval", value=words)


def _notes(one: ExperimentView) -> list[str]:
    said = [
        say(
            "efficiency.note",
            confidence=f"{one.figures.confidence * 100:.4g} %",
        )
    ]
    if not has_own_engines(one.plan):
        said.append(say("efficiency.shared"))
    if one.first_token_unchanged:
        said.append(say("efficiency.unchanged"))
    if one.plan.efficiency_metric not in {row.metric for row in one.efficiency}:
        label = METRICS.get(one.plan.efficiency_metric)
        name = one.plan.efficiency_metric if label is None else label.label
        said.append(say("efficiency.elsewhere", name=name))
    return said
