"""Rank correlation of two quantities of a request, such as cached_ratio and a score.

Association, not cause: what else differs between requests may explain it, and no
association does not exclude a cause.

Ranks are given over all records of a stratum, ties the mean of their ranks; then sums per
session are enough. Intervals hold the ranks fixed and let sessions vary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from core.domain.records import Floats, Ints
from core.domain.statistics.group import Undefined
from core.domain.statistics.influence import ROUNDING, variance_of_influence
from core.domain.statistics.quantiles import CONFIDENCE, student
from core.domain.statistics.sums import Interval


@dataclass(frozen=True)
class RankSums:
    """Sums over the records of one stratum, one place per session.

    Parameters
    ----------
    n : int array, shape (G,)
        Records with both quantities known; a session without one stays, with 0.
    x, y, xx, yy, xy : float array, shape (G,)
        Sums of the ranks, of their squares, and of their products.
    """

    n: Ints
    x: Floats
    y: Floats
    xx: Floats
    yy: Floats
    xy: Floats


class Association(NamedTuple):
    """A rank correlation; None where undefined.

    Parameters
    ----------
    rho : float or None
        Spearman's correlation, inside strata where there are several.
    reason : Undefined or None
        Why there is no correlation, or no interval.
    interval : Interval or None
        By the influence of sessions; not limited to [-1, 1].
    df : float or None
        Sessions less one.
    records, clusters : int
        Records behind it, and their sessions.
    constant : int
        Strata left out as one quantity does not vary there.
    """

    rho: float | None
    reason: Undefined | None
    interval: Interval | None
    df: float | None
    records: int
    clusters: int
    constant: int


def mid_ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1, ties the mean of theirs.

    >>> mid_ranks([0.5, 0.1, 0.5]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks


def rank_sums(x: Sequence[float], y: Sequence[float], *, clusters: Sequence[object]) -> RankSums:
    """Sums of single records, all known: what SQL makes of them, for small data.

    Raises
    ------
    ValueError
        If a value is not a finite number.

    >>> rank_sums([0.0, 0.5, 0.9], [1.0, 0.0, 0.5], clusters=["a", "b", "b"]).xy.tolist()
    [3.0, 8.0]
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("values must be finite; leave out what is not known")
    place: dict[object, int] = {}
    index = np.array([place.setdefault(one, len(place)) for one in clusters], dtype=np.int64)
    rx, ry = mid_ranks(x), mid_ranks(y)

    def per_session(values: Floats) -> Floats:
        return np.bincount(index, values, len(place)).astype(np.float64)

    return RankSums(
        np.bincount(index, minlength=len(place)).astype(np.int64),
        *(per_session(values) for values in (rx, ry, rx * rx, ry * ry, rx * ry)),
    )


def spearman(sums: RankSums, *, confidence: float = CONFIDENCE) -> Association:
    """Spearman's correlation of all records, with an interval that respects sessions.

    Unknown when
    ------------
    There are fewer than two records, a quantity does not vary or a sum is not finite
    (nothing); there is only one session, or none adds to the correlation (no interval).

    >>> round(spearman(rank_sums([0, 1, 2, 3], [1, 0, 3, 2], clusters="aabc")).rho, 6)
    0.6
    """
    return spearman_within([sums], confidence=confidence)


def spearman_within(strata: Sequence[RankSums], *, confidence: float = CONFIDENCE) -> Association:
    """Spearman's correlation inside strata, pooled.

    Parameters
    ----------
    strata : sequence of RankSums
        Ranks given inside each stratum, over one common axis of sessions.

    Notes
    -----
    Ranks are divided by the records of their stratum before sums are pooled, so a stratum
    counts by its records and not by their cube. With one stratum nothing changes.

    Unknown when
    ------------
    As in `spearman`; a stratum in which a quantity does not vary is left out and counted.
    """
    parts = [part for part in (_centred(one) for one in strata if one.n.any()) if part is not None]
    constant = sum(bool(one.n.any()) for one in strata) - len(parts)
    if not parts:
        seen = any(one.n.sum() > 1 for one in strata)
        reason = Undefined.NO_VARIATION if seen else Undefined.NO_RECORDS
        return Association(None, reason, None, None, 0, 0, constant)
    n, xx, yy, xy = (np.sum([part[i] for part in parts], axis=0) for i in range(4))
    here = n > 0
    s_xx, s_yy = float(xx.sum()), float(yy.sum())
    rho = float(xy.sum()) / sqrt(s_xx * s_yy)
    if not isfinite(rho):
        return Association(None, Undefined.CONTRACT_VIOLATION, None, None, 0, 0, constant)
    influence = (xy / sqrt(s_xx * s_yy) - rho / 2 * (xx / s_xx + yy / s_yy))[here]
    records, clusters = int(n.sum()), int(here.sum())
    variance = variance_of_influence(influence)
    if variance is None or variance <= ROUNDING**2:
        few = variance is None
        reason = Undefined.TOO_FEW_CLUSTERS if few else Undefined.NO_VARIATION
        return Association(rho, reason, None, None, records, clusters, constant)
    df = clusters - 1
    half = student(df, confidence=confidence) * sqrt(variance)
    return Association(rho, None, Interval(rho - half, rho + half), df, records, clusters, constant)


def _centred(sums: RankSums) -> tuple[Ints, Floats, Floats, Floats] | None:
    """Records, and sums of squares and products about the means; None where one is constant."""
    total = int(sums.n.sum())
    mx, my = float(sums.x.sum()) / total, float(sums.y.sum()) / total
    xx = sums.xx - 2 * mx * sums.x + sums.n * mx**2
    yy = sums.yy - 2 * my * sums.y + sums.n * my**2
    xy = sums.xy - mx * sums.y - my * sums.x + sums.n * mx * my
    for centred, raw in ((xx, sums.xx), (yy, sums.yy)):
        if float(centred.sum()) <= ROUNDING * float(raw.sum()):
            return None
    return sums.n, xx / total**2, yy / total**2, xy / total**2
