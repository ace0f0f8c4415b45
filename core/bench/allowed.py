"""What may be launched here: the switch, the targets, and the flags of a server."""

import re
import shutil

from core.config import Settings
from core.domain.bench.plan import Plan, Target
from core.domain.bench.refusals import refuse
from core.errors import BenchRefusedError

TUNING_FLAGS = frozenset(
    {
        "--aggregate-engine-logging",
        "--block-size",
        "--data-parallel-size",
        "--disable-access-log-for-endpoints",
        "--dtype",
        "--enable-chunked-prefill",
        "--no-enable-chunked-prefill",
        "--enable-prompt-tokens-details",
        "--enforce-eager",
        "--gpu-memory-utilization",
        "--kv-cache-dtype",
        "--kv-cache-memory-bytes",
        "--kv-cache-metrics",
        "--kv-cache-metrics-sample",
        "--max-num-batched-tokens",
        "--max-num-seqs",
        "--num-gpu-blocks-override",
        "--pipeline-parallel-size",
        "--prefix-cache-retention-interval",
        "--prefix-match-unit",
        "--quantization",
        "--seed",
        "--tensor-parallel-size",
    }
)
"""Flags of `vllm serve` that any plan may use. Others can load code or read files, so they are
allowed by name in PREFIXWATCH_BENCH_SERVE_FLAGS."""
LOADING = re.compile(
    r"PLUGIN|INJECT|PATH|DIR|HOME|ROOT|FOLDER|FILE|LIB|LOAD|ENDPOINT|INSECURE|TRUST|CONFIG"
)
"""Variables that can make a program load a file or ask another host."""


def refuse_unless_allowed(plan: Plan, settings: Settings) -> None:
    """Let a plan pass that can be made into commands and that the settings allow.

    Raises
    ------
    BenchPlanError
        The plan is refused wherever it is to run.
    BenchRefusedError
        Names the setting that would allow it.
    """
    refuse(plan)
    if not settings.bench_launch:
        raise BenchRefusedError("launching is off: PREFIXWATCH_BENCH_LAUNCH is not true")
    _targets(plan, settings)
    known = TUNING_FLAGS | set(settings.bench_serve_flags)
    for argument in plan.serve.arguments:
        if argument.startswith("-") and argument.partition("=")[0] not in known:
            raise BenchRefusedError(
                f"{argument!r} is not one of the flags that PREFIXWATCH_BENCH_SERVE_FLAGS allows"
            )
    for name, _ in (*plan.serve.environment, *plan.bench_environment):
        if LOADING.search(name):
            raise BenchRefusedError(f"a plan may not set {name}; set it where the app is started")
    if shutil.which(settings.bench_vllm) is None:
        raise BenchRefusedError(f"PREFIXWATCH_BENCH_VLLM: no program {settings.bench_vllm!r} here")


def _targets(plan: Plan, settings: Settings) -> None:
    allowed = {_address(target) for target in settings.bench_targets}
    wanted = [plan.off_url, plan.on_url] if plan.target is Target.GIVEN else [Target.MANAGED]
    for target in wanted:
        if target is None or _address(target) not in allowed:
            raise BenchRefusedError(f"{target} is not one of PREFIXWATCH_BENCH_TARGETS")
    if len({_address(str(target)) for target in wanted}) != len(wanted):
        raise BenchRefusedError(f"OFF and ON are the same server: {plan.off_url}")


def _address(target: str) -> str:
    return target.rstrip("/").lower()
