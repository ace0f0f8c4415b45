"""Benchmark statistics reproduce every test vector of theirs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.domain.bench.comparison import over_runs, ratio_of_medians
from core.domain.bench.expectation import cold_starts, expected_hits, max_speedup
from core.domain.bench.plan import Dataset, Workload

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parent / "vectors.json").read_text())["vectors"]
    if vector["section"] == "10"
]


def expected_hit_tokens(asked: dict[str, Any]) -> dict[str, float]:
    prefix, length = asked["shared_prefix"], asked["prompt_len"]
    workload = Workload(Dataset.RANDOM, prefix, length - prefix, 1, asked["requests"])
    hits = expected_hits(
        workload,
        asked["concurrency"],
        block=asked["block"],
        engines=asked["engines"],
        prewarmed=asked["prewarmed"],
    )
    low, high = hits.ratio
    return {
        "prefix_block_tokens": hits.prefix_block_tokens,
        "hit_tokens_low": hits.tokens.low,
        "hit_tokens_high": hits.tokens.high,
        "hit_ratio_low": low,
        "hit_ratio_high": high,
    }


def max_ttft_speedup(asked: dict[str, Any]) -> dict[str, float]:
    length, cached, equal = asked["prompt_len"], asked["cached_prefix"], asked["equal_split_at_len"]
    return {
        "share": cached / length,
        "linear": max_speedup(length, cached),
        "quadratic_only": max_speedup(length, cached, linear=0.0, quadratic=1.0),
        f"mixed_equal_cost_at_{equal}": max_speedup(length, cached, quadratic=1 / equal),
        "with_fixed_overhead_5pct": max_speedup(length, cached, fixed=0.05 * length),
    }


def mean_prefill(asked: dict[str, Any]) -> dict[str, float | None]:
    return cold_starts(asked["requests"], asked["cold"], share=asked["share"])._asdict()


def medians(asked: dict[str, Any]) -> dict[str, float]:
    found = ratio_of_medians(asked["off"], asked["on"])
    assert found is not None
    return {
        "median_off": found.median_off,
        "median_on": found.median_on,
        "ratio_off_over_on": found.ratio,
    }


def run_level(asked: dict[str, Any]) -> dict[str, float]:
    found = over_runs(asked["ratios"], confidence=asked["confidence"])
    assert found is not None
    assert found.interval is not None
    return {"geo_mean": found.value, **found.interval._asdict()}


METHODS: dict[str, Callable[[dict[str, Any]], dict[str, float | None]]] = {
    "expected_hit_tokens": expected_hit_tokens,
    "max_ttft_speedup": max_ttft_speedup,
    "mean_prefill_with_cold_starts": mean_prefill,
    "ratio_of_medians": medians,
    "run_level_log_ratio_ci": run_level,
}


def test_no_method_is_without_a_vector() -> None:
    """Every method here is asked for by one of the vectors."""
    assert {vector["method"] for vector in VECTORS} == set(METHODS)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector: dict[str, Any]) -> None:
    """The expected values, all of them, within the vector's own tolerance."""
    found = METHODS[vector["method"]](vector["inputs"])
    assert found.keys() == vector["expected"].keys()
    for name, expected in vector["expected"].items():
        assert found[name] == pytest.approx(expected, abs=vector["tolerance"], rel=0), name
