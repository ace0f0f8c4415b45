"""Who is in the simulated fleet, and what happens to it.

The story repeats every `CYCLE_S` seconds after the fleet's epoch. Names, shares
and episodes are here; numbers that follow from them are in `simulate`.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from core.domain.levers import LeverKind
from core.domain.records import Bools, Change, Floats, stable_id

CLUSTER = "demo-seoul"
JOB = "vllm"
SCRAPE_S = 15
MINUTE_S = 60
CYCLE_S = 180 * MINUTE_S


@dataclass(frozen=True)
class Episode:
    """A stretch of every cycle; it may run over the cycle's end."""

    start_s: int
    length_s: int

    def since_start(self, elapsed: Floats) -> Floats:
        """Seconds since it last began, for seconds elapsed since the epoch."""
        since: Floats = (elapsed - self.start_s) % CYCLE_S
        return since

    def covers(self, elapsed: Floats) -> Bools:
        """Whether it is going on."""
        during: Bools = self.since_start(elapsed) < self.length_s
        return during

    def times_begun(self, elapsed: Floats) -> Floats:
        """How often it has begun since the epoch."""
        cycles: Floats = np.floor((elapsed - self.start_s) / CYCLE_S) + 1
        return cycles if self.length_s else np.zeros_like(elapsed)


NEVER = Episode(0, 0)
ALWAYS = Episode(0, CYCLE_S)
SCRAPE_GAP = Episode(70 * MINUTE_S, 4 * MINUTE_S)
CANARY_RESET = Episode(94 * MINUTE_S, 20)
CANARY_TRAFFIC = Episode(95 * MINUTE_S, 30 * MINUTE_S)
AFFINITY = Episode(132 * MINUTE_S, 90 * MINUTE_S)
RESTART = Episode(148 * MINUTE_S, 150)
KV_PRESSURE = Episode(162 * MINUTE_S, 12 * MINUTE_S)


@dataclass(frozen=True)
class Model:
    """One served model. Rates and sizes are those of one engine at mean load.

    `hit_ratio` is by token and warm; `first_token_s` the median of an uncached
    prompt; `external_hit_ratio` the share of local misses that a KV connector
    answers, 0 where there is none.
    """

    name: str
    namespace: str
    requests_per_s: float
    prompt_tokens: int
    hit_ratio: float
    affine_hit_ratio: float
    first_token_s: float
    generation_s: float
    gpu_blocks: int
    external_hit_ratio: float = 0.0


@dataclass(frozen=True)
class Engine:
    """One engine core. Data-parallel engines share pod and address.

    `share` is its load relative to an engine that takes part fully, and
    `affine_share` a further factor under session affinity. `kv_metrics` says
    whether it runs with `--kv-cache-metrics`; `reset` begins where somebody asks
    it to reset its prefix cache.
    """

    model: Model
    pod: str
    instance: str
    engine: str = "0"
    vllm: str = "0.32.0"
    share: float = 1.0
    affine_share: float = 1.0
    traffic: Episode = ALWAYS
    restart: Episode = NEVER
    kv_pressure: Episode = NEVER
    scrape_gap: Episode = NEVER
    kv_metrics: bool = True
    reset: Episode = NEVER

    @property
    def target_labels(self) -> dict[str, str]:
        """Labels that scraping adds."""
        return {
            "cluster": CLUSTER,
            "namespace": self.model.namespace,
            "pod": self.pod,
            "job": JOB,
            "instance": self.instance,
        }

    @property
    def labels(self) -> dict[str, str]:
        """Labels of all its series but `cache_config_info`."""
        return self.target_labels | {"engine": self.engine, "model_name": self.model.name}

    def running_s(self, elapsed: Floats) -> Floats:
        """Seconds since its last start; all engines start at the epoch."""
        if not self.restart.length_s:
            return elapsed
        since_back = (self.restart.since_start(elapsed) - self.restart.length_s) % CYCLE_S
        return np.minimum(elapsed, since_back)

    @property
    def scrape_offset_s(self) -> float:
        """When within the interval its target is scraped, as a server spreads its targets."""
        return stable_id("scrape offset", self.instance) % (SCRAPE_S * 1000) / 1000


QWEN = Model(
    "qwen3-32b",
    namespace="chat",
    requests_per_s=1.2,
    prompt_tokens=3200,
    hit_ratio=0.45,
    affine_hit_ratio=0.78,
    first_token_s=0.42,
    generation_s=22.0,
    gpu_blocks=14_336,
)
SCOUT = Model(
    "llama-4-scout",
    namespace="agents",
    requests_per_s=0.6,
    prompt_tokens=9400,
    hit_ratio=0.62,
    affine_hit_ratio=0.62,
    first_token_s=0.9,
    generation_s=30.0,
    gpu_blocks=24_576,
    external_hit_ratio=0.18,
)
GPT_OSS = Model(
    "gpt-oss-120b",
    namespace="agents",
    requests_per_s=0.9,
    prompt_tokens=5600,
    hit_ratio=0.7,
    affine_hit_ratio=0.7,
    first_token_s=0.55,
    generation_s=25.0,
    gpu_blocks=20_480,
)

FLEET = (
    Engine(QWEN, "qwen3-32b-0", "10.42.3.17:8000", affine_share=1.18),
    Engine(QWEN, "qwen3-32b-1", "10.42.5.9:8000", affine_share=0.94),
    Engine(
        QWEN,
        "qwen3-32b-2",
        "10.42.7.31:8000",
        vllm="0.26.0",
        affine_share=0.88,
        kv_pressure=KV_PRESSURE,
    ),
    Engine(
        QWEN,
        "qwen3-32b-3",
        "10.42.9.4:8000",
        share=0.15,
        traffic=CANARY_TRAFFIC,
        reset=CANARY_RESET,
    ),
    Engine(SCOUT, "llama-4-scout-0", "10.42.11.22:8000"),
    Engine(SCOUT, "llama-4-scout-1", "10.42.12.40:8000", restart=RESTART),
    Engine(SCOUT, "llama-4-scout-2", "10.42.14.6:8000", kv_metrics=False),
    Engine(GPT_OSS, "gpt-oss-120b-0", "10.42.20.13:8000", "0", scrape_gap=SCRAPE_GAP),
    Engine(GPT_OSS, "gpt-oss-120b-0", "10.42.20.13:8000", "1", scrape_gap=SCRAPE_GAP),
)


def demo_changes(epoch: float, now: float) -> list[Change]:
    """The routing changes between a fleet's epoch and now, oldest first.

    No metric shows them: they are what a person would enter in the lever log.
    """
    on = _beginnings(AFFINITY.start_s, now - epoch)
    off = _beginnings((AFFINITY.start_s + AFFINITY.length_s) % CYCLE_S, now - epoch)
    switches = sorted([(at, "on") for at in on] + [(at, "off") for at in off])
    return [_switched(epoch + at, state) for at, state in switches]


def _beginnings(start_s: int, elapsed: float) -> list[int]:
    cycles = max(0, ceil((elapsed - start_s) / CYCLE_S + 1e-9))
    return [start_s + cycle * CYCLE_S for cycle in range(cycles)]


def _switched(at: float, state: str) -> Change:
    return Change(
        lever_id=stable_id("demo", LeverKind.AFFINITY_ROUTING, round(at * 1000)),
        at=at,
        kind=LeverKind.AFFINITY_ROUTING.value,
        origin="entered",
        what=f"session affinity {state}",
        by_whom="demo",
    )
