"""A server that refuses, limits, lies or breaks off: told by name, nothing lost, no storm."""

import json
import time
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse, iso, observation, score
from tests.collect.requests.rig import T0, Rig, only, path_of, project, read_table

LISTS = ("/v2/observations", "/v3/scores")
LOGIN = "<!doctype html><title>Sign in</title>"


def refused(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"message": "no"}, headers=headers)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "PREFIXWATCH_LANGFUSE_PUBLIC_KEY"),
        (403, "keys of the project"),
        (500, "log of the Langfuse server"),
        (503, "tries again by itself"),
        (502, "log of the Langfuse server"),
        (418, "log of the Langfuse server"),
    ],
)
def test_a_refusal_is_told_and_overcome(
    site: Rig, server: FakeLangfuse, status: int, words: str
) -> None:
    """The status with a next step goes to the cache; when it is over, everything is read."""
    server.observations = project(5, every_s=300)["observations"]
    collector = site.collector()
    server.fault = lambda request: refused(status) if path_of(request) in LISTS else None
    assert not collector.step()
    asked = len(server.asked)
    assert asked <= 4
    ((state, detail, step),) = site.sql("select state, detail, next_step from sources")
    assert (state, f"HTTP {status}" in detail, words in step) == ("status", True, True)
    assert site.value("select count(*) from source_log") == 1
    server.fault = None
    site.pass_time(collector, 10)
    assert len(site.ids()) == 5
    assert site.value("select state from sources") == "following"


def test_one_failing_list_does_not_hold_up_the_other(site: Rig, server: FakeLangfuse) -> None:
    """Scores that fail are told; observations of the same wave are kept and read on."""
    made = project(5, every_s=300)
    server.observations, server.scores = made["observations"], made["scores"]
    collector = site.collector()
    collector.step()
    server.fault = only("/v3/scores", lambda: refused(500))
    for _ in range(8):
        site.clock.now += 10
        collector.step()
    assert len(site.ids()) == 5
    server.fault = None
    site.pass_time(collector, 10)
    assert len(site.ids("scores")) == 5


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("57", 57.0),
        ("0", 1.0),
        ("-5", 1.0),
        ("1.5", 1.5),
        ("99999", 600.0),
        (None, 1.0),
        ("soon", 1.0),
        ("nan", 1.0),
        ("inf", 1.0),
        ("Mon, 30 Nov 2026 12:20:31 GMT", 60.0),
        ("Mon, 30 Nov 2026 12:00:00 GMT", 1.0),
        ("Mon, 30 Nov 2026 12:20:31", 60.0),
    ],
)
@pytest.mark.parametrize("when", ["at the start", "in a wave"])
def test_retry_after_is_honoured(
    site: Rig, server: FakeLangfuse, header: str | None, wait: float, when: str
) -> None:
    """No request leaves before the time has passed, whatever the header looks like."""
    named = {"date": "Mon, 30 Nov 2026 12:19:31 GMT"}
    named |= {"retry-after": header} if header is not None else {}
    collector = site.collector()
    if when == "in a wave":
        site.catch_up(collector)
        site.clock.now += 1000
    server.fault = lambda request: refused(429, **named) if path_of(request) in LISTS else None
    assert not collector.step()
    assert collector.wait_s() == pytest.approx(wait)
    assert site.source_states()[-1] == "limited"
    told = read_table(site.inbox.waiting()[-1], "sources")[0]
    assert told["retry_at"].timestamp() == pytest.approx(site.clock.now + wait)
    server.fault = None
    server.asked.clear()
    site.clock.now += wait * 0.99
    assert not collector.step()
    assert server.asked == []
    site.clock.now += wait * 0.02
    collector.step()
    assert server.asked != []


def test_too_heavy_slices_shrink_until_everything_is_read(site: Rig, server: FakeLangfuse) -> None:
    """A 422 for more than 100 rows asks for less, again and again, and loses nothing."""
    rows = [observation(n, T0 - 600 - n * 0.25) for n in range(90)]
    rows += [observation(500 + n, T0 - 900) for n in range(25)]
    server.observations = rows

    def heavy(request: httpx.Request) -> httpx.Response | None:
        if path_of(request) != "/v2/observations" or "fromStartTime" not in request.url.params:
            return None
        start, end = (request.url.params[f"{name}StartTime"] for name in ("from", "to"))
        held = [row for row in rows if start <= row["startTime"] < end]
        limit = int(request.url.params["limit"])
        return refused(422) if min(len(held), limit) > 20 else None

    server.fault = heavy
    site.catch_up(most=900)
    assert site.ids() == sorted(row["id"] for row in rows)
    assert "status" not in site.source_states()


def test_a_query_that_stays_too_heavy_is_told(site: Rig, server: FakeLangfuse) -> None:
    """Slices do not shrink for ever: in the end it is an error, after finitely many requests."""
    server.fault = lambda r: (
        refused(422)
        if path_of(r) == "/v2/observations" and "fromStartTime" in r.url.params
        else None
    )
    collector = site.collector()
    for _ in range(1500):
        if not collector.step():
            break
    assert site.source_states()[-1] == "status"
    assert len(server.asked) < 150
    state = site.state_file.load()
    assert state is not None
    assert len(state.observations.open) < 100


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda: httpx.Response(200, text=LOGIN), "contract"),
        (lambda: httpx.Response(200, content=b""), "contract"),
        (lambda: httpx.Response(200, json=[]), "contract"),
        (lambda: httpx.Response(200, json={"data": []}), "contract"),
        (lambda: httpx.Response(200, json={"data": None, "meta": {}}), "contract"),
        (lambda: httpx.Response(200, content=b'{"data":[{"id":"a"},{"id"'), "contract"),
        (lambda: httpx.Response(200, content=b'{"data":[{"id":NaN}],"meta":{}}'), "contract"),
        (lambda: httpx.Response(200, content=b'{"data":[' + b"[" * 9999 + b"]" * 9999), "contract"),
        (lambda: httpx.Response(302, headers={"location": "/login?token=abc"}), "contract"),
        (lambda: httpx.Response(504, text=LOGIN), "timeout"),
        (lambda: httpx.Response(524, text=LOGIN), "timeout"),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_another_answer_is_named_and_overcome(
    site: Rig, server: FakeLangfuse, answer: Any, kind: str, *, everywhere: bool
) -> None:
    """HTML, other JSON, half an answer, a login page: told as what it is, then read again."""
    server.observations = project(3, every_s=300)["observations"]
    collector = site.collector()
    if not everywhere:
        collector.step()
        site.clock.now += 20
    server.fault = lambda r: answer() if everywhere or path_of(r) == "/v2/observations" else None
    for _ in range(1200):
        if not collector.step():
            break
    told = read_table(site.inbox.waiting()[-1], "sources")[0]
    assert told["state"] == (kind if not everywhere or kind == "contract" else "status")
    assert told["next_step"]
    assert "token=abc" not in str(told)
    server.fault = None
    collector = site.collector()
    site.pass_time(collector, 20)
    assert len(site.ids()) == 3


def test_short_and_empty_pages_are_not_the_end(site: Rig, server: FakeLangfuse) -> None:
    """Only a missing cursor ends a scan: short pages and an empty one lead on."""
    rows = project(9, every_s=60)["observations"]
    server.observations, server.most = rows, 2
    emptied = []

    def dropped(request: httpx.Request) -> httpx.Response | None:
        if "cursor" in request.url.params and not emptied:
            emptied.append(request)
            answer = json.loads(FakeLangfuse(rows, most=2).handle_request(request).content)
            return httpx.Response(200, json={"data": [], "meta": answer["meta"]})
        return None

    server.fault = dropped
    collector = site.collector()
    site.catch_up(collector)
    assert emptied
    server.fault = None
    site.pass_time(collector, 200)
    assert len(site.ids()) == 9


@pytest.mark.parametrize("way", ["AA", "ABA", "ABCA", "123ABA"])
def test_cursors_in_a_circle_end(site: Rig, server: FakeLangfuse, way: str) -> None:
    """A cursor that comes back is noticed, however long the circle and the way to it."""
    rows = project(3, every_s=60)["observations"]
    after = dict(pairwise(way)) | {None: way[0]}

    def round_and_round(request: httpx.Request) -> httpx.Response | None:
        query = request.url.params
        if path_of(request) != "/v2/observations" or "fromStartTime" not in query:
            return None
        meta = {"cursor": after[query.get("cursor")]}
        return httpx.Response(200, json={"data": rows, "meta": meta})

    server.fault = round_and_round
    collector = site.collector()
    for _ in range(900):
        if not collector.step():
            break
    else:
        raise AssertionError("it never ends")
    assert site.source_states()[-1] == "contract"
    state = site.state_file.load()
    assert state is not None
    assert len(state.observations.open) < 100


def test_a_circle_in_heavy_slices_only_is_split_away(site: Rig, server: FakeLangfuse) -> None:
    """Where smaller slices need no second page, a broken cursor costs nothing."""
    rows = project(12, every_s=30)["observations"]
    server.observations = rows

    def broken(request: httpx.Request) -> httpx.Response | None:
        if path_of(request) != "/v2/observations":
            return None
        query = request.url.params
        held = [
            row
            for row in rows
            if query.get("fromStartTime", "") <= row["startTime"] < query.get("toStartTime", "9")
        ]
        if len(held) <= 3 or "fromStartTime" not in query:
            return None
        return httpx.Response(200, json={"data": held[:3], "meta": {"cursor": "always"}})

    server.fault = broken
    site.catch_up(most=600)
    assert len(site.ids()) == 12
    assert set(site.source_states()) <= {"backfilling", "following"}


def test_progress_counts_what_is_left_of_both_kinds(langfuse_rig_of: RequestRigOf) -> None:
    """It rises as requests and as scores are read, to all of it; at half when one is through."""
    made = FakeLangfuse(most=5, **project(40, every_s=400, end=T0 - 2000, scores=4))
    rig = langfuse_rig_of(made, backfill_days=0.5)
    rig.catch_up()
    told = [row["progress"] for row in rig.source_rows() if row["progress"] is not None]
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert any(0.5 < part < 0.9 for part in told)


def test_a_failed_session_lookup_loses_no_page(langfuse_rig_of: RequestRigOf) -> None:
    """v1: when the list of traces fails, the pages of that wave are read again, with sessions."""
    made = project(12, every_s=400, end=T0 - 2000)
    server = FakeLangfuse(mode="old", version="3.100.0", most=3, **made)
    rig, failures = langfuse_rig_of(server), []

    def sometimes(request: httpx.Request) -> httpx.Response | None:
        if path_of(request) == "/traces" and len(server.asked) % 3:
            failures.append(request)
            return refused(500)
        return None

    server.fault = sometimes
    collector = rig.collector()
    for _ in range(60):
        collector.step()
        rig.clock.now += 10
    server.fault = None
    rig.pass_time(collector, 10)
    assert len(failures) > 3
    assert len(rig.ids()) == 12
    assert rig.value("select count(*) from observations where session_id is null") == 0
    assert len(rig.ids("scores")) == 12


def test_odd_traces_of_v1_do_not_stop_the_collector(langfuse_rig_of: RequestRigOf) -> None:
    """Trace rows of any shape, and rows without a usable trace id, are no reason to end."""
    server = FakeLangfuse(mode="legacy", observations=[observation(1, T0 - 50, traceId=7)])
    rig = langfuse_rig_of(server)
    traces = [{"id": 5}, {"id": "t", "sessionId": []}, 3, None]
    meta = {"page": 1, "totalPages": 1}
    server.fault = only("/traces", lambda: httpx.Response(200, json={"data": traces, "meta": meta}))
    server.observations.append(observation(2, T0 - 60))
    rig.catch_up()
    assert rig.ids() == ["obs-0002"]


def test_a_page_by_number_that_never_changes_ends(langfuse_rig_of: RequestRigOf) -> None:
    """A cache that gives page 1 for every number is a broken contract, not an endless scan."""
    server = FakeLangfuse(mode="old", version="3.100.0", observations=[observation(1, T0 - 50)])
    rig = langfuse_rig_of(server)
    page = {"data": [observation(1, T0 - 50)], "meta": {"page": 1, "limit": 1, "totalPages": 9}}
    server.fault = only("/observations", lambda: httpx.Response(200, json=page))
    collector = rig.collector()
    for _ in range(50):
        if not collector.step():
            break
    assert rig.source_states()[-1] == "contract"


def test_a_deprecation_is_noted_once_a_day(site: Rig, server: FakeLangfuse) -> None:
    """The announced end of an API stands in the log once a day, however often it is read."""
    end = {"message": "goes away", "sunsetAt": "2026-11-16"}

    def announced(request: httpx.Request) -> httpx.Response | None:
        if path_of(request) != "/v3/scores":
            return None
        return httpx.Response(200, json={"data": [], "meta": {}, "_deprecation": end})

    server.fault = announced
    collector = site.collector()
    for _ in range(6):
        site.pass_time(collector, 2 * 3600)
    notes = site.sql("select detail from source_log where title = 'This API will end'")
    assert notes == [("goes away (2026-11-16)",)] * (2 if (T0 % 86400) > 43200 else 1)


@pytest.mark.parametrize("zone", ["GMT", "-0000", ""])
def test_the_clocks_difference_is_read_in_utc(
    site: Rig, server: FakeLangfuse, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """A Date header without a zone is UTC, also where the machine's own zone is another."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    stamp = time.strftime(f"%a, %d %b %Y %H:%M:%S {zone}", time.gmtime()).strip()
    server.fault = only(
        "/v2/observations",
        lambda: httpx.Response(200, json={"data": [], "meta": {}}, headers={"date": stamp}),
    )
    collector = site.collector()
    collector.step()
    monkeypatch.undo()
    time.tzset()
    skew = read_table(site.inbox.waiting()[-1], "sources")[0]["clock_skew_s"]
    assert abs(skew) < 5


@pytest.mark.parametrize("limit", [30, 120])
def test_a_limited_server_is_read_to_the_end_without_a_storm(
    langfuse_rig_of: RequestRigOf, limit: int
) -> None:
    """At 30 calls a minute the history is read, and hardly a call is refused."""
    made = project(60, every_s=700, end=T0 - 100, scores=30)
    server = FakeLangfuse(most=10, **made)
    rig, minute, refusals = langfuse_rig_of(server), {"began": 0.0, "used": 0}, []

    def limited(_: httpx.Request) -> httpx.Response | None:
        if rig.clock.now - minute["began"] >= 60:
            minute.update(began=rig.clock.now, used=0)
        minute["used"] += 1
        if minute["used"] <= limit:
            return None
        refusals.append(rig.clock.now)
        left = minute["began"] + 60 - rig.clock.now
        return refused(429, **{"retry-after": f"{left:.0f}"})

    server.fault = limited
    collector, minutes = rig.collector(), 0.0
    while rig.clock.now < T0 + 1800:
        more = collector.step()
        rig.clock.now += collector.wait_s() or (0.5 if more else 10.0)
        state = rig.state_file.load()
        if state is not None and not state.observations.backfill and not state.scores.backfill:
            minutes = (rig.clock.now - T0) / 60
            if not any(scan.part == "backfill" for scan in state.observations.open):
                break
    assert 0 < minutes < 25
    assert len(rig.ids()) == 60
    assert len(rig.ids("scores")) == 30
    assert len(refusals) <= 9 * (minutes + 1)


def test_naive_and_far_times_reach_the_cache_or_the_violations(
    site: Rig, server: FakeLangfuse
) -> None:
    """No time of a row stops the collector or the cache."""
    server.observations = [
        observation(1, T0 - 50),
        observation(2, T0 - 50, createdAt="2026-01-01T00:00:00"),
        observation(3, T0 - 50, updatedAt=iso(T0), endTime="9999-12-31T23:59:59.999Z"),
    ]
    server.scores = [score(1, T0 - 50), score(2, T0 - 50, updatedAt="2026-01-01T00:00:00")]
    site.catch_up()
    assert site.ids() == ["obs-0001", "obs-0003"]
    assert site.ids("scores") == ["score-0001"]
    broken = site.sql("select record_id, rule, field from violations order by 1")
    assert broken == [
        ("obs-0002", "unreadable_row", "createdAt"),
        ("score-0002", "unreadable_row", "updatedAt"),
    ]
