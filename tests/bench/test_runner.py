"""Jobs on a fake vllm, from the launch to what is left on disk."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from core.bench import runner
from core.bench.evidence import AFTER, BEFORE, Seen, read_seen
from core.bench.launch import run_here
from core.bench.processes import hold, mark_of, own_mark
from core.bench.runner import Runner
from core.bench.state import JobState, RunState, Step
from core.domain.bench.plan import Plan
from core.domain.bench.runs import runs_of
from core.errors import BenchResultError
from tests.bench.conftest import KEY, Home, until


def made(home: Home, plan: Plan) -> tuple[JobState, list[Path]]:
    state = run_here(plan, "one wish", settings=home.settings)
    folder = home.jobs.job(state.job_id)
    return state, [folder / "runs" / run.run_id for run in state.runs]


def off_run(home: Home, plan: Plan) -> tuple[RunState, Path]:
    """Only the first OFF run of a plan."""
    job = home.jobs.job(home.jobs.launch(plan, "one wish", start=lambda _: own_mark()))
    runner = Runner(job, home.settings, lambda _: None)
    run = next(run for run in runs_of(plan) if not run.caching)
    runner._one(run)
    (state,) = [state for state in runner.state.runs if state.run_id == run.run_id]
    return state, job / "runs" / run.run_id


def seen_in(folder: Path) -> Seen:
    seen = read_seen(folder)
    assert seen is not None
    return seen


def test_a_job_makes_every_run_on_a_server_of_its_own(home: Home, plan: Plan) -> None:
    """Both runs are done, each with result, counters, logs, what was seen and its steps in time."""
    state, folders = made(home, plan)
    assert (state.step, [run.step for run in state.runs]) == (Step.DONE, [Step.DONE] * 2)
    for folder in folders:
        seen = seen_in(folder)
        assert (seen.exit_status, seen.failure, seen.stopped) == (0, None, False)
        assert seen.served is not None
        assert seen.served.caching is seen.caching
        assert seen.served.version == "0.32.0"
        assert {BEFORE, AFTER, "result.json", "server.log"} <= {p.name for p in folder.iterdir()}
    flags = {seen_in(f).caching: seen_in(f).serve_arguments or () for f in folders}
    assert "--enable-prefix-caching" in flags[True]
    assert "--no-enable-prefix-caching" in flags[False]
    since = state.runs[0].since
    assert list(since) == [Step.STARTING, Step.BENCHMARKING, Step.SCRAPING, Step.DONE]
    assert list(since.values()) == sorted(since.values())
    assert home.left() == []


def test_no_text_of_the_model_and_no_key_stays(home: Home, plan: Plan) -> None:
    """What the model wrote and the API key are in no file, though programs printed the key."""
    _, folders = made(home, plan)
    assert "******** " in (folders[0] / "bench.stdout").read_text().replace("\n", " ")
    everything = [p for p in home.folder.glob("data/**/*") if p.is_file()]
    assert len(everything) > 10
    for path in everything:
        content = path.read_bytes()
        assert KEY.encode() not in content, path
        assert b"WRITTEN BY THE MODEL" not in content, path
    assert len(json.loads((folders[0] / "result.json").read_text())["ttfts"]) == 6


@pytest.mark.parametrize(
    ("wrong", "limits", "reason"),
    [
        ({"dies_at_start": True}, {}, "ended with status 1 before it was ready"),
        ({"never_ready": True}, {"start_limit_s": 1.0}, "not ready after 1 s"),
        ({"caching": "True"}, {}, "wrong server: prefix caching is on"),
        ({"caching": "perhaps"}, {}, "does not say one enable_prefix_caching"),
        ({"die_in_run": True, "lingers_s": 30}, {}, "the server ended with status 9 during"),
        ({"bench_exits": 3}, {}, "vllm bench serve ended with status 3"),
        ({"bench_hangs": ""}, {"run_limit_s": 1.0}, "not done after 1 s"),
        ({"truncated": True}, {}, "is no whole JSON"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_what_fails_is_failed_with_its_reason(
    home: Home,
    plan: Plan,
    wrong: dict[str, object],
    limits: dict[str, float],
    reason: str,
) -> None:
    """No failure of server or benchmark gives a result; each says why and what was printed."""
    home.goes_wrong(**wrong)
    run, folder = off_run(home, replace(plan, **limits))
    assert run.step is Step.FAILED
    assert reason in str(run.reason)
    assert reason in str(seen_in(folder).failure)
    assert not (folder / "result.part.json").exists()
    assert home.left() == []


def test_a_failed_start_shows_the_last_lines_of_the_log(home: Home, plan: Plan) -> None:
    """The reason of a failed start is kept, whatever other processes traced, and without a key."""
    home.goes_wrong(dies_at_start=True)
    _, folder = off_run(home, plan)
    words = str(seen_in(folder).last_output)
    assert "more KV cache is needed" in words
    assert "the key is ********" in words
    assert words.endswith("See root cause above.")
    assert "File" not in words


def test_the_last_words_of_a_benchmark_are_its_own(home: Home, plan: Plan) -> None:
    """What libraries print whenever a vLLM program ends does not push the reason out of sight."""
    home.goes_wrong(bench_exits=1)
    _, folder = off_run(home, plan)
    words = str(seen_in(folder).last_output)
    assert words.endswith("ValueError: tokenizer not found")
    assert "leaked" not in words


def test_the_third_server_in_a_row_that_fails_is_the_last(home: Home, two_pairs: Plan) -> None:
    """A job does not wait for servers that never start: what is left was not run."""
    home.goes_wrong(dies_at_start=True)
    state, _ = made(home, two_pairs)
    assert [run.step for run in state.runs] == [*[Step.FAILED] * 3, Step.NOT_RUN]
    assert state.step is Step.FAILED
    assert "3 servers in a row failed" in str(state.reason)


def test_a_cancelled_job_ends_what_it_started(home: Home, two_pairs: Plan) -> None:
    """The file `cancel` ends the run under way and its server; the rest were not run."""
    home.goes_wrong(bench_hangs="002-")

    def cancel() -> None:
        (state,) = until_one(home)
        home.jobs.cancel(state.job_id)

    threading.Thread(target=cancel).start()
    state, folders = made(home, two_pairs)
    steps = [run.step for run in state.runs]
    assert steps == [Step.DONE, Step.CANCELLED, *[Step.NOT_RUN] * 2]
    assert (state.step, seen_in(folders[1]).cancelled) == (Step.CANCELLED, True)
    assert home.left() == []


def until_one(home: Home) -> list[JobState]:
    """The job once its second run is under way."""

    def under_way() -> bool:
        return any(job.runs[1].step is Step.BENCHMARKING for job in home.jobs.all())

    until(under_way)
    return home.jobs.all()


def test_an_engine_deaf_to_term_in_a_session_of_its_own_is_ended(home: Home, plan: Plan) -> None:
    """Stopping a server leaves none of its processes, not even one that tries to get away."""
    home.goes_wrong(child=str(home.folder / "child"), deaf=True)
    run, _ = off_run(home, plan)
    assert run.step is Step.DONE
    assert mark_of(int((home.folder / "child").read_text())) is None


def test_a_program_that_is_not_there_ends_with_a_status(tmp_path: Path) -> None:
    """A command that cannot be started has failed like one that could, and says so."""
    held = hold([str(tmp_path / "none")], tmp_path, name="none", environment={})
    until(lambda: held.ended is not None)
    assert held.stop().status == 127
    assert "cannot be started" in (tmp_path / "none.stderr").read_text()


def test_a_full_disk_leaves_no_text_and_no_key(
    home: Home, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that cannot be recorded ends its job with the reason, and keeps nothing it must not."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner.OneRun, "_after", full)
    state, folders = made(home, plan)
    assert state.step is Step.FAILED
    assert "No space left on device" in str(state.reason)
    printed = [path.read_bytes() for path in folders[0].iterdir()]
    assert any(b"the key is ********" in content for content in printed)
    assert not any(KEY.encode() in content for content in printed)
    assert not any(b"WRITTEN BY THE MODEL" in content for content in printed)


def test_a_job_that_cannot_be_judged_says_why(
    home: Home, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs are done, and the job ends with the reason, not with a dead runner."""

    def broken(_: Path) -> None:
        raise BenchResultError("a record cannot be read")

    monkeypatch.setattr(runner, "judge_job", broken)
    state, _ = made(home, plan)
    assert [run.step for run in state.runs] == [Step.DONE] * 2
    assert (state.step, "a record cannot be read" in str(state.reason)) == (Step.FAILED, True)
