"""Preemption windows by engine and time: a lane an engine, a bar a window."""

from collections.abc import Sequence

import plotly.graph_objects as go

from core import format as fmt
from core.charts.axis import TimeAxis
from core.charts.frame import legend
from core.charts.marks import draw_marks, plain_text
from core.charts.spans import FAINT, Look, faded, window_looks
from core.messages import say
from core.views.strip import Lane, StripCell

LANE_PX, AROUND_PX, LEAST_PX = 26, 110, 170
HEADROOM = 1.1
"""Lanes above the middle of the first one, where the letters of changes stand."""
DIM = 0.45
"""Bars that are not chosen, once one is."""


def strip(axis: TimeAxis, lanes: Sequence[Lane]) -> go.Figure:
    """States of all windows; unknown is hatched. A bar carries its engine and its times."""
    figure = go.Figure()
    for state, look in window_looks().items():
        bars = [
            (lane, i, cell)
            for i, lane in enumerate(lanes)
            for cell in lane.cells
            if cell.state is state
        ]
        if bars:
            figure.add_trace(_bars(axis, bars, look))
    draw_marks(figure, axis.fleet.changes, axis)
    figure.update_layout(
        barmode="overlay",
        bargap=0.25,
        height=max(LEAST_PX, AROUND_PX + LANE_PX * len(lanes)),
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        legend=legend() | {"itemclick": False, "itemdoubleclick": False},
        hovermode="closest",
        dragmode=False,
        clickmode="event+select",
        xaxis={
            "type": "date",
            "range": axis.span,
            "showgrid": False,
            "title": {"text": say("axis.time", zone=axis.zone_name)},
        },
        yaxis={
            "range": [len(lanes) - 0.5, -HEADROOM],
            "tickvals": list(range(len(lanes))),
            "ticktext": [plain_text(lane.name) for lane in lanes],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    )
    return figure


def _bars(axis: TimeAxis, bars: Sequence[tuple[Lane, int, StripCell]], look: Look) -> go.Bar:
    pattern = {"shape": "/", "fgcolor": look.colour, "size": 6, "fillmode": "overlay"}
    outline = look.outline if look.outline is not None else look.colour
    return go.Bar(
        orientation="h",
        base=[axis.at(cell.start) for *_, cell in bars],
        x=[(cell.end - cell.start) * 1000 for *_, cell in bars],
        y=[i for _, i, _ in bars],
        customdata=[[str(lane.engine_id), cell.start, cell.end] for lane, _, cell in bars],
        hovertext=[cell_words(axis, lane, cell) for lane, _, cell in bars],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": FAINT if look.hatched else faded(look.colour, look.opacity),
            "line": {"width": 1, "color": outline},
            "pattern": pattern if look.hatched else None,
        },
        unselected={"marker": {"opacity": DIM}},
        name=look.name,
    )


def cell_words(axis: TimeAxis, lane: Lane, cell: StripCell) -> str:
    """A cell in words: where, when, its state and why, and the scrapes behind it."""
    state = say(f"window.{cell.state}")
    if cell.why is not None and cell.state == "unknown":
        state = say(f"unsure.{cell.why}")
    start, end = (fmt.clock(t, axis.zone) for t in (cell.start, cell.end))
    parts = [say("preempt.lane", name=lane.name, start=start, end=end, state=state)]
    if cell.windows > 1:
        parts.append(
            say(
                "preempt.several",
                windows=cell.windows,
                ones=cell.ones,
                zeros=cell.zeros,
                unknowns=cell.unknowns,
            )
        )
    parts.append(_scrapes(cell))
    if cell.events is not None:
        parts.append(say("preempt.events", n=fmt.quantity(cell.events)))
    return "<br>".join(plain_text(part) for part in parts)


def _scrapes(cell: StripCell) -> str:
    if cell.samples is None:
        return say("preempt.no_scrapes")
    if cell.covered is None or cell.expected is None:
        return say("preempt.samples", seen=cell.samples)
    return say(
        "preempt.scrapes",
        seen=cell.samples,
        expected=fmt.quantity(cell.expected),
        share=fmt.observed(cell.covered),
    )
