"""Whose tokens are whose: contracts, names, zeros, and what stays unknown."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.domain.exporters import EXPORTERS, Contract, Exporter, Zero
from core.domain.usage import LARGEST_COUNT, Status, Usage, Why, normalise

SDK, LITELLM, OTEL = (EXPORTERS[k] for k in ("langfuse_sdk", "litellm", "litellm_otel"))
TWO = Exporter("own", Contract.TWO_BUCKETS, two_buckets=("uncached", "cached"))
INCLUSIVE = Exporter("own", Contract.INCLUSIVE)
NO_COUNTS = [True, False, 1.0, 0.5, "800", "", -5, 2**63, 2**200, [], [1], {}, {"x": 1}, "nan"]


def rules(usage: Usage) -> set[tuple[str, str]]:
    """What was broken, without the order."""
    return {(one.rule, one.field) for one in usage.broken}


def share(rows: list[dict[str, Any]], exporter: Exporter = SDK) -> tuple[Fraction, int]:
    """Cached share of the measured rows, and how many these are."""
    found = [normalise(row, exporter) for row in rows]
    pairs = [(u.cached_input, u.total_input) for u in found if u.status is Status.MEASURED]
    cached = sum(c for c, _ in pairs if c is not None)
    return Fraction(cached, sum(t for _, t in pairs if t is not None)), len(pairs)


# Two declared buckets.


def test_cached_beside_uncached_is_a_share_of_both() -> None:
    """800 cached beside 200 uncached are 0.8 of 1000, never 800 of 200."""
    usage = normalise({"uncached": 200, "cached": 800}, TWO)
    assert (usage.status, usage.cached_input, usage.total_input) == ("measured", 800, 1000)
    assert usage.contract is Contract.TWO_BUCKETS


@pytest.mark.parametrize("other", [800, None, True, "800", -5, 1.5])
@pytest.mark.parametrize("missing", [{}, None])
@pytest.mark.parametrize("key", ["uncached", "cached"])
def test_half_a_pair_is_unknown_before_any_look_at_types(
    key: str, missing: object, other: object
) -> None:
    """One bucket of two absent or null: unknown, whatever the other one is."""
    pair: dict[str, object] = {"uncached": other, "cached": other, "output": 3}
    if missing is None:
        pair[key] = None
    else:
        del pair[key]
    usage = normalise(pair, TWO)
    assert (usage.status, usage.why, usage.broken) == ("unknown", "not_reported", ())


def test_two_zeros_are_no_ratio() -> None:
    """Nothing of nothing is unknown, not 0."""
    usage = normalise({"uncached": 0, "cached": 0}, TWO)
    assert (usage.status, usage.why, usage.cached_input) == ("unknown", "empty_input", None)


@pytest.mark.parametrize("value", NO_COUNTS)
@pytest.mark.parametrize("key", ["uncached", "cached"])
def test_a_declared_bucket_that_is_no_count_breaks_the_contract(key: str, value: object) -> None:
    """Booleans, floats, texts, negatives, giants and objects are named, not repaired."""
    usage = normalise({"uncached": 200, "cached": 800} | {key: value}, TWO)
    assert (usage.status, usage.cached_input) == ("violation", None)
    assert rules(usage) == {("not_a_count", key)}
    assert usage.broken[0].raw is value


def test_a_pair_whose_zero_proves_nothing_stays_unknown() -> None:
    """An own exporter that writes 0 for absent has no measured zero, in two buckets either."""
    unproven = Exporter("own", Contract.TWO_BUCKETS, Zero.UNPROVEN, ("uncached", "cached"))
    assert normalise({"uncached": 9, "cached": 0}, unproven).why is Why.ZERO_UNPROVEN
    assert normalise({"uncached": 9, "cached": 1}, unproven).cached_input == 1


# Absent, null and zero.


def test_coverage_counts_only_reported_requests() -> None:
    """Cached 0, null and absent of 1000 tokens each: share 0 over one request of three."""
    rows = [
        {"input": 1000, "input_cached_tokens": 0},
        {"input": 1000, "input_cached_tokens": None},
        {"input": 1000},
    ]
    assert share(rows) == (0, 1)
    assert [normalise(row, SDK).total_input for row in rows] == [1000, 1000, 1000]


@pytest.mark.parametrize("raw", [{}, {"input": None}, {"input": None, "total": None}])
def test_no_usage_is_told_from_unknown_usage(raw: dict[str, Any]) -> None:
    """Nothing at all is none; usage without an input bucket is unknown."""
    assert (normalise(raw, SDK).status, normalise(raw, SDK).why) == ("none", "no_usage")
    assert normalise({"output": 5, "total": 5}, SDK).why is Why.NO_INPUT


def test_an_empty_prompt_has_no_ratio() -> None:
    """0 cached of 0 input is unknown, also when the usage object tells the zero."""
    assert normalise({"input": 0, "input_cached_tokens": 0}, SDK).why is Why.EMPTY_INPUT
    told = {"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    usage = normalise({"input": 0, "output": 0, "total": 0}, OTEL, usage_object=told)
    assert (usage.status, usage.why) == ("unknown", "empty_input")


# Which contract.


@pytest.mark.parametrize("cached", ["input_cached_tokens", "cache_read_input_tokens"])
def test_overlapping_buckets_break_the_exclusive_contract(cached: str) -> None:
    """input + output = total beside a cached bucket: no ratio, unless declared inclusive."""
    row = {"input": 117231, cached: 115584, "output": 225, "total": 117456}
    usage = normalise(row, SDK)
    assert (usage.status, usage.cached_input, usage.total_input) == ("violation", None, None)
    assert rules(usage) == {("overlap", "input")}
    declared = normalise(row, INCLUSIVE)
    assert (declared.status, declared.total_input) == ("measured", 117231)
    assert (declared.cached_input, declared.contract) == (115584, "inclusive")


def test_cache_writes_are_input() -> None:
    """A turn that writes the cache and one that reads it: 2000 of 4020."""
    rows = [
        {"input": 10, "input_cache_creation": 2000, "input_cached_tokens": 0},
        {"input": 10, "input_cache_creation": 0, "input_cached_tokens": 2000},
    ]
    assert share(rows) == (Fraction(2000, 4020), 2)
    anthropic = [
        {"input_tokens": 10, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 0},
        {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2000},
    ]
    assert share(anthropic) == (Fraction(2000, 4020), 2)


def test_a_share_is_of_sums() -> None:
    """900 of 1000 and 0 of 10: 0.89109, where the mean of ratios would say 0.45."""
    rows = [{"input": 100, "input_cached_tokens": 900}, {"input": 10, "input_cached_tokens": 0}]
    assert round(float(share(rows)[0]), 5) == 0.89109


@pytest.mark.parametrize("value", NO_COUNTS)
@pytest.mark.parametrize("key", ["input", "input_cached_tokens", "output", "total", "input_image"])
@pytest.mark.parametrize("exporter", [*EXPORTERS.values(), INCLUSIVE], ids=lambda e: e.key)
def test_a_bucket_that_is_no_count_breaks_the_contract(
    exporter: Exporter, key: str, value: object
) -> None:
    """For every exporter and bucket: listed with the field and the value as it came."""
    row = {"input": 1000, "input_cached_tokens": 800, "output": 10} | {key: value}
    usage = normalise(row, exporter)
    assert (usage.status, usage.cached_input, usage.total_input) == ("violation", None, None)
    if key != "input_image" or not isinstance(value, dict):
        assert ("not_a_count", key) in rules(usage)


def test_more_cached_than_input_is_no_ratio() -> None:
    """Cached above the total input of an inclusive row breaks the contract."""
    usage = normalise({"prompt_tokens": 100, "cached_tokens": 101}, SDK)
    assert rules(usage) == {("cached_above_input", "cached_tokens")}
    assert usage.cached_input is None


def test_the_largest_count_is_a_count() -> None:
    """A number that no request can have is no count; one below fits every column."""
    assert normalise({"input": LARGEST_COUNT}, SDK).total_input == LARGEST_COUNT
    assert normalise({"input": LARGEST_COUNT + 1}, SDK).status is Status.VIOLATION


@pytest.mark.parametrize(
    ("row", "total", "cached", "write", "other", "output"),
    [
        ({"input": 176, "input_cached_tokens": 1024, "output": 80, "total": 1280},
         1200, 1024, None, None, 80),
        ({"input": 176, "input_cache_read": 1024, "output": 80, "total": 1280},
         1200, 1024, None, None, 80),
        ({"input": 160, "input_cached_tokens": 1024, "input_audio_tokens": 16, "output": 48,
          "output_reasoning_tokens": 32, "total": 1280}, 1200, 1024, None, 16, 80),
        ({"input": 50, "input_cache_creation_5m": 100, "input_cache_creation_1h": 50,
          "input_cache_read": 1000, "output": 80, "total": 1280}, 1200, 1000, 150, None, 80),
        ({"input_tokens": 50, "cache_creation_input_tokens": 600, "cache_read_input_tokens": 550,
          "output_tokens": 80, "total": 1280}, 1200, 550, 600, None, 80),
        ({"input": 50, "input_cache_write": 150, "input_cached_tokens": 1000, "output": 80},
         1200, 1000, 150, None, 80),
        ({"input": 4, "input_image_tokens": 3, "input_cached_tokens": 2}, 9, 2, None, 3, None),
    ],
)  # fmt: skip
def test_every_exclusive_bucket_counts_once(
    row: dict[str, Any], total: int, cached: int, write: int, other: int, output: int
) -> None:
    """Total input is the sum of plain, cached, written and other input buckets."""
    usage = normalise(row, SDK)
    assert (usage.status, usage.contract) == ("measured", "exclusive")
    assert (usage.total_input, usage.cached_input) == (total, cached)
    assert (usage.cache_write_input, usage.other_input, usage.output) == (write, other, output)


@pytest.mark.parametrize(
    "row",
    [
        {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280,
         "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 9}},
        {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280, "total": 3584,
         "prompt_tokens_details.cached_tokens": 1024},
        {"input_tokens": 1200, "output_tokens": 80, "total_tokens": 1280,
         "input_tokens_details": {"cached_tokens": 1024},
         "output_tokens_details": {"reasoning_tokens": 32}},
        {"prompt_tokens": 1200, "completion_tokens": 80, "cached_tokens": 1024},
    ],
)  # fmt: skip
def test_openai_names_are_inclusive_by_themselves(row: dict[str, Any]) -> None:
    """Cached tokens in OpenAI's details lie inside the prompt, reasoning inside the output."""
    usage = normalise(row, SDK)
    assert (usage.status, usage.contract) == ("measured", "inclusive")
    assert (usage.total_input, usage.cached_input, usage.output) == (1200, 1024, 80)


@pytest.mark.parametrize(
    "row",
    [
        {"input": 1200, "input_cached_tokens": 1024, "output": 80, "total": 2304},
        {"prompt_tokens": 1200, "cached_tokens": 1024, "completion_tokens": 80, "total": 2304},
        {"prompt_tokens_details.cached_tokens": 1024, "input": 1200, "output": 80, "total": 2304},
        {"input": 1200, "input_cached_tokens": 1024, "input_audio_tokens": 16, "output": 80,
         "output_reasoning_tokens": 5, "total": 2325},
    ],
)  # fmt: skip
def test_a_total_the_server_counted_double_is_known_of_declared_exporters_only(
    row: dict[str, Any],
) -> None:
    """Declared inclusive: the input is the input. Else a sum of parts is never 1200."""
    declared = normalise(row, INCLUSIVE)
    assert (declared.status, declared.total_input, declared.output) == ("measured", 1200, 80)
    assert normalise(row, SDK).total_input != 1200


def test_a_total_that_fits_nothing_breaks_the_contract() -> None:
    """No contract explains this total, so none is taken."""
    for exporter in (SDK, INCLUSIVE, LITELLM):
        usage = normalise({"input": 10, "input_cached_tokens": 5, "total": 99}, exporter)
        assert rules(usage) == {("total_mismatch", "total")}


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({"input": 10, "prompt_tokens": 10, "input_cached_tokens": 1}, "two_input_buckets"),
        ({"input": 176, "input_cached_tokens": 1024, "cache_read_input_tokens": 1024,
          "output": 80, "total": 2304}, "two_cached_buckets"),
        ({"input": 9, "input_cached_tokens": 0, "input_cache_read": 5}, "two_cached_buckets"),
        ({"prompt_tokens": 9, "cached_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
         "two_cached_buckets"),
        ({"input": 9, "input_cached_tokens": 1, "cache_creation_input_tokens": 3,
          "input_cache_creation": 3}, "two_cache_write_buckets"),
        ({"input": 9, "input_cached_tokens": 1, "output": 4, "completion_tokens": 4},
         "two_output_buckets"),
        ({"input": 9, "prompt_tokens_details.cached_tokens": 4,
          "prompt_tokens_details": {"cached_tokens": 3}}, "named_twice"),
    ],
)  # fmt: skip
def test_two_names_of_one_bucket_are_never_added(row: dict[str, Any], rule: str) -> None:
    """Nobody knows whether two names mean the same tokens, and a server's total proves nothing."""
    usage = normalise(row, SDK)
    assert usage.status is Status.VIOLATION
    assert rule in {one.rule for one in usage.broken}


# What settles a zero.

CLASSIC = {
    "input": 488,
    "output": 12,
    "total": 500,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
OTEL_ROW = {"input": 488, "output": 12, "total": 500}


def raw_object(cached: object, **more: object) -> dict[str, Any]:
    """A provider's usage as LiteLLM passes it on."""
    details = None if cached is None else {"cached_tokens": cached}
    return {"prompt_tokens": 488, "completion_tokens": 12, "prompt_tokens_details": details} | more


@pytest.mark.parametrize(
    ("row", "exporter", "told", "status", "why", "cached"),
    [
        (CLASSIC, LITELLM, raw_object(0), "measured", None, 0),
        (CLASSIC, LITELLM, raw_object(None), "unknown", "not_reported", None),
        (CLASSIC, LITELLM, None, "unknown", "zero_unproven", None),
        (CLASSIC, LITELLM, {}, "unknown", "zero_unproven", None),
        (CLASSIC, LITELLM, '{"prompt_tokens": 488, "comp', "unknown", "zero_unproven", None),
        (CLASSIC, LITELLM, "{'prompt_tokens': 488, 'comp", "unknown", "zero_unproven", None),
        (CLASSIC, LITELLM, [1], "unknown", "zero_unproven", None),
        (CLASSIC | {"input": 88, "cache_read_input_tokens": 400}, LITELLM, None,
         "measured", None, 400),
        (CLASSIC | {"input": 88, "cache_read_input_tokens": 400}, LITELLM, raw_object(400),
         "measured", None, 400),
        (OTEL_ROW, OTEL, None, "unknown", "not_reported", None),
        (OTEL_ROW, OTEL, raw_object(None), "unknown", "not_reported", None),
        (OTEL_ROW, OTEL, raw_object(0), "measured", None, 0),
        (OTEL_ROW, OTEL, raw_object(0, prompt_tokens=999), "unknown", "not_reported", None),
        (OTEL_ROW | {"input": 88, "input_cached_tokens": 400}, OTEL, None, "measured", None, 400),
        (CLASSIC, SDK, None, "measured", None, 0),
        (CLASSIC, EXPORTERS["opentelemetry"], None, "measured", None, 0),
        (CLASSIC, EXPORTERS["unnamed"], None, "measured", None, 0),
    ],
)  # fmt: skip
def test_each_exporters_zero_and_absence_mean_what_that_exporter_does(
    row: dict[str, Any],
    exporter: Exporter,
    told: object,
    status: str,
    why: str | None,
    cached: int | None,
) -> None:
    """LiteLLM's 0 needs the usage object; an absent key is a zero only where that says so."""
    usage = normalise(row, exporter, usage_object=told)
    assert (usage.status, usage.why, usage.cached_input) == (status, why, cached)
    assert usage.total_input == 488


@pytest.mark.parametrize("exporter", [LITELLM, OTEL, TWO, INCLUSIVE], ids=lambda e: e.key)
@pytest.mark.parametrize("own", [0, None, "0"])
def test_a_proxys_own_count_is_no_usage(exporter: Exporter, own: object) -> None:
    """An estimate is unknown, whatever it says of cached tokens."""
    told = raw_object(0, cache_read_input_tokens=own, cache_creation_input_tokens=0)
    usage = normalise(CLASSIC | {"uncached": 1, "cached": 1}, exporter, usage_object=told)
    assert (usage.status, usage.why, usage.cached_input) == ("unknown", "estimate", None)


def test_hits_in_a_usage_object_are_no_estimate() -> None:
    """A proxy that counts by itself knows of no hits: a number of them is the provider's."""
    row = CLASSIC | {"input": 88, "cache_read_input_tokens": 400}
    told = raw_object(400, cache_read_input_tokens=400)
    assert normalise(row, LITELLM, usage_object=told).cached_input == 400


@pytest.mark.parametrize(
    ("told", "field"),
    [
        (raw_object(7), "cached_tokens"),
        (raw_object(400, prompt_tokens=9), "prompt_tokens"),
        (raw_object("400"), "usage_object.cached_tokens"),
        (raw_object(cached=True), "usage_object.cached_tokens"),
        (raw_object(-5), "usage_object.cached_tokens"),
        (raw_object(2**64), "usage_object.cached_tokens"),
        (raw_object(400, prompt_tokens=488.0), "usage_object.prompt_tokens"),
    ],
)
def test_a_usage_object_that_disagrees_is_named(told: dict[str, Any], field: str) -> None:
    """Two numbers for one thing: neither is taken."""
    row = CLASSIC | {"input": 88, "cache_read_input_tokens": 400}
    usage = normalise(row, LITELLM, usage_object=told)
    assert (usage.status, usage.cached_input) == ("violation", None)
    assert {one.field for one in usage.broken} == {field}


def test_many_keys_and_odd_ones_are_only_keys() -> None:
    """Ten thousand buckets add up, and empty, long or foreign names hold no input."""
    many = {f"input_part_{i}": 1 for i in range(10_000)}
    usage = normalise(many | {"input": 5, "input_cached_tokens": 5}, SDK)
    assert (usage.total_input, usage.other_input) == (10_010, 10_000)
    odd = {"": 3, "inputs": "x", "x" * 9999: 4, "cost": 0.1, "INPUT": True}
    assert normalise({"input": 1, "input_cached_tokens": 1} | odd, SDK).total_input == 2


# Properties.

NAMES = st.sampled_from([
    "input", "input_tokens", "prompt_tokens", "input_cached_tokens", "input_cache_read",
    "cache_read_input_tokens", "cached_tokens", "prompt_tokens_details.cached_tokens",
    "prompt_tokens_details", "input_tokens_details", "input_cache_creation", "cache_creation",
    "input_cache_creation_5m", "cache_creation_input_tokens", "input_audio_tokens", "output",
    "output_tokens", "completion_tokens", "output_reasoning_tokens", "total", "total_tokens",
    "uncached", "cached", "cost", "",
])  # fmt: skip
COUNTS = st.integers(0, 40) | st.sampled_from([0, 1, 100, 1000, LARGEST_COUNT])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
DETAILS = st.dictionaries(st.sampled_from(["cached_tokens", "audio_tokens"]), COUNTS)
ROWS = st.dictionaries(NAMES, COUNTS | COUNTS | st.none() | DETAILS, max_size=7)
ANY_ROWS = st.dictionaries(NAMES | st.text(max_size=9), COUNTS | JSON, max_size=8)
OBJECTS = st.one_of(
    st.none(),
    JSON,
    st.fixed_dictionaries(
        {"prompt_tokens": COUNTS | JSON},
        optional={
            "prompt_tokens_details": st.fixed_dictionaries({"cached_tokens": COUNTS | JSON}),
            "cache_read_input_tokens": COUNTS | JSON,
        },
    ),
)
SENDERS = st.sampled_from([
    *EXPORTERS.values(), TWO, INCLUSIVE, Exporter("own", Contract.INCLUSIVE, Zero.UNPROVEN)
])  # fmt: skip


def without_order(usage: Usage) -> tuple[object, ...]:
    """All but the order and the choice among broken rules' fields."""
    return (*usage[:-1], {one.rule for one in usage.broken})


def sums_of(row: dict[str, Any]) -> set[int]:
    """Every sum of some of the whole numbers of a row."""
    found = {0}
    flat = [
        v for value in row.values() for v in (value.values() if type(value) is dict else [value])
    ]
    for value in flat:
        if type(value) is int:
            found |= {value + other for other in found}
    return found


@given(ANY_ROWS, SENDERS, OBJECTS)
@example({"input": 0}, OTEL, {"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}})
@example({"input": 2**63, "input_cached_tokens": 1}, SDK, None)
@example({"input": float("nan"), "input_cached_tokens": 1}, SDK, None)
def test_any_json_gives_a_ratio_within_bounds_or_none(
    row: dict[str, Any], exporter: Exporter, told: object
) -> None:
    """No value raises; measured means 0 ≤ cached ≤ input and input > 0; else no cached count."""
    usage = normalise(row, exporter, usage_object=told)
    if usage.status is Status.MEASURED:
        assert usage.cached_input is not None
        assert usage.total_input is not None
        assert 0 <= usage.cached_input <= usage.total_input
        assert usage.total_input > 0
        assert (usage.why, usage.broken) == (None, ())
    else:
        assert usage.cached_input is None
        assert (usage.why is None) == bool(usage.broken) == (usage.status is Status.VIOLATION)


@given(ROWS, SENDERS, OBJECTS, st.randoms(use_true_random=False))
def test_the_order_of_keys_means_nothing(
    row: dict[str, Any], exporter: Exporter, told: object, random: Any
) -> None:
    """The same buckets in another order give the same usage."""
    pairs = list(row.items())
    random.shuffle(pairs)
    other = normalise(dict(pairs), exporter, usage_object=told)
    assert without_order(normalise(row, exporter, usage_object=told)) == without_order(other)


@given(ROWS, SENDERS, OBJECTS, st.sampled_from(["cost", "foo", "tool_calls", "x"]), JSON)
def test_an_unrelated_key_measures_nothing(
    row: dict[str, Any], exporter: Exporter, told: object, key: str, value: object
) -> None:
    """What was unknown stays unknown when a foreign key comes along."""
    before = normalise(row, exporter, usage_object=told)
    after = normalise(row | {key: value}, exporter, usage_object=told)
    if before.status is not Status.MEASURED and exporter.contract is not Contract.INCLUSIVE:
        assert after.status is not Status.MEASURED


@given(ROWS, SENDERS, OBJECTS)
def test_nothing_is_repaired(row: dict[str, Any], exporter: Exporter, told: object) -> None:
    """Every number that comes out went in, or is a sum of numbers that did."""
    usage = normalise(row, exporter, usage_object=told)
    known = sums_of(row)
    for number in (usage.total_input, usage.output, usage.cache_write_input, usage.total):
        assert number is None or number in known
    if usage.cached_input is not None:
        details = told.get("prompt_tokens_details") if isinstance(told, dict) else None
        settled = details.get("cached_tokens") if isinstance(details, dict) else None
        assert usage.cached_input in known or usage.cached_input == settled
