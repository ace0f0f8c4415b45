"""Rules of a plan: their states beside the gate, and the fields that write a measured one."""

from functools import partial

import streamlit as st

from core.domain.experiments.rules import (
    FIGURES,
    POINTS,
    Direction,
    MeasuredRule,
    Side,
    Unit,
)
from core.messages import say
from core.report.rule_words import RULE_TITLES, WIDE, are_shown, rule_notes, rule_rows
from core.ui.frame import heading
from core.ui.request import lines
from core.ui.style import plain
from core.ui.tables import Column, table
from core.views.experiments import ExperimentView

FIGURE, SIDE, DIRECTION, THRESHOLD = (
    f"rule_{name}" for name in ("figure", "side", "direction", "threshold")
)
FAULT = "rule_fault"


def rules_panel(one: ExperimentView) -> None:
    """Stop and rollback rules with what is known of each, and the way back."""
    if not are_shown(one):
        return
    heading(say("plan_rules.title"))
    columns = [Column(title, wide=n in WIDE) for n, title in enumerate(RULE_TITLES)]
    table("experiment_rules", columns, [list(row) for row in rule_rows(one)], whole=True)
    lines(rule_notes(one))


def rule_fields(stop_key: str, rollback_key: str) -> None:
    """Fields inside a form that add a measured rule to one of two texts, by their keys."""
    st.markdown(f"**{say('plan_rules.add')}**")
    st.caption(say("plan_rules.add_note"))
    figure, side, direction, threshold = st.columns([3, 2, 1, 1])
    figure.selectbox(say("plan_rules.figure"), list(FIGURES), key=FIGURE, format_func=_figure_words)
    side.selectbox(say("plan_rules.side"), list(Side), key=SIDE, format_func=_side_words)
    direction.selectbox(say("plan_rules.direction"), list(Direction), key=DIRECTION)
    threshold.number_input(
        say("plan_rules.threshold"),
        key=THRESHOLD,
        value=None,
        step=0.1,
        format="%.4g",
        help=say("plan_rules.threshold_help"),
    )
    labels = (say("plan_rules.to_stop"), say("plan_rules.to_rollback"))
    with st.container(horizontal=True):
        for label, key in zip(labels, (stop_key, rollback_key), strict=True):
            st.form_submit_button(label, on_click=partial(_add, key), key=f"add_{key}")
    if fault := st.session_state.get(FAULT):
        st.markdown(f":material/error: {plain(fault)}")


def _side_words(side: Side) -> str:
    return say("plan_rules.minus", side=side) if side is Side.DIFFERENCE else side.value


def _figure_words(metric: str) -> str:
    figure = FIGURES[metric]
    unit = f"{figure.unit}, {POINTS}" if figure.unit is Unit.PERCENT else figure.unit
    return say("plan_rules.figure_unit", name=figure.name, unit=unit)


def _add(key: str) -> None:
    """Put the rule of the fields behind the lines of a text, once; or say what is missing."""
    held = st.session_state
    held.pop(FAULT, None)
    if held[THRESHOLD] is None:
        held[FAULT] = say("plan_rules.no_threshold")
        return
    try:
        rule = MeasuredRule(
            held[FIGURE],
            Side(held[SIDE]),
            Direction(held[DIRECTION]),
            float(f"{held[THRESHOLD]:.9g}"),
        )
    except ValueError as error:
        held[FAULT] = say("plan_rules.no_rule", why=error)
        return
    written = str(held[key]).rstrip().splitlines()
    held[key] = "\n".join(dict.fromkeys((*written, rule.line)))
