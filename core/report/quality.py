"""Sections of a review about scores: both periods beside each other, and exploration tables."""

from collections.abc import Iterator, Sequence

from core import format as fmt
from core.catalogue import SCORE_KINDS, kind_of
from core.domain.quality import Dimension
from core.messages import say
from core.report import cells
from core.report.document import (
    Block,
    Cell,
    Column,
    Dot,
    Heading,
    Intervals,
    Lines,
    Mark,
    table,
)
from core.report.words import dimension_words, group_words, series_words
from core.views.review import PeriodReview
from core.views.review_quality import SeriesReview, StratumPair

SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)


def quality(view: PeriodReview) -> Iterator[Block]:
    """Every series with a pass mark, in both periods, with the difference as an interval."""
    yield Heading(
        say("review.quality"), metrics=("pass_rate", "quality_difference", "incomplete_rate")
    )
    found = view.quality.graded
    if found:
        yield Intervals(
            key="quality_difference",
            title=say("review.difference_chart"),
            axis=say("axis.difference_pp"),
            dots=tuple(_difference_dot(one) for one in found),
            span=DIFFERENCES,
            signed=True,
            marks=(Mark(0.0, say("contrast.none")),),
        )
    columns = [
        Column(say("col.score"), wide=True),
        Column(say("review.pass_this"), numeric=True),
        Column(say("review.pass_before"), numeric=True),
        Column(say("col.difference"), numeric=True),
        Column(say("review.incomplete_this"), numeric=True),
        Column(say("review.incomplete_before"), numeric=True),
        Column(say("review.incomplete_difference"), numeric=True),
        Column(say("review.scored_this"), numeric=True),
        Column(say("review.scored_before"), numeric=True),
    ]
    rows = [_series(one) for one in found]
    yield table("quality", "", columns, rows, empty=_none(view))
    yield Lines(tuple(_notes(view)))


def _none(view: PeriodReview) -> str:
    connected = view.now.fleet.requests is not None
    return say("review.no_scores" if connected else "why.gateway")


def _series(one: SeriesReview) -> list[Cell]:
    return [
        Cell(series_words(one.series)),
        cells.estimate(one.now.passes, requests=one.now.tally.requests),
        cells.estimate(one.before.passes, requests=one.before.tally.requests),
        cells.difference(one.difference),
        cells.estimate(one.now.incomplete, requests=one.now.tally.requests),
        cells.estimate(one.before.incomplete, requests=one.before.tally.requests),
        cells.difference(one.incomplete),
        cells.count(one.now.tally.counts.ok),
        cells.count(one.before.tally.counts.ok),
    ]


def _difference_dot(one: SeriesReview) -> Dot:
    name, found = series_words(one.series), one.difference
    note = cells.difference(found).text
    if found.delta is None:
        return Dot(name, None, None, None, note)
    low, high = found.interval or (None, None)
    few = any(
        side.passes is not None and side.passes.few_clusters for side in (one.now, one.before)
    )
    return Dot(name, found.delta, low, high, note, faint=few)


def _notes(view: PeriodReview) -> Iterator[str]:
    found = view.quality.graded
    if found:
        yield say("estimand.note.content")
        yield say("review.not_randomised")
    shared = max((one.difference.shared_sessions for one in found), default=None)
    if shared:
        yield say("review.shared", n=shared)
    for one in found:
        if one.alone:
            yield f"{series_words(one.series)}: {say('quality.independence')}"
        if one.series.skips:
            yield f"{series_words(one.series)}: {say('quality.weighted')}"
    if view.quality.ungraded:
        names = ", ".join(series_words(one) for one in view.quality.ungraded)
        yield say("review.ungraded", names=names)


def exploration(view: PeriodReview) -> Iterator[Block]:
    """Tables by cached ratio, idle gap and preemption window, of each series."""
    if not view.quality.graded:
        return
    metrics = ("pass_rate", "incomplete_rate", "evaluation_coverage")
    yield Heading(say("review.exploration"), metrics=metrics, long=True)
    yield Lines(
        (say("review.exploration_note"), say("quality.sessions_overlap"), say("quality.exposure"))
    )
    for number, one in enumerate(view.quality.graded, start=1):
        yield Heading(series_words(one.series), level=3)
        kind = SCORE_KINDS[kind_of(one.series.name, one.series.mapping.kind, one.series.source)]
        measures = one.series.mapping.measures or kind.measures
        words = say("quality.kind", kind=kind.label, measures=measures, other=kind.not_read_as)
        yield Lines((words,))
        for by, pairs in one.tables.items():
            if by is Dimension.CACHED_RATIO:
                yield _chart(number, one, pairs)
            yield _strata(number, one, by, pairs)


def _chart(number: int, one: SeriesReview, pairs: Sequence[StratumPair]) -> Intervals:
    total = one.now.passes
    at = None if total is None else total.estimate
    return Intervals(
        key=f"strata_{number}",
        title=say("review.strata_chart", by=dimension_words(Dimension.CACHED_RATIO)),
        axis=say("axis.content"),
        dots=tuple(_dot(pair) for pair in pairs),
        span=SHARES,
        marks=() if at is None else (Mark(at, say("quality.all")),),
    )


def _dot(pair: StratumPair) -> Dot:
    name, found = group_words(Dimension.CACHED_RATIO, pair.value), pair.now.passes
    if found is None or found.estimate is None:
        return Dot(name, None, None, None, say("quality.not_scored"))
    low, high = found.interval or (None, None)
    note = say(
        "quality.dot",
        value=fmt.estimate(found.estimate, found.interval, ratio=True),
        n=fmt.quantity(found.records),
        sessions=fmt.quantity(found.clusters),
    )
    return Dot(name, found.estimate, low, high, note, found.few_clusters)


def _strata(number: int, one: SeriesReview, by: Dimension, pairs: Sequence[StratumPair]) -> Block:
    columns = [
        Column(dimension_words(by)),
        Column(say("review.pass_this"), numeric=True),
        Column(say("review.incomplete_this"), numeric=True),
        Column(say("col.requests"), numeric=True),
        Column(say("col.sessions"), numeric=True),
        Column(say("col.evaluated"), numeric=True),
        Column(say("review.missing_share"), numeric=True),
        Column(say("col.evaluator_errors"), numeric=True),
        Column(say("col.not_sampled"), numeric=True),
    ]
    if all(pair.before is not None for pair in pairs):
        columns.append(Column(say("review.pass_before"), numeric=True))
        columns.append(Column(say("review.requests_before"), numeric=True))
    title = say("review.strata", by=dimension_words(by), score=series_words(one.series))
    rows = [[*_group(by, pair), *_before(pair)] for pair in pairs]
    score = ((say("col.score"), series_words(one.series)),)
    key = f"{by}_{number}"
    return table(key, title, columns, rows, empty=say("table.none"), constant=score)


def _group(by: Dimension, pair: StratumPair) -> list[Cell]:
    row, counts = pair.now, pair.now.tally.counts
    return [
        Cell(group_words(by, pair.value)),
        cells.estimate(row.passes, requests=row.tally.requests),
        cells.estimate(row.incomplete, requests=row.tally.requests),
        cells.count(row.tally.requests),
        cells.count(row.tally.sessions),
        cells.count(counts.ok),
        cells.share(counts.missing, counts.expected),
        cells.count(counts.evaluator_error),
        cells.count(counts.not_sampled),
    ]


def _before(pair: StratumPair) -> list[Cell]:
    row = pair.before
    if row is None:
        return []
    return [
        cells.estimate(row.passes, requests=row.tally.requests),
        cells.count(row.tally.requests),
    ]
