"""KV residency: how long sampled blocks stayed, and how many blocks that is known of."""

from core import ui
from core.messages import say
from core.views.kv_residency import KvResidencyView, build

view: KvResidencyView = ui.view(build)
ui.freshness(view.fleet)
ui.notices(view.fleet)
ui.residency_states(view)
if not ui.nothing_to_show(view.fleet):
    ui.residency_summary(view)
    one, two, three = ui.grid("blocks", 1, 1, 1)
    with one:
        ui.distribution_panel(view.idle)
    with two:
        ui.distribution_panel(view.reuse_gap)
    with three:
        ui.distribution_panel(view.lifetime)
    ui.distributions_note()
    ui.residency_over_time(view)
    left, right = ui.grid("engines", 3, 2)
    with left:
        ui.residency_engines(view)
    with right:
        ui.heading(say("table.changes_title"))
        ui.changes_table(view.fleet)
    left, right = ui.grid("beside", 3, 2)
    with left:
        ui.match_units_table(view)
    with right:
        ui.turn_gaps_panel(view)
