"""One row in, one record out: names, places, settings, and rows nobody expects."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.collect.requests.batch import Batch, Readers
from core.collect.requests.observations import Read
from core.collect.requests.scores import ReadScore
from core.config import load_settings
from tests.collect.requests.fake_langfuse import observation, score

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT = NOW.timestamp()
RECORDED = Path(__file__).parents[2] / "recordings"
LITELLM = {"scope.name": "langfuse-sdk", "litellm_call_id": "call-1"}
OTEL = {"scope.name": "litellm"}


def readers(**settings: Any) -> Readers:
    """Readers by the defaults and some settings."""
    return Readers(load_settings(_env_file=None, **settings))


DEFAULT = readers()


def read(using: Readers = DEFAULT, **row: Any) -> Read:
    """What one row becomes."""
    raw = row.pop("raw", None) or json.dumps(observation(1, AT, **row))
    return using.observations.read(msgspec.Raw(raw.encode()))


def record(using: Readers = DEFAULT, **row: Any) -> dict[str, Any]:
    """The record of a row."""
    made = read(using, **row).record
    assert made is not None
    return made


def evaluated(**row: Any) -> ReadScore:
    """What one score becomes."""
    return DEFAULT.scores.read(msgspec.Raw(json.dumps(score(1, AT, **row)).encode()), NOW)


# Models, engines, deployments.


@pytest.mark.parametrize(
    ("model", "metadata", "name", "scope"),
    [
        ("hosted_vllm/Qwen/Qwen3-32B", LITELLM, "Qwen/Qwen3-32B", "both"),
        ("Qwen/Qwen3-32B", LITELLM, "Qwen/Qwen3-32B", "unknown"),
        ("openai/Qwen/Qwen3-32B", LITELLM, "Qwen/Qwen3-32B", "unknown"),
        ("hosted_vllm/openai/gpt-oss-120b", LITELLM, "openai/gpt-oss-120b", "both"),
        ("openai/gpt-oss-120b", {"scope.name": "langfuse-sdk"}, "openai/gpt-oss-120b", "unknown"),
        ("openai/gpt-oss-120b", {"scope.name": "my-app"}, "openai/gpt-oss-120b", "unknown"),
        ("hosted_vllm/tiny", {}, "tiny", "both"),
        ("group", OTEL | {"attributes.llm.model_name": "openai/gpt-oss-120b",
                          "attributes.llm.provider": "hosted_vllm"}, "openai/gpt-oss-120b", "both"),
        ("claude", OTEL | {"attributes.llm.provider": "anthropic"}, "claude", "provider"),
        ("", LITELLM, None, "unknown"),
        (None, {}, None, "unknown"),
    ],
)  # fmt: skip
def test_a_model_loses_its_provider_and_nothing_of_its_name(
    model: str | None, metadata: dict[str, Any], name: str | None, scope: str
) -> None:
    """A provider's prefix goes; an owner that looks like one stays, as vLLM names the model."""
    made = record(model=model, metadata=metadata)
    assert (made["model"], made["cached_scope"]) == (name, scope)


@pytest.mark.parametrize(
    ("api_base", "address"),
    [
        ("http://127.0.0.1:18101/v1/chat/completions", "127.0.0.1:18101"),
        ("https://user:secret@vllm-0:8000/v1", "vllm-0:8000"),
        ("vllm-0:8000", "vllm-0:8000"),
        ("http://[::1]:8000/v1", "[::1]:8000"),
        ("http://[broken", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_is_host_and_port_alone(api_base: object, address: str | None) -> None:
    """As a scrape target names it; path and keys are left behind."""
    assert record(metadata=LITELLM | {"api_base": api_base})["address"] == address


def test_the_tag_of_an_address_stands_in_for_the_key() -> None:
    """Where metadata lacks api_base, the last such tag tells; metadata comes first."""
    tags = ["api_base:http://a:1/v1", "x", 3, "api_base:http://b:2/v1"]
    assert record(metadata=LITELLM, tags=tags)["address"] == "b:2"
    metadata = LITELLM | {"api_base": "http://c:3"}
    assert record(metadata=metadata, tags=tags)["address"] == "c:3"


def test_deployments_name_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """PREFIXWATCH_DEPLOYMENTS gives a pod by address or deployment; a row's own pod comes first."""
    monkeypatch.setenv("PREFIXWATCH_DEPLOYMENTS", '{"gw:8000": "pod-0", "vllm-1": "pod-1"}')
    using = readers()
    base = LITELLM | {"api_base": "http://gw:8000/v1"}
    assert record(using, metadata=base)["pod"] == "pod-0"
    hidden = LITELLM | {"hidden_params": {"model_id": "vllm-1"}}
    assert record(using, metadata=hidden)["pod"] == "pod-1"
    assert record(using, metadata=hidden)["deployment"] == "vllm-1"
    assert record(using, metadata=base | {"pod": "own"})["pod"] == "own"
    assert record(using, metadata=LITELLM)["pod"] is None
    assert record(metadata=base)["pod"] is None


@pytest.mark.parametrize(
    "tags",
    [["pod:a", "pod:b"], ["pod:b"], ["pod:b", "pods:c", "a:pod:c"], ["pod:a", "pod: b "]],
)
def test_the_last_pod_tag_wins(tags: list[str]) -> None:
    """Attempts add their deployment's tags at the end."""
    assert record(metadata=OTEL, tags=tags)["pod"] == "b"


@pytest.mark.parametrize("tags", [None, [], ["pod:"], ["pod"], ["pod:a", "pod:"], [3, None]])
def test_a_pod_that_no_tag_names_is_unknown(tags: Any) -> None:
    """Empty and foreign tags name no pod."""
    assert record(metadata=OTEL, tags=tags)["pod"] is None


# Settings in effect.


def test_keys_of_ones_own_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """PREFIXWATCH_KEYS__ARM: the key, also as an attribute; then the profile's places."""
    monkeypatch.setenv("PREFIXWATCH_KEYS__ARM", "variant")
    monkeypatch.setenv("PREFIXWATCH_KEYS__LOGICAL_ID", "tag:req")
    monkeypatch.setenv("PREFIXWATCH_KEYS__TASK_TYPE", "")
    using = readers()
    assert record(using, metadata={"variant": "B", "arm": "A"})["arm"] == "B"
    assert record(using, metadata={"attributes": {"variant": "B"}})["arm"] == "B"
    assert record(using, metadata={"arm": "A"})["arm"] is None
    assert record(using, metadata=LITELLM | {"arm": "A"})["arm"] == "A"
    assert record(using, metadata={}, tags=["req:1", "req:2"])["logical_id"] == "2"
    assert record(using, metadata={"task_type": "chat", "": "x"})["task_type"] is None


def test_an_exporter_of_ones_own_is_in_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """PREFIXWATCH_EXPORTERS: contract, zero and paths, by a marker of one's own."""
    own = {
        "key": "own",
        "marker": "gw_id",
        "contract": "two_buckets",
        "two_buckets": ["fresh", "reused"],
        "zero": "unproven",
        "paths": {"logical_id": ["gw_id"], "pod": ["where/pod"]},
    }
    monkeypatch.setenv("PREFIXWATCH_EXPORTERS", json.dumps([own]))
    using, metadata = readers(), {"gw_id": "g-1", "where": '{"pod": "p-1"}'}
    made = record(using, metadata=metadata, usageDetails={"fresh": 200, "reused": 800})
    assert (made["exporter"], made["contract"], made["logical_id"]) == ("own", "two_buckets", "g-1")
    assert (made["pod"], made["total_input"], made["cached_input"]) == ("p-1", 1000, 800)
    unproven = record(using, metadata=metadata, usageDetails={"fresh": 200, "reused": 0})
    assert (unproven["usage_reason"], unproven["cached_input"]) == ("zero_unproven", None)


# Recorded contracts.

CONTRACTS: dict[str, tuple[str, int | None, int | None]] = {
    "contract-openai_style": ("measured", 1200, 1024),
    "contract-openai_style_audio": ("measured", 1200, 1024),
    "contract-openai_responses": ("measured", 700, 640),
    "contract-openai_details_null": ("unknown", 900, None),
    "contract-openai_extra_key": ("unknown", 900, None),
    "contract-openai_no_total": ("unknown", 900, None),
    "contract-flat_exclusive": ("measured", 1200, 1024),
    "contract-flat_exclusive_no_total": ("measured", 1200, 1024),
    "contract-flat_inclusive_total": ("violation", None, None),
    "contract-missing_cached": ("unknown", 1200, None),
    "contract-zero_cached": ("measured", 1200, 0),
    "contract-cache_write": ("measured", 1200, 0),
    "contract-anthropic_raw": ("measured", 1200, 550),
    "contract-litellm_style": ("measured", 1200, 1024),
    "contract-floats": ("unknown", 176, None),
    "contract-none_usage": ("none", None, None),
    "otel-semconv-inclusive": ("measured", 1200, 1024),
    "otel-semconv-creation": ("measured", 1200, 512),
    "otel-openinference": ("measured", 1200, 1024),
    "otel-usage-details-attr": ("measured", 1200, 1024),
    "otel-nocache": ("unknown", 1200, None),
    "otel-prompt-tokens": ("unknown", 1200, None),
    "otel-unknown-cached-key": ("violation", None, None),
    "otel-error": ("none", None, None),
}


def test_recorded_contracts_mean_what_was_sent() -> None:
    """What a server makes of each way to send usage: measured, unknown or named, never guessed.

    Not told apart, and so not in the table: an inclusive sender without a total, whose
    overlapping buckets the server adds up itself, and a server that cut a negative rest to 0.
    """
    found = {}
    for name in ("contracts_trace", "otel_trace_all"):
        file = RECORDED / "langfuse" / "dual" / f"v2_observations_{name}.json"
        for row in json.loads(file.read_text())["body"]["data"]:
            made = read(raw=json.dumps(row)).record
            assert made is not None
            found[row["name"]] = (made["usage_status"], made["total_input"], made["cached_input"])
    assert {name: found[name] for name in CONTRACTS} == CONTRACTS


def test_a_prompt_among_the_parameters_is_not_kept() -> None:
    """Rows the proxy refused hold the prompt in modelParameters; nothing of it is recorded."""
    prompt = "what nobody may read"
    parameters = {"messages": [{"content": prompt}], "max_tokens": 3}
    made = read(modelParameters=parameters, statusMessage=prompt, level="ERROR", input=prompt)
    assert prompt not in msgspec.json.encode(made.record).decode()


# What metadata may be.


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 0}},
        '{"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 0}}',
        "{'prompt_tokens': 1000, 'x': None, 'prompt_tokens_details': {'cached_tokens': 0}}",
    ],
)
def test_a_usage_object_settles_a_zero_in_any_writing(told: object) -> None:
    """As an object, as JSON in a text, as Python prints it."""
    usage = {"input": 1000, "cache_read_input_tokens": 0, "output": 5, "total": 1005}
    made = record(metadata=LITELLM | {"usage_object": told}, usageDetails=usage)
    assert (made["usage_status"], made["cached_input"]) == ("measured", 0)
    if isinstance(told, str):
        made = record(metadata=LITELLM | {"usage_object": told[:-9]}, usageDetails=usage)
        assert (made["usage_status"], made["usage_reason"]) == ("unknown", "zero_unproven")


@pytest.mark.parametrize(
    "odd",
    [
        "{'a': '\\d'}", "['" + "-" * 9000 + "1']", "{'a': " + "-" * 9000 + "1}", "{[1]: 2}",
        "{'\0': 1}", "{'a': 1is 2}", "[" * 300, "{'a'" * 300, "{'a': __import__('os')}", "{", "[",
        "", None, 7, True, [], [[["deep"]]], {"x": 1}, "x" * 30_000,
    ],
)  # fmt: skip
def test_odd_values_under_known_keys_are_no_names(odd: object) -> None:
    """Whatever lies under a key of metadata, the row is read and nothing is made up."""
    keys = ("usage_object", "hidden_params", "requester_metadata", "api_base", "arm")
    made = record(metadata=LITELLM | dict.fromkeys(keys, odd))
    assert made["deployment"] is None
    assert (made["usage_status"], made["cached_input"]) == ("measured", 900)


@pytest.mark.parametrize("where", ["metadata", "modelParameters", "usageDetails", "tags"])
def test_json_deeper_than_any_reader_stops_nothing(where: str) -> None:
    """A row nested ten thousand deep is read without it, or is one violation."""
    deep = "[" * 10_000 + "]" * 10_000
    inside = deep if where == "tags" else '{"usage_object": ' + deep + "}"
    row = json.dumps(observation(1, AT, **{where: "HERE"})).replace('"HERE"', inside)
    made = read(raw=row)
    assert made.record is not None or made.violations[0].rule == "unreadable_row"


def test_every_choice_may_have_max_tokens() -> None:
    """Two choices of 12 tokens each are cut at 24, not at 12; the sum alone tells no more."""
    two = {"max_tokens": 12, "n": 2}
    usage = {"input": 1, "output": 14, "total": 15}
    assert record(modelParameters=two, usageDetails=usage)["state"] == "complete"
    usage = {"input": 1, "output": 24, "total": 25}
    assert record(modelParameters=two, usageDetails=usage)["state"] == "truncated"
    assert record(modelParameters=two)["choices"] == 2


@pytest.mark.parametrize("huge", [2**31, 2**63, 2**64, -(2**70), 10**400])
def test_numbers_of_any_size_fit_the_tables(huge: int) -> None:
    """Giants under every number become violations or unknown, and the batch is written."""
    batch = Batch(DEFAULT)
    rows = [
        observation(1, AT, usageDetails={"input": huge, "output": huge, "x": huge}),
        observation(2, AT, modelParameters={"n": huge, "max_tokens": huge}, promptVersion=huge),
        observation(3, AT, metadata={"attempt": huge}, usageDetails={f"input_{huge}": huge}),
    ]
    batch.add_observations(msgspec.Raw(json.dumps(row).encode()) for row in rows)
    marks = {"repeat": huge, "inclusion_probability": huge}
    scores = [score(1, AT, value=huge, metadata=marks), score(2, AT, value=0.5, metadata=marks)]
    batch.add_scores((msgspec.Raw(json.dumps(row).encode()) for row in scores), AT)
    tables = batch.tables(NOW)
    assert tables["observations"].num_rows == 3
    assert tables["scores"].num_rows == 2
    status = dict(zip(*(tables["observations"][n].to_pylist() for n in
                        ("observation_id", "usage_status")), strict=True))  # fmt: skip
    giant = huge < 0 or huge > 10**12
    assert (status["obs-0001"] == "violation") == giant


def test_a_row_of_many_broken_buckets_is_listed_in_bounds() -> None:
    """Ten thousand broken buckets of long names: the first are listed, texts are not kept."""
    usage = {f"input_{i}_" + "secret " * 30: "a secret " * 30 for i in range(10_000)}
    made = read(usageDetails=usage)
    assert made.record is not None
    assert made.record["usage_status"] == "violation"
    assert len(made.violations) == 40
    assert len(made.record["raw_usage"]) < 8000
    assert {one.raw_value for one in made.violations} == {"text of 270 characters"}


@pytest.mark.parametrize("field", ["startTime", "endTime", "updatedAt", "completionStartTime"])
def test_a_time_without_a_zone_is_no_time(field: str) -> None:
    """It is a violation with the row's id, and neither guessed nor a crash."""
    made = read(**{field: "2026-11-30T12:00:00.000"})
    assert made.record is None
    assert (made.violations[0].rule, made.violations[0].field) == ("unreadable_row", field)
    assert made.violations[0].record_id == "obs-0001"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
KEYS = st.sampled_from([
    "scope.name", "litellm_call_id", "usage_object", "hidden_params", "attributes.metadata",
    "attributes", "resourceAttributes", "requester_metadata", "arm", "pod", "api_base",
])  # fmt: skip


@given(
    st.dictionaries(KEYS, JSON, max_size=6),
    JSON | st.dictionaries(st.sampled_from(["n", "max_tokens"]), JSON),
    st.lists(JSON | st.sampled_from(["pod:a", "arm:"]), max_size=3),
    JSON | st.dictionaries(st.sampled_from(["input", "output", "input_cached_tokens"]), JSON),
    st.sampled_from(["DEFAULT", "ERROR", None]),
)  # fmt: skip
def test_any_json_is_a_row_that_can_be_written(
    metadata: Any, parameters: Any, tags: list[Any], usage: Any, level: str | None
) -> None:
    """A row with anything in it becomes a record or a violation, and both fit the tables."""
    row = observation(1, AT, level=level, metadata=metadata, tags=tags, usageDetails=usage,
                      modelParameters=parameters)  # fmt: skip
    batch = Batch(DEFAULT)
    batch.add_observations([msgspec.Raw(json.dumps(row).encode())])
    tables = batch.tables(NOW)
    assert tables["observations"].num_rows + tables["violations"].num_rows >= 1


# Scores of either generation.


@pytest.mark.parametrize(
    ("row", "value", "label"),
    [
        ({"dataType": "BOOLEAN", "value": True}, 1.0, None),
        ({"dataType": "BOOLEAN", "value": 0, "stringValue": "False"}, 0.0, None),
        ({"dataType": "BOOLEAN", "value": None, "stringValue": "True"}, 1.0, None),
        ({"dataType": "CATEGORICAL", "value": "good"}, None, "good"),
        ({"dataType": "CATEGORICAL", "value": 0, "stringValue": "good"}, None, "good"),
        ({"dataType": "NUMERIC", "value": 0, "stringValue": None}, 0.0, None),
        ({"dataType": "NUMERIC", "value": 0.5, "stringValue": "x"}, 0.5, None),
    ],
)
def test_a_score_reads_alike_in_both_generations(
    row: dict[str, Any], value: float | None, label: str | None
) -> None:
    """v3 has one value; v2 has a number and a text, of which the type tells which counts."""
    made = evaluated(**row).record
    assert made is not None
    assert (made["value"], made["label"], made["status"]) == (value, label, "ok")


@pytest.mark.parametrize("kind", ["TEXT", "CORRECTION"])
def test_texts_are_never_kept(kind: str) -> None:
    """A free text or a correction is an answer: no record, no violation."""
    told = evaluated(dataType=kind, value="the answer", stringValue="the answer")
    assert told == ReadScore(None)


def test_an_impossible_probability_is_listed() -> None:
    """A probability of 2 is a violation of the score, and unknown in its record."""
    told = evaluated(metadata={"inclusion_probability": 2})
    assert told.record is not None
    assert told.record["inclusion_probability"] is None
    (one,) = told.violations
    assert (one.kind, one.rule, one.field) == (
        "score",
        "probability_outside",
        "inclusion_probability",
    )
    assert (one.record_id, one.raw_value) == ("score-0001", "2")


def test_recorded_scores_are_read_by_the_defaults() -> None:
    """A recorded judge's scores: value, version 1, on the observation they are about."""
    rows = json.loads((RECORDED / "gateway" / "classic_scores_v3.json").read_text())["data"]
    made = [DEFAULT.scores.read(msgspec.Raw(json.dumps(row).encode()), NOW).record for row in rows]
    judged = [one for one in made if one is not None and one["name"] == "judge"]
    assert len(judged) == 20
    for one in judged:
        assert (one["level"], one["status"], one["evaluator_version"]) == ("observation", "ok", "1")
        assert one["inclusion_probability"] is None
    (session,) = [one for one in made if one is not None and one["level"] == "session"]
    assert (session["session_id"], session["value"]) == ("langfuse-sess-00", 1.0)
    assert session["observation_id"] is None
