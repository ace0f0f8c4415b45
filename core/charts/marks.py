"""Changes on a time chart: a line each, a letter that the list beside it repeats."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import plotly.graph_objects as go

from core.charts.axis import TimeAxis
from core.messages import say
from core.views.fleet import LeverMark

MARK = "rgba(128,128,128,0.9)"
LONGEST_HOVER = 90
MARKS_APART = 40
"""Marks closer than 1/40 of the window share one label."""


def lever_letters(changes: Sequence[LeverMark]) -> list[str]:
    """The letter of each change on charts and in the list: A, B, … Z, AA, …"""
    return [_letter(i) for i in range(len(changes))]


def _letter(i: int) -> str:
    return (_letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def draw_marks(
    figure: go.Figure, changes: Sequence[LeverMark], axis: TimeAxis, *, above: bool = False
) -> None:
    """A line per change; labels of changes close to each other are joined.

    `above` puts the labels over a plot whose cells would hide them.
    """
    draw_lines(figure, changes, at=axis.at, length_s=axis.fleet.window.length_s, above=above)


def draw_lines(
    figure: go.Figure,
    changes: Sequence[LeverMark],
    *,
    at: Callable[[float], datetime],
    length_s: float,
    above: bool = False,
) -> None:
    """The same on a chart of any period of that length; `at` is its clock.

    All of them at once: Plotly checks the whole layout again for each that is added alone.
    """
    lines = [
        {
            "type": "line",
            "x0": at(mark.at),
            "x1": at(mark.at),
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": MARK, "width": 1, "dash": "dot"},
        }
        for mark in changes
    ]
    labels = [
        {
            "x": at(first),
            "y": 1,
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom" if above else "top",
            "text": letters,
            "hovertext": why,
            "showarrow": False,
            "font": {"size": 12, "color": MARK},
            "bgcolor": "rgba(128,128,128,0.15)",
            "borderpad": 2,
        }
        for letters, first, why in _labels(changes, length_s / MARKS_APART)
    ]
    figure.update_layout(
        shapes=(*figure.layout.shapes, *lines), annotations=(*figure.layout.annotations, *labels)
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
    return plain_text(words if len(words) <= LONGEST_HOVER else words[:LONGEST_HOVER] + "…")


def plain_text(text: str) -> str:
    """Plotly reads some HTML in texts; a name must not."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
