"""The review of a period as a document: sections in the order of a meeting, and the foot."""

from collections.abc import Iterator

from core.catalogue import METRICS
from core.domain.scope import Compare
from core.messages import say
from core.report import cells
from core.report.about import (
    APP_VERSION,
    limits,
    scope_words,
    sources,
    span,
    stamp,
    trouble,
)
from core.report.data import coverage, holes, revisions, violations
from core.report.document import Document, blocks_of
from core.report.efficiency import changes, efficiency
from core.report.quality import exploration, quality
from core.report.records import records
from core.report.words import series_words
from core.views.review import PeriodReview


def period_document(view: PeriodReview, *, made_at: float) -> Document:
    """Everything a review of one period says; `made_at` is seconds since the epoch."""
    now, before = view.now.fleet, view.before.fleet
    parts = (
        trouble(view.sources),
        holes(view),
        changes(view),
        efficiency(view),
        quality(view),
        records(view),
        coverage(view),
        violations(view),
        sources(view.sources),
        exploration(view),
        revisions(view),
        limits(),
    )
    return Document(
        title=say("review.document", period=span(now.window)),
        subtitle=say(
            "review.against",
            period=span(before.window),
            which=say(f"compare.{now.scope.compare}"),
            scope=scope_words(now.scope),
        ),
        blocks=blocks_of(parts),
        about=tuple(_about(view)),
        made=say("review.made", at=cells.moment(made_at)),
        name=f"prefixwatch-review-{stamp(now.window.start)}-{stamp(now.window.end)}",
    )


def _about(view: PeriodReview) -> Iterator[tuple[str, str]]:
    """As-of times, scope and versions: all that fixes the figures."""
    now = view.now.fleet
    newest = {
        "review.as_of_engines": now.newest_sample_at,
        "review.as_of_requests": now.newest_request_at,
    }
    for key, at in newest.items():
        yield say(key), say("cell.unknown") if at is None else cells.moment(at)
    yield say("review.period"), span(now.window)
    yield say("scope.compare"), f"{span(view.before.fleet.window)} ({_compare(now.scope.compare)})"
    yield say("review.scope"), scope_words(now.scope)
    yield say("review.cells"), say(f"cells.{now.window.cell_s}")
    for one in view.records.plans:
        label = say("review.plan_of", experiment=one.experiment, n=one.number)
        yield label, one.plan_hash
    names = ", ".join(series_words(one) for one in view.series)
    yield say("review.evaluators"), names or say("table.none")
    yield say("review.app_version"), APP_VERSION
    yield say("review.schema"), str(view.schema)
    shown = {row.now.metric for row in view.efficiency}
    yield say("review.references"), "; ".join(sorted({METRICS[key].reference for key in shown}))


def _compare(compare: Compare) -> str:
    return say(f"compare.{compare}")
