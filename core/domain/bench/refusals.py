"""What a plan may not say: strings that would not stay one argument's value, flags that are
the launcher's own, and secrets, which go by the launcher's environment.

No shell is ever involved, so `;` or `$(…)` are letters like others.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from core.domain.bench.plan import Dataset, Plan, Workload
from core.errors import BenchPlanError

HASH_ALGORITHMS = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
OWNED = (
    "--model",
    "--served-model-name",
    "--host",
    "--port",
    "--uds",
    "--config",
    "--enable-prefix-caching",
    "--no-enable-prefix-caching",
    "--prefix-caching-hash-algo",
    "--max-model-len",
)
"""Arguments of `vllm serve` that the plan sets in its own fields, and files that hold more."""
SECRET_ARGUMENTS = ("--api-key", "--hf-token")
ENVIRONMENT = re.compile(
    r"(VLLM|HF|TRANSFORMERS|TOKENIZERS|TORCH|PYTORCH|CUDA|NVIDIA|NCCL|GLOO|ROCR|HIP|OMP|MKL|KMP)_"
    r"[A-Z0-9_]+"
)
"""Names that may be added to an environment: the engine's and its libraries' own."""
SECRET = re.compile(
    r"(^|[_-])(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)($|[_-])", re.IGNORECASE
)
CASE_NAME = re.compile(r"[A-Za-z0-9_]{1,24}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]")


def refuse(plan: Plan) -> None:
    """Let a plan pass, or say the first thing in it that cannot be.

    Raises
    ------
    BenchPlanError
        Names the field, the value and the rule it broke.
    """
    for field, value in _strings(plan):
        plain(field, value)
    for field, url in (("off_url", plan.off_url), ("on_url", plan.on_url)):
        if url is not None:
            address(field, url)
    _names(plan)
    _sizes(plan)
    _environment("serve.environment", plan.serve.environment)
    _environment("bench_environment", plan.bench_environment)
    _arguments(plan.serve.arguments)


def plain(field: str, value: str) -> str:
    """The value, which is not empty, holds no control character and is no option by its look.

    >>> plain("model", "a;$(b)")
    'a;$(b)'
    >>> plain("model", "--help")
    Traceback (most recent call last):
    core.errors.BenchPlanError: The benchmark plan is refused: model begins with a dash: '--help'
    """
    _no_control(field, value)
    if not value.strip():
        raise BenchPlanError(f"{field} is empty")
    if value.lstrip().startswith("-"):
        raise BenchPlanError(f"{field} begins with a dash: {value!r}")
    return value


def address(field: str, value: str) -> str:
    """The value, which is an http address of a server and holds no credentials."""
    if "@" in value:
        raise BenchPlanError(f"{field} holds credentials")
    plain(field, value)
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as error:
        raise BenchPlanError(f"{field} is no address") from error
    if parts.query or parts.fragment:
        raise BenchPlanError(f"{field} holds more than scheme, host, port and path")
    if parts.scheme not in {"http", "https"} or not parts.hostname or " " in value:
        raise BenchPlanError(f"{field} is no http address: {value!r}")
    return value


def _no_control(field: str, value: str) -> None:
    if _CONTROL.search(value):
        raise BenchPlanError(f"{field} holds a line break or a control character: {value!r}")


def _strings(plan: Plan) -> Iterator[tuple[str, str]]:
    yield "name", plan.name
    yield "model", plan.model
    yield "tokenizer", plan.tokenizer
    if plan.weights is not None:
        yield "weights", plan.weights


def _names(plan: Plan) -> None:
    cases = [case for pair in plan.pairs for case in (pair.off, pair.on)]
    for case in cases:
        if not CASE_NAME.fullmatch(case):
            raise BenchPlanError(f"a case is named by letters and digits, got {case!r}")
    if not cases or len(set(cases)) != len(cases):
        raise BenchPlanError(f"pairs need cases that differ, got {cases}")
    for algorithm in plan.hash_algorithms:
        if algorithm not in HASH_ALGORITHMS:
            raise BenchPlanError(f"hash_algorithms holds {algorithm!r}, not of {HASH_ALGORITHMS}")


def _sizes(plan: Plan) -> None:
    if not plan.concurrency:
        raise BenchPlanError("concurrency is empty")
    at_least_one = {"repeats": plan.repeats, "run_limit_s": plan.run_limit_s}
    at_least_one |= {"start_limit_s": plan.start_limit_s}
    at_least_one |= {f"concurrency {n}": n for n in plan.concurrency}
    if plan.serve.max_model_len is not None:
        at_least_one["serve.max_model_len"] = plan.serve.max_model_len
    for pair in plan.pairs:
        at_least_one |= _workload_sizes(pair.name, pair.workload)
    low = [name for name, value in at_least_one.items() if value < 1]
    low += [pair.name for pair in plan.pairs if pair.workload.prefix_tokens < 0]
    low += [pair.name for pair in plan.pairs if not _prefixes_fit(pair.workload)]
    low += ["seed"] * (plan.seed < 0) + ["template_tokens"] * (plan.template_tokens < 0)
    if low:
        raise BenchPlanError(f"sizes that cannot be: {', '.join(low)}")


def _prefixes_fit(workload: Workload) -> bool:
    """The random dataset has one prefix; the other takes turns at as many as there are."""
    return workload.dataset is Dataset.PREFIX_REPETITION or workload.prefixes == 1


def _workload_sizes(pair: str, workload: Workload) -> dict[str, float]:
    return {
        f"suffix_tokens of {pair}": workload.suffix_tokens,
        f"output_tokens of {pair}": workload.output_tokens,
        f"prefixes of {pair}": workload.prefixes,
        f"prompts of {pair}": workload.prompts,
    }


def _environment(field: str, pairs: Iterable[tuple[str, str]]) -> None:
    for name, value in pairs:
        if SECRET.search(name):
            raise BenchPlanError(
                f"{field} would hold a secret in {name}",
                next_step="Set it in the environment of the launcher; plans are shown and kept.",
            )
        if not ENVIRONMENT.fullmatch(name):
            raise BenchPlanError(f"{field} may not set {name!r}")
        _no_control(f"{field} {name}", value)


def _arguments(arguments: tuple[str, ...]) -> None:
    if arguments and not arguments[0].startswith("--"):
        raise BenchPlanError(f"serve.arguments begins with a value: {arguments[0]!r}")
    for argument in arguments:
        _no_control("serve.arguments", argument)
        if not argument.startswith("-"):
            continue
        if argument in {"-", "--"}:
            raise BenchPlanError(f"serve.arguments holds {argument!r}")
        flag = argument.split("=", 1)[0].split(".", 1)[0].replace("_", "-").lower()
        if any(_means(flag, owned) for owned in SECRET_ARGUMENTS):
            raise BenchPlanError(
                f"serve.arguments would hold a secret in {flag}",
                next_step="Set VLLM_API_KEY or HF_TOKEN in the environment of the launcher.",
            )
        if any(_means(flag, owned) for owned in OWNED):
            raise BenchPlanError(f"serve.arguments may not hold {flag}: the plan sets it itself")


def _means(flag: str, owned: str) -> bool:
    """An argument parser takes the beginning of an option for the option."""
    return len(flag) > 2 and owned.startswith(flag)
