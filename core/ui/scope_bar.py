"""The scope bar: widgets for every part of the scope, all of it in the URL.

The URL is the truth. Widgets are set from it before they are drawn, and a
change of a widget writes it. Page links drop the parameters, so the last ones
are kept in the session and put back.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import streamlit as st

from core import runtime
from core.domain.scope import (
    PAGE_NAMES,
    RANGES,
    URL_NAMES,
    Compare,
    Scope,
    from_query,
    iso_minute,
    to_query,
)
from core.messages import say

ALL = ""
FIXED = "fixed"
SAVED = "scope_query"
REFRESH = {"off": None, "5": 5, "10": 10, "30": 30}
DEFAULT_REFRESH = "10"
COLUMN_OF = {
    "cluster": "cluster",
    "namespace": "namespace",
    "model": "model_name",
    "pod": "pod",
    "engine": "engine",
}


def current_scope() -> Scope:
    """The scope of this run, from the URL."""
    return from_query(_query())[0]


def refresh_every() -> int | None:
    """Seconds between refreshes of what moves; None when switched off."""
    return REFRESH[st.session_state.get("refresh", DEFAULT_REFRESH)]


def scope_bar() -> None:
    """Draw the bar; unreadable parts of the URL are named."""
    _restore()
    scope, wrong = from_query(_query())
    if wrong:
        st.warning(say("scope.wrong", names=", ".join(wrong)))
    store = runtime.running().store
    choices, requests = store.read("scope_choices", {}), store.read("request_choices", {})
    columns = st.columns([1, 1, 1.3, 1.3, 0.8, 0.8, 1, 1.1, 0.7])
    for column, (name, field) in zip(columns, COLUMN_OF.items(), strict=False):
        chosen = getattr(scope, name)
        others = {k: v for k, v in scope.labels().items() if k != name and v is not None}
        fitting = [
            row
            for row in choices
            if all(getattr(row, COLUMN_OF[k]) == v for k, v in others.items())
        ]
        found = [getattr(row, field) for row in fitting]
        if name == "model":
            served = {row.model_name for row in choices}
            found += [row.model for row in requests if row.model not in served]
        with column:
            _select(name, _options(found, chosen), chosen or ALL)
    with columns[5]:
        arms = [row.arm for row in requests]
        _select("arm", _options(arms, scope.arm), scope.arm or ALL, help_text=say("scope.arm_help"))
    with columns[6]:
        fixed = scope.start is not None
        _select("range", [*RANGES, FIXED], FIXED if fixed else scope.range, prefix="range.")
    with columns[7]:
        _select("compare", [c.value for c in Compare], scope.compare.value, prefix="compare.")
    with columns[8]:
        st.session_state.setdefault("refresh", DEFAULT_REFRESH)
        st.selectbox(
            say("scope.refresh"),
            list(REFRESH),
            key="refresh",
            format_func=lambda r: say(f"refresh.{r}"),
        )
    if scope.start is not None and scope.end is not None:
        _fixed_period(scope.start, scope.end)


def _options(values: Iterable[str | None], chosen: str | None) -> list[str]:
    found = {value for value in values if value is not None} | ({chosen} if chosen else set())
    return [ALL, *sorted(found)]


def _select(
    name: str,
    options: list[str],
    chosen: str,
    *,
    prefix: str | None = None,
    help_text: str | None = None,
) -> None:
    key = f"scope_{name}"
    st.session_state[key] = chosen

    def words(option: str) -> str:
        if option == ALL:
            return say("scope.all")
        if option == FIXED and prefix:
            return say("scope.fixed")
        return say(prefix + option) if prefix else option

    st.selectbox(
        say(f"scope.{name}"),
        options,
        key=key,
        format_func=words,
        on_change=_chosen,
        args=(name,),
        help=help_text,
    )


def _chosen(name: str) -> None:
    """A widget changed: write the URL."""
    query = _query()
    value = st.session_state[f"scope_{name}"]
    query.pop(name, None)
    if name == "range":
        scope = from_query(query)[0]
        query.pop("from", None)
        query.pop("to", None)
        if value == FIXED:
            now = datetime.now(UTC).timestamp()
            window = scope.window(now)
            query |= {"from": iso_minute(window.start), "to": iso_minute(window.end)}
        else:
            query["range"] = value
    elif value != ALL:
        query[name] = value
    _write(query)


def _fixed_period(start: int, end: int) -> None:
    left, right, _ = st.columns([1, 1, 3])
    for column, name, t in ((left, "from", start), (right, "to", end)):
        key = f"scope_{name}"
        st.session_state[key] = datetime.fromtimestamp(t, UTC).replace(tzinfo=None)
        with column:
            st.datetime_input(say(f"scope.{name}"), key=key, step=60, on_change=_period_chosen)


def _period_chosen() -> None:
    start, end = (st.session_state[f"scope_{name}"] for name in ("from", "to"))
    if start is not None and end is not None and start < end:
        query = _query()
        _write(
            query
            | {
                name: iso_minute(at.replace(tzinfo=UTC).timestamp())
                for name, at in (("from", start), ("to", end))
            }
        )


def _query() -> dict[str, str]:
    return {name: st.query_params[name] for name in URL_NAMES if name in st.query_params}


def _of_page() -> dict[str, str]:
    return {name: st.query_params[name] for name in PAGE_NAMES if name in st.query_params}


def _write(query: dict[str, str]) -> None:
    plain = to_query(from_query(query)[0])
    st.session_state[SAVED] = plain
    st.query_params.from_dict(plain | _of_page())


def _restore() -> None:
    saved = st.session_state.get(SAVED)
    if not _query() and saved:
        st.query_params.from_dict(saved | _of_page())
    st.session_state[SAVED] = _query()
