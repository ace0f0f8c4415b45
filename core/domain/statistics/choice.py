"""Which interval of a difference applies: decided by the design, never by the result.

| design | data | method |
|---|---|---|
| same tasks in both arms | one binary record of each arm | Tango |
| same tasks in both arms | anything else | linearised over tasks |
| arms with clusters of their own | scores in [0, 1] | hull |
| arms with clusters of their own | unbounded scores | CR2 |
| no clusters | passes and fails of equal weight | Newcombe, independence assumed |
| no clusters | anything else | the one of separate clusters, a record each |
"""

from dataclasses import replace
from enum import StrEnum
from math import isclose

from core.domain.statistics.difference import Difference, Method, separate_difference
from core.domain.statistics.group import Group, group
from core.domain.statistics.independent import Passes, newcombe
from core.domain.statistics.paired import paired_difference
from core.domain.statistics.pairs import pair_counts, tango
from core.domain.statistics.quantiles import CONFIDENCE
from core.domain.statistics.sums import ClusterSums


class Design(StrEnum):
    """How records of the two arms belong together."""

    PAIRED = "paired"
    SEPARATE = "separate"
    NO_CLUSTERS = "no_clusters"


def difference_interval(
    new: ClusterSums,
    base: ClusterSums,
    *,
    design: Design,
    confidence: float = CONFIDENCE,
    unbounded: bool = False,
) -> Difference:
    """Difference of two arms with the interval that fits its design.

    Parameters
    ----------
    new, base : ClusterSums
        Paired: the same tasks at the same places. Without clusters: a place a record, or
        a single place for all of them where weights are equal and scores pass or fail.
    unbounded : bool
        Numeric scores without known limits.

    Unknown when the method has no interval; `reason` of the result says why.

    >>> from core.domain.statistics.sums import of_records
    >>> arms = of_records([1, 1, 0], clusters="abc"), of_records([1, 0, 0], clusters="abc")
    >>> [difference_interval(*arms, design=one).method.value for one in Design]
    ['tango', 'hull', 'newcombe']
    """
    if design is Design.PAIRED:
        return _paired(new, base, confidence, unbounded=unbounded)
    arms = group(new), group(base)
    found = separate_difference(*arms, confidence=confidence, unbounded=unbounded)
    if design is Design.SEPARATE:
        return found
    found = replace(found, independence_assumed=True)
    return found if unbounded else _newcombe(found)


def _paired(
    new: ClusterSums, base: ClusterSums, confidence: float, *, unbounded: bool
) -> Difference:
    found = paired_difference(new, base, confidence=confidence, unbounded=unbounded)
    counts = None if unbounded else pair_counts(new, base)
    if counts is None or found.interval is None:
        return found
    return replace(found, method=Method.TANGO, interval=tango(counts, confidence=confidence))


def _newcombe(found: Difference) -> Difference:
    """Newcombe where both arms hold passes of equal weight; otherwise what was found."""
    new, base = _passes(found.new), _passes(found.base)
    if new is None or base is None:
        return found
    return replace(
        found,
        method=Method.NEWCOMBE,
        interval=newcombe(new, base, confidence=found.confidence),
        reason=None,
        variance=None,
        df=None,
        cr2=None,
        effective=None,
    )


def _passes(arm: Group) -> Passes | None:
    """Passes and records, if every record weighs the same and scores lie in [0, 1]."""
    if arm.estimate is None or arm.kish_n is None or not arm.within_unit:
        return None
    same = isclose(arm.kish_n, arm.records, rel_tol=1e-9)
    return Passes(arm.estimate * arm.records, arm.records) if same else None
