"""One experiment: which, its verdict in words, the gate's picture and what stands beside it."""

from functools import partial

import streamlit as st

from core import charts, runtime
from core import format as fmt
from core.charts import Dot
from core.demo import evaluators_of
from core.domain.statistics.gate import Verdict
from core.messages import say
from core.report.gate_words import (
    ARMS_TITLES,
    Clock,
    arm_rows,
    evidence_line,
    gate_dots,
    gate_notes,
    is_rate,
    standing_words,
    verdict_words,
    warnings,
)
from core.ui.choices import choice
from core.ui.frame import chart, heading, info, time_axis
from core.ui.request import lines
from core.ui.style import escaped, plain
from core.ui.tables import Column, table
from core.views.experiment_log import ExperimentLog
from core.views.experiment_words import not_excluded
from core.views.experiments import ExperimentsView, ExperimentView, Question


def experiment_asked() -> Question:
    """Which experiment the URL names, and how scores are read."""
    return Question(
        experiment=st.query_params.get("experiment"),
        evaluators=evaluators_of(runtime.running().settings),
    )


def experiment_bar(view: ExperimentsView) -> ExperimentView | None:
    """All experiments, and the box to choose one; None, with the reason, where none is shown."""
    if not view.logs:
        info(say("experiments.empty"))
        return None
    names = {log.experiment: _title(log) for log in view.logs}
    choice("experiment", say("experiments.which"), list(names), words=names.__getitem__)
    if view.log is not None and view.one is None:
        fault = "; ".join(one.fault for one in view.log.history.broken)
        st.error(plain(say("experiments.broken", fault=fault)))
    return view.one


def _title(log: ExperimentLog) -> str:
    newest = log.history.newest
    verdict = verdict_words(log.verdict)
    if newest is None:
        return log.experiment
    return say("experiments.entry", title=newest.plan.title, name=log.experiment, verdict=verdict)


def verdict_panel(one: ExperimentView) -> None:
    """The verdict that stands, large; why it holds; and what this comparison cannot exclude."""
    kind = "none" if one.verdict is None else one.verdict.value
    st.html(
        f'<div class="pw-verdict {kind}"><div class="v">{escaped(verdict_words(one.verdict))}'
        f'</div><div class="t">{escaped(standing_words(one, clock(one)))}</div></div>'
    )
    if one.verdict is Verdict.HOLD and one.told is not None:
        st.warning(plain(say("gate.told", verdict=verdict_words(one.told))))
    for words in warnings(one):
        st.warning(plain(words))
    if one.holds:
        heading(say("experiments.holds"))
        lines([evidence_line(line, clock(one)) for line in one.holds], "pw-list")
    if one.would_hold:
        heading(say("experiments.would_hold"))
        lines([evidence_line(line, clock(one)) for line in one.would_hold], "pw-list")
    asked = say(f"lever_quality.{one.plan.quality}")
    lines([asked, *not_excluded(one.plan.comparison)])


def clock(one: ExperimentView) -> Clock:
    """How moments are written: in the reader's zone."""
    return partial(moment, one)


def moment(one: ExperimentView, at: float) -> str:
    """A moment in the reader's zone, with its day."""
    return fmt.clock(at, time_axis(one.fleet).zone, day=True)


def gate_panel(one: ExperimentView) -> None:
    """The interval against minus the margin and 0, looks before it, and the arms below."""
    heading(say("experiments.gate"), "quality_difference")
    ratio = is_rate(one.plan)
    figure = charts.gate(
        [Dot(d.name, d.value, d.low, d.high, d.note, d.faint) for d in gate_dots(one)],
        say("axis.gate_pp" if ratio else "axis.gate"),
        margin=one.plan.margin,
        names=(say("gate.margin"), say("contrast.none")),
        tick_format="+.1%" if ratio else "+.2f",
    )
    chart("experiment_gate", figure)
    columns = [Column(title, numeric=n > 0, wide=n == 0) for n, title in enumerate(ARMS_TITLES)]
    table("experiment_arms", columns, [list(row) for row in arm_rows(one)])
    lines(gate_notes(one))
