"""What to look at where a valid pair shows no difference, or ON is slower.

Each entry is evidence, none of them a finding of what was to blame.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from core.domain.bench.configuration import cache_config, match_unit, whole
from core.domain.bench.judge import hit_tokens, hits_range
from core.domain.bench.plan import Run
from core.domain.bench.prompts import Prompts, sharing
from core.domain.bench.result import RunEvidence

Values = dict[str, float | int | str | None]


class Look(StrEnum):
    """Where to look, in this order."""

    HITS = "hits"
    CACHED_TOKENS = "cached_tokens"
    CACHED_BLOCKS = "cached_blocks"
    KV_CAPACITY = "kv_capacity"
    MATCH_UNIT = "prefix_match_unit"
    SHARED_PREFIX = "shared_prefix"
    SERVER_LOG = "server_log"
    RESULT_FILES = "result_files"


class Unset(StrEnum):
    """A setting that vLLM shows as the text "None": nobody set it."""

    NOT_SET = "not_set"


class Entry(NamedTuple):
    """One thing to look at and what is known of it; None: not known."""

    look: Look
    values: Values


def working_set_tokens(run: Run) -> int:
    """Tokens that the requests under way hold at once: each prefix once, the rest for each.

    Only where the cache is ON are prefixes held once; OFF every request holds its own.

    >>> from core.domain.bench.presets import guide_pairs
    >>> working_set_tokens(Run("1", guide_pairs()[2], True, 8, 1, 0))
    296192
    """
    work = run.pair.workload
    own = work.suffix_tokens + work.output_tokens
    if run.caching:
        return work.prefixes * work.prefix_tokens + run.concurrency * own
    return run.concurrency * (work.prefix_tokens + own)


def checklist(
    run: Run,
    evidence: RunEvidence,
    *,
    runs: tuple[str, str],
    is_slower: bool,
) -> tuple[Entry, ...]:
    """Evidence of the ON run of a pair.

    Parameters
    ----------
    runs : tuple of str
        Ids of the OFF and the ON run, whose result files are to be looked at.
    is_slower : bool
        Adds the lines of the server's log and both result files.
    """
    entries = [*_of_cache(run, evidence), _shared(run, evidence)]
    if is_slower:
        entries += [
            _log(evidence),
            Entry(Look.RESULT_FILES, dict(zip(("off", "on"), runs, strict=True))),
        ]
    return tuple(entries)


def _of_cache(run: Run, evidence: RunEvidence) -> Iterator[Entry]:
    seen, result = evidence.increase(), evidence.result
    hits = None if seen is None else hit_tokens(seen)
    allowed = None if result is None else hits_range(run, evidence, result)
    low, high = (None, None) if allowed is None else allowed
    yield Entry(Look.HITS, {"hits_tokens": hits, "low": low, "high": high})
    yield Entry(Look.CACHED_TOKENS, {"cached_tokens": None if seen is None else seen.cached_tokens})
    unit = match_unit(evidence.after)
    blocks = None if hits is None or unit is None else hits / unit
    yield Entry(Look.CACHED_BLOCKS, {"hits_tokens": hits, "unit": unit, "derived_blocks": blocks})
    config = cache_config(evidence.after) or {}
    capacity: Values = {
        "num_gpu_blocks": whole(config.get("num_gpu_blocks")),
        "kv_cache_size_tokens": whole(config.get("kv_cache_size_tokens")),
        "working_set_tokens": working_set_tokens(run),
        "preemptions": None if seen is None else seen.preemptions,
    }
    yield Entry(Look.KV_CAPACITY, capacity)
    told = config.get("prefix_match_unit")
    configured = Unset.NOT_SET if told == "None" else told
    yield Entry(Look.MATCH_UNIT, {"configured": configured, "effective": unit})


def _shared(run: Run, evidence: RunEvidence) -> Entry:
    """The prefix in the prompts, made again from seed, tokenizer and template."""
    planned, made = run.pair.workload.prefix_tokens, evidence.prompts
    if not isinstance(made, Prompts):
        unknown: Values = {"planned_tokens": planned, "shared_tokens": None, "prompts": made}
        return Entry(Look.SHARED_PREFIX, unknown)
    seen = evidence.increase()
    sent = None if seen is None else seen.prompt_tokens
    values: Values = {
        "planned_tokens": planned,
        "shared_tokens": made.shared_tokens,
        "made_tokens": made.total_tokens,
        "sent_tokens": sent,
        "prompts": sharing(made, planned, sent_tokens=sent),
    }
    return Entry(Look.SHARED_PREFIX, values)


def _log(evidence: RunEvidence) -> Entry:
    log = evidence.log
    if log is None:
        return Entry(Look.SERVER_LOG, {"kv_cache": None, "prefix_lines": None})
    sizes = "\n".join(f"{line.engine}: {line.tokens} tokens" for line in log.kv_lines)
    return Entry(
        Look.SERVER_LOG,
        {"kv_cache": sizes or None, "prefix_lines": "\n".join(log.prefix_lines) or None},
    )
