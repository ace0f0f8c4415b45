"""Filled stretches of time: bars of a time line, states of a strip, hatching for unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import plotly.graph_objects as go

from core.catalogue import Concept
from core.charts.axis import TimeAxis
from core.charts.palette import COLOURS, UNKNOWN
from core.domain.windows import Preempt
from core.messages import say

FAINT = "rgba(140,150,165,0.14)"
EDGE = "rgba(255,255,255,0.9)"
"""Between two filled windows side by side."""
SHORTEST_S = 0.001
"""A stretch without a length is still a line."""


@dataclass(frozen=True)
class Span:
    """One rectangle: its lane, from when to when, and what it says."""

    lane: float
    start: float
    end: float
    words: str


@dataclass(frozen=True)
class Look:
    """How one kind of rectangle is drawn."""

    name: str
    colour: str
    opacity: float = 1.0
    hatched: bool = False
    outline: str | None = None


def window_looks() -> dict[Preempt, Look]:
    """How preemption windows are drawn, by state; unknown is hatched."""
    orange, slate = COLOURS[Concept.PREEMPTION], COLOURS[Concept.COMPUTED]
    return {
        Preempt.ONE: Look(say("timeline.preempt_1"), orange, outline=EDGE),
        Preempt.ZERO: Look(say("timeline.preempt_0"), slate, 0.18, outline=slate),
        Preempt.UNKNOWN: Look(say("timeline.preempt_unknown"), UNKNOWN, hatched=True),
    }


def rectangles(
    figure: go.Figure,
    axis: TimeAxis,
    spans: Sequence[Span],
    look: Look,
    *,
    lanes: float,
    axes: tuple[str, str],
) -> None:
    """Filled stretches of one look, `lanes` high to both sides, and their words on hover.

    The legend names each look once.
    """
    if not spans:
        return
    x: list[datetime | None] = []
    y: list[float | None] = []
    for one in spans:
        left, right = axis.at(one.start), axis.at(max(one.end, one.start + SHORTEST_S))
        low, high = one.lane - lanes, one.lane + lanes
        x += [left, right, right, left, left, None]
        y += [low, low, high, high, low, None]
    pattern = {"shape": "/", "fgcolor": look.colour, "size": 7, "fillmode": "overlay"}
    outline = look.outline if look.outline is not None else look.colour
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            xaxis=axes[0],
            yaxis=axes[1],
            mode="lines",
            fill="toself",
            line={"width": 1, "color": outline},
            fillcolor=FAINT if look.hatched else faded(look.colour, look.opacity),
            fillpattern=pattern if look.hatched else None,
            name=look.name,
            showlegend=all(trace.name != look.name for trace in figure.data),
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[axis.at((one.start + one.end) / 2) for one in spans],
            y=[one.lane for one in spans],
            xaxis=axes[0],
            yaxis=axes[1],
            mode="markers",
            marker={"size": 18, "opacity": 0},
            text=[one.words for one in spans],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )


def faded(colour: str, opacity: float) -> str:
    """A #rrggbb colour with an opacity.

    >>> faded("#9B72E8", 0.5)
    'rgba(155,114,232,0.5)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
