"""The simulated Langfuse answers like the real server."""

from collections import Counter

import httpx
import pytest

from core.demo.arrivals import (
    Kind,
)
from core.demo.fleet import CYCLE_S, RESTART
from core.demo.gateway import Gateway
from tests.demo.conftest import ClientOf
from tests.demo.reading import (
    ALL_FIELDS,
    EPOCH,
    OBSERVATIONS,
    SCORES,
    STRETCH,
    Row,
    condition,
    kind_of,
    read,
    seconds,
    start_of,
    window,
)


def refusal(client: httpx.Client, path: str, **asked: str) -> tuple[int, Row]:
    answer = client.get(path, params=asked)
    return answer.status_code, answer.json()


def test_paging_loses_nothing(client: httpx.Client, stretch: list[Row]) -> None:
    """Small pages give the rows of large ones, each once, ties included."""
    middle = window(EPOCH + RESTART.start_s, EPOCH + RESTART.start_s + 30)
    pages = list(read(client, **middle, limit="7", fields="core"))
    whole = [
        r["id"]
        for r in stretch
        if middle["fromStartTime"] <= r["startTime"] < middle["toStartTime"]
    ]
    assert [row["id"] for row in pages] == whole
    times = [row["startTime"] for row in pages]
    assert times == sorted(times, reverse=True)
    ties = [t for t, n in Counter(row["startTime"] for row in stretch).items() if n > 1]
    (tie,) = list(read(client, **window(seconds(ties[0]), seconds(ties[0]) + 1e-3), limit="1"))[1:]
    assert tie["startTime"] == ties[0]


def test_windows_are_half_open(client: httpx.Client, stretch: list[Row]) -> None:
    """A row at the start of a window is in it, one at its end is not."""
    row = stretch[1000]
    at = start_of(row)
    assert row["id"] in [r["id"] for r in read(client, **window(at, at + 0.001))]
    assert row["id"] not in [r["id"] for r in read(client, **window(at - 1, at))]


def test_rows_appear_when_they_end(client_of: ClientOf) -> None:
    """A row is there a second after its end and stays; the future is not told."""
    now = EPOCH + 5000.0
    early = list(read(client_of(now), **window(now - 300, now + 300), fields="core"))
    assert max(seconds(row["endTime"]) for row in early) <= now - 1
    later = {r["id"]: r for r in read(client_of(now + 60), **window(now - 300, now + 300))}
    assert {row["id"] for row in early} < set(later)
    since = set(later) - {row["id"] for row in early}
    assert all(seconds(later[one]["endTime"]) > now - 1 for one in since)


def test_same_seed_and_epoch_give_the_same_rows(client_of: ClientOf, gateway: Gateway) -> None:
    """Rows follow from seed and epoch, however late they are asked for."""
    asked = window(EPOCH + CYCLE_S - 60, EPOCH + CYCLE_S + 60) | {"fields": ALL_FIELDS}
    first = list(
        read(client_of(EPOCH + CYCLE_S + 600, gateway=Gateway(seed=7, epoch=EPOCH)), **asked)
    )
    again = list(read(client_of(EPOCH + 2 * CYCLE_S, gateway=gateway), **asked))
    assert first
    assert first == again
    other = Gateway(seed=8, epoch=EPOCH)
    assert first != list(read(client_of(EPOCH + CYCLE_S + 600, gateway=other), **asked))


def test_fields_come_when_asked_for(client: httpx.Client) -> None:
    """Without their group there is no metadata and no usage; long values are cut unasked."""
    (plain,) = client.get(OBSERVATIONS, params={"limit": 1}).json()["data"]
    assert not {"metadata", "usageDetails", "model", "completionStartTime"} & set(plain)
    rows = client.get(OBSERVATIONS, params={"limit": 99, "fields": "metadata"}).json()["data"]
    assert not any({"usageDetails", "name"} & set(row) for row in rows)
    usages = [row["metadata"].get("usage_object") for row in rows]
    assert any(isinstance(usage, str) and len(usage) == 200 for usage in usages)


def test_filters_find_what_they_name(client: httpx.Client, stretch: list[Row]) -> None:
    """By id, call, trace, session, type and arm; conditions are joined by and."""
    row = next(r for r in stretch if kind_of(r) is Kind.MEASURED and r["sessionId"])
    told = row["metadata"]
    for asked in (
        {"filter": condition("id", row["id"])},
        {"filter": condition("metadata", told["litellm_call_id"], "litellm_call_id")},
        {"filter": condition("metadata", told["client_request_id"], "client_request_id")},
        {"filter": condition("metadata", told["response_id"], "response_id")},
        {"traceId": row["traceId"]},
        {"sessionId": row["sessionId"]},
    ):
        found = list(read(client, **asked, fields="core,basic"))
        assert row["id"] in [one["id"] for one in found], asked
        assert len({one["sessionId"] for one in found}) == 1
    both = {"filter": condition("id", row["id"]), "traceId": "0" * 32}
    assert list(read(client, **both)) == []
    arm = list(read(client, **window(*STRETCH), filter=condition("metadata", "B", "arm")))
    assert {r["id"] for r in arm} == {r["id"] for r in stretch if r["metadata"]["arm"] == "B"}
    tools = list(read(client, **window(*STRETCH), type="TOOL"))
    assert len(tools) == sum(r["type"] == "TOOL" for r in stretch)
    assert list(read(client, environment="elsewhere")) == []


def test_what_is_not_served_is_refused(client: httpx.Client) -> None:
    """Health and project are told; limits, cursors and old paths are refused as by the server."""
    assert client.get("/api/public/health").json() == {"status": "OK", "version": "4.16.0"}
    (project,) = client.get("/api/public/projects").json()["data"]
    assert (project["id"], project["name"]) == ("demo", "demo")
    status, body = refusal(client, "/api/public/observations")
    assert status == 404
    assert "events_only mode" in body["message"]
    assert refusal(client, "/api/public/nothing")[0] == 404
    assert refusal(client, OBSERVATIONS, limit="1001")[0] == 400
    assert refusal(client, OBSERVATIONS, cursor="garbage")[0] == 400
    assert refusal(client, OBSERVATIONS, fromStartTime="2026-11-30")[0] == 400
    assert refusal(client, OBSERVATIONS, filter="{nope")[0] == 400
    assert refusal(client, OBSERVATIONS, filter=condition("nope", "x"))[0] == 400
    assert refusal(client, SCORES, limit="101")[0] == 400
    assert refusal(client, SCORES, updatedAfter="2020")[0] == 400
    assert refusal(client, SCORES, observationId="x")[0] == 400
    assert client.post(OBSERVATIONS).status_code == 405


def test_old_requests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that runs for days keeps what is kept of the engines, and no more."""
    monkeypatch.setattr("core.demo.gateway.KEPT_CYCLES", 1)
    gateway = Gateway(seed=7, epoch=EPOCH)
    gateway.make_until(EPOCH + 2 * CYCLE_S)
    for shelves in (gateway.rows, gateway.scores):
        assert list(shelves.between(EPOCH * 1000, (EPOCH + CYCLE_S) * 1000 - 60_000)) == []
        assert next(shelves.between(EPOCH * 1000, (EPOCH + 3 * CYCLE_S) * 1000)).size > 0
