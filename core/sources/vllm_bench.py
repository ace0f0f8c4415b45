"""Files that a benchmark leaves: the result of `vllm bench serve`, the server's log, its metrics.

A file that cannot be believed is an error with its reason, never a number. Generated texts
are never read into a record, and are cut out of the files of our own runs at once.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from core.domain.bench.result import (
    BenchResult,
    Counters,
    KvLine,
    LogFacts,
    Requests,
    Snapshot,
    Summary,
)
from core.errors import BenchResultError, SourceContract

TEXTS = "generated_texts"
KEPT_LINES = 20
_PERCENTILE = r"p(\d+(?:\.\d+)?)_{}_ms"


class _Result(msgspec.Struct):
    """Keys as `vllm bench serve` writes them; a key left out of this list is not read."""

    date: str
    backend: str
    model_id: str
    tokenizer_id: str
    num_prompts: int
    max_concurrency: int | None
    request_rate: str | float
    duration: float
    completed: int
    failed: int
    total_input_tokens: int
    total_output_tokens: int
    request_throughput: float
    output_throughput: float
    total_token_throughput: float


class _Details(msgspec.Struct):
    """Lists of --save-detailed."""

    start_times: list[float]
    ttfts: list[float]
    input_lens: list[int]
    output_lens: list[int]
    errors: list[str]


def read_result(path: Path) -> BenchResult:
    """The one result of a file.

    Raises
    ------
    BenchResultError
        If it is missing, cut off, holds NaN, another shape or more than one result.
    """
    results = read_results(path)
    if len(results) != 1:
        raise BenchResultError(f"{path.name} holds {len(results)} results, one was expected")
    return results[0]


def read_results(path: Path) -> tuple[BenchResult, ...]:
    """Every result of a file: one object, or one a line from --append-result.

    Raises
    ------
    BenchResultError
        As for one.
    """
    return tuple(_result(path.name, one) for one in _objects(path))


def strip_texts(path: Path) -> bool:
    """Rewrite a result file of our own without generated texts; whether there were any.

    The new file takes the old one's place in one step. One that cannot be read as results is
    emptied: in it nobody can tell texts from figures.
    """
    try:
        found = _objects(path)
    except BenchResultError:
        if not path.exists():
            raise
        _replace(path, b"")
        return True
    if not any(TEXTS in one for one in found):
        return False
    for one in found:
        one.pop(TEXTS, None)
    _replace(path, b"\n".join(msgspec.json.encode(one) for one in found) + b"\n")
    return True


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def _objects(path: Path) -> list[dict[str, Any]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BenchResultError(f"{path.name} cannot be read: {error.strerror}") from error
    lines = [line for line in content.splitlines() if line.strip()]
    if not lines:
        raise BenchResultError(f"{path.name} is empty")
    try:
        found = [msgspec.json.decode(content)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        found = [_decoded(path.name, line) for line in lines]
    if not all(isinstance(one, dict) for one in found):
        raise BenchResultError(f"{path.name} holds no result object")
    return found


def _decoded(name: str, line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BenchResultError(f"{name} is no whole JSON: {error}") from error


def _result(name: str, raw: Mapping[str, Any]) -> BenchResult:
    try:
        plain = msgspec.convert(raw, _Result)
        details = msgspec.convert(raw, _Details) if "ttfts" in raw else None
    except msgspec.ValidationError as error:
        raise BenchResultError(f"{name}: {error}") from error
    _plausible(name, plain)
    some = plain.completed > 0
    return BenchResult(
        date=plain.date,
        backend=plain.backend,
        model_id=plain.model_id,
        tokenizer_id=plain.tokenizer_id,
        num_prompts=plain.num_prompts,
        max_concurrency=plain.max_concurrency,
        request_rate=plain.request_rate,
        duration_s=plain.duration,
        completed=plain.completed,
        failed=plain.failed,
        total_input_tokens=plain.total_input_tokens,
        total_output_tokens=plain.total_output_tokens,
        request_throughput=plain.request_throughput if some else None,
        output_throughput=plain.output_throughput if some else None,
        total_token_throughput=plain.total_token_throughput if some else None,
        ttft=_summary(name, raw, "ttft") if some else None,
        tpot=_summary(name, raw, "tpot") if some else None,
        itl=_summary(name, raw, "itl") if some else None,
        e2el=_summary(name, raw, "e2el") if some else None,
        requests=_requests(name, details) if details is not None else None,
    )


def _plausible(name: str, plain: _Result) -> None:
    counted = ("num_prompts", "completed", "failed", "total_input_tokens", "total_output_tokens")
    for field in counted:
        if getattr(plain, field) < 0:
            raise BenchResultError(f"{name}: {field} is {getattr(plain, field)}, below zero")
    if plain.duration <= 0:
        raise BenchResultError(f"{name}: duration is {plain.duration}, not above zero")


def _summary(name: str, raw: Mapping[str, Any], kind: str) -> Summary | None:
    mean, median = raw.get(f"mean_{kind}_ms"), raw.get(f"median_{kind}_ms")
    if mean is None and median is None:
        return None
    matches = ((re.fullmatch(_PERCENTILE.format(kind), key), raw[key]) for key in raw)
    percentiles = {float(match[1]): value for match, value in matches if match}
    wrong = [v for v in (mean, median, *percentiles.values()) if not _is_time(v)]
    if wrong:
        raise BenchResultError(f"{name}: {kind} holds {wrong[0]!r}, which is no time")
    return Summary(float(str(mean)), float(str(median)), percentiles)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _requests(name: str, lists: _Details) -> Requests:
    sizes = {len(getattr(lists, field)) for field in lists.__struct_fields__}
    if len(sizes) != 1:
        raise BenchResultError(f"{name}: lists of requests have {sorted(sizes)} entries")
    return Requests(
        tuple(lists.start_times),
        tuple(lists.ttfts),
        tuple(lists.input_lens),
        tuple(lists.output_lens),
        tuple(not error for error in lists.errors),
    )


_KV = re.compile(r"\((EngineCore\w*)[^)]*\).*?\w+ KV cache size: ([\d,]+) tokens")
_SEQUENCES = re.compile(
    r"\((EngineCore\w*)[^)]*\).*?Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x"
)
_PREFIX = re.compile(r"prefix cache", re.IGNORECASE)
_VERSION = re.compile(r"LLM engine \(v([^)\s]+)\)")
_CACHING = re.compile(r"\benable_prefix_caching=(True|False)\b")
_READY = "Application startup complete."


def read_server_log(text: str) -> LogFacts:
    """What a log of `vllm serve` says of KV cache and prefixes, in either form of its lines."""
    tokens: dict[str, int] = {}
    sequences: dict[str, float] = {}
    prefix_lines: list[str] = []
    version: str | None = None
    caching: bool | None = None
    for line in text.splitlines():
        if found := _KV.search(line):
            tokens[found[1]] = int(found[2].replace(",", ""))
        if found := _SEQUENCES.search(line):
            sequences[found[1]] = float(found[2])
        if found := _VERSION.search(line):
            version = found[1]
        if found := _CACHING.search(line):
            caching = found[1] == "True"
        if _PREFIX.search(line):
            prefix_lines.append(line)
    kv_lines = tuple(KvLine(e, size, sequences.get(e)) for e, size in tokens.items())
    return LogFacts(
        kv_lines, tuple(prefix_lines[-KEPT_LINES:]), version, caching, is_ready=_READY in text
    )


COUNTERS = {
    "vllm:prefix_cache_queries_total": "queries_tokens",
    "vllm:prefix_cache_hits_total": "hits_tokens",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:prompt_tokens_cached_total": "cached_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:request_success_total": "finished_requests",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:request_prefill_time_seconds_sum": "prefill_time_s",
    "vllm:request_prefill_time_seconds_count": "prefill_count",
}
"""Series of an engine -> field of `Counters`."""
_CONFIG = "vllm:cache_config_info"
_PROCESS = "process_start_time_seconds"
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


def read_metrics(text: str) -> Snapshot:
    """Counters and configuration per engine from an engine's `/metrics`.

    Raises
    ------
    SourceContract
        If it is no such text, or a wanted sample cannot be read.
    """
    engines: dict[str, Counters] = {}
    configs: dict[str, Mapping[str, str]] = {}
    process_start_s: float | None = None
    for name, labels, value in _samples(text):
        engine = labels.get("engine")
        if name == _PROCESS:
            process_start_s = value
        elif engine is None:
            raise SourceContract(f"{name} has no label engine")
        elif name == _CONFIG:
            configs[engine] = {k: v for k, v in labels.items() if k != "engine"}
        else:
            engines[engine] = _more(engines.get(engine, Counters()), COUNTERS[name], value)
    if not engines and not configs:
        raise SourceContract("the answer holds no metric of vLLM")
    return Snapshot(engines, configs, process_start_s)


def _more(counters: Counters, field: str, value: float) -> Counters:
    """Series of one engine that differ in another label (reason, model) are added up."""
    before: float | None = getattr(counters, field)
    return replace(counters, **{field: value if before is None else before + value})


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    wanted = (*COUNTERS, _CONFIG, _PROCESS)
    for line in text.split("\n"):
        if not line.startswith(wanted):
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            raise SourceContract(f"a sample cannot be read: {line[:100]!r}")
        if found[1] in wanted:
            yield found[1], _labels((found[2] or "").strip()), _amount(found[3])


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise SourceContract(f"a sample is no number: {text[:50]!r}") from error
    if not 0 <= value < float("inf"):
        raise SourceContract(f"a counter is {text[:50]}")
    return value


def _labels(text: str) -> dict[str, str]:
    labels, place = {}, 0
    while place < len(text):
        found = _LABEL.match(text, place)
        if found is None:
            raise SourceContract(f"labels cannot be read: {text[:100]!r}")
        labels[found[1]] = _ESCAPED.sub(_letter, found[2])
        place = found.end()
    return labels


def _letter(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
