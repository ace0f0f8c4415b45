"""Rank association of a request's cached ratio, or idle gap, with its score."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from core.cache.store import Reader
from core.domain.quality import Dimension
from core.domain.records import Bools, Floats
from core.domain.statistics.association import Association, RankSums, spearman, spearman_within
from core.views.quality_sums import Asked, codes, floats, places


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
    reader: Reader, params: Mapping[str, object], asked: Asked, factor: Factor
) -> FactorAssociation:
    """Read ranks over everything and within the strata of `asked.across`."""
    wanted = {**params, "alone": asked.alone, "factor": factor.value}
    found = reader.columns("quality_ranks", wanted)
    stratum, names = codes(found["across_value"])
    every = range(max(len(names), 1))
    return FactorAssociation(
        factor=factor,
        across=asked.across,
        overall=spearman(_sums(found, stratum >= 0, prefix="whole_")),
        within=spearman_within([_sums(found, stratum == place) for place in every]),
    )


def _sums(found: pa.Table, rows: Bools, *, prefix: str = "") -> RankSums:
    """Sums of some rows over the axis of all sessions."""
    session = places(found["session"])
    size = int(session.max(initial=-1)) + 1

    def placed(column: str) -> Floats:
        return np.bincount(session[rows], floats(found[column])[rows], size).astype(np.float64)

    ranks = (placed(f"{prefix}{column}") for column in ("x", "y", "xx", "yy", "xy"))
    return RankSums(placed("n").astype(np.int64), *ranks)
