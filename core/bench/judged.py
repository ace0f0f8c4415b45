"""Judging a job's folder: nothing is launched, so it can be done again at any time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np

from core.bench.evidence import evidence_of
from core.bench.jobs import plan_of
from core.bench.processes import write_json
from core.bench.state import JobState, read_state
from core.domain.bench.judge import Row, Verdict, judge
from core.domain.bench.panel import (
    Judged,
    Panel,
    RunPair,
    configurations_with_hits,
    panel,
    two_by_two,
)
from core.domain.bench.plan import Plan, Run
from core.domain.bench.runs import runs_of

FILE = "judgement.json"


@dataclass(frozen=True)
class Judgement:
    """What a job is evidence of: its runs one by one, and its pairs."""

    plan: Plan
    runs: tuple[Judged, ...]
    panels: tuple[Panel, ...]

    @property
    def valid(self) -> int:
        """Runs whose figures may be compared."""
        return sum(one.verdict.is_valid for one in self.runs)


@dataclass(frozen=True)
class KeptRun:
    """One run in the kept file."""

    run_id: str
    verdict: Verdict
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Kept:
    """The kept file; panels without the runs behind them."""

    runs: tuple[KeptRun, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class RunRecord:
    """One run as a table would hold it.

    `evidence` is JSON of everything but request-level lists; `rows` of the rules.
    """

    job_id: str
    run_id: str
    case: str
    pair: str
    caching: bool
    concurrency: int
    repeat: int
    hash_algorithm: str | None
    step: str
    reason: str | None
    verdict: Verdict | None
    started_at: float | None
    ended_at: float | None
    rows: str
    evidence: str


@dataclass(frozen=True)
class JobRecord:
    """One job as a table would hold it, its runs with it; `plan` is the file's text."""

    job_id: str
    name: str
    step: str
    reason: str | None
    created_at: float
    plan: str
    runs: tuple[RunRecord, ...]


def judge_job(folder: Path) -> Judgement:
    """Judge what the folder of a job holds, and keep the outcome beside it.

    Raises
    ------
    BenchResultError
        It is no folder of a job.
    """
    judgement = judged(folder)
    runs = tuple(
        KeptRun(one.run.run_id, one.verdict.verdict, one.verdict.rows) for one in judgement.runs
    )
    panels = tuple(replace(one, pairs=()) for one in judgement.panels)
    write_json(folder / FILE, Kept(runs, panels))
    return judgement


def judged(folder: Path) -> Judgement:
    """The runs that were begun, judged; and what their pairs say together.

    Raises
    ------
    BenchResultError
        It is no folder of a job.
    """
    plan = plan_of(folder)
    begun = [run for run in runs_of(plan) if (folder / "runs" / run.run_id).is_dir()]
    runs = tuple(_one(plan, run, folder / "runs" / run.run_id) for run in begun)
    pairs = two_by_two(runs)
    proven = configurations_with_hits(pairs)
    rng = np.random.default_rng(plan.seed)
    panels = tuple(panel(group, proven=proven, rng=rng) for group in _groups(pairs))
    return Judgement(plan, runs, panels)


def records_of(folder: Path) -> JobRecord:
    """What a table of jobs and one of runs need of a folder.

    Raises
    ------
    BenchResultError
        It is no folder of a job.
    """
    state = read_state(folder)
    by_id = {one.run.run_id: one for one in judged(folder).runs}
    runs = tuple(_record(state, run, by_id.get(run.run_id)) for run in runs_of(plan_of(folder)))
    text = (folder / "plan.json").read_text(encoding="utf-8")
    return JobRecord(
        state.job_id, state.name, state.step, state.reason, state.created_at, text, runs
    )


def _one(plan: Plan, run: Run, folder: Path) -> Judged:
    evidence = evidence_of(folder, run.run_id)
    return Judged(run, evidence, judge(plan, run, evidence))


def _groups(pairs: Iterable[RunPair]) -> Iterable[Sequence[RunPair]]:
    def what(pair: RunPair) -> tuple[str, int, str]:
        run = pair.on.run
        return run.pair.name, run.concurrency, str(run.hash_algorithm)

    return (tuple(group) for _, group in groupby(sorted(pairs, key=what), key=what))


def _record(state: JobState, run: Run, one: Judged | None) -> RunRecord:
    at = next(each for each in state.runs if each.run_id == run.run_id)
    evidence = None if one is None else _without_lists(one)
    return RunRecord(
        job_id=state.job_id,
        run_id=run.run_id,
        case=run.case,
        pair=run.pair.name,
        caching=run.caching,
        concurrency=run.concurrency,
        repeat=run.repeat,
        hash_algorithm=run.hash_algorithm,
        step=at.step,
        reason=at.reason,
        verdict=None if one is None else one.verdict.verdict,
        started_at=None if one is None else one.evidence.started_at,
        ended_at=None if one is None else one.evidence.ended_at,
        rows=_text(() if one is None else one.verdict.rows),
        evidence=_text(evidence),
    )


def _without_lists(one: Judged) -> object:
    result = one.evidence.result
    if result is None:
        return one.evidence
    return replace(one.evidence, result=replace(result, requests=None))


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
