"""Makes the prompts of `vllm bench serve` again and counts what they have in common.

    python made_again.py ASKED.json MADE.json

Run by the Python that vLLM is installed in, so it imports nothing of ours. ASKED.json is a
list of {"arguments": of `vllm bench serve`, "template": whose tokenizer the server has,
"prefixes": how many}. MADE.json gets numbers for each, or null where its prompts cannot be
made; no text leaves this program.
"""

import argparse
import contextlib
import json
import random
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

NO_VLLM = 3
"""Exit status where this Python has no vLLM that can be imported."""


def main(asked: Path, made: Path) -> None:
    """Write the numbers of every workload asked for."""
    try:
        serve = import_module("vllm.benchmarks.serve")
    except ImportError:
        sys.exit(NO_VLLM)
    version = import_module("vllm").__version__
    numbers = []
    for one in json.loads(asked.read_text(encoding="utf-8")):
        counted = None
        # Whatever is wrong with one workload: its message may hold a prompt, so it is not told.
        with contextlib.suppress(Exception, SystemExit):
            tokens = tokens_of(serve, one["arguments"], one["template"])
            counted = {"version": version, **numbers_of(tokens, one["prefixes"])}
        numbers.append(counted)
    made.write_text(json.dumps(numbers), encoding="utf-8")


def tokens_of(serve: Any, arguments: list[str], template: str) -> list[list[int]]:
    """Tokens of each request as the server sees them.

    `serve` is vLLM's own module: its parser fills in what a benchmark is not told, and its
    samples are the benchmark's.
    """
    import numpy as np  # noqa: PLC0415 - vLLM's own

    parser = argparse.ArgumentParser()
    serve.add_cli_args(parser)
    args = parser.parse_args(arguments)
    random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - as the benchmark does
    client = serve.get_tokenizer(args.tokenizer, tokenizer_mode=args.tokenizer_mode)
    server = client if template == args.tokenizer else serve.get_tokenizer(template)
    samples = serve.get_samples(args, client)
    prompts = [(sample.prompt, sample.prompt_len) for sample in samples]
    if hasattr(serve, "_align_prompts_to_server_tokenizer"):
        prompts = aligned(prompts, server)
    return [as_chat(prompt, server) for prompt, _ in prompts]


def aligned(prompts: list[tuple[str, int]], server: Any) -> list[tuple[str, int]]:
    """Prompts cut to the length meant, if the server counts the first one otherwise."""
    first, length = prompts[0]
    if len(server.encode(first, add_special_tokens=False)) == length:
        return prompts
    return [(_cut(prompt, length, server), length) for prompt, length in prompts]


def _cut(prompt: str, length: int, server: Any) -> str:
    tokens = server.encode(prompt, add_special_tokens=False)
    return prompt if len(tokens) <= length else str(server.decode(tokens[:length]))


def as_chat(prompt: str, server: Any) -> list[int]:
    """Tokens of the only message of a chat, in the server's template."""
    messages = [{"role": "user", "content": prompt}]
    text = server.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(server.encode(text, add_special_tokens=False))


def numbers_of(prompts: Sequence[Sequence[int]], prefixes: int) -> dict[str, int]:
    """How many prompts, their tokens, and the leading ones that those of one prefix share.

    In alphabetical order prompts of one prefix stand together, and the first and the last of
    them have in common what all have.

    >>> numbers_of([[7, 1, 2], [9, 9, 4, 4], [7, 1, 3], [9, 9, 4, 5]], 2)["shared_tokens"]
    2
    """
    if not prompts or len(prompts) % prefixes:
        raise ValueError(f"{len(prompts)} prompts are no whole rounds of {prefixes} prefixes")
    lengths, ranked = [len(prompt) for prompt in prompts], sorted(map(list, prompts))
    each = len(ranked) // prefixes
    ends = zip(ranked[::each], ranked[each - 1 :: each], strict=True)
    return {
        "requests": len(prompts),
        "shortest": min(lengths),
        "longest": max(lengths),
        "shared_tokens": min(leading(first, last) for first, last in ends),
        "total_tokens": sum(lengths),
    }


def leading(first: Sequence[int], last: Sequence[int]) -> int:
    """Tokens that two prompts begin with alike.

    >>> leading([1, 2, 3], [1, 2, 4, 3])
    2
    """
    same = takewhile(lambda both: both[0] == both[1], zip(first, last, strict=False))
    return sum(1 for _ in same)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
