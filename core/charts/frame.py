"""What every time chart has: gaps, quiet stretches, changes, the reader's clock, units."""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go

from core.charts.axis import TimeAxis
from core.charts.marks import draw_marks, plain_text
from core.charts.palette import QUIET, UNKNOWN
from core.domain.coverage import Gap
from core.domain.reading import QUIET_REASONS, Reading
from core.messages import say

HEIGHT = 300
STRIP = 0.06
"""Height of the strip that says some engines were not observed, share of the plot."""
BAND_AXIS = 90
"""Number of the first axis that only carries bands."""
NAMES_SHOWN = 4


def legend() -> dict[str, object]:
    """Legend above the plot, in a line."""
    return {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}}


def time_layout(
    figure: go.Figure,
    axis: TimeAxis,
    y_title: str,
    *,
    quiet: Sequence[Reading] = (),
    rows: int = 1,
) -> None:
    """Lay out a time chart of one or two rows and draw what all of them have."""
    for row in range(1, rows + 1):
        _gap_bands(figure, axis, quiet, row)
    draw_marks(figure, axis.fleet.changes, axis)
    figure.update_layout(
        height=HEIGHT if rows == 1 else HEIGHT + 60,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        legend=legend(),
        hovermode="closest",
    )
    figure.update_xaxes(range=axis.span, showgrid=False)
    lowest = {"title": {"text": say("axis.time", zone=axis.zone_name)}}
    figure.update_layout({"xaxis" if rows == 1 else f"xaxis{rows}": lowest})
    figure.update_layout(yaxis={"title": {"text": y_title}})


def _gap_bands(figure: go.Figure, axis: TimeAxis, quiet: Sequence[Reading], row: int) -> None:
    """Hatch what is unknown: full height where no engine was observed, else a strip."""
    whole = [gap for gap in axis.fleet.gaps if gap.everyone]
    part = [gap for gap in axis.fleet.gaps if not gap.everyone]
    bands = [(g.start, g.end, 1.0, _missing(g)) for g in whole]
    bands += [(g.start, g.end, STRIP, _missing(g)) for g in part]
    _bands(figure, axis, bands, UNKNOWN, "/", say("legend.unknown"), row)
    still = [
        (b, b + axis.fleet.bin_s, STRIP / 2, say("legend.quiet"))
        for b, r in zip(axis.fleet.bins, quiet, strict=False)
        if r.reason in QUIET_REASONS
    ]
    _bands(figure, axis, still, QUIET, ".", say("legend.quiet"), row)


def _bands(
    figure: go.Figure,
    axis: TimeAxis,
    bands: Sequence[tuple[float, float, float, str]],
    colour: str,
    shape: str,
    name: str,
    row: int,
) -> None:
    """Fill stretches on an axis of their own, from 0 to 1 of the plot's height."""
    if not bands:
        return
    x: list[datetime | None] = []
    y: list[float | None] = []
    for start, end, height, _ in bands:
        left, right = axis.at(start), axis.at(end)
        x += [left, right, right, left, left, None]
        y += [0.0, 0.0, height, height, 0.0, None]
    number = "" if row == 1 else str(row)
    layer = f"y{BAND_AXIS + row}"
    figure.update_layout(
        {
            f"yaxis{BAND_AXIS + row}": {
                "overlaying": f"y{number}",
                "anchor": f"x{number}",
                "range": [0, 1],
                "visible": False,
                "fixedrange": True,
            }
        }
    )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            xaxis=f"x{number}",
            yaxis=layer,
            mode="lines",
            fill="toself",
            line={"width": 0},
            fillcolor="rgba(140,150,165,0.14)",
            name=name,
            hoverinfo="skip",
            showlegend=row == 1,
            fillpattern={"shape": shape, "fgcolor": colour, "size": 7, "fillmode": "overlay"},
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[axis.at((start + end) / 2) for start, end, _, _ in bands],
            y=[height / 2 for _, _, height, _ in bands],
            xaxis=f"x{number}",
            yaxis=layer,
            mode="markers",
            marker={"size": 14, "opacity": 0},
            text=[why for *_, why in bands],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )


def _missing(gap: Gap) -> str:
    if gap.everyone:
        return say("gap.everyone")
    return plain_text(say("gap.some", names=short_list(gap.missing)))


def short_list(names: Sequence[str]) -> str:
    """Names in a line, the long tail counted."""
    shown = ", ".join(names[:NAMES_SHOWN])
    if len(names) <= NAMES_SHOWN:
        return shown
    return say("gap.more", names=shown, n=len(names) - NAMES_SHOWN)
