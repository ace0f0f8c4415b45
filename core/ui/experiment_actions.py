"""What a person records about an experiment: a look, and a decision. Both enter by the inbox."""

import time

import streamlit as st

from core import runtime
from core.domain.experiments.decision import Decision, is_override
from core.domain.experiments.look_record import LookReason
from core.errors import EntryError
from core.experiments import decide, record_look
from core.messages import say
from core.ui.experiments import verdict_words
from core.ui.frame import heading, shown_errors
from core.ui.style import plain
from core.views.experiments import ExperimentView

OUTCOME, WAITS = "experiment_outcome", "experiment_waits"
WAIT_S, LOOK_EVERY_S = 20.0, 0.5
UNPLANNED = (LookReason.OPERATIONAL, LookReason.SAFETY)


def taken(words: str) -> None:
    """Say above the page that an entry was taken, and wait for it to be merged."""
    st.session_state[OUTCOME] = (True, words)
    st.session_state[WAITS] = (runtime.running().store.version, time.time())


def refused(error: EntryError) -> None:
    """Say above the page why an entry was not taken."""
    st.session_state[OUTCOME] = (False, say("entry.refused", why=error.detail))


def outcome() -> None:
    """What became of the last entry; the page runs again once it is in the cache."""
    good, words = st.session_state.pop(OUTCOME, (True, ""))
    if words:
        (st.success if good else st.error)(plain(words))
    if WAITS in st.session_state:
        _waiting()


@st.fragment(run_every=LOOK_EVERY_S)
def _waiting() -> None:
    """Look twice a second whether the entry was merged."""
    with shown_errors():
        if WAITS not in st.session_state:
            return
        version, since = st.session_state[WAITS]
        merged = runtime.running().store.version != version
        if merged or time.time() - since > WAIT_S:
            del st.session_state[WAITS]
            st.rerun(scope="app")


def look_form(one: ExperimentView) -> None:
    """Record a look now: the planned one that is due, or one that decides nothing."""
    due = one.standing.due
    planned = due is not None
    heading(say("looks.take"))
    key = f"look_{one.version.plan_hash[:12]}_{due}"
    with st.form(key, border=False):
        left, right = st.columns([1, 1], vertical_alignment="bottom")
        left.text_input(say("looks.who"), key="look_by", max_chars=100)
        if not planned:
            right.selectbox(
                say("looks.why"),
                list(UNPLANNED),
                format_func=lambda one: say(f"look_reason.{one}"),
                key="look_reason",
            )
        st.form_submit_button(
            say("looks.record", n=due) if planned else say("looks.record_unplanned"),
            type="primary" if planned else "secondary",
            on_click=_record,
            args=(one,),
        )
    st.caption(say("looks.note_planned" if planned else "looks.note_unplanned"))


def _record(one: ExperimentView) -> None:
    by = str(st.session_state["look_by"]).strip()
    reason = st.session_state.get("look_reason", LookReason.OPERATIONAL)
    try:
        look = one.look(by, LookReason(reason))
        record_look(runtime.running().inbox, look, at=time.time())
    except EntryError as error:
        refused(error)
        return
    taken(say("looks.recorded"))


def decision_form(one: ExperimentView) -> None:
    """Record what was decided, and by whom; going past the gate needs a reason and says so."""
    heading(say("decisions.take"))
    last = one.last_look
    verdict = None if last is None else last.record.verdict
    if is_override(Decision.PROMOTE, verdict, holds=one.since):
        st.caption(say("decisions.would_override", verdict=verdict_words(one.verdict)))
    with st.form("decision", border=False):
        left, right = st.columns([1, 1])
        left.selectbox(
            say("decisions.decision"),
            [Decision.CONTINUE, Decision.PROMOTE, Decision.STOP, Decision.ROLL_BACK],
            format_func=lambda one: say(f"decision.{one}"),
            key="decision_what",
        )
        right.text_input(say("looks.who"), key="decision_by", max_chars=100)
        st.text_area(say("decisions.reason"), key="decision_reason", height=80, max_chars=4000)
        st.form_submit_button(say("decisions.record"), on_click=_decide, args=(one,))
    st.caption(say("decisions.note"))


def _decide(one: ExperimentView) -> None:
    reason = str(st.session_state["decision_reason"]).strip()
    try:
        made = decide(
            runtime.running().inbox,
            Decision(st.session_state["decision_what"]),
            version=one.version,
            look=one.last_look,
            holds=one.since,
            by_whom=str(st.session_state["decision_by"]).strip(),
            reason=reason or None,
            at=time.time(),
        )
    except EntryError as error:
        refused(error)
        return
    taken(say("decisions.overridden" if made.override else "decisions.recorded"))
    st.session_state["decision_reason"] = ""
