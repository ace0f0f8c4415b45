"""What stands behind the numbers of the Quality page: coverage, weights, missing scores."""

from core import format as fmt
from core.domain.quality import Estimand
from core.domain.reading import Reading, Reason
from core.domain.statistics.proportion import Estimate
from core.messages import say
from core.ui.frame import heading
from core.ui.request import lines
from core.ui.tables import Cell, Column, share_cell, table
from core.views.quality import Answer

COLUMNS = (
    *("eligible", "coverage", "error_share", "sessions", "kish", "largest"),
    *("session_unknown", "probability_unknown", "ratio_unknown"),
)


def coverage_panel(answer: Answer) -> None:
    """One line of shares for all requests, and what missing scores could do to their rate."""
    heading(say("quality.coverage"), "evaluation_coverage")
    alone, tally = answer.asked.alone, answer.total.tally
    counts, n = tally.counts, tally.requests
    found = answer.total.passes if answer.asked.series.gradable else answer.total.score
    row: list[Cell] = [
        n,
        share_cell(counts.ok, counts.expected, requests=n),
        share_cell(counts.evaluator_error, counts.expected, requests=n),
        0 if found is None or alone else found.clusters,
        _kish(found),
        _largest(found),
        share_cell(n if alone else tally.sessionless, n, requests=n),
        share_cell(tally.weightless, counts.ok + tally.weightless, requests=n),
        share_cell(tally.cached_unknown, n, requests=n),
    ]
    columns = [Column(say(f"col.{name}"), numeric=True) for name in COLUMNS]
    table("quality_coverage", columns, [row])
    lines(_bounds(answer))


def _kish(found: Estimate | None) -> Cell:
    if found is None or found.kish_n is None:
        return Reading("pass_rate", None, Reason.NOT_MEASURED)
    return fmt.quantity(found.kish_n)


def _largest(found: Estimate | None) -> Cell:
    if found is None or found.largest_share is None:
        return Reading("pass_rate", None, Reason.NOT_MEASURED)
    return f"{found.largest_share * 100:.1f} %"


def _bounds(answer: Answer) -> list[str]:
    """A mean has no worst: scores have no known range."""
    counts = answer.total.tally.counts
    lost = counts.missing + counts.evaluator_error
    if answer.estimand is Estimand.MEAN or not counts.expected:
        return []
    if not lost:
        return [say("quality.bounds_none")]
    if answer.bounds is None:
        return [say("quality.bounds_unknown")]
    worst, best = (
        fmt.estimate(rate, None, ratio=True) for rate in (answer.bounds.lower, answer.bounds.upper)
    )
    return [say("quality.bounds", worst=worst, best=best)]
