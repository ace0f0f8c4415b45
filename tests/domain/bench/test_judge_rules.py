"""Single rules of the judge, each broken alone on a recorded run that is valid."""

from dataclasses import replace
from typing import Any

import pytest

from core.domain.bench.comparison import Estimate
from core.domain.bench.conclusion import Conclusion, Kind, conclude, needs_checklist
from core.domain.bench.configuration import Part, check_pair, configuration
from core.domain.bench.expectation import Range
from core.domain.bench.judge import Rule, RunVerdict, Verdict, is_collision, judge
from core.domain.bench.result import RunEvidence, Snapshot
from tests.domain.bench.recorded import PLAN, recorded


def with_labels(snapshot: Snapshot | None, **labels: str) -> Snapshot:
    assert snapshot is not None
    return replace(
        snapshot, configs={e: {**config, **labels} for e, config in snapshot.configs.items()}
    )


def with_counters(snapshot: Snapshot | None, **more: float) -> Snapshot:
    """The scrape with some counters further on."""
    assert snapshot is not None
    engines = {
        e: replace(c, **{name: getattr(c, name) + by for name, by in more.items()})
        for e, c in snapshot.engines.items()
    }
    return replace(snapshot, engines=engines)


def verdict_of(tag: str, **changes: Any) -> RunVerdict:
    run, evidence = recorded("0.32.0", tag)
    return judge(PLAN, run, replace(evidence, **changes))


def evidence_of(tag: str) -> RunEvidence:
    return recorded("0.32.0", tag)[1]


D, OFF = evidence_of("D_c8"), evidence_of("C_c8")
BROKEN: list[tuple[str, dict[str, Any], Rule, Verdict]] = [
    (
        "D_c8",
        {"after": with_counters(D.after, generation_tokens=-1.0)},
        Rule.SERVER_OUTPUT,
        Verdict.PARTIAL,
    ),
    (
        "D_c8",
        {"after": with_counters(D.after, generation_tokens=1.0)},
        Rule.SERVER_OUTPUT,
        Verdict.CONTAMINATED,
    ),
    (
        "D_c8",
        {"after": with_counters(D.after, finished_requests=1.0)},
        Rule.SERVER_REQUESTS,
        Verdict.CONTAMINATED,
    ),
    (
        "D_c8",
        {"after": with_counters(D.after, finished_requests=-1.0)},
        Rule.SERVER_REQUESTS,
        Verdict.WRONG_SERVER,
    ),
    (
        "C_c8",
        {"after": with_counters(OFF.after, prompt_tokens=1.0)},
        Rule.SERVER_INPUT,
        Verdict.CONTAMINATED,
    ),
    (
        "C_c8",
        {"after": with_counters(OFF.after, prompt_tokens=-1.0)},
        Rule.SERVER_INPUT,
        Verdict.WRONG_SERVER,
    ),
    (
        "C_c8",
        {"after": with_counters(OFF.after, queries_tokens=1.0)},
        Rule.QUERIES,
        Verdict.WRONG_SERVER,
    ),
    (
        "D_c8",
        {"after": with_labels(D.after, block_size="64")},
        Rule.CONFIGURATION_KEPT,
        Verdict.CONTAMINATED,
    ),
    ("D_c8", {"warm": True}, Rule.WARM, Verdict.CONTAMINATED),
    ("D_c8", {"cancelled": True}, Rule.CANCELLED, Verdict.FAILED),
    ("D_c8", {"time_limit_hit": True}, Rule.TIME_LIMIT, Verdict.FAILED),
    ("D_c8", {"before": None}, Rule.COUNTERS_SEEN, Verdict.PARTIAL),
]


@pytest.mark.parametrize(("tag", "changes", "rule", "verdict"), BROKEN)
def test_a_rule_broken_alone_decides(
    tag: str, changes: dict[str, Any], rule: Rule, verdict: Verdict
) -> None:
    """The run is what that rule makes of it, and the row shows two values that differ."""
    judged = verdict_of(tag, **changes)
    assert judged.verdict is verdict
    (row,) = judged.broken
    assert row.rule is rule
    assert row.expected != row.seen
    assert not (isinstance(row.expected, Range) and row.seen in row.expected)


def test_rules_that_hold_show_values_that_agree() -> None:
    """In a valid run every row without a note agrees with what was expected."""
    for tag in ("C_c8", "D_c8"):
        for row in verdict_of(tag).rows:
            held = row.seen in row.expected if isinstance(row.expected, Range) else None
            assert held or row.seen == row.expected


def test_of_a_partial_run_the_server_is_not_judged_by_its_sums() -> None:
    """Where requests failed, fewer tokens at the server say nothing of which server it was."""
    assert D.result is not None
    result = replace(D.result, completed=28, failed=2, total_output_tokens=28 * 16)
    after = with_counters(D.after, prompt_tokens=-9000.0, finished_requests=-9.0)
    judged = verdict_of("D_c8", result=result, after=after)
    assert judged.verdict is Verdict.PARTIAL
    assert {Rule.SERVER_INPUT, Rule.SERVER_REQUESTS} <= {row.rule for row in judged.broken}


def test_another_hash_algorithm_is_the_wrong_server() -> None:
    """What was asked for on the axis must be what the server says; the default asks nothing."""
    run, evidence = recorded("0.32.0", "D_c8")
    asked = {name: replace(run, hash_algorithm=name) for name in ("sha256", "xxhash")}
    assert judge(PLAN, asked["sha256"], evidence).is_valid
    judged = judge(PLAN, asked["xxhash"], evidence)
    assert [(row.rule, row.verdict) for row in judged.broken] == [
        (Rule.HASH_ALGORITHM, Verdict.WRONG_SERVER)
    ]


def test_chance_gives_few_hits_in_both_senses() -> None:
    """At most a block a request, and below a hundredth of the prompt tokens."""
    assert is_collision(960, requests=30, unit=32, prompt_tokens=1e6)
    assert not is_collision(961, requests=30, unit=32, prompt_tokens=1e6)
    assert not is_collision(960, requests=30, unit=32, prompt_tokens=96_000)
    assert is_collision(959, requests=30, unit=32, prompt_tokens=96_000)


def test_a_derived_label_makes_no_other_server() -> None:
    """Free memory gives a few blocks more or less: shown, and still a pair and the same server."""
    fewer = replace(OFF, after=with_labels(OFF.after, num_gpu_blocks="2047"))
    check = check_pair(fewer, D)
    assert check.is_pair
    assert [d.off for d in check.derived] == ["num_gpu_blocks=2047"]
    assert configuration(fewer) == configuration(OFF) == configuration(D) is not None


def test_a_label_that_was_set_makes_another_server() -> None:
    """Another block size is no pair, and proves nothing for it."""
    other = replace(OFF, after=with_labels(OFF.after, block_size="64"))
    assert [d.part for d in check_pair(other, D).differences] == [Part.CONFIGURATION]
    assert configuration(other) != configuration(D)


def test_prompts_of_other_length_are_no_pair() -> None:
    """The same benchmark sends the same tokens to both."""
    assert OFF.result is not None
    other = replace(OFF, result=replace(OFF.result, total_input_tokens=63_457))
    assert [d.part for d in check_pair(other, D).differences] == [Part.PROMPTS]


def test_without_a_latency_nothing_is_faster_or_slower() -> None:
    """No ratio: no better path, no checklist."""
    said = conclude(Kind.CACHE_ALONE, None, hit_observed=False, is_proven=True)
    assert said is Conclusion.NO_HITS
    assert not needs_checklist(Kind.CACHE_ALONE, None)


@pytest.mark.parametrize(("ratio", "opens"), [(1.0, True), (0.9, True), (1.1, False)])
def test_the_checklist_opens_where_a_gain_was_due(ratio: float, *, opens: bool) -> None:
    """With no gain where something is shared; where nothing is, only if ON is slower."""
    one = Estimate(ratio, None, None, 1)
    assert needs_checklist(Kind.CACHE_ALONE, one) is opens
    assert needs_checklist(Kind.WORKLOAD, one) is opens
    assert needs_checklist(Kind.NOTHING_SHARED, one) is (ratio < 1)


def test_an_unknown_hash_algorithm_is_no_proof() -> None:
    """Where the server does not say which one it has, a run planned for one is partial."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert evidence.after is not None
    configs = {
        engine: {k: v for k, v in labels.items() if k != "prefix_caching_hash_algo"}
        for engine, labels in evidence.after.configs.items()
    }
    silent = replace(
        evidence,
        before=replace(evidence.before, configs=configs) if evidence.before else None,
        after=replace(evidence.after, configs=configs),
    )
    assert judge(PLAN, run, silent).is_valid
    verdict = judge(PLAN, replace(run, hash_algorithm="sha256"), silent)
    assert verdict.verdict is Verdict.PARTIAL
    assert [row.rule for row in verdict.broken] == [Rule.HASH_ALGORITHM]
