"""The Cached prefill page's request side: uncached tokens by group, follow-up turns by place."""

import streamlit as st

from core import format as fmt
from core.domain.affinity import BLOCK_TOKENS
from core.messages import say
from core.ui.tables import Cell, Column, table
from core.views.affinity import Affinity, PlaceRow
from core.views.cached_prefill import CachedPrefillView
from core.views.uncached import UncachedRow

AFFINITY = (
    "same_engine_share",
    "follow_up_cached_share",
    "follow_up_idle_gap",
    "offered_tokens",
    "offered_delivered_share",
)
"""Metrics behind the info mark of the follow-up turns."""
UNSURE = ("pool_level", "pod_level", "no_request", "long_ago", "overlapping", "other_model")
"""Counts of turns whose place or offer is unknown."""


def uncached_table(view: CachedPrefillView) -> None:
    """Groups of requests, most uncached tokens first, and what is in no sum."""
    columns = [
        Column(say("col.template")),
        Column(say("col.task")),
        Column(say("col.model")),
        Column(say("col.uncached"), numeric=True),
        Column(say("col.uncached_share"), numeric=True),
        Column(say("col.cached_share"), numeric=True),
        Column(say("col.requests"), numeric=True),
        Column(say("col.measured"), numeric=True),
        Column(say("col.unmeasured"), numeric=True),
    ]
    found = view.uncached
    if not found.rows:
        off = view.fleet.requests is None
        st.caption(say("uncached.off") if off else say("uncached.none"))
        return
    table("uncached", columns, [_group(row) for row in found.rows])
    missing = found.reported.requests - found.reported.reported
    if missing:
        tokens = found.unmeasured_tokens
        words = (
            say("uncached.no_tokens")
            if tokens is None
            else say("uncached.tokens", tokens=fmt.quantity(tokens))
        )
        st.caption(say("uncached.unmeasured", n=fmt.quantity(missing), tokens=words))
    st.caption(say("uncached.note"))


def _group(row: UncachedRow) -> list[Cell]:
    missing = row.reported.requests - row.reported.reported
    names: list[Cell] = [row.template_version, row.task_type, row.model]
    if row.others is not None:
        names = [say("uncached.others", n=row.others), say("table.several"), say("table.several")]
    return [
        *names,
        row.uncached,
        row.share,
        row.cached_share,
        row.requests,
        fmt.part_of(row.reported.reported, row.reported.requests),
        missing,
    ]


def places_table(view: CachedPrefillView) -> None:
    """Follow-up turns by place, and the assumption behind the estimate."""
    columns = [
        Column(say("col.turn_place")),
        Column(say("col.turns"), numeric=True),
        Column(say("col.cached_share"), numeric=True),
        Column(say("col.measured"), numeric=True),
        Column(say("col.gap_median"), numeric=True),
        Column(say("col.gap_known"), numeric=True),
        Column(say("col.gap_unknown"), numeric=True),
        Column(say("col.offered"), numeric=True),
        Column(say("col.offers"), numeric=True),
        Column(say("col.delivered"), numeric=True),
        Column(say("col.above"), numeric=True),
        Column(say("col.above_tokens"), numeric=True),
    ]
    table("follow_ups", columns, [_place(row) for row in view.affinity.places])
    for text in _notes(view):
        st.caption(text)


def _place(row: PlaceRow) -> list[Cell]:
    sums = row.sums
    nothing = say("table.none")
    return [
        say(f"place.turn_{sums.place}"),
        sums.turns,
        row.cached_share,
        fmt.part_of(sums.measured, sums.turns) if sums.turns else nothing,
        row.idle_gap,
        sums.gaps,
        sums.turns - sums.gaps,
        row.offered,
        sums.offers,
        row.delivered,
        sums.above,
        nothing if sums.above_tokens is None else fmt.quantity(sums.above_tokens),
    ]


def _notes(view: CachedPrefillView) -> list[str]:
    found = view.affinity
    if view.fleet.requests is None and not found.count("turns"):
        return [say("follow_ups.off")]
    no_engines = view.fleet.prometheus is None and not view.fleet.engines
    return [
        *([say("follow_ups.no_engines")] if no_engines else []),
        say("follow_ups.assumes"),
        *_counted(found),
    ]


def _counted(found: Affinity) -> list[str]:
    assumed = found.count("assumed_blocks")
    blocks = say("follow_ups.blocks", n=fmt.quantity(assumed), block=BLOCK_TOKENS)
    counts = {name: found.count(name) for name in UNSURE}
    return [
        *([blocks] if assumed else []),
        *(say(f"follow_ups.{name}", n=fmt.quantity(n)) for name, n in counts.items() if n),
    ]
