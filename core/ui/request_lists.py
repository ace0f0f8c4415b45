"""Lists of the Request page: what several requests share, and the newest ones."""

from collections.abc import Sequence

import streamlit as st

from core import format as fmt
from core.messages import named, say
from core.ui.frame import heading, time_axis
from core.ui.lookup import held_words, request_link
from core.ui.request import gap_words, lines, tokens
from core.ui.style import escaped
from core.ui.tables import Cell, Column, table
from core.views.request import MOST_ROWS, RequestLine, RequestView, TurnLine


def several_requests(view: RequestView) -> None:
    """Turns and requests that share one id, newest first."""
    several = view.several
    if several is None:
        return
    head = say("request.several", kind=named("matched.", view.matched), n=several.found)
    st.html(f'<div class="pw-found">{escaped(head)}</div>')
    if several.type is not None:
        lines([say("request.no_generation", type=several.type)])
    if several.capped:
        lines([say("request.capped", most=MOST_ROWS)])
    if several.turns:
        heading(say("request.turns"))
        _turns_table(view, several.turns)
        lines([say("request.what_a_turn_is")])
    heading(say("request.requests"), "cached_ratio")
    _requests_table(view, several.requests, empty=say("request.none_in_trace"))


def recent_requests(view: RequestView) -> None:
    """What the page is for, and the newest requests in scope."""
    lines([say("request.what"), say("request.takes")])
    heading(say("request.recent"), "cached_ratio")
    _requests_table(view, view.recent, empty=f"{say('request.no_recent')} {held_words(view)}")


def _requests_table(view: RequestView, shown: Sequence[RequestLine], *, empty: str) -> None:
    zone = time_axis(view.fleet).zone
    columns = [
        Column(say("col.time")),
        Column(say("col.observation")),
        Column(say("col.model")),
        Column(say("col.cached_ratio"), numeric=True),
        Column(say("col.input"), numeric=True),
        Column(say("col.state")),
        Column(say("col.duration"), numeric=True),
        Column(say("col.turn"), numeric=True),
        Column(say("col.session")),
    ]
    rows: list[list[Cell]] = [
        [
            fmt.clock(r.start_at, zone, day=True),
            request_link(r.observation_id),
            r.model,
            r.cached_ratio,
            tokens(r.cached_ratio.denominator),
            named("completion.", r.state),
            None if r.end_at is None else fmt.seconds(r.end_at - r.start_at),
            None if r.turn_index is None else r.turn_index + 1,
            say("request.no_session") if r.session_id is None else request_link(r.session_id),
        ]
        for r in shown
    ]
    table("requests", columns, rows, empty=empty)


def _turns_table(view: RequestView, shown: Sequence[TurnLine]) -> None:
    zone = time_axis(view.fleet).zone
    columns = [
        Column(say("col.turn"), numeric=True),
        Column(say("col.trace")),
        Column(say("col.start")),
        Column(say("col.duration"), numeric=True),
        Column(say("turn.start_gap"), numeric=True),
        Column(say("turn.idle_gap"), numeric=True),
        Column(say("turn.observations"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            t.turn_index + 1,
            request_link(t.turn_id),
            fmt.clock(t.start_at, zone, day=True),
            None if t.end_at is None else fmt.seconds(t.end_at - t.start_at),
            gap_words(t.start_gap_s, "first_turn"),
            gap_words(t.idle_gap_s, t.idle_gap_reason),
            t.observations,
        ]
        for t in shown
    ]
    table("turns", columns, rows)
