"""A plan from what a form holds, and everything to see of it before its launch."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from core.cache.store import Store
from core.domain.bench.check import Known, PlanCheck, check
from core.domain.bench.commands import OURS, bench_command, displayed, serve_command
from core.domain.bench.plan import Dataset, Pair, Plan, Run, Target, Workload
from core.domain.bench.refusals import refuse
from core.domain.bench.runs import in_order, runs_of
from core.domain.gauges import rate_per_s
from core.errors import BenchPlanError

PORT = 8000
"""Stands in shown commands for the free port that is chosen at launch."""
SIZES = ("off", "on", "dataset", "prefix", "suffix", "output", "prompts", "prefixes")


@dataclass(frozen=True)
class Asked:
    """What the form holds, as it was typed."""

    model: str
    tokenizer: str
    weights: str
    sizes: Sequence[Mapping[str, Any]]
    concurrency: str
    repeats: int
    seed: int
    hash_algorithms: Sequence[str]
    max_model_len: int | None
    serve_arguments: str
    target: Target
    off_url: str | None
    on_url: str | None


@dataclass(frozen=True)
class PlannedCommands:
    """Commands of one run as one would type them; secrets are not in them."""

    run: Run
    serve: str | None
    bench: str


@dataclass(frozen=True)
class PlanShown:
    """A plan before its launch."""

    plan: Plan
    check: PlanCheck
    commands: tuple[PlannedCommands, ...]
    ours: tuple[str, ...]


def sizes_of(plan: Plan) -> list[dict[str, Any]]:
    """The workloads of a plan as rows that a person may edit."""
    return [
        {
            "off": pair.off,
            "on": pair.on,
            "dataset": pair.workload.dataset.value,
            "prefix": pair.workload.prefix_tokens,
            "suffix": pair.workload.suffix_tokens,
            "output": pair.workload.output_tokens,
            "prompts": pair.workload.prompts,
            "prefixes": pair.workload.prefixes,
        }
        for pair in in_order(plan.pairs)
    ]


def plan_asked(base: Plan, asked: Asked) -> Plan:
    """The base with everything that the form holds in its place.

    Raises
    ------
    BenchPlanError
        Something typed is no number or no argument list, or a plan may not say it.
    """
    plan = replace(
        base,
        model=asked.model.strip(),
        tokenizer=asked.tokenizer.strip(),
        weights=asked.weights.strip() or None,
        pairs=tuple(_pair(row) for row in asked.sizes),
        concurrency=_whole_numbers("concurrency", asked.concurrency),
        repeats=asked.repeats,
        seed=asked.seed,
        hash_algorithms=tuple(asked.hash_algorithms),
        target=asked.target,
        off_url=asked.off_url if asked.target is Target.GIVEN else None,
        on_url=asked.on_url if asked.target is Target.GIVEN else None,
        serve=replace(
            base.serve,
            arguments=_arguments(asked.serve_arguments),
            max_model_len=asked.max_model_len,
        ),
    )
    refuse(plan)
    return plan


def look_at(store: Store, plan: Plan, *, xxhash_installed: bool | None) -> PlanShown:
    """Check a plan with what earlier runs of its model tell: speed, start time, match unit.

    Raises
    ------
    BenchPlanError
        For what a plan may not say at all.
    """
    found = store.read("bench_speed", {"of_model": plan.model})[0]
    known = Known(
        xxhash_installed=xxhash_installed,
        hits_seen=bool(found.hits),
        match_unit=found.match_unit,
        tokens_per_s=_mean(found.tokens, found.duration_s),
        start_s=_mean(found.overhead_s, found.overheads),
    )
    return PlanShown(plan, check(plan, known), tuple(_commands(plan)), OURS)


def _mean(total: float | None, of: float | None) -> float | None:
    return None if total is None or of is None else rate_per_s(total, of)


def _commands(plan: Plan) -> list[PlannedCommands]:
    return [
        PlannedCommands(
            run,
            displayed(serve_command(plan, run, PORT)) if plan.target is Target.MANAGED else None,
            displayed(bench_command(plan, run, _url(plan, run), PurePath("RUN", "result.json"))),
        )
        for run in runs_of(plan)
    ]


def _url(plan: Plan, run: Run) -> str:
    given = plan.on_url if run.caching else plan.off_url
    return given if plan.target is Target.GIVEN and given else f"http://127.0.0.1:{PORT}"


def _pair(row: Mapping[str, Any]) -> Pair:
    missing = [name for name in SIZES if row.get(name) in (None, "")]
    if missing:
        raise BenchPlanError(f"a pair of the table has no {', '.join(missing)}")
    if row["dataset"] not in list(Dataset):
        raise BenchPlanError(f"no dataset is called {row['dataset']!r}")
    work = Workload(
        Dataset(row["dataset"]),
        int(row["prefix"]),
        int(row["suffix"]),
        int(row["output"]),
        int(row["prompts"]),
        int(row["prefixes"]),
    )
    return Pair(str(row["off"]), str(row["on"]), work)


def _whole_numbers(field: str, text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    wrong = [word for word in words if not word.isdecimal()]
    if wrong:
        raise BenchPlanError(f"{field} holds {wrong[0]!r}, which is no whole number")
    return tuple(dict.fromkeys(int(word) for word in words))


def _arguments(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BenchPlanError(f"serve arguments: {error}") from error
