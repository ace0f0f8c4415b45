"""The calculator of sample sizes: what a margin asks for, from what is assumed."""

import streamlit as st

from core.domain.experiments.plan import ALPHA, LEAST_COVERAGE, Assumptions
from core.domain.statistics.planning import POWER
from core.errors import EntryError
from core.messages import say
from core.ui.request import lines
from core.ui.style import plain
from core.ui.tables import Column, table
from core.views.experiment_sizes import sample_plan

USUAL = {
    "p_base": 0.9,
    "p_new": 0.9,
    "icc": 0.1,
    "mean_session_size": 5.0,
    "cv_session_size": 1.0,
    "power": POWER,
    "margin": 0.02,
    "alpha": ALPHA,
    "ratio": 1.0,
    "coverage": LEAST_COVERAGE,
}
GATE = ("margin", "alpha", "ratio", "coverage")


def calculator() -> None:
    """Sessions of each arm for the assumptions entered here; nothing of it is stored."""
    with st.expander(say("sizes.title"), icon=":material/calculate:"):
        columns = st.columns(5)
        given = {
            name: columns[place % 5].number_input(
                say(f"sizes.{name}"), value=usual, step=0.01, format="%.4g", key=f"sizes_{name}"
            )
            for place, (name, usual) in enumerate(USUAL.items())
        }
        try:
            assumed = Assumptions.checked(
                **{name: value for name, value in given.items() if name not in GATE}
            )
        except EntryError as error:
            st.error(plain(say("entry.refused", why=error.detail)))
            return
        if not _sound(given):
            st.error(say("sizes.unsound"))
            return
        _shown(assumed, given)


def _sound(given: dict[str, float]) -> bool:
    """Whether the numbers of the gate can be used."""
    return (
        0 <= given["margin"] < 1
        and 0 < given["alpha"] < 0.5
        and given["ratio"] > 0
        and 0 < given["coverage"] <= 1
    )


def _shown(assumed: Assumptions, given: dict[str, float]) -> None:
    found = sample_plan(assumed, **{name: given[name] for name in GATE})
    if found.base is None or found.new is None:
        st.warning(say("sizes.never"))
        return
    table(
        "sample_sizes",
        [
            Column(say("sizes.arm")),
            Column(say("col.sessions"), numeric=True),
            Column(say("col.requests"), numeric=True),
        ],
        [
            [say("experiments.base"), found.base.clusters, found.base.requests],
            [say("experiments.new"), found.new.clusters, found.new.requests],
        ],
    )
    lines([say("sizes.effect", effect=f"{found.effect:.3g}"), say("sizes.note")])
