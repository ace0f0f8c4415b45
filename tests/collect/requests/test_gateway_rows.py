"""Recorded rows of a LiteLLM gateway, held against what the clients themselves saw."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.collect.requests.batch import Readers
from core.config import load_settings

FOLDER = Path(__file__).parents[2] / "recordings" / "gateway"
WINDOWS = {"classic": (1796042567, 1796042789), "otel": (1796042954, 1796043148)}
MARKS = ("Hosted_vllm", "Error:", "Cannot connect", "Traceback", "File \\", "No connected", "ssl:")
"""Words of the recorded error texts and stack traces."""
Rows = list[tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Rows of a recorded file, each beside its record."""
    readers, done = Readers(load_settings(_env_file=None)), {}

    def rows(name: str) -> Rows:
        if name not in done:
            found = json.loads((FOLDER / f"{name}.json").read_text())["data"]
            done[name] = [(row, record(readers, row)) for row in found]
        return done[name]

    return rows


def record(readers: Readers, row: dict[str, Any]) -> dict[str, Any]:
    """The record of a row, which breaks no contract."""
    made = readers.observations.read(msgspec.Raw(json.dumps(row).encode()))
    assert made.record is not None
    assert made.violations == ()
    return made.record


def sent(name: str) -> list[dict[str, Any]]:
    """The clients' own records."""
    lines = (FOLDER / f"{name}_requests.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one.get("phase") != "event"]


def seen_by(requests: list[dict[str, Any]], key: str) -> dict[Any, dict[str, Any]]:
    """Clients' records by one of their ids."""
    return {one[key]: one for one in requests if one.get(key)}


def call_ids(requests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Clients' records by the call id that the proxy answered with."""
    found = {(one.get("headers") or {}).get("x-litellm-call-id"): one for one in requests}
    return {call: one for call, one in found.items() if call}


def client_id(row: dict[str, Any]) -> str | None:
    """The id that the client sent, by plain reading of the expanded row."""
    metadata = row["metadata"]
    inside = metadata.get("requester_metadata", metadata.get("attributes.metadata"))
    if isinstance(inside, dict) and "requester_metadata" in inside:
        inside = inside["requester_metadata"]
    told = inside.get("client_request_id") if isinstance(inside, dict) else None
    return told or metadata.get("client_request_id")


def in_window(rows: Rows, path: str) -> list[dict[str, Any]]:
    """Records that began in the run."""
    first, last = (datetime.fromtimestamp(t, UTC) for t in WINDOWS[path])
    return [made for _, made in rows if first <= made["start_at"] < last]


# Sums.


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        (
            "classic",
            {
                ("measured", None): (143, 60_148, 49_952),
                ("unknown", "not_reported"): (14, 5_506, None),
                ("unknown", "estimate"): (4, 1_536, None),
                ("none", "no_usage"): (31, None, None),
            },
        ),
        (
            "otel",
            {
                ("measured", None): (115, 49_533, 41_056),
                ("unknown", "not_reported"): (14, 5_522, None),
                ("unknown", "estimate"): (4, 1_536, None),
                ("none", "no_usage"): (27, None, None),
            },
        ),
    ],
)
def test_a_run_adds_up_to_what_was_measured(
    read: Any, path: str, groups: dict[tuple[str, str | None], tuple[int, int, int]]
) -> None:
    """Measured rows, engines without details, estimates and failures are told apart exactly."""
    found: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for made in in_window(read(f"{path}_observations_v2_expanded"), path):
        found.setdefault((made["usage_status"], made["usage_reason"]), []).append(made)
    assert {key: summed(rows) for key, rows in found.items()} == groups


def summed(rows: list[dict[str, Any]]) -> tuple[int, int | None, int | None]:
    """Rows, and the sums of the numbers they have."""

    def total(name: str) -> int | None:
        known = [row[name] for row in rows if row[name] is not None]
        return sum(known) if known else None

    return len(rows), total("total_input"), total("cached_input")


@pytest.mark.parametrize("path", ["classic", "otel"])
def test_cut_metadata_claims_nothing_that_whole_metadata_contradicts(read: Any, path: str) -> None:
    """A row measured without expansion has the same counts with it; never more are measured."""
    whole = {m["observation_key"]: m for _, m in read(f"{path}_observations_v2_expanded")}
    cut = {m["observation_key"]: m for _, m in read(f"{path}_observations_v2")}
    assert cut.keys() == whole.keys()
    measured = {key for key, made in cut.items() if made["usage_status"] == "measured"}
    assert len(measured) == {"classic": 129, "otel": 103}[path]
    for key in measured:
        for name in ("usage_status", "total_input", "cached_input", "output", "contract"):
            assert cut[key][name] == whole[key][name]
    for key in cut.keys() - measured:
        assert cut[key]["cached_input"] is None
        assert cut[key]["total_input"] in (None, whole[key]["total_input"])


@pytest.mark.parametrize("path", ["classic", "otel"])
def test_no_count_differs_from_what_the_client_received(read: Any, path: str) -> None:
    """Where the client saw tokens, ours are the same or unknown."""
    by_response = seen_by(sent(path), "response_id")
    compared = Counter[str]()
    for _, made in read(f"{path}_observations_v2_expanded"):
        client = by_response.get(made["response_id"])
        if client is None or client["prompt_tokens"] is None:
            continue
        for ours, theirs in (("total_input", "prompt_tokens"), ("output", "completion_tokens")):
            assert made[ours] == client[theirs]
        if client["cached_tokens"] is None:
            assert (made["cached_input"], made["usage_reason"]) == (None, "not_reported")
        else:
            assert made["cached_input"] == client["cached_tokens"]
        compared[str(client["cached_tokens"] is None)] += 1
    assert (
        compared
        == {
            "classic": {"False": 133, "True": 14},
            "otel": {"False": 105, "True": 14},
        }[path]
    )


# Whose attempt it is, and where.


def test_attempts_of_one_request_share_the_proxys_call_id(read: Any) -> None:
    """classic: the logical id is litellm_call_id, on every row, as the client was told it."""
    rows, calls = read("classic_observations_v2_expanded"), call_ids(sent("classic"))
    for row, made in rows:
        assert (
            made["logical_id"] == made["gateway_request_id"] == row["metadata"]["litellm_call_id"]
        )
        client = calls.get(made["logical_id"])
        if client is not None and made["response_id"] is not None:
            assert made["response_id"] == client["response_id"]
    attempts = Counter(made["logical_id"] for _, made in rows)
    assert Counter(attempts.values()) == Counter(
        Counter(row["metadata"]["litellm_call_id"] for row, _ in rows).values()
    )
    assert max(attempts.values()) > 1


@pytest.mark.parametrize("path", ["classic", "otel"])
def test_every_row_names_its_request_as_the_client_did(read: Any, path: str) -> None:
    """Client's id, response id, session, arm and template are the ones that were sent."""
    requests = seen_by(sent(path), "client_request_id")
    arms = Counter[str]()
    for row, made in read(f"{path}_observations_v2_expanded"):
        assert made["client_request_id"] == client_id(row)
        client = requests.get(client_id(row))
        if client is None:
            continue
        if made["response_id"] is not None and client["response_id"] is not None:
            assert made["response_id"] == client["response_id"]
        metadata = client["metadata"] or {}
        told = (metadata.get("trace_metadata") or {}).get("arm", metadata.get("arm"))
        assert made["arm"] == told
        assert made["session_id"] == (row["sessionId"] or None)
        template = metadata.get("trace_metadata", {}).get("template_version")
        if template is not None:
            assert made["template_version"] == template
        arms[str(told)] += 1
    assert arms["A"] > 20
    assert arms["B"] > 20


def test_a_turn_is_the_trace_that_was_sent(read: Any) -> None:
    """classic: the trace. otel makes a trace a call: the sent one lies in an attribute."""
    for row, made in read("classic_observations_v2_expanded"):
        assert made["turn_id"] == row["traceId"]
    rows = read("otel_observations_v2_expanded")
    for row, made in rows:
        assert made["turn_id"] == row["metadata"].get(
            "attributes.langfuse.trace.id", row["traceId"]
        )
    turns = [made for row, made in rows if row["name"] in ("answer", "tool-plan")]
    assert len({made["trace_id"] for made in turns}) == 36
    assert len({made["turn_id"] for made in turns}) == 30


def test_otel_rows_of_one_request_share_the_clients_id(read: Any) -> None:
    """otel has no call id: the logical request is the client's id, else the response's."""
    for row, made in read("otel_observations_v2_expanded"):
        response = row["metadata"].get("attributes.llm.response.id")
        assert made["logical_id"] == (client_id(row) or response or row["id"])
        assert made["response_id"] == response


def test_an_engine_is_named_by_its_address(read: Any) -> None:
    """classic: host and port of api_base, as the client was told them, and the deployment."""
    calls, checked = call_ids(sent("classic")), 0
    for row, made in read("classic_observations_v2_expanded"):
        base = row["metadata"].get("api_base")
        assert made["address"] == (base.split("/")[2] if base else None)
        assert made["deployment"] == row["metadata"]["hidden_params"].get("model_id")
        client = calls.get(made["logical_id"])
        told = {} if client is None else client["headers"]
        if made["response_id"] is not None and "x-litellm-model-api-base" in told:
            assert f"http://{made['address']}/v1" == told["x-litellm-model-api-base"]
            assert made["deployment"] == told["x-litellm-model-id"]
            checked += 1
    assert checked > 140
    assert {made["address"] for _, made in read("otel_observations_v2_expanded")} == {None}


def test_models_stand_without_their_provider(read: Any) -> None:
    """hosted_vllm/tiny-llama and openai/tiny-llama are tiny-llama; whose cache it is differs."""
    rows = read("classic_observations_v2_expanded")
    assert {made["model"] for _, made in rows} == {"tiny-llama", "tiny-chat", "nope"}
    scopes = {(row["model"].split("/")[0], made["cached_scope"]) for row, made in rows}
    assert scopes == {
        ("hosted_vllm", "both"),
        ("openai", "unknown"),
        ("tiny-chat", "unknown"),
        ("nope", "unknown"),
    }
    for row, made in read("otel_observations_v2_expanded"):
        assert made["model"] == row["metadata"]["attributes.llm.model_name"]
        assert made["requested_model"] == row["metadata"].get("attributes.llm.response.model")


def test_tags_tell_attempts_and_groups(read: Any) -> None:
    """classic with default tags: attempts, group and arm of each row, from its last such tag."""
    calls = call_ids(sent("classic_tags"))
    rows = read("classic_tags_observations_v2_expanded")
    for row, made in rows:
        last = dict(tag.split(":", 1) for tag in row["tags"] if ":" in tag)
        assert str(made["attempt"]) == last["attempted_retries"]
        assert made["requested_model"] == last["model_group"]
        assert made["pod"] is None or made["pod"] == last["pod"]
        assert made["arm"] == "A"
        client = calls[made["logical_id"]]
        if made["state"] == "truncated" and client["status"] == 200:
            assert made["deployment"] == client["headers"]["x-litellm-model-id"]
    assert {made["attempt"] for _, made in rows} == {0, 1, 2}


def test_the_last_pod_tag_is_the_one_that_served(read: Any) -> None:
    """otel: tags of deployments pile up over attempts; the last one answered."""
    clients = seen_by(sent("otel_tags"), "client_request_id")
    pods = Counter[str | None]()
    for row, made in read("otel_tags_observations_v2_expanded"):
        assert made["pod"] == [t[4:] for t in row["tags"] if t.startswith("pod:")][-1]
        client = clients[made["client_request_id"]]
        if made["state"] == "truncated" and client["status"] == 200:
            assert client["headers"]["x-litellm-model-id"].startswith(made["pod"])
        pods[made["pod"]] += 1
    assert pods == {"vllm-0": 7, "vllm-1": 6, "vllm-2": 4}


def test_another_write_mode_means_the_same(read: Any) -> None:
    """classic against events_only: same ids, addresses and arms; cut metadata proves no zero."""
    calls = call_ids(sent("classic_events_only"))
    rows = read("classic_events_only_observations_v2")
    known = [made for _, made in rows if made["logical_id"] in calls]
    assert {made["logical_id"] for made in known} == calls.keys()
    for made in known:
        client = calls[made["logical_id"]]
        assert made["client_request_id"] == client["client_request_id"]
        assert made["arm"] == "A"
        if made["state"] == "truncated":
            base = client["headers"]["x-litellm-model-api-base"]
            assert base == f"http://{made['address']}/v1"
    measured = [made for _, made in rows if made["usage_status"] == "measured"]
    assert (len(measured), sum(m["cached_input"] for m in measured)) == (14, 1344)


# How it ended.


@pytest.mark.parametrize("path", ["classic", "otel"])
def test_states_agree_with_what_the_clients_saw(read: Any, path: str) -> None:
    """Every attempt's state against the outcome at the client, phase by phase."""
    table = Counter[tuple[str, Any, str, str | None]]()
    for _, made, client in beside_clients(read, path):
        phase = client["phase"].split(":")[0]
        table[phase, client["status"], made["state"], made["error_kind"]] += 1
    # A stream that its client left is cancelled; other calls run to their end.
    assert table["cancel_stream", 200, "cancelled", None] == 4
    assert {key[2] for key in table if key[0] == "cancel_stream"} == {"cancelled"}
    assert {key[2] for key in table if key[0] == "cancel_nonstream"} == {"truncated"}
    assert sum(n for key, n in table.items() if key[2] == "cancelled") == 4
    # The gateway gave up, or the client asked for what cannot be.
    for phase in ("timeout_gateway", "timeout_header"):
        assert {key[2:] for key in table if key[:2] == (phase, 408)} == {("error", "timeout")}
    for phase in ("error_400", "error_400_stream", "error_unknown_model"):
        assert {key[2:] for key in table if key[0] == phase} == {("error", "bad_request")}
    # Engines that are dead refuse the connection, and a killed one breaks it.
    for phase in ("all_fail", "retry_dead", "fallback", "kill_inflight"):
        failed = {key[2:] for key in table if key[0] == phase and key[2] == "error"}
        assert failed <= {("error", "connection")}


@pytest.mark.parametrize("path", ["classic", "otel"])
def test_an_answer_the_client_got_whole_is_whole(read: Any, path: str) -> None:
    """Served requests have an attempt that ended; failed ones have only errors."""
    answered: dict[str, set[str]] = {}
    for _, made, client in beside_clients(read, path):
        answered.setdefault(client["client_request_id"], set()).add(made["state"])
        if client["error"] is None and made["response_id"] is not None:
            length = client["finish_reason"] == "length"
            assert made["state"] == ("truncated" if length else "complete")
    requests = seen_by(sent(path), "client_request_id")
    for key, states in answered.items():
        if requests[key]["status"] == 500:
            assert states == {"error"}
        elif requests[key]["status"] == 200 and requests[key]["error"] is None:
            assert states & {"truncated", "complete"}


def beside_clients(read: Any, path: str) -> list[tuple[dict[str, Any], ...]]:
    """Rows, records and the clients' own records, where the client sent an id."""
    requests = seen_by(sent(path), "client_request_id")
    rows = read(f"{path}_observations_v2_expanded")
    beside = [(row, made, requests.get(client_id(row))) for row, made in rows]
    known = [one for one in beside if one[2] is not None]
    assert len(known) > 0.95 * len(rows)
    return known


def test_a_stream_that_broke_half_way_is_an_error(read: Any) -> None:
    """Answered 200, then the engine was killed: error, by the broken connection."""
    broken = [
        client["client_request_id"]
        for client in sent("classic")
        if client["phase"] == "kill_inflight" and client["status"] == 200 and client["error"]
    ]
    states = [
        (made["state"], made["error_kind"], made["usage_status"])
        for _, made in read("classic_observations_v2_expanded")
        if made["client_request_id"] in broken
    ]
    assert len(broken) == 2
    assert set(states) == {("error", "connection", "none")}


@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*_observations_*.json")))
def test_no_error_text_is_kept(read: Any, name: str) -> None:
    """Of an error only its kind is in the record; refusals are told apart from keys."""
    for row, made in read(name):
        text = msgspec.json.encode(made).decode()
        assert not [mark for mark in MARKS if mark in text]
        assert (made["error_kind"] is None) == (row["level"] != "ERROR")
