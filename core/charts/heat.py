"""Heat map of readings by engine and time; unknown cells hatched, quiet cells dotted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log10

import plotly.graph_objects as go

from core import format as fmt
from core.charts.axis import TimeAxis
from core.charts.frame import legend
from core.charts.marks import draw_marks, plain_text
from core.charts.palette import QUIET, UNKNOWN
from core.domain.reading import QUIET_REASONS, Reading
from core.messages import say


@dataclass(frozen=True)
class Scale:
    """How readings become colours; `ticks` are names of values on the colour bar."""

    value: Callable[[float], float]
    low: float
    high: float
    title: str = ""
    ticks: Mapping[float, str] | None = None
    quiet: str = "legend.quiet"


PERCENT = Scale(lambda value: value * 100, 0, 100, title="%")
TICKS_S = (0.001, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0)
FEWEST_DECADES = 1.0


def idle_scale(rows: Mapping[str, Sequence[Reading]]) -> Scale:
    """Idle times on a logarithmic scale as wide as they are, one decade at least."""
    values = [log10(max(r.value, TICKS_S[0])) for line in rows.values() for r in line if r.value]
    high = max(values) if values else log10(TICKS_S[-1])
    low = min([*values, high - FEWEST_DECADES])
    ticks = {log10(t): fmt.seconds(t) for t in TICKS_S if low <= log10(t) <= high}
    return Scale(log10, low, high, ticks=ticks, quiet="legend.no_evictions")


def heat(
    axis: TimeAxis,
    rows: Mapping[str, Sequence[Reading]],
    scale: Scale = PERCENT,
    notes: Mapping[str, Sequence[str]] | None = None,
) -> go.Figure:
    """Readings by engine and time; `notes` are further words on hover."""
    names = list(rows)
    figure = go.Figure(
        go.Heatmap(
            x=axis.middles,
            y=list(range(len(names))),
            customdata=[[plain_text(name)] * len(axis.fleet.bins) for name in names],
            z=[
                [None if r.value is None else scale.value(r.value) for r in line]
                for line in rows.values()
            ],
            text=[_words(line, notes[name] if notes else ()) for name, line in rows.items()],
            hovertemplate="%{customdata} %{x|%H:%M}: %{text}<extra></extra>",
            hoverongaps=False,
            zmin=scale.low,
            zmax=scale.high,
            colorscale=[[0, "#E9E3D2"], [0.5, "#7FB3E8"], [1, "#0B3C7A"]],
            colorbar=_colour_bar(scale),
            xgap=1,
            ygap=2,
        )
    )
    silent = [
        (b, i, r.reason in QUIET_REASONS)
        for i, line in enumerate(rows.values())
        for b, r in zip(axis.fleet.bins, line, strict=True)
        if not r.known
    ]
    unknown = [(b, i) for b, i, still in silent if not still and b < axis.fleet.until]
    _cells(figure, axis, unknown, UNKNOWN, "/", say("legend.unknown"))
    _cells(figure, axis, [(b, i) for b, i, still in silent if still], QUIET, ".", say(scale.quiet))
    draw_marks(figure, axis.fleet.changes, axis, above=True)
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[plain_text(name) for name in names],
        range=[len(names) - 0.5, -0.5],
        automargin=True,
        showgrid=False,
    )
    figure.update_layout(
        height=max(210, 98 + 30 * len(names)),
        margin={"l": 8, "r": 8, "t": 48, "b": 8},
        legend=legend() | {"y": 1 + 20 / (40 + 30 * len(names))},
    )
    figure.update_xaxes(title_text=say("axis.time", zone=axis.zone_name), range=axis.span)
    return figure


def _colour_bar(scale: Scale) -> dict[str, object]:
    bar: dict[str, object] = {
        "title": {"text": scale.title},
        "thickness": 10,
        "lenmode": "pixels",
        "len": 110 if scale.ticks is None else 180,
    }
    if scale.ticks is not None:
        bar |= {"tickvals": list(scale.ticks), "ticktext": list(scale.ticks.values())}
    return bar


def _words(line: Sequence[Reading], notes: Sequence[str]) -> list[str]:
    padded = [*notes, *[""] * (len(line) - len(notes))]
    return [fmt.reading(r) + note for r, note in zip(line, padded, strict=True)]


def _cells(
    figure: go.Figure,
    axis: TimeAxis,
    cells: Sequence[tuple[int, int]],
    colour: str,
    shape: str,
    name: str,
) -> None:
    if not cells:
        return
    x: list[datetime | None] = []
    y: list[float | None] = []
    for b, i in cells:
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
