"""The Review page: which period, the document block by block, and its files."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from core import charts, runtime
from core.charts import Dot
from core.domain.scope import DEFAULT_RANGE, RANGES, Compare
from core.messages import say
from core.report.document import (
    SECTION,
    Block,
    Document,
    Heading,
    Intervals,
    Lines,
    Table,
    Tone,
    sections,
)
from core.report.make import MEDIA, Format, usual_question, written
from core.report.make import review_document as made_document
from core.ui.choices import choice, narrowed
from core.ui.frame import chart, grid, heading, info
from core.ui.request import lines
from core.ui.scope_bar import current_scope
from core.ui.tables import Cell, Column, table
from core.views.review import USUAL_COMPARE, USUAL_RANGE, ReviewQuestion, ReviewView

AS_ABOVE = "scope"
PERIODS = (AS_ABOVE, "1d", USUAL_RANGE, "14d", "30d")
AGAINST = tuple(one.value for one in Compare if one is not Compare.NONE)
WHOLE_ROWS = 40
"""A table of so many rows is shown in full: a meeting does not scroll in it."""
KINDS = {Tone.PLAIN: "pw-line", Tone.WARNING: "pw-list warn", Tone.BAD: "pw-list fault"}


def review_question() -> ReviewQuestion:
    """The question that the URL holds; what it does not know keeps its usual value."""
    period, against = st.query_params.get("period"), st.query_params.get("against")
    return replace(
        usual_question(runtime.running().settings),
        range=period if period in RANGES else None if period == AS_ABOVE else _usual_range(),
        compare=Compare(against) if against in AGAINST else None,
        experiment=st.query_params.get("experiment"),
    )


def _usual_range() -> str | None:
    """A week, unless the scope names a period of its own."""
    scope = current_scope()
    chosen = scope.start is not None or scope.range != DEFAULT_RANGE
    return None if chosen else USUAL_RANGE


def making() -> AbstractContextManager[None]:
    """Say that a review takes its time."""
    return st.spinner(say("review.making"))


def review_bar(view: ReviewView) -> None:
    """Select boxes of the review, each of which writes the URL."""
    first, left, right = grid("review_bar", 2, 1, 1)
    with first:
        titles = view.experiments
        narrowed(
            "experiment",
            say("review.which"),
            list(titles),
            words=lambda name: say("review.one_experiment", title=titles[name]),
            everything=say("review.a_period"),
        )
    if view.period is None:
        return
    with left:
        choice(
            "period",
            say("review.choose_period"),
            PERIODS,
            words=_period_words,
            default=_usual_range() or AS_ABOVE,
            help_text=say("review.period_help"),
        )
    with right:
        usual = current_scope().compare
        choice(
            "against",
            say("review.choose_against"),
            AGAINST,
            words=lambda one: say(f"compare.{one}"),
            default=(USUAL_COMPARE if usual is Compare.NONE else usual).value,
        )


def _period_words(period: str) -> str:
    if period == AS_ABOVE:
        return say("review.as_above")
    return say("review.last", range=say(f"range.{period}"))


def review_document(view: ReviewView) -> None:
    """The whole document, and the same as files."""
    document = made_document(view, made_at=view.fleet.now)
    if document is None:
        name = st.query_params.get("experiment", "")
        info(say("review.no_experiment", name=name))
        return
    lines([document.title], "pw-found")
    lines([document.subtitle])
    _downloads(document)
    for section in sections(document.blocks):
        first = section[0]
        if isinstance(first, Heading) and first.long:
            heading(first.text, *first.metrics)
            with st.expander(first.text):
                _blocks(section[1:])
        else:
            _blocks(section)
    heading(say("review.about"))
    lines([*(f"{name}: {value}" for name, value in document.about), document.made])


def _downloads(document: Document) -> None:
    with st.container(horizontal=True, key="review_files"):
        for form in Format:
            made = written(document, form)
            st.download_button(
                say(f"review.download.{form}"),
                made.data,
                file_name=made.name,
                mime=MEDIA[form],
                key=f"review_{form}",
                on_click="ignore",
                icon=":material/download:",
            )


def _blocks(blocks: Sequence[Block]) -> None:
    for block in blocks:
        if isinstance(block, Heading) and block.level > SECTION:
            lines([block.text], "pw-found")
        elif isinstance(block, Heading):
            heading(block.text, *block.metrics)
        elif isinstance(block, Lines):
            _lines(block)
        elif isinstance(block, Table):
            _table(block)
        else:
            _intervals(block)


def _lines(block: Lines) -> None:
    lines(block.items, KINDS[block.tone])


def _table(block: Table) -> None:
    if block.title:
        lines([block.title])
    columns = [Column(c.title, numeric=c.numeric, wide=c.wide) for c in block.columns]
    rows: list[list[Cell]] = [list(row) for row in block.rows]
    table(f"review_{block.key}", columns, rows, empty=block.empty, whole=len(rows) <= WHOLE_ROWS)


def _intervals(block: Intervals) -> None:
    lines([block.title])
    shown = [Dot(one.name, one.value, one.low, one.high, one.note, one.faint) for one in block.dots]
    tick_format = f"{'+' if block.signed else ''}{'.1%' if block.ratio else '.2f'}"
    chart(f"review_{block.key}", _figure(block, shown, tick_format))


def _figure(block: Intervals, shown: Sequence[Dot], tick_format: str) -> go.Figure:
    if block.span is None:
        margin, none = block.marks
        names = (margin.name, none.name)
        return charts.gate(
            shown, block.axis, margin=-margin.at, names=names, tick_format=tick_format
        )
    mark = block.marks[0] if block.marks else None
    return charts.dots(
        shown,
        block.axis,
        span=block.span,
        tick_format=tick_format,
        mark=None if mark is None else mark.at,
        mark_name="" if mark is None else mark.name,
    )
