"""How far a job is, read from its folder: what a page shows while it runs."""

import contextlib
import time
from dataclasses import dataclass

from core.bench.jobs import Jobs, plan_of, targets_of
from core.bench.state import FINAL, JobState, RunState, Step, read_state
from core.bench.tails import tail
from core.domain.bench.plan import Plan
from core.errors import BenchmarkError, BenchResultError

TAIL_LINES = 12


@dataclass(frozen=True)
class RunProgress:
    """One run: its step, and how long it took, or has been at it; None before its start."""

    run_id: str
    step: Step
    seconds: float | None
    reason: str | None


@dataclass(frozen=True)
class Progress:
    """One job: how many of its runs are over, which are, and the last lines of a log."""

    job_id: str
    name: str
    step: Step
    seconds: float
    cancelling: bool
    runs: tuple[RunProgress, ...]
    log: str
    log_of: str | None

    @property
    def over(self) -> int:
        """Runs that are over, however they ended."""
        return sum(run.step in FINAL for run in self.runs)


def running_jobs(jobs: Jobs) -> tuple[str, ...]:
    """Ids of the jobs that have not ended, newest first."""
    return tuple(state.job_id for state in jobs.all() if not state.ended)


def busy_with(jobs: Jobs, plan: Plan) -> str | None:
    """The job that has a target of this plan to itself; None where it is free."""
    wanted = set(targets_of(plan))
    for job_id in running_jobs(jobs):
        with contextlib.suppress(BenchmarkError):
            if wanted & set(targets_of(plan_of(jobs.job(job_id)))):
                return job_id
    return None


def progress_of(jobs: Jobs, job_id: str, *, now: float | None = None) -> Progress | None:
    """A job as its files say; None when it has ended."""
    at = time.time() if now is None else now
    folder = jobs.job(job_id)
    state = None
    with contextlib.suppress(BenchResultError):
        state = read_state(folder)
    if state is None or state.ended:
        return None
    log, log_of = _log(jobs, state)
    return Progress(
        job_id,
        state.name,
        state.step,
        at - state.created_at,
        (folder / "cancel").exists(),
        tuple(_run(run, at) for run in state.runs),
        log,
        log_of,
    )


def _run(run: RunState, now: float) -> RunProgress:
    begun = [at for step, at in run.since.items() if step != Step.PLANNED]
    if not begun or run.step is Step.NOT_RUN:
        return RunProgress(run.run_id, run.step, None, run.reason)
    end = run.since[run.step] if run.step in FINAL else now
    return RunProgress(run.run_id, run.step, end - min(begun), run.reason)


def _log(jobs: Jobs, state: JobState) -> tuple[str, str | None]:
    """The log that moves: the benchmark's while it measures, before that the server's."""
    busy = [run for run in state.runs if run.step not in FINAL and run.step is not Step.PLANNED]
    if not busy:
        return tail(jobs.job(state.job_id) / "runner.log", jobs.settings, lines=TAIL_LINES), None
    folder = jobs.job(state.job_id) / "runs" / busy[0].run_id
    names = ("bench.stderr", "bench.stdout", "server.log")
    texts = {name: tail(folder / name, jobs.settings, lines=TAIL_LINES) for name in names}
    return next((text for text in texts.values() if text), ""), busy[0].run_id
