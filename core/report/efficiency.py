"""Sections of a review about engines: what changed, and efficiency in both periods."""

from collections import Counter
from collections.abc import Iterator, Sequence

from core.catalogue import METRICS
from core.domain.levers import ENTERED
from core.domain.reading import QUIET_REASONS, Reason
from core.messages import named, say
from core.report import cells
from core.report.document import Block, Cell, Column, Heading, Lines, Tone, table
from core.views.fleet import LeverMark
from core.views.review import PeriodReview
from core.views.review_period import EfficiencyRow

MOST_FOUND = 60
"""Changes found by the collector that are listed of each period, newest first."""


def changes(view: PeriodReview) -> Iterator[Block]:
    """The lever log of both periods: all that people entered, and the newest of what was found."""
    yield Heading(say("review.changes"))
    columns = [
        Column(say("col.period")),
        Column(say("col.time_utc")),
        Column(say("col.change")),
        Column(say("col.engine")),
        Column(say("col.what"), wide=True),
        Column(say("col.by")),
        Column(say("col.link"), wide=True),
    ]
    periods = (("review.this", view.now), ("review.before", view.before))
    rows: list[list[Cell]] = []
    more: list[str] = []
    for key, period in periods:
        shown, left = _shown(period.fleet.changes)
        rows += [_change(say(key), mark) for mark in shown]
        more += [_left(say(key), kind, n) for kind, n in sorted(left.items())]
    yield table("changes", "", columns, rows, empty=say("review.no_changes"))
    yield Lines((*more, say("review.changes_note")))


def _shown(marks: Sequence[LeverMark]) -> tuple[list[LeverMark], Counter[str]]:
    found = [mark for mark in marks if mark.kind not in ENTERED]
    left = found[: max(len(found) - MOST_FOUND, 0)]
    kept = [mark for mark in marks if mark not in left]
    return kept, Counter(mark.kind for mark in left)


def _left(period: str, kind: str, n: int) -> str:
    return say("review.more_changes", period=period, kind=named("lever.", kind), n=n)


def _change(period: str, mark: LeverMark) -> list[Cell]:
    found = mark.origin == "found"
    return [
        Cell(period),
        cells.time(mark.at),
        Cell(named("lever.", mark.kind)),
        Cell(mark.engine or say("scope.all")),
        cells.words(mark.what),
        Cell(say("table.found")) if found else cells.words(mark.by_whom),
        cells.maybe(mark.link),
    ]


def efficiency(view: PeriodReview) -> Iterator[Block]:
    """Every metric now, before, and its change, with what each stands for."""
    metrics = tuple(row.now.metric for row in view.efficiency)
    yield Heading(say("review.efficiency"), metrics=metrics)
    columns = [
        Column(say("col.metric")),
        Column(say("review.this"), numeric=True),
        Column(say("review.before"), numeric=True),
        Column(say("col.difference"), numeric=True),
        Column(say("review.observed_this"), wide=True),
        Column(say("review.observed_before"), wide=True),
    ]
    rows = [_metric(row) for row in view.efficiency]
    yield table("efficiency", "", columns, rows, empty=say("table.none"))
    yield Lines((say("review.efficiency_note"), say("review.tokens_note"), say("review.ttft_note")))
    reasons = _reasons(view.efficiency)
    if reasons:
        yield Lines(tuple(reasons))
    yield from _untrue(view)


def _metric(row: EfficiencyRow) -> list[Cell]:
    return [
        Cell(METRICS[row.now.metric].label),
        cells.reading(row.now),
        cells.reading(row.before),
        cells.changed(row),
        cells.covered(row.now),
        cells.covered(row.before),
    ]


def _reasons(rows: Sequence[EfficiencyRow]) -> list[str]:
    """Each reason that stands in the table, in full."""
    seen = {one.reason for row in rows for one in (row.now, row.before) if one.reason is not None}
    return [
        say("review.reason", reason=say(f"reason.{reason}"), why=say(f"why.{reason}"))
        for reason in Reason
        if reason in seen and reason not in QUIET_REASONS
    ]


def _untrue(view: PeriodReview) -> Iterator[Block]:
    """Engines whose counters cannot be true, or count lookups more than once."""
    for key, period in (("review.this", view.now), ("review.before", view.before)):
        if period.broken:
            names = ", ".join(period.broken)
            yield Lines((say("review.broken", period=say(key), names=names),), Tone.BAD)
        if period.inflated:
            names = ", ".join(period.inflated)
            yield Lines((say("review.inflated", period=say(key), names=names),), Tone.WARNING)
