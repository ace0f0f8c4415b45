"""The Benchmarks page: jobs, the chosen one judged from its evidence, and results over time."""

from dataclasses import dataclass
from functools import lru_cache

import msgspec

from core.cache.store import Row, Store
from core.domain.bench.expectation import Range
from core.domain.bench.judge import RunVerdict, judge
from core.domain.bench.panel import Judged, Panel
from core.domain.bench.panels import expected_hits_of, panels_of
from core.domain.bench.plan import Plan, Run
from core.domain.bench.plan_file import plan_of_text
from core.domain.bench.result import RunEvidence, Scraped
from core.domain.bench.runs import runs_of
from core.domain.scope import Scope
from core.views.bench_history import History, load_history

OVER = ("done", "failed", "cancelled", "not run")
"""States of a run in which nothing more happens."""


@dataclass(frozen=True)
class JobLine:
    """One job of the list; `judged` and `valid` count its runs."""

    job_id: str
    name: str
    state: str
    origin: str
    model: str
    target: str
    runs: int
    created_at: float
    ended_at: float | None
    reason: str | None
    valid: int
    judged: int


@dataclass(frozen=True)
class RunLine:
    """One planned run: how far it came, and what it is; None where it was not judged."""

    run: Run
    state: str
    reason: str | None
    verdict: RunVerdict | None
    last_output: str | None
    prometheus: Scraped | None = None


@dataclass(frozen=True)
class PanelLine:
    """A panel, its hash algorithm, and the hit tokens that its runs may have had."""

    panel: Panel
    hash_algorithm: str | None
    expected_hits: Range | None


@dataclass(frozen=True)
class JobShown:
    """The chosen job."""

    job_id: str
    plan: Plan
    runs: tuple[RunLine, ...]
    panels: tuple[PanelLine, ...]

    @property
    def troubled(self) -> tuple[RunLine, ...]:
        """Runs that are over and not valid: judged so, never run, or without a readable record."""
        return tuple(
            one
            for one in self.runs
            if (one.verdict is None and one.state in OVER)
            or (one.verdict is not None and not one.verdict.is_valid)
        )


@dataclass(frozen=True)
class BenchmarksView:
    """Everything the page shows of what is in the cache.

    `other_models` counts jobs that the scope's model leaves out.
    """

    jobs: tuple[JobLine, ...]
    other_models: int
    job: JobShown | None
    history: History


def build(store: Store, scope: Scope, now: float, wanted: str | None) -> BenchmarksView:
    """Read the jobs of the scope's model, judge the wanted one (else the newest), and compare.

    The panels are computed from the evidence in the cache: by the rules of today.
    """
    model = {"of_model": scope.model}
    jobs = tuple(JobLine(*row) for row in store.read("bench_jobs_list", model))
    return BenchmarksView(
        jobs=jobs,
        other_models=store.read("bench_other_models", model)[0].jobs,
        job=_chosen(store, jobs, wanted),
        history=load_history(store, scope.model, now),
    )


def _chosen(store: Store, jobs: tuple[JobLine, ...], wanted: str | None) -> JobShown | None:
    judged = [job for job in jobs if job.judged]
    found = [job for job in jobs if job.job_id == wanted] or judged or list(jobs)
    return load_job(store, found[0].job_id) if found else None


def load_job(store: Store, job_id: str) -> JobShown | None:
    """One job from the cache, its runs judged and its pairs compared; None for a job unknown."""
    found = store.read("bench_job", {"job_id": job_id})
    if not found:
        return None
    rows = {row.run_id: row for row in store.read("bench_job_runs", {"job_id": job_id})}
    texts = tuple((run_id, row.evidence) for run_id, row in rows.items() if row.evidence)
    plan, judged, panels = _compared(found[0].plan, texts)
    by_id = {one.run.run_id: one for one in judged}
    runs = [run for run in runs_of(plan) if run.run_id in rows]
    lines = tuple(_line(run, rows[run.run_id], by_id.get(run.run_id)) for run in runs)
    return JobShown(job_id, plan, lines, panels)


@lru_cache(maxsize=8)
def _compared(
    plan_text: str, evidence: tuple[tuple[str, str], ...]
) -> tuple[Plan, tuple[Judged, ...], tuple[PanelLine, ...]]:
    """A plan, its judged runs and what their pairs say; kept, as resampling takes its time."""
    plan, texts = plan_of_text(plan_text), dict(evidence)
    judged = tuple(
        _judged(plan, run, texts[run.run_id]) for run in runs_of(plan) if run.run_id in texts
    )
    panels = panels_of(judged, seed=plan.seed)
    return plan, judged, tuple(_panel_line(one) for one in panels)


def _judged(plan: Plan, run: Run, text: str) -> Judged:
    evidence = msgspec.json.decode(text, type=RunEvidence)
    return Judged(run, evidence, judge(plan, run, evidence))


def _line(run: Run, row: Row, judged: Judged | None) -> RunLine:
    if judged is None:
        return RunLine(run, row.state, row.reason, None, None)
    seen = judged.evidence
    return RunLine(run, row.state, row.reason, judged.verdict, seen.last_output, seen.prometheus)


def _panel_line(one: Panel) -> PanelLine:
    return PanelLine(one, one.pairs[0].on.run.hash_algorithm, expected_hits_of(one))
