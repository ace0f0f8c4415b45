"""Parts of the Preemption page: the strip, its requests, tables and what they do not say."""

from typing import Any

import streamlit as st

from core import charts
from core import format as fmt
from core.messages import named, say
from core.ui.frame import chart, heading, time_axis, view
from core.ui.lookup import request_link
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.exposures import MOST_REQUESTS, Overlap, overlapping
from core.views.preemption import FEW_SCRAPES, PreemptionView
from core.views.strip import Lane, StripCell, cell_s

STRIP, ENGINE, WINDOW = "preempt_strip", "preempt_engine", "preempt_window"


def preemption_strip(shown: PreemptionView) -> None:
    """Windows of every engine, and the requests over the one that is chosen."""
    heading(say("preempt.strip"), "preempt_window", "preemptions")
    if not shown.fleet.engines:
        lines([say("preempt.no_engines")])
        return
    if shown.fleet.absent("num_preemptions") in ("not_exported", "renamed"):
        lines([say("preempt.no_counter")])
    if shown.short and shown.scrape_interval_s is not None:
        st.warning(
            say(
                "preempt.short",
                window=fmt.seconds(shown.rule.rule.window_s),
                n=FEW_SCRAPES,
                interval=fmt.seconds(shown.scrape_interval_s),
            )
        )
    figure = charts.strip(time_axis(shown.fleet), shown.lanes)
    chart(STRIP, figure, on_select=_clicked)
    lines([_strip_note(shown)])
    if shown.requests_connected:
        _picked(shown)


def _strip_note(shown: PreemptionView) -> str:
    size = shown.rule.rule.window_s
    several = cell_s(shown.fleet, size) // size
    one = several == 1
    return say(
        "preempt.strip_note",
        window=fmt.seconds(size),
        windows=say("preempt.one_window") if one else say("preempt.many_windows", n=several),
    )


def _clicked() -> None:
    """Choose what was clicked, or nothing once the choice is taken back."""
    event: Any = st.session_state[STRIP]
    points = event["selection"]["points"]
    if points:
        engine_id, start, _ = points[0]["customdata"]
        st.session_state[ENGINE], st.session_state[WINDOW] = int(engine_id), int(start)
    else:
        st.session_state[ENGINE] = None


def _picked(shown: PreemptionView) -> None:
    """The engine and window to list, chosen by a click or here."""
    axis = time_axis(shown.fleet)
    lanes = {lane.engine_id: lane for lane in shown.lanes}
    lines([say("preempt.pick")])
    left, right = st.columns(2)
    if st.session_state.get(ENGINE) not in lanes:
        st.session_state[ENGINE] = None
    engine_id = left.selectbox(
        say("preempt.pick_engine"),
        list(lanes),
        index=None,
        placeholder=say("preempt.pick_none"),
        format_func=lambda one: lanes[one].name,
        key=ENGINE,
    )
    if engine_id is None:
        return
    lane = lanes[engine_id]
    cells = {cell.start: cell for cell in reversed(lane.cells)}
    if not cells:
        return
    if st.session_state.get(WINDOW) not in cells:
        st.session_state[WINDOW] = _first(lane).start
    start = right.selectbox(
        say("preempt.pick_window", zone=axis.zone_name),
        list(cells),
        format_func=lambda one: _option(shown, cells[one]),
        key=WINDOW,
    )
    cell = cells[start]
    size = shown.rule.rule.window_s
    _overlap(shown, lane, cell, view(overlapping, engine_id, cell.start, cell.end, size))


def _first(lane: Lane) -> StripCell:
    """The newest window of 1, or the newest there is."""
    return next((cell for cell in reversed(lane.cells) if cell.ones), lane.cells[-1])


def _option(shown: PreemptionView, cell: StripCell) -> str:
    zone = time_axis(shown.fleet).zone
    return say(
        "preempt.pick_option",
        start=fmt.clock(cell.start, zone, day=True),
        end=fmt.clock(cell.end, zone),
        state=say(f"window.{cell.state}"),
    )


def _overlap(shown: PreemptionView, lane: Lane, cell: StripCell, found: Overlap) -> None:
    zone = time_axis(shown.fleet).zone
    start, end = fmt.clock(cell.start, zone, day=True), fmt.clock(cell.end, zone)
    head = say("preempt.overlap", name=lane.name, start=start, end=end, n=found.found)
    lines([head], "pw-found")
    columns = [
        Column(say("col.time")),
        Column(say("col.observation")),
        Column(say("col.model")),
        Column(say("col.state")),
        Column(say("col.duration"), numeric=True),
        Column(say("col.attribution")),
        Column(say("col.session")),
    ]
    rows: list[list[Cell]] = [
        [
            fmt.clock(r.start_at, zone, day=True),
            request_link(r.observation_id),
            r.model,
            _state(r.state, r.error_kind),
            None if r.end_at is None else fmt.seconds(r.end_at - r.start_at),
            named("attribution.", r.attribution),
            say("request.no_session") if r.session_id is None else request_link(r.session_id),
        ]
        for r in found.requests
    ]
    table("requests_over_window", columns, rows, empty=say("preempt.no_overlap"))
    if found.found > len(found.requests):
        lines([say("preempt.capped", most=MOST_REQUESTS)])


def _state(state: str, error_kind: str | None) -> str:
    words = named("completion.", state)
    return words if error_kind is None else f"{words}, {named('errorkind.', error_kind)}"


def exposure_table(shown: PreemptionView) -> None:
    """Requests by exposure: always three rows, and what they do not say."""
    if not shown.requests_connected:
        lines([say("preempt.requests_off")])
        return
    columns = [
        Column(say("col.exposure")),
        Column(say("col.requests"), numeric=True),
        Column(say("col.incomplete"), numeric=True),
        Column(say("col.cancelled"), numeric=True),
        Column(say("col.timeouts"), numeric=True),
        Column(say("col.other_errors"), numeric=True),
        Column(say("col.unfinished"), numeric=True),
        Column(say("col.ttft_p50"), numeric=True),
        Column(say("col.ttft_p95"), numeric=True),
        Column(say("col.first_tokens"), numeric=True),
        Column(say("col.latency_p50"), numeric=True),
        Column(say("col.latency_p95"), numeric=True),
        Column(say("col.latencies"), numeric=True),
        Column(say("col.sessions"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            say(f"window.{row.exposure}"),
            row.requests,
            row.incomplete,
            row.cancelled,
            row.timeouts,
            row.other_errors,
            row.unfinished,
            row.ttft_p50,
            row.ttft_p95,
            row.first_tokens,
            row.latency_p50,
            row.latency_p95,
            row.ended,
            row.sessions,
        ]
        for row in shown.exposures
    ]
    table("exposure", columns, rows)
    lines(_said(shown))


def _said(shown: PreemptionView) -> list[str]:
    if not shown.requests:
        return [say("preempt.no_requests")]
    rows = shown.exposures
    texts = [say("preempt.no_engines")] if not shown.fleet.engines else []
    texts += [
        say("preempt.what"),
        say("preempt.retrospective"),
        say(
            "preempt.levels",
            n=fmt.quantity(shown.requests),
            engine=fmt.quantity(sum(r.engine_level for r in rows)),
            pod=fmt.quantity(sum(r.pod_level for r in rows)),
            pool=fmt.quantity(sum(r.pool_level for r in rows)),
        ),
        say("preempt.left_out", n=fmt.quantity(sum(r.whole_latencies for r in rows))),
        _clocks(shown),
    ]
    return texts


def _clocks(shown: PreemptionView) -> str:
    fleet, interval = shown.fleet, shown.scrape_interval_s
    skews = [
        None if source is None else source.clock_skew_s
        for source in (fleet.prometheus, fleet.requests)
    ]
    engines, requests = (say("cell.unknown") if s is None else fmt.seconds(s) for s in skews)
    return say(
        "preempt.clocks",
        interval=say("cell.unknown") if interval is None else fmt.seconds(interval),
        engines=engines,
        requests=requests,
        tolerance=fmt.seconds(shown.rule.tolerance_s),
    )


def exposure_scores(shown: PreemptionView) -> None:
    """Scores of complete requests by exposure, apart from the rates."""
    if not shown.requests_connected:
        lines([say("preempt.requests_off")])
        return
    columns = [
        Column(say("col.name")),
        Column(say("col.evaluator")),
        Column(say("col.version")),
        Column(say("col.exposure")),
        Column(say("col.score_value"), numeric=True),
        Column(say("col.scored"), numeric=True),
        Column(say("col.sessions"), numeric=True),
        Column(say("col.evaluator_errors"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            row.name,
            row.evaluator,
            row.evaluator_version,
            say(f"window.{row.exposure}"),
            row.value,
            row.requests,
            row.sessions,
            row.evaluator_errors,
        ]
        for row in shown.scores
    ]
    table("scores_by_exposure", columns, rows, empty=say("preempt.no_scores"))
    if rows:
        lines([say("preempt.quality_note")])


def pressure_table(shown: PreemptionView) -> None:
    """One row per engine: events, windows by state, KV usage, waiting."""
    columns = [
        Column(say("col.engine")),
        Column(say("col.events"), numeric=True),
        Column(say("col.one"), numeric=True),
        Column(say("col.zero"), numeric=True),
        Column(say("col.unknown"), numeric=True),
        Column(say("col.kv_max"), numeric=True),
        Column(say("col.waiting"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [e.name, e.events, e.ones, e.zeros, e.unknowns, e.kv_usage_max, e.waiting]
        for e in shown.engines
    ]
    table("preemption_engines", columns, rows, empty=say("preempt.no_engines"))
