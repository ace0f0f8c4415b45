"""Figures of the Cached prefill page that no other page has."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core import format as fmt
from core.catalogue import Concept, Unit
from core.charts.axis import TimeAxis
from core.charts.figures import ratio_line
from core.charts.frame import time_layout
from core.charts.palette import COLOURS, UNKNOWN
from core.domain.affinity import Place
from core.domain.reading import Reading
from core.messages import say

TURN_COLOURS = {
    Place.SAME: COLOURS[Concept.GATEWAY],
    Place.ANOTHER: COLOURS[Concept.NEUTRAL],
    Place.UNKNOWN: "rgba(140,150,165,0.2)",
}


def throughput(axis: TimeAxis, lines: Mapping[str, Sequence[float | None]]) -> go.Figure:
    """Prompt tokens per second above, generated ones below."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    for row, (metric, values) in enumerate(lines.items(), start=1):
        trace = go.Scatter(
            x=axis.middles,
            y=values,
            mode="lines+markers",
            marker={"size": 3},
            line={"color": COLOURS[Concept.NEUTRAL], "width": 2},
            name=say(f"axis.{metric}"),
            showlegend=False,
            text=["" if v is None else fmt.amount(v, Unit.TOKENS_PER_S) for v in values],
            hovertemplate="%{x|%H:%M} %{text}<extra></extra>",
        )
        figure.add_trace(trace, row=row, col=1)
    time_layout(figure, axis, say("axis.prompt_tokens_per_s"), rows=2)
    scale = {"rangemode": "tozero", "tickformat": "~s"}
    lower = {"title": {"text": say("axis.generation_tokens_per_s")}}
    figure.update_layout(yaxis=scale, yaxis2=scale | lower)
    return figure


def follow_ups(
    axis: TimeAxis, share: Sequence[Reading], turns: Mapping[Place, Sequence[float | None]]
) -> go.Figure:
    """Share of follow-up turns on the engine of the turn before, and turns by place below."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1, row_heights=[0.6, 0.4]
    )
    line = ratio_line(axis, share, say("legend.same_engine"), Concept.GATEWAY)
    figure.add_trace(line, row=1, col=1)
    for place, values in turns.items():
        figure.add_trace(_turns(axis, place, values), row=2, col=1)
    time_layout(figure, axis, say("axis.same_engine"), quiet=share, rows=2)
    figure.update_layout(
        barmode="stack",
        yaxis={"range": [0, 102], "ticksuffix": " %"},
        yaxis2={"rangemode": "tozero", "title": {"text": say("axis.turns")}},
    )
    return figure


def _turns(axis: TimeAxis, place: Place, values: Sequence[float | None]) -> go.Bar:
    """Turns of one place; where it is unknown, hatched."""
    marker: dict[str, object] = {"color": TURN_COLOURS[place], "line": {"width": 0}}
    if place is Place.UNKNOWN:
        marker["pattern"] = {"shape": "/", "fgcolor": UNKNOWN, "size": 7}
    name = say(f"legend.turns_{place}")
    return go.Bar(
        x=axis.middles,
        y=values,
        name=name,
        marker=marker,
        width=axis.bin_ms,
        text=["" if v is None else fmt.quantity(v) for v in values],
        textposition="none",
        hovertemplate="%{x|%H:%M} %{text}<extra>" + name + "</extra>",
    )
