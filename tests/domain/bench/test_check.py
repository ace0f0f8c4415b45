"""What a plan says of itself before its launch."""

from dataclasses import replace
from typing import Any

import pytest

from core.domain.bench.check import Finding, Known, Level, PlanCheck, Topic, check
from core.domain.bench.judge import Rule
from core.domain.bench.plan import Dataset, Pair, Plan, Serve, Target, Workload
from core.domain.bench.presets import guide_pairs
from core.errors import BenchPlanError
from tests.domain.bench.plans import GUIDE, SMALL, plan_of

GIVEN = replace(GUIDE, target=Target.GIVEN, off_url="http://a:1", on_url="http://b:1")


def found(plan: Plan, topic: Topic, **known: Any) -> list[Finding]:
    return [one for one in check(plan, Known(**known)).findings if one.topic is topic]


def levels(plan: Plan, topic: Topic, **known: Any) -> list[Level]:
    return [one.level for one in found(plan, topic, **known)]


def of(checked: PlanCheck, pair: str, concurrency: int) -> Any:
    (case,) = (c for c in checked.cases if (c.pair.name, c.concurrency) == (pair, concurrency))
    return case


def test_the_guides_plan_before_its_launch() -> None:
    """Runs, tokens, expected hits and ceilings of all cases."""
    checked = check(GUIDE, Known(match_unit=16))
    assert checked.can_start
    assert checked.runs == 24
    per_concurrency = 2 * 30 * (32_768 + 33_792 + 64_768)
    assert checked.input_tokens == 4 * per_concurrency
    assert checked.output_tokens == 24 * 30 * 256
    pure = of(checked, "C/D", 8)
    assert (pure.requests, pure.output_tokens) == (30, 7680)
    assert pure.hits.ratio == pytest.approx((0.71111, 0.93737), abs=5e-6)
    assert of(checked, "C/D", 1).hits.ratio == pytest.approx((0.93737, 0.93737), abs=5e-6)
    assert of(checked, "E/F", 8).ceilings.linear == pytest.approx(1.9766, abs=5e-5)
    assert checked.time_s is None


def test_the_small_plan_can_start_and_knows_its_blocks() -> None:
    """Its own arguments set the block, the model length holds all cases."""
    checked = check(SMALL, Known(tokens_per_s=1000.0, start_s=60.0))
    assert checked.can_start
    assert of(checked, "C/D", 4).hits.tokens == (12 * 2048, 15 * 2048)
    assert checked.time_s == pytest.approx(528.384 + 12 * 60)
    problems = [one.topic for one in checked.findings if one.level is not Level.NOTE]
    assert problems == [Topic.NO_SPEED_VERDICT]


def test_requests_really_sent_are_told() -> None:
    """8 prompts over 3 prefixes are 6; over 10 they are none, and nothing may start."""
    few = Workload(Dataset.PREFIX_REPETITION, 512, 64, 8, 8, prefixes=3)
    (finding,) = found(plan_of(Pair("C", "D", few)), Topic.FEWER_SENT)
    assert finding.level is Level.WARNING
    assert (finding.values["asked"], finding.values["sent"]) == (8, 6)
    none = plan_of(Pair("C", "D", replace(few, prefixes=10)))
    assert levels(none, Topic.NONE_SENT) == [Level.ERROR]
    assert not check(none, Known()).can_start
    assert check(none, Known(match_unit=16)).cases == ()


@pytest.mark.parametrize(
    ("length", "expected"), [(65_023, Level.ERROR), (65_024, Level.WARNING), (65_088, None)]
)
def test_prompts_must_fit_the_model(length: int, expected: Level | None) -> None:
    """Input, output and the template's tokens against the model's length."""
    pair = guide_pairs()[2]
    plan = plan_of(pair, serve=Serve(max_model_len=length))
    assert levels(plan, Topic.LONGER_THAN_MODEL) == ([expected] if expected else [])
    told = levels(plan_of(pair), Topic.LONGER_THAN_MODEL, model_len=length)
    assert told == ([expected] if expected else [])


def test_an_unknown_model_length_is_said() -> None:
    """As is an unknown block; then there is no expectation rather than a wrong one."""
    assert len(found(GUIDE, Topic.MODEL_LENGTH_UNKNOWN)) == 3
    assert len(found(GUIDE, Topic.MATCH_UNIT_UNKNOWN)) == 1
    assert {case.hits for case in check(GUIDE, Known()).cases} == {None}


def test_a_prefix_below_a_block_cannot_hit() -> None:
    """A warning where a prefix holds no whole block."""
    pair = Pair("C", "D", Workload(Dataset.PREFIX_REPETITION, 100, 64, 8, 8))
    assert levels(plan_of(pair), Topic.NO_WHOLE_BLOCK, match_unit=128) == [Level.WARNING]
    assert levels(plan_of(pair), Topic.NO_WHOLE_BLOCK, match_unit=100) == []


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_a_speed_verdict_needs_three_repeats(repeats: int) -> None:
    """Fewer are a warning, not an error."""
    told = levels(replace(GUIDE, repeats=repeats), Topic.NO_SPEED_VERDICT)
    assert told == ([Level.WARNING] if repeats < 3 else [])


def test_few_requests_for_many_at_once() -> None:
    """With fewer than two waves most requests may miss."""
    pair = Pair("C", "D", Workload(Dataset.PREFIX_REPETITION, 512, 64, 8, 15))
    assert levels(plan_of(pair), Topic.SHORT_FOR_WAVES) == [Level.WARNING]


def test_the_hash_axis_waits_for_hits() -> None:
    """A warning until hits, hit tokens and prefill time are known."""
    plan = replace(GUIDE, hash_algorithms=("sha256", "sha256_cbor"))
    assert levels(plan, Topic.HASH_TOO_EARLY) == [Level.WARNING]
    assert levels(plan, Topic.HASH_TOO_EARLY, hits_seen=True) == []
    assert levels(GUIDE, Topic.HASH_TOO_EARLY) == []
    assert found(plan, Topic.XXHASH_UNKNOWN) == []


@pytest.mark.parametrize("name", ["xxhash", "xxhash_cbor"])
def test_xxhash_needs_its_package(name: str) -> None:
    """Missing: an error; nobody looked: a warning; there: nothing to say."""
    plan = replace(GUIDE, hash_algorithms=(name,))
    assert levels(plan, Topic.XXHASH_MISSING, xxhash_installed=False) == [Level.ERROR]
    assert levels(plan, Topic.XXHASH_UNKNOWN) == [Level.WARNING]
    there = check(plan, Known(xxhash_installed=True)).findings
    assert not {Topic.XXHASH_MISSING, Topic.XXHASH_UNKNOWN} & {one.topic for one in there}


def test_given_servers_must_be_two() -> None:
    """Both addresses, and not the same one; other servers' hash algorithms are one."""
    assert check(GIVEN, Known()).can_start
    assert levels(replace(GIVEN, on_url=None), Topic.GIVEN_URL_MISSING) == [Level.ERROR]
    same = replace(GIVEN, off_url="http://B:1/")
    assert levels(same, Topic.GIVEN_URLS_EQUAL) == [Level.ERROR]
    axis = replace(GIVEN, hash_algorithms=("sha256", "xxhash"))
    assert levels(axis, Topic.GIVEN_HASH_AXIS) == [Level.ERROR]


def test_a_plan_that_is_refused_is_not_checked() -> None:
    """What it may not say comes first."""
    with pytest.raises(BenchPlanError):
        check(replace(GUIDE, model="--x"), Known())


def test_what_makes_a_run_invalid_is_said_before() -> None:
    """The rules by the names that the judge uses."""
    (finding,) = found(GUIDE, Topic.INVALID_IF)
    assert set(str(finding.values["rules"]).split(", ")) < set(Rule)
