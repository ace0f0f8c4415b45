"""The Request page: one id, everything known about it, and what nobody can know."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import runtime
from core.messages import say
from core.ui.lookup import ORDERS, request_url
from core.views.request import MOST_ROWS
from tests.pages.conftest import NOBODY, Open
from tests.pages.homes import (
    MINUTES,
    T0,
    WRITTEN,
    Tables,
    WrittenEngine,
    at,
    put,
    source_row,
    together,
)
from tests.pages.shown import bodies, chart_specs, charts, plain, ran, table, tables, text, tiles
from tests.pages.written_requests import START, langfuse_row, observation, score, session_of

Put = Callable[..., None]
ENGINE = WrittenEngine.sound("vllm-0")
HOSTILE = "<img src=x onerror=alert(1)>'; drop table observations; --"


def with_engine(*found: dict[str, Any], engines: tuple[WrittenEngine, ...] = (ENGINE,)) -> Tables:
    """Requests beside engines that were scraped, with both sources."""
    sources = [*source_row("following", checked=T0 + 600)["sources"], langfuse_row()]
    return together(*engines) | {"observations": list(found), "sources": sources}


def facts(app: AppTest, *headings: str) -> dict[str, str]:
    """A table of names and values."""
    rows = table(app, *headings)
    return dict([list(row.values())[:2] for row in rows])


def listed(app: AppTest) -> list[str]:
    """Observation ids of the list of requests, in order."""
    return [row["Observation"] for row in table(app, "Observation", "Input tokens", "Session")]


def open_id(open_page: Open, wanted: str) -> AppTest:
    return open_page("request", WRITTEN | {"id": wanted})


def field(app: AppTest) -> Any:
    (found,) = [one for one in app.text_input if one.label == say("request.field")]
    return found


def test_without_an_id_the_page_says_what_it_takes(put_real: Put, open_page: Open) -> None:
    """The newest requests in scope are links, newest first, at most 20."""
    put_real(session_of(25, gap_s=20.0))
    app = open_page("request", WRITTEN)
    assert say("request.takes") in text(app)
    assert listed(app) == [f"turn-{i}" for i in range(23, 3, -1)]
    assert 'href="request?id=turn-20&amp;from=' in "".join(bodies(app))
    first = table(app, "Observation", "Input tokens")[0]
    assert first["Model"] == "small"
    assert first["Cached ratio"] == "80.0 %"
    assert first["State"] == say("completion.complete")
    assert first["Session"] == "session-1"


def test_an_empty_cache_says_so(put_real: Put, open_page: Open) -> None:
    """No request in scope: what to change, and which time the cache covers."""
    put_real({"sources": [langfuse_row()]})
    said = text(open_page("request", WRITTEN))
    assert say("request.no_recent") in said
    assert "The cache covers requests from" in said


def test_the_list_follows_the_scope(put_real: Put, open_page: Open) -> None:
    """A model in the scope bar narrows the newest requests."""
    put_real({"observations": [observation("a"), observation("b", model="other")]})
    assert listed(open_page("request", WRITTEN | {"model": "other"})) == ["b"]


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        ("a", "observation"),
        ("call-a", "gateway_request"),
        ("chatcmpl-a", "response"),
        ("client-a", "client_request"),
        ("trace-a", "trace"),
        ("session-1", "session"),
        (" a ", "observation"),
        ("https://lf.example/project/p/traces/trace-a?observation=a&x=1", "observation"),
        ("https://lf.example/project/p/traces/trace-a", "trace"),
    ],
)
def test_every_kind_of_id_finds_the_request(
    put_real: Put, open_page: Open, wanted: str, kind: str
) -> None:
    """Each id leads to the same request, and the page says by which kind it was found."""
    put_real(with_engine(observation("a", client_request_id="client-a", pod="vllm-0")))
    app = open_id(open_page, wanted)
    assert say("request.found", id="a") in text(app)
    assert say("request.matched", kind=say(f"matched.{kind}")) in text(app)
    assert not app.error
    assert not app.warning


def test_one_request_shows_everything(put_real: Put, open_page: Open) -> None:
    """Session and turn, usage raw and normalised, engine, scores and what cannot be known."""
    put_real(
        with_engine(
            observation("first"),
            observation("second", start=START + 60, pod="vllm-0", arm="new"),
        )
        | {"scores": [score("helpful", "observation", of="second", trace_id="trace-second")]}
    )
    app = open_id(open_page, "second")
    assert "in session session-1, turn 2 of 2" in text(app)
    raw = facts(app, "Bucket", "Value")
    assert raw == {"input": "200", "cache_read_input_tokens": "800", "output": "50"}
    usage = facts(app, "Bucket", "Tokens")
    assert usage["total input"] == "1000"
    assert usage["cached"] == "800"
    assert usage["cache write"] == say("cell.unknown")
    assert usage["contract"] == say("contract.exclusive")
    tile = tiles(app)["Cached ratio of this request"]
    assert tile.value == "80.0 %"
    assert "800 cached input tokens / 1 k input tokens" in tile.words
    turn = next(facts_of for facts_of in _facts(app) if "Idle before" in facts_of)
    assert turn["Turn"] == "2 of 2 in the cache"
    assert turn["Start to start"] == "60 s"
    assert turn["Idle before"] == "56 s"
    row = next(facts_of for facts_of in _facts(app) if "Arm" in facts_of)
    assert row["Arm"] == "new"
    assert row["Task type"] == say("cell.unknown")
    assert tiles(app)["Engine hit ratio"].value == "50.0 %"
    assert table(app, "Level", "Evaluator")[0]["Value"] == "0.75"
    assert all(cell for rows in tables(app) for r in rows for cell in r.values())


def _facts(app: AppTest) -> list[dict[str, str]]:
    return [
        {row["What"]: row["Value"] for row in rows}
        for rows in tables(app)
        if set(rows[0]) == {"What", "Value"}
    ]


def test_an_engine_that_preempted_is_no_request_that_was(put_real: Put, open_page: Open) -> None:
    """Exposure 1 is said of the engine; the last window is called retrospective."""
    put_real(with_engine(observation("a", pod="vllm-0")))
    said = text(open_id(open_page, "a"))
    assert say("exposure.engine_1") in said
    assert say("exposure.retrospective") in said
    assert say("unknown.preempted") in said
    assert "request was preempted" not in said
    assert "Scrape interval: 15 s." in said
    assert "Clock difference of langfuse: 400 ms." in said


def test_a_quiet_engine_is_0_and_a_missing_counter_unknown(put_real: Put, open_page: Open) -> None:
    """A counter that stood still is 0, one that is not exported is unknown, never 0."""
    still = WrittenEngine("still", per_minute={"num_preemptions": 0.0})
    silent = WrittenEngine("silent", per_minute={"prompt_tokens": 10.0})
    put_real(
        with_engine(
            observation("quiet", pod="still", start=T0 + 200),
            observation("mute", pod="silent", start=T0 + 200),
            engines=(still, silent),
        )
    )
    assert say("exposure.engine_0") in text(open_id(open_page, "quiet"))
    app = open_id(open_page, "mute")
    assert say("exposure.engine_unknown") in text(app)
    assert say("unknown.exposure") in text(app)
    assert tiles(app)["Preemptions"].value == say("reason.not_exported")


def test_what_is_not_read_yet_is_no_0(put_real: Put, open_page: Open) -> None:
    """A quiet engine is 0 only once its windows are read to their end."""
    still = WrittenEngine("still", per_minute={"num_preemptions": 0.0})
    request = observation("a", pod="still", start=T0 + 400)
    put_real(
        with_engine(request, engines=(still,))
        | source_row("following", checked=T0 + 420, read_to=at(T0 + 410))
    )
    assert say("exposure.engine_unknown") in text(open_id(open_page, "a"))


def test_a_pool_is_called_a_pool(put_real: Put, open_page: Open) -> None:
    """Without a pod all engines of the model are shown, each in a row, and it is said."""
    other = WrittenEngine.sound("vllm-1")
    put_real(with_engine(observation("a"), engines=(ENGINE, other)))
    app = open_id(open_page, "a")
    assert say("place.pool", model="small", n=2) in text(app)
    assert say("exposure.pool_1") in text(app)
    assert say("unknown.engine") in text(app)
    assert [row["Engine"] for row in table(app, "Engine", "Exposure")] == ["vllm-0", "vllm-1"]


def test_an_engine_nobody_knows_is_unknown(put_real: Put, open_page: Open) -> None:
    """A pod that Prometheus never showed gives no numbers, and no ones of its neighbours."""
    put_real(with_engine(observation("a", pod="elsewhere")))
    app = open_id(open_page, "a")
    assert say("request.no_engine") in text(app)
    assert "Engine hit ratio" not in tiles(app)


def test_only_langfuse_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: Open
) -> None:
    """Without any engine the request is whole, and the engine's part says not connected."""
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_URL", NOBODY)
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_SECRET_KEY", "sk")
    put(
        tmp_path / "data" / "real",
        {"observations": [observation("a")], "sources": [langfuse_row()]},
    )
    app = open_id(open_page, "a")
    assert say("request.engines_not_connected") in text(app)
    assert say("unknown.no_engines") in text(app)
    assert tiles(app)["Cached ratio of this request"].value == "80.0 %"
    (link,) = app.get("link_button")
    assert link.proto.url == f"{NOBODY}/project/project/traces/trace-a?observation=a"
    assert not app.error


def test_no_link_without_an_address(put_real: Put, open_page: Open) -> None:
    """Without a configured Langfuse there is no link to one."""
    put_real({"observations": [observation("a")]})
    assert not open_id(open_page, "a").get("link_button")


def test_a_session_is_a_list(put_real: Put, open_page: Open) -> None:
    """A session's turns and requests, newest first, each a link; gaps have reasons."""
    found = session_of(3)["observations"]
    found[1]["end_at"] = at(START + 90)
    found[2]["start_at"] = at(START + 80)
    put_real({"observations": found})
    app = open_id(open_page, "session-1")
    assert listed(app) == ["turn-2", "turn-1", "turn-0"]
    turns = table(app, "Turn", "Trace")
    assert [row["Turn"] for row in turns] == ["3", "2", "1"]
    assert [row["Idle before"] for row in turns] == [
        say("idle.previous_overlaps"),
        "56 s",
        say("idle.first_turn"),
    ]
    assert 'href="request?id=trace-turn-2' in "".join(bodies(app))


def test_a_long_session_is_cut_and_says_so(put_real: Put, open_page: Open) -> None:
    """At most so many rows are shown."""
    put_real(session_of(MOST_ROWS + 5, gap_s=1.0))
    app = open_id(open_page, "session-1")
    assert say("request.capped", most=MOST_ROWS) in text(app)
    assert len(listed(app)) == MOST_ROWS
    assert f"{MOST_ROWS + 5} observations" in text(app)


def test_a_violation_is_named_and_gives_no_ratio(put_real: Put, open_page: Open) -> None:
    """Rule, field and raw value stand beside a withheld ratio."""
    broken = observation(
        "a",
        usage_status="violation",
        total_input=None,
        cached_input=None,
        raw_usage='{"input": -1}',
    )
    violation = {
        "violation_id": 1,
        "source": "langfuse",
        "kind": "observation",
        "record_id": "a",
        "trace_id": "trace-a",
        "rule": "not_a_count",
        "field": "input",
        "raw_value": "-1",
        "seen_at": at(START),
    }
    put_real({"observations": [broken], "violations": [violation]})
    app = open_id(open_page, "a")
    (row,) = table(app, say("col.rule"), "Field")
    assert row == {say("col.rule"): say("rule.not_a_count"), "Field": "input", "Value": "-1"}
    tile = tiles(app)["Cached ratio of this request"]
    assert tile.bad
    assert tile.value == say("reason.contract_error")


@pytest.mark.parametrize("why", ["not_reported", "zero_unproven", "estimate", "no_input"])
def test_unknown_usage_has_its_reason(put_real: Put, open_page: Open, why: str) -> None:
    """An unknown cached count is no 0 %: the tile is hatched and the reason is in words."""
    put_real(
        {
            "observations": [
                observation("a", usage_status="unknown", usage_reason=why, cached_input=None)
            ]
        }
    )
    app = open_id(open_page, "a")
    tile = tiles(app)["Cached ratio of this request"]
    assert tile.hatched
    assert tile.value == say("reason.not_measured")
    assert text(app).count(say(f"usagewhy.{why}")) == 2
    assert say("unknown.cached") in text(app)


def test_exactly_all_cached_is_flagged(put_real: Put, open_page: Open) -> None:
    """A ratio of exactly 1 is shown, and not as ordinary local reuse."""
    put_real({"observations": [observation("a", cached_input=1000)]})
    app = open_id(open_page, "a")
    assert tiles(app)["Cached ratio of this request"].value == "100.0 %"
    assert say("request.all_cached") in text(app)


def test_a_retry_is_two_attempts_of_one_request(put_real: Put, open_page: Open) -> None:
    """The gateway's id shows the last attempt; both are listed with the lower bound."""
    failed = observation(
        "try-1",
        logical_id="call",
        gateway_request_id="call",
        state="error",
        state_basis="level",
        error_kind="timeout",
        usage_status="none",
        usage_reason="no_usage",
        total_input=None,
        cached_input=None,
        first_token_at=None,
        pod="vllm-0",
    )
    worked = observation(
        "try-2",
        start=START + 10,
        trace_id="trace-try-1",
        logical_id="call",
        gateway_request_id="call",
        attempt=2,
        pod="vllm-1",
    )
    put_real({"observations": [failed, worked]})
    app = open_id(open_page, "call")
    assert say("request.found", id="try-2") in text(app)
    rows = table(app, "Attempt", "Output tokens")
    assert [row["Observation"] for row in rows] == ["try-1", "try-2"]
    assert [row["Attempt"] for row in rows] == ["1", "2 (gateway: 2)"]
    assert [row["State"] for row in rows] == [
        "error, timeout (its level says error)",
        "complete (by its finish reason)",
    ]
    assert [row["Engine"] for row in rows] == ["vllm-0 (pod)", "vllm-1 (pod)"]
    assert rows[0]["Cached ratio"] == say("reason.not_measured")
    assert say("request.lower_bound") in text(app)
    (figure,) = charts(app)
    assert list(figure.layout.yaxis.ticktext) == ["attempt 1", "▸ attempt 2"]


def test_an_unfinished_request_has_no_end(put_real: Put, open_page: Open) -> None:
    """No end: its bar is open, its duration unknown, and its exposure never 0."""
    still = WrittenEngine("still", per_minute={"num_preemptions": 0.0})
    open_ended = observation(
        "a", end_at=None, first_token_at=None, state="unfinished", state_basis="no_end", pod="still"
    )
    put_real(with_engine(open_ended, engines=(still,)))
    app = open_id(open_page, "a")
    assert say("exposure.engine_unknown") in text(app)
    assert say("unknown.end") in text(app)
    assert table(app, "Attempt", "Output tokens")[0]["Duration"] == say("cell.unknown")
    assert say("timeline.open") in {trace.name for trace in charts(app)[0].data}


def test_an_overlapping_turn_has_no_idle_gap(put_real: Put, open_page: Open) -> None:
    """The reason stands where the gap would, and the start gap is there."""
    put_real(
        {
            "observations": [
                observation("first", end_at=START + 100),
                observation("second", start=START + 60),
            ]
        }
    )
    (turn,) = [f for f in _facts(open_id(open_page, "second")) if "Idle before" in f]
    assert turn["Idle before"] == say("idle.previous_overlaps")
    assert turn["Start to start"] == "60 s"


def test_scores_keep_their_levels(put_real: Put, open_page: Open) -> None:
    """A trace's and a session's score stand apart; failed and deleted ones are marked."""
    put_real(
        {
            "observations": [observation("a"), observation("b")],
            "scores": [
                score("good", "observation", of="a", trace_id="trace-a"),
                score("good", "observation", of="b", trace_id="trace-b", value=0.1),
                score("good", "trace", of="trace-a", value=None, status="error"),
                score("good", "session", of="session-1", value=None, label="yes"),
                score("old", "observation", of="a", deleted_at=at(START + 99)),
            ],
        }
    )
    rows = table(open_id(open_page, "a"), "Level", "Evaluator")
    assert [(row["Level"], row["Value"], row["Status"]) for row in rows] == [
        ("observation", "0.75", "ok"),
        ("observation", "0.75", "ok"),
        ("session", "yes", "ok"),
        ("trace", say("cell.unknown"), "evaluator error"),
    ]
    assert [row["Deleted"] != say("cell.not_deleted") for row in rows] == [0, 1, 0, 0]


def test_what_changed_and_several_starts_are_said(put_real: Put, open_page: Open) -> None:
    """A row that came with two starts, or changed after it was read, says so."""
    put_real({"observations": [observation("a", first_start_at=START - 5, revisions=2)]})
    said = text(open_id(open_page, "a"))
    assert say("request.revised", n=2) in said
    assert "This id came with several starts" in said


def test_a_call_that_was_not_streamed_has_no_first_token(put_real: Put, open_page: Open) -> None:
    """A first token at the end is the full latency, and no prefill is drawn of it."""
    put_real({"observations": [observation("a", first_token_at=START + 4.0, choices=2)]})
    app = open_id(open_page, "a")
    assert say("unknown.whole_latency") in text(app)
    assert say("unknown.other_samples") in text(app)
    assert say("timeline.before") not in {trace.name for trace in charts(app)[0].data}


def test_an_observation_that_is_no_request_shows_its_trace(put_real: Put, open_page: Open) -> None:
    """The id of a span leads to the requests of its trace; it is drawn on their time line."""
    span = observation("tool", type="SPAN", trace_id="trace-a", name="search", start=START - 2)
    put_real({"observations": [span, observation("a")]})
    app = open_id(open_page, "tool")
    assert say("request.no_generation", type="SPAN") in text(app)
    assert listed(app) == ["a"]
    assert list(charts(open_id(open_page, "a"))[0].layout.yaxis.ticktext) == [
        "span search",
        "▸ attempt 1",
    ]


def test_the_same_id_in_two_traces_is_said(put_real: Put, open_page: Open) -> None:
    """The newest is shown, and the other trace is named."""
    put_real({"observations": [observation("a"), observation("a", trace_id="t2", start=START + 9)]})
    said = text(open_id(open_page, "a"))
    assert say("request.elsewhere", traces="trace-a") in said


def test_levers_around_the_request_are_drawn(put_real: Put, open_page: Open) -> None:
    """A change in the engine's time is a line on the time line and a row of the list."""
    lever = {
        "lever_id": 1,
        "happened_at": at(START + 30),
        "kind": "other",
        "origin": "entered",
        "what": "affinity on",
    }
    put_real(with_engine(observation("a", pod="vllm-0")) | {"levers": [lever]})
    app = open_id(open_page, "a")
    assert [row["What"] for row in table(app, "Mark", "Change")] == ["affinity on"]
    (figure,) = charts(app)
    assert any(shape.type == "line" for shape in figure.layout.shapes)
    assert len(figure.data[0].x) >= 5
    assert MINUTES == 10


def test_the_id_survives_a_change_of_scope(put_real: Put, open_page: Open) -> None:
    """Changing the scope keeps the id in the URL; clearing the field takes it out."""
    put_real({"observations": [observation("a")], **ENGINE.tables})
    app = open_id(open_page, "a")
    ran(app.selectbox(key="scope_model").select("small").run())
    assert app.query_params["id"] == "a"
    assert app.query_params["model"] == "small"
    assert say("request.found", id="a") in text(app)
    ran(field(app).set_value("").run())
    assert "id" not in app.query_params
    assert app.query_params["model"] == "small"
    ran(field(app).set_value("  https://lf/traces/x?observation=a ").run())
    assert app.query_params["id"] == "a"
    assert field(app).value == "a"


def test_a_link_to_an_id_keeps_the_scope_of_the_session(put_real: Put, open_page: Open) -> None:
    """A link without a scope shows its id in the scope that the session had."""
    put_real({"observations": [observation("a")], **ENGINE.tables})
    app = open_page("live", {"model": "small"})
    app.query_params.clear()
    app.query_params["id"] = "a"
    ran(app.switch_page("pages/request.py").run())
    assert app.query_params == {"model": "small", "id": "a"}
    assert say("request.found", id="a") in text(app)


@pytest.fixture
def connected(put_real: Put, monkeypatch: pytest.MonkeyPatch) -> Put:
    """An app with a request source and a cache that holds one other request."""
    put_real({"observations": [observation("other")], "sources": [langfuse_row()]})
    monkeypatch.setattr(runtime.Runtime, "_merge_forever", lambda _: None)
    return put_real


def answer(wanted: str, **more: Any) -> None:
    """Let the collector answer the order that waits, and merge it."""
    owner = runtime.running()
    (order,) = [one for one in owner.orders.waiting() if one.wanted == wanted]
    row = {
        "order_id": order.order_id,
        "wanted": wanted,
        "asked_at": at(order.asked_at),
        "answered_at": at(T0 + 3600),
        "outcome": "not_found",
        **more,
    }
    found = row.pop("rows", [])
    from tests.pages.homes import leave  # noqa: PLC0415 - beside its only use

    leave(owner.settings.home, {"orders": [row], "observations": found})
    owner.orders.answered(order)
    owner.store.merge_waiting(owner.inbox)


@pytest.mark.usefixtures("connected")
def test_an_unknown_id_is_ordered_once(open_page: Open) -> None:
    """Opening the page asks the collector; reruns do not ask again, the button does."""
    app = open_id(open_page, "missing")
    assert say("request.not_cached", id="missing") in text(app)
    (status,) = app.status
    assert status.label.startswith("Asked the collector")
    assert status.state == "running"
    ran(app.run())
    assert [one.wanted for one in runtime.running().orders.waiting()] == ["missing"]


@pytest.mark.usefixtures("connected")
def test_a_found_order_shows_the_request(open_page: Open) -> None:
    """The answer brings the rows, and the next run shows them."""
    app = open_id(open_page, "missing")
    answer("missing", outcome="found", found=1, rows=[observation("missing")])
    ran(app.run())
    assert say("request.found", id="missing") in text(app)


@pytest.mark.usefixtures("connected")
def test_not_found_is_information_with_its_time(open_page: Open) -> None:
    """Where and when it was searched, and what the cache covers; no error, and ask again."""
    app = open_id(open_page, "missing")
    answer("missing", searched_from=at(T0 - 3600), searched_to=at(T0))
    ran(app.run())
    (info,) = [plain(one.value.replace("\\", "")) for one in app.info]
    assert info.startswith("Not found, as of 21 Sep 15:14:00")
    assert "Searched from 21 Sep 13:14:00 to 21 Sep 14:14:00." in info
    assert "The cache covers requests from" in text(app)
    assert not app.error
    assert not app.warning
    ran(next(b for b in app.button if b.label == say("request.fetch")).click().run())
    assert [one.wanted for one in runtime.running().orders.waiting()] == ["missing"]


@pytest.mark.usefixtures("connected")
def test_a_failed_order_has_its_detail_and_next_step(open_page: Open) -> None:
    """What failed is said with what to do; whatever the detail holds is text."""
    app = open_id(open_page, "missing")
    answer("missing", outcome="failed", detail="timeout after 60 s [x](javascript:1)")
    ran(app.run())
    (warning,) = app.warning
    assert "timeout after 60 s" in warning.value
    assert "\\[x\\]" in warning.value
    assert "Data health" in warning.value


@pytest.mark.usefixtures("connected")
def test_a_silent_collector_is_said(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute without an answer the page stops waiting and says where to look."""
    app = open_id(open_page, "missing")
    now = time.time()
    monkeypatch.setattr("core.ui.lookup.time.time", lambda: now + 61)
    ran(app.run())
    assert [one.value for one in app.warning] == [say("request.no_answer", wait="60 s")]
    assert not app.status


def test_without_a_source_nothing_is_ordered(put_real: Put, open_page: Open) -> None:
    """No request source: the settings to set are named, and no order is left."""
    put_real({"observations": [observation("other")]})
    app = open_id(open_page, "missing")
    assert [one.value for one in app.info] == [say("request.not_connected")]
    assert runtime.running().orders.waiting() == []


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("wanted", ["x" * 201, "x" * 5000])
def test_a_text_that_is_no_id_is_not_ordered(open_page: Open, wanted: str) -> None:
    """What is longer than any id is said to be, and not asked for."""
    app = open_id(open_page, wanted)
    assert say("request.too_long", n=200) in [one.value for one in app.info]
    assert runtime.running().orders.waiting() == []


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("wanted", [HOSTILE, "' or '1'='1", "$id", "%", "a\x00b", "{n} %s", "\\"])
def test_a_hostile_id_is_data(open_page: Open, wanted: str) -> None:
    """It matches nothing, harms nothing, and is shown as it was written."""
    app = open_id(open_page, wanted)
    assert not app.error
    assert not any("<img" in body for body in bodies(app))
    assert len(runtime.running().store.read("cached_requests", {})) == 1
    assert list(app.session_state[ORDERS]) == [wanted.replace("\x00", "")]


def test_hostile_rows_are_data(put_real: Put, open_page: Open) -> None:
    """Ids, names, models and evaluators that would run are shown letter by letter."""
    texts = dict.fromkeys(
        ("name", "model", "session_id", "arm", "pod", "template_version", "response_id"), HOSTILE
    )
    rows = [
        observation(HOSTILE, **texts, exporter=HOSTILE, state=HOSTILE, raw_usage=HOSTILE),
        observation("span", type=HOSTILE, trace_id=f"trace-{HOSTILE}", name=HOSTILE),
    ]
    put_real(
        with_engine(*rows, engines=(WrittenEngine.sound(HOSTILE, model=HOSTILE),))
        | {"scores": [score(HOSTILE, "observation", of=HOSTILE, evaluator=HOSTILE)]}
    )
    app = open_id(open_page, HOSTILE)
    assert say("request.found", id=HOSTILE).replace("  ", " ") in text(app)
    assert not any("<img" in body for body in bodies(app))
    assert not any("<img" in spec or "\\u003cimg" in spec for spec in chart_specs(app))
    for page in ("session", "recent"):
        listing = (
            open_id(open_page, HOSTILE) if page == "session" else open_page("request", WRITTEN)
        )
        assert not any("<img" in body for body in bodies(listing))


def test_every_table_has_its_csv(put_real: Put, open_page: Open) -> None:
    """No table without its button, and each names its own file."""
    put_real(with_engine(observation("a", pod="vllm-0")))
    app = open_id(open_page, "a")
    keys = [button.key for button in app.download_button]
    assert len(keys) == len(set(keys)) == len(tables(app))


def test_links_between_pages_carry_the_id(real_home: Path, open_page: Open) -> None:
    """Any id makes one parameter of an address below the app's own."""
    assert request_url("a/b&c=<d>") == "request?id=a%2Fb%26c%3D%3Cd%3E"
