"""Who a request is: engine, session, turn, arm, task and model, or what to set."""

import json
import shlex
from typing import Any

import pytest

from core.doctor import Level
from tests.doctor.fakes import Found, Langfuse, Prometheus, examined, row, settings_of


def found_in(*rows: dict[str, Any], **settings: Any) -> Found:
    made = Prometheus()
    made.engine("vllm-0")
    made.engine("vllm-1", first=70.0)
    return examined(made, Langfuse(*rows), settings=settings_of(**settings))


def test_each_way_of_attribution_is_counted() -> None:
    """By address, by pod and by deployment are told apart."""
    found = found_in(
        row(),
        row(address=None, metadata={"pod": "vllm-1"}),
        row(address=None, metadata={"hidden_params": {"model_id": "vllm-0"}}),
    )
    assert found.level("attribution") is Level.OK
    found.says("attribution", "by address 1", "by pod 1", "by deployment 1")


def test_unmatched_addresses_give_the_setting() -> None:
    """Addresses that Prometheus does not scrape are in the setting, with the pod they look like."""
    found = found_in(
        row(), row(address="vllm-1.svc.local:9000"), row(address="10.9.9.9:8000"), row()
    )
    assert found.level("attribution") is Level.WARNING
    step = found.one("attribution").next_step
    assert step is not None
    name, value = next(w for w in shlex.split(step) if "=" in w).split("=", 1)
    assert name == "PREFIXWATCH_DEPLOYMENTS"
    assert json.loads(value) == {"vllm-1.svc.local:9000": "vllm-1", "10.9.9.9:8000": "<pod>"}


def test_the_setting_it_gives_attributes_them() -> None:
    """With the setting as printed, the requests belong to the pod."""
    strange = row(address="vllm-1.svc.local:9000")
    found = found_in(strange, deployments={"vllm-1.svc.local:9000": "vllm-1"})
    assert found.level("attribution") is Level.OK


def test_rows_without_any_place_say_what_to_send() -> None:
    """Nothing names the engine: the callback, the tag, and a key that looks like a pod."""
    found = found_in(row(address=None, metadata={"pod_name": "vllm-0"}))
    assert found.level("attribution") is Level.WARNING
    found.says("attribution", "callback `langfuse`", "PREFIXWATCH_KEYS__POD", "pod_name")


@pytest.mark.parametrize(
    ("named", "level"), [(0, Level.WARNING), (1, Level.WARNING), (3, Level.OK), (4, Level.OK)]
)
def test_sessions_are_looked_for(named: int, level: Level) -> None:
    """Fewer than half of the requests with a session is a warning."""
    rows = [row(session="s" if i < named else None) for i in range(4)]
    found = found_in(*rows)
    assert found.level("sessions") is level
    found.says("sessions", f"{named} of 4 requests")


def test_a_session_that_is_one_trace_is_found() -> None:
    """A session id without a trace id makes one turn of all: the trap of LiteLLM."""
    found = found_in(*(row(session="s", trace="same") for _ in range(3)))
    assert found.level("turns") is Level.WARNING
    found.says("turns", "trace_id", "PREFIXWATCH_KEYS__TURN_ID")
    assert found_in(row(), row()).level("turns") is Level.OK
    assert found_in(row()).level("turns") is Level.UNKNOWN


@pytest.mark.parametrize(
    ("field", "like"),
    [
        ("arm", "experiment_variant"),
        ("task_type", "use_case"),
        ("template_version", "prompt_version"),
    ],
)
def test_a_key_of_another_name_gives_the_setting(field: str, like: str) -> None:
    """A metadata key that looks like it is put into the setting; set, it is read."""
    made = row(metadata={like: "x"})
    del made["metadata"][field]
    found = found_in(made)
    assert found.level("request_keys", field) is Level.WARNING
    found.says("request_keys", f"PREFIXWATCH_KEYS__{field.upper()}={like}", subject=field)
    fixed = found_in(made, keys={field: like})
    assert fixed.level("request_keys", field) is Level.OK
    fixed.says("request_keys", "x 1", subject=field)


def test_a_key_nobody_writes_says_how_to_send_it() -> None:
    """Nothing looks like it: how clients send it, and which keys there are."""
    made = row(metadata={"shoe_size": "9"})
    del made["metadata"]["arm"]
    found = found_in(made)
    found.says("request_keys", "trace_metadata.arm", "shoe_size", subject="arm")
    assert "9" not in found.one("request_keys", "arm").detail


def test_models_that_no_engine_serves_are_named() -> None:
    """Names must be the same on both sides; refused requests for odd names do not count."""
    failed = row(model="nope", level="ERROR", usageDetails={})
    found = found_in(row(), row(model="hosted_vllm/alias"), failed)
    assert found.level("models") is Level.WARNING
    found.says("models", "alias (1 of 2 requests)", "engines serve m", "--served-model-name")
    assert found_in(row(), failed).level("models") is Level.OK


def test_the_meaning_of_a_start_is_said() -> None:
    """What latency and time to first token contain, by sender."""
    found = found_in(row(stream=True))
    assert found.level("stream_start") is Level.OK
    found.says("stream_start", "failed attempts and waits", "Streams in the sample: 1")
