"""Heat map of a ratio by engine and time; unknown cells hatched, quiet cells dotted."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import plotly.graph_objects as go

from core import format as fmt
from core.charts.axis import TimeAxis
from core.charts.frame import legend
from core.charts.marks import plain_text
from core.charts.palette import QUIET, UNKNOWN
from core.domain.reading import QUIET_REASONS, Reading
from core.messages import say


def heat(axis: TimeAxis, rows: Mapping[str, Sequence[Reading]]) -> go.Figure:
    """Hit ratio by engine and time; unknown cells hatched, quiet cells dotted."""
    names = list(rows)
    figure = go.Figure(
        go.Heatmap(
            x=axis.middles,
            y=list(range(len(names))),
            customdata=[[plain_text(name)] * len(axis.fleet.bins) for name in names],
            z=[
                [None if r.value is None else r.value * 100 for r in line] for line in rows.values()
            ],
            text=[[fmt.reading(r) for r in line] for line in rows.values()],
            hovertemplate="%{customdata} %{x|%H:%M}: %{text}<extra></extra>",
            hoverongaps=False,
            zmin=0,
            zmax=100,
            colorscale=[[0, "#E9E3D2"], [0.5, "#7FB3E8"], [1, "#0B3C7A"]],
            colorbar={"title": {"text": "%"}, "thickness": 10, "lenmode": "pixels", "len": 110},
            xgap=1,
            ygap=2,
        )
    )
    unknown = [
        (b, i, fmt.reading(r))
        for i, line in enumerate(rows.values())
        for b, r in zip(axis.fleet.bins, line, strict=True)
        if not r.known and r.reason not in QUIET_REASONS and _asked(axis, b)
    ]
    quiet = [
        (b, i, fmt.reading(r))
        for i, line in enumerate(rows.values())
        for b, r in zip(axis.fleet.bins, line, strict=True)
        if r.reason in QUIET_REASONS
    ]
    _cells(figure, axis, unknown, UNKNOWN, "/", say("legend.unknown"))
    _cells(figure, axis, quiet, QUIET, ".", say("legend.quiet"))
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[plain_text(name) for name in names],
        range=[len(names) - 0.5, -0.5],
        automargin=True,
        showgrid=False,
    )
    figure.update_layout(
        height=max(200, 80 + 30 * len(names)),
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        legend=legend(),
    )
    figure.update_xaxes(title_text=say("axis.time", zone=axis.zone_name), range=axis.span)
    return figure


def _asked(axis: TimeAxis, b: int) -> bool:
    return b < axis.fleet.until


def _cells(
    figure: go.Figure,
    axis: TimeAxis,
    cells: Sequence[tuple[int, int, str]],
    colour: str,
    shape: str,
    name: str,
) -> None:
    if not cells:
        return
    x: list[datetime | None] = []
    y: list[float | None] = []
    for b, i, _ in cells:
        left, right = axis.at(b), axis.at(b + axis.fleet.bin_s)
        x += [left, right, right, left, left, None]
        y += [i - 0.42, i - 0.42, i + 0.42, i + 0.42, i - 0.42, None]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            fill="toself",
            line={"width": 0},
            name=name,
            hoverinfo="skip",
            fillcolor="rgba(140,150,165,0.14)",
            fillpattern={"shape": shape, "fgcolor": colour, "size": 6, "fillmode": "overlay"},
        )
    )
