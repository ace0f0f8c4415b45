"""Choices of a single page, all of them in the URL: a link shows what its sender saw."""

from collections.abc import Callable, Sequence

import streamlit as st

from core.messages import say
from core.ui.style import plain

ANY, ON = "", "1"


def choice(
    name: str,
    label: str,
    options: Sequence[str],
    *,
    words: Callable[[str], str],
    default: str | None = None,
    help_text: str | None = None,
    forgets: Sequence[str] = (),
) -> str | None:
    """A select box bound to one URL parameter; None without an option.

    Another choice takes the parameters in `forgets` out of the URL.

    What the URL asks for and is not there is said, and the default taken.
    """
    if not options:
        return None
    usual = options[0] if default is None or default not in options else default
    wanted = st.query_params.get(name, usual)
    if wanted not in options:
        st.warning(plain(say("choice.gone", name=label, value=wanted[:100])))
    key = f"choice_{name}"
    st.session_state[key] = wanted if wanted in options else usual
    st.selectbox(
        label,
        list(options),
        key=key,
        format_func=words,
        on_change=_chosen,
        args=(name, usual, forgets),
        help=help_text,
    )
    chosen: str = st.session_state[key]
    return chosen


def narrowed(
    name: str,
    label: str,
    options: Sequence[str],
    *,
    words: Callable[[str], str],
    everything: str | None = None,
) -> str | None:
    """A select box of values to narrow to; None for all of them, or for `everything`."""

    def said(option: str) -> str:
        return (everything or say("scope.all")) if option == ANY else words(option)

    found = choice(name, label, [ANY, *options], words=said)
    return None if found in (None, ANY) else found


def switch(name: str, label: str) -> bool:
    """A switch bound to one URL parameter; off without it."""
    key = f"switch_{name}"
    st.session_state[key] = st.query_params.get(name) == ON
    st.toggle(label, key=key, on_change=_switched, args=(name,))
    return bool(st.session_state[key])


def _switched(name: str) -> None:
    if st.session_state[f"switch_{name}"]:
        st.query_params[name] = ON
    else:
        st.query_params.pop(name, None)


def _chosen(name: str, usual: str, forgets: Sequence[str]) -> None:
    value = st.session_state[f"choice_{name}"]
    for other in forgets:
        st.query_params.pop(other, None)
    if value == usual:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value
