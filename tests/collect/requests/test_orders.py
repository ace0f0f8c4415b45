"""Orders of pages: any id is found, failures are answers, nobody waits for ever."""

from typing import Any

import httpx
import pytest

from core.cache.orders import LONGEST_ID
from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse, observation, score
from tests.collect.requests.rig import T0, Rig, only, path_of, project

OLD = T0 - 20 * 86_400
"""Before the history that is read anyway, within what orders search."""
IDS = {
    "litellm_call_id": "call-1",
    "response_id": "chatcmpl-2",
    "client_request_id": "mine-3",
    "attributes.llm.response.id": "chatcmpl-4",
}


def old_rows() -> list[dict[str, Any]]:
    """Two traces of one session, long ago; the first row carries the ids of a gateway."""
    rows = [observation(n, OLD + n, sessionId="long-ago") for n in range(4)]
    rows[0]["metadata"] = {"scope.name": "x"} | IDS
    return rows


@pytest.mark.parametrize(
    "wanted", ["obs-0000", "trace-0000", "long-ago", *IDS.values(), "  obs-0000 "]
)
def test_every_id_finds_the_request_with_its_session(
    site: Rig, server: FakeLangfuse, wanted: str
) -> None:
    """Observation, trace, session, gateway's, engine's and client's id: the whole session comes."""
    server.observations = old_rows()
    server.scores = [score(n, OLD + n) for n in range(4)]
    site.orders.place(wanted, now=T0)
    site.collector().step()
    assert len(site.ids()) == 4
    assert len(site.ids("scores")) == 4
    assert site.sql("select wanted, outcome, found, detail from orders") == [
        (wanted.strip(), "found", 4, None)
    ]
    assert site.orders.waiting() == []
    assert site.value("select count(*) from turns") == 2


@pytest.mark.parametrize("wanted", ["obs-0000", "trace-0000", "time-12-34_chatcmpl-9"])
def test_v1_finds_observations_and_traces(langfuse_rig_of: RequestRigOf, wanted: str) -> None:
    """The older API is searched by what it knows, gateway ids with odd characters included."""
    rows = [*project(3, every_s=60, end=OLD)["observations"]]
    rows.append(observation(7, OLD, id="time-12-34_chatcmpl-9"))
    server = FakeLangfuse(observations=rows, mode="old", version="3.100.0")
    rig = langfuse_rig_of(server)
    rig.orders.place(wanted, now=T0)
    rig.collector().step()
    assert rig.value("select outcome from orders") == "found"
    assert rig.ids() == (
        ["time-12-34_chatcmpl-9"] if "chatcmpl" in wanted else ["obs-0000", "obs-0001"]
    )


@pytest.mark.parametrize("mode", ["events_only", "old"])
def test_what_is_not_there_is_said_with_the_searched_time(
    langfuse_rig_of: RequestRigOf, mode: str
) -> None:
    """Not found names the window that was searched."""
    version = "3.100.0" if mode == "old" else "4.16.0"
    rig = langfuse_rig_of(FakeLangfuse(mode=mode, version=version, observations=old_rows()))
    rig.orders.place("nowhere", now=T0)
    rig.collector().step()
    told = rig.sql(
        "select outcome, found, epoch(searched_from), epoch(searched_to), epoch(asked_at), detail "
        "from orders"
    )
    assert told == [("not_found", 0, T0 - 30 * 86_400, T0, T0, None)]


@pytest.mark.parametrize("known", [False, True], ids=["at the start", "later"])
@pytest.mark.parametrize("status", [500, 401, 503])
def test_a_source_that_fails_answers_too_and_is_not_stormed(
    site: Rig, server: FakeLangfuse, status: int, *, known: bool
) -> None:
    """The page learns what failed; the order is done, and nobody asks again without pause."""
    collector = site.collector()
    if known:
        site.catch_up(collector)
        site.clock.now += 1
    server.fault = lambda _: httpx.Response(status, json={"message": "down"})
    site.orders.place("obs-0001", now=T0)
    assert collector.urgent()
    collector.step()
    assert not collector.urgent()
    ((outcome, found, detail),) = site.sql("select outcome, found, detail from orders")
    assert (outcome, found) == ("failed", None)
    assert f"HTTP {status}" in detail
    assert len(server.asked) < 12 + 8 * known


@pytest.mark.parametrize("known", [False, True], ids=["at the start", "later"])
def test_orders_wait_as_long_as_the_server_says(
    site: Rig, server: FakeLangfuse, *, known: bool
) -> None:
    """A 429 answers the order that met it; later ones neither ask nor keep the collector busy."""
    collector = site.collector()
    if known:
        site.catch_up(collector)
    server.observations = old_rows()
    server.fault = lambda r: (
        httpx.Response(429, json={"message": "slow"}, headers={"retry-after": "40"})
        if "health" not in path_of(r)
        else None
    )
    site.orders.place("obs-0001", now=T0)
    site.orders.place("obs-0002", now=T0 + 1)
    collector.step()
    server.asked.clear()
    assert not collector.urgent()
    assert not collector.step()
    assert server.asked == []
    site.clock.now += 41
    server.fault = None
    assert collector.urgent()
    collector.step()
    told = site.sql("select wanted, outcome from orders order by asked_at")
    assert told == [("obs-0001", "failed"), ("obs-0002", "found")]


HOSTILE = [
    "'; drop table orders; --", '"}]', "%00%0d%0a", "a&traceId=b#c", "../../health", "..", "a/b",
    "x" * 5000, "🙂" * 60, "\u0000", "line\nbreak", "$path", "[]", "null",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["events_only", "old"])
def test_a_hostile_id_is_data(langfuse_rig_of: RequestRigOf, mode: str) -> None:
    """Whatever stands in an order is looked for as it is, at most 200 characters, and answered."""
    version = "3.100.0" if mode == "old" else "4.16.0"
    server = FakeLangfuse(mode=mode, version=version, **project(3, every_s=60, end=OLD))
    rig = langfuse_rig_of(server)
    for n, wanted in enumerate(HOSTILE):
        rig.orders.place(wanted, now=T0 + n)
    rig.collector().step()
    told = rig.sql("select wanted, outcome from orders order by asked_at")
    assert told == [(text.strip()[:LONGEST_ID], "not_found") for text in HOSTILE]
    lists = {"/health", "/v2/observations", "/v3/scores", "/observations", "/v2/scores", "/traces"}
    paths = {path_of(request) for request in server.asked}
    assert all(path in lists or path.startswith("/observations/") for path in paths)


@pytest.mark.parametrize("wanted", ["", "   "])
def test_an_empty_order_finds_nothing(site: Rig, server: FakeLangfuse, wanted: str) -> None:
    """Nothing is no filter: it does not fetch the whole project."""
    server.observations = old_rows()
    site.orders.place(wanted, now=T0)
    site.collector().step()
    assert site.value("select outcome from orders") == "not_found"
    assert site.ids() == []


def test_orders_come_before_a_long_backfill(langfuse_rig_of: RequestRigOf) -> None:
    """An order is answered by the next step, however much history waits."""
    server = FakeLangfuse(most=2, **project(60, every_s=900, end=T0 - 2000))
    server.observations += old_rows()
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    for _ in range(3):
        assert collector.step()
    rig.orders.place("call-1", now=T0)
    assert collector.urgent()
    assert collector.step()
    assert rig.value("select outcome from orders") == "found"


def test_the_same_id_ordered_twice_is_answered_twice(site: Rig, server: FakeLangfuse) -> None:
    """Two pages that want one request both get their answer; its rows are there once."""
    server.observations = old_rows()
    site.orders.place("call-1", now=T0)
    site.orders.place("call-1", now=T0 + 0.5)
    site.collector().step()
    assert site.sql("select outcome, found from orders") == [("found", 4)] * 2
    assert len(site.ids()) == 4


def test_an_order_by_a_killed_collector_is_answered_by_the_next(
    site: Rig, server: FakeLangfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the answer in the inbox and the removed file a kill only repeats the answer."""
    server.observations = old_rows()
    order = site.orders.place("call-1", now=T0)
    monkeypatch.setattr(site.orders, "answered", lambda _: None)
    site.collector().step()
    monkeypatch.undo()
    assert [one.order_id for one in site.orders.waiting()] == [order.order_id]
    site.collector().step()
    assert site.orders.waiting() == []
    assert site.sql("select outcome from orders") == [("found",)]


@pytest.mark.parametrize("content", [b"", b"no json", b"[]", b'{"order_id": 5}', b"\xff\xfe"])
def test_a_file_that_is_no_order_is_removed(site: Rig, content: bytes) -> None:
    """Strange files in the folder do not keep the collector busy for ever."""
    site.orders.place("x", now=T0)
    good = next(site.orders.folder.glob("*.json"))
    (site.orders.folder / "strange.json").write_bytes(content)
    (site.orders.folder / "copy.json").write_bytes(good.read_bytes())
    assert len(site.orders.waiting()) == 1
    site.collector().step()
    assert not site.collector().urgent()
    assert list(site.orders.folder.glob("*.json")) == []


def test_a_row_of_an_odd_shape_does_not_stop_an_order(site: Rig, server: FakeLangfuse) -> None:
    """A found row that cannot be read ends as a violation, and the order is answered."""
    odd = observation(1, T0, traceId=5, sessionId=["s"])
    server.fault = only(
        "/v2/observations",
        lambda: httpx.Response(200, json={"data": [odd, 7, "x", None], "meta": {}}),
    )
    site.orders.place("obs-0001", now=T0)
    site.collector().step()
    assert site.orders.waiting() == []
    assert site.value("select count(*) from orders") == 1


def test_an_order_on_an_upgraded_server_is_told_and_asked_anew(
    langfuse_rig_of: RequestRigOf,
) -> None:
    """An order that meets another generation fails by name; the next one is found."""
    server = FakeLangfuse(old_rows(), mode="old", version="3.100.0")
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    rig.catch_up(collector)
    server.mode, server.version = "events_only", "4.16.0"
    for n in range(2):
        rig.orders.place("trace-0000", now=T0 + n)
        collector.step()
    told = rig.sql("select outcome from orders order by asked_at")
    assert told == [("failed",), ("found",)]
