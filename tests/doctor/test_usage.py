"""The way of a cached count: each place where it is lost is told from the others."""

from typing import Any

import msgspec
import pytest

from core.doctor import Level
from core.doctor.sample import Details, read_sample
from core.domain.exporters import Exporters
from tests.doctor.fakes import Found, Langfuse, Prometheus, examined, row, settings_of

FOUR = ("usage_engine_flag", "usage_streams", "usage_gateway", "usage_present")


def found_in(*rows: dict[str, Any], **settings: Any) -> Found:
    made = Prometheus()
    made.engine("vllm-0")
    made.engine("vllm-1", first=70.0)
    return examined(made, Langfuse(*rows), settings=settings_of(**settings))


def wrong_of(found: Found) -> list[str]:
    return [key for key, _ in found.wrong]


def test_the_engine_without_the_flag_is_named() -> None:
    """Only the engine whose usage has no details is named, by pod and address."""
    found = found_in(row(), row(address="vllm-1:8000", cached=None), row(stream=True))
    assert [key for key in wrong_of(found) if key in FOUR] == ["usage_engine_flag"]
    found.says(
        "usage_engine_flag",
        "Start vLLM at vllm-1 (vllm-1:8000) with --enable-prompt-tokens-details",
        "vllm-0 (vllm-0:8000) report it",
    )


def test_no_engine_with_the_flag_is_an_error() -> None:
    """Where no engine reports the count, no request has one."""
    found = found_in(row(cached=None), row(address="vllm-1:8000", cached=None))
    assert found.level("usage_engine_flag") is Level.ERROR
    found.says("usage_engine_flag", "vllm-0", "vllm-1")
    assert found.level("usage_gateway") is Level.UNKNOWN


def test_an_engine_restarted_with_the_flag_is_in_order() -> None:
    """The newest request of an engine says how it runs now."""
    found = found_in(row(age=10), row(age=600, cached=None))
    assert found.level("usage_engine_flag") is Level.OK
    found = found_in(row(age=600), row(age=10, cached=None))
    assert found.level("usage_engine_flag") is Level.ERROR


def test_the_address_alone_is_named_without_prometheus() -> None:
    """Requests alone are enough to name the address."""
    found = examined(langfuse=Langfuse(row(cached=None)))
    found.says("usage_engine_flag", "Start vLLM at vllm-0:8000 with")


def test_rows_that_name_no_engine_say_how_many() -> None:
    """Some of the rows lack details and no row says whose: all engines are to be looked at."""
    rows = [row(address=None, cached=None), row(address=None), row(address=None, cached=None)]
    found = found_in(*rows)
    assert found.level("usage_engine_flag") is Level.WARNING
    found.says("usage_engine_flag", "2 of 3 rows without a place", "Start every vLLM")


def test_rows_without_the_engines_usage_cannot_tell() -> None:
    """Neither usage_object nor a cached count: the flag is unknown, not off."""
    bare = row(usageDetails={"input": 100, "output": 5, "total": 105})
    del bare["metadata"]["usage_object"]
    found = found_in(bare)
    assert found.level("usage_engine_flag") is Level.UNKNOWN
    found.says("usage_engine_flag", "--enable-prompt-tokens-details")


def test_an_estimate_of_the_gateway_is_no_report() -> None:
    """A cancelled stream carries the proxy's own count: it says nothing about an engine."""
    estimate = {"prompt_tokens": 100, "cache_read_input_tokens": 0}
    cancelled = row(metadata={"usage_object": estimate})
    assert found_in(cancelled).level("usage_engine_flag") is Level.UNKNOWN
    (read,) = read_sample([msgspec.Raw(msgspec.json.encode(cancelled))], Exporters(), {}).rows
    assert (read.details, read.answered) == (Details.ESTIMATE, False)


def test_streams_without_usage_name_option_and_flag() -> None:
    """A stream that ends without usage is told from one answer that has none."""
    found = found_in(row(), row(stream=True, usageDetails={}, metadata={"usage_object": {}}))
    assert found.level("usage_streams") is Level.WARNING
    found.says("usage_streams", "include_usage", "--enable-force-include-usage", "1 of 1 stream")
    assert found_in(row()).level("usage_streams") is Level.UNKNOWN
    assert found_in(row(stream=True)).level("usage_streams") is Level.OK


def test_a_count_the_gateway_drops_is_found() -> None:
    """The engine said 64 and usageDetails has no bucket for it."""
    lost = row(usageDetails={"input": 100, "output": 5, "total": 105})
    found = found_in(lost, row())
    assert found.level("usage_gateway") is Level.WARNING
    found.says("usage_gateway", "1 of 2 rows", "usage_object")
    assert found.level("usage_engine_flag") is Level.OK


def test_a_dropped_zero_is_no_loss() -> None:
    """A measured 0 without a bucket is settled by usage_object."""
    zero = row(cached=0, usageDetails={"input": 100, "output": 5, "total": 105})
    assert found_in(zero).level("usage_gateway") is Level.OK


def test_a_usage_object_that_was_cut_is_found() -> None:
    """Cut JSON is a text: a zero cannot be told from an unknown count there."""
    cut = '{"completion_tokens": 5, "prompt_tokens": 100, "prompt_tok'
    found = found_in(row(metadata={"usage_object": cut}))
    assert found.level("usage_gateway") is Level.WARNING
    found.says("usage_gateway", "cut", "Use Langfuse 4")


def test_no_cached_count_anywhere_is_an_error() -> None:
    """Token counts, and none of them cached: the sender does not pass it on."""
    bare = row(usageDetails={"input": 100, "output": 5, "total": 105})
    del bare["metadata"]["usage_object"]
    found = found_in(bare)
    assert found.level("usage_gateway") is Level.ERROR
    assert found.level("usage_present") is Level.OK


@pytest.mark.parametrize(
    ("without", "level"), [(0, Level.OK), (1, Level.OK), (10, Level.WARNING), (40, Level.ERROR)]
)
def test_requests_without_token_counts(without: int, level: Level) -> None:
    """A few are let be, more are a warning, all of them are an error; shares by sender."""
    none = [row(usageDetails={}, metadata={"usage_object": {}}) for _ in range(without)]
    found = found_in(*none, *(row() for _ in range(40 - without)))
    assert found.level("usage_present") is level
    found.says("usage_present", f"litellm/m {40 - without} of 40")


def test_failed_requests_are_not_missed_usage() -> None:
    """An error has no usage, and nothing is wrong with that."""
    failed = row(level="ERROR", usageDetails={}, metadata={"usage_object": {}})
    found = found_in(failed, row())
    assert found.level("usage_present") is Level.OK
    assert found_in(failed).level("usage_present") is Level.UNKNOWN


def test_zeros_that_may_mean_unknown() -> None:
    """LiteLLM writes 0 also for absent: without usage_object the row is counted out and named."""
    unproven = row(cached=0)
    del unproven["metadata"]["usage_object"]
    found = found_in(unproven, row())
    assert found.level("usage_zeros") is Level.WARNING
    found.says("usage_zeros", "1 of 2 rows", "usage_object", "PREFIXWATCH_EXPORTERS=", '"zero"')
    assert found_in(row(cached=0)).level("usage_zeros") is Level.OK


def nameless(scope: str | None) -> dict[str, Any]:
    made = row(usageDetails={"input": 36, "output": 5, "total": 41})
    made["metadata"] = {"my_gateway_id": "7"} | ({"scope.name": scope} if scope else {})
    return made


def test_an_unknown_sender_gives_the_setting_with_its_name() -> None:
    """The instrumentation scope, or a metadata key, is put into the setting."""
    found = found_in(nameless("my-gateway"))
    assert found.level("exporters") is Level.WARNING
    found.says("exporters", '"scope_name":"my-gateway"', "PREFIXWATCH_EXPORTERS")
    found_in(nameless(None)).says("exporters", '"marker":"my_gateway_id"', "unnamed 1")


def test_the_setting_it_gives_is_accepted() -> None:
    """Copied as printed, the setting is read and the sender has a profile."""
    own = [{"key": "mine", "scope_name": "my-gateway", "base": "opentelemetry"}]
    found = found_in(nameless("my-gateway"), exporters=own)
    assert found.level("exporters") is Level.OK
    found.says("exporters", "mine 1")


def test_broken_contracts_are_counted_by_rule() -> None:
    """Numbers that cannot be true are an error with the rule, one id and the value."""
    found = found_in(
        row(usageDetails={"input": 100, "cache_read_input_tokens": 64, "output": 5, "total": 105}),
        row(usageDetails={"input": -1, "output": 5, "total": 4}),
        row(),
    )
    assert found.level("usage_contract") is Level.ERROR
    found.says("usage_contract", "overlap 1", "not_a_count 1", '"contract":"inclusive"')
    assert found_in(row()).level("usage_contract") is Level.OK


def test_rows_that_cannot_be_read_are_violations() -> None:
    """A row of another shape is counted, and the others are looked at."""
    found = found_in({"id": 5, "type": "GENERATION", "startTime": row()["startTime"]}, row())
    found.says("usage_contract", "unreadable_row 1")
    assert found.level("usage_present") is Level.OK
