"""Rank association of a request's cached ratio, or idle gap, with its score."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from core.cache.store import Store
from core.domain.quality import Dimension
from core.domain.records import Bools, Floats
from core.domain.statistics.association import Association, RankSums, spearman, spearman_within
from core.views.quality_sums import Asked, codes, floats


class Factor(StrEnum):
    """What is ranked beside the score."""

    CACHED_RATIO = "cached_ratio"
    IDLE_GAP = "idle_gap"


@dataclass(frozen=True)
class FactorAssociation:
    """One factor and the score: over all requests, and within strata."""

    factor: Factor
    across: Dimension
    overall: Association
    within: Association


def factor_association(
    store: Store, params: dict[str, object], asked: Asked, factor: Factor
) -> FactorAssociation:
    """Read ranks once over everything and once within the strata of `asked.across`."""
    ranked = params | {"factor": factor.value}
    whole = store.columns("quality_ranks", ranked | {"across": Dimension.NOTHING.value})
    parts = store.columns("quality_ranks", ranked)
    return FactorAssociation(
        factor=factor,
        across=asked.across,
        overall=spearman(_strata(whole)[0]),
        within=spearman_within(_strata(parts)),
    )


def _strata(found: pa.Table) -> list[RankSums]:
    """Sums of every stratum over one axis of sessions; one empty stratum where none is."""
    stratum, names = codes(found["across_value"])
    session, _ = codes(found["session"])
    size = int(session.max(initial=-1)) + 1

    def placed(column: str, rows: Bools) -> Floats:
        return np.bincount(session[rows], floats(found[column])[rows], size).astype(np.float64)

    return [
        RankSums(
            placed("n", stratum == place).astype(np.int64),
            *(placed(column, stratum == place) for column in ("x", "y", "xx", "yy", "xy")),
        )
        for place in range(max(len(names), 1))
    ]
