"""The runner of a job: one run after the other, each on a server that is checked first.

A run that fails is recorded with its reason, and the next one begins. Whatever happens,
what was started has ended before the next step.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from core.bench.evidence import AFTER, BEFORE, Seen, read_seen, write_seen
from core.bench.jobs import plan_of
from core.bench.judged import judge_job
from core.bench.processes import Ended, hold, write_whole
from core.bench.programs import argument_list, environment_of
from core.bench.prompts import make_prompts
from core.bench.results import WRITTEN, keep_result
from core.bench.scraped import ask_prometheus
from core.bench.server import ARGUMENTS, Ready, given_server, managed_server, verify_given
from core.bench.state import JobState, RunState, Step, read_state, write_state
from core.bench.tails import last_words, masked, scrub_all
from core.bench.watch import CancelledError, Watch
from core.config import Settings
from core.domain.bench.commands import bench_command, displayed
from core.domain.bench.plan import Run, Target
from core.domain.bench.runs import runs_of
from core.errors import BenchFailedError, BenchmarkError, BenchServerError

log = logging.getLogger(__name__)

SETTLE_PAUSE_S, SETTLE_MOST_S = 0.2, 5.0
"""An engine counts a request a moment after its client has the last token."""
AFTER_DEATH_S = 10.0
"""So long a benchmark may go on without its server: to say itself what failed."""
SERVERS_IN_A_ROW = 3
"""After so many servers that did not start one after the other, no more are tried."""


Tell = Callable[[RunState], None]
"""Told of a run at each of its steps."""


class Runner:
    """Makes the runs of one job; its state on disk is always as far as the work is."""

    def __init__(self, folder: Path, settings: Settings, tell: Tell) -> None:
        self.folder = folder
        self._tell = tell
        self.settings = settings
        self.plan = plan_of(folder)
        self.state = read_state(folder)
        self.watch = Watch(folder)

    def run(self) -> JobState:
        """Make all runs; the state that the job ended in."""
        self._keep(self.state.moved(Step.RUNNING))
        try:
            self._all_runs()
            self._finish()
        except CancelledError as error:
            self._close(Step.CANCELLED, str(error))
        except (BenchmarkError, OSError) as error:
            log.exception("the job ends")
            self._close(Step.FAILED, masked(str(error), self.settings))
        return self.state

    def _all_runs(self) -> None:
        if self.plan.target is Target.GIVEN:
            verify_given(self.plan, self.settings)
        in_a_row = 0
        for run in runs_of(self.plan):
            self.watch.check()
            error = self._one(run)
            unstarted = isinstance(error, BenchServerError)
            in_a_row = in_a_row + 1 if unstarted else 0
            if error is not None and in_a_row == SERVERS_IN_A_ROW:
                raise BenchServerError(f"{in_a_row} servers in a row failed, the last: {error}")

    def _one(self, run: Run) -> BenchmarkError | None:
        """Make one run and record it; the error it failed with."""
        made = OneRun(run, self)
        try:
            made.make()
        except CancelledError as error:
            made.end(failure=str(error), cancelled=True)
            self.step(run, Step.CANCELLED, reason=str(error))
            raise
        except BenchmarkError as error:
            text = masked(str(error), self.settings)
            made.end(failure=text, last_output=getattr(error, "last_output", None))
            self.step(run, Step.FAILED, reason=text)
            return error
        except OSError:
            made.clear()
            raise
        made.end()
        self.step(run, Step.DONE)
        return None

    def step(self, run: Run, step: Step, *, reason: str | None = None) -> None:
        """Keep that a run is at its next step."""
        self._keep(self.state.run_moved(run.run_id, step, reason=reason))
        self._tell(next(one for one in self.state.runs if one.run_id == run.run_id))

    def _finish(self) -> None:
        self._keep(self.state.moved(Step.JUDGING))
        if self.state.count(Step.DONE):
            with contextlib.suppress(CancelledError):
                make_prompts(self.folder, self.settings, pause=self.watch.pause)
        judge_job(self.folder)
        failed, of = self.state.count(Step.FAILED), len(self.state.runs)
        reason = f"{failed} of {of} runs failed" if failed else None
        self._keep(self.state.moved(Step.FAILED if failed == of else Step.DONE, reason=reason))

    def _close(self, step: Step, reason: str) -> None:
        self._keep(self.state.closed(step, reason=reason).moved(step, reason=reason))

    def _keep(self, state: JobState) -> None:
        self.state = state
        write_state(self.folder, state)


class OneRun:
    """One run in its folder."""

    def __init__(self, run: Run, runner: Runner) -> None:
        self.run = run
        self.runner = runner
        self.settings = runner.settings
        self.folder = runner.folder / "runs" / run.run_id
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seen = Seen(
            run.run_id,
            run.case,
            caching=run.caching,
            concurrency=run.concurrency,
            repeat=run.repeat,
            seed=run.seed,
            hash_algorithm=run.hash_algorithm,
        )

    def make(self) -> None:
        """Start or take a server, measure, read the counters on both sides.

        Raises
        ------
        BenchmarkError
            Why there is no measurement.
        CancelledError
            The job is to end.
        """
        with self._server() as ready:
            self.seen = replace(
                self.seen,
                served=ready.served,
                reset=ready.reset,
                warm=self._warm(ready),
            )
            self._counters(ready, BEFORE)
            ended = self._benchmark(ready)
            self.runner.step(self.run, Step.SCRAPING)
            counted_at = self._after(ready, ended)
            keep_result(self.folder)
            self._ask_prometheus(ready, counted_at)

    def end(
        self,
        *,
        failure: str | None = None,
        last_output: str | None = None,
        cancelled: bool = False,
    ) -> None:
        """Keep what was seen; no text that the model wrote and no secret stays."""
        if failure is not None:
            self.clear()
        else:
            scrub_all(self.folder, self.settings)
        serve = self.folder / ARGUMENTS
        self.seen = replace(
            self.seen,
            failure=failure,
            last_output=last_output,
            cancelled=cancelled,
            serve_arguments=tuple(json.loads(serve.read_bytes())) if serve.exists() else None,
        )
        write_seen(self.folder, self.seen)

    def clear(self) -> None:
        """Whatever became of the run: no text that the model wrote and no secret stays."""
        scrub_all(self.folder, self.settings)
        with contextlib.suppress(BenchmarkError):
            keep_result(self.folder)

    def _server(self) -> "contextlib.AbstractContextManager[Ready]":
        runner = self.runner
        if runner.plan.target is Target.GIVEN:
            runner.step(self.run, Step.WAITING)
            return given_server(runner.plan, self.run, settings=self.settings)
        runner.step(self.run, Step.STARTING)
        return managed_server(
            runner.plan, self.run, self.folder, settings=self.settings, watch=runner.watch
        )

    def _warm(self, ready: Ready) -> bool | None:
        """Whether prompts of this run may be cached already.

        A pair on given servers has a seed of its own: where they allow no reset, the prompts
        are new unless an earlier job has sent them.
        """
        if ready.started_for_run or not self.run.caching:
            return False
        if ready.reset is None or ready.reset.said is None:
            sent = (read_seen(path.parent) for path in self._other_evidence())
            return True if any(self._same_prompts(seen, ready) for seen in sent) else None
        return not ready.reset.said

    def _other_evidence(self) -> Iterator[Path]:
        return self.runner.folder.parent.glob("*/runs/*/evidence.json")

    def _same_prompts(self, seen: Seen | None, ready: Ready) -> bool:
        return (
            seen is not None
            and seen.started_at is not None
            and seen.served is not None
            and (seen.served.url, seen.case, seen.seed)
            == (ready.served.url, self.run.case, self.run.seed)
        )

    def _benchmark(self, ready: Ready) -> Ended:
        """Run `vllm bench serve` to its end, its limit, or its server's death."""
        runner = self.runner
        command = bench_command(
            runner.plan, self.run, ready.endpoint.url, (self.folder / WRITTEN).resolve()
        )
        arguments = argument_list(command, self.settings)
        text = displayed(command)
        (self.folder / "command.txt").write_text(text + "\n", encoding="utf-8")
        runner.step(self.run, Step.BENCHMARKING)
        self.seen = replace(self.seen, bench_arguments=tuple(arguments), started_at=time.time())
        held = hold(
            arguments,
            self.folder,
            name="bench",
            environment=environment_of(command, self.settings),
        )
        end = time.monotonic() + runner.plan.run_limit_s
        trouble = None
        try:
            while held.ended is None:
                died = ready.problem()
                if died is not None and trouble is None:
                    trouble = f"{died} during the run"
                    end = min(end, time.monotonic() + AFTER_DEATH_S)
                if time.monotonic() > end:
                    trouble = trouble or f"not done after {runner.plan.run_limit_s:g} s"
                    break
                runner.watch.pause()
        finally:
            stopped = held.ended is None
            ended = held.stop()
            self.seen = replace(
                self.seen, ended_at=ended.ended_at, exit_status=ended.status, stopped=stopped
            )
        if trouble is not None:
            self.seen = replace(self.seen, over_time=ready.problem() is None)
            kind = BenchFailedError if ready.problem() is None else BenchServerError
            raise kind(trouble, exit_code=ended.status, last_output=self._last_words())
        return ended

    def _after(self, ready: Ready, ended: Ended) -> float:
        """Counters after the run, then its exit status; when the counters had settled."""
        self._counters(ready, AFTER)
        counted_at = time.time()
        self.seen = replace(self.seen, served_after=ready.endpoint.served())
        if ended.status != 0:
            raise BenchFailedError(
                f"vllm bench serve ended with status {ended.status}",
                exit_code=ended.status,
                last_output=self._last_words(),
            )
        return counted_at

    def _ask_prometheus(self, ready: Ready, counted_at: float) -> None:
        """What Prometheus counted meanwhile, while the server can still be scraped."""
        started_at = self.seen.started_at
        if started_at is None:
            return
        found = ask_prometheus(
            self.settings,
            ready.endpoint.url,
            start=started_at,
            end=counted_at,
            watch=self.runner.watch,
        )
        self.seen = replace(self.seen, prometheus=found)

    def _counters(self, ready: Ready, name: str) -> None:
        text = ready.endpoint.settled_metrics(pause_s=SETTLE_PAUSE_S, most_s=SETTLE_MOST_S)
        write_whole(self.folder / name, text.encode())

    def _last_words(self) -> str:
        files = (self.folder / f"bench.{end}" for end in ("stdout", "stderr"))
        return last_words(*files, settings=self.settings)
