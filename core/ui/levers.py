"""The lever log on a page: the list of changes, and the form to enter one."""

from datetime import UTC, datetime

import streamlit as st

from core import format as fmt
from core import runtime
from core.charts import lever_letters
from core.domain.levers import ENTERED, LeverKind
from core.levers import enter
from core.messages import say
from core.ui.frame import time_axis
from core.ui.tables import Cell, Column, Link, table
from core.views.fleet import Fleet


def changes_table(fleet: Fleet) -> None:
    """Changes in the window, newest first, with their letters on the charts."""
    axis = time_axis(fleet)
    long = fleet.window.length_s > 86_400
    columns = [
        Column(say("col.mark")),
        Column(say("col.time")),
        Column(say("col.change")),
        Column(say("col.what"), wide=True),
        Column(say("col.by")),
    ]
    rows: list[list[Cell]] = [
        [
            letter,
            fmt.clock(mark.at, axis.zone, day=long),
            f"{say(f'lever.{mark.kind}')} · {mark.engine or say('scope.all')}",
            Link(mark.what, mark.link),
            say("table.found") if mark.origin == "found" else mark.by_whom,
        ]
        for letter, mark in zip(lever_letters(fleet.changes), fleet.changes, strict=True)
    ]
    table("changes", columns, rows[::-1], empty=say("table.no_changes"))


FIELDS = ("kind", "what", "by", "link", "when")
OUTCOME = "lever_outcome"


def lever_form() -> None:
    """Enter a change: it goes through the inbox like everything else."""
    with (
        st.expander(say("lever.add"), icon=":material/edit_note:"),
        st.form("lever", border=False),
    ):
        left, middle, right = st.columns([1, 2, 1])
        left.selectbox(
            say("lever.kind"),
            list(ENTERED),
            format_func=lambda k: say(f"lever.{k}"),
            key="lever_kind",
        )
        middle.text_input(
            say("lever.what"), placeholder=say("lever.what_hint"), max_chars=300, key="lever_what"
        )
        right.text_input(say("lever.by"), max_chars=100, key="lever_by")
        one, two, three = st.columns([1, 2, 1], vertical_alignment="bottom")
        one.datetime_input(
            say("lever.when"),
            value=None,
            step=60,
            key="lever_when",
            help=say("lever.when_help"),
        )
        two.text_input(say("lever.link"), max_chars=500, key="lever_link")
        three.form_submit_button(say("lever.save"), type="primary", on_click=_save)
        good, words = st.session_state.pop(OUTCOME, (True, ""))
        if words:
            (st.success if good else st.error)(words)


def _save() -> None:
    """Record what was entered; what is refused stays in the form."""
    entered = {name: st.session_state[f"lever_{name}"] for name in FIELDS}
    what, by_whom, link = (str(entered[name]).strip() for name in ("what", "by", "link"))
    if not what:
        st.session_state[OUTCOME] = (False, say("lever.needs_what"))
        return
    if link and not link.startswith(("https://", "http://")):
        st.session_state[OUTCOME] = (False, say("lever.bad_link"))
        return
    moment = (entered["when"] or datetime.now(UTC)).replace(tzinfo=UTC).timestamp()
    enter(
        runtime.running().inbox,
        kind=LeverKind(entered["kind"]),
        what=what,
        by_whom=by_whom or None,
        link=link or None,
        at=moment,
    )
    for name in ("what", "link"):
        st.session_state[f"lever_{name}"] = ""
    st.session_state["lever_when"] = None
    st.session_state[OUTCOME] = (True, say("lever.saved"))
