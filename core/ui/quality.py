"""The table of the Quality page: groups, how they ended, and how they were scored."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core import charts
from core import format as fmt
from core.catalogue import SCORE_KINDS, kind_of
from core.charts import Dot
from core.domain.quality import Dimension, Estimand
from core.domain.reading import Reading, Reason
from core.domain.statistics.proportion import Estimate
from core.messages import say
from core.report.words import dimension_words, group_words
from core.ui.choices import narrowed
from core.ui.frame import chart, grid, heading
from core.ui.quality_choices import time_words
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.quality import Answer, QualityView
from core.views.quality_rows import QualityRow
from core.views.quality_sums import Series

CELL, STRATA = "cell", "quality_strata"
UNIT_SPAN = (0.0, 1.0)


def score_note(series: Series) -> None:
    """What the chosen score measures, and what it does not."""
    kind = SCORE_KINDS[kind_of(series.name, series.mapping.kind, series.source)]
    measures = series.mapping.measures or kind.measures
    lines([say("quality.kind", kind=kind.label, measures=measures, other=kind.not_read_as)])


def strata_panel(view: QualityView, answer: Answer) -> None:
    """Dots with intervals beside the table, one line a group."""
    heading(
        say("quality.strata", by=dimension_words(answer.asked.by)),
        "pass_rate",
        "score_mean",
        "incomplete_rate",
        "evaluation_coverage",
    )
    left, right = grid("quality_strata", 2, 3)
    with left:
        chart(STRATA, _figure(view, answer), on_select=_clicked)
    with right:
        _table(view, answer)
    lines(_notes(answer))


def row_words(view: QualityView, answer: Answer, value: str) -> str:
    """Name of a row's group; of the row of all requests too."""
    if not value:
        return say("quality.all")
    if answer.asked.by is Dimension.TIME:
        return time_words(view, value)
    return group_words(answer.asked.by, value, answer.asked.bins)


def _shown(answer: Answer, row: QualityRow) -> Estimate | None:
    return row.score if answer.estimand is Estimand.MEAN else row.passes


def _figure(view: QualityView, answer: Answer) -> Any:
    ratio = answer.estimand is not Estimand.MEAN
    shown = [_dot(view, answer, row) for row in answer.rows]
    total = _shown(answer, answer.total)
    return charts.dots(
        shown,
        say(f"axis.{answer.estimand}"),
        span=UNIT_SPAN if ratio else _score_span(answer),
        tick_format=".1%" if ratio else ".2f",
        mark=None if total is None else total.estimate,
        mark_name=say("quality.all"),
    )


def _score_span(answer: Answer) -> tuple[float, float]:
    """Scores have no known range: the widest interval that is shown, or 0 to 1."""
    found = [_shown(answer, row) for row in (*answer.rows, answer.total)]
    limits = [at for one in found if one and one.interval for at in one.interval]
    return (min(limits), max(limits)) if limits else UNIT_SPAN


def _dot(view: QualityView, answer: Answer, row: QualityRow) -> Dot:
    found, name = _shown(answer, row), row_words(view, answer, row.value)
    if found is None or found.estimate is None:
        return Dot(name, None, None, None, say("quality.not_scored"), key=row.value)
    low, high = found.interval or (None, None)
    note = say(
        "quality.dot",
        value=_estimate_words(answer, found),
        n=fmt.quantity(found.records),
        sessions=fmt.quantity(found.clusters),
    )
    return Dot(name, found.estimate, low, high, note, found.few_clusters, row.value)


def _estimate_words(answer: Answer, found: Estimate) -> str:
    if found.estimate is None:
        return say("cell.unknown")
    ratio = answer.estimand is not Estimand.MEAN
    return fmt.estimate(found.estimate, found.interval, ratio=ratio)


def _table(view: QualityView, answer: Answer) -> None:
    columns = [
        Column(dimension_words(answer.asked.by)),
        Column(say("col.pass_rate" if answer.asked.series.gradable else "col.mean"), numeric=True),
        Column(say("col.incomplete"), numeric=True),
        Column(say("col.requests"), numeric=True),
        Column(say("col.sessions"), numeric=True),
        Column(say("col.evaluated"), numeric=True),
        Column(say("col.missing"), numeric=True),
        Column(say("col.evaluator_errors"), numeric=True),
        Column(say("col.not_sampled"), numeric=True),
        Column(say("col.mean"), numeric=True),
        Column(say("col.worth"), numeric=True),
        Column(say("col.cached_tokens"), numeric=True),
        Column(say("col.notes"), wide=True),
    ]
    rows = [_cells(view, answer, row) for row in (*answer.rows, answer.total)]
    table("quality", columns, rows)


def _cells(view: QualityView, answer: Answer, row: QualityRow) -> list[Cell]:
    counts = row.tally.counts
    main = row.passes if answer.asked.series.gradable else row.score
    ratio = answer.asked.series.gradable
    return [
        row_words(view, answer, row.value),
        estimate_cell(main, row, ratio=ratio),
        estimate_cell(row.incomplete, row, ratio=True),
        row.tally.requests,
        row.tally.sessions,
        counts.ok,
        counts.missing,
        counts.evaluator_error,
        counts.not_sampled,
        estimate_cell(row.score, row, ratio=False),
        _worth(main),
        _tokens(row),
        "; ".join(_flags(row, main)) or say("table.none"),
    ]


def estimate_cell(found: Estimate | None, row: QualityRow, *, ratio: bool) -> Cell:
    """An estimate with its interval, or why there is none."""
    if found is None:
        return say("quality.no_pass_mark")
    if found.estimate is None:
        reason = Reason.NOT_MEASURED if row.tally.requests else Reason.NO_TRAFFIC
        return Reading("pass_rate", None, reason)
    return fmt.estimate(found.estimate, found.interval, ratio=ratio)


def _worth(found: Estimate | None) -> Cell:
    if found is None or found.n_eff is None:
        return None
    return fmt.quantity(found.n_eff)


def _tokens(row: QualityRow) -> Cell:
    if row.tally.cached_tokens is None:
        reason = Reason.NOT_MEASURED if row.tally.requests else Reason.NO_TRAFFIC
        return Reading("gateway_input_tokens", None, reason)
    return fmt.quantity(row.tally.cached_tokens)


def _flags(row: QualityRow, found: Estimate | None) -> list[str]:
    """What a reader should know of one row."""
    tally, said = row.tally, []
    if found is not None and found.estimate is not None:
        if found.interval is None:
            said.append(say(f"undefined.{found.reason}"))
        elif found.few_clusters:
            said.append(say("flag.few_clusters"))
    for key, n in (
        ("flag.sessionless", tally.sessionless),
        ("flag.weightless", tally.weightless),
        ("flag.conflicts", tally.conflicts),
        ("flag.scored_incomplete", tally.scored_incomplete),
        ("flag.exact_one", tally.exact_one),
    ):
        if n:
            said.append(say(key, n=n))
    return said


def _notes(answer: Answer) -> list[str]:
    said = [say(f"estimand.note.{answer.estimand}"), say("quality.sessions_overlap")]
    if answer.asked.alone:
        said.append(say("quality.independence"))
    if answer.asked.series.sampled:
        said.append(say("quality.weighted"))
    if answer.asked.by is Dimension.PREEMPT_WINDOW:
        said.append(say("quality.exposure"))
    return said


def chosen_cell(view: QualityView, answer: Answer) -> str | None:
    """The group whose requests are listed, chosen by a click or here."""
    heading(say("quality.requests"))
    values = [row.value for row in answer.rows]
    return narrowed(
        CELL,
        dimension_words(answer.asked.by),
        values,
        words=lambda value: row_words(view, answer, value),
    )


def _clicked() -> None:
    """List the requests of the group that was clicked, none once the choice is taken back."""
    event: Any = st.session_state[STRATA]
    points: Sequence[Any] = event["selection"]["points"]
    if points:
        st.query_params[CELL] = points[0]["customdata"][1]
    else:
        st.query_params.pop(CELL, None)
