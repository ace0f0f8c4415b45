"""Starting a job's runner: as a process of its own session, or this very process.

The runner of its own session outlives whoever launched it, also when that is killed with
its process group; it finishes the job, and whoever starts next finds it at work. What the
runner itself starts hangs on its lifeline and dies with it.
"""

import subprocess
import sys
import threading
from pathlib import Path

from core.bench.jobs import Jobs
from core.bench.processes import Mark, mark_of, own_mark
from core.bench.programs import own_environment
from core.bench.runner import Runner, Tell
from core.bench.state import JobState, RunState
from core.config import Settings
from core.domain.bench.plan import Plan
from core.errors import BenchBusyError


def _silent(_: RunState) -> None:
    """Nobody looks on."""


def launch(plan: Plan, token: str, *, settings: Settings) -> str:
    """Start a job that goes on by itself, or find the one this token has started; its id."""
    return Jobs(settings).launch(plan, token, start=lambda folder: _start(folder, settings))


def run_here(plan: Plan, token: str, *, settings: Settings, tell: Tell = _silent) -> JobState:
    """Make a job from beginning to end in this process; TERM and INT cancel it.

    `tell` is called with every step of every run.
    """
    jobs = Jobs(settings)
    job_id = jobs.launch(plan, token, start=lambda _: own_mark())
    return serve_job(job_id, settings, tell=tell)


def serve_job(job_id: str, settings: Settings, *, tell: Tell = _silent) -> JobState:
    """Be the runner of a job that was launched for this process.

    Raises
    ------
    BenchBusyError
        The job has another runner.
    """
    jobs = Jobs(settings)
    if not jobs.claimed_by_me(job_id):
        raise BenchBusyError(f"job {job_id} has another runner")
    runner = Runner(jobs.job(job_id), settings, tell)
    runner.watch.listen()
    state = runner.run()
    jobs.release(job_id)
    return state


def _start(folder: Path, settings: Settings) -> Mark:
    with (folder / "runner.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
            [sys.executable, "-m", "core.bench", "run", "--job", folder.name],
            env=own_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # Somebody has to read its status in the end, or a zombie stays as long as the app.
    threading.Thread(target=process.wait, name=f"bench-{folder.name}", daemon=True).start()
    mark = mark_of(process.pid)
    if mark is None:
        raise OSError(f"the runner ended at once, see {folder / 'runner.log'}")
    return mark
