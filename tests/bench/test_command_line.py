"""`python -m core.bench`: plan, run, judge, import."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.bench.__main__ import DONE, FAILED, REFUSED, main
from core.bench.judged import judged
from core.bench.state import Step, write_state
from core.domain.bench.judge import Verdict
from core.domain.bench.plan import Pair, Plan
from core.domain.bench.plan_file import plan_of_text, plan_text
from core.domain.bench.presets import random_case, repetition_case
from core.domain.bench.runs import runs_of
from tests.bench.conftest import Home

STEPS = ["starting server", "benchmarking", "scraping", "done"]
RECORDED = Path(__file__).resolve().parents[1] / "recordings" / "vllm_bench"


@pytest.fixture
def recorded() -> Plan:
    """What was run when the recordings were made."""
    size = {"output": 16, "prompts": 30}
    pairs = (
        Pair("A", "B", random_case(0, 2048, **size)),
        Pair("C", "D", repetition_case(2048, 64, **size)),
        Pair("E", "F", random_case(2000, 2048, **size)),
    )
    return Plan("recorded", pairs, "tiny-llama", "tiny-llama-model", concurrency=(8,))


def test_a_plan_is_written_and_checked(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """The file holds what was asked for; beside it stand commands, tokens and what to mind."""
    asked = ["plan", "--model", "m", "--tokenizer", "t", "--pairs", "C/D", "--concurrency", "2"]
    assert main([*asked, "--output", "plan.json"]) == DONE
    shown = capsys.readouterr().err
    assert "vllm serve m --host 127.0.0.1" in shown
    assert "16 requests" in shown
    assert "A verdict on speed needs 3" in shown
    plan = plan_of_text(Path("plan.json").read_text())
    assert [(pair.name, plan.concurrency) for pair in plan.pairs] == [("C/D", (2,))]
    assert not (home.settings.data_dir / "bench").exists()


def test_a_plan_that_cannot_be_is_refused(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt longer than the model is found before anything starts, by `plan` and by `run`."""
    asked = ["plan", "--model", "m", "--tokenizer", "t", "--max-model-len", "100"]
    assert main([*asked, "--output", "plan.json"]) == REFUSED
    assert main(["run", "plan.json"]) == REFUSED
    assert "may not fit a model length of 100" in capsys.readouterr().err
    assert home.jobs.all() == []


def test_a_run_is_judged_and_can_be_judged_again(
    home: Home, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the plan's file to a verdict for each run, with every figure from the files."""
    Path("plan.json").write_text(plan_text(plan))
    assert main(["run", "plan.json"]) == DONE
    first, told = capsys.readouterr()
    assert [line.split(": ")[1] for line in told.splitlines()] == STEPS * 2
    assert "2 of 2 runs are valid" in first
    (state,) = home.jobs.all()
    folder = home.jobs.job(state.job_id)
    assert main(["judge", str(folder)]) == DONE
    assert capsys.readouterr().out.splitlines()[-4:] == first.splitlines()[-4:]
    write_state(folder, state.moved(Step.RUNNING))
    assert main(["judge", str(folder)]) == FAILED
    assert "not every run is over" in capsys.readouterr().out
    found = judged(folder).runs
    assert [one.verdict.verdict for one in found] == [Verdict.VALID] * 2
    increase = next(one.evidence.increase() for one in found if one.run.caching)
    assert increase is not None
    assert increase.hits_tokens == 5 * 256


def test_a_failed_run_is_judged_failed(
    home: Home, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exit status other than 0 ends in FAILED for job and command line, with no figure."""
    home.goes_wrong(bench_exits=3)
    Path("plan.json").write_text(plan_text(plan))
    assert main(["run", "plan.json"]) == FAILED
    shown = capsys.readouterr().out
    assert "exit status: expected 0, seen 3" in shown
    assert "result file: no result file was written" in shown
    assert "ValueError: tokenizer not found\n" in shown
    assert "0 of 2 runs are valid" in shown
    assert "OFF / ON unknown" in shown


def test_one_run_that_failed_among_others_is_no_success(
    home: Home, two_pairs: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job goes on to its end, and the exit status says that not every run is valid."""
    home.goes_wrong(bench_hangs="002-")
    Path("plan.json").write_text(plan_text(replace(two_pairs, run_limit_s=2.0)))
    assert main(["run", "plan.json"]) == FAILED
    shown = capsys.readouterr().out
    assert "job done: 1 of 4 runs failed" in shown
    assert "3 of 4 runs are valid" in shown


def test_recorded_results_are_imported_and_judged(
    home: Home, recorded: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of results, scrapes and logs becomes one judged job; nothing is started."""
    Path("plan.json").write_text(plan_text(recorded))
    command = ["import", str(RECORDED / "0.26.0"), "--plan", "plan.json", "--exit-code", "0"]
    assert main(command) == DONE
    assert "6 of 6 runs are valid" in capsys.readouterr().out
    assert main(command) == DONE
    (state,) = home.jobs.all()
    runs = {one.run.case: one.evidence for one in judged(home.jobs.job(state.job_id)).runs}
    increase = runs["D"].increase()
    assert increase is not None
    assert increase.hits_tokens == 29 * 2048


def test_a_real_run_of_the_small_preset_is_exact_to_the_block(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """All twelve runs on vLLM 0.32 are valid; hits are those of the plan, and no speed is told."""
    assert main(["import", str(RECORDED / "small-0.32.0")]) == DONE
    shown = capsys.readouterr().out
    assert "12 of 12 runs are valid" in shown
    assert "expected" not in shown.partition("12 of 12")[0]
    (state,) = home.jobs.all()
    found = judged(home.jobs.job(state.job_id))
    each = {"D": 15 * 2048, "F": 15 * 1984}
    for one in found.runs:
        seen, result = one.evidence.increase(), one.evidence.result
        assert seen is not None
        assert result is not None
        assert seen.hits_tokens == seen.cached_tokens == each.get(one.run.case, 0)
        assert seen.prompt_tokens == result.total_input_tokens
        assert seen.queries_tokens == (seen.prompt_tokens if one.run.caching else 0)
    hits, overhead = "hits_no_speed_verdict", "overhead_no_speed_verdict"
    assert [panel.conclusion for panel in found.panels] == [overhead] * 2 + [hits] * 4


def test_runs_without_a_result_were_not_run(home: Home, recorded: Plan) -> None:
    """An import of part of a plan says which runs are missing, and an empty folder is refused."""
    more = replace(recorded, concurrency=(8, 16))
    Path("plan.json").write_text(plan_text(more))
    Path("empty").mkdir()
    assert main(["import", "empty", "--plan", "plan.json"]) == REFUSED
    main(["import", str(RECORDED / "0.26.0"), "--plan", "plan.json", "--exit-code", "0"])
    (state,) = home.jobs.all()
    begun = {one.run.run_id for one in judged(home.jobs.job(state.job_id)).runs}
    assert {run.concurrency for run in runs_of(more) if run.run_id not in begun} == {16}
    assert state.count(Step.NOT_RUN) == 6


def test_a_job_of_another_machine_is_imported_whole(
    home: Home, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copied job folder brings its plan, exit statuses and commands along."""
    Path("plan.json").write_text(plan_text(plan))
    main(["run", "plan.json"])
    (state,) = home.jobs.all()
    folder = home.jobs.job(state.job_id)
    monkeypatch.setenv("PREFIXWATCH_DATA_DIR", str(tmp_path / "elsewhere"))
    assert main(["import", str(folder)]) == DONE


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--pairs", "C/D", "X/Y"], "X/Y"),
        (["--pure-prefix", "32000"], "preset guide"),
        (["--serve-arguments", "'open"], "--serve-arguments"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    """What this preset has not is named; no other plan than the one asked for is written."""
    assert main(["plan", "--model", "m", "--tokenizer", "t", *asked]) == REFUSED
    shown = capsys.readouterr()
    assert (said in shown.err, shown.out) == (True, "")
