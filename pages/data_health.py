"""Data health: sources, lag, coverage, names, duplicates, and what went wrong."""

from core import ui
from core.messages import say
from core.views.data_health import DataHealthView, build


@ui.moving
def health() -> None:
    """Everything that moves; runs again by itself."""
    view: DataHealthView = ui.view(build)
    ui.freshness(view.fleet)
    ui.notices(view.fleet)
    ui.health_notices(view)
    ui.heading(say("health.sources"))
    ui.sources_table(view)
    ui.heading(say("health.findings"))
    ui.findings_table(view)
    ui.heading(say("health.collector"))
    ui.collector_lines()
    ui.heading(say("health.engines"))
    ui.targets_table(view)
    left, right = ui.grid("tables", 2, 3)
    with left:
        ui.heading(say("health.coverage"))
        ui.coverage_table(view)
    with right:
        ui.heading(say("health.names"))
        ui.exports_table(view)
    ui.heading(say("health.senders"), "gateway_cached_share")
    ui.senders_table(view)
    ui.heading(say("health.violations"))
    ui.violations_table(view)
    ui.heading(say("health.evaluators"))
    ui.evaluators_table(view)
    ui.heading(say("health.log"))
    ui.log_table(view)
    ui.heading(say("health.cache"))
    ui.cache_line(view)


health()
