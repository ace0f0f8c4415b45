"""The picture of a gate: intervals of new minus baseline against minus the margin and 0."""

from collections.abc import Sequence

import plotly.graph_objects as go

from core.catalogue import Concept
from core.charts.dots import Dot, dots
from core.charts.palette import COLOURS

BEYOND = "rgba(140,150,165,0.16)"
NEW_ARM = "#C2338F"
"""The new arm, on every page; the baseline is a dashed neutral line."""
AIR = 0.08


def gate(
    lines: Sequence[Dot], title: str, *, margin: float, names: tuple[str, str], tick_format: str
) -> go.Figure:
    """Draw intervals, with the region that the margin does not accept shaded.

    `names` are those of minus the margin and of no difference.
    """
    low, high = _span(lines, margin)
    figure = dots(
        lines,
        title,
        span=(low, high),
        tick_format=tick_format,
        mark=0.0,
        mark_name=names[1],
        colour=NEW_ARM,
    )
    figure.update_annotations(xanchor="left")
    figure.add_vrect(x0=low, x1=-margin, fillcolor=BEYOND, line_width=0, layer="below")
    figure.add_vline(
        x=-margin,
        line={"width": 3, "color": COLOURS[Concept.NEUTRAL]},
        annotation={"text": names[0], "font": {"size": 12}, "yshift": 4, "xanchor": "right"},
        annotation_position="top",
    )
    figure.update_xaxes(range=[low, high])
    return figure


def _span(lines: Sequence[Dot], margin: float) -> tuple[float, float]:
    """Around all limits, minus the margin and 0, with some air."""
    known = [at for line in lines for at in (line.low, line.value, line.high) if at is not None]
    low, high = min([-2 * margin, *known]), max([margin, *known])
    air = AIR * (high - low) or 1.0
    return low - air, high + air
