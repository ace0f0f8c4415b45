"""Parts of the Quality page: strata, what they differ by, associations, observations."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core import charts
from core import format as fmt
from core.catalogue import SCORE_KINDS, kind_of
from core.charts import Dot
from core.domain.quality import Dimension, Estimand
from core.domain.reading import Reading, Reason
from core.domain.statistics.association import Association
from core.domain.statistics.proportion import Estimate
from core.domain.statistics.sums import Interval
from core.messages import say
from core.ui.choices import choice, narrowed
from core.ui.frame import chart, grid, heading
from core.ui.quality_choices import asked, dimension_words, group_words, time_words
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.quality import Answer, QualityView
from core.views.quality_contrast import Contrast
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
        return Dot(name, None, None, None, say("quality.not_scored"))
    low, high = found.interval or (None, None)
    note = say(
        "quality.dot",
        value=_estimate_words(answer, found),
        n=fmt.quantity(found.records),
        sessions=fmt.quantity(found.clusters),
    )
    return Dot(name, found.estimate, low, high, note, faint=found.few_clusters)


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


def contrast_panel(view: QualityView, answer: Answer) -> None:
    """Two groups against each other: crude beside standardised, and stratum by stratum."""
    heading(say("quality.contrast"), "quality_difference")
    options = [row.value for row in answer.rows]
    found = answer.contrast
    left, right = st.columns(2)
    for column, name, usual in (
        (left, "new", None if found is None else found.new),
        (right, "base", None if found is None else found.base),
    ):
        with column:
            choice(
                name,
                say(f"quality.{name}"),
                options,
                words=lambda value: row_words(view, answer, value),
                default=usual,
            )
    if found is None:
        lines([say("quality.no_contrast")])
        return
    figure, side = grid("quality_contrast", 2, 3)
    with figure:
        chart("quality_contrast", _contrast_figure(view, answer, found))
    with side:
        _contrast_table(view, answer, found)
    lines(_contrast_notes(view, answer, found))


def _contrast_figure(view: QualityView, answer: Answer, found: Contrast) -> Any:
    ratio = answer.estimand is not Estimand.MEAN
    shown = [
        _difference_dot(say("contrast.crude"), found.crude.delta, found.crude.interval, ratio),
        _difference_dot(
            say("contrast.standardised", across=dimension_words(found.across)),
            found.adjusted.delta,
            found.adjusted.interval(),
            ratio,
        ),
        *(
            _difference_dot(
                stratum_words(view, answer, found, one.value),
                one.difference.delta,
                one.difference.interval,
                ratio,
            )
            for one in found.strata
        ),
    ]
    return charts.dots(
        shown,
        say("axis.difference_pp" if ratio else "axis.difference"),
        span=(-1.0, 1.0),
        tick_format="+.1%" if ratio else "+.2f",
        mark=0.0,
        mark_name=say("contrast.none"),
    )


def _difference_dot(
    name: str, delta: float | None, interval: Interval | None, ratio: bool  # noqa: FBT001
) -> Dot:
    if delta is None:
        return Dot(name, None, None, None, say("contrast.not_both"))
    low, high = interval or (None, None)
    return Dot(name, delta, low, high, fmt.points(delta, interval, ratio=ratio))


def stratum_words(view: QualityView, answer: Answer, found: Contrast, value: str) -> str:
    """Name of a stratum of the standardisation."""
    if found.across is Dimension.TIME:
        return time_words(view, value)
    return group_words(found.across, value, answer.asked.bins)


def _contrast_table(view: QualityView, answer: Answer, found: Contrast) -> None:
    ratio = answer.estimand is not Estimand.MEAN
    columns = [
        Column(say("col.comparison")),
        Column(say("col.difference"), numeric=True),
        Column(row_words(view, answer, found.new), numeric=True),
        Column(row_words(view, answer, found.base), numeric=True),
    ]

    def cell(delta: float | None, interval: Interval | None) -> Cell:
        if delta is None:
            return Reading("quality_difference", None, Reason.NOT_MEASURED)
        return fmt.points(delta, interval, ratio=ratio)

    new = sum(one.new_records for one in found.strata)
    base = sum(one.base_records for one in found.strata)
    across = dimension_words(found.across)
    crude, adjusted, mh = found.crude, found.adjusted, found.mantel_haenszel
    rows: list[list[Cell]] = [
        [say("contrast.crude"), cell(crude.delta, crude.interval), new, base],
        [
            say("contrast.standardised", across=across),
            cell(adjusted.delta, adjusted.interval()),
            new,
            base,
        ],
        [say("contrast.mantel_haenszel"), cell(mh.delta, mh.interval()), new, base],
        *(
            [
                stratum_words(view, answer, found, one.value),
                cell(one.difference.delta, one.difference.interval),
                one.new_records,
                one.base_records,
            ]
            for one in found.strata
        ),
    ]
    table("quality_contrast", columns, rows)


def _contrast_notes(view: QualityView, answer: Answer, found: Contrast) -> list[str]:
    said = []
    if found.sign_change:
        said.append(say("contrast.sign_change", across=dimension_words(found.across)))
    if found.contradictory:
        said.append(say("contrast.contradictory"))
    dropped = found.adjusted.dropped_share
    if dropped:
        said.append(say("contrast.dropped", share=f"{dropped * 100:.1f} %"))
    if found.crude.shared_sessions:
        said.append(say("contrast.shared", n=found.crude.shared_sessions))
    if answer.incomplete is not None and answer.incomplete.crude.delta is not None:
        crude = answer.incomplete.crude
        words = fmt.points(crude.delta, crude.interval, ratio=True)
        said.append(say("contrast.incomplete", words=words))
    said.append(say("contrast.note"))
    return said


def association_panel(answer: Answer) -> None:
    """Rank association in words that claim no cause."""
    heading(say("quality.association"), "rank_association")
    found = answer.association
    factor = say(f"factor.{found.factor}")
    columns = [
        Column(say("col.association"), wide=True),
        Column(say("col.rho"), numeric=True),
        Column(say("col.requests"), numeric=True),
        Column(say("col.sessions"), numeric=True),
    ]
    rows = [
        _association(say("association.overall", factor=factor), found.overall),
        _association(
            say("association.within", factor=factor, across=dimension_words(found.across)),
            found.within,
        ),
    ]
    table("quality_association", columns, rows)
    lines([say("association.notice")])


def _association(name: str, found: Association) -> list[Cell]:
    if found.rho is None:
        value: Cell = say(f"undefined.{found.reason}")
    else:
        value = fmt.points(found.rho, found.interval, ratio=False)
    return [name, value, found.records, found.clusters]


def observed_panel(answer: Answer) -> None:
    """The guide's observation rows that apply here."""
    heading(say("quality.observed"))
    columns = [
        Column(say("col.observation_seen"), wide=True),
        Column(say("col.explanations"), wide=True),
        Column(say("col.next_check"), wide=True),
    ]
    rows: list[list[Cell]] = [
        [say(f"observed.{one}"), say(f"explained.{one}"), say(f"next.{one}")]
        for one in answer.observed
    ]
    table("quality_observed", columns, rows, empty=say("quality.nothing_observed"))
    lines([say("quality.observed_note")])


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
