"""Accounts of prompt tokens on recorded vLLM servers: plain sums, and what Prometheus says."""

import pytest
import requests

from core.domain.prefill import LOCAL, SOURCES
from core.domain.reading import Coverage
from core.domain.scope import Scope
from core.named_queries import render_promql
from core.views import cached_prefill
from core.views.cached_prefill import CachedPrefillView
from tests.collect.test_recording import (
    NOW,
    PROMPT,
    WINDOWS,
    Replay,
    prometheus_url,
    replay,
)

__all__ = ["prometheus_url", "replay"]

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("prometheus")]

BY_SOURCE = "vllm:prompt_tokens_by_source_total"
BY_TIER = "vllm:prompt_tokens_cached_by_source_total"
CACHED = "vllm:prompt_tokens_cached_total"
REQUEST_PROMPT = "vllm:request_prompt_tokens_sum"
REQUEST_COMPUTED = "vllm:request_prefill_kv_computed_tokens_sum"
PODS = ("vllm-0", "vllm-1", "vllm-bench-0", "vllm-bench-1")
NEW, OLD = "vllm-0", "vllm-1"
"""vLLM 0.32.0 and 0.26.0."""
BUSY = (1_796_039_700, 1_796_040_000)
"""Traffic on every minute, no restart."""


def page(replay: Replay, window: tuple[int, int], pod: str | None = None) -> CachedPrefillView:
    scope = Scope(pod=pod, start=window[0], end=window[1])
    return cached_prefill.build(replay.store, scope, NOW)


def parts(view: CachedPrefillView) -> dict[tuple[str, str], float | None]:
    return {(row.account.value, row.part): row.tokens.value for row in view.accounts}


def labels_of(pod: str | None, **more: str) -> dict[str, str]:
    return more if pod is None else {"pod": pod} | more


@pytest.mark.parametrize("pod", [None, *PODS])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_accounts_equal_plain_sums(
    replay: Replay, window: tuple[int, int], pod: str | None
) -> None:
    """Every part of every account is the increase differenced by hand."""
    found = parts(page(replay, window, pod))
    for source in SOURCES:
        plain = replay.increase(BY_SOURCE, *window, **labels_of(pod, source=source))
        assert found["source", source] == plain, source
    named = {
        ("tier", "cached"): CACHED,
        ("tier", "all"): PROMPT,
        ("request", "all"): REQUEST_PROMPT,
        ("request", "computed"): REQUEST_COMPUTED,
    }
    for part, name in named.items():
        assert found[part] == replay.increase(name, *window, **labels_of(pod)), part


@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_sources_sum_to_prompt_tokens(replay: Replay, window: tuple[int, int], pod: str) -> None:
    """On real servers of both versions the sources are all prompt tokens, restart or not."""
    view = page(replay, window, pod)
    found = parts(view)
    assert found["source", "all"] == found["tier", "all"]
    rows = {row.key: row.tokens.value for row in view.differences}
    expected = None if found["source", "all"] is None else 0
    assert (rows["source_prompt"], rows["source_cached"]) == (expected, expected)


def test_tiers_are_those_of_the_new_version_alone(replay: Replay) -> None:
    """0.32 names its tiers and they sum to its cached tokens; 0.26 has a word instead."""
    new, old = page(replay, WINDOWS["all"], NEW), page(replay, WINDOWS["all"], OLD)
    device = replay.increase(BY_TIER, *WINDOWS["all"], pod=NEW, source="device")
    assert device is not None
    assert device > 0
    assert parts(new)["tier", "device"] == device
    assert {row.key: row.tokens.value for row in new.differences}["tier_cached"] == 0
    assert [row.part for row in old.accounts if row.account == "tier"] == ["tiers", "cached", "all"]
    assert "not_exported" in {row.tokens.reason for row in old.accounts}


@pytest.mark.parametrize(("pod", "gone"), [(NEW, 6), (OLD, 0)])
def test_completed_requests_lack_those_that_never_completed(
    replay: Replay, pod: str, gone: int
) -> None:
    """The request sums fall short by requests that got a first token and left no histogram.

    Six on vllm-0, cut off by its stop or by their clients; none was counted as aborted. On
    vllm-1 every request completed, and the two accounts agree to the token.
    """
    window = WINDOWS["all"]
    started = replay.increase("vllm:time_to_first_token_seconds_count", *window, pod=pod)
    completed = replay.increase("vllm:request_prompt_tokens_count", *window, pod=pod)
    aborted = replay.increase(
        "vllm:request_success_total", *window, pod=pod, finished_reason="abort"
    )
    assert started is not None
    assert completed is not None
    assert (started - completed, aborted) == (gone, 0)
    rows = {row.key: row.tokens.value for row in page(replay, window, pod).differences}
    prompt = replay.increase(PROMPT, *window, pod=pod)
    in_requests = replay.increase(REQUEST_PROMPT, *window, pod=pod)
    assert prompt is not None
    assert in_requests is not None
    assert rows["request_prompt"] == in_requests - prompt
    assert (rows["request_prompt"] == 0) == (gone == 0)
    assert rows["request_prompt"] <= (rows["request_cached"] or 0) <= 0


def asked(url: str, name: str, window: tuple[int, int], pod: str) -> dict[str, float]:
    """Prometheus' own answer for a window, by its `source` label."""
    length = f"{window[1] - window[0]}s"
    query = render_promql(name, matchers={"pod": pod}, window=length)
    answer = requests.get(
        f"{url}/api/v1/query", params={"query": query, "time": str(window[1])}, timeout=30
    ).json()
    return {
        row["metric"].get("source", ""): float(row["value"][1]) for row in answer["data"]["result"]
    }


@pytest.mark.parametrize("pod", [NEW, OLD])
def test_prometheus_says_the_same(replay: Replay, pod: str) -> None:
    """What a reader pastes agrees with the page within Prometheus' extrapolation."""
    view = page(replay, BUSY, pod)
    found = parts(view)
    by_source = asked(replay.url, "prefill_tokens", BUSY, pod)
    pairs = {source: (by_source[source], found["source", source]) for source in SOURCES}
    for name, part in {
        "cached_prompt_tokens": ("tier", "cached"),
        "request_prompt_tokens": ("request", "all"),
        "request_computed_tokens": ("request", "computed"),
        "request_cached_tokens": ("request", "cached"),
    }.items():
        pairs[name] = (asked(replay.url, name, BUSY, pod)[""], found[part])
    for name in ("prefill_cached_share", "prefill_external_share"):
        pairs[name] = (asked(replay.url, name, BUSY, pod)[""], view.reading(name).value)
    assert by_source[LOCAL] > 10_000
    for name, (theirs, ours) in pairs.items():
        assert ours == pytest.approx(theirs, rel=0.01, abs=1e-6), name


@pytest.mark.parametrize("name", ["prompt_tokens_per_s", "generation_tokens_per_s"])
def test_rates_agree_where_no_scrape_is_missing(replay: Replay, name: str) -> None:
    """Ours is per observed second, Prometheus' per second of the window: the same without gaps."""
    reading = page(replay, BUSY, NEW).reading(name)
    assert isinstance(reading.coverage, Coverage)
    assert reading.coverage.share == pytest.approx(1, abs=0.01)
    assert reading.value == pytest.approx(asked(replay.url, name, BUSY, NEW)[""], rel=0.02)


def test_differences_and_tiers_can_be_pasted(replay: Replay) -> None:
    """The queries of differences and tiers give what the tables say, on the new version."""
    found = page(replay, BUSY, NEW)
    rows = {row.key: row.tokens.value for row in found.differences}
    theirs = asked(replay.url, "prefill_difference", BUSY, NEW)[""]
    assert theirs == pytest.approx(rows["request_prompt"], abs=0.01 * (rows_total(found)))
    tiers = asked(replay.url, "cached_by_tier", BUSY, NEW)
    assert tiers["device"] == pytest.approx(parts(found)["tier", "device"], rel=0.01)


def rows_total(view: CachedPrefillView) -> float:
    """All prompt tokens of a view, which extrapolation is a share of."""
    whole = parts(view)["source", "all"]
    assert whole is not None
    return whole
