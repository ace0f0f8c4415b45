"""Time line of one request: its observations above, the engine's minutes below.

The two parts have time axes of their own, since a request may last seconds and a cell
of the engine a minute; a band in the lower part says where the request lies.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from core import format as fmt
from core.catalogue import Concept
from core.charts.axis import TimeAxis
from core.charts.frame import legend
from core.charts.marks import MARK, lever_letters, lever_words, plain_text
from core.charts.palette import COLOURS, UNKNOWN
from core.charts.spans import Look, Span, rectangles, window_looks
from core.domain.scope import MINUTE_S
from core.domain.windows import Preempt
from core.messages import named, say
from core.views.engine_windows import EngineWindows
from core.views.one_request import Bar, OneRequest

BAR_PX, ROW_PX, STRIP_PX, TITLE_PX, AXIS_PX, TOP_PX = 30, 62, 26, 26, 58, 46
LONGEST_NAME = 26
MOST_TEXTS = 8
"""So many windows still have room for their state in words."""
PADDING = 0.03
SHORTEST_S = 0.5
BAND = "rgba(155,114,232,0.22)"


def timeline(axis: TimeAxis, one: OneRequest) -> go.Figure:
    """Attempts and other observations, and where the engine is known its minutes and windows."""
    figure = go.Figure()
    engine = one.engine if one.engine is not None and one.engine.engines else None
    upper = max(2, len(one.bars)) * BAR_PX
    lower = 3 * TITLE_PX + 2 * ROW_PX + STRIP_PX if engine is not None else 0
    height = TOP_PX + upper + AXIS_PX + (lower + AXIS_PX if engine is not None else 0)
    plot = height - TOP_PX
    _observations(figure, axis, one.bars, bottom=1 - upper / plot)
    if engine is not None:
        heights = ((AXIS_PX + lower - TITLE_PX) / plot, AXIS_PX / plot)
        _engine_rows(figure, axis, engine, plot=plot)
        _request_band(figure, axis, one, heights)
        _levers(figure, axis, engine, heights)
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": TOP_PX, "b": 0},
        legend=legend(),
        barmode="overlay",
        hovermode="closest",
    )
    return figure


def bar_name(bar: Bar) -> str:
    """Name of a bar: which attempt, or which other observation."""
    if bar.attempt is not None:
        name = say("timeline.attempt", n=bar.attempt)
    else:
        name = f"{bar.type.lower()} {bar.name if bar.name is not None else ''}".strip()
    short = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
    return plain_text(f"▸ {short}" if bar.shown else short)


def _observations(figure: go.Figure, axis: TimeAxis, bars: Sequence[Bar], bottom: float) -> None:
    first = min(bar.start_at for bar in bars)
    last = max(bar.start_at if bar.end_at is None else bar.end_at for bar in bars)
    pad = max((last - first) * PADDING, SHORTEST_S)
    right = last + pad
    looks: dict[str, tuple[Look, list[Span]]] = {key: (look, []) for key, look in _looks()}
    for lane, bar in enumerate(bars):
        for key, start, end in _parts(bar, right):
            looks[key][1].append(Span(lane, start, end, _words(bar)))
    for look, spans in looks.values():
        rectangles(figure, axis, spans, look, lanes=0.32, axes=("x", "y"))
    lanes = len(bars)
    figure.update_layout(
        xaxis={
            "range": [axis.at(first - pad), axis.at(right)],
            "type": "date",
            "title": {"text": say("timeline.time_request", zone=axis.zone_name), "standoff": 4},
            "showgrid": True,
        },
        yaxis={
            "domain": [bottom, 1],
            "range": [max(lanes, 2) - 0.5, -0.5],
            "tickvals": list(range(lanes)),
            "ticktext": [bar_name(bar) for bar in bars],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    )


def _looks() -> list[tuple[str, Look]]:
    violet, slate = COLOURS[Concept.REQUEST], COLOURS[Concept.COMPUTED]
    return [
        ("before", Look(say("timeline.before"), slate)),
        ("after", Look(say("timeline.after"), violet)),
        ("whole", Look(say("timeline.whole"), violet, 0.45)),
        ("other", Look(say("timeline.other"), slate, 0.22, outline=slate)),
        ("open", Look(say("timeline.open"), UNKNOWN, hatched=True)),
    ]


def _parts(bar: Bar, right: float) -> list[tuple[str, float, float]]:
    if bar.end_at is None:
        return [("open", bar.start_at, right)]
    if bar.attempt is None and bar.type != "GENERATION":
        return [("other", bar.start_at, bar.end_at)]
    if bar.first_token_at is None:
        return [("whole", bar.start_at, bar.end_at)]
    return [
        ("before", bar.start_at, bar.first_token_at),
        ("after", bar.first_token_at, bar.end_at),
    ]


def _words(bar: Bar) -> str:
    parts = [bar_name(bar), plain_text(named("completion.", bar.state))]
    if bar.first_token_at is not None:
        parts.append(say("timeline.first", after=fmt.seconds(bar.first_token_at - bar.start_at)))
    if bar.end_at is not None:
        parts.append(fmt.seconds(bar.end_at - bar.start_at))
    return " · ".join(parts)


def _engine_rows(figure: go.Figure, axis: TimeAxis, engine: EngineWindows, *, plot: int) -> None:
    """KV usage, waiting requests and preemption windows, each on an axis of its own."""
    kv_bottom = AXIS_PX + 2 * TITLE_PX + STRIP_PX + ROW_PX
    waiting_bottom = AXIS_PX + TITLE_PX + STRIP_PX
    shares = [None if v is None else v * 100 for v in engine.kv_usage_max]
    waits = engine.waiting
    highest = max((v for v in waits if v is not None), default=1.0)
    rows = (
        ("y2", kv_bottom, ROW_PX, 102.0, say("timeline.kv")),
        ("y3", waiting_bottom, ROW_PX, max(highest, 1.0) * 1.05, say("timeline.waiting")),
        (
            "y4",
            AXIS_PX,
            STRIP_PX,
            1.0,
            say("timeline.preempt", window=fmt.seconds(engine.window_s)),
        ),
    )
    for name, bottom, size, top, title in rows:
        _lane_axis(figure, name, (bottom / plot, (bottom + size) / plot), top, title)
    _minutes(figure, axis, engine, shares, (Concept.ENGINE, "y2", 102.0, "%{y:.1f} %"))
    _minutes(
        figure, axis, engine, waits, (Concept.WAITING, "y3", max(highest, 1.0) * 1.05, "%{y:.1f}")
    )
    _strip(figure, axis, engine)
    window = engine.context.window
    figure.update_layout(
        xaxis2={
            "range": [axis.at(window.start), axis.at(window.end)],
            "type": "date",
            "anchor": "y4",
            "title": {"text": say("timeline.time_engine", zone=axis.zone_name), "standoff": 4},
            "showgrid": False,
        }
    )


def _lane_axis(
    figure: go.Figure, name: str, domain: tuple[float, float], top: float, title: str
) -> None:
    number = name.removeprefix("y")
    strip = name == "y4"
    figure.update_layout(
        {
            f"yaxis{number}": {
                "domain": list(domain),
                "anchor": "x2",
                "range": [0, top],
                "nticks": 3,
                "showgrid": not strip,
                "showticklabels": not strip,
                "zeroline": False,
                "automargin": True,
            }
        }
    )
    figure.add_annotation(
        text=title,
        xref="paper",
        yref="paper",
        x=0,
        y=domain[1],
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12},
    )


def _minutes(
    figure: go.Figure,
    axis: TimeAxis,
    engine: EngineWindows,
    values: Sequence[float | None],
    how: tuple[Concept, str, float, str],
) -> None:
    """One bar a minute; minutes without a scrape are hatched."""
    concept, yaxis, top, number = how
    figure.add_trace(
        go.Bar(
            x=[axis.at(t + MINUTE_S / 2) for t in engine.starts],
            y=values,
            width=MINUTE_S * 1000,
            xaxis="x2",
            yaxis=yaxis,
            marker={"color": COLOURS[concept], "line": {"width": 0}},
            hovertemplate="%{x|%H:%M} " + number + "<extra></extra>",
            showlegend=False,
        )
    )
    lost = [
        Span(top / 2, start, end, say("cell.unknown"))
        for start, end in _without(engine.starts, values, engine.context.until)
    ]
    look = Look(say("legend.unknown"), UNKNOWN, hatched=True)
    rectangles(figure, axis, lost, look, lanes=top / 2, axes=("x2", yaxis))


def _without(
    starts: Sequence[int], values: Sequence[float | None], until: float
) -> list[tuple[int, int]]:
    """Runs of minutes without a value, of those that can be known.

    >>> _without([0, 60, 120, 180], [None, None, 1.0, None], 400.0)
    [(0, 120), (180, 240)]
    """
    runs: list[tuple[int, int]] = []
    for start, value in zip(starts, values, strict=True):
        if value is not None or start >= until:
            continue
        begun = runs.pop()[0] if runs and runs[-1][1] == start else start
        runs.append((begun, start + MINUTE_S))
    return runs


def _strip(figure: go.Figure, axis: TimeAxis, engine: EngineWindows) -> None:
    for state, look in window_looks().items():
        spans = [
            Span(
                0.5,
                one.start,
                one.end,
                look.name if one.why is None else say(f"unsure.{one.why}"),
            )
            for one in engine.windows
            if one.state is state
        ]
        rectangles(figure, axis, spans, look, lanes=0.5, axes=("x2", "y4"))
    if len(engine.windows) <= MOST_TEXTS:
        for one in engine.windows:
            figure.add_annotation(
                x=axis.at((one.start + one.end) / 2),
                y=0.5,
                xref="x2",
                yref="y4",
                text=str(one.state),
                showarrow=False,
                font={"size": 13, "color": "#FFFFFF"} if one.state is Preempt.ONE else {"size": 12},
            )


def _request_band(
    figure: go.Figure, axis: TimeAxis, one: OneRequest, heights: tuple[float, float]
) -> None:
    """Where the request lies in the engine's time."""
    top, bottom = heights
    start, end = one.request.start_at, one.request.end_at
    figure.add_shape(
        type="rect",
        xref="x2",
        yref="paper",
        x0=axis.at(start),
        x1=axis.at(start if end is None else end),
        y0=bottom,
        y1=top,
        fillcolor=BAND,
        line={"color": COLOURS[Concept.REQUEST], "width": 1.5},
    )


def _levers(
    figure: go.Figure, axis: TimeAxis, engine: EngineWindows, heights: tuple[float, float]
) -> None:
    """A line per change in the engine's time, with the letter that the list repeats."""
    top, bottom = heights
    changes = engine.context.changes
    for letter, mark in zip(lever_letters(changes), changes, strict=True):
        at = axis.at(mark.at)
        figure.add_shape(
            type="line",
            xref="x2",
            yref="paper",
            x0=at,
            x1=at,
            y0=bottom,
            y1=top,
            line={"color": MARK, "width": 1, "dash": "dot"},
        )
        figure.add_annotation(
            x=at,
            y=top,
            xref="x2",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            text=letter,
            hovertext=lever_words(mark),
            showarrow=False,
            font={"size": 12, "color": MARK},
            bgcolor="rgba(128,128,128,0.15)",
            borderpad=2,
        )
