"""Whether a run is what was planned: rule by rule, with what was expected and seen.

An exit code of 0 proves nothing: a benchmark against a server that is down ends with it, and
leaves a file full of zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from core.domain.bench.configuration import cache_config, caching_flag, match_unit
from core.domain.bench.expectation import (
    Range,
    expected_hits,
    planned_input,
    planned_output,
)
from core.domain.bench.plan import Plan, Run
from core.domain.bench.prompts import Prompts
from core.domain.bench.result import BenchResult, Counters, RunEvidence, Scraped, ScrapeState

COLLISION_SHARE = 0.01
"""Hit tokens that chance may add where prompts of few different tokens share a block: below
this share of the prompt tokens, and at most one block a request."""

Value = int | float | str | bool | Range | None


class Verdict(StrEnum):
    """What a run is, from worst to best: the worst of its rules decides."""

    FAILED = "failed"
    WRONG_SERVER = "wrong_server"
    NOT_PLANNED = "not_planned_workload"
    PARTIAL = "partial"
    CONTAMINATED = "contaminated"
    VALID = "valid"


class Rule(StrEnum):
    """What a run is held against."""

    CANCELLED = "cancelled"
    TIME_LIMIT = "time_limit"
    EXIT_CODE = "exit_code"
    RESULT_FILE = "result_file"
    ANY_COMPLETED = "any_completed"
    SETTINGS = "settings"
    COMPLETED = "completed"
    FAILED_REQUESTS = "failed_requests"
    OUTPUT_TOKENS = "output_tokens"
    INPUT_TOKENS = "input_tokens"
    COUNTERS_SEEN = "counters_seen"
    CACHING_FLAG = "caching_flag"
    HASH_ALGORITHM = "hash_algorithm"
    CONFIGURATION_KEPT = "configuration_kept"
    SERVER_INPUT = "server_input"
    SERVER_REQUESTS = "server_requests"
    SERVER_OUTPUT = "server_output"
    QUERIES = "queries"
    HITS = "hits"
    WARM = "warm"
    PREEMPTIONS = "preemptions"
    MADE_AGAIN = "made_again"
    PROMETHEUS = "prometheus"
    PROMETHEUS_INPUT = "prometheus_input"
    PROMETHEUS_QUERIES = "prometheus_queries"
    PROMETHEUS_HITS = "prometheus_hits"
    PROMETHEUS_CACHED = "prometheus_cached"


PROMETHEUS = {
    "prompt_tokens": Rule.PROMETHEUS_INPUT,
    "queries_tokens": Rule.PROMETHEUS_QUERIES,
    "hits_tokens": Rule.PROMETHEUS_HITS,
    "cached_tokens": Rule.PROMETHEUS_CACHED,
}
"""Counters that Prometheus is asked for, and the rules that hold them against the engine's."""


class Note(StrEnum):
    """What is to be explained and makes no run invalid."""

    COLLISIONS = "collisions"
    BELOW_RANGE = "below_range"
    QUERIES_INFLATED = "queries_inflated"
    QUERIES_BELOW_PROMPT = "queries_below_prompt"
    MATCH_UNIT_UNKNOWN = "match_unit_unknown"
    WARMTH_UNKNOWN = "warmth_unknown"
    PREEMPTIONS = "preemptions"
    OTHER_PROMPTS = "other_prompts"
    PROMETHEUS_UNKNOWN = "prometheus_unknown"
    PROMETHEUS_LESS = "prometheus_less"
    PROMETHEUS_MORE = "prometheus_more"
    PROMETHEUS_RESTART = "prometheus_restart"
    UNKNOWN = "unknown"


class Row(NamedTuple):
    """One rule; `verdict` is what breaking it makes of the run, None where it holds."""

    rule: Rule
    expected: Value
    seen: Value
    verdict: Verdict | None = None
    note: Note | None = None


@dataclass(frozen=True)
class RunVerdict:
    """The verdict of a run and every rule behind it."""

    run_id: str
    verdict: Verdict
    rows: tuple[Row, ...]

    @property
    def is_valid(self) -> bool:
        """Whether its figures may be compared."""
        return self.verdict is Verdict.VALID

    @property
    def broken(self) -> tuple[Row, ...]:
        """Rules that do not hold."""
        return tuple(row for row in self.rows if row.verdict is not None)


def judge(plan: Plan, run: Run, evidence: RunEvidence) -> RunVerdict:
    """Hold everything that is known of a run against its plan.

    Rules that need a result are left out where there is none; where counters are missing the
    run is partial at best.
    """
    rows = [*_end(evidence)]
    result = evidence.result
    if result is not None:
        rows += [*_settings(plan, run, result), *_requests(plan, run, result)]
        rows += [*_server(run, evidence), *_counters(run, evidence, result)]
        rows += _prometheus(evidence)
    order = list(Verdict)
    verdicts = [row.verdict for row in rows if row.verdict is not None]
    return RunVerdict(
        evidence.run_id, min([*verdicts, Verdict.VALID], key=order.index), tuple(rows)
    )


def _row(rule: Rule, expected: Value, seen: Value, verdict: Verdict) -> Row:
    return Row(rule, expected, seen, None if seen == expected else verdict)


def _end(evidence: RunEvidence) -> Iterator[Row]:
    if evidence.cancelled:
        yield Row(Rule.CANCELLED, expected=False, seen=True, verdict=Verdict.FAILED)
    if evidence.time_limit_hit:
        yield Row(Rule.TIME_LIMIT, expected=False, seen=True, verdict=Verdict.FAILED)
    if evidence.exit_code is None and evidence.result is not None:
        yield Row(Rule.EXIT_CODE, 0, None, Verdict.PARTIAL, Note.UNKNOWN)
    else:
        yield _row(Rule.EXIT_CODE, 0, evidence.exit_code, Verdict.FAILED)
    if evidence.result is None:
        yield Row(Rule.RESULT_FILE, None, evidence.result_error, Verdict.FAILED)
    elif evidence.result.completed == 0:
        yield Row(Rule.ANY_COMPLETED, None, 0, Verdict.FAILED)


def _settings(plan: Plan, run: Run, result: BenchResult) -> Iterator[Row]:
    said = {
        "model": (plan.model, result.model_id),
        "tokenizer": (plan.tokenizer, result.tokenizer_id),
        "backend": ("openai-chat", result.backend),
        "num_prompts": (run.pair.workload.prompts, result.num_prompts),
        "max_concurrency": (run.concurrency, result.max_concurrency),
        "request_rate": ("inf", result.request_rate),
    }
    for name, (expected, seen) in said.items():
        if seen != expected:
            wanted, got = f"{name}={expected}", f"{name}={seen}"
            yield Row(Rule.SETTINGS, wanted, got, Verdict.NOT_PLANNED)


def is_whole(run: Run, result: BenchResult) -> bool:
    """Whether every request of the plan completed."""
    return result.failed == 0 and result.completed == run.pair.workload.requests


def _requests(plan: Plan, run: Run, result: BenchResult) -> Iterator[Row]:
    workload = run.pair.workload
    yield _row(Rule.COMPLETED, workload.requests, result.completed, Verdict.PARTIAL)
    yield _row(Rule.FAILED_REQUESTS, 0, result.failed, Verdict.PARTIAL)
    output = result.completed * workload.output_tokens
    if is_whole(run, result):
        output = planned_output(workload)
        planned = planned_input(workload, template_tokens=plan.template_tokens)
        fits = result.total_input_tokens in planned
        wrong = None if fits else Verdict.NOT_PLANNED
        yield Row(Rule.INPUT_TOKENS, planned, result.total_input_tokens, wrong)
    yield _row(Rule.OUTPUT_TOKENS, output, result.total_output_tokens, Verdict.PARTIAL)


def _server(run: Run, evidence: RunEvidence) -> Iterator[Row]:
    logged = evidence.log.caching if evidence.log is not None else None
    flags = {caching_flag(evidence.before), caching_flag(evidence.after), logged} - {None}
    if not flags:
        yield Row(Rule.CACHING_FLAG, run.caching, None, Verdict.PARTIAL, Note.UNKNOWN)
    elif flags == {run.caching}:
        yield Row(Rule.CACHING_FLAG, run.caching, run.caching)
    else:
        yield Row(Rule.CACHING_FLAG, run.caching, not run.caching, Verdict.WRONG_SERVER)
    before, after = cache_config(evidence.before), cache_config(evidence.after)
    if before is not None and after is not None and before != after:
        yield Row(Rule.CONFIGURATION_KEPT, expected=True, seen=False, verdict=Verdict.CONTAMINATED)
    algorithm = (after or {}).get("prefix_caching_hash_algo")
    if run.hash_algorithm is not None and algorithm is None:
        yield Row(Rule.HASH_ALGORITHM, run.hash_algorithm, None, Verdict.PARTIAL, Note.UNKNOWN)
    elif run.hash_algorithm is not None:
        yield _row(Rule.HASH_ALGORITHM, run.hash_algorithm, algorithm, Verdict.WRONG_SERVER)
    if run.caching and evidence.warm is not False:
        yield _warm(warm=evidence.warm)


def _warm(*, warm: bool | None) -> Row:
    if warm is None:
        return Row(Rule.WARM, expected=False, seen=None, note=Note.WARMTH_UNKNOWN)
    return Row(Rule.WARM, expected=False, seen=True, verdict=Verdict.CONTAMINATED)


def _counters(run: Run, evidence: RunEvidence, result: BenchResult) -> Iterator[Row]:
    seen = evidence.increase()
    if seen is None:
        yield Row(Rule.COUNTERS_SEEN, expected=True, seen=False, verdict=Verdict.PARTIAL)
        return
    less = Verdict.WRONG_SERVER if is_whole(run, result) else Verdict.PARTIAL
    more = Verdict.CONTAMINATED
    yield _both(Rule.SERVER_INPUT, result.total_input_tokens, seen.prompt_tokens, less, more)
    yield _both(Rule.SERVER_REQUESTS, result.completed, seen.finished_requests, less, more)
    output = seen.generation_tokens
    yield _both(Rule.SERVER_OUTPUT, result.total_output_tokens, output, Verdict.PARTIAL, more)
    yield from (_on if run.caching else _off)(run, evidence, result, seen)
    if isinstance(evidence.prompts, Prompts) and is_whole(run, result):
        yield _made_again(evidence.prompts.total_tokens, seen.prompt_tokens)
    if seen.preemptions:
        yield Row(Rule.PREEMPTIONS, 0, seen.preemptions, note=Note.PREEMPTIONS)


def _made_again(tokens: int, seen: float | None) -> Row:
    """Another sum says something of the prompts made again, not of the run."""
    differs = seen is not None and seen != tokens
    return Row(Rule.MADE_AGAIN, tokens, seen, note=Note.OTHER_PROMPTS if differs else None)


def _prometheus(evidence: RunEvidence) -> Iterator[Row]:
    """The engine's own increases against those Prometheus saw; a difference is only noted."""
    scraped, own = evidence.prometheus, evidence.increase()
    if scraped is None:
        return
    if scraped.counters is None:
        is_asked = scraped.state is not ScrapeState.NOT_CONFIGURED
        note = Note.PROMETHEUS_UNKNOWN if is_asked else None
        yield Row(Rule.PROMETHEUS, None, scraped.state, note=note)
        return
    for name, rule in PROMETHEUS.items():
        here, there = None if own is None else getattr(own, name), getattr(scraped.counters, name)
        if here is not None or there is not None:
            yield Row(rule, here, there, note=_difference(here, there, scraped))


def _difference(here: float | None, there: float | None, scraped: Scraped) -> Note | None:
    if here is None or there is None:
        return Note.PROMETHEUS_UNKNOWN
    if here == there:
        return None
    if scraped.resets:
        return Note.PROMETHEUS_RESTART
    return Note.PROMETHEUS_LESS if there < here else Note.PROMETHEUS_MORE


def _both(rule: Rule, sent: int, seen: float | None, less: Verdict, more: Verdict) -> Row:
    """The client's sum against the server's: less arrived elsewhere, more came from others."""
    if seen is None:
        return Row(rule, sent, None, Verdict.PARTIAL, Note.UNKNOWN)
    return Row(rule, sent, seen, None if seen == sent else less if seen < sent else more)


def _off(_run: Run, _evidence: RunEvidence, _result: BenchResult, seen: Counters) -> Iterator[Row]:
    for rule, value in ((Rule.QUERIES, seen.queries_tokens), (Rule.HITS, seen.hits_tokens)):
        if value is None:
            yield Row(rule, 0, None, Verdict.PARTIAL, Note.UNKNOWN)
        else:
            yield _row(rule, 0, value, Verdict.WRONG_SERVER)


def _on(run: Run, evidence: RunEvidence, result: BenchResult, seen: Counters) -> Iterator[Row]:
    prompt, queries = seen.prompt_tokens, seen.queries_tokens
    if queries is None or prompt is None:
        yield Row(Rule.QUERIES, prompt, queries, Verdict.PARTIAL, Note.UNKNOWN)
    elif queries == 0:
        yield Row(Rule.QUERIES, prompt, 0, Verdict.WRONG_SERVER)
    elif queries != prompt:
        note = Note.QUERIES_INFLATED if queries > prompt else Note.QUERIES_BELOW_PROMPT
        yield Row(Rule.QUERIES, prompt, queries, note=note)
    else:
        yield Row(Rule.QUERIES, prompt, queries)
    if is_whole(run, result):
        yield _hits(run, evidence, result, hit_tokens(seen))


def hit_tokens(seen: Counters) -> float | None:
    """Tokens a run got from the cache.

    The lookup's own count, unless lookups were counted more than once (vLLM up to 0.26,
    under pressure): then the cached prompt tokens.

    >>> hit_tokens(Counters(queries_tokens=9.0, prompt_tokens=3.0, hits_tokens=6.0))
    >>> hit_tokens(Counters(queries_tokens=3.0, prompt_tokens=3.0, hits_tokens=2.0))
    2.0
    """
    if seen.queries_tokens is None or seen.queries_tokens != seen.prompt_tokens:
        return seen.cached_tokens
    return seen.hits_tokens


def hits_range(run: Run, evidence: RunEvidence, result: BenchResult) -> Range | None:
    """Hit tokens that the measured lengths allow; None where the match unit is unknown.

    What the prompts are longer than asked for is taken as the chat template's, in front of
    the prefix and shared, for the upper limit.
    """
    unit = match_unit(evidence.after)
    if unit is None or evidence.after is None:
        return None
    workload = run.pair.workload
    extra = result.total_input_tokens / workload.requests - workload.input_tokens
    return expected_hits(
        workload,
        run.concurrency,
        block=unit,
        engines=len(evidence.after.engines),
        template_tokens=ceil(extra) if extra > 0 else 0,
    ).tokens


def is_collision(hits: float, *, requests: int, unit: int, prompt_tokens: float) -> bool:
    """Whether so few hits can be blocks that are alike by chance.

    >>> is_collision(32, requests=30, unit=32, prompt_tokens=61_532)
    True
    >>> is_collision(3968, requests=30, unit=32, prompt_tokens=63_456)
    False
    """
    return hits <= requests * unit and hits < COLLISION_SHARE * prompt_tokens


def _hits(run: Run, evidence: RunEvidence, result: BenchResult, hits: float | None) -> Row:
    if hits is None:
        return Row(Rule.HITS, None, None, Verdict.PARTIAL, Note.UNKNOWN)
    allowed, unit = hits_range(run, evidence, result), match_unit(evidence.after)
    if allowed is None or unit is None:
        return Row(Rule.HITS, None, hits, note=Note.MATCH_UNIT_UNKNOWN)
    if hits in allowed:
        return Row(Rule.HITS, allowed, hits)
    if hits < allowed.low:
        return Row(Rule.HITS, allowed, hits, note=Note.BELOW_RANGE)
    excess, tokens = hits - allowed.high, result.total_input_tokens
    if is_collision(excess, requests=result.completed, unit=unit, prompt_tokens=tokens):
        return Row(Rule.HITS, allowed, hits, note=Note.COLLISIONS)
    return Row(Rule.HITS, allowed, hits, Verdict.CONTAMINATED)
