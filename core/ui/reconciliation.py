"""The reconciliation of the Hit ratio page: steps drawn and listed, and what is only counted."""

import streamlit as st

from core import charts
from core import format as fmt
from core.domain.reconciliation import Line
from core.messages import say
from core.ui.frame import grid
from core.ui.style import plain
from core.ui.tables import Cell, Column, table
from core.ui.tiles import reading_tiles
from core.views.gateway_counters import DeploymentRow
from core.views.hit_ratio import HitRatioView, Unexplained


def reconciliation(view: HitRatioView) -> None:
    """From the engines' tokens to the measured ones."""
    if view.fleet.requests is None:
        st.caption(say("hit.reconcile_off"))
        return
    left, right = grid("reconciliation", 3, 4)
    with left:
        st.plotly_chart(
            charts.waterfall(view.reconciliation),
            key="reconciliation",
            config={"displayModeBar": False, "responsive": True},
        )
    with right:
        columns = [
            Column(say("col.step")),
            Column(say("col.tokens"), numeric=True),
            Column(say("col.cached_tokens"), numeric=True),
            Column(say("col.requests"), numeric=True),
            Column(say("col.meaning"), wide=True),
        ]
        table("reconciliation", columns, [_cells(line) for line in view.reconciliation])
    for text in _notes(view.unexplained):
        st.caption(text)
    st.caption(say("hit.reconcile_note"))


def proxy_counters(view: HitRatioView) -> None:
    """What LiteLLM's own counters say, per deployment."""
    proxy = view.proxy
    if not proxy.seen:
        st.caption(say("hit.proxy_off"))
        return
    left, right = grid("proxy", 1, 3)
    with left:
        reading_tiles(view.fleet, [proxy.share])
    with right:
        columns = [
            Column(say("col.deployment")),
            Column(say("col.model")),
            Column(say("col.requested")),
            Column(say("col.provider")),
            Column(say("col.proxy_share"), numeric=True),
            Column(say("col.cached_tokens"), numeric=True),
            Column(say("col.input_tokens"), numeric=True),
        ]
        table("proxy", columns, [_deployment(row) for row in proxy.deployments])
    if proxy.without_cached:
        st.caption(plain(say("hit.proxy_without", names=charts.short_list(proxy.without_cached))))
    if proxy.wider_than_scope:
        names = ", ".join(say(f"scope.{name}").lower() for name in proxy.wider_than_scope)
        st.caption(say("hit.proxy_wider", names=names))
    st.caption(say("hit.proxy_note"))


def _deployment(row: DeploymentRow) -> list[Cell]:
    return [
        row.deployment or say("table.no_deployment"),
        row.model_name,
        row.requested_models,
        row.provider,
        row.share,
        _tokens(row.cached_tokens),
        _tokens(row.input_tokens),
    ]


def _cells(line: Line) -> list[Cell]:
    nothing = say("step.none")
    none = line.tokens is None and line.requests == 0
    return [
        say(f"step.{line.step}"),
        nothing if none else _tokens(line.tokens),
        say("table.none") if line.cached_tokens is None else _tokens(line.cached_tokens),
        say("table.none") if line.requests is None else line.requests,
        say(f"step.why.{line.step}"),
    ]


def _tokens(amount: float | None) -> str | None:
    if amount is None:
        return None
    return f"{amount:,.0f}".replace(",", "\u202f").replace("-", "\u2212")


def _notes(found: Unexplained) -> list[str]:
    kinds = [
        say("note.kind", n=fmt.quantity(n), kind=say(f"error.{kind or 'none'}"))
        for kind, n in found.without_usage.items()
    ]
    notes = [
        say("note.without_usage", kinds=", ".join(kinds)) if kinds else say("note.no_without_usage")
    ]
    if found.further_attempts:
        notes.append(say("note.further", n=fmt.quantity(found.further_attempts)))
    if found.violations:
        notes.append(say("note.violations", n=fmt.quantity(found.violations)))
    if found.exact_one.reported:
        one = found.exact_one
        notes.append(
            say("note.exact_one", n=fmt.quantity(one.reported), of=fmt.quantity(one.requests))
        )
    if found.unattributed.reported:
        un = found.unattributed
        notes.append(
            say("note.unattributed", n=fmt.quantity(un.reported), of=fmt.quantity(un.requests))
        )
    if found.external_hits_tokens:
        notes.append(say("note.external", tokens=fmt.quantity(found.external_hits_tokens)))
    return notes
