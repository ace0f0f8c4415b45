"""One group of clustered, weighted records: its estimate and all an interval is made of.

Nothing here depends on a confidence, so a group is worked out once and its intervals, at
as many levels as a plan asks for, cost next to nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import NamedTuple

import numpy as np

from core.domain.records import Floats
from core.domain.statistics.influence import ROUNDING, settled, variance_of_influence
from core.domain.statistics.sums import ClusterSums

FEW_CLUSTERS = 20
FEW_DF = 10.0


class Undefined(StrEnum):
    """Why there is no estimate or no interval."""

    NO_RECORDS = "no_evaluated_records"
    TOO_FEW_CLUSTERS = "too_few_clusters"
    CONTRACT_VIOLATION = "contract_violation"
    NOT_A_PROPORTION = "scores_outside_0_1"
    NO_VARIATION = "no_variation"
    DEGENERATE = "degenerate"
    TOO_MANY_CLUSTERS = "too_many_clusters"


class Spread(NamedTuple):
    """Variances of a ratio of sums, and the degrees of freedom of the CR2 one."""

    v_lin: float
    v_cr2: float
    df: float


@dataclass(frozen=True, kw_only=True)
class Group:
    """Estimate of a group and the pieces of its intervals; None where undefined.

    Parameters
    ----------
    estimate : float or None
        Weighted pass rate or mean score, a ratio of sums.
    reason : Undefined or None
        Why there is no variance, and so no interval.
    clusters, records : int
        Those that carry weight.
    weight : float or None
        Sum of the weights; None where it is not finite.
    kish_n : float or None
        Records worth of the weights: (sum w)^2 / sum w^2.
    kish_clusters : float or None
        The same over the weights of clusters: what is left at a correlation of 1.
    largest_share : float or None
        Share of the weight in the largest cluster.
    v_lin, v_cr2 : float or None
        Linearised variance, and the bias-reduced CR2 one that intervals use.
    df : float or None
        Bell-McCaffrey degrees of freedom of v_cr2.
    within_unit : bool
        All scores can lie in [0, 1]: every cluster's sum lies between 0 and its weight.
    """

    estimate: float | None
    reason: Undefined | None
    clusters: int
    records: int
    weight: float | None
    kish_n: float | None = None
    kish_clusters: float | None = None
    largest_share: float | None = None
    v_lin: float | None = None
    v_cr2: float | None = None
    df: float | None = None
    within_unit: bool = True

    @property
    def binomial(self) -> float | None:
        """Variance p (1 - p) of one independent record; None for unbounded scores."""
        if self.estimate is None or not self.within_unit:
            return None
        return self.estimate * (1 - self.estimate)

    @property
    def n_eff(self) -> float | None:
        """Independent records worth of the group, never above the records it has.

        At a rate of 0 or 1, or without variance: Kish's number of clusters, the value for
        a correlation of 1 inside clusters.
        """
        binomial = self.binomial
        if binomial is None or self.v_cr2 is None or self.kish_clusters is None:
            return None
        if self.v_cr2 == 0 or binomial <= ROUNDING:
            return min(float(self.records), self.kish_clusters)
        return min(float(self.records), binomial / self.v_cr2)

    @property
    def deff(self) -> float | None:
        """Design effect: the variance relative to as many independent records."""
        binomial = self.binomial
        if binomial is None or self.v_cr2 is None or binomial <= ROUNDING:
            return None
        return self.v_cr2 / (binomial / self.records)

    @property
    def few_clusters(self) -> bool:
        """Fewer than 20 clusters or 10 degrees of freedom: shown, never decided on."""
        return self.clusters < FEW_CLUSTERS or self.df is None or self.df < FEW_DF

    @property
    def rarest(self) -> float | None:
        """Records on the rarer side, passes or fails; None for unbounded scores."""
        if self.estimate is None or not self.within_unit:
            return None
        return min(self.estimate, 1 - self.estimate) * self.records


def group(sums: ClusterSums) -> Group:
    """Work out estimate, variances and degrees of freedom of a group, from its cluster sums.

    Unknown when
    ------------
    no record carries weight (no estimate), fewer than two clusters do (no variance), or a
    sum is not finite or a weight negative (nothing at all).

    >>> from core.domain.statistics.sums import of_records
    >>> found = group(of_records([1, 1, 0, 1, 1, 0], clusters=list("aabbbc")))
    >>> found.clusters, round(found.estimate, 4), round(found.v_cr2, 4), round(found.df, 4)
    (3, 0.6667, 0.0333, 1.6667)
    >>> group(of_records([1, 0], clusters=["a", "a"])).reason.value
    'too_few_clusters'
    """
    if not _sound(sums):
        return _none(sums, Undefined.CONTRACT_VIOLATION)
    here = sums.present
    estimate = here.estimate
    if estimate is None:
        return _none(here, Undefined.NO_RECORDS)
    weight = here.weight
    spread = _spread(here, estimate)
    slack = ROUNDING * here.w
    return Group(
        estimate=estimate,
        reason=None if spread else Undefined.TOO_FEW_CLUSTERS,
        clusters=here.w.size,
        records=here.records,
        weight=weight,
        kish_n=weight**2 / float(here.s.sum()),
        kish_clusters=weight**2 / float(here.w @ here.w),
        largest_share=float(here.w.max()) / weight,
        v_lin=spread.v_lin if spread else None,
        v_cr2=spread.v_cr2 if spread else None,
        df=spread.df if spread else None,
        within_unit=bool(((here.y >= -slack) & (here.y <= here.w + slack)).all()),
    )


def residuals(sums: ClusterSums, estimate: float) -> Floats:
    """What each cluster's sum of scores is above the estimate, rounding taken out."""
    expected = estimate * sums.w
    return settled(sums.y - expected, of=np.abs(sums.y) + np.abs(expected))


def cr3_variance(sums: ClusterSums) -> float | None:
    """CR3 variance, close to the jackknife: a cross-check of CR2, in no interval.

    >>> from core.domain.statistics.sums import of_records
    >>> round(cr3_variance(of_records([1, 1, 0, 1, 1, 0], clusters=list("aabbbc"))), 4)
    0.0304
    """
    found = group(sums)
    if found.estimate is None or found.v_cr2 is None:
        return None
    here = sums.present
    inflated = residuals(here, found.estimate) / (1 - here.w / here.weight)
    scale = (found.clusters - 1) / found.clusters
    return scale * float(inflated @ inflated) / here.weight**2


def _sound(sums: ClusterSums) -> bool:
    """Whether every sum is finite and no weight is negative."""
    finite = isfinite(float(sums.y.sum() + sums.w.sum() + sums.s.sum()))
    return finite and not bool((sums.w < 0).any())


def _none(sums: ClusterSums, reason: Undefined) -> Group:
    weight = sums.weight if isfinite(sums.weight) else None
    return Group(
        estimate=None, reason=reason, clusters=sums.clusters, records=sums.records, weight=weight
    )


def _spread(sums: ClusterSums, estimate: float) -> Spread | None:
    """Both variances, and the degrees of freedom in O(G).

    The residuals of a cluster are multiplied by a, which makes the variance unbiased for
    independent records of these weights; the degrees of freedom are those of the
    quadratic form P = A (diag(S_g) - h S' - S h' + h h' S) A under the same model.

    Source
    ------
    Bell and McCaffrey, Survey Methodology 28 (2002) 169-181; Pustejovsky and Tipton,
    JBES 36 (2018) 672-683; the scalar form for a ratio of weighted sums.
    """
    total = sums.weight
    share = sums.w / total
    squares = sums.s / float(sums.s.sum())
    left = squares * (1 - share) ** 2 + share**2 * (1 - squares)
    if share.size < 2 or float(left.min()) <= 0:
        return None
    a_squared = squares / left
    error = residuals(sums, estimate) / total
    v_lin = variance_of_influence(error)
    v_cr2 = float(a_squared @ (error * error))
    df = _bell_mccaffrey(np.sqrt(a_squared), share, squares)
    if v_lin is None or df is None or not isfinite(v_cr2):
        return None
    return Spread(v_lin, v_cr2, df)


def _bell_mccaffrey(a: Floats, share: Floats, squares: Floats) -> float | None:
    """(tr P)^2 / tr P^2 with the squared weights scaled to a sum of 1."""
    u, v = a * squares, a * share
    own = a * u
    cross = v * (v - 2 * u)
    uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
    trace = float(own.sum() + cross.sum())
    squared = float(own @ own) + 2 * float(own @ cross)
    squared += 2 * uu * vv + 2 * uv**2 + vv**2 - 4 * uv * vv
    return trace**2 / squared if squared > 0 and trace > 0 else None
