"""What groups of the Quality page differ by: contrasts, associations, observations."""

from typing import Any

import streamlit as st

from core import charts
from core import format as fmt
from core.charts import Dot
from core.domain.quality import Dimension, Estimand
from core.domain.reading import Reading, Reason
from core.domain.statistics.association import Association
from core.domain.statistics.sums import Interval
from core.messages import say
from core.report.words import dimension_words, group_words
from core.ui.choices import choice
from core.ui.frame import chart, grid, heading
from core.ui.quality import row_words
from core.ui.quality_choices import time_words
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.quality import Answer, QualityView
from core.views.quality_contrast import Contrast


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
    lines(_contrast_notes(answer, found))


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
    name: str,
    delta: float | None,
    interval: Interval | None,
    ratio: bool,  # noqa: FBT001
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


def _contrast_notes(answer: Answer, found: Contrast) -> list[str]:
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
    cut = None if answer.incomplete is None else answer.incomplete.crude
    if cut is not None and cut.delta is not None:
        words = fmt.points(cut.delta, cut.interval, ratio=True)
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
