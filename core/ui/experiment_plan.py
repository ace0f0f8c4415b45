"""The plan of an experiment as a card, and all versions of it."""

import streamlit as st

from core.messages import say
from core.report.plan_words import plan_gate, plan_how, plan_what
from core.ui.experiments import clock, moment
from core.ui.frame import grid, heading
from core.ui.tables import Cell, Column, table
from core.views.experiments import ExperimentView

HASH_DIGITS = 12


def plan_card(one: ExperimentView) -> None:
    """Everything that was fixed beforehand, in two columns."""
    heading(say("plan.card"))
    left, right = grid("plan_card", 1, 1)
    with left:
        _table("plan_what", [*plan_what(one, clock(one)), *plan_gate(one.plan)])
    with right:
        _table("plan_how", plan_how(one, clock(one)))


def _table(key: str, rows: list[tuple[str, str]]) -> None:
    columns = [Column(say("plan.part")), Column(say("plan.planned"), wide=True)]
    table(key, columns, [list(row) for row in rows], whole=True)


def versions_panel(one: ExperimentView) -> None:
    """Every version of the plan, with what was known when it was registered, and its text."""
    heading(say("plan.versions"))
    columns = [
        Column(say("plan.version")),
        Column(say("plan.registered")),
        Column(say("col.by")),
        Column(say("plan.hash")),
        Column(say("plan.marks"), wide=True),
    ]
    pairs = zip(one.log.history.versions, one.marks, strict=True)
    rows: list[list[Cell]] = []
    for version, mark in pairs:
        flags = []
        if mark.registered_after_data:
            arms = ", ".join(say(f"of.{arm}") for arm in mark.seen_arms)
            flags.append(say("marks.after_data", arms=arms))
        if mark.edited_after_data:
            flags.append(say("marks.edited"))
        rows.append(
            [
                version.number,
                moment(one, version.registered_at),
                version.registered_by,
                version.plan_hash[:HASH_DIGITS],
                " · ".join(flags) if flags else say("marks.none"),
            ]
        )
    rows += [
        [broken.number, None, None, broken.plan_hash[:HASH_DIGITS], broken.fault]
        for broken in one.log.history.broken
    ]
    table("plan_versions", columns, rows)
    for version in one.log.history.versions:
        with st.expander(say("plan.text", n=version.number)):
            body = version.plan.model_dump_json(indent=2)
            st.code(body, language="json", wrap_lines=True)
            st.download_button(
                say("plan.download"),
                version.plan.to_json(),
                file_name=f"{version.plan.experiment}-v{version.number}.json",
                mime="application/json",
                key=f"plan_json_{version.number}",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
            )
