"""Rows of a quality table: every group of a dimension, also those without a request."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.quality import Dimension, Estimand, SessionSums, Tally
from core.domain.records import Bools
from core.domain.statistics.proportion import Estimate, mean, proportion
from core.domain.strata import CACHED_STRATA, CachedStratum
from core.views.quality_sums import Asked, Bins

UNKNOWN, FIRST_TURN = "unknown", "first_turn"
EXPOSURES = ("1", "0", UNKNOWN)


@dataclass(frozen=True)
class QualityRow:
    """One group: how many requests, how they ended, and how they were scored.

    `passes` is the estimate of the page's estimand, None where the score says no pass or
    fail; `score` the mean, None where values are no numbers.
    """

    value: str
    tally: Tally
    passes: Estimate | None
    score: Estimate | None
    incomplete: Estimate


def quality_rows(
    sums: SessionSums, asked: Asked, estimand: Estimand
) -> tuple[tuple[QualityRow, ...], QualityRow]:
    """Rows of all groups in their order, and the row of all requests together."""
    rows = tuple(
        quality_row(sums, asked, estimand, value, sums.group(by=value))
        for value in group_values(asked.by, asked.bins, sums.by_names)
    )
    return rows, quality_row(sums, asked, estimand, "", sums.everything)


def quality_row(
    sums: SessionSums, asked: Asked, estimand: Estimand, value: str, rows: Bools
) -> QualityRow:
    """One group, of any rows of the sums."""
    rate = Estimand.CONTENT if estimand is Estimand.MEAN else estimand
    series = asked.series
    return QualityRow(
        value=value,
        tally=sums.tally(rows),
        passes=proportion(sums.sums(rate, rows)) if series.gradable else None,
        score=mean(sums.sums(Estimand.MEAN, rows)) if series.rated else None,
        incomplete=proportion(sums.incomplete(rows)),
    )


@dataclass(frozen=True)
class CrossedRow:
    """One group of the table within one stratum of the other dimension."""

    stratum: str
    row: QualityRow


def crossed_rows(sums: SessionSums, asked: Asked, estimand: Estimand) -> tuple[CrossedRow, ...]:
    """Every pair of groups that has a request, by stratum and then by group."""
    strata = group_values(asked.across, asked.bins, sums.across_names)
    values = group_values(asked.by, asked.bins, sums.by_names)
    return tuple(
        CrossedRow(stratum, quality_row(sums, asked, estimand, value, rows))
        for stratum in strata
        for value in values
        if (rows := sums.group(by=value, across=stratum)).any()
    )


def group_values(by: Dimension, bins: Bins, seen: Sequence[str]) -> tuple[str, ...]:
    """Groups of a dimension in order: all that are fixed beforehand, else those that were seen.

    A group of contract violations is listed where there is one.

    >>> group_values(Dimension.CACHED_RATIO, Bins(), ["(0.9,1]"])
    ('0', '(0,0.5]', '(0.5,0.9]', '(0.9,1]', 'unknown')
    >>> group_values(Dimension.TASK_TYPE, Bins(), ["unknown", "qa", "code"])
    ('code', 'qa', 'unknown')
    """
    if by is Dimension.CACHED_RATIO:
        broken = [one for one in (CachedStratum.CONTRACT_VIOLATION,) if one in seen]
        return tuple(one.value for one in (*CACHED_STRATA, *broken))
    if by is Dimension.PREEMPT_WINDOW:
        return EXPOSURES
    if by in EDGES:
        first = [FIRST_TURN] if by is Dimension.IDLE_GAP else []
        count = len(getattr(bins, EDGES[by]))
        return (*first, *(str(place) for place in range(count + 1)), UNKNOWN)
    known = [value for value in seen if value != UNKNOWN]
    ordered = sorted(known, key=int if by is Dimension.TIME else str)
    return (*ordered, *([UNKNOWN] if UNKNOWN in seen else []))


EDGES = {
    Dimension.IDLE_GAP: "idle_gap_s",
    Dimension.INPUT_LENGTH: "input_tokens",
    Dimension.TURN_POSITION: "turn_position",
    Dimension.LOAD: "running",
}
"""Dimensions in bins, with the field of `Bins` that holds their edges."""
