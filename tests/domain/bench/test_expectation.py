"""What a workload must give, before it is measured."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bench.expectation import (
    ceilings,
    cold_starts,
    estimated_time_s,
    expected_hits,
    max_speedup,
    planned_input,
    planned_output,
)
from core.domain.bench.plan import Dataset, Workload
from core.domain.bench.presets import guide_pairs
from core.domain.bench.runs import runs_of
from tests.domain.bench.plans import SMALL

A, C, E = (pair.workload for pair in guide_pairs())


def test_the_pure_case_at_concurrency_8() -> None:
    """At best 29 of 30 requests hit 32,768 tokens, at worst the whole first wave misses."""
    hits = expected_hits(C, 8, block=16)
    assert hits.prompt_tokens == 1_013_760
    assert hits.tokens == (22 * 32768, 29 * 32768)
    assert hits.ratio == pytest.approx((0.71111, 0.93737), abs=5e-6)


def test_the_workload_case_at_concurrency_8() -> None:
    """Its best ratio is 0.4776 and its ceiling 1.977: nobody may hope for five times."""
    hits = expected_hits(E, 8, block=16)
    assert (hits.tokens.high, hits.prompt_tokens) == (928_000, 1_943_040)
    assert hits.ratio[1] == pytest.approx(0.47760, abs=5e-6)
    assert ceilings(E).linear == pytest.approx(64_768 / 32_768)
    assert ceilings(E).linear == pytest.approx(1.977, abs=5e-4)
    assert ceilings(E).quadratic < ceilings(E).linear


def test_nothing_shared_gives_no_hits_and_no_ceiling_above_one() -> None:
    """A/B: an interval of zero to zero."""
    assert expected_hits(A, 8, block=16).tokens == (0, 0)
    assert ceilings(A) == (1.0, 1.0)


def test_the_template_is_inside_the_planned_input_and_a_lost_prefix_is_not() -> None:
    """61,532 for 61,440 in 30 requests is the chat template; 983,040 for 1,943,040 is not."""
    small = Workload(Dataset.RANDOM, 0, 2048, 16, 30)
    planned = planned_input(small, template_tokens=3)
    assert planned.low == 61_440
    assert 61_532 in planned
    assert 61_439 not in planned
    assert planned.high + 1 not in planned
    assert planned_input(E, template_tokens=64).low == 1_943_040
    assert 983_040 not in planned_input(E, template_tokens=64)


def test_prefixes_count_apart() -> None:
    """Of 30 requests over 3 prefixes, 10 have each, and each misses once at least."""
    three = replace(C, prefixes=3)
    assert expected_hits(three, 2, block=16).tokens == (3 * 8 * 32768, 3 * 9 * 32768)


def test_engines_miss_apart() -> None:
    """Two engines of their own caches: two first misses at least, two waves at most."""
    assert expected_hits(C, 8, block=16, engines=2).tokens == (14 * 32768, 28 * 32768)


def test_a_prewarmed_cache_may_hit_from_the_first_request() -> None:
    """The upper limit has no first miss."""
    assert expected_hits(C, 8, block=16, prewarmed=True).tokens.high == 30 * 32768


def test_a_template_in_front_raises_the_upper_limit_only() -> None:
    """36 tokens of template before the prefix are shared too: two more blocks of 16."""
    plain, with_template = (
        expected_hits(C, 8, block=16, template_tokens=tokens).tokens for tokens in (0, 36)
    )
    assert with_template.low == plain.low
    assert with_template.high == 29 * (32768 + 32)


@given(
    st.sampled_from(Dataset),
    st.integers(0, 500),
    st.integers(1, 500),
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(1, 16),
    st.sampled_from([16, 32, 128]),
    st.integers(1, 3),
)
def test_expected_hits_are_possible(
    dataset: Dataset,
    prefix: int,
    suffix: int,
    prompts: int,
    prefixes: int,
    concurrency: int,
    block: int,
    engines: int,
) -> None:
    """An interval within the prompt tokens, of whole blocks, that widens with concurrency."""
    workload = Workload(dataset, prefix, suffix, 1, prompts, prefixes)
    hits = expected_hits(workload, concurrency, block=block, engines=engines)
    assert 0 <= hits.tokens.low <= hits.tokens.high
    assert hits.tokens.high < hits.prompt_tokens or hits.prompt_tokens == hits.tokens.high == 0
    assert hits.tokens.low % block == hits.tokens.high % block == 0
    wider = expected_hits(workload, concurrency + 1, block=block, engines=engines)
    assert wider.tokens.low <= hits.tokens.low
    assert wider.tokens.high == hits.tokens.high


@given(st.integers(2, 10**6), st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.floats(0, 1))
def test_the_linear_ceiling_is_the_highest(n: int, share: float, a: float, b: float) -> None:
    """Attention of the rest to the prefix and fixed work only lower it; it is 1 at least."""
    cached = int(n * share)
    linear = max_speedup(n, cached)
    assert linear >= 1
    if a + b > 1e-3:
        mixed = max_speedup(n, cached, linear=a, quadratic=b / n, fixed=a * n)
        assert 1 <= mixed <= linear * (1 + 1e-9)


@pytest.mark.parametrize(("prompt", "cached"), [(10, 10), (10, -1), (0, 0)])
def test_a_prompt_that_is_all_cached_has_no_ceiling(prompt: int, cached: int) -> None:
    """At least one token is computed, so such a figure is refused."""
    with pytest.raises(ValueError, match="cached"):
        max_speedup(prompt, cached)


def test_work_without_weight_has_no_ceiling() -> None:
    """All weights zero, or one negative."""
    with pytest.raises(ValueError, match="weights"):
        max_speedup(10, 5, linear=0.0)
    with pytest.raises(ValueError, match="weights"):
        max_speedup(10, 5, fixed=-1.0)


def test_the_median_is_unknown_where_half_is_cold() -> None:
    """It does not see the cold requests while they are fewer than half; then it is no figure."""
    assert cold_starts(10, 4, share=0.5).median_speedup == 2.0
    assert cold_starts(10, 5, share=0.5).median_speedup is None
    with pytest.raises(ValueError, match="cold"):
        cold_starts(10, 11, share=0.5)


def test_time_is_estimated_from_a_given_figure_or_not_at_all() -> None:
    """No throughput, no estimate."""
    assert estimated_time_s(SMALL, tokens_per_s=None, start_s=60.0) is None
    assert estimated_time_s(SMALL, tokens_per_s=1e3, start_s=None) is None
    assert estimated_time_s(SMALL, tokens_per_s=0.0, start_s=60.0) is None
    tokens = 4 * 16 * (2048 + 2112 + 4048 + 3 * 16)
    assert planned_output(SMALL.pairs[0].workload) == 256
    assert len(runs_of(SMALL)) == 12
    assert estimated_time_s(SMALL, tokens_per_s=1e3, start_s=60.0) == tokens / 1e3 + 720
