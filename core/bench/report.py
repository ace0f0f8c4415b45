"""A plan's check and a job's judgement as plain text for a terminal."""

from collections.abc import Iterator
from pathlib import PurePath

from core.bench.judged import Judgement
from core.bench.state import JobState
from core.domain.bench.check import Case, Finding, PlanCheck
from core.domain.bench.commands import Command, bench_command, displayed, serve_command
from core.domain.bench.comparison import Estimate
from core.domain.bench.judge import Row
from core.domain.bench.panel import Judged, Panel
from core.domain.bench.plan import Plan, Run, Target
from core.domain.bench.runs import runs_of
from core.domain.reading import Reading

UNKNOWN = "unknown"
PORT = 8000
"""Stands in shown commands for the free port that is chosen at launch."""


def check_report(plan: Plan, found: PlanCheck) -> str:
    """Everything to see before a launch, exact commands first."""
    return "\n".join([*_commands(plan), "", *_sizes(found), "", *_findings(found), ""])


def judgement_report(judgement: Judgement, state: JobState | None = None) -> str:
    """Each run with the rules it broke, then what each pair says."""
    lines = [] if state is None else [f"job {state.step}: {state.reason or 'every run was made'}"]
    lines += [line for one in judgement.runs for line in _run(one)]
    lines += [f"{judgement.valid} of {len(judgement.runs)} runs are valid"]
    lines += [line for one in judgement.panels for line in _panel(one)]
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
    text = f"{case.requests} requests, {tokens.low:,} to {tokens.high:,} input tokens, "
    if case.hits is None:
        text += "hit tokens unknown"
    else:
        low, high = case.hits.ratio
        hits = case.hits.tokens
        text += f"{hits.low:,} to {hits.high:,} hit tokens ({low:.2%} to {high:.2%})"
    linear, quadratic = case.ceilings
    return f"{text}, TTFT ceiling {linear:.3f} (linear), {quadratic:.3f} (quadratic)"


def _findings(found: PlanCheck) -> Iterator[str]:
    yield from (_finding(finding) for finding in found.findings)


def _finding(finding: Finding) -> str:
    values = ", ".join(f"{name} {value}" for name, value in finding.values.items())
    return f"{finding.level}: {finding.topic.replace('_', ' ')}" + (f" ({values})" * bool(values))


def _run(one: Judged) -> Iterator[str]:
    yield f"{one.run.run_id}: {one.verdict.verdict}"
    yield from (f"  {_rule(row)}" for row in one.verdict.rows if row.verdict or row.note)


def _rule(row: Row) -> str:
    note = "" if row.note is None else f" [{row.note}]"
    seen = UNKNOWN if row.seen is None else row.seen
    return f"{row.rule}: expected {row.expected}, seen {seen}{note}"


def _panel(one: Panel) -> Iterator[str]:
    yield f"{one.pair.name} at concurrency {one.concurrency}: {one.conclusion}"
    yield (
        f"  compared {one.compared} of {one.asked}, hits {_reading(one.hits_tokens)} tokens, "
        f"hit ratio {_reading(one.hit_ratio)}, mean prefill OFF {_reading(one.prefill_off_s)} s, "
        f"ON {_reading(one.prefill_on_s)} s"
    )
    yield (
        f"  median TTFT OFF {_estimate(one.ttft_ms.off)} ms, ON {_estimate(one.ttft_ms.on)} ms, "
        f"OFF / ON {_estimate(one.ttft_ratio)}, ceiling {one.ceilings.linear:.3f}"
    )


def _reading(reading: Reading) -> str:
    return UNKNOWN if reading.value is None else f"{reading.value:,.4g}"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return UNKNOWN
    limits = estimate.interval
    text = f"{estimate.value:.4g}"
    if limits is None:
        return f"{text} (no interval)"
    return f"{text} ({limits.lower:.4g} to {limits.upper:.4g}, {estimate.basis})"
