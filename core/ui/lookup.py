"""Finding a request: the field for its id, the order to fetch it, and the answer to that."""

import time

import streamlit as st

from core import format as fmt
from core import runtime
from core.cache.orders import LONGEST_ID, Order
from core.cache.store import Row
from core.domain.lookup import wanted_id
from core.domain.scope import to_query
from core.messages import say
from core.ui.frame import shown_errors, time_axis
from core.ui.scope_bar import current_scope
from core.ui.style import escaped, plain
from core.ui.tables import PageLink
from core.views.request import RequestView

PAGE = "request"
FIELD = "request_id"
ORDERS = "request_orders"
LONGEST_TEXT = 2000
WAIT_S = 60.0
LOOK_EVERY_S = 1.0


def request_link(request_id: str, text: str | None = None) -> PageLink:
    """A link to the Request page for any id, in the scope that is looked at now."""
    query = {"id": request_id} | to_query(current_scope())
    return PageLink(request_id if text is None else text, PAGE, query)


def request_url(request_id: str) -> str:
    """Address of the Request page for any id, below the app's own address."""
    return request_link(request_id).url


def id_field() -> str:
    """The field that takes any id; what it holds lives in the URL. '' without one."""
    wanted = wanted_id(st.query_params.get("id", ""))[:LONGEST_TEXT]
    st.session_state[FIELD] = wanted
    st.text_input(
        say("request.field"),
        key=FIELD,
        max_chars=LONGEST_TEXT,
        placeholder=say("request.field_hint"),
        help=say("request.takes"),
        on_change=_asked,
    )
    return wanted


def _asked() -> None:
    wanted = wanted_id(st.session_state[FIELD])
    if wanted:
        st.query_params["id"] = wanted
    elif "id" in st.query_params:
        del st.query_params["id"]


def fetch(view: RequestView, wanted: str) -> None:
    """What the page shows of an id that the cache does not hold."""
    st.html(f'<div class="pw-found">{escaped(say("request.not_cached", id=wanted))}</div>')
    if len(wanted) > LONGEST_ID:
        st.info(say("request.too_long", n=LONGEST_ID))
        return
    if not _connected(view):
        st.info(say("request.not_connected"))
        _say_held(view)
        return
    orders: dict[str, Order] = st.session_state.setdefault(ORDERS, {})
    if wanted not in orders:
        _place(wanted)
    waits = wanted in orders and _answer(view, orders[wanted])
    st.button(
        say("request.fetch"),
        on_click=_place,
        args=(wanted,),
        icon=":material/download:",
        disabled=waits,
    )


def _connected(view: RequestView) -> bool:
    settings = runtime.running().settings
    return view.connected or settings.demo or settings.langfuse_address is not None


def _place(wanted: str) -> None:
    """Ask the collector once; asking again is the button's."""
    orders: dict[str, Order] = st.session_state.setdefault(ORDERS, {})
    try:
        orders[wanted] = runtime.running().orders.place(wanted)
    except OSError as error:
        st.error(plain(say("request.cannot_order", why=str(error))))


def _answer(view: RequestView, order: Order) -> bool:
    """Show what became of an order; whether it still waits."""
    found = runtime.running().store.read("order_answer", {"order_id": order.order_id})
    if found:
        _outcome(view, found[-1])
        return False
    if time.time() - order.asked_at > WAIT_S:
        st.warning(say("request.no_answer", wait=fmt.seconds(WAIT_S)))
        _say_held(view)
        return False
    _waiting(order)
    return True


def _outcome(view: RequestView, answer: Row) -> None:
    if answer.outcome == "failed":
        detail = say("cell.unknown") if answer.detail is None else answer.detail
        st.warning(plain(say("request.failed", detail=detail)))
        return
    zone = time_axis(view.fleet).zone
    period = say("request.no_period")
    if answer.searched_from is not None and answer.searched_to is not None:
        start, end = (
            fmt.clock(t, zone, day=True) for t in (answer.searched_from, answer.searched_to)
        )
        period = say("request.period", start=start, end=end)
    asked = fmt.clock(answer.answered_at, zone, day=True)
    if answer.outcome == "found":
        st.info(plain(say("request.found_not_here", asked=asked)))
    else:
        st.info(plain(say("request.not_found", asked=asked, period=period)))
    _say_held(view)


@st.fragment(run_every=LOOK_EVERY_S)
def _waiting(order: Order) -> None:
    """Look for the answer every second; the page runs again when it is there."""
    with shown_errors():
        waited = time.time() - order.asked_at
        answered = runtime.running().store.read("order_answer", {"order_id": order.order_id})
        if answered or waited > WAIT_S:
            st.rerun(scope="app")
        st.status(say("request.waiting", waited=fmt.seconds(round(waited))), state="running")


def held_words(view: RequestView) -> str:
    """Which time the cache covers, in words."""
    zone, source, held = time_axis(view.fleet).zone, view.requests, view.held
    if source is not None and source.backfill_from is not None and source.read_to is not None:
        start, end = source.backfill_from, source.read_to
    elif held.first_at is not None and held.last_at is not None:
        start, end = held.first_at, held.last_at
    else:
        return say("request.held_none")
    return say(
        "request.held",
        start=fmt.clock(start, zone, day=True),
        end=fmt.clock(end, zone, day=True),
    )


def _say_held(view: RequestView) -> None:
    st.html(f'<div class="pw-line">{escaped(held_words(view))}</div>')
