"""The reconciliation as a waterfall: levels as bars, what lies between them hatched."""

from collections.abc import Sequence

import plotly.graph_objects as go

from core import format as fmt
from core.catalogue import Concept
from core.charts.palette import COLOURS, UNKNOWN
from core.domain.reconciliation import TOTALS, Line, Step
from core.messages import say

COLOUR_OF = {
    Step.ENGINES: COLOURS[Concept.ENGINE],
    Step.GATEWAY: COLOURS[Concept.GATEWAY],
    Step.MEASURED: COLOURS[Concept.GATEWAY],
}
HEIGHT = 340


def waterfall(lines: Sequence[Line]) -> go.Figure:
    """Steps from top to bottom; a step of unknown size has a name and no bar."""
    bases, lengths, level = [], [], 0.0
    for line in lines:
        amount = line.tokens
        if line.step in TOTALS:
            bases.append(0.0)
            level = amount if amount is not None else level
        else:
            level += amount if amount is not None else 0.0
            bases.append(level)
        lengths.append(
            None if amount is None else abs(amount) if line.step not in TOTALS else amount
        )
    names = [say(f"step.{line.step}") for line in lines]
    total = [line.step in TOTALS for line in lines]
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=names,
            x=lengths,
            base=[
                base if whole or line.tokens is None or line.tokens <= 0 else base - line.tokens
                for base, whole, line in zip(bases, total, lines, strict=True)
            ],
            marker={
                "color": [COLOUR_OF.get(line.step, UNKNOWN) for line in lines],
                "pattern": {"shape": ["" if whole else "/" for whole in total], "size": 6},
                "line": {"width": 0},
            },
            text=["" if line.tokens is None else fmt.quantity(line.tokens) for line in lines],
            textposition="outside",
            cliponaxis=False,
            hovertext=[say(f"step.why.{line.step}") for line in lines],
            hovertemplate="%{y}: %{text}<br>%{hovertext}<extra></extra>",
        )
    )
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 8, "r": 60, "t": 8, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": say("chart.reconcile_axis")},
            "tickformat": "~s",
            "rangemode": "tozero",
        },
        yaxis={"autorange": "reversed", "automargin": True},
    )
    return figure
