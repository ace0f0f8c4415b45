"""The six cases A–F in three pairs, at the guide's size and at one a small computer can do.

A/B share nothing: what looking up costs. C/D share nearly everything: what the cache does
by itself. E/F share half: what such a workload gets of it.
"""

from core.domain.bench.plan import Dataset, Pair, Plan, Serve, Workload

GUIDE_OUTPUT_TOKENS = 256
GUIDE_PROMPTS = 30
GUIDE_CONCURRENCY = (1, 2, 4, 8)
PURE_PREFIXES = (32768, 32000)
"""Shared tokens of C/D: the guide's, and its variant."""

_SMALL_ENVIRONMENT = (
    ("HF_HUB_OFFLINE", "1"),
    ("TRANSFORMERS_OFFLINE", "1"),
    ("VLLM_NO_USAGE_STATS", "1"),
)
_CPU_ENVIRONMENT = (
    *_SMALL_ENVIRONMENT,
    ("OMP_NUM_THREADS", "1"),
    ("VLLM_CPU_KVCACHE_SPACE", "1"),
    ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
    ("VLLM_HOST_IP", "127.0.0.1"),
)
_CPU_ARGUMENTS = (
    "--enforce-eager",
    "--block-size",
    "32",
    "--num-gpu-blocks-override",
    "2048",
    "--enable-prompt-tokens-details",
)


def random_case(prefix_tokens: int, suffix_tokens: int, *, output: int, prompts: int) -> Workload:
    """Requests of one fixed prefix (or none) and random text behind it.

    >>> random_case(32000, 32768, output=256, prompts=30).input_tokens
    64768
    """
    return Workload(Dataset.RANDOM, prefix_tokens, suffix_tokens, output, prompts)


def repetition_case(
    prefix_tokens: int, suffix_tokens: int, *, output: int, prompts: int, prefixes: int = 1
) -> Workload:
    """Requests that take turns at some prefixes, each with a suffix of its own."""
    return Workload(
        Dataset.PREFIX_REPETITION, prefix_tokens, suffix_tokens, output, prompts, prefixes
    )


def guide_pairs(*, pure_prefix: int = PURE_PREFIXES[0]) -> tuple[Pair, ...]:
    """A/B, C/D and E/F at the guide's size of 32 K.

    >>> [(pair.name, pair.workload.input_tokens) for pair in guide_pairs()]
    [('A/B', 32768), ('C/D', 33792), ('E/F', 64768)]
    """
    size = {"output": GUIDE_OUTPUT_TOKENS, "prompts": GUIDE_PROMPTS}
    return (
        Pair("A", "B", random_case(0, 32768, **size)),
        Pair("C", "D", repetition_case(pure_prefix, 1024, **size)),
        Pair("E", "F", random_case(32000, 32768, **size)),
    )


def small_pairs(*, prompts: int = 16) -> tuple[Pair, ...]:
    """A/B, C/D and E/F at a sixteenth of the guide's size, and fewer requests.

    >>> [(pair.name, pair.workload.input_tokens) for pair in small_pairs()]
    [('A/B', 2048), ('C/D', 2112), ('E/F', 4048)]
    """
    size = {"output": 16, "prompts": prompts}
    return (
        Pair("A", "B", random_case(0, 2048, **size)),
        Pair("C", "D", repetition_case(2048, 64, **size)),
        Pair("E", "F", random_case(2000, 2048, **size)),
    )


def guide(
    model: str, tokenizer: str, *, weights: str | None = None, serve: Serve | None = None
) -> Plan:
    """The guide's matrix: six cases, concurrency 1, 2, 4, 8, one repeat.

    Parallelism, model length and what else a server of that size needs stand in `serve`.
    """
    return Plan(
        "guide",
        guide_pairs(),
        model,
        tokenizer,
        GUIDE_CONCURRENCY,
        weights=weights,
        serve=serve or Serve(),
    )


def small(model: str, tokenizer: str, *, weights: str | None = None) -> Plan:
    """The six cases for a server on two processor cores and a model of a few megabytes."""
    return Plan(
        "small",
        small_pairs(),
        model,
        tokenizer,
        (1, 4),
        weights=weights,
        serve=Serve(_CPU_ARGUMENTS, _CPU_ENVIRONMENT, max_model_len=8192),
        bench_environment=_SMALL_ENVIRONMENT,
        template_tokens=8,
        run_limit_s=1800.0,
        start_limit_s=900.0,
    )
