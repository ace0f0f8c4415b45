"""Jobs on their way to the cache: rows made from their folders, left in the inbox.

A folder is stored again whenever its state or the rules of judging change, and only then;
doing it twice changes nothing. The folders stay the truth, the cache can be made anew.
"""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from core.bench import prompts
from core.bench.jobs import IMPORTED, Jobs, plan_of
from core.bench.judged import judged_run
from core.bench.state import FILE, FINAL, JobState, RunState, Step, read_state
from core.cache.inbox import Inbox, rows
from core.domain.bench.configuration import (
    configuration,
    match_unit,
    serve_arguments,
    version_of,
)
from core.domain.bench.judge import hit_tokens
from core.domain.bench.panel import Judged
from core.domain.bench.plan import Plan, Run
from core.domain.bench.runs import runs_of
from core.domain.records import stable_id
from core.errors import BenchmarkError, BenchResultError

log = logging.getLogger(__name__)

SOURCE = "bench"
JUDGED_BY = "3"
"""Raised when rules or columns change: every job is judged and stored again."""
MICROSECONDS = 1_000_000
TTFT_PERCENTILE = 95.0


class Shelf:
    """Job folders of one place, kept in the cache as they change.

    Parameters
    ----------
    known : callable
        Job id -> digest, as the cache holds them now.
    recorded : bool
        The jobs are recordings that came with the program.
    """

    def __init__(
        self,
        jobs: Jobs,
        inbox: Inbox,
        *,
        known: Callable[[], Mapping[str, str]],
        recorded: bool = False,
    ) -> None:
        self.jobs = jobs
        self._inbox = inbox
        self._known = known
        self._recorded = recorded
        self._written: dict[str, str] = {}
        self.unstored: dict[str, str] = {}
        """Jobs that cannot be stored now, and why."""

    def store(self) -> list[str]:
        """Finish what dead runners left, store what changed; ids of the jobs stored now."""
        folders = [path.parent for path in (self.jobs.folder / "jobs").glob(f"[0-9]*/{FILE}")]
        there = {folder.name for folder in folders}
        self.unstored = {name: why for name, why in self.unstored.items() if name in there}
        if not folders:
            return []
        if any(not state.ended for state in self.jobs.all()):
            self.jobs.sweep()
        known = self._known()
        stored = []
        for folder in sorted(folders):
            digest = _digest(folder)
            if digest in (known.get(folder.name), self._written.get(folder.name)):
                continue
            if self._write(folder, digest):
                stored.append(folder.name)
                self._written[folder.name] = digest
        return stored

    def _write(self, folder: Path, digest: str) -> bool:
        try:
            batch = batch_of(folder, digest=digest, recorded=self._recorded, now=time.time())
        except (BenchmarkError, OSError) as error:
            why = str(error)
            if self.unstored.get(folder.name) != why:
                log.exception("job %s cannot be stored, trying again", folder.name)
            self.unstored[folder.name] = why
            return False
        self._inbox.write(SOURCE, {name: rows(name, records) for name, records in batch.items()})
        self.unstored.pop(folder.name, None)
        return True


def batch_of(
    folder: Path, *, digest: str, recorded: bool, now: float
) -> dict[str, list[dict[str, Any]]]:
    """Rows of one job and of all its planned runs.

    Raises
    ------
    BenchmarkError
        It is no folder of a job.
    """
    state, plan = read_state(folder), plan_of(folder)
    stored_at = _micros(now)
    at = {run.run_id: run for run in state.runs}
    if at.keys() != {run.run_id for run in runs_of(plan)}:
        raise BenchResultError(f"{folder.name}: plan.json and {FILE} name other runs")
    runs = [_run_row(folder, plan, run, at[run.run_id], stored_at) for run in runs_of(plan)]
    origin = "recorded" if recorded else "imported" if state.reason == IMPORTED else "launched"
    job = {
        "job_id": folder.name,
        "name": plan.name,
        "state": state.step,
        "origin": origin,
        "model": plan.model,
        "tokenizer": plan.tokenizer,
        "target": plan.target,
        "runs": len(runs),
        "plan": (folder / "plan.json").read_text(encoding="utf-8"),
        "created_at": _micros(state.created_at),
        "digest": digest,
        "stored_at": stored_at,
        "ended_at": _ended(state),
        "reason": None if state.reason == IMPORTED else state.reason,
    }
    return {"bench_jobs": [job], "bench_runs": runs}


def _run_row(
    folder: Path, plan: Plan, run: Run, at: RunState, stored_at: int | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "job_id": folder.name,
        "run_id": run.run_id,
        "pair": run.pair.name,
        "case_name": run.case,
        "caching": run.caching,
        "concurrency": run.concurrency,
        "repeat": run.repeat,
        "seed": run.seed,
        "state": at.step,
        "requests": run.pair.workload.requests,
        "stored_at": stored_at,
        "hash_algorithm": run.hash_algorithm,
        "reason": at.reason,
    }
    begun = folder / "runs" / run.run_id
    if at.step not in FINAL or not begun.is_dir():
        return row
    try:
        judged = judged_run(plan, run, begun)
    except BenchmarkError as error:
        return row | {"verdict": "failed", "reason": error.detail}
    return row | _of_evidence(judged) | (_figures(judged, at) if judged.verdict.is_valid else {})


def _of_evidence(judged: Judged) -> dict[str, Any]:
    evidence = judged.evidence
    settings, arguments = configuration(evidence), serve_arguments(evidence)
    return {
        "verdict": judged.verdict.verdict,
        "broken": ", ".join(dict.fromkeys(row.rule for row in judged.verdict.broken)) or None,
        "match_unit": match_unit(evidence.after),
        "server_version": version_of(evidence),
        "config_digest": None if settings is None else f"{stable_id(settings, arguments):016x}"[:8],
        "file_date": None if evidence.result is None else evidence.result.date,
        "started_at": _micros(evidence.started_at),
        "ended_at": _micros(evidence.ended_at),
        "evidence": msgspec.json.encode(evidence).decode(),
    }


def _figures(judged: Judged, at: RunState) -> dict[str, Any]:
    """Of a valid run: what is unknown in it stays null."""
    result, seen = judged.evidence.result, judged.evidence.increase()
    figures: dict[str, Any] = {}
    if seen is not None:
        figures |= {
            "queries_tokens": _whole(seen.queries_tokens),
            "hits_tokens": _whole(hit_tokens(seen)),
            "prompt_tokens": _whole(seen.prompt_tokens),
            "cached_tokens": _whole(seen.cached_tokens),
            "prefill_time_s": seen.prefill_time_s,
            "prefill_count": _whole(seen.prefill_count),
        }
    if result is not None:
        ttft, e2el = result.ttft, result.e2el
        figures |= {
            "input_tokens": result.total_input_tokens,
            "output_tokens": result.total_output_tokens,
            "ttft_median_ms": None if ttft is None else ttft.median_ms,
            "ttft_p95_ms": None if ttft is None else ttft.percentiles.get(TTFT_PERCENTILE),
            "e2el_median_ms": None if e2el is None else e2el.median_ms,
            "duration_s": result.duration_s,
            "overhead_s": _overhead(at, result.duration_s),
        }
    return figures


def _overhead(at: RunState, duration_s: float) -> float | None:
    """From the first step of a run to its last, without what was measured."""
    begun = [at.since[step] for step in (Step.STARTING, Step.WAITING) if step in at.since]
    done = at.since.get(Step.DONE)
    if not begun or done is None:
        return None
    beside = done - min(begun) - duration_s
    return beside if beside >= 0 else None


def _ended(state: JobState) -> int | None:
    return _micros(state.since.get(state.step)) if state.ended else None


def _digest(folder: Path) -> str:
    content = JUDGED_BY.encode() + (folder / FILE).read_bytes()
    with contextlib.suppress(FileNotFoundError):
        content += (folder / prompts.FILE).read_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _micros(at: float | None) -> int | None:
    return None if at is None else round(at * MICROSECONDS)
