"""Commands of a run as argument lists: what the guide gives, and what we add to it."""

import re
import shlex
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import urlsplit

from core.domain.bench.plan import Dataset, Plan, Run, Workload
from core.domain.bench.refusals import SECRET, address, plain, refuse

PERCENTILE_METRICS = "ttft,tpot,itl,e2el"
PERCENTILES = "50,95,99"
OURS = (
    "--ignore-eos",
    "--seed",
    "--percentile-metrics",
    "--metric-percentiles",
    "--num-warmups",
    "--ready-check-timeout-sec",
    "--save-result",
    "--save-detailed",
    "--result-dir",
    "--result-filename",
)
"""What is added to the guide's commands: exact output lengths, the same prompts for both runs
of a pair, no request before the measured ones, and a file with the times of each request."""
MASK = "***"
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


class Command(NamedTuple):
    """An argument list, and what is added to the environment it is started in."""

    arguments: list[str]
    environment: dict[str, str]


def bench_command(plan: Plan, run: Run, base_url: str, result_file: PurePath) -> Command:
    """`vllm bench serve` of one run.

    An API key is no argument: the client reads OPENAI_API_KEY from the environment that the
    launcher was started with.

    Raises
    ------
    BenchPlanError
        For a string that would not stay the value of its argument.
    """
    refuse(plan)
    arguments = ["vllm", "bench", "serve"]
    arguments += ["--backend", "openai-chat", "--endpoint", "/v1/chat/completions"]
    arguments += _server(address("base_url", base_url))
    arguments += ["--model", plan.model, "--tokenizer", plan.tokenizer]
    arguments += _dataset(run.pair.workload)
    arguments += ["--num-prompts", str(run.pair.workload.prompts)]
    arguments += ["--max-concurrency", str(run.concurrency), "--request-rate", "inf"]
    arguments += _ours(run, result_file)
    return Command(arguments, dict(plan.bench_environment))


def prompt_arguments(plan: Plan, run: Run) -> list[str]:
    """Arguments of `vllm bench serve` that decide which prompts it makes.

    Raises
    ------
    BenchPlanError
        For a string that would not stay the value of its argument.
    """
    refuse(plan)
    workload = run.pair.workload
    arguments = ["--model", plan.model, "--tokenizer", plan.tokenizer, *_dataset(workload)]
    return [*arguments, "--num-prompts", str(workload.prompts), "--seed", str(run.seed)]


def serve_command(plan: Plan, run: Run, port: int) -> Command:
    """`vllm serve` for one run, on loopback, with its caching flag said in either case.

    Raises
    ------
    BenchPlanError
        For a string that would not stay the value of its argument.
    """
    refuse(plan)
    arguments = ["vllm", "serve", plan.model if plan.weights is None else plan.weights]
    if plan.weights is not None:
        arguments += ["--served-model-name", plan.model]
    arguments += ["--host", "127.0.0.1", "--port", str(port)]
    if plan.serve.max_model_len is not None:
        arguments += ["--max-model-len", str(plan.serve.max_model_len)]
    arguments.append("--enable-prefix-caching" if run.caching else "--no-enable-prefix-caching")
    if run.hash_algorithm is not None:
        arguments += ["--prefix-caching-hash-algo", run.hash_algorithm]
    return Command([*arguments, *plan.serve.arguments], dict(plan.serve.environment))


def displayed(command: Command) -> str:
    """A command as one would type it; secrets are not in it.

    >>> displayed(Command(["vllm", "serve", "a b", "--api-key", "k"], {"HF_TOKEN": "t"}))
    "HF_TOKEN='***' vllm serve 'a b' --api-key '***'"
    """
    words = [
        f"{name}={shlex.quote(MASK if SECRET.search(name) else _shown(value))}"
        for name, value in sorted(command.environment.items())
    ]
    before = ""
    for argument in command.arguments:
        words.append(shlex.quote(_masked(argument, before)))
        before = argument
    return " ".join(words)


def _masked(argument: str, before: str) -> str:
    name, is_assigned, _ = argument.partition("=")
    if before == "--header" or (before.startswith("--") and SECRET.search(before[2:])):
        return argument if argument.startswith("--") else MASK
    if is_assigned and name.startswith("--") and (SECRET.search(name[2:]) or name == "--header"):
        return f"{name}={MASK}"
    return _shown(argument)


def _shown(value: str) -> str:
    return _USERINFO.sub(f"{MASK}@", value)


def _server(base_url: str) -> list[str]:
    """Host and port apart, as the guide has them, where an address is no more than that."""
    parts = urlsplit(base_url)
    if parts.scheme == "http" and parts.port is not None and parts.path in {"", "/"}:
        return ["--host", str(parts.hostname), "--port", str(parts.port)]
    return ["--base-url", base_url.rstrip("/")]


def _dataset(workload: Workload) -> list[str]:
    arguments = ["--dataset-name", workload.dataset.value]
    if workload.dataset is Dataset.RANDOM:
        arguments += ["--random-input-len", str(workload.suffix_tokens)]
        arguments += ["--random-output-len", str(workload.output_tokens)]
        return [*arguments, "--random-prefix-len", str(workload.prefix_tokens)]
    arguments += ["--prefix-repetition-prefix-len", str(workload.prefix_tokens)]
    arguments += ["--prefix-repetition-suffix-len", str(workload.suffix_tokens)]
    arguments += ["--prefix-repetition-num-prefixes", str(workload.prefixes)]
    return [*arguments, "--prefix-repetition-output-len", str(workload.output_tokens)]


def _ours(run: Run, result_file: PurePath) -> list[str]:
    arguments = ["--ignore-eos", "--seed", str(run.seed)]
    arguments += ["--percentile-metrics", PERCENTILE_METRICS]
    arguments += ["--metric-percentiles", PERCENTILES]
    arguments += ["--num-warmups", "0", "--ready-check-timeout-sec", "0"]
    arguments += ["--save-result", "--save-detailed"]
    arguments += ["--result-dir", plain("result folder", str(result_file.parent))]
    return [*arguments, "--result-filename", plain("result file", result_file.name)]
