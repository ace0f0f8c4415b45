"""Sections of a review about the data itself: sources, coverage, violations, revisions."""

from collections.abc import Iterator

from core import format as fmt
from core.messages import named, say
from core.report import cells
from core.report.document import Block, Cell, Column, Heading, Lines, Tone, table
from core.report.words import series_words
from core.views.review import PeriodReview
from core.views.review_period import Period


def holes(view: PeriodReview) -> Iterator[Block]:
    """Above everything: periods that were observed in part, or not at all."""
    for key, period in (("review.this", view.now), ("review.before", view.before)):
        found = _holes(say(key), period)
        late = [
            say(f"review.late_{side}", period=say(key), at=cells.moment(at))
            for side, at in period.begins_late.items()
        ]
        late += [say(f"review.unread_{side}", period=say(key)) for side in period.unread]
        if said := (*([found] if found else []), *late):
            yield Lines(tuple(said), Tone.WARNING)


def _holes(name: str, period: Period) -> str:
    if not period.fleet.engines:
        return say("review.no_engines", period=name)
    share = period.observed.share
    if share is None or share >= fmt.FULL_COVERAGE:
        return ""
    return say("review.holes", period=name, covered=fmt.coverage(period.observed))


def coverage(view: PeriodReview) -> Iterator[Block]:
    """Of what all figures are, in both periods."""
    yield Heading(say("review.coverage"), metrics=("evaluation_coverage",))
    columns = [
        Column(say("col.what"), wide=True),
        Column(say("review.this"), numeric=True),
        Column(say("review.before"), numeric=True),
    ]
    periods = (view.now, view.before)
    rows = [
        [Cell(say("review.cover.engines")), *(_engines(one) for one in periods)],
        *(
            [Cell(say(f"review.cover.{name}")), *(_requests(one, name) for one in periods)]
            for name in ("requests", *SHARES)
        ),
        *(
            [
                Cell(say("review.cover.evaluated", score=series_words(one.series))),
                *(
                    cells.share(side.tally.counts.ok, side.tally.counts.expected)
                    for side in (one.now, one.before)
                ),
            ]
            for one in view.quality.graded
        ),
    ]
    yield table("coverage", "", columns, rows, empty=say("table.none"))
    yield Lines((say("review.coverage_note"),))


SHARES = ("with_usage", "measured", "violations", "without_session", "with_engine", "incomplete")
"""What requests are counted for, as parts of all of them."""


def _engines(period: Period) -> Cell:
    if not period.fleet.engines:
        return cells.unknown(say("reason.no_engine"))
    return cells.observed(period.observed)


def _requests(period: Period, name: str) -> Cell:
    found = period.requests
    if period.fleet.requests is None:
        return cells.unknown(say("reason.not_connected"))
    if name == "requests":
        return cells.count(found.requests)
    if name == "without_session":
        return cells.share(found.requests - found.with_session, found.requests)
    return cells.share(getattr(found, name), found.requests)


def violations(view: PeriodReview) -> Iterator[Block]:
    """Records that break a contract in the period, by rule, with ids to look up."""
    yield Heading(say("review.violations"))
    columns = [
        Column(say("col.kind")),
        Column(say("col.rule")),
        Column(say("col.field")),
        Column(say("col.exporter")),
        Column(say("col.records"), numeric=True),
        Column(say("review.examples"), wide=True),
    ]
    rows = [
        [
            Cell(one.kind),
            Cell(named("rule.", one.rule)),
            cells.maybe(one.field),
            cells.maybe(one.exporter),
            cells.count(one.records),
            cells.words(one.examples),
        ]
        for one in view.violations
    ]
    yield table("violations", "", columns, rows, empty=say("review.none_broken"))
    yield Lines((say("review.violations_note"),))


def revisions(view: PeriodReview) -> Iterator[Block]:
    """Models, templates, tokenizers and engines that requests of the period name."""
    yield Heading(say("review.revisions"))
    columns = [
        Column(say("col.kind")),
        Column(say("review.revision"), wide=True),
        Column(say("col.requests"), numeric=True),
        Column(say("review.first_utc")),
        Column(say("review.last_utc")),
    ]
    rows = [
        [
            Cell(_revision(one.name)),
            cells.unknown(say("review.not_named")) if one.revision is None else Cell(one.revision),
            cells.count(one.requests),
            cells.time(one.first_at),
            cells.time(one.last_at),
        ]
        for one in view.revisions
    ]
    yield table("revisions", "", columns, rows, empty=say("review.no_requests"))


def _revision(name: str) -> str:
    return say(f"review.revision.{name}")
