"""Preemption: when engines preempted, and what the requests over those windows went through."""

from core import charts, ui
from core.messages import say
from core.views.preemption import PreemptionView, build

view: PreemptionView = ui.view(build, ui.window_length())
ui.freshness(view.fleet)
ui.notices(view.fleet)
if not ui.nothing_to_show(view.fleet):
    ui.preemption_strip(view)
    if view.fleet.engines:
        axis = ui.time_axis(view.fleet)
        left, right = ui.grid("lines", 1, 1)
        with left:
            ui.heading(
                say("preempt.pressure"), "preemptions", "requests_waiting", "requests_running"
            )
            figure = charts.pressure(axis, view.preemptions, view.running, view.waiting)
            ui.chart("pressure", figure)
        with right:
            ui.heading(say("chart.kv"), "kv_usage_max", "kv_usage_mean")
            ui.chart("kv", charts.kv_usage(axis, view.kv_usage_max, view.kv_usage_mean))

    ui.heading(
        say("preempt.exposure"),
        "request_exposure",
        "incomplete_rate",
        "request_ttft",
        "request_latency",
    )
    ui.exposure_table(view)
    ui.heading(say("preempt.quality"), "score_mean", "pass_rate")
    ui.exposure_scores(view)

    ui.heading(say("preempt.engines"), "preempt_window", "kv_usage_max", "requests_waiting")
    ui.pressure_table(view)
    ui.heading(say("preempt.histogram"), "mean_request_preemptions", "requests_preempted_twice")
    ui.request_preemptions_table(view)
    ui.heading(say("table.changes_title"))
    ui.changes_table(view.fleet)
