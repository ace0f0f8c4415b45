"""Estimates as dots with their intervals, one line a group; unknown ones are hatched."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.catalogue import Concept
from core.charts.palette import COLOURS, UNKNOWN

ROW_PX, FRAME_PX = 38, 96
HOVER = "%{y}: %{customdata[0]}<extra></extra>"


@dataclass(frozen=True)
class Dot:
    """One line: what it is, its estimate and interval, and what a reader should know of it.

    `value` None: unknown, and `note` says why. Limits are in the unit of the axis.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    note: str
    faint: bool = False
    """Shown, and too little to decide on."""
    key: str = ""
    """What a click on it chooses."""


def dots(
    lines: Sequence[Dot],
    title: str,
    *,
    span: tuple[float, float],
    tick_format: str = ".0%",
    mark: float | None = None,
    mark_name: str = "",
    colour: str = COLOURS[Concept.REQUEST],
) -> go.Figure:
    """Draw lines from top to bottom; `mark` is a value to compare with (all, no difference)."""
    known = [line for line in lines if line.value is not None]
    unknown = [line for line in lines if line.value is None]
    low, high = _span(known, span)
    figure = go.Figure()
    if unknown:
        figure.add_trace(_hatched(unknown, low, high))
    figure.add_trace(_points(known, colour))
    if mark is not None:
        figure.add_vline(
            x=mark,
            line={"dash": "dot", "width": 2, "color": COLOURS[Concept.NEUTRAL]},
            annotation={"text": mark_name, "font": {"size": 12}, "yshift": 4},
            annotation_position="top",
        )
    figure.update_layout(
        height=FRAME_PX + ROW_PX * max(len(lines), 1),
        margin={"l": 8, "r": 24, "t": 30, "b": 8},
        showlegend=False,
        bargap=0.4,
        xaxis={"title": {"text": title}, "tickformat": tick_format, "range": [low, high]},
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [line.name for line in reversed(lines)],
            "automargin": True,
            "tickfont": {"size": 13},
        },
    )
    return figure


def _hatched(lines: Sequence[Dot], low: float, high: float) -> go.Bar:
    return go.Bar(
        orientation="h",
        y=[line.name for line in lines],
        x=[high - low] * len(lines),
        base=[low] * len(lines),
        width=0.55,
        marker={
            "color": "rgba(140,150,165,0.10)",
            "line": {"width": 0},
            "pattern": {"shape": "/", "fgcolor": UNKNOWN, "size": 7},
        },
        customdata=[(line.note, line.key) for line in lines],
        hovertemplate=HOVER,
    )


def _points(lines: Sequence[Dot], colour: str) -> go.Scatter:
    return go.Scatter(
        x=[line.value for line in lines],
        y=[line.name for line in lines],
        mode="markers",
        marker={
            "size": 12,
            "color": colour,
            "opacity": [0.5 if line.faint else 1.0 for line in lines],
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [_length(line.value, line.high) for line in lines],
            "arrayminus": [_length(line.low, line.value) for line in lines],
            "thickness": 3,
            "width": 7,
            "color": colour,
        },
        customdata=[(line.note, line.key) for line in lines],
        hovertemplate=HOVER,
    )


def _length(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _span(lines: Sequence[Dot], whole: tuple[float, float]) -> tuple[float, float]:
    """The axis: around all limits with some air, never beyond the legal range."""
    limits = [at for line in lines for at in (line.low, line.value, line.high) if at is not None]
    if not limits:
        return whole
    air = max((max(limits) - min(limits)) * 0.12, (whole[1] - whole[0]) * 0.01)
    return max(whole[0], min(limits) - air), min(whole[1], max(limits) + air)
