"""Parts of the Request page: what the cache holds about one id."""

from collections.abc import Sequence

import streamlit as st

from core import format as fmt
from core import runtime
from core.charts import short_list
from core.domain.lookup import trace_address
from core.messages import named, say
from core.ui.frame import time_axis
from core.ui.lookup import request_link
from core.ui.style import escaped
from core.ui.tables import Cell, Column, table
from core.ui.tiles import reading_tiles
from core.views.fleet import Fleet
from core.views.one_request import Attempt, OneRequest, Request
from core.views.request import RequestView

VERSIONS = (
    "model",
    "requested_model",
    "template_version",
    "tokenizer_revision",
    "engine_revision",
    "arm",
    "task_type",
)
LITELLM = ("litellm", "litellm_otel")


def lines(texts: Sequence[str], kind: str = "pw-line") -> None:
    """Sentences, one below the other."""
    body = "".join(f"<div>{escaped(text)}</div>" for text in texts)
    if body:
        st.html(f'<div class="{kind}">{body}</div>')


def found_line(view: RequestView) -> None:
    """What was found, by which id, in which session and turn; and the way to its trace."""
    one = view.one
    if one is None:
        return
    request = one.request
    where = (
        say("request.in_no_session")
        if request.session_id is None
        else say("request.in_session", session=request.session_id)
    )
    turn = (
        ""
        if one.turn is None
        else say("request.in_turn", n=one.turn.turn_index + 1, all=one.turn.turns)
    )
    head = say("request.found", id=request.observation_id)
    st.html(f'<div class="pw-found">{escaped(head)} {escaped(where)}{escaped(turn)}</div>')
    parts = [say("request.matched", kind=named("matched.", view.matched))]
    parts.append(named("completion.", request.state) + ", " + named("basis.", request.state_basis))
    parts += [named("errorkind.", request.error_kind)] if request.error_kind else []
    if view.elsewhere:
        parts.append(say("request.elsewhere", traces=short_list(view.elsewhere)))
    lines([" · ".join(parts)])
    if (address := _address(request)) is not None:
        st.link_button(say("request.open"), address, icon=":material/open_in_new:")


def _address(request: Request) -> str | None:
    address = runtime.running().settings.langfuse_address
    if address is None or request.project_id is None:
        return None
    return trace_address(
        address,
        project_id=request.project_id,
        trace_id=request.trace_id,
        observation_id=request.observation_id,
    )


def timeline_notes(one: OneRequest) -> None:
    """What the bars leave out, and what their edges mean."""
    request, engine = one.request, one.engine
    texts = []
    if request.exporter in LITELLM:
        texts.append(say("timeline.litellm"))
    if request.whole_latency:
        texts.append(say("timeline.whole_latency"))
    if one.hidden:
        texts.append(say("timeline.capped", n=one.hidden))
    if engine is not None and not engine.engines:
        texts.append(say("request.no_engine"))
    if engine is None:
        texts.append(say("request.engines_not_connected"))
    lines(texts)


def raw_usage_table(one: OneRequest) -> None:
    """Buckets as they were received."""
    columns = [Column(say("col.bucket")), Column(say("col.value"), numeric=True)]
    table("raw_usage", columns, [list(pair) for pair in one.buckets], empty=say("request.no_usage"))


def usage_table(one: OneRequest) -> None:
    """Buckets as they are understood, in tokens."""
    request = one.request
    rows: list[list[Cell]] = [
        [say("bucket.total_input"), request.total_input],
        [say("bucket.cached_input"), request.cached_input],
        [say("bucket.cache_write_input"), request.cache_write_input],
        [say("bucket.other_input"), request.other_input],
        [say("bucket.output"), request.output],
        [say("bucket.total"), request.total],
        [say("bucket.contract"), named("contract.", request.contract)],
        [say("bucket.cached_scope"), named("cachedscope.", request.cached_scope)],
    ]
    columns = [Column(say("col.bucket")), Column(say("col.tokens"), numeric=True)]
    table("usage", columns, rows)


def usage_verdict(fleet: Fleet, one: OneRequest) -> None:
    """Measured, unknown with its reason, or broken with the rule, field and value."""
    request = one.request
    reading_tiles(fleet, [one.cached_ratio])
    texts = [named("usage.", request.usage_status)]
    if request.usage_reason is not None:
        texts.append(named("usagewhy.", request.usage_reason))
    if one.all_cached:
        texts.append(say("request.all_cached"))
    lines(texts)
    if one.broken:
        columns = [
            Column(say("col.rule"), wide=True),
            Column(say("col.field")),
            Column(say("col.value"), wide=True),
        ]
        rows = [[named("rule.", b.rule), b.field, b.raw_value] for b in one.broken]
        table("violations", columns, rows)


def turn_facts(view: RequestView, one: OneRequest) -> None:
    """The turn of the request and the gaps before it."""
    lines([say("request.what_a_turn_is")])
    turn = one.turn
    if turn is None:
        lines([say("request.no_turn")])
        return
    zone = time_axis(view.fleet).zone
    rows: list[list[Cell]] = [
        [say("turn.index"), say("turn.of", n=turn.turn_index + 1, all=turn.turns)],
        [say("turn.start"), fmt.clock(turn.start_at, zone, day=True)],
        [say("turn.end"), None if turn.end_at is None else fmt.clock(turn.end_at, zone, day=True)],
        [say("turn.start_gap"), gap_words(turn.start_gap_s, "first_turn")],
        [say("turn.idle_gap"), gap_words(turn.idle_gap_s, turn.idle_gap_reason)],
        [say("turn.observations"), turn.observations],
        [
            say("turn.session"),
            None if one.request.session_id is None else request_link(one.request.session_id),
        ],
    ]
    table("turn", [Column(say("col.fact")), Column(say("col.value"), wide=True)], rows)


def gap_words(gap_s: float | None, reason: str | None) -> str:
    """A gap before a turn, or why it has none."""
    return named("idle.", reason) if gap_s is None else fmt.seconds(gap_s)


def facts_table(view: RequestView, one: OneRequest) -> None:
    """What the row says of versions, arm and ids; what it does not say is unknown."""
    request, zone = one.request, time_axis(view.fleet).zone
    rows: list[list[Cell]] = [
        *([say(f"fact.{name}"), getattr(request, name)] for name in VERSIONS),
        [say("fact.exporter"), request.exporter],
        [say("fact.environment"), request.environment],
        [say("fact.name"), request.name],
        [say("fact.trace_id"), request_link(request.trace_id)],
        [say("fact.logical_id"), request_link(request.logical_id)],
        *(
            [say(f"fact.{name}"), _link(getattr(request, name))]
            for name in ("gateway_request_id", "response_id", "client_request_id")
        ),
        [say("fact.choices"), request.choices],
        [say("fact.updated_at"), fmt.clock(request.updated_at, zone, day=True)],
        [say("fact.revisions"), request.revisions],
    ]
    table("facts", [Column(say("col.fact")), Column(say("col.value"), wide=True)], rows)
    if request.first_start_at != request.last_start_at:
        first, last = (
            fmt.clock(t, zone, day=True) for t in (request.first_start_at, request.last_start_at)
        )
        lines([say("request.several_starts", first=first, last=last)])
    if request.revisions:
        lines([say("request.revised", n=request.revisions)])


def _link(request_id: str | None) -> Cell:
    return None if request_id is None else request_link(request_id)


def attempts_table(view: RequestView, one: OneRequest) -> None:
    """Attempts seen of the logical request, in order."""
    zone = time_axis(view.fleet).zone
    columns = [
        Column(say("col.attempt"), numeric=True),
        Column(say("col.observation")),
        Column(say("col.start")),
        Column(say("col.duration"), numeric=True),
        Column(say("col.state"), wide=True),
        Column(say("col.engine")),
        Column(say("col.cached_ratio"), numeric=True),
        Column(say("col.cached_input"), numeric=True),
        Column(say("col.input"), numeric=True),
        Column(say("col.output"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            i if a.number is None else say("cell.attempt", n=i, number=a.number),
            request_link(a.observation_id),
            fmt.clock(a.start_at, zone, day=True),
            None if a.end_at is None else fmt.seconds(a.end_at - a.start_at),
            _state(a),
            None if a.where is None else _place(a),
            a.cached_ratio,
            tokens(a.cached_ratio.numerator),
            tokens(a.cached_ratio.denominator),
            a.output,
        ]
        for i, a in enumerate(one.attempts, 1)
    ]
    table("attempts", columns, rows)
    lines([say("request.lower_bound")])


def _state(attempt: Attempt) -> str:
    """How an attempt ended, with the kind of error, and what that was read from."""
    state = named("completion.", attempt.state)
    if attempt.error_kind is not None:
        state = f"{state}, {named('errorkind.', attempt.error_kind)}"
    return say("cell.state", state=state, basis=named("basis.", attempt.state_basis))


def _place(attempt: Attempt) -> str:
    """Where an attempt ran, and how narrowly that is known."""
    return say(
        "cell.place", place=attempt.where, attribution=named("attribution.", attempt.attribution)
    )


def tokens(value: float | None) -> int | None:
    """A count of tokens out of the terms of a ratio."""
    return None if value is None else int(value)


def scores_table(view: RequestView, one: OneRequest) -> None:
    """Scores, each at its own level."""
    zone = time_axis(view.fleet).zone
    columns = [
        Column(say("col.score_level")),
        Column(say("col.name")),
        Column(say("col.evaluator")),
        Column(say("col.version")),
        Column(say("col.status")),
        Column(say("col.value"), numeric=True),
        Column(say("col.repeat"), numeric=True),
        Column(say("col.probability"), numeric=True),
        Column(say("col.time")),
        Column(say("col.deleted")),
    ]
    rows: list[list[Cell]] = [
        [
            named("level.", s.level),
            s.name,
            s.evaluator,
            s.evaluator_version,
            named("evaluation.", s.status),
            s.label if s.value is None else fmt.quantity(s.value),
            s.repeat,
            None if s.inclusion_probability is None else fmt.quantity(s.inclusion_probability),
            fmt.clock(s.scored_at, zone, day=True),
            say("cell.not_deleted")
            if s.deleted_at is None
            else say("cell.deleted", at=fmt.clock(s.deleted_at, zone, day=True)),
        ]
        for s in one.scores
    ]
    table("scores", columns, rows, empty=say("request.no_scores"))
    lines([say("request.score_levels")])


def unknown_list(one: OneRequest) -> None:
    """What cannot be known about this request."""
    texts = [say(f"unknown.{item}") for item in one.unknown]
    if one.request.usage_reason is not None:
        texts = [
            f"{text} {named('usagewhy.', one.request.usage_reason)}" if item == "cached" else text
            for item, text in zip(one.unknown, texts, strict=True)
        ]
    left_open = [say(f"fact.{name}") for name in VERSIONS if getattr(one.request, name) is None]
    if left_open:
        texts.append(say("request.left_open", names=", ".join(left_open)))
    lines(texts, "pw-list")
