"""Histograms with the edges of their buckets on a logarithmic axis of time."""

from collections.abc import Sequence
from itertools import accumulate
from math import inf, log10

import plotly.graph_objects as go

from core import format as fmt
from core.catalogue import METRICS, Concept
from core.charts.frame import legend
from core.charts.palette import COLOURS, UNKNOWN
from core.messages import say
from core.views.block_histograms import Buckets, Distribution
from core.views.kv_residency import TurnGaps

HEIGHT = 360
SMALLEST_S = 0.0005
"""Where a bar from 0 begins; below any bucket edge of vLLM."""
BEYOND = 2.0
"""The bucket without an upper edge is drawn up to so many times its lower one."""
LABEL_SHARE = 0.11
"""Least distance of two labelled edges, share of the axis."""
CURVE = "#5B6676"
TURN_TICKS_S = (1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0)
LANES = (0.0, 0.3)
BARS = (0.42, 1.0)


def distribution(found: Distribution) -> go.Figure:
    """Count per bucket from edge to edge, the cumulative curve, and quantiles as intervals."""
    figure = go.Figure()
    colour = COLOURS[METRICS[found.metric].concept]
    low, high = _drawn(found.buckets)
    _bars(figure, found.buckets, colour)
    _cumulative(figure, found.buckets)
    _lanes(figure, found, colour, (low, high))
    _layout(figure, found.buckets, (low, high))
    figure.update_layout(
        height=HEIGHT,
        yaxis={"domain": BARS},
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "range": [0, 103],
            "showgrid": False,
            "tickvals": [0, 50, 100],
            "ticktext": ["0 %", "50 %", "100 %"],
        },
        xaxis={"anchor": "y3"},
        yaxis3={
            "domain": LANES,
            "tickvals": list(range(len(found.quantiles))),
            "ticktext": [_name(one.q) for one in found.quantiles],
            "range": [len(found.quantiles) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def turn_gaps(found: TurnGaps) -> go.Figure:
    """Idle gaps between turns: count per bucket from edge to edge."""
    figure = go.Figure()
    _bars(figure, found.buckets, COLOURS[Concept.REQUEST])
    _layout(figure, found.buckets, _drawn(found.buckets))
    figure.update_layout(height=240, showlegend=False, margin={"t": 8})
    figure.update_xaxes(
        tickvals=TURN_TICKS_S,
        ticktext=[fmt.seconds(t) for t in TURN_TICKS_S],
        title_text=say("axis.seconds"),
    )
    figure.update_yaxes(title_text=say("axis.turns"))
    return figure


def _edges(buckets: Buckets) -> list[tuple[float, float, float]]:
    """Lower edge, upper edge and count of each bucket, as they are drawn."""
    lower = [SMALLEST_S, *(edge for edge, _ in buckets[:-1])]
    if buckets and buckets[0][0] >= 1:
        lower[0] = buckets[0][0] / 2
    return [
        (low, low * BEYOND if edge == inf else edge, count)
        for low, (edge, count) in zip(lower, buckets, strict=True)
    ]


def _drawn(buckets: Buckets) -> tuple[float, float]:
    """The stretch that holds all observations, and one bucket to either side."""
    drawn = _edges(buckets)
    filled = [i for i, (*_, count) in enumerate(drawn) if count]
    first, last = max(filled[0] - 1, 0), min(filled[-1] + 1, len(drawn) - 1)
    return drawn[first][0], drawn[last][1]


def _bars(figure: go.Figure, buckets: Buckets, colour: str) -> None:
    """Rectangles from edge to edge; the one without an upper edge is hatched."""
    drawn = _edges(buckets)
    closed = [one for one, (edge, _) in zip(drawn, buckets, strict=True) if edge != inf]
    open_end = [one for one, (edge, _) in zip(drawn, buckets, strict=True) if edge == inf]
    _boxes(figure, closed, "", colour, hatched=False)
    if open_end and open_end[0][2]:
        name = say("legend.beyond", edge=fmt.edge(open_end[0][0]))
        _boxes(figure, open_end, name, colour, hatched=True)
    spans = [_span(low, edge) for (low, *_), (edge, _) in zip(drawn, buckets, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[(low * high) ** 0.5 for low, high, _ in drawn],
            y=[count / 2 for *_, count in drawn],
            mode="markers",
            marker={"size": 16, "opacity": 0},
            text=[
                f"{span}: {fmt.quantity(count)}"
                for span, (*_, count) in zip(spans, drawn, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )


def _boxes(
    figure: go.Figure,
    boxes: Sequence[tuple[float, float, float]],
    name: str,
    colour: str,
    *,
    hatched: bool,
) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for low, high, count in boxes:
        if count:
            x += [low, low, high, high, low, None]
            y += [0, count, count, 0, 0, None]
    pattern = {"shape": "/", "fgcolor": colour, "size": 7, "fillmode": "overlay"}
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            fill="toself",
            fillcolor="rgba(140,150,165,0.14)" if hatched else colour,
            fillpattern=pattern if hatched else None,
            line={"color": "rgba(255,255,255,0.75)" if not hatched else colour, "width": 1},
            name=name,
            showlegend=hatched,
            hoverinfo="skip",
        )
    )


def _cumulative(figure: go.Figure, buckets: Buckets) -> None:
    """Share at or below each finite edge: known there, and only there."""
    total = sum(count for _, count in buckets)
    up_to = accumulate(count for _, count in buckets)
    known = [(e, c / total * 100) for (e, _), c in zip(buckets, up_to, strict=True) if e != inf]
    figure.add_trace(
        go.Scatter(
            x=[edge for edge, _ in known],
            y=[share for _, share in known],
            yaxis="y2",
            mode="lines+markers",
            line={"color": CURVE, "width": 2},
            marker={"size": 6, "line": {"width": 1, "color": "#FFFFFF"}},
            name=say("legend.cumulative"),
            text=[f"≤ {fmt.seconds(edge)}: {share:.1f} %" for edge, share in known],
            hovertemplate="%{text}<extra></extra>",
        )
    )


def _lanes(figure: go.Figure, found: Distribution, colour: str, drawn: tuple[float, float]) -> None:
    """Quantiles: a bar from edge to edge, and a thin line as far as sampling leaves it."""
    for reads, name, look in (
        ([q.sampled for q in found.quantiles], say("legend.sampled"), (UNKNOWN, 3)),
        ([q.bucket for q in found.quantiles], say("legend.bucket"), (colour, 9)),
    ):
        x: list[float | None] = []
        y: list[float | None] = []
        texts: list[str | None] = []
        for i, one in enumerate(reads):
            if one is not None and one.low is not None and one.high is not None:
                x += [max(one.low, drawn[0]), min(one.high, drawn[1]), None]
                y += [i, i, None]
                words = f"{_name(found.quantiles[i].q)}: {fmt.reading(one)}"
                texts += [words, words, None]
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                yaxis="y3",
                mode="lines",
                line={"color": look[0], "width": look[1]},
                name=name,
                text=texts,
                hovertemplate="%{text}<extra></extra>",
            )
        )


def _layout(figure: go.Figure, buckets: Buckets, drawn: tuple[float, float]) -> None:
    low, high = drawn
    edges = [edge for edge, _ in buckets if low <= edge <= high and edge != inf]
    figure.update_layout(
        margin={"l": 8, "r": 8, "t": 44, "b": 8},
        legend=legend(),
        hovermode="closest",
        xaxis={
            "type": "log",
            "range": [log10(low), log10(high)],
            "tickvals": edges,
            "ticktext": _labels(edges, low, high),
            "tickangle": 0,
            "ticks": "outside",
            "showgrid": False,
            "title": {"text": say("axis.edges")},
        },
    )
    figure.update_yaxes(rangemode="tozero", selector={"overlaying": None})


def _labels(edges: Sequence[float], low: float, high: float) -> list[str]:
    """Words for edges that are far enough from the labelled one before."""
    words, last = [], -inf
    for edge in edges:
        at = log10(edge / low) / log10(high / low)
        words.append(fmt.seconds(edge) if at - last >= LABEL_SHARE else "")
        last = at if words[-1] else last
    return words


def _span(low: float, edge: float) -> str:
    return f"> {fmt.edge(low)}" if edge == inf else f"{fmt.seconds(low)} – {fmt.seconds(edge)}"


def _name(q: float) -> str:
    return f"p{q * 100:g}"
