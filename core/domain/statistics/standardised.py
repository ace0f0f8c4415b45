"""Differences between arms whose requests are of different kinds: adjusted over strata.

A stratum is fixed by what the treatment does not change (task type, model, input length).
Every stratum holds both arms over one common axis of sessions, so a session that lies in
several strata, or in both arms, is counted once in the variance.

Variances are linearised: what each session adds to the adjusted difference. Sessions of
disjoint arms are summed by arm; where any session is in both, one sum runs over all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite, sqrt
from operator import add
from typing import NamedTuple

import numpy as np

from core.domain.records import Floats
from core.domain.statistics.group import Undefined, residuals
from core.domain.statistics.influence import variance_of_influence
from core.domain.statistics.quantiles import CONFIDENCE, student
from core.domain.statistics.sums import ClusterSums, Interval


class Stratum(NamedTuple):
    """Both arms in one stratum; all strata of a table have the same places of sessions."""

    new: ClusterSums
    base: ClusterSums

    @property
    def weight(self) -> float:
        """Sum of the weights of both arms."""
        return self.new.weight + self.base.weight

    @property
    def delta(self) -> float | None:
        """New minus baseline; None where an arm has no record here, or a sum is no number."""
        new, base = self.new.estimate, self.base.estimate
        if new is None or base is None or not isfinite(new - base):
            return None
        return new - base


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """An adjusted difference; None where undefined.

    Parameters
    ----------
    delta : float or None
        Adjusted new minus baseline.
    reason : Undefined or None
        Why there is no difference, or no interval.
    dropped_share : float or None
        Share of the weight in strata that one arm lacks: nothing is said of them.
    variance, df : float or None
        Linearised variance, and its degrees of freedom: sessions less one, or of disjoint
        arms their combination by Welch.
    influence : float array, shape (sessions,), or None
        What each session adds to the difference.
    """

    delta: float | None
    reason: Undefined | None
    dropped_share: float | None
    variance: float | None = None
    df: float | None = None
    influence: Floats | None = None

    def interval(self, *, confidence: float = CONFIDENCE) -> Interval | None:
        """Difference and t standard errors; None without a positive variance."""
        if self.delta is None or self.df is None or not self.variance:
            return None
        half = student(self.df, confidence=confidence) * sqrt(self.variance)
        return Interval(self.delta - half, self.delta + half)


def standardised(strata: Sequence[Stratum], *, weights: Sequence[float] | None = None) -> Adjusted:
    """Difference of both arms as if they had one mix of strata.

    Parameters
    ----------
    strata : sequence of Stratum
        Of one common session axis.
    weights : sequence of float, optional
        The mix, one not negative number per stratum in any unit; otherwise the weight of
        both arms together. It is taken as fixed.

    Unknown when
    ------------
    No stratum of the mix has both arms, or a sum is not finite (nothing); an arm has fewer
    than two sessions, or no session differs (no interval).

    >>> from core.domain.statistics.sums import of_records
    >>> new, base = of_records([1, 1, 0, 1], "abcd"), of_records([1, 0, 0, 1], "abcd")
    >>> standardised([Stratum(new, base)]).delta
    0.25
    """
    mix = [one.weight for one in strata] if weights is None else list(weights)
    kept, dropped = _estimable(strata, mix)
    if not kept:
        return Adjusted(delta=None, reason=Undefined.NO_RECORDS, dropped_share=dropped)
    total = sum(one.mix for one in kept)
    return _with_variance(
        kept,
        sum(one.mix * one.delta for one in kept) / total,
        dropped,
        _sum_of([one.mix / total * one.of_new for one in kept]),
        _sum_of([one.mix / total * one.of_base for one in kept]),
    )


def mantel_haenszel(strata: Sequence[Stratum]) -> Adjusted:
    """Common difference of Mantel and Haenszel: stable where strata are thin.

    Strata count by W_1 W_0 / (W_1 + W_0), which aims at another mix than `standardised`.

    Parameters
    ----------
    strata : sequence of Stratum
        Of one common session axis.

    Unknown when
    ------------
    As in `standardised`.

    Source
    ------
    Greenland, Robins, Biometrics 41 (1985); influence by the derivative in the session's
    multiplier, of the weights too.

    >>> from core.domain.statistics.sums import of_records
    >>> new, base = of_records([1, 1, 0, 1], "abcd"), of_records([1, 0, 0, 1], "abcd")
    >>> mantel_haenszel([Stratum(new, base)]).delta
    0.25
    """
    kept, dropped = _estimable(strata, [one.weight for one in strata])
    if not kept:
        return Adjusted(delta=None, reason=Undefined.NO_RECORDS, dropped_share=dropped)
    total = sum(one.thickness for one in kept)
    delta = sum(one.thickness * one.delta for one in kept) / total
    return _with_variance(
        kept,
        delta,
        dropped,
        _sum_of([one.thickness / total * one.of_new + one.moved_new(delta, total) for one in kept]),
        _sum_of(
            [one.thickness / total * one.of_base + one.moved_base(delta, total) for one in kept]
        ),
    )


@dataclass(frozen=True)
class _Estimable:
    """A stratum with both arms: its difference, and what each session of an arm adds."""

    sums: Stratum
    mix: float
    delta: float
    of_new: Floats
    of_base: Floats

    @property
    def thickness(self) -> float:
        """W_1 W_0 / (W_1 + W_0)."""
        return self.sums.new.weight * self.sums.base.weight / self.sums.weight

    def moved_new(self, delta: float, total: float) -> Floats:
        """What sessions of the new arm add by making the stratum thicker."""
        share = self.sums.base.weight / self.sums.weight
        moved: Floats = share**2 * self.sums.new.w * (self.delta - delta) / total
        return moved

    def moved_base(self, delta: float, total: float) -> Floats:
        """The same of the baseline."""
        share = self.sums.new.weight / self.sums.weight
        moved: Floats = share**2 * self.sums.base.w * (self.delta - delta) / total
        return moved


def _estimable(
    strata: Sequence[Stratum], mix: Sequence[float]
) -> tuple[list[_Estimable], float | None]:
    """Strata of the mix with both arms, and the share of the mix in those without."""
    kept, dropped = [], 0.0
    for one, w in zip(strata, mix, strict=True):
        new, base = one.new.estimate, one.base.estimate
        if new is None or base is None:
            dropped += w
        elif w > 0:
            of_new = residuals(one.new, new) / one.new.weight
            of_base = -residuals(one.base, base) / one.base.weight
            kept.append(_Estimable(one, w, new - base, of_new, of_base))
    total = sum(mix)
    return kept, dropped / total if total > 0 else None


def _sum_of(arrays: Sequence[Floats]) -> Floats:
    return reduce(add, arrays)


def _with_variance(
    kept: Sequence[_Estimable], delta: float, dropped: float | None, new: Floats, base: Floats
) -> Adjusted:
    in_new = _sum_of([one.sums.new.w for one in kept]) > 0
    in_base = _sum_of([one.sums.base.w for one in kept]) > 0
    if bool((in_new & in_base).any()):
        parts = [(new + base)[in_new | in_base]]
    else:
        parts = [new[in_new], base[in_base]]
    variance = variance_of_influence(*parts)
    reason = None
    if not isfinite(delta):
        return Adjusted(delta=None, reason=Undefined.CONTRACT_VIOLATION, dropped_share=dropped)
    if variance is None:
        reason = Undefined.TOO_FEW_CLUSTERS
    elif variance == 0:
        reason = Undefined.NO_VARIATION
    return Adjusted(
        delta=delta,
        reason=reason,
        dropped_share=dropped,
        variance=variance,
        df=_df(parts) if reason is None else None,
        influence=new + base,
    )


def _df(parts: Sequence[Floats]) -> float:
    """Of variances that add up, by Welch and Satterthwaite."""
    each = [(part.size - 1, variance_of_influence(part)) for part in parts]
    known = [(df, v) for df, v in each if v is not None]
    return sum(v for _, v in known) ** 2 / sum(v**2 / df for df, v in known)


def sato_variance(strata: Sequence[Stratum]) -> float | None:
    """Variance of the Mantel-Haenszel difference of independent records of weight 1.

    Unknown when
    ------------
    No stratum has both arms, or a sum is not finite (None).

    Source
    ------
    Sato, Biometrics 45 (1989) 1323.
    """
    kept = [one for one in strata if one.delta is not None]
    delta = mantel_haenszel(kept).delta
    if delta is None:
        return None
    x1, n1, x0, n0 = (
        np.array(values)
        for values in zip(
            *[
                (float(s.new.y.sum()), s.new.weight, float(s.base.y.sum()), s.base.weight)
                for s in kept
            ],
            strict=True,
        )
    )
    n = n1 + n0
    p = (n1**2 * x0 - n0**2 * x1 + n1 * n0 * (n0 - n1) / 2) / n**2
    q = (x1 * (n0 - x0) + x0 * (n1 - x1)) / (2 * n)
    return float((delta * p.sum() + q.sum()) / (n1 * n0 / n).sum() ** 2)


def crude_delta(strata: Sequence[Stratum]) -> float | None:
    """New minus baseline with all strata thrown together; None where an arm has no record."""
    if not strata:
        return None
    return Stratum(
        reduce(add, [one.new for one in strata]), reduce(add, [one.base for one in strata])
    ).delta
