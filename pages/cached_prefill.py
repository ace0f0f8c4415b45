"""Cached prefill: prompt tokens cached and computed, and what a tuning could still win."""

from core import charts, ui
from core.messages import say
from core.views.cached_prefill import CachedPrefillView, build

view: CachedPrefillView = ui.view(build)
ui.freshness(view.fleet)
ui.notices(view.fleet)
if not ui.nothing_to_show(view.fleet):
    axis = ui.time_axis(view.fleet)
    ui.heading(say("prefill.headline"), "prefill_cached_share", "prefill_external_share")
    ui.tiles(view.fleet, view.tiles)
    ui.prefill_note(view)

    left, right = ui.grid("prefill", 1, 1)
    with left:
        ui.heading(say("chart.prefill"), *ui.RATES_BY_SOURCE)
        prefill = charts.prefill(axis, view.prefill)
        ui.chart("prefill", prefill, view.reading("cached_prefill_tokens_per_s"))
    with right:
        ui.heading(say("prefill.engines"), *ui.TOKENS_BY_SOURCE)
        ui.prefill_engines_table(view)

    left, right = ui.grid("accounts", 1, 1)
    with left:
        ui.heading(say("prefill.accounts"), *ui.ACCOUNTS)
        ui.accounts_table(view)
    with right:
        ui.heading(say("prefill.differences"), "prefill_difference")
        ui.differences_table(view)

    ui.heading(say("prefill.beside"), "prompt_tokens_per_s", "generation_tokens_per_s")
    ui.tiles(view.fleet, view.beside)
    one, two, three = ui.grid("beside", 1, 1, 1)
    with one:
        ui.heading(say("chart.ttft"), "ttft_p50", "ttft_p95")
        ui.chart("ttft", charts.ttft(axis, view.ttft), view.reading("ttft_p95"))
        ui.ttft_note(view.ttft_left_out)
    with two:
        ui.heading(say("chart.throughput"), "prompt_tokens_per_s", "generation_tokens_per_s")
        throughput = charts.throughput(axis, view.throughput)
        ui.chart("throughput", throughput, view.reading("prompt_tokens_per_s"))
    with three:
        ui.heading(say("chart.queue"), "requests_waiting", "requests_running")
        queue = charts.queue(axis, view.running, view.waiting)
        ui.chart("queue", queue, view.reading("requests_waiting"))

    ui.heading(say("prefill.uncached"), "uncached_tokens", "uncached_share")
    ui.uncached_table(view)
    ui.heading(say("prefill.follow_ups"), *ui.AFFINITY)
    left, right = ui.grid("affinity", 1, 3)
    with left:
        ui.tiles(view.fleet, view.affinity_tiles)
    with right:
        follow_ups = charts.follow_ups(axis, view.affinity.share_line, view.affinity.turns)
        ui.chart("follow_ups", follow_ups, view.reading("same_engine_share"))
    ui.places_table(view)
    ui.heading(say("table.changes_title"))
    ui.changes_table(view.fleet)
