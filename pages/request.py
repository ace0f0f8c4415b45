"""Request: everything known about one request, and what nobody can know about it."""

from core import charts, ui
from core.messages import say
from core.views.one_request import OneRequest
from core.views.request import RequestView, build

wanted = ui.id_field()
view: RequestView = ui.view(build, wanted, ui.window_length())
ui.freshness(view.fleet)
ui.notices(view.fleet)
if view.one:
    one: OneRequest = view.one
    ui.found_line(view)
    ui.heading(say("request.timeline"))
    ui.chart("timeline", charts.timeline(ui.time_axis(view.fleet), one))
    ui.timeline_notes(one)

    raw, normalised, verdict = ui.grid("usage", 1, 1, 1)
    with raw:
        ui.heading(say("request.raw"))
        ui.raw_usage_table(one)
    with normalised:
        ui.heading(say("request.normalised"))
        ui.usage_table(one)
    with verdict:
        ui.heading(say("request.verdict"), "cached_ratio")
        ui.usage_verdict(view.fleet, one)

    left, right = ui.grid("facts", 1, 1)
    with left:
        ui.heading(say("request.turn"))
        ui.turn_facts(view, one)
    with right:
        ui.heading(say("request.facts"))
        ui.facts_table(view, one)

    ui.engine_heading()
    ui.engine_part(view, one)
    ui.heading(say("request.attempts"))
    ui.attempts_table(view, one)
    ui.heading(say("request.scores"))
    ui.scores_table(view, one)
    ui.heading(say("request.unknown"))
    ui.unknown_list(one)
elif view.several:
    ui.several_requests(view)
elif wanted:
    ui.fetch(view, wanted)
else:
    ui.recent_requests(view)
