"""Experiments: plans made before the data, efficiency beside the gate, looks and decisions."""

from core import ui
from core.views.experiments import ExperimentsView, build

view: ExperimentsView = ui.view(build, ui.experiment_asked())
ui.freshness(view.fleet)
ui.notices(view.fleet)
ui.outcome()
one = ui.experiment_bar(view)
if one:
    ui.verdict_panel(one)
    left, right = ui.grid("experiment_gate", 6, 5)
    with left:
        ui.efficiency_panel(one)
    with right:
        ui.gate_panel(one)
    ui.rules_panel(one)
    ui.regression_panel(one)
    ui.observed_table(one)
    left, right = ui.grid("experiment_actions", 1, 1)
    with left:
        ui.look_form(one)
    with right:
        ui.decision_form(one)
    ui.looks_log(one)
    ui.decisions_log(one)
    ui.plan_card(one)
    ui.versions_panel(one)
    ui.changes_log(one)
ui.experiments_table(view)
ui.plan_forms(view)
ui.calculator()
