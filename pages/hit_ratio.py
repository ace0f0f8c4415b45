"""Hit ratio: the three ratios, the counters behind them, and whether they agree."""

from core import charts, ui
from core.messages import say
from core.views.hit_ratio import HitRatioView, build

view: HitRatioView = ui.view(build)
ui.freshness(view.fleet)
ui.notices(view.fleet, inflated=view.inflated, broken=view.broken)
if not ui.nothing_to_show(view.fleet):
    axis = ui.time_axis(view.fleet)
    ui.heading(
        say("hit.definitions"), "engine_hit_ratio", "gateway_cached_share", "request_cached_ratio"
    )
    ui.reading_tiles(view.fleet, view.ratios, changes=view.changes)

    ui.heading(
        say("hit.reconcile"), "gateway_cached_share", "prompt_tokens", "gateway_input_tokens"
    )
    ui.reconciliation(view)

    ui.heading(say("hit.proxy"), "gateway_counter_share")
    ui.proxy_counters(view)

    ui.heading(
        say("hit.counters"),
        "lookup_inflation",
        "cached_prompt_ratio",
        "external_hit_ratio",
        "queries_tokens",
        "hits_tokens",
        "prompt_tokens",
    )
    ui.reading_tiles(view.fleet, (*view.checks, *view.tokens))

    left, right = ui.grid("lines", 1, 1)
    with left:
        ui.heading(
            say("chart.hit_ratio"), "engine_hit_ratio", "gateway_cached_share", "external_hit_ratio"
        )
        ui.chart(
            "hit_ratio",
            charts.hit_ratio(axis, view.engine_line, view.gateway_line, view.external_line),
        )
    with right:
        ui.heading(say("chart.inflation"), "lookup_inflation")
        ui.chart("inflation", charts.inflation(axis, view.inflation_line))

    ui.heading(say("chart.heat"), "engine_hit_ratio")
    ui.chart("heat", charts.heat(axis, view.heat))

    ui.heading(say("table.by_model"), "engine_hit_ratio")
    ui.groups_table("by_model", view.by_model)
    ui.heading(say("table.by_engine"), "engine_hit_ratio")
    ui.groups_table("by_engine", view.by_engine)
    ui.heading(say("table.changes_title"))
    ui.changes_table(view.fleet)
