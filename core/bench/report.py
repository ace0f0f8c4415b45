"""A plan's check and a job's judgement as plain text for a terminal."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from core.bench.judged import Judgement
from core.bench.state import FINAL, JobState, Step
from core.domain.bench.check import Case, Finding, PlanCheck, Topic
from core.domain.bench.commands import Command, bench_command, displayed, serve_command
from core.domain.bench.comparison import Basis, Estimate
from core.domain.bench.expectation import Range
from core.domain.bench.judge import Row, Value
from core.domain.bench.panel import Judged, Panel
from core.domain.bench.panels import expected_hits_of
from core.domain.bench.plan import Plan, Run, Target
from core.domain.bench.result import ScrapeState
from core.domain.bench.runs import runs_of
from core.domain.reading import Reading
from core.messages import named, say

UNKNOWN = "unknown"
LAST_LINES = 5
"""Of what a failed program printed last."""
PORT = 8000
"""Stands in shown commands for the free port that is chosen at launch."""


def check_report(plan: Plan, found: PlanCheck) -> str:
    """Everything to see before a launch, exact commands first."""
    return "\n".join([*_commands(plan), "", *_sizes(found), "", *_findings(found), ""])


def judgement_report(judgement: Judgement, state: JobState | None = None) -> str:
    """Each run with the rules it broke, the pairs as a table, then what each of them says."""
    lines = []
    if state is not None:
        made = "every run was made" if state.ended else "not every run is over"
        lines = [f"job {state.step}: {state.reason or made}"]
    reasons = {} if state is None else {run.run_id: run.reason for run in state.runs}
    lines += [line for one in judgement.runs for line in _run(one, reasons.get(one.run.run_id))]
    lines += [f"{judgement.valid} of {len(judgement.runs)} runs are valid"]
    if state is not None and (left := state.count(Step.NOT_RUN)):
        lines[-1] += f", {left} were not run"
    if state is not None and (left := sum(run.step not in FINAL for run in state.runs)):
        lines[-1] += f", {left} are not over"
    if judgement.panels:
        lines += ["", *_table([HEADINGS, *map(_figures, judgement.panels)]), ""]
    lines += [line for one in judgement.panels for line in _said(one)]
    return "\n".join([*lines, ""])


def _commands(plan: Plan) -> Iterator[str]:
    for run in runs_of(plan):
        yield run.run_id
        if plan.target is Target.MANAGED:
            yield f"  {displayed(serve_command(plan, run, PORT))}"
        yield f"  {displayed(_bench(plan, run))}"


def _bench(plan: Plan, run: Run) -> Command:
    given = plan.on_url if run.caching else plan.off_url
    url = given if plan.target is Target.GIVEN and given else f"http://127.0.0.1:{PORT}"
    return bench_command(plan, run, url, PurePath("RUN_FOLDER", "result.json"))


def _sizes(found: PlanCheck) -> Iterator[str]:
    time_s = UNKNOWN if found.time_s is None else f"{found.time_s:,.0f} s"
    yield (
        f"{found.runs} runs, {found.input_tokens:,} input and {found.output_tokens:,} output "
        f"tokens, time {time_s}"
    )
    for case in found.cases:
        yield f"  {case.pair.name} at concurrency {case.concurrency}: {_expected(case)}"


def _expected(case: Case) -> str:
    tokens = case.input_tokens
    text = f"{case.requests} requests, {_range(tokens)} input tokens, "
    if case.hits is None:
        text += "hit tokens unknown"
    else:
        low, high = case.hits.ratio
        text += f"{_range(case.hits.tokens)} hit tokens ({low:.2%} to {high:.2%})"
    linear, quadratic = case.ceilings
    return f"{text}, TTFT ceiling {linear:.3f} (linear), {quadratic:.3f} (quadratic)"


def _findings(found: PlanCheck) -> Iterator[str]:
    yield from (_finding(finding) for finding in found.findings)


def _finding(finding: Finding) -> str:
    words = dict(finding.values)
    if finding.topic is Topic.INVALID_IF:
        rules = str(words["rules"]).split(", ")
        words["rules"] = ", ".join(dict.fromkeys(named("bench_rule.", rule) for rule in rules))
    return f"{finding.level}: {say(f'bench_topic.{finding.topic}', **words)}"


def _run(one: Judged, reason: str | None) -> Iterator[str]:
    yield f"{one.run.run_id}: {named('bench_verdict.', one.verdict.verdict)}"
    yield from (f"  {_rule(row)}" for row in one.verdict.rows if row.verdict or row.note)
    scraped = one.evidence.prometheus
    if scraped is not None and scraped.detail is not None:
        yield f"    {scraped.detail}"
    if reason is not None:
        yield f"  {reason}"
        last = "" if one.evidence.last_output is None else one.evidence.last_output
        yield from (f"    {line}" for line in last.splitlines()[-LAST_LINES:])


def _rule(row: Row) -> str:
    note = "" if row.note is None else f" [{named('bench_note.', row.note)}]"
    expected = "" if row.expected is None else f"expected {_value(row.expected)}, seen "
    return f"{named('bench_rule.', row.rule)}: {expected}{_value(row.seen)}{note}"


def _value(value: Value) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, Range):
        return _range(value)
    if isinstance(value, ScrapeState):
        return named("bench_scraped.", value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _range(found: Range) -> str:
    low, high = f"{found.low:,}", f"{found.high:,}"
    return low if low == high else f"{low} to {high}"


HEADINGS = (
    "pair",
    "conc.",
    "compared",
    "hit tokens",
    "expected",
    "hit ratio",
    "prefill OFF",
    "prefill ON",
    "TTFT OFF",
    "TTFT ON",
    "OFF / ON",
    "ceiling",
)
"""TTFT is the median in milliseconds, prefill the engine's mean in seconds."""


def _figures(one: Panel) -> tuple[str, ...]:
    expected = expected_hits_of(one)
    algorithm = one.pairs[0].on.run.hash_algorithm
    ratio = one.hit_ratio.value
    return (
        one.pair.name if algorithm is None else f"{one.pair.name} {algorithm}",
        str(one.concurrency),
        f"{one.compared} of {one.asked}",
        UNKNOWN if one.hits_tokens.value is None else f"{one.hits_tokens.value:,.0f}",
        UNKNOWN if expected is None else _range(expected),
        UNKNOWN if ratio is None else f"{ratio:.2%}",
        _reading(one.prefill_off_s),
        _reading(one.prefill_on_s),
        _short(one.ttft_ms.off),
        _short(one.ttft_ms.on),
        _short(one.ttft_ratio),
        f"{one.ceilings.linear:.3f}",
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as aligned columns: names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells])


def _said(one: Panel) -> Iterator[str]:
    words = say(f"bench_conclusion.{one.conclusion}")
    yield f"{one.pair.name} at concurrency {one.concurrency}: {words}"
    yield (
        f"  median TTFT OFF {_estimate(one.ttft_ms.off)} ms, ON {_estimate(one.ttft_ms.on)} ms, "
        f"OFF / ON {_estimate(one.ttft_ratio)}"
    )


def _reading(reading: Reading) -> str:
    return UNKNOWN if reading.value is None else f"{reading.value:,.4g}"


def _short(estimate: Estimate | None) -> str:
    return UNKNOWN if estimate is None else f"{estimate.value:.4g}"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return UNKNOWN
    value, limits = f"{estimate.value:.4g}", estimate.interval
    if limits is None:
        return f"{value} ({say('bench.interval_none')})"
    low, high = f"{limits.lower:.4g}", f"{limits.upper:.4g}"
    within = estimate.basis is Basis.WITHIN_RUN
    key = "bench.interval_within" if within else "bench.interval_runs"
    return f"{value} ({say(key, low=low, high=high, n=estimate.runs)})"
