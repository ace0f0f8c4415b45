"""Views to Plotly figures. Colours mean concepts; unknown is hatched grey."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import inf

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core import format as fmt
from core.catalogue import Concept, Unit
from core.domain.coverage import Gap
from core.domain.histograms import QuantileBounds
from core.domain.reading import Reading, Reason
from core.messages import say
from core.views.fleet import Fleet, LeverMark

COLOURS: dict[Concept, str] = {
    Concept.ENGINE: "#3B8FE5",
    Concept.GATEWAY: "#14A098",
    Concept.REQUEST: "#9B72E8",
    Concept.COMPUTED: "#8593A6",
    Concept.EXTERNAL: "#D99A1C",
    Concept.PREEMPTION: "#E2632B",
    Concept.WAITING: "#A0765B",
    Concept.NEUTRAL: "#8593A6",
}
UNKNOWN = "rgba(128,128,128,0.55)"
QUIET = "rgba(128,128,128,0.45)"
MARK = "rgba(128,128,128,0.9)"
HEIGHT = 300
STRIP = 0.06
"""Height of the strip that says some engines were not observed, share of the plot."""
SMALLEST_S = 0.0005
"""Where a bar from 0 begins on a logarithmic axis; below any bucket edge of vLLM."""
BAND_AXIS = 90
"""Number of the first axis that only carries bands."""
NAMES_SHOWN = 4
LONGEST_HOVER = 90
MARKS_APART = 40
"""Marks closer than 1/40 of the window share one label."""


@dataclass(frozen=True)
class TimeAxis:
    """The reader's clock over one fleet window."""

    fleet: Fleet
    zone: tzinfo
    zone_name: str

    def at(self, t: float) -> datetime:
        """A moment as the reader's wall clock shows it."""
        return datetime.fromtimestamp(t, self.zone).replace(tzinfo=None)

    @property
    def middles(self) -> list[datetime]:
        """Centres of the chart bins."""
        return [self.at(b + self.fleet.bin_s / 2) for b in self.fleet.bins]


def hit_ratio(
    axis: TimeAxis, engine: Sequence[Reading], external: Sequence[Reading] = ()
) -> go.Figure:
    """Engine hit ratio over time, the external connector's beside it where it has traffic."""
    figure = go.Figure()
    figure.add_trace(_ratio_line(axis, engine, say("legend.local"), Concept.ENGINE))
    if any(r.known for r in external):
        figure.add_trace(_ratio_line(axis, external, say("legend.external"), Concept.EXTERNAL))
    _time_layout(figure, axis, say("axis.hit_ratio"), quiet=engine)
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
        annotation_position="bottom right",
    )
    _time_layout(figure, axis, say("axis.factor"), quiet=line)
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
    _time_layout(figure, axis, say("axis.tokens_per_s"))
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
    _time_layout(figure, axis, say("axis.kv"))
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
    dashes = iter(("solid", "dash", "dot", "dashdot"))
    for reason, values in waiting.items():
        name = say("legend.waiting_reason", reason=reason) if reason else say("legend.waiting")
        figure.add_trace(
            _line(axis, values, name, Concept.WAITING, next(dashes, "solid")), row=2, col=1
        )
    figure.add_trace(
        _line(axis, running, say("legend.running"), Concept.COMPUTED, "solid"), row=2, col=1
    )
    _time_layout(figure, axis, say("axis.events"), rows=2)
    figure.update_layout(
        yaxis={"rangemode": "tozero"},
        yaxis2={"rangemode": "tozero", "title": {"text": say("axis.requests")}},
    )
    return figure


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
                width=_bar_ms(axis) * (0.86 if short == "p95" else 0.5),
                name=say(f"legend.{short}"),
                text=[_interval(b) for b in bounds],
                textposition="none",
                hovertemplate="%{x|%H:%M} " + short + ": %{text}<extra></extra>",
            )
        )
    _time_layout(figure, axis, say("axis.seconds"))
    figure.update_layout(
        barmode="overlay",
        yaxis={"type": "log", "tickformat": "~s", "ticksuffix": "s", "dtick": 1},
    )
    return figure


def heat(axis: TimeAxis, rows: Mapping[str, Sequence[Reading]]) -> go.Figure:
    """Hit ratio by engine and time; unknown cells hatched, quiet cells dotted."""
    names = list(rows)
    figure = go.Figure(
        go.Heatmap(
            x=axis.middles,
            y=list(range(len(names))),
            customdata=[[name] * len(axis.fleet.bins) for name in names],
            z=[
                [None if r.value is None else r.value * 100 for r in line] for line in rows.values()
            ],
            text=[[fmt.reading(r) for r in line] for line in rows.values()],
            hovertemplate="%{customdata} %{x|%H:%M}: %{text}<extra></extra>",
            hoverongaps=False,
            zmin=0,
            zmax=100,
            colorscale=[[0, "#E9E3D2"], [0.5, "#7FB3E8"], [1, "#0B3C7A"]],
            colorbar={"title": {"text": "%"}, "thickness": 10, "len": 0.9},
            xgap=1,
            ygap=2,
        )
    )
    unknown = [
        (b, i, fmt.reading(r))
        for i, line in enumerate(rows.values())
        for b, r in zip(axis.fleet.bins, line, strict=True)
        if not r.known and r.reason is not Reason.NO_TRAFFIC and _asked(axis, b)
    ]
    quiet = [
        (b, i, fmt.reading(r))
        for i, line in enumerate(rows.values())
        for b, r in zip(axis.fleet.bins, line, strict=True)
        if r.reason is Reason.NO_TRAFFIC
    ]
    _cells(figure, axis, unknown, UNKNOWN, "/", say("legend.unknown"))
    _cells(figure, axis, quiet, QUIET, ".", say("legend.quiet"))
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[_plain_text(name) for name in names],
        range=[len(names) - 0.5, -0.5],
        automargin=True,
        showgrid=False,
    )
    figure.update_layout(
        height=max(160, 60 + 30 * len(names)),
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        legend=_legend(),
    )
    figure.update_xaxes(title_text=say("axis.time", zone=axis.zone_name), range=_span(axis))
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
            fillcolor="rgba(128,128,128,0.10)",
            fillpattern={"shape": shape, "fgcolor": colour, "size": 6, "fillmode": "overlay"},
        )
    )


def _ratio_line(axis: TimeAxis, line: Sequence[Reading], name: str, concept: Concept) -> go.Scatter:
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
        width=_bar_ms(axis) * 0.9,
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


def _bar_ms(axis: TimeAxis) -> float:
    return axis.fleet.bin_s * 1000.0


def _span(axis: TimeAxis) -> list[datetime]:
    window = axis.fleet.window
    return [axis.at(window.start), axis.at(window.end)]


def _legend() -> dict[str, object]:
    return {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}}


def _time_layout(
    figure: go.Figure,
    axis: TimeAxis,
    y_title: str,
    *,
    quiet: Sequence[Reading] = (),
    rows: int = 1,
) -> None:
    """What every time chart has: gaps, changes, the reader's clock, units."""
    for row in range(1, rows + 1):
        _gap_bands(figure, axis, quiet, row)
    _lever_lines(figure, axis.fleet.changes, axis)
    figure.update_layout(
        height=HEIGHT if rows == 1 else HEIGHT + 60,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        legend=_legend(),
        hovermode="closest",
    )
    figure.update_xaxes(range=_span(axis), showgrid=False)
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
        if r.reason is Reason.NO_TRAFFIC
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
            fillcolor="rgba(128,128,128,0.08)",
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
    return say("gap.some", names=short_list(gap.missing))


def short_list(names: Sequence[str]) -> str:
    """Names in a line, the long tail counted."""
    shown = ", ".join(names[:NAMES_SHOWN])
    if len(names) <= NAMES_SHOWN:
        return shown
    return say("gap.more", names=shown, n=len(names) - NAMES_SHOWN)


def lever_letters(changes: Sequence[LeverMark]) -> list[str]:
    """The letter of each change on charts and in the list: A, B, … Z, AA, …"""
    return [_letter(i) for i in range(len(changes))]


def _letter(i: int) -> str:
    return (_letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def _lever_lines(figure: go.Figure, changes: Sequence[LeverMark], axis: TimeAxis) -> None:
    apart = axis.fleet.window.length_s / MARKS_APART
    for mark in changes:
        figure.add_vline(x=axis.at(mark.at), line={"color": MARK, "width": 1, "dash": "dot"})
    for letters, at, why in _labels(changes, apart):
        figure.add_annotation(
            x=axis.at(at),
            y=1,
            yref="paper",
            yanchor="top",
            xanchor="left",
            text=letters,
            hovertext=why,
            showarrow=False,
            font={"size": 12, "color": MARK},
            bgcolor="rgba(128,128,128,0.15)",
            borderpad=2,
        )


def _labels(changes: Sequence[LeverMark], apart: float) -> Iterable[tuple[str, float, str]]:
    """Labels of marks, those too close to each other joined."""
    groups: list[list[int]] = []
    for i, mark in enumerate(changes):
        if groups and mark.at - changes[groups[-1][0]].at < apart:
            groups[-1].append(i)
        else:
            groups.append([i])
    letters = lever_letters(changes)
    for group in groups:
        text = letters[group[0]] if len(group) == 1 else f"{letters[group[0]]}–{letters[group[-1]]}"
        why = "<br>".join(f"{letters[i]} {lever_words(changes[i])}" for i in group)
        yield text, changes[group[0]].at, why


def lever_words(mark: LeverMark) -> str:
    """A change in one line."""
    where = f" {mark.engine}" if mark.engine else ""
    words = f"{say(f'lever.{mark.kind}')}{where}: {mark.what}"
    return _plain_text(words if len(words) <= LONGEST_HOVER else words[:LONGEST_HOVER] + "…")


def _plain_text(text: str) -> str:
    """Plotly reads some HTML in texts; a name must not."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
