"""Sections of a review about the data itself: sources, coverage, violations, revisions."""

from collections.abc import Iterator

from core import format as fmt
from core.messages import named, say
from core.report import cells
from core.report.document import Block, Cell, Column, Heading, Kind, Lines, Tone, table
from core.report.words import series_words
from core.views.fleet import SourceState
from core.views.review import ReviewView
from core.views.review_period import Period

CONNECTED = {"prometheus": ("prometheus",), "langfuse": ("langfuse", "langfuse export")}
"""A side of the data, and the sources that may give it."""


def trouble(view: ReviewView) -> Iterator[Block]:
    """Above everything: sources that fail or were never there, and holes in a period."""
    for source in view.sources:
        if not source.ok:
            yield Lines((_failing(source),), Tone.BAD)
        elif source.state == "backfilling":
            yield Lines((say("review.backfilling", source=_name(source)),), Tone.WARNING)
    seen = {source.source for source in view.sources}
    for side, sources in CONNECTED.items():
        if not seen & set(sources):
            words = (
                say(f"source.{side}"),
                say("state.not_connected"),
                say(f"health.connect_{side}"),
            )
            yield Lines((say("review.not_connected", side=words[0], todo=words[2]),), Tone.WARNING)
    for key, period in (("review.this", view.now), ("review.before", view.before)):
        holes = _holes(say(key), period)
        if holes:
            yield Lines((holes,), Tone.WARNING)


def _name(source: SourceState) -> str:
    return named("source.", source.source)


def _failing(source: SourceState) -> str:
    return say(
        "review.failing",
        source=_name(source),
        state=named("state.", source.state),
        title=source.title or say("cell.unknown"),
        detail=source.detail or "",
        next_step=source.next_step or "",
    )


def _holes(name: str, period: Period) -> str:
    if not period.fleet.engines:
        return say("review.no_engines", period=name)
    share = period.observed.share
    if share is None or share >= fmt.FULL_COVERAGE:
        return ""
    return say("review.holes", period=name, covered=fmt.coverage(period.observed))


def coverage(view: ReviewView) -> Iterator[Block]:
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


def violations(view: ReviewView) -> Iterator[Block]:
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


def sources(view: ReviewView) -> Iterator[Block]:
    """How every source stands when the review is made."""
    yield Heading(say("health.sources"))
    columns = [
        Column(say("col.source")),
        Column(say("col.state")),
        Column(say("review.read_to")),
        Column(say("review.read_from")),
        Column(say("col.detail"), wide=True),
        Column(say("col.next_step"), wide=True),
    ]
    rows = [
        [
            Cell(_name(one)),
            Cell(named("state.", one.state), Kind.KNOWN if one.ok else Kind.BAD),
            cells.time(one.read_to),
            cells.time(one.backfill_from),
            cells.maybe(one.detail),
            cells.maybe(one.next_step),
        ]
        for one in view.sources
    ]
    yield table("sources", "", columns, rows, empty=say("review.no_sources"))


def revisions(view: ReviewView) -> Iterator[Block]:
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
