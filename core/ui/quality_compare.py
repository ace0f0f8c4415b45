"""What groups of the Quality page differ by: contrasts, associations, observations."""

from typing import Any

from core import charts
from core import format as fmt
from core.charts import Dot
from core.domain.quality import Dimension, Estimand
from core.domain.reading import Reading, Reason
from core.domain.statistics.association import Association
from core.domain.statistics.sums import Interval
from core.messages import say
from core.report.words import dimension_phrase
from core.ui.choices import choice
from core.ui.frame import chart, grid, heading, side_by_side
from core.ui.quality import row_words, stratum_words
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.quality import Answer, QualityView
from core.views.quality_contrast import Contrast

PP = 100.0
"""Differences of rates are drawn in points."""


def contrast_panel(view: QualityView, answer: Answer) -> None:
    """Two groups against each other: crude beside standardised, and stratum by stratum."""
    heading(say("quality.contrast"), "quality_difference")
    if not answer.asked.series.estimable:
        lines([say("quality.nothing_to_compare")])
        return
    options = [row.value for row in answer.rows]
    found = answer.contrast
    left, right = side_by_side("quality_pair", 1, 1)
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
            say("contrast.standardised", across=dimension_phrase(found.across)),
            found.adjusted.delta,
            found.adjusted.interval(),
            ratio,
        ),
        *(
            _difference_dot(
                stratum_words(view, found.across, one.value),
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
        span=(-PP, PP) if ratio else None,
        tick_format="+.1f" if ratio else "+.2f",
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
    scale = PP if ratio else 1.0
    low, high = (None, None) if interval is None else (end * scale for end in interval)
    return Dot(name, delta * scale, low, high, fmt.points(delta, interval, ratio=ratio))


def _contrast_table(view: QualityView, answer: Answer, found: Contrast) -> None:
    ratio = answer.estimand is not Estimand.MEAN
    columns = [
        Column(say("col.comparison")),
        Column(say("col.difference"), numeric=True),
        Column(row_words(view, answer, found.new), numeric=True),
        Column(row_words(view, answer, found.base), numeric=True),
        Column(say("col.q"), numeric=True),
    ]

    def cell(delta: float | None, interval: Interval | None) -> Cell:
        if delta is None:
            return Reading("quality_difference", None, Reason.NOT_MEASURED)
        return fmt.points(delta, interval, ratio=ratio)

    new = sum(one.new_records for one in found.strata)
    base = sum(one.base_records for one in found.strata)
    across, none = dimension_phrase(found.across), say("table.none")
    crude, adjusted, mh = found.crude, found.adjusted, found.mantel_haenszel
    rows: list[list[Cell]] = [
        [say("contrast.crude"), cell(crude.delta, crude.interval), new, base, none],
        [
            say("contrast.standardised", across=across),
            cell(adjusted.delta, adjusted.interval()),
            new,
            base,
            none,
        ],
        [say("contrast.mantel_haenszel"), cell(mh.delta, mh.interval()), new, base, none],
        *(
            [
                stratum_words(view, found.across, one.value),
                cell(one.difference.delta, one.difference.interval),
                one.new_records,
                one.base_records,
                None if one.q is None else fmt.chance(one.q),
            ]
            for one in found.strata
        ),
    ]
    table("quality_contrast", columns, rows)


def _contrast_notes(answer: Answer, found: Contrast) -> list[str]:
    said = []
    if found.sign_change:
        said.append(say("contrast.sign_change", across=dimension_phrase(found.across)))
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
    said += _coverages(answer, found)
    if any(one.q is not None for one in found.strata):
        said.append(say("quality.exploratory"))
    said.append(say("contrast.note_arm" if answer.asked.by is Dimension.ARM else "contrast.note"))
    return said


def _coverages(answer: Answer, found: Contrast) -> list[str]:
    """Evaluation coverage of both groups: where it differs, so may who was left out."""
    counts = {row.value: row.tally.counts for row in answer.rows}
    new, base = counts[found.new], counts[found.base]
    if not new.expected or not base.expected:
        return []
    shares = {
        "new": fmt.part_of(new.ok, new.expected),
        "base": fmt.part_of(base.ok, base.expected),
    }
    return [say("contrast.coverage", **shares)]


def association_panel(answer: Answer) -> None:
    """Rank association in words that claim no cause."""
    heading(say("quality.association"), "rank_association")
    if not answer.asked.series.estimable:
        lines([say("quality.nothing_to_compare")])
        return
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
            say("association.within", factor=factor, across=dimension_phrase(found.across)),
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
