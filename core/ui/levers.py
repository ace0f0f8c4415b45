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


def lever_form() -> None:
    """Enter a change: it goes through the inbox like everything else."""
    with (
        st.expander(say("lever.add"), icon=":material/edit_note:"),
        st.form("lever", clear_on_submit=True, border=False),
    ):
        left, middle, right = st.columns([1, 2, 1])
        kind = left.selectbox(
            say("lever.kind"), list(ENTERED), format_func=lambda k: say(f"lever.{k}")
        )
        what = middle.text_input(
            say("lever.what"), placeholder=say("lever.what_hint"), max_chars=300
        )
        by_whom = right.text_input(say("lever.by"), max_chars=100)
        one, two, three = st.columns([1, 2, 1])
        at = one.datetime_input(say("lever.when"), value=None, help=say("lever.when_help"), step=60)
        link = two.text_input(say("lever.link"), max_chars=500)
        three.write("")
        if three.form_submit_button(say("lever.save"), type="primary"):
            _save(LeverKind(kind), what, by_whom, link, at)


def _save(kind: LeverKind, what: str, by_whom: str, link: str, at: datetime | None) -> None:
    if not what.strip():
        st.error(say("lever.needs_what"))
        return
    if link and not link.startswith(("https://", "http://")):
        st.error(say("lever.bad_link"))
        return
    moment = (at or datetime.now(UTC)).replace(tzinfo=UTC).timestamp()
    enter(
        runtime.running().inbox,
        kind=kind,
        what=what.strip(),
        by_whom=by_whom.strip() or None,
        link=link.strip() or None,
        at=moment,
    )
    st.success(say("lever.saved"))
