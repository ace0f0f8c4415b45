"""What a workload must give before it is measured: tokens, hit tokens, and how much faster.

Hit tokens are an interval: requests of the first wave may all miss or share what the first
of them computes. Outside of it something is to be explained; that alone fails no run.
"""

from typing import NamedTuple

from core.domain.bench.plan import Dataset, Plan, Workload
from core.domain.bench.runs import runs_of
from core.domain.match_unit import possible_hit_tokens

RETOKENISED_TOKENS = 2
"""Tokens a request may grow by when its text is cut into tokens again."""


class Range(NamedTuple):
    """Lowest and highest, both included."""

    low: int
    high: int

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


class ExpectedHits(NamedTuple):
    """Hit tokens of a run, and of one later request."""

    prefix_block_tokens: int
    tokens: Range
    prompt_tokens: int

    @property
    def ratio(self) -> tuple[float, float]:
        """Hit tokens over prompt tokens, lowest and highest."""
        return self.tokens.low / self.prompt_tokens, self.tokens.high / self.prompt_tokens


class Ceilings(NamedTuple):
    """How many times less prefill work a request with a cached prefix has, at most."""

    linear: float
    quadratic: float


class ColdStarts(NamedTuple):
    """A run whose first requests find nothing: mean work against none cached, and speed-ups."""

    mean_cost_ratio: float
    mean_speedup: float
    median_speedup: float | None


def expected_hits(
    workload: Workload,
    concurrency: int,
    *,
    block: int,
    engines: int = 1,
    prewarmed: bool = False,
    template_tokens: int = 0,
) -> ExpectedHits:
    """Hit tokens of a run on a cache that holds none of its prompts.

    Parameters
    ----------
    block : int
        Effective match unit, tokens.
    engines : int
        Engines or replicas with a cache of their own that share the requests.
    prewarmed : bool
        A request with a prompt of the run came before it. The repeated prompt can hit beyond
        the shared prefix; that is not in the upper limit.
    template_tokens : int
        What the chat template may put before the prefix, shared by all: raises the upper
        limit only.

    Notes
    -----
    P_b = floor(min(P, L - 1) / B) B. Of n requests with one prefix at least 1 and at most C
    miss on each engine; several prefixes count apart.

    >>> from core.domain.bench.presets import guide_pairs
    >>> pure = expected_hits(guide_pairs()[1].workload, 8, block=16)
    >>> pure.tokens, [round(ratio, 5) for ratio in pure.ratio]
    (Range(low=720896, high=950272), [0.71111, 0.93737])
    """
    prefix, length = workload.prefix_tokens, workload.input_tokens
    usable = possible_hit_tokens(min(prefix + 1, length), block)
    most = possible_hit_tokens(min(prefix + template_tokens + 1, length + template_tokens), block)
    prefixes = workload.prefixes if workload.dataset is Dataset.PREFIX_REPETITION else 1
    each = workload.requests // prefixes
    missing_least = 0 if prewarmed else min(engines, each)
    low = prefixes * max(each - engines * concurrency, 0) * usable
    high = prefixes * (each - missing_least) * most
    return ExpectedHits(usable, Range(low, high), workload.requests * length)


def planned_input(workload: Workload, *, template_tokens: int) -> Range:
    """Input tokens of a whole run: as asked for, up to the chat template's on top.

    >>> from core.domain.bench.presets import random_case
    >>> whole = random_case(0, 2048, output=16, prompts=30)
    >>> planned_input(whole, template_tokens=3), 61_532 in planned_input(whole, template_tokens=3)
    (Range(low=61440, high=61590), True)
    """
    low = workload.requests * workload.input_tokens
    return Range(low, low + workload.requests * (template_tokens + RETOKENISED_TOKENS))


def planned_output(workload: Workload) -> int:
    """Output tokens of a whole run, none cut short."""
    return workload.requests * workload.output_tokens


def max_speedup(
    prompt_tokens: int,
    cached_tokens: int,
    *,
    linear: float = 1.0,
    quadratic: float = 0.0,
    fixed: float = 0.0,
) -> float:
    """How many times less prefill work one request has when its beginning is cached.

    Parameters
    ----------
    linear, quadratic : float
        Weights a and b of the work a n + b n² for n tokens.
    fixed : float
        Work that remains in both cases, in the same unit.

    Notes
    -----
    The rest still attends to the prefix: (cost(L) + F) / (cost(L) - cost(P) + F). It is a
    limit of one request that waits for none: under queueing more is possible.

    Raises
    ------
    ValueError
        Unless 0 <= cached < prompt and the work is positive.

    >>> round(max_speedup(64768, 32000), 4), round(max_speedup(64768, 32000, linear=0,
    ...     quadratic=1), 4)
    (1.9766, 1.3229)
    """
    if not 0 <= cached_tokens < prompt_tokens:
        raise ValueError(f"cached tokens lie within the prompt, got {cached_tokens}")

    def cost(n: int) -> float:
        return linear * n + quadratic * n**2

    whole = cost(prompt_tokens)
    if min(linear, quadratic, fixed) < 0 or whole <= 0:
        raise ValueError("the weights of the work must not be negative, nor all zero")
    return (whole + fixed) / (whole - cost(cached_tokens) + fixed)


def ceilings(workload: Workload) -> Ceilings:
    """Limits for a request of a workload: work that grows with length, and with its square.

    >>> from core.domain.bench.presets import guide_pairs
    >>> [round(limit, 3) for limit in ceilings(guide_pairs()[2].workload)]
    [1.977, 1.323]
    """
    length, prefix = workload.input_tokens, workload.prefix_tokens
    return Ceilings(
        max_speedup(length, prefix), max_speedup(length, prefix, linear=0.0, quadratic=1.0)
    )


def cold_starts(requests: int, cold: int, *, share: float) -> ColdStarts:
    """Mean prefill work of a run whose first requests compute everything.

    Parameters
    ----------
    share : float
        Cached share s of the later prompts; work is taken as linear.

    Notes
    -----
    Mean (c + (N - c)(1 - s)) / N. The median does not see the cold ones while c < N/2; else
    it is None.

    >>> round(cold_starts(30, 8, share=0.4940711462).mean_speedup, 4)
    1.5682
    """
    if not (0 <= cold <= requests and requests > 0 and 0 <= share < 1):
        raise ValueError("cold requests are some of all, and a share is below 1")
    mean = (cold + (requests - cold) * (1 - share)) / requests
    return ColdStarts(mean, 1 / mean, 1 / (1 - share) if cold < requests / 2 else None)


def estimated_time_s(
    plan: Plan, *, tokens_per_s: float | None, start_s: float | None
) -> float | None:
    """Seconds all runs may take; None unless both figures are given.

    Parameters
    ----------
    tokens_per_s : float or None
        Input and output tokens together, from an earlier run of a like workload.
    start_s : float or None
        Start of one server and of one client.
    """
    if tokens_per_s is None or start_s is None or tokens_per_s <= 0:
        return None
    runs = runs_of(plan)
    tokens = sum(
        planned_input(run.pair.workload, template_tokens=0).low + planned_output(run.pair.workload)
        for run in runs
    )
    return tokens / tokens_per_s + len(runs) * start_s
