"""Benchmarks: TTFT OFF and ON, the change against its ceilings, hits against what is expected."""

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

import plotly.graph_objects as go

from core.catalogue import Concept
from core.charts.frame import legend
from core.charts.marks import draw_lines, plain_text
from core.charts.palette import COLOURS, UNKNOWN
from core.domain.bench.comparison import Estimate
from core.messages import say
from core.views.bench_history import History, HistoryPoint
from core.views.benchmarks import PanelLine

ROW_PX, FRAME_PX = 40, 110
OFF, ON = COLOURS[Concept.COMPUTED], COLOURS[Concept.ENGINE]
CEILING = COLOURS[Concept.WAITING]
HISTORY_PX = 340
AIR, LEAST_AIR_S = 0.05, 1800.0
RATIO_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


class Named(NamedTuple):
    """A panel, and the words it stands under."""

    name: str
    line: PanelLine


def ttft_off_on(panels: Sequence[Named], words: Callable[[Estimate], str]) -> go.Figure:
    """Median TTFT of each pair and concurrency OFF and ON, with intervals where there are any."""
    figure = go.Figure()
    for name, colour, symbol, side in (("off", OFF, "circle-open", 0), ("on", ON, "circle", 1)):
        known = [
            (one.name, estimate)
            for one in panels
            if (estimate := (one.line.panel.ttft_ms.off, one.line.panel.ttft_ms.on)[side])
        ]
        figure.add_trace(_dots(known, say(f"bench.{name}"), colour, symbol, words))
    unknown = [one.name for one in panels if one.line.panel.ttft_ms.on is None]
    _unknown(figure, unknown)
    return _rows(figure, [one.name for one in panels], say("bench.axis_ttft"))


def change_and_ceilings(panels: Sequence[Named], words: Callable[[Estimate], str]) -> go.Figure:
    """Median TTFT OFF over ON as dots on a logarithmic axis, beside two ceilings of the work."""
    figure = go.Figure()
    for name, symbol in (("linear", "line-ns-open"), ("quadratic", "diamond-tall-open")):
        figure.add_trace(
            go.Scatter(
                x=[getattr(one.line.panel.ceilings, name) for one in panels],
                y=[one.name for one in panels],
                mode="markers",
                name=say(f"bench.ceiling_{name}"),
                marker={"symbol": symbol, "size": 15, "color": CEILING, "line": {"width": 3}},
                hovertemplate="%{y}: %{x:.3g}×<extra></extra>",
            )
        )
    known = [(one.name, ratio) for one in panels if (ratio := one.line.panel.ttft_ratio)]
    figure.add_trace(_dots(known, say("bench.ratio"), ON, "circle", words))
    figure.add_vline(x=1, line={"dash": "dot", "width": 2, "color": OFF})
    _rows(figure, [one.name for one in panels], say("bench.axis_ratio"))
    figure.update_xaxes(type="log", tickvals=RATIO_TICKS, ticktext=[f"{t:g}" for t in RATIO_TICKS])
    return figure


def hits_expected(panels: Sequence[Named]) -> go.Figure:
    """Hit tokens of the ON runs as a dot, on the interval that the workload allows."""
    ranges = [(one.name, found) for one in panels if (found := one.line.expected_hits)]
    seen = [
        (one.name, hits) for one in panels if (hits := one.line.panel.hits_tokens.value) is not None
    ]
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[edge for _, found in ranges for edge in (found.low, found.high, None)],
            y=[name for name, _ in ranges for _ in range(3)],
            mode="lines+markers",
            name=say("bench.expected"),
            line={"color": OFF, "width": 9},
            marker={"symbol": "line-ns", "size": 20, "line": {"width": 2, "color": OFF}},
            opacity=0.55,
            hovertemplate="%{y}: %{x:,.0f}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[hits for _, hits in seen],
            y=[name for name, _ in seen],
            mode="markers",
            name=say("bench.hits_seen"),
            marker={"size": 12, "color": ON},
            hovertemplate="%{y}: %{x:,.0f}<extra></extra>",
        )
    )
    _unknown(figure, [one.name for one in panels if one.line.panel.hits_tokens.value is None])
    return _rows(figure, [one.name for one in panels], say("bench.axis_hits"))


def bench_history(
    history: History, points: Sequence[HistoryPoint], zone: tzinfo, *, zone_name: str
) -> go.Figure:
    """Median TTFT OFF and ON of one pair and concurrency over time, with the lever log's marks."""
    figure = go.Figure()
    for name, colour, symbol in (("off", OFF, "circle-open"), ("on", ON, "circle")):
        estimates = [point.off_ms if name == "off" else point.on_ms for point in points]
        figure.add_trace(
            go.Scatter(
                x=[_moment(point.at, zone) for point in points],
                y=[estimate.value for estimate in estimates],
                mode="markers",
                name=say(f"bench.{name}"),
                marker={"size": 11, "color": colour, "symbol": symbol, "line": {"width": 2}},
                error_y=_limits(estimates, colour),
                customdata=[[_about(point)] for point in points],
                hovertemplate="%{y:,.0f} ms<br>%{customdata[0]}<extra></extra>",
            )
        )
    draw_lines(
        figure,
        history.changes,
        at=lambda t: _moment(t, zone),
        length_s=max(history.end - history.start, 1.0),
    )
    figure.update_layout(
        height=HISTORY_PX,
        margin={"l": 8, "r": 24, "t": 40, "b": 8},
        legend=legend(),
        xaxis={
            "title": {"text": say("axis.time", zone=zone_name)},
            "range": [_moment(t, zone) for t in _span(history)],
        },
        yaxis={"title": {"text": say("bench.axis_ttft")}, "rangemode": "tozero"},
    )
    return figure


def _span(history: History) -> tuple[float, float]:
    """From the first point to the last mark or point, with some air."""
    last = max([point.at for point in history.points] + [mark.at for mark in history.changes])
    air = max((last - history.start) * AIR, LEAST_AIR_S)
    return history.start - air, last + air


def _about(point: HistoryPoint) -> str:
    return say(
        "bench.history_point",
        model=plain_text(point.model),
        config=say("cell.unknown") if point.config is None else point.config,
        n=point.compared,
    )


def _moment(t: float, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(t, zone).replace(tzinfo=None)


def _dots(
    known: Sequence[tuple[str, Estimate]],
    name: str,
    colour: str,
    symbol: str,
    words: Callable[[Estimate], str],
) -> go.Scatter:
    estimates = [estimate for _, estimate in known]
    return go.Scatter(
        x=[estimate.value for estimate in estimates],
        y=[row for row, _ in known],
        mode="markers",
        name=name,
        marker={"size": 12, "color": colour, "symbol": symbol, "line": {"width": 2}},
        error_x=_limits(estimates, colour),
        customdata=[[words(estimate)] for estimate in estimates],
        hovertemplate="%{y}: %{customdata[0]}<extra></extra>",
    )


def _limits(estimates: Sequence[Estimate], colour: str) -> dict[str, object]:
    """Error bars; a figure without an interval has none."""
    upper = [None if e.interval is None else e.interval.upper - e.value for e in estimates]
    lower = [None if e.interval is None else e.value - e.interval.lower for e in estimates]
    bars = {"array": upper, "arrayminus": lower, "symmetric": False, "type": "data"}
    is_any = any(estimate.interval is not None for estimate in estimates)
    return bars | {"thickness": 2.5, "width": 6, "color": colour, "visible": is_any}


def _unknown(figure: go.Figure, names: Sequence[str]) -> None:
    """A hatched row for each name without a number."""
    if not names:
        return
    figure.add_trace(
        go.Bar(
            orientation="h",
            y=list(names),
            x=[1] * len(names),
            xaxis="x2",
            width=0.55,
            name=say("legend.unknown"),
            marker={
                "color": "rgba(140,150,165,0.10)",
                "line": {"width": 0},
                "pattern": {"shape": "/", "fgcolor": UNKNOWN, "size": 7},
            },
            hovertemplate=f"%{{y}}: {say('bench.no_valid_pair')}<extra></extra>",
        )
    )
    figure.update_layout(
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True}
    )


def _rows(figure: go.Figure, names: Sequence[str], title: str) -> go.Figure:
    figure.update_layout(
        height=FRAME_PX + ROW_PX * len(names),
        margin={"l": 8, "r": 24, "t": 40, "b": 8},
        legend=legend(),
        xaxis={"title": {"text": title}},
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(reversed(names)),
            "automargin": True,
            "tickfont": {"size": 13},
        },
    )
    return figure
