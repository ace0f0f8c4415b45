"""Recorded benchmarks are judged as what they were: failures, and matrices that are exact."""

from dataclasses import replace

import msgspec
import pytest

from core.domain.bench.configuration import Part, check_pair, match_unit
from core.domain.bench.judge import Note, Rule, RunVerdict, Verdict, hits_range, judge
from core.domain.bench.plan import Dataset, Workload
from core.domain.bench.result import Counters, RunEvidence
from tests.domain.bench.recorded import FAILURES, PLAN, failed, recorded

PURE = Workload(Dataset.PREFIX_REPETITION, 512, 64, 8, 8)
ASKED = {
    "server_down": PURE,
    "server_down_ready_check": PURE,
    "wrong_model_name": PURE,
    "all_prompts_too_long": Workload(Dataset.RANDOM, 0, 9000, 8, 8),
    "some_prompts_too_long": Workload(Dataset.RANDOM, 0, 8000, 8, 8),
    "bad_flag": PURE,
    "fewer_prompts_than_prefixes": replace(PURE, prefixes=10),
    "truncated_num_prompts": replace(PURE, prefixes=3),
    "bad_tokenizer": replace(PURE, prompts=4),
    "engine_killed_mid_run": Workload(Dataset.RANDOM, 0, 1500, 64, 60),
}
VERDICTS = {
    "server_down": Verdict.FAILED,
    "server_down_ready_check": Verdict.FAILED,
    "wrong_model_name": Verdict.FAILED,
    "all_prompts_too_long": Verdict.FAILED,
    "some_prompts_too_long": Verdict.PARTIAL,
    "bad_flag": Verdict.FAILED,
    "fewer_prompts_than_prefixes": Verdict.FAILED,
    "truncated_num_prompts": Verdict.PARTIAL,
    "bad_tokenizer": Verdict.FAILED,
    "engine_killed_mid_run": Verdict.PARTIAL,
}
PROMPT = {"A": 61_532, "B": 61_532, "C": 63_456, "D": 63_456, "E": 121_532, "F": 121_532}
HITS = {"A": 0, "B": 32, "C": 0, "D": 59_392, "E": 0, "F": 57_600}
MATRIX = [("0.26.0", f"{case}_c8") for case in "ABCDEF"] + [
    ("0.32.0", f"{case}_c{n}") for case in "CDEF" for n in (1, 2, 4, 8)
]
MATRIX += [("0.32.0", "A_c8"), ("0.32.0", "B_c8"), ("0.32.0", "D_c4_detailed")]


def broken(verdict: RunVerdict) -> set[Rule]:
    return {row.rule for row in verdict.broken}


def test_every_recorded_failure_is_judged() -> None:
    """None of the recordings is left out."""
    assert set(FAILURES) == set(ASKED) == set(VERDICTS)


@pytest.mark.parametrize("name", sorted(ASKED))
def test_no_recorded_failure_is_valid(name: str) -> None:
    """Whatever its exit code and file say."""
    assert judge(*failed(name, ASKED[name])).verdict is VERDICTS[name]


def test_a_server_that_is_down_is_failed_and_has_no_figures() -> None:
    """Exit 0 and a file full of 0.0: FAILED, with the rule named, and no latency at all."""
    plan, run, evidence = failed("server_down", PURE)
    assert evidence.exit_code == 0
    assert evidence.result is not None
    assert (evidence.result.ttft, evidence.result.output_throughput) == (None, None)
    assert evidence.result.input_throughput is None
    assert Rule.ANY_COMPLETED in broken(judge(plan, run, evidence))


def test_cut_streams_are_told_by_their_tokens() -> None:
    """24 count as completed, 4 of them cut: output tokens are not completed times the length."""
    verdict = judge(*failed("engine_killed_mid_run", ASKED["engine_killed_mid_run"]))
    (row,) = (row for row in verdict.broken if row.rule is Rule.OUTPUT_TOKENS)
    assert (row.expected, row.seen) == (24 * 64, 2981)


def test_cut_streams_alone_are_not_valid() -> None:
    """Were nothing failed and all counted as completed, the tokens would still tell."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert evidence.result is not None
    cut = replace(evidence.result, total_output_tokens=30 * 16 - 5)
    verdict = judge(PLAN, run, replace(evidence, result=cut))
    assert verdict.verdict is Verdict.PARTIAL
    assert Rule.OUTPUT_TOKENS in broken(verdict)


def test_eight_prompts_over_three_prefixes_are_six() -> None:
    """The plan says 6, the benchmark sent 6: only the counters are missing."""
    workload = ASKED["truncated_num_prompts"]
    assert workload.requests == 6
    verdict = judge(*failed("truncated_num_prompts", workload))
    assert broken(verdict) == {Rule.COUNTERS_SEEN, Rule.CACHING_FLAG}


@pytest.mark.parametrize(("version", "tag"), MATRIX)
def test_the_recorded_matrices_are_valid(version: str, tag: str) -> None:
    """Every rule holds, and tokens and hits are exact to the block."""
    run, evidence = recorded(version, tag)
    verdict = judge(PLAN, run, evidence)
    assert verdict.broken == ()
    assert verdict.is_valid
    seen = evidence.increase()
    assert seen is not None
    assert seen.prompt_tokens == PROMPT[tag[0]]
    assert seen.queries_tokens == (PROMPT[tag[0]] if run.caching else 0)
    assert seen.hits_tokens == HITS[tag[0]]


@pytest.mark.parametrize(("tag", "excess"), [("B_c8", 32), ("F_c8", 64)])
def test_blocks_that_are_alike_by_chance_are_a_note(tag: str, excess: int) -> None:
    """A vocabulary of 4096 gives a few hits more than can be shared: explained, not failed."""
    run, evidence = recorded("0.32.0", tag)
    (row,) = (row for row in judge(PLAN, run, evidence).rows if row.rule is Rule.HITS)
    assert row.note is Note.COLLISIONS
    assert evidence.result is not None
    allowed = hits_range(run, evidence, evidence.result)
    assert allowed is not None
    assert row.seen == allowed.high + excess


def test_a_warm_rerun_is_contaminated() -> None:
    """63,360 of 63,456 tokens hit: more than a cold cache can give, flagged warm or not."""
    run, evidence = recorded("0.32.0", "D_c8_warm")
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.CONTAMINATED
    assert broken(verdict) == {Rule.HITS}
    told = judge(PLAN, run, replace(evidence, warm=True))
    assert broken(told) == {Rule.HITS, Rule.WARM}


def test_requests_beside_the_measured_ones_contaminate() -> None:
    """A ready check and two warm-ups: 33 requests at the server, 30 in the file."""
    run, evidence = recorded("0.32.0", "D_c8_ready")
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.CONTAMINATED
    assert {Rule.SERVER_INPUT, Rule.SERVER_REQUESTS, Rule.SERVER_OUTPUT} <= broken(verdict)


def test_an_off_run_on_a_caching_server_is_the_wrong_server() -> None:
    """What claims to be C and was D: the flag and the queries tell."""
    run, _ = recorded("0.32.0", "C_c8")
    _, evidence = recorded("0.32.0", "D_c8")
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.WRONG_SERVER
    assert broken(verdict) == {Rule.CACHING_FLAG, Rule.QUERIES, Rule.HITS}


def test_an_on_run_without_lookups_is_the_wrong_server() -> None:
    """What claims to be D and was C."""
    run, _ = recorded("0.32.0", "D_c8")
    _, evidence = recorded("0.32.0", "C_c8")
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.WRONG_SERVER
    assert Rule.QUERIES in broken(verdict)


def test_requests_that_went_elsewhere_are_the_wrong_server() -> None:
    """The client counts 30 requests, the scraped server none of them."""
    run, evidence = recorded("0.32.0", "D_c8")
    verdict = judge(PLAN, run, replace(evidence, after=evidence.before))
    assert verdict.verdict is Verdict.WRONG_SERVER
    assert Rule.SERVER_INPUT in broken(verdict)


def test_half_of_the_input_is_not_the_planned_workload() -> None:
    """E without its prefix: 983,040 tokens where 1,943,040 were planned."""
    run, evidence = recorded("0.32.0", "E_c8")
    big = Workload(Dataset.RANDOM, 32000, 32768, 16, 30)
    run = replace(run, pair=replace(run.pair, workload=big))
    assert evidence.result is not None
    result = replace(evidence.result, total_input_tokens=983_040)
    verdict = judge(PLAN, run, replace(evidence, result=result))
    (row,) = (row for row in verdict.broken if row.rule is Rule.INPUT_TOKENS)
    assert row.expected.low == 1_943_040
    assert row.verdict is Verdict.NOT_PLANNED


@pytest.mark.parametrize("field", ["model_id", "tokenizer_id", "backend", "num_prompts"])
def test_another_benchmark_is_not_the_planned_workload(field: str) -> None:
    """A file of another model, tokenizer, backend or size."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert evidence.result is not None
    other = 31 if field == "num_prompts" else "other"
    result = replace(evidence.result, **{field: other})
    verdict = judge(PLAN, run, replace(evidence, result=result))
    assert verdict.verdict is Verdict.NOT_PLANNED


@pytest.mark.parametrize("field", ["cancelled", "time_limit_hit"])
def test_a_run_that_was_stopped_is_failed(field: str) -> None:
    """Even where its file is whole."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert judge(PLAN, run, replace(evidence, **{field: True})).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("code", "verdict"), [(1, Verdict.FAILED), (-9, Verdict.FAILED), (None, Verdict.PARTIAL)]
)
def test_an_exit_code_other_than_0_is_not_valid(code: int | None, verdict: Verdict) -> None:
    """One that nobody saw leaves a whole result partial, as of an import."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert judge(PLAN, run, replace(evidence, exit_code=code)).verdict is verdict


def test_neither_exit_code_nor_result_is_failed() -> None:
    """Nothing came of it."""
    run, _ = recorded("0.32.0", "D_c8")
    assert judge(PLAN, run, RunEvidence("1", None)).verdict is Verdict.FAILED


def test_a_log_tells_the_caching_flag_where_metrics_do_not() -> None:
    """And where both do, they must agree with the run."""
    run, evidence = recorded("0.32.0", "D_c8")
    bare = replace(evidence, before=None, after=None)
    assert Rule.CACHING_FLAG not in broken(judge(PLAN, run, bare))
    _, other = recorded("0.32.0", "C_c8")
    verdict = judge(PLAN, run, replace(evidence, log=other.log))
    assert broken(verdict) == {Rule.CACHING_FLAG}
    assert verdict.verdict is Verdict.WRONG_SERVER


def test_inflated_lookups_are_a_note_and_their_hits_are_not_used() -> None:
    """vLLM 0.26 counts lookups again under pressure: the cached prompt tokens tell then."""
    run, evidence = recorded("0.26.0", "D_c8")
    assert evidence.after is not None
    engines = {
        e: replace(c, queries_tokens=9e6, hits_tokens=8e6)
        for e, c in evidence.after.engines.items()
    }
    after = replace(evidence.after, engines=engines)
    verdict = judge(PLAN, run, replace(evidence, after=after))
    assert verdict.is_valid
    rows = {row.rule: row for row in verdict.rows}
    assert rows[Rule.QUERIES].note is Note.QUERIES_INFLATED
    assert rows[Rule.HITS].seen == 59_392


def test_evidence_comes_back_from_a_file() -> None:
    """As JSON and back, every field of it."""
    for tag in ("D_c4_detailed", "C_c8"):
        _, evidence = recorded("0.32.0", tag)
        whole = replace(evidence, bench_arguments=("vllm",), last_output="x", ended_at=1.5)
        again = msgspec.json.decode(msgspec.json.encode(whole), type=RunEvidence)
        assert again == whole


@pytest.mark.parametrize("side", ["before", "after"])
def test_counters_of_one_side_are_not_enough(side: str) -> None:
    """Without a scrape before or after, a run is partial."""
    run, evidence = recorded("0.32.0", "D_c8")
    verdict = judge(PLAN, run, replace(evidence, **{side: None}))
    assert verdict.verdict is Verdict.PARTIAL


def test_a_restart_in_a_run_makes_its_counters_unknown() -> None:
    """Counters that went down, or a process that is younger, give no increase."""
    _, evidence = recorded("0.32.0", "D_c8")
    assert replace(evidence, before=evidence.after, after=evidence.before).increase() is None
    assert evidence.after is not None
    younger = replace(evidence.after, process_start_s=2e9)
    assert replace(evidence, after=younger).increase() is None


def test_hits_below_the_range_are_explained_and_not_failed() -> None:
    """Eviction can take hits away: valid, with a note."""
    run, evidence = recorded("0.32.0", "D_c8")
    assert evidence.after is not None
    (engine,) = evidence.after.engines
    fewer = replace(evidence.after.engines[engine], hits_tokens=1024.0)
    after = replace(evidence.after, engines={engine: fewer})
    verdict = judge(PLAN, run, replace(evidence, after=after))
    assert verdict.is_valid
    assert Note.BELOW_RANGE in {row.note for row in verdict.rows}


def test_a_missing_counter_is_not_zero() -> None:
    """An engine that does not export lookups leaves an ON run partial."""
    run, evidence = recorded("0.32.0", "D_c8")
    for snapshot in ("before", "after"):
        whole = getattr(evidence, snapshot)
        less = {
            engine: replace(counters, queries_tokens=None, hits_tokens=None, cached_tokens=None)
            for engine, counters in whole.engines.items()
        }
        evidence = replace(evidence, **{snapshot: replace(whole, engines=less)})
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.PARTIAL
    assert {Rule.QUERIES, Rule.HITS} <= broken(verdict)


def test_sums_of_engines_are_unknown_where_one_is() -> None:
    """One engine without a counter makes the fleet's sum unknown, not smaller."""
    known = Counters(hits_tokens=3.0, prompt_tokens=4.0)
    assert (known + Counters(prompt_tokens=1.0)).hits_tokens is None
    assert (known + Counters(prompt_tokens=1.0)).prompt_tokens == 5.0


@pytest.mark.parametrize("version", ["0.26.0", "0.32.0"])
def test_the_recorded_servers_differ_in_the_flag_alone(version: str) -> None:
    """C and D are a pair; commands were not recorded, and are said to be unknown."""
    _, off = recorded(version, "C_c8")
    _, on = recorded(version, "D_c8")
    check = check_pair(off, on)
    assert check.is_pair
    assert check.unknown == (Part.BENCH_ARGUMENTS, Part.SERVE_ARGUMENTS)
    assert match_unit(on.after) == 32


def test_servers_of_two_versions_are_no_pair() -> None:
    """Another version, and labels that only one of them has."""
    _, off = recorded("0.26.0", "C_c8")
    _, on = recorded("0.32.0", "D_c8")
    check = check_pair(off, on)
    assert not check.is_pair
    assert {d.part for d in check.differences} == {Part.VERSION, Part.CONFIGURATION}


def test_commands_of_a_pair_may_differ_in_port_file_and_flag_only() -> None:
    """Another seed or another server argument is no pair."""
    _, off = recorded("0.32.0", "C_c8")
    _, on = recorded("0.32.0", "D_c8")
    bench = ("vllm", "bench", "serve", "--port", "1", "--seed", "0", "--result-filename", "a")
    serve = ("vllm", "serve", "m", "--port", "1", "--no-enable-prefix-caching")
    off = replace(off, bench_arguments=bench, serve_arguments=serve)
    like = replace(
        on,
        bench_arguments=(*bench[:4], "2", *bench[5:8], "b"),
        serve_arguments=(*serve[:4], "2", "--enable-prefix-caching"),
    )
    assert check_pair(off, like).is_pair
    assert check_pair(off, like).unknown == ()
    seed = replace(like, bench_arguments=(*bench[:6], "1", *bench[7:]))
    assert [d.part for d in check_pair(off, seed).differences] == [Part.BENCH_ARGUMENTS]
    longer = replace(like, serve_arguments=(*serve, "--enforce-eager"))
    assert [d.part for d in check_pair(off, longer).differences] == [Part.SERVE_ARGUMENTS]


@pytest.mark.parametrize("name", ["queries_tokens", "hits_tokens"])
def test_an_off_run_without_lookup_counters_is_no_proof(name: str) -> None:
    """A counter that an OFF server does not export is unknown, not the 0 that was asked for."""
    run, evidence = recorded("0.32.0", "C_c8")
    assert judge(PLAN, run, evidence).is_valid
    for snapshot in ("before", "after"):
        whole = getattr(evidence, snapshot)
        less = {engine: replace(one, **{name: None}) for engine, one in whole.engines.items()}
        evidence = replace(evidence, **{snapshot: replace(whole, engines=less)})
    verdict = judge(PLAN, run, evidence)
    assert verdict.verdict is Verdict.PARTIAL
    assert broken(verdict) == {Rule(name.removesuffix("_tokens"))}
