"""Results of a benchmark: what each pair says, hits and latencies behind it, runs one by one."""

from collections.abc import Callable, Sequence
from datetime import tzinfo

import streamlit as st

from core import charts, runtime
from core import format as fmt
from core.charts import Named
from core.domain.bench.checklist import Entry, Look, Unset
from core.domain.bench.comparison import Basis, Estimate
from core.domain.bench.expectation import Range
from core.domain.bench.judge import Row
from core.domain.bench.panel import Panel, Sides
from core.domain.bench.prompts import Sharing, Unmade
from core.messages import say
from core.ui.benchmark_check import range_words
from core.ui.benchmark_plan import use_plan
from core.ui.benchmark_prometheus import prometheus_words
from core.ui.choices import choice
from core.ui.frame import chart, grid, heading, info, zone_of_reader
from core.ui.style import escaped, plain
from core.ui.tables import Cell, Column, Ranged, table, words
from core.views.benchmarks import BenchmarksView, JobLine, JobShown, PanelLine, RunLine

LOG_PX = 220


def wanted_job() -> str | None:
    """The job that the URL asks for."""
    return st.query_params.get("job")


def bench_notes(view: BenchmarksView) -> None:
    """What of the scope counts here, and what is real in a demo."""
    notes = [say("bench.scope")]
    if view.other_models:
        notes.append(say("bench.others", n=view.other_models))
    if runtime.running().settings.demo:
        notes.append(say("bench.demo"))
    st.html(f'<div class="pw-fresh">{escaped(" ".join(notes))}</div>')


def results_section(view: BenchmarksView) -> None:
    """The chosen job: conclusions, panels, checklists, runs; or why there is none."""
    heading(say("bench.results"))
    if view.job is None:
        info(say("bench.empty"))
        return
    job = view.job
    _choice(view.jobs, job)
    if not any(run.verdict is not None for run in job.runs):
        info(say("bench.not_judged"))
    elif not job.panels:
        info(say("bench.no_pairs"))
    else:
        named = [Named(_name(line), line) for line in job.panels]
        _sentences(named)
        _charts(named)
        _hits(named)
        _speed(named)
        _checklists(named)
    _runs(job)


def _choice(jobs: Sequence[JobLine], job: JobShown) -> None:
    zone = zone_of_reader()[0]
    lines = {line.job_id: line for line in jobs}
    left, right = grid("bench_job", 3, 1)
    with left:
        choice(
            "job",
            say("bench.job"),
            list(lines),
            words=lambda job_id: _job_words(lines[job_id], zone),
            default=job.job_id,
        )
        line = lines[job.job_id]
        state = say(f"bench_step.{line.state}")
        st.caption(
            plain(
                say(
                    "bench.job_state",
                    origin=say(f"bench_origin.{line.origin}"),
                    at=fmt.clock(line.created_at, zone, day=True),
                    state=state
                    if line.reason in (None, line.state)
                    else f"{state} ({line.reason})",
                    valid=line.valid,
                    runs=line.runs,
                )
            )
        )
    with right:
        st.button(
            say("bench.use_plan"),
            key="bench_use",
            icon=":material/replay:",
            on_click=use_plan,
            args=(job.plan,),
        )


def _job_words(line: JobLine, zone: tzinfo) -> str:
    return say(
        "bench.job_words",
        name=line.name,
        model=line.model,
        at=fmt.clock(line.created_at, zone, day=True),
        valid=line.valid,
        runs=line.runs,
    )


def _name(line: PanelLine) -> str:
    values = {"pair": line.panel.pair.name, "concurrency": line.panel.concurrency}
    if line.hash_algorithm is None:
        return say("bench.name", **values)
    return say("bench.name_hash", algorithm=line.hash_algorithm, **values)


def _sentences(named: Sequence[Named]) -> None:
    """One sentence for each pair, together for the concurrencies of which it says the same."""
    heading(say("bench.sentences"))
    said: dict[tuple[str, str, str], list[str]] = {}
    for one in named:
        panel = one.line.panel
        key = (panel.pair.name, panel.kind, panel.conclusion)
        place = str(panel.concurrency)
        if one.line.hash_algorithm is not None:
            place = say("bench.place", concurrency=place, algorithm=one.line.hash_algorithm)
        said.setdefault(key, []).append(place)
    for (pair, kind, conclusion), places in said.items():
        text = say(
            "bench.sentence",
            pair=pair,
            kind=say(f"bench_kind.{kind}"),
            places=", ".join(places),
            words=say(f"bench_conclusion.{conclusion}"),
        )
        st.html(f'<div class="pw-line">{escaped(text)}</div>')


def _charts(named: Sequence[Named]) -> None:
    left, middle, right = grid("bench_charts", 1, 1, 1)
    with left:
        heading(say("bench.chart_ttft"), "bench_ttft")
        chart("bench_ttft", charts.ttft_off_on(named, lambda one: words(milliseconds(one))))
    with middle:
        heading(say("bench.chart_change"), "bench_ttft")
        chart("bench_change", charts.change_and_ceilings(named, lambda one: words(_factor(one))))
    with right:
        heading(say("bench.chart_hits"), "bench_hits_tokens")
        chart("bench_hits", charts.hits_expected(named))


def _hits(named: Sequence[Named]) -> None:
    heading(
        say("bench.hits"),
        *("bench_hit_ratio", "bench_hits_tokens", "bench_cached_tokens", "bench_queries_off"),
        *("bench_queries_on", "bench_prefill_off_s", "bench_prefill_on_s"),
    )
    texts = ("col_pair", "col_kind", "col_compared", "col_observed")
    numbers = ("hits", "expected", "ratio", "cached", "queries_off", "queries_on")
    columns = [Column(say(f"bench.{name}")) for name in texts]
    columns += [
        Column(say(f"bench.col_{name}"), numeric=True)
        for name in (*numbers, "prefill_off", "prefill_on")
    ]
    columns.append(Column(say("bench.col_note"), wide=True))
    table("bench-hits", columns, [_hits_row(one) for one in named])


def _hits_row(one: Named) -> list[Cell]:
    panel = one.line.panel
    observed = None
    if panel.hit_observed is not None:
        observed = say("bench.yes") if panel.hit_observed else say("bench.no")
    expected = one.line.expected_hits
    return [
        one.name,
        say(f"bench_kind.{panel.kind}"),
        say("bench.of", n=panel.compared, of=panel.asked),
        observed,
        panel.hits_tokens,
        None if expected is None else range_words(expected),
        panel.hit_ratio,
        panel.cached_tokens,
        panel.queries_off,
        panel.queries_on,
        panel.prefill_off_s,
        panel.prefill_on_s,
        _notes(panel),
    ]


def _notes(panel: Panel) -> str:
    """What is to be explained in the compared ON runs, and makes none of them invalid."""
    notes = [
        row.note
        for pair in panel.pairs
        if pair.counts
        for row in pair.on.verdict.rows
        if row.note is not None
    ]
    said = [say(f"bench_note.{note}") for note in dict.fromkeys(notes)]
    return "; ".join(said) or say("bench.nothing")


def _speed(named: Sequence[Named]) -> None:
    heading(say("bench.speed"), "bench_ttft", "bench_throughput", "bench_e2e")
    texts = ("pair", "ttft_off", "ttft_on", "change", "ceilings", "speed")
    pairs = ("first", "later", "thr_in", "thr_out", "e2e")
    columns = [Column(say(f"bench.col_{name}")) for name in texts]
    columns += [Column(say(f"bench.col_{name}"), numeric=True) for name in pairs]
    table("bench-speed", columns, [_speed_row(one) for one in named])
    st.caption(say("bench.note"))


def _speed_row(one: Named) -> list[Cell]:
    panel = one.line.panel
    return [
        one.name,
        *(_known(side, milliseconds) for side in (panel.ttft_ms.off, panel.ttft_ms.on)),
        _known(panel.ttft_ratio, _factor),
        _ceilings(panel),
        say(f"bench_speed.{panel.speed or 'none'}"),
        _sides(panel.first_ms, ms=True),
        _sides(panel.later_ms, ms=True),
        _sides(panel.input_throughput, ms=False),
        _sides(panel.output_throughput, ms=False),
        _sides(panel.e2el_ms, ms=True),
    ]


def _ceilings(panel: Panel) -> str:
    if panel.above_ceiling:
        return say("bench.above")
    linear, quadratic = (f"{limit:.3g}" for limit in panel.ceilings)
    return say("bench.below", linear=linear, quadratic=quadratic)


def _known(estimate: Estimate | None, cell: Callable[[Estimate], Ranged]) -> Ranged | None:
    return None if estimate is None else cell(estimate)


def _sides(sides: Sides, *, ms: bool) -> str | None:
    if sides.off is None or sides.on is None:
        return None
    off, on = (
        fmt.seconds(side.value / 1000) if ms else fmt.quantity(side.value)
        for side in (sides.off, sides.on)
    )
    return say("bench.sides", off=off, on=on)


def milliseconds(estimate: Estimate) -> Ranged:
    """A time with its interval, and what that varies over."""
    return _with_interval(estimate, lambda value: fmt.seconds(value / 1000))


def _factor(estimate: Estimate) -> Ranged:
    return _with_interval(estimate, lambda value: say("bench.factor", value=f"{value:.3g}"))


def _with_interval(estimate: Estimate, write: Callable[[float], str]) -> Ranged:
    value = write(estimate.value)
    if estimate.interval is None:
        return Ranged(value, say("bench.interval_none"))
    low, high = (write(limit) for limit in estimate.interval)
    key = "bench.interval_runs" if estimate.basis is Basis.RUNS else "bench.interval_within"
    return Ranged(value, say(key, low=low, high=high, n=estimate.runs))


def _checklists(named: Sequence[Named]) -> None:
    """Opened where a valid pair shows no difference, or ON is slower."""
    for one in named:
        entries = one.line.panel.checklist
        if not entries:
            continue
        with st.expander(say("bench.checklist", name=one.name), expanded=True):
            st.caption(say("bench.checklist_note"))
            columns = [
                Column(say("bench.col_look")),
                Column(say("bench.col_evidence"), wide=True),
            ]
            logs = [entry for entry in entries if entry.look is Look.SERVER_LOG]
            rows: list[list[Cell]] = [
                [say(f"bench_look.{entry.look}"), _evidence(entry)]
                for entry in entries
                if entry not in logs
            ]
            table(f"bench-checklist-{one.name}", columns, rows)
            for entry in logs:
                st.caption(say(f"bench_look.{entry.look}"))
                st.code(_log_text(entry), language=None, wrap_lines=True, height=LOG_PX)


def _log_text(entry: Entry) -> str:
    texts = [str(value) for value in entry.values.values() if value is not None]
    return "\n".join(texts) or say("cell.unknown")


def _evidence(entry: Entry) -> str:
    parts = []
    for name, value in entry.values.items():
        shown = say("cell.unknown") if value is None else value
        if isinstance(value, Unset):
            shown = say(f"bench.{value}")
        if isinstance(value, Sharing | Unmade):
            shown = say(f"bench_prompts.{value}")
        if isinstance(shown, int | float):
            shown = f"{shown:,.6g}" if isinstance(shown, float) else f"{shown:,}"
        parts.append(say("bench.evidence", name=say(f"bench_value.{name}"), value=shown))
    return "; ".join(parts)


def _runs(job: JobShown) -> None:
    heading(say("bench.troubled"))
    _run_table("bench-troubled", job.troubled, empty=say("bench.no_trouble"))
    for run in job.troubled:
        if run.last_output:
            with st.expander(plain(say("bench.last_output", run=run.run.run_id))):
                st.code(run.last_output, language=None, wrap_lines=True)
    with st.expander(say("bench.runs")):
        _run_table("bench-runs", job.runs)


def _run_table(key: str, runs: Sequence[RunLine], *, empty: str = "") -> None:
    columns = [
        Column(say("bench.col_run_id")),
        Column(say("bench.col_state")),
        Column(say("bench.col_verdict")),
        Column(say("bench.col_why"), wide=True),
        Column(say("bench.col_prometheus"), wide=True),
    ]
    table(key, columns, [_run_row(run) for run in runs], empty=empty)


def _run_row(line: RunLine) -> list[Cell]:
    unread = line.state == "done"
    verdict = say("bench_verdict.failed" if unread else "bench.not_judged_run")
    why = [] if line.reason is None else [line.reason]
    if line.state == "not run" and not why:
        why = [say("bench.not_in_import")]
    if line.verdict is not None:
        verdict = say(f"bench_verdict.{line.verdict.verdict}")
        why += [_rule(row) for row in line.verdict.broken]
    state = say(f"bench_step.{line.state}")
    reasons = "; ".join(why) or say("bench.nothing")
    return [line.run.run_id, state, verdict, reasons, prometheus_words(line)]


def _rule(row: Row) -> str:
    rule = say(f"bench_rule.{row.rule}")
    if row.expected is None:
        return say("bench.rule_seen", rule=rule, seen=_value(row.seen))
    return say("bench.rule", rule=rule, expected=_value(row.expected), seen=_value(row.seen))


def _value(value: object) -> str:
    if value is None:
        return say("cell.unknown")
    if isinstance(value, bool):
        return say("bench.yes") if value else say("bench.no")
    if isinstance(value, Range):
        return range_words(value)
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
