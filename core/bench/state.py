"""What a job says of itself while it runs: steps with their times, in one small file."""

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from core.bench.processes import write_json
from core.errors import BenchResultError

FILE = "state.json"


class Step(StrEnum):
    """Where a job or one of its runs stands."""

    PLANNED = "planned"
    STARTING = "starting server"
    WAITING = "waiting for server"
    BENCHMARKING = "benchmarking"
    SCRAPING = "scraping"
    JUDGING = "judging"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_RUN = "not run"


FINAL = frozenset({Step.DONE, Step.FAILED, Step.CANCELLED, Step.NOT_RUN})


@dataclass(frozen=True)
class RunState:
    """One run: its step, when each step began, and why it ended as it did."""

    run_id: str
    step: Step = Step.PLANNED
    since: dict[str, float] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True)
class JobState:
    """A job: what it is to do, where it stands, and its runs."""

    job_id: str
    name: str
    token: str
    created_at: float
    runs: tuple[RunState, ...]
    step: Step = Step.PLANNED
    since: dict[str, float] = field(default_factory=dict)
    reason: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.step in FINAL

    def count(self, step: Step) -> int:
        """Runs at one step."""
        return sum(run.step is step for run in self.runs)

    def moved(self, step: Step, *, reason: str | None = None) -> "JobState":
        """The job at its next step, from now."""
        return replace(self, step=step, reason=reason, since=self.since | {step: time.time()})

    def run_moved(self, run_id: str, step: Step, *, reason: str | None = None) -> "JobState":
        """One of its runs at the next step, from now."""
        now = time.time()
        runs = tuple(
            replace(run, step=step, reason=reason, since=run.since | {step: now})
            if run.run_id == run_id
            else run
            for run in self.runs
        )
        return replace(self, runs=runs)

    def closed(self, interrupted: Step, *, reason: str) -> "JobState":
        """No run goes on: the one under way gets a final step, the rest were not run."""
        state = self
        for run in self.runs:
            if run.step is Step.PLANNED:
                state = state.run_moved(run.run_id, Step.NOT_RUN, reason=reason)
            elif run.step not in FINAL:
                state = state.run_moved(run.run_id, interrupted, reason=reason)
        return state


def write_state(folder: Path, state: JobState) -> None:
    """Keep the state; a reader sees the old one or the new one."""
    write_json(folder / FILE, state)


def read_state(folder: Path) -> JobState:
    """The state that was kept last.

    Raises
    ------
    BenchResultError
        There is none, or it is none.
    """
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=JobState)
    except (OSError, msgspec.DecodeError) as error:
        raise BenchResultError(f"{folder.name} holds no state of a job: {error}") from error
