"""What a plan comes to before anything is started: sizes, expectations, and what to mind."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from core.domain.bench.comparison import FEWEST_PAIRS
from core.domain.bench.configuration import whole
from core.domain.bench.expectation import (
    Ceilings,
    ExpectedHits,
    Range,
    ceilings,
    estimated_time_s,
    expected_hits,
    planned_input,
    planned_output,
)
from core.domain.bench.judge import Rule
from core.domain.bench.plan import Pair, Plan, Target, Workload
from core.domain.bench.refusals import refuse
from core.domain.bench.runs import in_order, runs_of


class Level(StrEnum):
    """ERROR: nothing may start. WARNING: a result would say less. NOTE: to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Topic(StrEnum):
    """What a finding is about; its words stand elsewhere, its values beside it."""

    FEWER_SENT = "fewer_sent"
    NONE_SENT = "none_sent"
    LONGER_THAN_MODEL = "longer_than_model"
    MODEL_LENGTH_UNKNOWN = "model_length_unknown"
    NO_SPEED_VERDICT = "no_speed_verdict"
    SHORT_FOR_WAVES = "short_for_waves"
    HASH_TOO_EARLY = "hash_too_early"
    XXHASH_MISSING = "xxhash_missing"
    XXHASH_UNKNOWN = "xxhash_unknown"
    GIVEN_URL_MISSING = "given_url_missing"
    GIVEN_URLS_EQUAL = "given_urls_equal"
    GIVEN_HASH_AXIS = "given_hash_axis"
    MATCH_UNIT_UNKNOWN = "match_unit_unknown"
    NO_WHOLE_BLOCK = "no_whole_block"
    INVALID_IF = "invalid_if"


class Finding(NamedTuple):
    """One thing to mind, with the values its words need."""

    level: Level
    topic: Topic
    values: dict[str, str | int]


class Known(NamedTuple):
    """What is known around a plan; None: nobody looked.

    `hits_seen`: an earlier valid pair told hits, hit tokens and prefill time.
    `match_unit`: the engine's; else the plan's own arguments are asked.
    """

    xxhash_installed: bool | None = None
    hits_seen: bool = False
    match_unit: int | None = None
    model_len: int | None = None
    engines: int = 1
    tokens_per_s: float | None = None
    start_s: float | None = None


@dataclass(frozen=True)
class Case:
    """What one run of a pair at one concurrency must give; hits are those of the ON run."""

    pair: Pair
    concurrency: int
    requests: int
    input_tokens: Range
    output_tokens: int
    hits: ExpectedHits | None
    ceilings: Ceilings


@dataclass(frozen=True)
class PlanCheck:
    """A plan before its launch; tokens are those of all its runs together."""

    cases: tuple[Case, ...]
    findings: tuple[Finding, ...]
    runs: int
    input_tokens: int
    output_tokens: int
    time_s: float | None

    @property
    def can_start(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.level is not Level.ERROR for finding in self.findings)


INVALID_IF = (
    Rule.EXIT_CODE,
    Rule.FAILED_REQUESTS,
    Rule.COMPLETED,
    Rule.OUTPUT_TOKENS,
    Rule.INPUT_TOKENS,
    Rule.COUNTERS_SEEN,
    Rule.SERVER_INPUT,
    Rule.CACHING_FLAG,
    Rule.QUERIES,
    Rule.HITS,
)
"""Rules of the judge that make a run invalid, as a launch shows them beforehand."""


def planned_match_unit(plan: Plan) -> int | None:
    """Match unit or block size that the plan's own server arguments set.

    >>> from core.domain.bench.presets import small
    >>> planned_match_unit(small("m", "t"))
    32
    """
    said: dict[str, str] = {}
    words = [part for word in plan.serve.arguments for part in word.split("=", 1)]
    for flag, value in pairwise(words):
        said[flag.replace("_", "-")] = value
    for flag in ("--prefix-match-unit", "--block-size"):
        if (unit := whole(said.get(flag))) is not None and unit > 0:
            return unit
    return None


def check(plan: Plan, known: Known) -> PlanCheck:
    """Everything to see before a launch.

    A finding of level ERROR means that nothing may be started.

    Raises
    ------
    BenchPlanError
        For what a plan may not say at all.
    """
    refuse(plan)
    unit = known.match_unit if known.match_unit is not None else planned_match_unit(plan)
    cases = tuple(_cases(plan, unit, known.engines))
    runs = runs_of(plan)
    workloads = [run.pair.workload for run in runs]
    return PlanCheck(
        cases,
        tuple(_findings(plan, known, unit)),
        len(runs),
        sum(planned_input(one, template_tokens=0).low for one in workloads),
        sum(planned_output(one) for one in workloads),
        estimated_time_s(plan, tokens_per_s=known.tokens_per_s, start_s=known.start_s),
    )


def _cases(plan: Plan, unit: int | None, engines: int) -> Iterator[Case]:
    for pair in in_order(plan.pairs):
        work = pair.workload
        for concurrency in plan.concurrency if work.requests else ():
            hits = None
            if unit is not None:
                hits = expected_hits(work, concurrency, block=unit, engines=engines)
            tokens = planned_input(work, template_tokens=plan.template_tokens)
            output = planned_output(work)
            limits = ceilings(work)
            yield Case(pair, concurrency, work.requests, tokens, output, hits, limits)


def _findings(plan: Plan, known: Known, unit: int | None) -> Iterator[Finding]:
    for pair in in_order(plan.pairs):
        yield from _of_workload(plan, known, pair)
    yield from _of_hits(plan, unit)
    if plan.repeats < FEWEST_PAIRS:
        values: dict[str, str | int] = {"repeats": plan.repeats, "fewest": FEWEST_PAIRS}
        yield Finding(Level.WARNING, Topic.NO_SPEED_VERDICT, values)
    yield from _of_algorithms(plan, known)
    if plan.target is Target.GIVEN:
        yield from _of_given(plan)
    yield Finding(Level.NOTE, Topic.INVALID_IF, {"rules": ", ".join(INVALID_IF)})


def _of_workload(plan: Plan, known: Known, pair: Pair) -> Iterator[Finding]:
    work = pair.workload
    sizes: dict[str, str | int] = {"pair": pair.name, "sent": work.requests}
    sizes |= {"asked": work.prompts, "prefixes": work.prefixes}
    if work.requests == 0:
        yield Finding(Level.ERROR, Topic.NONE_SENT, sizes)
        return
    if work.requests < work.prompts:
        yield Finding(Level.WARNING, Topic.FEWER_SENT, sizes)
    waves = [c for c in plan.concurrency if work.requests < 2 * c]
    for concurrency in waves:
        values: dict[str, str | int] = {"pair": pair.name, "concurrency": concurrency}
        yield Finding(Level.WARNING, Topic.SHORT_FOR_WAVES, {**values, "sent": work.requests})
    yield from _of_length(plan, known, pair.name, work)


def _of_length(plan: Plan, known: Known, pair: str, work: Workload) -> Iterator[Finding]:
    length = plan.serve.max_model_len if known.model_len is None else known.model_len
    needed = work.input_tokens + work.output_tokens
    values: dict[str, str | int] = {"pair": pair, "needed": needed}
    if length is None:
        yield Finding(Level.NOTE, Topic.MODEL_LENGTH_UNKNOWN, values)
        return
    values |= {"length": length, "template": plan.template_tokens}
    if needed > length:
        yield Finding(Level.ERROR, Topic.LONGER_THAN_MODEL, values)
    elif needed + plan.template_tokens > length:
        yield Finding(Level.WARNING, Topic.LONGER_THAN_MODEL, values)


def _of_hits(plan: Plan, unit: int | None) -> Iterator[Finding]:
    if unit is None:
        yield Finding(Level.NOTE, Topic.MATCH_UNIT_UNKNOWN, {})
        return
    for pair in in_order(plan.pairs):
        if 0 < pair.workload.prefix_tokens < unit:
            values: dict[str, str | int] = {"pair": pair.name, "unit": unit}
            values["prefix"] = pair.workload.prefix_tokens
            yield Finding(Level.WARNING, Topic.NO_WHOLE_BLOCK, values)


def _of_algorithms(plan: Plan, known: Known) -> Iterator[Finding]:
    if not plan.hash_algorithms:
        return
    if not known.hits_seen:
        values: dict[str, str | int] = {"algorithms": ", ".join(plan.hash_algorithms)}
        yield Finding(Level.WARNING, Topic.HASH_TOO_EARLY, values)
    if not any(name.startswith("xxhash") for name in plan.hash_algorithms):
        return
    if known.xxhash_installed is None or plan.target is Target.GIVEN:
        yield Finding(Level.WARNING, Topic.XXHASH_UNKNOWN, {})
    elif not known.xxhash_installed:
        yield Finding(Level.ERROR, Topic.XXHASH_MISSING, {})


def _of_given(plan: Plan) -> Iterator[Finding]:
    for name, url in (("off_url", plan.off_url), ("on_url", plan.on_url)):
        if url is None:
            yield Finding(Level.ERROR, Topic.GIVEN_URL_MISSING, {"field": name})
        elif _same(plan.off_url, url) and name == "on_url":
            yield Finding(Level.ERROR, Topic.GIVEN_URLS_EQUAL, {"url": url})
    if len(plan.hash_algorithms) > 1:
        yield Finding(Level.ERROR, Topic.GIVEN_HASH_AXIS, {"n": len(plan.hash_algorithms)})


def _same(this: str | None, that: str) -> bool:
    return this is not None and this.rstrip("/").lower() == that.rstrip("/").lower()
