"""Every recorded row decoded: states, usage and ids as plain code reads them from the JSON."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from core.collect.requests.batch import Batch, Readers
from tests.recorded_langfuse import GATEWAY, LANGFUSE, LISTS, Recording, recorded, settings

PAGES = [one for one in (*LANGFUSE, *GATEWAY) if one.status == 200 and one.path in LISTS]
OBSERVATIONS = [one for one in PAGES if "observations" in one.path]
SCORES = [one for one in PAGES if "scores" in one.path]
CANCELLED = re.compile("cancel|client disconnect|499|aborted by", re.IGNORECASE)
CACHED = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
PLAIN = ("input", "input_tokens", "prompt_tokens")


def name_of(one: Recording) -> str:
    return one.name


def batch_of(*files: Recording) -> Batch:
    """The batch that the rows of some files make."""
    batch = Batch(Readers(settings()))
    for one in files:
        raw = [msgspec.Raw(json.dumps(row).encode()) for row in one.rows]
        if "observations" in one.path:
            batch.add_observations(raw)
        else:
            batch.add_scores(raw, 1.79e9)
    return batch


def usage_object(row: dict[str, Any]) -> dict[str, Any]:
    """What LiteLLM passes on of the provider's usage, where it was asked for whole."""
    metadata = row.get("metadata") or {}
    found = metadata.get("usage_object")
    if found is None and "attributes.metadata" in metadata:
        inner = metadata["attributes.metadata"]
        try:
            inner = json.loads(inner) if isinstance(inner, str) else inner
        except ValueError:
            inner = {}
        found = inner.get("usage_object")
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            found = None
    return found if isinstance(found, dict) else {}


def plain_state(row: dict[str, Any]) -> set[str]:  # noqa: PLR0911 - one a rule
    """States that a row may have, by its level and its times alone."""
    metadata = row.get("metadata") or {}
    if row.get("level") == "ERROR":
        told = [row.get("statusMessage") or ""]
        told += [str(metadata.get(f"attributes.error.{k}", "")) for k in ("type", "message")]
        return {"cancelled"} if CANCELLED.search(" ".join(told)) else {"error"}
    if "cache_read_input_tokens" in usage_object(row) and row["type"] == "GENERATION":
        return {"cancelled"}
    if row["type"] == "EVENT":
        return {"complete"}
    if row.get("endTime") is None:
        return {"unfinished"}
    usage = row.get("usageDetails") or {}
    parts = [v for k, v in usage.items() if re.match("output(_|$)|completion_tokens$", k)]
    output = sum(parts) if parts else None
    most = (row.get("modelParameters") or {}).get("max_tokens")
    reached = (
        output is not None
        and str(most).isdecimal()
        and row["type"] == "GENERATION"
        and output >= int(most)
    )
    if reached:
        return {"truncated", "complete"} if "attributes" in str(metadata) else {"truncated"}
    if row["endTime"] == row["startTime"] and row["type"] == "GENERATION":
        return {"unknown"}
    return {"complete", "truncated"} if "finish_reason" in str(metadata) else {"complete"}


@pytest.mark.parametrize("one", OBSERVATIONS, ids=name_of)
def test_every_recorded_observation_is_a_record(one: Recording) -> None:
    """One record a row, in order, with the ids, times, state and type of the JSON."""
    batch = batch_of(one)
    assert len(batch.observations) == len(one.rows)
    for record, row in zip(batch.observations, one.rows, strict=True):
        assert record["observation_id"] == row["id"]
        assert record["trace_id"] == row["traceId"]
        assert record["type"] == row["type"]
        assert record["start_at"] == _instant(row["startTime"])
        assert record["parent_id"] == (row.get("parentObservationId") or None)
        assert record["synthetic_root"] == (row["id"] == f"t-{row['traceId']}")
        assert record["state"] in plain_state(row), (row["id"], row.get("name"))
        assert record["environment"] == (row.get("environment") or None)
        if row.get("updatedAt"):
            assert record["updated_at"] == _instant(row["updatedAt"])
        if row["type"] != "GENERATION" or not row.get("usageDetails"):
            assert record["usage_status"] == "none"
        else:
            _check_usage(record, row["usageDetails"])
    rules = {violation.rule for violation in batch.violations}
    assert rules <= {"total_mismatch", "overlap", "two_input_buckets", "usage_object_differs",
                     "cached_above_input"}  # fmt: skip
    broken = {violation.record_id for violation in batch.violations}
    told = {r["observation_id"] for r in batch.observations if r["usage_status"] == "violation"}
    assert broken == told
    keys = {(row["traceId"], row["id"]) for row in one.rows}
    assert batch.tables(datetime.now(UTC))["observations"].num_rows == len(keys)


def _check_usage(record: dict[str, Any], usage: dict[str, Any]) -> None:
    """What holds of every row, whatever the contract."""
    cached = sum(usage[key] for key in CACHED if key in usage)
    if record["usage_status"] == "measured":
        assert record["cached_input"] is not None
        assert 0 <= record["cached_input"] <= record["total_input"]
        if any(key in usage for key in CACHED):
            assert record["cached_input"] == cached
        inputs = sum(
            v for k, v in usage.items() if k in PLAIN or ("input_" in k and k not in PLAIN)
        )
        assert record["total_input"] in (inputs, *(usage.get(key) for key in PLAIN))
    else:
        assert record["cached_input"] is None
    if record["usage_status"] == "unknown":
        assert record["usage_reason"] is not None
    if not any(key in usage for key in PLAIN):
        assert record["usage_status"] == "unknown"


@pytest.mark.parametrize("one", SCORES, ids=name_of)
def test_every_recorded_score_is_a_record(one: Recording) -> None:
    """One record a score, free texts and corrections left out, values as the JSON says."""
    batch = batch_of(one)
    kept = [row for row in one.rows if row["dataType"] not in ("TEXT", "CORRECTION")]
    assert len(batch.scores) == len(kept)
    for record, row in zip(batch.scores, kept, strict=True):
        assert record["score_id"] == row["id"]
        if row["dataType"] == "CATEGORICAL":
            label = row.get("stringValue", row["value"])
            assert (record["label"], record["value"]) == (label, None)
        else:
            assert (record["value"], record["label"]) == (float(row["value"]), None)
        about = row.get("subject")
        if about is not None:
            assert record["level"] == (about["kind"] if about["kind"] != "experiment" else "other")
        elif "traceId" in row:
            level = (
                "observation"
                if row.get("observationId")
                else "trace"
                if row["traceId"]
                else "session"
                if row.get("sessionId")
                else "other"
            )
            assert record["level"] == level
        assert record["status"] == "ok"
        assert record["scored_at"] == _instant(row["timestamp"])
    assert batch.violations == []


CONTRACTS: dict[str, tuple[str, int | None, int | None]] = {
    # name of the row: status, total input, cached
    "contract-known-model": ("measured", 1200, 1024),
    "contract-none_usage": ("none", None, None),
    "contract-floats": ("unknown", 176, None),  # the server dropped 1024.5
    "contract-litellm_style": ("measured", 1200, 1024),
    "contract-anthropic_raw": ("measured", 50 + 600 + 550, 550),
    "contract-cache_write": ("measured", 50 + 1150, 0),
    "contract-zero_cached": ("measured", 1200, 0),
    "contract-missing_cached": ("unknown", 1200, None),
    "contract-flat_inclusive_no_total": ("measured", 2224, 1024),  # looks exclusive by its total
    "contract-flat_inclusive_total": ("violation", None, None),  # 1200 + 80 = 1280: an overlap
    "contract-flat_exclusive_no_total": ("measured", 1200, 1024),
    "contract-flat_exclusive": ("measured", 1200, 1024),
    "contract-openai_responses": ("measured", 60 + 640, 640),
    "contract-openai_no_total": ("unknown", 900, None),
    "contract-openai_extra_key": ("unknown", 900, None),
    "contract-openai_details_null": ("unknown", 900, None),
    "contract-openai_style_audio": ("measured", 160 + 1024 + 16, 1024),
    "contract-openai_style": ("measured", 1200, 1024),
    "long-metadata": ("unknown", 1200, None),
    "contracts": ("none", None, None),
}


@pytest.mark.parametrize("mode", ["dual", "events_only"])
def test_contracts_of_the_sdk_by_hand(mode: str) -> None:
    """The usage contracts that were sent, worked out by hand from what the server stored."""
    batch = batch_of(recorded(f"{mode}/v2_observations_contracts_trace"))
    told = {
        r["name"]: (r["usage_status"], r["total_input"], r["cached_input"])
        for r in batch.observations
    }
    assert told == CONTRACTS
    assert [(one.rule, one.raw_value) for one in batch.violations] == [("overlap", "1200")]


@pytest.mark.parametrize(
    ("path", "cached", "total"), [("classic", 49_952, 60_148), ("otel", 41_056, 49_533)]
)
def test_a_gateways_measured_tokens_add_up(path: str, cached: int, total: int) -> None:
    """Rows with a measured count sum to what the engines' own answers sum to."""
    (one,) = [file for file in GATEWAY if file.file.stem == f"{path}_observations_v2_expanded"]
    measured = [r for r in batch_of(one).observations if r["usage_status"] == "measured"]
    assert sum(r["cached_input"] for r in measured) == cached
    assert sum(r["total_input"] for r in measured) == total


def test_one_recorded_id_with_three_starts_is_one_record() -> None:
    """The span that was delivered with three starts: one row that knows its first and last."""
    one = recorded("events_only/v2_same_id_other_start")
    table = batch_of(one).tables(datetime.now(UTC))["observations"].to_pylist()
    (record,) = table
    newest = max(one.rows, key=lambda row: row["updatedAt"])
    starts = [_instant(row["startTime"]) for row in one.rows]
    assert len(starts) == 3
    assert record["start_at"] == _instant(newest["startTime"])
    assert (record["first_start_at"], record["last_start_at"]) == (min(starts), max(starts))


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
