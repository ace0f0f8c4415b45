"""Figures of the pages: one function a chart."""

from collections.abc import Mapping, Sequence
from math import inf

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core import format as fmt
from core.catalogue import Concept, Unit
from core.charts.axis import TimeAxis
from core.charts.frame import time_layout
from core.charts.marks import MARK, plain_text
from core.charts.palette import COLOURS
from core.domain.histograms import QuantileBounds
from core.domain.reading import Reading
from core.messages import say

TTFT_TICKS_S = [m * 10.0**e for e in range(-3, 4) for m in (1, 3)]
SMALLEST_S = 0.0005
"""Where a bar from 0 begins on a logarithmic axis; below any bucket edge of vLLM."""


def hit_ratio(
    axis: TimeAxis,
    engine: Sequence[Reading],
    gateway: Sequence[Reading] = (),
    external: Sequence[Reading] = (),
) -> go.Figure:
    """Engine hit ratio over time; the gateway's share and the external connector's ratio
    beside it where there is any.
    """
    figure = go.Figure()
    figure.add_trace(ratio_line(axis, engine, say("legend.local"), Concept.ENGINE))
    if any(r.known for r in gateway):
        figure.add_trace(ratio_line(axis, gateway, say("legend.gateway"), Concept.GATEWAY))
    if any(r.known for r in external):
        figure.add_trace(ratio_line(axis, external, say("legend.external"), Concept.EXTERNAL))
    time_layout(figure, axis, say("axis.hit_ratio"), quiet=engine)
    figure.update_layout(yaxis={"range": [0, 102], "ticksuffix": " %"})
    return figure


def inflation(axis: TimeAxis, line: Sequence[Reading]) -> go.Figure:
    """Lookups per prompt token over time, with the line that says each counted once."""
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=axis.middles,
            y=[r.value for r in line],
            mode="lines+markers",
            marker={"size": 4},
            line={"color": COLOURS[Concept.NEUTRAL], "width": 2},
            name=say("chart.inflation"),
            text=[fmt.reading(r) for r in line],
            hovertemplate="%{x|%H:%M} %{text}<extra></extra>",
        )
    )
    figure.add_hline(
        y=1,
        line={"color": MARK, "dash": "dot", "width": 1},
        annotation_text=say("legend.once"),
        annotation_position="top left",
    )
    time_layout(figure, axis, say("axis.factor"), quiet=line)
    figure.update_layout(yaxis={"rangemode": "tozero", "ticksuffix": "×"})
    return figure


def prefill(axis: TimeAxis, lines: Mapping[str, Sequence[float | None]]) -> go.Figure:
    """Prompt tokens per second by source, stacked."""
    shown = (
        ("cached_prefill_tokens_per_s", say("legend.cached"), Concept.ENGINE),
        ("external_prefill_tokens_per_s", say("legend.external"), Concept.EXTERNAL),
        ("computed_prefill_tokens_per_s", say("legend.computed"), Concept.COMPUTED),
    )
    figure = go.Figure()
    for metric, name, concept in shown:
        values = lines[metric]
        if not any(values) and concept is Concept.EXTERNAL:
            continue
        figure.add_trace(_bars(axis, values, name, concept, [_rate(value) for value in values]))
    time_layout(figure, axis, say("axis.tokens_per_s"))
    figure.update_layout(barmode="stack", yaxis={"rangemode": "tozero", "tickformat": "~s"})
    return figure


def kv_usage(
    axis: TimeAxis, highest: Sequence[float | None], mean: Sequence[float | None]
) -> go.Figure:
    """Share of KV blocks in use: the highest engine, and the mean."""
    figure = go.Figure()
    for values, name, dash in (
        (highest, say("legend.max"), "solid"),
        (mean, say("legend.mean"), "dot"),
    ):
        figure.add_trace(
            go.Scatter(
                x=axis.middles,
                y=[None if v is None else v * 100 for v in values],
                mode="lines+markers",
                marker={"size": 3},
                line={"color": COLOURS[Concept.ENGINE], "dash": dash, "width": 2},
                name=name,
                hovertemplate="%{x|%H:%M} %{y:.1f} %<extra>" + name + "</extra>",
            )
        )
    time_layout(figure, axis, say("axis.kv"))
    figure.update_layout(yaxis={"range": [0, 102], "ticksuffix": " %"})
    return figure


def pressure(
    axis: TimeAxis,
    preemptions: Sequence[float | None],
    running: Sequence[float | None],
    waiting: Mapping[str, Sequence[float | None]],
) -> go.Figure:
    """Preemption events above, requests running and waiting by reason below."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    figure.add_trace(
        _bars(
            axis,
            preemptions,
            say("legend.preemptions"),
            Concept.PREEMPTION,
            [_plain(v) for v in preemptions],
        ),
        row=1,
        col=1,
    )
    for trace in _queue_lines(axis, running, waiting):
        figure.add_trace(trace, row=2, col=1)
    time_layout(figure, axis, say("axis.events"), rows=2)
    figure.update_layout(
        yaxis={"rangemode": "tozero"},
        yaxis2={"rangemode": "tozero", "title": {"text": say("axis.requests")}},
    )
    return figure


def queue(
    axis: TimeAxis,
    running: Sequence[float | None],
    waiting: Mapping[str, Sequence[float | None]],
) -> go.Figure:
    """Requests running, and waiting by reason."""
    figure = go.Figure(_queue_lines(axis, running, waiting))
    time_layout(figure, axis, say("axis.requests"))
    figure.update_layout(yaxis={"rangemode": "tozero"})
    return figure


def _queue_lines(
    axis: TimeAxis,
    running: Sequence[float | None],
    waiting: Mapping[str, Sequence[float | None]],
) -> list[go.Scatter]:
    dashes = iter(("solid", "dash", "dot", "dashdot"))
    lines = [
        _line(
            axis,
            values,
            say("legend.waiting_reason", reason=plain_text(reason))
            if reason
            else say("legend.waiting"),
            Concept.WAITING,
            next(dashes, "solid"),
        )
        for reason, values in waiting.items()
    ]
    return [*lines, _line(axis, running, say("legend.running"), Concept.COMPUTED, "solid")]


def ttft(axis: TimeAxis, quantiles: Mapping[str, Sequence[QuantileBounds | None]]) -> go.Figure:
    """Quantiles of time to first token as bars from bucket edge to bucket edge."""
    figure = go.Figure()
    top = max(
        (b.lower if b.censored else b.upper for line in quantiles.values() for b in line if b),
        default=1.0,
    )
    styles = {
        "ttft_p50": (Concept.COMPUTED, 0.95, "p50"),
        "ttft_p95": (Concept.PREEMPTION, 0.7, "p95"),
    }
    for metric, (concept, opacity, short) in reversed(styles.items()):
        bounds = quantiles[metric]
        lows = [None if b is None else max(b.lower, SMALLEST_S) for b in bounds]
        highs = [None if b is None else (top * 2 if b.censored else b.upper) for b in bounds]
        figure.add_trace(
            go.Bar(
                x=axis.middles,
                base=lows,
                y=[
                    None if h is None or low is None else h - low
                    for h, low in zip(highs, lows, strict=True)
                ],
                marker={"color": COLOURS[concept], "opacity": opacity, "line": {"width": 0}},
                width=axis.bin_ms * (0.86 if short == "p95" else 0.5),
                name=say(f"legend.{short}"),
                text=[_interval(b) for b in bounds],
                textposition="none",
                hovertemplate="%{x|%H:%M} " + short + ": %{text}<extra></extra>",
            )
        )
    time_layout(figure, axis, say("axis.seconds"))
    figure.update_layout(
        barmode="overlay",
        yaxis={
            "type": "log",
            "tickvals": TTFT_TICKS_S,
            "ticktext": [fmt.seconds(t) for t in TTFT_TICKS_S],
        },
    )
    return figure


def ratio_line(axis: TimeAxis, line: Sequence[Reading], name: str, concept: Concept) -> go.Scatter:
    """A ratio over time, its sums on hover."""
    return go.Scatter(
        x=axis.middles,
        y=[None if r.value is None else r.value * 100 for r in line],
        mode="lines+markers",
        marker={"size": 4},
        line={"color": COLOURS[concept], "width": 2.5},
        name=name,
        text=[f"{fmt.reading(r)}  {fmt.terms(r)}" for r in line],
        hovertemplate="%{x|%H:%M} %{text}<extra></extra>",
    )


def _line(
    axis: TimeAxis, values: Sequence[float | None], name: str, concept: Concept, dash: str
) -> go.Scatter:
    return go.Scatter(
        x=axis.middles,
        y=values,
        mode="lines",
        line={"color": COLOURS[concept], "dash": dash, "width": 2},
        name=name,
        hovertemplate="%{x|%H:%M} %{y:.1f}<extra>" + name + "</extra>",
    )


def _bars(
    axis: TimeAxis,
    values: Sequence[float | None],
    name: str,
    concept: Concept,
    texts: Sequence[str],
) -> go.Bar:
    return go.Bar(
        x=axis.middles,
        y=values,
        name=name,
        marker={"color": COLOURS[concept], "line": {"width": 0}},
        width=axis.bin_ms,
        text=texts,
        textposition="none",
        hovertemplate="%{x|%H:%M} %{text}<extra>" + name + "</extra>",
    )


def _rate(value: float | None) -> str:
    return "" if value is None else fmt.amount(value, Unit.TOKENS_PER_S)


def _plain(value: float | None) -> str:
    return "" if value is None else fmt.quantity(value)


def _interval(bounds: QuantileBounds | None) -> str:
    if bounds is None:
        return ""
    high = inf if bounds.censored else bounds.upper
    return fmt.reading(Reading("ttft_p50", bounds.estimate, low=bounds.lower, high=high))
