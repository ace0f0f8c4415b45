"""What is to be measured: workloads in pairs, and the runs a plan makes of them.

A pair is one workload on a server with prefix caching OFF and on one with it ON; nothing
else differs. A run is one `vllm bench serve` against one of the two.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Dataset(StrEnum):
    """Which prompts `vllm bench serve` makes."""

    RANDOM = "random"
    PREFIX_REPETITION = "prefix_repetition"


@dataclass(frozen=True)
class Workload:
    """Requests of one run, sizes in tokens as they are asked for.

    Parameters
    ----------
    prefix_tokens : int
        Shared by the requests of a run (of one prefix, if there are several).
    suffix_tokens : int
        A request's own.
    output_tokens, prompts, prefixes : int
        Tokens generated per request, prompts asked for, and different prefixes.
    """

    dataset: Dataset
    prefix_tokens: int
    suffix_tokens: int
    output_tokens: int
    prompts: int
    prefixes: int = 1

    @property
    def input_tokens(self) -> int:
        """Input tokens of one request, without the chat template's."""
        return self.prefix_tokens + self.suffix_tokens

    @property
    def requests(self) -> int:
        """Requests that are really sent: prefix_repetition sends whole rounds of its prefixes.

        >>> Workload(Dataset.PREFIX_REPETITION, 256, 256, 128, prompts=8, prefixes=3).requests
        6
        """
        if self.dataset is Dataset.PREFIX_REPETITION:
            return self.prompts // self.prefixes * self.prefixes
        return self.prompts


@dataclass(frozen=True)
class Pair:
    """A workload OFF and ON, and the names of the two cases: A/B, C/D, E/F, or one's own."""

    off: str
    on: str
    workload: Workload

    @property
    def name(self) -> str:
        """Both cases: 'C/D'."""
        return f"{self.off}/{self.on}"


class Target(StrEnum):
    """Where the servers come from: started for each run, or two that are given."""

    MANAGED = "managed"
    GIVEN = "given"


@dataclass(frozen=True)
class Serve:
    """How a managed server is started, beside its caching flag and hash algorithm."""

    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    max_model_len: int | None = None


@dataclass(frozen=True)
class Plan:
    """A whole benchmark, as its file says it; `core.domain.bench` derives the runs.

    Parameters
    ----------
    model, tokenizer : str
        As the server names the model, and as the client finds the tokenizer.
    weights : str or None
        What a managed server loads, where it is not `model` itself.
    concurrency : tuple of int
    repeats : int
        Run pairs of each workload and concurrency; a speed verdict needs at least 3.
    hash_algorithms : tuple of str
        Empty: the server's own default. Both servers of a pair get the same, so that they
        differ by the caching flag alone.
    seed : int
        Of the prompts and of the order OFF/ON inside a pair.
    bench_environment : tuple of (str, str)
        Added to the environment of `vllm bench serve`; never a secret.
    template_tokens : int
        At most so many tokens a request are the chat template's: how far the measured
        input may lie above the planned one.
    """

    name: str
    pairs: tuple[Pair, ...]
    model: str
    tokenizer: str
    concurrency: tuple[int, ...]
    repeats: int = 1
    seed: int = 0
    weights: str | None = None
    hash_algorithms: tuple[str, ...] = ()
    target: Target = Target.MANAGED
    serve: Serve = field(default_factory=Serve)
    off_url: str | None = None
    on_url: str | None = None
    bench_environment: tuple[tuple[str, str], ...] = ()
    template_tokens: int = 64
    run_limit_s: float = 3600.0
    start_limit_s: float = 900.0


@dataclass(frozen=True)
class Run:
    """One `vllm bench serve` of a plan, in the order it is to be made."""

    run_id: str
    pair: Pair
    caching: bool
    concurrency: int
    repeat: int
    seed: int
    hash_algorithm: str | None = None

    @property
    def case(self) -> str:
        """Its letter: 'C' OFF, 'D' ON."""
        return self.pair.on if self.caching else self.pair.off
