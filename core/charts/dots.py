"""Estimates as dots with their intervals, one line a group; unknown ones are hatched."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.catalogue import Concept
from core.charts.marks import plain_text
from core.charts.palette import COLOURS, UNKNOWN

ROW_PX, FRAME_PX = 38, 96
LONGEST_NAME = 32
HOVER = "%{customdata[0]}<extra></extra>"


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


def dots(
    lines: Sequence[Dot],
    title: str,
    *,
    span: tuple[float, float] | None,
    tick_format: str = ".0%",
    mark: float | None = None,
    mark_name: str = "",
    colour: str = COLOURS[Concept.REQUEST],
) -> go.Figure:
    """Draw lines from top to bottom; `mark` is a value to compare with (all, no difference).

    `span` are the legal limits of the axis, None where there are none. The second item of a
    point's `customdata` is the place of its line.
    """
    placed = list(enumerate(lines))
    known = [(place, line) for place, line in placed if line.value is not None]
    unknown = [(place, line) for place, line in placed if line.value is None]
    low, high = _span([line for _, line in known], span)
    figure = go.Figure()
    if unknown:
        figure.add_trace(_hatched(unknown, low, high))
    figure.add_trace(_points(known, colour))
    if mark is not None:
        figure.add_vline(
            x=mark,
            line={"dash": "dot", "width": 2, "color": COLOURS[Concept.NEUTRAL]},
            annotation={"text": plain_text(mark_name), "font": {"size": 12}, "yshift": 4},
            annotation_position="top",
        )
    figure.update_layout(
        height=FRAME_PX + ROW_PX * max(len(lines), 1),
        margin={"l": 8, "r": 24, "t": 30, "b": 8},
        showlegend=False,
        bargap=0.4,
        xaxis={"title": {"text": title}, "tickformat": tick_format, "range": [low, high]},
        yaxis={
            "tickvals": [place for place, _ in placed],
            "ticktext": [plain_text(_short(line.name)) for line in lines],
            "range": [len(lines) - 0.5, -0.5],
            "automargin": True,
            "tickfont": {"size": 13},
        },
    )
    return figure


def _hatched(lines: Sequence[tuple[int, Dot]], low: float, high: float) -> go.Bar:
    return go.Bar(
        orientation="h",
        y=[place for place, _ in lines],
        x=[high - low] * len(lines),
        base=[low] * len(lines),
        width=0.55,
        marker={
            "color": "rgba(140,150,165,0.10)",
            "line": {"width": 0},
            "pattern": {"shape": "/", "fgcolor": UNKNOWN, "size": 7},
        },
        customdata=_custom(lines),
        hovertemplate=HOVER,
    )


def _points(lines: Sequence[tuple[int, Dot]], colour: str) -> go.Scatter:
    return go.Scatter(
        x=[line.value for _, line in lines],
        y=[place for place, _ in lines],
        mode="markers",
        cliponaxis=False,
        marker={
            "size": 12,
            "color": colour,
            "opacity": [0.5 if line.faint else 1.0 for _, line in lines],
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [_length(line.value, line.high) for _, line in lines],
            "arrayminus": [_length(line.low, line.value) for _, line in lines],
            "thickness": 3,
            "width": 7,
            "color": colour,
        },
        customdata=_custom(lines),
        hovertemplate=HOVER,
    )


def _custom(lines: Sequence[tuple[int, Dot]]) -> list[tuple[str, int]]:
    return [(plain_text(f"{line.name}: {line.note}"), place) for place, line in lines]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"


def _length(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _span(lines: Sequence[Dot], whole: tuple[float, float] | None) -> tuple[float, float]:
    """The axis: around all limits with some air, never beyond the legal range."""
    limits = [at for line in lines for at in (line.low, line.value, line.high) if at is not None]
    if not limits:
        return whole or (0.0, 1.0)
    least = (whole[1] - whole[0]) * 0.01 if whole else abs(max(limits, key=abs)) * 0.01
    air = max((max(limits) - min(limits)) * 0.12, least)
    low, high = min(limits) - air, max(limits) + air
    return (max(whole[0], low), min(whole[1], high)) if whole else (low, high)
