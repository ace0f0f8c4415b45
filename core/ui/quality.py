"""The table of the Quality page: groups, how they ended, and how they were scored."""

from collections.abc import Sequence
from functools import partial
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
from core.report.words import dimension_phrase, dimension_words, group_words
from core.ui.choices import narrowed, switch
from core.ui.frame import chart, grid, heading
from core.ui.frame import view as look
from core.ui.quality_choices import asked, time_words
from core.ui.quality_coverage import coverage_panel
from core.ui.request import lines
from core.ui.tables import Cell, Column, ranged, share_cell, table
from core.views.quality import Answer, QualityView, crossed
from core.views.quality_rows import CrossedRow, QualityRow
from core.views.quality_sums import Series

CELL, STRATA = "cell", "quality_strata"
UNIT_SPAN = (0.0, 1.0)


def score_note(series: Series) -> None:
    """What the chosen score measures, and what it does not."""
    kind = SCORE_KINDS[kind_of(series.name, series.mapping.kind, series.source)]
    words = {"kind": kind.label, "other": kind.not_read_as}
    declared = series.mapping.measures
    if declared is None:
        lines([say("quality.kind", measures=kind.measures, **words)])
    else:
        sentence = declared if declared.endswith((".", "!", "?")) else f"{declared}."
        lines([say("quality.kind_declared", measures=sentence, **words)])


def strata_panel(view: QualityView, answer: Answer) -> None:
    """Dots with intervals beside the table, one line a group."""
    heading(
        say("quality.strata", by=dimension_phrase(answer.asked.by)),
        "pass_rate",
        "score_mean",
        "incomplete_rate",
        "evaluation_coverage",
    )
    if answer.asked.series.estimable:
        left, right = grid("quality_strata", 1, 2)
        with left:
            values = [row.value for row in answer.rows]
            chart(STRATA, _figure(view, answer), on_select=partial(_clicked, values))
        with right:
            _table(view, answer)
    else:
        lines([say("quality.no_pass_labels")])
        _table(view, answer)
    lines([*_flagged(view, answer), *_notes(answer)])
    crossed_panel(view, answer)
    coverage_panel(answer)


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
        span=UNIT_SPAN if ratio else None,
        tick_format=".1%" if ratio else ".2f",
        mark=None if total is None else total.estimate,
        mark_name=say("quality.all"),
    )


def _dot(view: QualityView, answer: Answer, row: QualityRow) -> Dot:
    found, name = _shown(answer, row), row_words(view, answer, row.value)
    if found is None or found.estimate is None:
        return Dot(name, None, None, None, say("quality.not_scored"))
    low, high = found.interval or (None, None)
    note = say(
        "quality.dot",
        value=_estimate_words(answer, found),
        n=fmt.quantity(found.records),
        sessions=fmt.quantity(found.clusters),
    )
    return Dot(name, found.estimate, low, high, note, found.few_clusters)


def _estimate_words(answer: Answer, found: Estimate) -> str:
    if found.estimate is None:
        return say("cell.unknown")
    ratio = answer.estimand is not Estimand.MEAN
    return fmt.estimate(found.estimate, found.interval, ratio=ratio)


def _table(view: QualityView, answer: Answer) -> None:
    rows = [_cells(view, answer, row) for row in (*answer.rows, answer.total)]
    table("quality", _columns(answer), rows)


def _columns(answer: Answer) -> list[Column]:
    main = "pass_rate" if answer.asked.series.gradable else "mean"
    return [
        Column(dimension_words(answer.asked.by)),
        *(_number(say(f"col.{name}")) for name in (main, *COUNTS)),
        *(_number(say(f"col.{name}")) for name in _extra(answer)),
        _number(say("col.worth")),
    ]


def crossed_panel(view: QualityView, answer: Answer) -> None:
    """The same columns for every group within every stratum; read when it is asked for."""
    across = answer.asked.across
    if not switch("crossed", say("quality.crossed", across=dimension_phrase(across))):
        return
    columns = [Column(dimension_words(across)), *_columns(answer)]
    found: tuple[CrossedRow, ...] = look(crossed, asked())
    rows = [
        [stratum_words(view, across, one.stratum), *_cells(view, answer, one.row)] for one in found
    ]
    table("quality_crossed", columns, rows, empty=say("quality.no_requests"))


def stratum_words(view: QualityView, across: Dimension, value: str) -> str:
    """Name of a stratum."""
    return time_words(view, value) if across is Dimension.TIME else group_words(across, value)


COUNTS = ("incomplete", "requests", "sessions", "evaluated", "missing", "error_share")


def _number(title: str) -> Column:
    return Column(title, numeric=True)


def _extra(answer: Answer) -> tuple[str, ...]:
    """Columns that not every series or dimension needs."""
    series = answer.asked.series
    sampled = ("not_sampled",) if series.skips else ()
    mean = ("mean",) if series.gradable and series.rated else ()
    tokens = ("cached_input",) if answer.asked.by is Dimension.CACHED_RATIO else ()
    return (*sampled, *mean, *tokens)


def _cells(view: QualityView, answer: Answer, row: QualityRow) -> list[Cell]:
    counts = row.tally.counts
    main = row.passes if answer.asked.series.gradable else row.score
    extra: dict[str, Cell] = {
        "not_sampled": counts.not_sampled,
        "mean": estimate_cell(row.score, row, ratio=False),
        "cached_input": _tokens(row),
    }
    return [
        row_words(view, answer, row.value),
        estimate_cell(main, row, ratio=answer.asked.series.gradable),
        estimate_cell(row.incomplete, row, ratio=True),
        row.tally.requests,
        0 if answer.asked.alone else row.tally.sessions,
        counts.ok,
        share_cell(counts.missing, counts.expected, requests=row.tally.requests),
        share_cell(counts.evaluator_error, counts.expected, requests=row.tally.requests),
        *(extra[name] for name in _extra(answer)),
        _worth(main, row),
    ]


def estimate_cell(found: Estimate | None, row: QualityRow, *, ratio: bool) -> Cell:
    """An estimate with its interval, or why there is none."""
    if found is None:
        return say("quality.no_pass_mark")
    if found.estimate is None:
        return _unknown(row)
    return ranged(found.estimate, found.interval, ratio=ratio)


def _unknown(row: QualityRow) -> Reading:
    reason = Reason.NOT_MEASURED if row.tally.requests else Reason.NO_TRAFFIC
    return Reading("pass_rate", None, reason)


def _worth(found: Estimate | None, row: QualityRow) -> Cell:
    if found is None or found.n_eff is None:
        return _unknown(row)
    return fmt.quantity(found.n_eff)


def _tokens(row: QualityRow) -> Cell:
    known = row.tally.cached_tokens
    return _unknown(row) if known is None else fmt.quantity(known)


def _flagged(view: QualityView, answer: Answer) -> list[str]:
    """What a reader should know of single rows, each named by its group."""
    gradable = answer.asked.series.gradable
    found = [
        (row_words(view, answer, row.value), _flags(row, row.passes if gradable else row.score))
        for row in (*answer.rows, answer.total)
    ]
    return [
        say("quality.flags", group=group, flags="; ".join(flags)) for group, flags in found if flags
    ]


def _flags(row: QualityRow, found: Estimate | None) -> list[str]:
    """What a reader should know of one row."""
    tally, said = row.tally, []
    if found is not None and found.estimate is not None:
        if found.interval is None:
            said.append(say(f"undefined.{found.reason}"))
        elif found.few_clusters:
            said.append(say("flag.few_clusters"))
    nothing_else = found is None or found.estimate is None
    for key, n in (
        ("flag.sessionless", tally.sessionless if nothing_else or not row.value else 0),
        ("flag.weightless", tally.weightless),
        ("flag.conflicts", tally.conflicts),
        ("flag.scored_incomplete", tally.scored_incomplete),
        ("flag.exact_one", tally.exact_one),
    ):
        if n:
            said.append(say(key, n=n))
    return said


def _notes(answer: Answer) -> list[str]:
    said = [say("quality.sessions_overlap")]
    if answer.asked.series.estimable:
        said.insert(0, say(f"estimand.note.{answer.estimand}"))
    if answer.asked.alone:
        said.append(say("quality.independence"))
    if answer.asked.series.skips:
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
        say("quality.cell"),
        values,
        words=lambda value: row_words(view, answer, value),
        everything=say("quality.none_chosen"),
    )


def _clicked(values: Sequence[str]) -> None:
    """List the requests of the group that was clicked, none once the choice is taken back."""
    event: Any = st.session_state[STRATA]
    points: Sequence[Any] = event["selection"]["points"]
    if points:
        st.query_params[CELL] = values[points[0]["customdata"][1]]
    else:
        st.query_params.pop(CELL, None)
