"""Launching, cancelling, and what is found after somebody was killed."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from core.bench.jobs import RUNNER_DIED, Jobs
from core.bench.launch import launch, run_here
from core.bench.processes import Mark, is_alive, mark_of, own_mark, recorded
from core.bench.state import JobState, Step, read_state
from core.config import load_settings
from core.domain.bench.plan import Plan, Target
from core.domain.bench.plan_file import plan_text
from core.errors import BenchBusyError, BenchmarkError, BenchPlanError, BenchRefusedError
from tests.bench.conftest import KEY, Home, until

STRANGER = replace(own_mark(), born="another boot:1")


def state_of(home: Home, job_id: str) -> JobState:
    return read_state(home.jobs.job(job_id))


def steps(state: JobState) -> list[Step]:
    return [run.step for run in state.runs]


def runner_of(home: Home, job_id: str) -> Mark:
    runner = home.jobs.runner_of(job_id)
    assert runner is not None
    return runner


def hanging(home: Home, plan: Plan, *, at: int = 1, **more: object) -> str:
    """A job of which one run is under way and will not end by itself."""
    home.goes_wrong(bench_hangs=f"00{at + 1}-", **more)
    job_id = launch(plan, "wish", settings=home.settings)
    run_id = state_of(home, job_id).runs[at].run_id
    run = home.jobs.job(job_id) / "runs" / run_id
    until(lambda: len(recorded(run)) == 2 and len(home.left()) >= 4, most_s=30)
    return job_id


def test_one_wish_is_one_job(home: Home, plan: Plan) -> None:
    """Clicks, tabs and reruns that bring the same token at once get the same job, made once.

    The thread that waits for its runner, so that none stays as a zombie, has ended too.
    """
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: launch(plan, "wish", settings=home.settings), range(8)))
    (job_id,) = ids
    until(lambda: not any(t.name == f"bench-{job_id}" for t in threading.enumerate()), most_s=30)
    assert launch(plan, "wish", settings=home.settings) == job_id
    assert [state.job_id for state in home.jobs.all()] == [job_id]
    assert state_of(home, job_id).step is Step.DONE


def test_two_tabs_bring_one_token_until_the_job_has_ended(home: Home, plan: Plan) -> None:
    """The token of a plan is the same wherever it is asked for, and another after its job."""
    first = home.jobs.token_of(plan)
    assert Jobs(load_settings()).token_of(plan) == first
    home.jobs.launch(plan, first, start=lambda _: STRANGER)
    assert home.jobs.token_of(plan) == first
    home.jobs.sweep()
    assert home.jobs.token_of(plan) != first


def test_a_target_has_one_job_until_it_ends(home: Home, plan: Plan) -> None:
    """A job at work is left alone by a restart and by other jobs.

    TERM to its runner is a cancel: it takes its server along and gives the target free.
    """
    job_id = hanging(home, plan)
    assert home.jobs.sweep() == []
    with pytest.raises(BenchBusyError, match=job_id):
        launch(plan, "another wish", settings=home.settings)
    runner = runner_of(home, job_id)
    os.kill(runner.pid, signal.SIGTERM)
    until(lambda: not is_alive(runner))
    state = state_of(home, job_id)
    assert (state.step, steps(state)) == (Step.CANCELLED, [Step.DONE, Step.CANCELLED])
    assert state.reason == "the runner was sent SIGTERM"
    assert home.left() == []
    assert home.jobs.launch(plan, "another wish", start=lambda _: STRANGER) != job_id


def test_a_killed_runner_leaves_no_server_and_a_true_state(home: Home, two_pairs: Plan) -> None:
    """After kill -9 of the runner all it started ends by itself, and a restart says what was.

    Runs that were done stay done, the one under way failed, the others were not run.
    """
    job_id = hanging(home, two_pairs)
    under_way = state_of(home, job_id).runs[1].run_id
    printed = home.jobs.job(job_id) / "runs" / under_way / "bench.stdout"
    until(lambda: KEY in printed.read_text())
    os.kill(runner_of(home, job_id).pid, signal.SIGKILL)
    until(lambda: home.left() == [])
    assert not state_of(home, job_id).ended
    assert home.jobs.sweep() == [job_id]
    state = state_of(home, job_id)
    assert (state.step, state.reason) == (Step.FAILED, RUNNER_DIED)
    assert steps(state) == [Step.DONE, Step.FAILED, *[Step.NOT_RUN] * 2]
    assert "the key is ********" in printed.read_text()
    assert home.jobs.sweep() == []
    assert home.jobs.launch(two_pairs, "again", start=lambda _: STRANGER) != job_id


def test_a_sweep_ends_what_the_keeper_could_not(home: Home, plan: Plan) -> None:
    """Where runner and keepers were killed together, a restart ends the engine they left."""
    job_id = hanging(home, plan, at=0, child=str(home.folder / "child"), near=True)
    run = home.jobs.job(job_id) / "runs" / state_of(home, job_id).runs[0].run_id
    child = mark_of(int((home.folder / "child").read_text()))
    assert child is not None
    runner = runner_of(home, job_id)
    for mark in (*recorded(run), runner):
        os.kill(mark.pid, signal.SIGKILL)
    until(lambda: not is_alive(runner))
    assert is_alive(child)
    assert home.jobs.sweep() == [job_id]
    assert not is_alive(child)
    assert home.left() == []


APP = """
import sys, time
from pathlib import Path
from core.bench.launch import launch
from core.config import load_settings
from core.domain.bench.plan_file import plan_of_text
print(launch(plan_of_text(Path(sys.argv[1]).read_text()), "wish", settings=load_settings()))
sys.stdout.flush()
time.sleep(600)
"""


def test_the_job_outlives_the_app_that_launched_it(home: Home, plan: Plan) -> None:
    """kill -9 of the app's whole process group: the runner finishes the job, nothing is left."""
    home.goes_wrong(bench_s=0.5)
    (home.folder / "plan.json").write_text(plan_text(plan))
    root = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", APP, "plan.json"],
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as app:
        assert app.stdout is not None
        job_id = app.stdout.readline().strip()
        os.killpg(app.pid, signal.SIGKILL)
    assert not state_of(home, job_id).ended
    assert home.jobs.sweep() == []
    until(lambda: state_of(home, job_id).ended, most_s=30)
    assert state_of(home, job_id).step is Step.DONE
    until(lambda: not is_alive(runner_of(home, job_id)) and home.left() == [])


def test_a_launch_that_was_cut_short_is_finished(home: Home, plan: Plan) -> None:
    """A launcher that dies before its runner is recorded leaves a job that failed, not a lock."""

    def dies(_: Path) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        home.jobs.launch(plan, "wish", start=dies)  # type: ignore[arg-type]
    (job_id,) = home.jobs.sweep()
    assert state_of(home, job_id).reason == "the runner was never started"
    assert steps(state_of(home, job_id)) == [Step.NOT_RUN] * 2


def test_a_pid_that_was_given_to_another_is_not_ours(home: Home, plan: Plan) -> None:
    """A lock with a living pid of another birth holds nothing, and nobody of that pid is ended."""
    job_id = home.jobs.launch(plan, "wish", start=lambda _: replace(own_mark(), born="boot:1"))
    assert home.jobs.sweep() == [job_id]
    assert home.jobs.launch(plan, "again", start=lambda _: own_mark()) != job_id


ALLOWED = "PREFIXWATCH_BENCH_TARGETS"


@pytest.mark.parametrize(
    ("setting", "value", "change"),
    [
        ("PREFIXWATCH_BENCH_LAUNCH", "false", {}),
        (ALLOWED, "[]", {}),
        (
            ALLOWED,
            '["managed"]',
            {"target": Target.GIVEN, "off_url": "http://a", "on_url": "http://b"},
        ),
        (
            ALLOWED,
            '["http://a"]',
            {"target": Target.GIVEN, "off_url": "http://a", "on_url": "http://A/"},
        ),
        ("PREFIXWATCH_BENCH_VLLM", "/nowhere/vllm", {}),
    ],
)
def test_what_is_not_allowed_is_not_launched(
    home: Home,
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    value: str,
    change: dict[str, object],
) -> None:
    """Off by default, and only named targets and a command that exists; no folder is made."""
    monkeypatch.setenv(setting, value)
    with pytest.raises(BenchRefusedError, match=r"BENCH_|same server"):
        launch(replace(plan, **change), "wish", settings=load_settings())
    assert home.jobs.all() == []


HOSTILE = ("m; touch x", "$(touch x)", "`touch x`", "m\ntouch x", "--help", "a && touch x", "m\0x")


@pytest.mark.parametrize("field", ["model", "tokenizer", "weights", "name"])
def test_hostile_names_are_refused_or_mere_letters(home: Home, plan: Plan, field: str) -> None:
    """Line breaks and leading dashes are refused before anything is made; the rest is letters."""
    refused = []
    for name in HOSTILE:
        try:
            home.jobs.launch(replace(plan, **{field: name}), name, start=lambda _: STRANGER)
        except BenchPlanError:
            refused.append(name)
    assert refused == [n for n in HOSTILE if n[0] == "-" or "\n" in n or "\0" in n]
    assert len(home.jobs.all()) == len(HOSTILE) - len(refused)


def test_a_hostile_name_that_is_letters_runs_as_letters(home: Home, plan: Plan) -> None:
    """`;` and `$(…)` reach the program as one argument."""
    hostile = replace(plan, model="m; touch $(echo x)", name="$(touch y)")
    state = run_here(hostile, "wish", settings=home.settings)
    assert state.step is Step.DONE
    assert not {"x", "y"} & {path.name for path in home.folder.rglob("*")}
    command = home.jobs.job(state.job_id) / "runs" / state.runs[0].run_id / "command.txt"
    assert "'m; touch $(echo x)'" in command.read_text()


@pytest.mark.parametrize(
    "argument",
    ["--middleware=os.system", "--trust-remote-code", "-O3", "--api-key", "--tool-parser-plugin"],
)
def test_a_flag_that_can_load_code_needs_a_setting(home: Home, plan: Plan, argument: str) -> None:
    """Only tuning flags go by themselves; the rest, and secrets, are refused before a folder is."""
    arguments = ("--block-size", "32", argument)
    with pytest.raises(BenchmarkError):
        launch(
            replace(plan, serve=replace(plan.serve, arguments=arguments)),
            "wish",
            settings=home.settings,
        )
    assert home.jobs.all() == []


@pytest.mark.parametrize("name", ["NCCL_NET_PLUGIN", "VLLM_LOGGING_CONFIG_PATH", "HF_ENDPOINT"])
def test_a_variable_that_can_load_code_is_refused(home: Home, plan: Plan, name: str) -> None:
    """What makes a program load files or ask another host is no plan's to set."""
    serve = replace(plan.serve, environment=(("OMP_NUM_THREADS", "1"), (name, "x")))
    with pytest.raises(BenchRefusedError, match=name):
        launch(replace(plan, serve=serve), "wish", settings=home.settings)
