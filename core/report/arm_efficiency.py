"""Efficiency of both arms of an experiment, in cells: results first, then conditions."""

from core import format as fmt
from core.catalogue import METRICS, Unit
from core.messages import say
from core.report.cells import reading, unknown
from core.report.document import Cell
from core.views.experiment_efficiency import EfficiencyRow
from core.views.experiments import ExperimentView


def efficiency_rows(one: ExperimentView) -> list[list[Cell]]:
    """Baseline, new, and their difference with its interval."""
    ordered = sorted(one.efficiency, key=lambda row: row.beside)
    return [_row(one, row) for row in ordered]


def _row(one: ExperimentView, row: EfficiencyRow) -> list[Cell]:
    name = METRICS[row.metric].label
    if row.metric == one.plan.efficiency_metric:
        name = say("experiments.planned_metric", name=name)
    if row.beside:
        name = say("experiments.beside", name=name)
    if row.base is None or row.new is None:
        shared = unknown(say("experiments.shared"))
        return [Cell(name), shared, shared, unknown(say("experiments.not_separable"))]
    return [Cell(name), reading(row.base), reading(row.new), _delta(row)]


def _delta(row: EfficiencyRow) -> Cell:
    """The difference with its interval; where there is none, words say so."""
    if row.delta is None:
        return unknown(say("experiments.no_delta"))
    unit = METRICS[row.metric].unit
    if unit is Unit.RATIO:
        words = fmt.points(row.delta, row.interval, ratio=True)
    else:
        words = fmt.difference(row.delta, unit)
        if row.interval is not None:
            low, high = (fmt.difference(limit, unit) for limit in row.interval)
            limits = say("estimate.limits", low=low, high=high)
            words = say("estimate", value=words, limits=limits)
    if row.interval is None:
        words = say("experiments.no_interval", value=words)
    return Cell(words, exact=row.delta)


def efficiency_notes(one: ExperimentView) -> list[str]:
    """How to read the rows, and what is not among them."""
    said = [
        say(
            "efficiency.note",
            confidence=f"{one.figures.confidence * 100:.4g} %",
        )
    ]
    if not one.plan.arms.have_engines:
        said.append(say("efficiency.shared"))
    if one.first_token_unchanged:
        said.append(say("efficiency.unchanged"))
    if one.plan.efficiency_metric not in {row.metric for row in one.efficiency}:
        label = METRICS.get(one.plan.efficiency_metric)
        name = one.plan.efficiency_metric if label is None else label.label
        said.append(say("efficiency.elsewhere", name=name))
    return said
