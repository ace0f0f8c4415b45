"""Quality of two periods: every score that says pass or fail, versions never mixed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from core.cache.store import Store
from core.config import EvaluatorSettings
from core.domain.quality import Dimension, Estimand, SessionSums
from core.domain.records import Bools
from core.views.fleet import Fleet
from core.views.quality_contrast import CrudeDifference, crude_difference
from core.views.quality_rows import QualityRow, group_values, quality_row
from core.views.quality_sums import Asked, Series, quality_params, score_series, sums_of

ESTIMAND = Estimand.CONTENT


@dataclass(frozen=True)
class StratumPair:
    """One group of an exploration table; `before` None: it is of this period alone."""

    value: str
    now: QualityRow
    before: QualityRow | None = None


@dataclass(frozen=True)
class SeriesReview:
    """One score of one evaluator and version in both periods.

    `difference` is now minus before of the pass rate of complete answers, `incomplete` that
    of the incomplete rate, which is known of all. `alone`: no request has a session, so each
    stands for itself and independence is assumed.
    """

    series: Series
    now: QualityRow
    before: QualityRow
    difference: CrudeDifference
    incomplete: CrudeDifference
    tables: Mapping[Dimension, tuple[StratumPair, ...]]
    alone: bool


@dataclass(frozen=True)
class QualityReview:
    """Scores of single requests; `ungraded` have no pass mark and are named only."""

    graded: tuple[SeriesReview, ...]
    ungraded: tuple[Series, ...]


def quality_review(
    store: Store,
    now: Fleet,
    before: Fleet,
    *,
    evaluators: Sequence[EvaluatorSettings],
    window_s: int,
) -> QualityReview:
    """Read both periods, one series after the other."""
    series = _series(store, now, before, evaluators)
    return QualityReview(
        graded=tuple(
            _review(store, now, before, _asked(one, window_s)) for one in series if one.gradable
        ),
        ungraded=tuple(one for one in series if not one.gradable),
    )


def _series(
    store: Store, now: Fleet, before: Fleet, evaluators: Sequence[EvaluatorSettings]
) -> list[Series]:
    """Series with records about either period; sampled where it was in one of them."""
    found: dict[str, Series] = {}
    for fleet in (now, before):
        for one in score_series(store, fleet.window, evaluators):
            if one.level == "observation":
                known = found.get(one.key, one)
                found[one.key] = replace(
                    known,
                    sampled=known.sampled or one.sampled,
                    skips=known.skips or one.skips,
                )
    return [found[key] for key in sorted(found)]


def _asked(series: Series, window_s: int) -> Asked:
    return Asked(series, Dimension.CACHED_RATIO, Dimension.IDLE_GAP, window_s=window_s)


def _review(store: Store, now: Fleet, before: Fleet, asked: Asked) -> SeriesReview:
    """One series: cached ratio and idle gap of both periods, windows of this one alone.

    The windows read the engines' cells and cost as much as all the rest.
    """
    both = _both(store, (now, before), asked)
    tally = both.sums.tally(both.sums.everything)
    alone = tally.requests > 0 and tally.sessionless == tally.requests
    if alone:
        asked = replace(asked, alone=True)
        both = _both(store, (now, before), asked)
    windows = replace(asked, by=Dimension.PREEMPT_WINDOW, across=Dimension.NOTHING)
    sums, sides = both.sums, both.sides
    return SeriesReview(
        series=asked.series,
        now=quality_row(sums, asked, ESTIMAND, "", sides[0]),
        before=quality_row(sums, asked, ESTIMAND, "", sides[1]),
        difference=crude_difference(*(sums.sums(ESTIMAND, side) for side in sides)),
        incomplete=crude_difference(*(sums.incomplete(side) for side in sides)),
        tables={
            Dimension.CACHED_RATIO: both.groups(asked, lambda value: sums.group(by=value)),
            Dimension.IDLE_GAP: both.groups(
                replace(asked, by=Dimension.IDLE_GAP), lambda value: sums.group(across=value)
            ),
            Dimension.PREEMPT_WINDOW: _windows(_both(store, (now,), windows), windows),
        },
        alone=alone,
    )


@dataclass(frozen=True)
class _Both:
    """Sums over one axis of sessions, so that one that lies in both periods is one cluster."""

    sums: SessionSums
    sides: tuple[Bools, ...]

    def groups(self, asked: Asked, chosen: Callable[[str], Bools]) -> tuple[StratumPair, ...]:
        """Every group of a dimension in each period."""
        names = self.sums.by_names
        if asked.by is not Dimension.CACHED_RATIO:
            names = self.sums.across_names
        return tuple(
            StratumPair(
                value,
                *(
                    quality_row(self.sums, asked, ESTIMAND, value, side & chosen(value))
                    for side in self.sides
                ),
            )
            for value in group_values(asked.by, asked.bins, names)
        )


def _windows(found: _Both, asked: Asked) -> tuple[StratumPair, ...]:
    return found.groups(asked, lambda value: found.sums.group(by=value))


def _both(store: Store, fleets: Sequence[Fleet], asked: Asked) -> _Both:
    parts = [store.columns("quality_sums", quality_params(store, one, asked)) for one in fleets]
    period = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])
    sums = sums_of(pa.concat_tables(parts, promote_options="permissive"))
    return _Both(sums, tuple(period == place for place in range(len(parts))))
