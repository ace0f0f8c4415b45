"""Two groups of one table against each other: crude, and with the same mix of strata."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from core.domain.quality import Dimension, SessionSums
from core.domain.records import Bools
from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import separate_difference
from core.domain.statistics.group import Undefined, group
from core.domain.statistics.heterogeneity import (
    StratumDifference,
    is_contradictory,
    is_sign_change,
    stratum_differences,
)
from core.domain.statistics.multiplicity import (
    benjamini_hochberg,
    one_sided_p,
    smallest_level,
)
from core.domain.statistics.standardised import (
    Adjusted,
    Stratum,
    mantel_haenszel,
    standardised,
)
from core.domain.statistics.sums import ClusterSums, Interval
from core.domain.strata import CachedStratum
from core.views.quality_rows import FIRST_TURN, UNKNOWN, group_values
from core.views.quality_sums import Asked


@dataclass(frozen=True)
class CrudeDifference:
    """New minus base over all requests of both groups; None where unknown."""

    delta: float | None
    interval: Interval | None
    reason: Undefined | None
    shared_sessions: int


@dataclass(frozen=True)
class StratumContrast:
    """Both groups in one stratum."""

    value: str
    new_records: int
    base_records: int
    difference: StratumDifference
    q: float | None
    """Of the strata of one table, by Benjamini and Hochberg: it explores and decides nothing."""


@dataclass(frozen=True)
class Contrast:
    """One group minus another, crude beside standardised over the strata of `across`."""

    new: str
    base: str
    across: Dimension
    crude: CrudeDifference
    adjusted: Adjusted
    mantel_haenszel: Adjusted
    strata: tuple[StratumContrast, ...]

    @property
    def sign_change(self) -> bool:
        """Whether crude and standardised difference point in opposite directions."""
        return is_sign_change(self.crude.delta, self.adjusted.delta)

    @property
    def contradictory(self) -> bool:
        """Whether strata contradict each other, so that no one number stands for all."""
        return is_contradictory([one.difference for one in self.strata])


def contrast(
    sums: SessionSums,
    asked: Asked,
    measure: Callable[[Bools], ClusterSums],
    *,
    new: str,
    base: str,
    unbounded: bool = False,
) -> Contrast:
    """Compare two groups of the table's dimension over the strata of `asked.across`.

    `measure` gives what is compared, of any rows of the sums.
    """

    def differ(one: ClusterSums, other: ClusterSums) -> CrudeDifference:
        return _difference(one, other, alone=asked.alone, unbounded=unbounded)

    sides = [sums.group(by=group) for group in (new, base)]
    strata = [
        (value, Stratum(*(measure(side & sums.group(across=value)) for side in sides)))
        for value in group_values(asked.across, asked.bins, sums.across_names)
    ]
    seen = [(value, stratum) for value, stratum in strata if stratum.weight > 0]
    kept = [stratum for _, stratum in seen]
    apart = stratum_differences(kept, lambda one, other: differ(one, other).interval)
    chances = [None if asked.alone else _two_sided_p(one, unbounded=unbounded) for one in kept]
    return Contrast(
        new=new,
        base=base,
        across=asked.across,
        crude=differ(*(measure(side) for side in sides)),
        adjusted=standardised(kept),
        mantel_haenszel=mantel_haenszel(kept),
        strata=tuple(
            StratumContrast(value, one.new.records, one.base.records, difference, q)
            for (value, one), difference, q in zip(
                seen, apart, benjamini_hochberg(chances), strict=True
            )
        ),
    )


def _difference(
    new: ClusterSums, base: ClusterSums, *, alone: bool, unbounded: bool
) -> CrudeDifference:
    """Groups that share sessions get one sum over all of them; separate ones the hull."""
    shared = int(np.count_nonzero((new.w > 0) & (base.w > 0)))
    if shared:
        found = standardised([Stratum(new, base)])
        return CrudeDifference(found.delta, found.interval(), found.reason, shared)
    design = Design.NO_CLUSTERS if alone else Design.SEPARATE
    apart = difference_interval(new.present, base.present, design=design, unbounded=unbounded)
    return CrudeDifference(apart.estimate, apart.interval, apart.reason, shared)


def _two_sided_p(stratum: Stratum, *, unbounded: bool) -> float | None:
    """Twice the level at which the interval of `_difference` would just exclude 0."""
    new, base = stratum
    if bool(((new.w > 0) & (base.w > 0)).any()):
        found = standardised([stratum])
        if found.delta is None or not found.variance or found.df is None:
            return None
        p = one_sided_p(abs(found.delta), sqrt(found.variance), df=found.df, margin=0.0)
    else:
        arms = group(new.present), group(base.present)

        def nearest(alpha: float) -> float | None:
            apart = separate_difference(*arms, confidence=1 - 2 * alpha, unbounded=unbounded)
            if apart.interval is None or apart.estimate is None:
                return None
            return apart.interval.lower if apart.estimate >= 0 else -apart.interval.upper

        p = smallest_level(nearest, 0.0)
    return None if p is None else min(1.0, 2 * p)


def usual_pair(by: Dimension, scored: Mapping[str, int]) -> tuple[str, str] | None:
    """The two groups furthest apart that were scored: higher minus lower, exposed minus not.

    Groups that have no place in an order (unknown, first turn) are left out.

    >>> usual_pair(Dimension.CACHED_RATIO, {"0": 3, "(0,0.5]": 5, "unknown": 9})
    ('(0,0.5]', '0')
    >>> usual_pair(Dimension.PREEMPT_WINDOW, {"1": 3, "0": 5, "unknown": 0})
    ('1', '0')
    """
    found = [value for value, n in scored.items() if value not in UNORDERED and n > 0]
    if len(found) < 2:
        return None
    if by is Dimension.PREEMPT_WINDOW:
        return found[0], found[-1]
    return found[-1], found[0]


UNORDERED = (UNKNOWN, FIRST_TURN, CachedStratum.CONTRACT_VIOLATION.value)
