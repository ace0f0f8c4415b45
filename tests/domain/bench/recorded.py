"""Recorded benchmarks as evidence."""

import json
from pathlib import Path

from core.domain.bench.plan import Dataset, Pair, Plan, Run, Workload
from core.domain.bench.result import RunEvidence, Snapshot
from core.errors import BenchResultError
from core.sources.vllm_bench import read_metrics, read_result, read_server_log
from tests.domain.bench.plans import plan_of

ROOT = Path(__file__).parents[2] / "recordings" / "vllm_bench"
PAIRS = {
    "A/B": Pair("A", "B", Workload(Dataset.RANDOM, 0, 2048, 16, 30)),
    "C/D": Pair("C", "D", Workload(Dataset.PREFIX_REPETITION, 2048, 64, 16, 30)),
    "E/F": Pair("E", "F", Workload(Dataset.RANDOM, 2000, 2048, 16, 30)),
}
PLAN = plan_of(*PAIRS.values(), template_tokens=3)
FAILURES = {
    line["name"]: line
    for line in map(json.loads, (ROOT / "0.32.0/failures/index.jsonl").read_text().splitlines())
}


def snapshot(version: str, tag: str, when: str) -> Snapshot | None:
    """One recorded scrape, if there is one."""
    file = ROOT / version / "metrics" / f"{tag}_{when}.prom"
    return read_metrics(file.read_text()) if file.exists() else None


def run_of_case(case: str, concurrency: int) -> Run:
    """The run of a case, as its plan has it."""
    pair = next(pair for pair in PAIRS.values() if case in {pair.off, pair.on})
    name = f"{case}_c{concurrency}"
    return Run(name, pair, case == pair.on, concurrency, 1, 0)


def recorded(version: str, tag: str) -> tuple[Run, RunEvidence]:
    """A recorded run and what is known of it: 'D_c8', 'D_c8_warm'."""
    run = run_of_case(tag[0], int(tag[3]))
    log = {
        "0.32.0": f"server_bench_prefix_caching_{'on' if run.caching else 'off'}.log",
        "0.26.0": f"server_{'D' if run.caching else 'C'}.log",
    }[version]
    return run, RunEvidence(
        tag,
        0,
        result=read_result(ROOT / version / "bench" / f"{tag}.json"),
        before=snapshot(version, tag, "before"),
        after=snapshot(version, tag, "after"),
        log=read_server_log((ROOT / version / "logs" / log).read_text()),
        warm=False,
    )


def failed(name: str, workload: Workload) -> tuple[Plan, Run, RunEvidence]:
    """A run that went wrong, planned as it was asked for, at concurrency 4."""
    pair = Pair("off", "on", workload)
    run = Run(name, pair, caching=True, concurrency=4, repeat=1, seed=0)
    folder = ROOT / "0.32.0" / "failures"
    result, why = None, None
    try:
        result = read_result(folder / f"{name}.json")
    except BenchResultError as error:
        why = str(error)
    evidence = RunEvidence(
        name,
        FAILURES[name]["exit_code"],
        result=result,
        result_error=why,
        last_output=(folder / f"{name}.stderr.txt").read_text(),
    )
    return plan_of(pair, template_tokens=3), run, evidence
