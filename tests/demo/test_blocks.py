"""What the simulated engines export about KV blocks, ended requests and cache resets."""

import numpy as np
import pytest

from core.config import Settings
from core.demo import demo_source
from core.demo.fleet import CANARY_RESET, CANARY_TRAFFIC, CYCLE_S, FLEET, KV_PRESSURE, RESTART
from core.domain.records import RawSeries
from core.sources.prometheus import PrometheusSource
from tests.demo.reading import EPOCH, NOW

IDLE = "vllm:kv_block_idle_before_evict_seconds"
LIFETIME = "vllm:kv_block_lifetime_seconds"
GAP = "vllm:kv_block_reuse_gap_seconds"
CANARY = "qwen3-32b-3"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> PrometheusSource:
    settings = Settings(prometheus_url=None, data_dir=tmp_path_factory.mktemp("home"), demo_seed=7)
    return demo_source(settings, clock=lambda: NOW)


def series(source: PrometheusSource, name: str, **labels: str) -> list[RawSeries]:
    return source.raw_samples([name], EPOCH, int(NOW), matchers=labels)


def during(one: RawSeries, start_s: float, end_s: float) -> float:
    """Increase between two offsets of the first cycle."""
    inside = (one.times >= EPOCH + start_s) & (one.times < EPOCH + end_s)
    return float(np.ptp(one.values[inside]))


def test_block_histograms_are_whole(source: PrometheusSource) -> None:
    """Buckets rise with their edge and end at the count; three gaps a block at most."""
    for family in (IDLE, LIFETIME, GAP):
        buckets = series(source, f"{family}_bucket", pod="qwen3-32b-0")
        (count,) = series(source, f"{family}_count", pod="qwen3-32b-0")
        stacked = np.array([one.values for one in buckets])
        assert [one.labels["le"] for one in buckets][-2:] == ["1800.0", "+Inf"]
        assert (np.diff(stacked, axis=0) >= 0).all()
        assert (stacked[-1] == count.values).all()
    gaps, evicted, lived, idle = (
        series(source, name)
        for name in (f"{GAP}_count", f"{IDLE}_count", f"{LIFETIME}_sum", f"{IDLE}_sum")
    )
    assert all((g.values <= 3 * e.values).all() for g, e in zip(gaps, evicted, strict=True))
    assert all((a.values >= b.values).all() for a, b in zip(lived, idle, strict=True))


def test_pressure_shortens_idle_time(source: PrometheusSource) -> None:
    """Under KV pressure more blocks are evicted, and after a shorter time."""
    (n,) = series(source, f"{IDLE}_count", pod="qwen3-32b-2")
    (total,) = series(source, f"{IDLE}_sum", pod="qwen3-32b-2")
    begin, length = KV_PRESSURE.start_s, KV_PRESSURE.length_s
    pressed, usual = (
        (during(n, at, at + length), during(total, at, at + length) / during(n, at, at + length))
        for at in (begin, begin - length)
    )
    assert pressed[0] > 1.2 * usual[0]
    assert pressed[1] < usual[1] / 5


def test_the_canary_evicts_nothing_before_its_cache_is_full(source: PrometheusSource) -> None:
    """It is asked to reset, takes traffic, and reports blocks only some minutes later."""
    (n,) = series(source, f"{IDLE}_count", pod=CANARY)
    start = CANARY_TRAFFIC.start_s
    assert during(n, 0, start + 240) == 0
    assert during(n, start, CYCLE_S) > 50
    (resets,) = series(source, "http_requests_total")
    assert resets.labels["handler"] == "/reset_prefix_cache"
    assert resets.labels["pod"] == CANARY
    assert "engine" not in resets.labels
    assert 0 <= resets.times[0] - EPOCH - CANARY_RESET.start_s < 15
    assert sorted(set(resets.values)) == [1, 2]


def test_requests_that_ended_hold_part_of_the_tokens(source: PrometheusSource) -> None:
    """Ended requests are fewer than begun ones, and their computed tokens fit their prompts."""
    prompt, ended, computed, generated = (
        series(source, name)
        for name in (
            "vllm:prompt_tokens_total",
            "vllm:request_prompt_tokens_sum",
            "vllm:request_prefill_kv_computed_tokens_sum",
            "vllm:generation_tokens_total",
        )
    )
    assert len(prompt) == len(ended) == len(computed) == len(generated) == len(FLEET)
    cached = series(source, "vllm:prompt_tokens_cached_total")
    for begun, done, work, hits in zip(prompt, ended, computed, cached, strict=True):
        assert (done.values <= begun.values).all()
        assert (work.values <= done.values).all()
        share = 1 - work.values[-1] / done.values[-1]
        assert share == pytest.approx(hits.values[-1] / begun.values[-1], abs=0.02)
    assert all(one.values[-1] > 0 for one in generated)


def test_a_restart_begins_the_new_counters_anew_too(source: PrometheusSource) -> None:
    """Blocks, ended requests and generated tokens start at zero with the engine."""
    for name in (
        f"{IDLE}_count",
        "vllm:request_prompt_tokens_count",
        "vllm:generation_tokens_total",
    ):
        (one,) = series(source, name, pod="llama-4-scout-1")
        back = EPOCH + RESTART.start_s + RESTART.length_s
        at = int(np.searchsorted(one.times, back))
        assert one.values[at] < one.values[at - 1] / 10, name


def test_tiers_add_up_to_the_cached_tokens(source: PrometheusSource) -> None:
    """Device hits are the local ones; what a connector gives names no tier."""
    name = "vllm:prompt_tokens_cached_by_source_total"
    tiers = {one.labels["source"]: one for one in series(source, name, pod="llama-4-scout-0")}
    assert set(tiers) == {"device", "host", "disk", "p2p", "external_unspecified"}
    (local,) = series(source, "vllm:prefix_cache_hits_total", pod="llama-4-scout-0")
    (outside,) = series(source, "vllm:external_prefix_cache_hits_total", pod="llama-4-scout-0")
    assert (tiers["device"].values == local.values).all()
    assert (tiers["external_unspecified"].values == outside.values).all()
    assert not tiers["disk"].values.any()
