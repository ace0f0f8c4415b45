"""The efficiency table of an experiment: both arms beside the gate, without a verdict."""

from core.messages import say
from core.report.arm_efficiency import efficiency_notes, efficiency_rows
from core.ui.frame import heading
from core.ui.request import lines
from core.ui.tables import Column, table
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
    table("experiment_efficiency", columns, [list(row) for row in efficiency_rows(one)], whole=True)
    lines(efficiency_notes(one))
