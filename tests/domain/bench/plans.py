"""Plans that tests start from."""

from core.domain.bench.plan import Pair, Plan, Run, Workload
from core.domain.bench.presets import guide, small

GUIDE = guide("llama-3.1-70b", "/models/llama")
SMALL = small("tiny-llama", "tiny-llama-model", weights="tiny-llama-model")


def run_of(
    workload: Workload, *, caching: bool = True, concurrency: int = 8, repeat: int = 1
) -> Run:
    """One run of a workload that stands for itself."""
    case = "on" if caching else "off"
    pair = Pair("off", "on", workload)
    return Run(f"001-{case}-c{concurrency}-r{repeat}", pair, caching, concurrency, repeat, 0)


def plan_of(*pairs: Pair, **more: object) -> Plan:
    """A plan of some pairs on tiny-llama."""
    return Plan("tests", pairs, "tiny-llama", "tiny-llama-model", (8,), **more)
