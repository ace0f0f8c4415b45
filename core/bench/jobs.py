"""Jobs as folders: made once for each launch, one at a time for each target.

bench/launch.lock                 held while a launch is decided
bench/targets/<key>.json          which job has a server to itself
bench/jobs/<job_id>/plan.json     what is to be done
                   /state.json    where it stands
                   /runner.json   who does it: pid and birth
                   /runner.log    what the runner says
                   /cancel        there when it is to end
                   /runs/<run_id>/  the files of a run
                   /prompts/      while its prompts are made again
                   /prompts.json  their numbers
"""

import contextlib
import fcntl
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.bench.allowed import refuse_unless_allowed
from core.bench.processes import Mark, is_alive, own_mark, recorded, stop_left, write_json
from core.bench.programs import has_xxhash
from core.bench.results import keep_result
from core.bench.state import FILE, JobState, RunState, Step, read_state, write_state
from core.bench.tails import scrub_all
from core.config import Settings
from core.domain.bench.check import Known, Level, check
from core.domain.bench.plan import Plan, Target
from core.domain.bench.plan_file import plan_of_text, plan_text
from core.domain.bench.runs import runs_of
from core.errors import BenchBusyError, BenchmarkError, BenchPlanError, BenchResultError
from core.messages import say

RUNNER_DIED = "the runner died"
NEVER_STARTED = "the runner was never started"
IMPORTED = "imported"
MAKING = "prompts"
DIGITS = 12


@dataclass(frozen=True)
class Holder:
    """The job that has a target, and its runner."""

    job_id: str
    runner: Mark


class Jobs:
    """All jobs under one data folder."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = settings.data_dir / "bench"

    def job(self, job_id: str) -> Path:
        """The folder of a job."""
        return self.folder / "jobs" / job_id

    def all(self) -> list[JobState]:
        """Every job, newest first; a folder that holds none is left out."""
        found = []
        for path in (self.folder / "jobs").glob(f"*/{FILE}"):
            with contextlib.suppress(BenchResultError):
                found.append(read_state(path.parent))
        return sorted(found, key=lambda state: state.created_at, reverse=True)

    def token_of(self, plan: Plan) -> str:
        """A launch token that two tabs share until this plan's job has ended."""
        digest = _digest(plan_text(plan))
        ended = [s for s in self.all() if s.ended and s.token.startswith(f"{digest}-")]
        return f"{digest}-{len(ended)}"

    def launch(self, plan: Plan, token: str, *, start: Callable[[Path], Mark]) -> str:
        """Make and start a job, or find the one this token has made; its id.

        Parameters
        ----------
        plan : Plan
        token : str
            Of one wish to launch: a second click, tab or rerun brings the same.
        start : callable
            Starts the runner of the job's folder.

        Raises
        ------
        BenchRefusedError
            Launching, the target or an argument is not allowed here.
        BenchPlanError
            The plan cannot be made into commands.
        BenchBusyError
            Another job has the target.
        """
        refuse_unless_allowed(plan, self.settings)
        _refuse_hopeless(plan, self.settings)
        own_mark()
        with self._deciding():
            known = self._known(token)
            if known is not None:
                return known
            self._finish_dead()
            self._refuse_busy(plan)
            return self._begin(plan, token, start)

    def take_in(self, plan: Plan, token: str, *, fill: Callable[[Path], dict[str, Step]]) -> str:
        """Make a job of results that exist, once for each token; its id.

        `fill` writes the folders of the runs and says what each run is.
        """
        with self._deciding():
            known = self._known(token)
            if known is not None:
                return known
            state = _planned(plan, token)
            aside = self._aside(plan, state)
            for run_id, step in fill(aside).items():
                state = state.run_moved(run_id, step)
            write_state(aside, state.moved(Step.DONE, reason=IMPORTED))
            aside.rename(self.job(state.job_id))
            return state.job_id

    def _begin(self, plan: Plan, token: str, start: Callable[[Path], Mark]) -> str:
        state = _planned(plan, token)
        aside = self._aside(plan, state)
        write_state(aside, state)
        folder = aside.rename(self.job(state.job_id))
        try:
            runner = start(folder)
        except OSError as error:
            self._finish(folder, f"{NEVER_STARTED}: {error}")
            raise BenchmarkError(f"{NEVER_STARTED}: {error}") from error
        write_json(folder / "runner.json", runner)
        (self.folder / "targets").mkdir(exist_ok=True)
        for key in targets_of(plan):
            write_json(self._target(key), Holder(state.job_id, runner))
        return state.job_id

    def _known(self, token: str) -> str | None:
        """The job that a token has made; what a killed launch left half made is no job."""
        found = next((self.folder / "jobs").glob(f"[0-9]*-{_digest(token)}"), None)
        return None if found is None else found.name

    def _aside(self, plan: Plan, state: JobState) -> Path:
        aside = self.folder / "jobs" / f".{state.job_id}"
        shutil.rmtree(aside, ignore_errors=True)
        (aside / "runs").mkdir(parents=True)
        (aside / "plan.json").write_text(plan_text(plan), encoding="utf-8")
        return aside

    def cancel(self, job_id: str) -> None:
        """Ask a job to end; a finished one stays as it is."""
        read_state(self.job(job_id))
        (self.job(job_id) / "cancel").touch()

    def runner_of(self, job_id: str) -> Mark | None:
        """Who runs a job; None where nobody was started."""
        try:
            content = (self.job(job_id) / "runner.json").read_bytes()
            return msgspec.json.decode(content, type=Mark)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def sweep(self) -> list[str]:
        """Finish what dead runners left, truthfully; which jobs that were.

        Runs that were done stay done, the one under way failed, the rest were not run. What
        the runner had started is ended. A living runner is left alone.
        """
        if not (self.folder / "jobs").exists():
            return []
        with self._deciding():
            return self._finish_dead()

    def claimed_by_me(self, job_id: str) -> bool:
        """Whether this process is the runner that was recorded; waits for the record."""
        with self._deciding():
            return self.runner_of(job_id) == own_mark()

    def release(self, job_id: str) -> None:
        """Give the targets of a finished job free."""
        with self._deciding():
            self._release(job_id)

    def _finish_dead(self) -> list[str]:
        finished = []
        for state in self.all():
            if state.ended:
                continue
            runner = self.runner_of(state.job_id)
            if runner is None or not is_alive(runner):
                reason = NEVER_STARTED if runner is None else RUNNER_DIED
                self._finish(self.job(state.job_id), reason)
                finished.append(state.job_id)
        return finished

    def _finish(self, folder: Path, reason: str) -> None:
        for run_folder in (*(folder / "runs").iterdir(), folder / MAKING):
            for mark in recorded(run_folder):
                stop_left(mark)
            scrub_all(run_folder, self.settings)
            with contextlib.suppress(BenchResultError):
                keep_result(run_folder)
        shutil.rmtree(folder / MAKING, ignore_errors=True)
        state = read_state(folder).closed(Step.FAILED, reason=reason)
        write_state(folder, state.moved(Step.FAILED, reason=reason))
        self._release(folder.name)

    def _release(self, job_id: str) -> None:
        for path in (self.folder / "targets").glob("*.json"):
            holder = _holder(path)
            if holder is None or holder.job_id == job_id:
                path.unlink(missing_ok=True)

    def _refuse_busy(self, plan: Plan) -> None:
        for key in targets_of(plan):
            holder = _holder(self._target(key))
            if holder is not None and is_alive(holder.runner):
                raise BenchBusyError(f"{key} is held by job {holder.job_id}")

    def _target(self, key: str) -> Path:
        return self.folder / "targets" / f"{_digest(key)}.json"

    @contextlib.contextmanager
    def _deciding(self) -> Iterator[None]:
        """One launch, sweep or release at a time; a killed one lets go by itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "launch.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _planned(plan: Plan, token: str) -> JobState:
    now = time.time()
    job_id = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{_digest(token)}"
    runs = tuple(RunState(run.run_id) for run in runs_of(plan))
    return JobState(job_id, plan.name, token, now, runs, since={Step.PLANNED: now})


def _refuse_hopeless(plan: Plan, settings: Settings) -> None:
    """A plan whose own check says that nothing may be started."""
    asks = any(name.startswith("xxhash") for name in plan.hash_algorithms)
    known = Known(xxhash_installed=has_xxhash(settings) if asks else None)
    wrong = [one for one in check(plan, known).findings if one.level is Level.ERROR]
    if wrong:
        raise BenchPlanError(" ".join(say(f"bench_topic.{x.topic}", **x.values) for x in wrong))


def targets_of(plan: Plan) -> tuple[str, ...]:
    """What no other job may use meanwhile: this machine, or each given server."""
    if plan.target is Target.MANAGED:
        return (Target.MANAGED.value,)
    return tuple(url.rstrip("/").lower() for url in (plan.off_url, plan.on_url) if url)


def plan_of(folder: Path) -> Plan:
    """The plan of a job's folder.

    Raises
    ------
    BenchResultError
        The folder holds none.
    """
    try:
        text = (folder / "plan.json").read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BenchResultError(f"{folder} holds no plan.json") from error
    return plan_of_text(text)


def _holder(path: Path) -> Holder | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
