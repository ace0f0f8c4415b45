"""What a plan comes to before its launch: sizes, expectations, what to mind, exact commands."""

import streamlit as st

from core import format as fmt
from core.domain.bench.check import Case, Finding, Level, Topic
from core.domain.bench.expectation import Range
from core.messages import say
from core.ui.style import plain
from core.ui.tables import Cell, Column, table
from core.views.bench_form import PlannedCommands, PlanShown


def check_panel(shown: PlanShown) -> None:
    """Everything to see before a launch."""
    check = shown.check
    time = say("bench.time_unknown")
    if check.time_s is not None:
        time = say("bench.time", time=fmt.seconds(check.time_s))
    st.markdown(
        plain(
            say(
                "bench.plan_size",
                runs=check.runs,
                input=f"{check.input_tokens:,}",
                output=f"{check.output_tokens:,}",
                time=time,
            )
        )
    )
    table("bench-plan", _columns(), [_case(case) for case in check.cases])
    for finding in check.findings:
        _finding(finding)
    with st.expander(say("bench.commands", n=len(shown.commands)), icon=":material/terminal:"):
        st.caption(say("bench.commands_note"))
        st.caption(plain(say("bench.ours", flags=", ".join(shown.ours))))
        st.code("\n".join(map(_typed, shown.commands)), language="bash", height=320)


def _columns() -> list[Column]:
    return [
        Column(say("bench.col_pair")),
        Column(say("bench.col_requests"), numeric=True),
        Column(say("bench.col_input"), numeric=True),
        Column(say("bench.col_expected"), numeric=True),
        Column(say("bench.col_expected_ratio"), numeric=True),
        Column(say("bench.col_ceiling"), numeric=True),
        Column(say("bench.col_ceiling_quadratic"), numeric=True),
    ]


def _case(case: Case) -> list[Cell]:
    ratio = None
    if case.hits is not None:
        low, high = (f"{share * 100:.1f} %" for share in case.hits.ratio)
        ratio = low if low == high else say("bench.range", low=low, high=high)
    return [
        say("bench.name", pair=case.pair.name, concurrency=case.concurrency),
        case.requests,
        range_words(case.input_tokens),
        None if case.hits is None else range_words(case.hits.tokens),
        ratio,
        say("bench.factor", value=f"{case.ceilings.linear:.3g}"),
        say("bench.factor", value=f"{case.ceilings.quadratic:.3g}"),
    ]


def range_words(found: Range) -> str:
    """Lowest and highest; one number where they are the same."""
    low, high = f"{found.low:,}", f"{found.high:,}"
    return low if low == high else say("bench.range", low=low, high=high)


def finding_words(finding: Finding) -> str:
    """A finding in a sentence."""
    values: dict[str, str | int] = dict(finding.values)
    if finding.topic is Topic.INVALID_IF:
        names = str(values["rules"]).split(", ")
        values["rules"] = ", ".join(dict.fromkeys(say(f"bench_rule.{name}") for name in names))
    words = say(f"bench_topic.{finding.topic}", **values)
    return f"{say(f'bench_level.{finding.level}')}: {words}"


def _finding(finding: Finding) -> None:
    words = plain(finding_words(finding))
    if finding.level is Level.ERROR:
        st.error(words)
    elif finding.level is Level.WARNING:
        st.warning(words)
    else:
        st.caption(words)


def _typed(commands: PlannedCommands) -> str:
    lines = [f"# {commands.run.run_id}", *filter(None, [commands.serve]), commands.bench]
    return "\n".join(lines) + "\n"
