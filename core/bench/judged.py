"""Judging a job's folder: nothing is launched, so it can be done again at any time."""

from dataclasses import dataclass, replace
from pathlib import Path

from core.bench.evidence import evidence_of
from core.bench.jobs import plan_of
from core.bench.processes import write_json
from core.bench.prompts import prompts_of
from core.bench.state import FINAL, read_state
from core.domain.bench.configuration import version_of
from core.domain.bench.judge import Row, Verdict, judge
from core.domain.bench.panel import Judged, Panel
from core.domain.bench.panels import panels_of
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
    """The runs that were begun and are over, judged; and what their pairs say together.

    One that is under way is no failure yet.

    Raises
    ------
    BenchResultError
        It is no folder of a job.
    """
    plan = plan_of(folder)
    over = {run.run_id for run in read_state(folder).runs if run.step in FINAL}
    begun = [run for run in runs_of(plan) if (folder / "runs" / run.run_id).is_dir()]
    runs = tuple(
        judged_run(plan, run, folder / "runs" / run.run_id) for run in begun if run.run_id in over
    )
    return Judgement(plan, runs, panels_of(runs, seed=plan.seed))


def judged_run(plan: Plan, run: Run, folder: Path) -> Judged:
    """One run, judged by what its folder holds.

    Raises
    ------
    BenchResultError
        What was seen of the run is no record of ours.
    """
    seen = evidence_of(folder, run.run_id)
    prompts = prompts_of(folder.parent.parent, plan, run, version=version_of(seen))
    evidence = replace(seen, prompts=prompts)
    return Judged(run, evidence, judge(plan, run, evidence))
