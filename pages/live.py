"""Live: what is happening now, for whoever is on call."""

from core import charts, ui
from core.messages import say
from core.views.live import LiveView, build


@ui.moving
def live() -> None:
    """Everything that moves; runs again by itself."""
    view: LiveView = ui.view(build)
    ui.freshness(view.fleet)
    ui.notices(view.fleet, inflated=view.inflated, broken=view.broken)
    if ui.nothing_to_show(view.fleet):
        return
    axis = ui.time_axis(view.fleet)
    ui.tiles(view.fleet, view.tiles)

    left, right = ui.grid("main", 5, 4)
    with left:
        ui.heading(say("chart.hit_ratio"), "engine_hit_ratio", "gateway_cached_share")
        ratios = charts.hit_ratio(axis, view.hit_ratio, view.gateway_share)
        ui.chart("hit_ratio", ratios, view.reading("engine_hit_ratio"))
        ui.heading(
            say("chart.prefill"),
            "cached_prefill_tokens_per_s",
            "computed_prefill_tokens_per_s",
            "external_prefill_tokens_per_s",
        )
        ui.chart(
            "prefill",
            charts.prefill(axis, view.prefill),
            view.reading("cached_prefill_tokens_per_s"),
        )
    with right:
        ui.heading(say("table.changes_title"))
        ui.changes_table(view.fleet)
        ui.heading(say("table.engines_title"), "engine_hit_ratio", "kv_usage_max")
        ui.engines_table(view.engines)

    one, two, three = ui.grid("more", 1, 1, 1)
    with one:
        ui.heading(say("chart.kv"), "kv_usage_max", "kv_usage_mean")
        ui.chart(
            "kv",
            charts.kv_usage(axis, view.kv_usage_max, view.kv_usage_mean),
            view.reading("kv_usage_max"),
        )
    with two:
        ui.heading(say("chart.pressure"), "preemptions", "requests_waiting", "requests_running")
        ui.chart("pressure", charts.pressure(axis, view.preemptions, view.running, view.waiting))
    with three:
        ui.heading(say("chart.ttft"), "ttft_p50", "ttft_p95")
        ui.chart("ttft", charts.ttft(axis, view.ttft), view.reading("ttft_p95"))
        ui.ttft_note(view.ttft_left_out)


live()
ui.lever_form()
