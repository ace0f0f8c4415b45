"""Why a gate holds: what the data must fulfil before an interval may decide.

Every reason carries the value that was seen and the limit that it missed. A figure that
could not be computed holds as well, with no value: unknown is not good enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from core.domain.statistics.group import FEW_CLUSTERS, FEW_DF
from core.domain.statistics.sums import Interval


class HoldReason(StrEnum):
    """One condition that a comparison does not fulfil."""

    NO_EVALUATED_RECORDS = "no_evaluated_records"
    TOO_FEW_CLUSTERS = "too_few_clusters"
    COVERAGE_BELOW_MINIMUM = "coverage_below_minimum"
    COVERAGE_IMBALANCE = "coverage_imbalance"
    UNKNOWN_CLUSTER_SHARE = "unknown_cluster_share"
    SESSION_IN_BOTH_ARMS = "session_in_both_arms"
    DOMINANT_CLUSTER = "dominant_cluster"
    EVALUATOR_VERSION_MISMATCH = "evaluator_version_mismatch"
    UNKNOWN_PROBABILITY = "unknown_probability"
    CONTRACT_VIOLATION = "contract_violation"
    SAMPLE_RATIO_MISMATCH = "sample_ratio_mismatch"
    LOOK_NOT_PLANNED = "look_not_planned"
    PLAN_MISSING = "plan_missing"
    INCOMPLETE_RATE_WORSE = "incomplete_rate_worse"
    STRATA_DROPPED = "strata_dropped"
    NO_INTERVAL = "no_interval"


@dataclass(frozen=True)
class Hold:
    """A reason to hold.

    Parameters
    ----------
    reason : HoldReason
        The condition.
    value, limit : float or None
        What was seen, unrounded, and what it was held against; value None: not known.
    of : str or None
        Whose figure it is: "new", "base", or "df" for the degrees of freedom.
    """

    reason: HoldReason
    value: float | None = None
    limit: float | None = None
    of: str | None = None


@dataclass(frozen=True)
class Limits:
    """Numbers behind the reasons; a plan may set others.

    Parameters
    ----------
    clusters : int
        Fewest clusters an arm (or the tasks of a paired design) may have.
    df : float
        Fewest degrees of freedom of the interval.
    coverage : float
        Least evaluation coverage of an arm.
    imbalance, unknown_clusters, shared_sessions, dominant, unknown_probability, dropped : float
        Largest difference of coverage; largest shares of records without a session, of
        sessions in both arms, of one cluster's weight in an arm, of records without an
        inclusion probability, and of weight in strata that one arm lacks.
    sample_ratio_p : float
        Smallest p-value of the session counts under the planned ratio.
    """

    clusters: int = FEW_CLUSTERS
    df: float = FEW_DF
    coverage: float = 0.90
    imbalance: float = 0.05
    unknown_clusters: float = 0.01
    shared_sessions: float = 0.01
    dominant: float = 0.20
    unknown_probability: float = 0.01
    dropped: float = 0.05
    sample_ratio_p: float = 0.001


DEFAULT = Limits()


@dataclass(frozen=True)
class ArmFigures:
    """What is known of the data of one arm; a share is None where nothing can be divided.

    Parameters
    ----------
    evaluated, clusters : int
        Records with a valid score, and clusters with such a record.
    coverage : float or None
        Evaluated records over those that should have been.
    largest_share : float or None
        Weight of the largest cluster over all weight.
    unknown_clusters, unknown_probability : float or None
        Shares of records without a session, and without an inclusion probability.
    """

    evaluated: int
    clusters: int
    coverage: float | None
    largest_share: float | None
    unknown_clusters: float | None
    unknown_probability: float | None


@dataclass(frozen=True)
class Comparison:
    """What is known of the comparison itself.

    Parameters
    ----------
    df : float or None
        Degrees of freedom of the interval; None where it has none.
    paired : bool
        The same tasks in both arms on purpose: no session counts to hold against a ratio.
    shared_sessions : float or None
        Share of sessions with a record in both arms.
    sample_ratio_p : float or None
        Of the session counts under the planned ratio, from `sample_ratio`.
    same_evaluator : bool or None
        Whether both arms were scored by one version; None: a version is not known.
    violations : int
        Records that break a contract.
    planned_look : bool
        Whether this look is one of the plan's.
    plan_at, first_data_at : float or None
        When the plan was fixed and the first record began, seconds since the epoch.
    composite : bool
        Whether the primary estimand counts an incomplete answer as a fail.
    complete_rate : Interval or None
        New minus baseline of the complete rate, and the margin of the plan for it.
    complete_margin : float
        Largest loss of complete rate that the plan accepts.
    """

    df: float | None
    paired: bool
    shared_sessions: float | None
    sample_ratio_p: float | None
    same_evaluator: bool | None
    violations: int
    planned_look: bool
    plan_at: float | None
    first_data_at: float | None
    composite: bool
    complete_rate: Interval | None
    complete_margin: float


def find_holds(
    new: ArmFigures, base: ArmFigures, *, comparison: Comparison, limits: Limits = DEFAULT
) -> tuple[Hold, ...]:
    """Every reason to hold, in the order of `HoldReason`.

    >>> arm = ArmFigures(900, 40, 0.95, 0.05, 0.0, 0.0)
    >>> good = Comparison(78.0, False, 0.0, 0.4, True, 0, True, 1.0, 2.0, True, None, 0.02)
    >>> find_holds(arm, arm, comparison=good)
    ()
    >>> few = ArmFigures(100, 19, 0.95, 0.05, 0.0, 0.0)
    >>> find_holds(few, arm, comparison=good)
    (Hold(reason=<HoldReason.TOO_FEW_CLUSTERS: 'too_few_clusters'>, value=19, limit=20, of='new'),)
    """
    order = list(HoldReason)
    arms = (("new", new), ("base", base))
    found = [
        *(hold for name, arm in arms for hold in _of_arm(name, arm, limits)),
        *_between(new, base, comparison, limits),
        *_of_assignment(comparison, limits),
        *_of_plan(comparison),
    ]
    return tuple(sorted(found, key=lambda hold: order.index(hold.reason)))


def dropped_hold(share: float | None, *, limits: Limits = DEFAULT) -> Hold | None:
    """Reason to hold an adjusted difference: too much weight lies where one arm has none.

    >>> dropped_hold(0.05) is None, dropped_hold(0.06).limit
    (True, 0.05)
    """
    return _above(HoldReason.STRATA_DROPPED, share, limits.dropped)


def _above(
    reason: HoldReason, value: float | None, limit: float, of: str | None = None
) -> Hold | None:
    held = value is None or not value <= limit
    return Hold(reason, value, limit, of) if held else None


def _below(
    reason: HoldReason, value: float | None, limit: float, of: str | None = None
) -> Hold | None:
    held = value is None or not value >= limit
    return Hold(reason, value, limit, of) if held else None


def _of_arm(name: str, arm: ArmFigures, limits: Limits) -> Iterator[Hold]:
    if arm.evaluated < 1:
        yield Hold(HoldReason.NO_EVALUATED_RECORDS, arm.evaluated, 1, name)
    checks = (
        _below(HoldReason.TOO_FEW_CLUSTERS, arm.clusters, limits.clusters, name),
        _below(HoldReason.COVERAGE_BELOW_MINIMUM, arm.coverage, limits.coverage, name),
        _above(
            HoldReason.UNKNOWN_CLUSTER_SHARE, arm.unknown_clusters, limits.unknown_clusters, name
        ),
        _above(HoldReason.DOMINANT_CLUSTER, arm.largest_share, limits.dominant, name),
        _above(
            HoldReason.UNKNOWN_PROBABILITY,
            arm.unknown_probability,
            limits.unknown_probability,
            name,
        ),
    )
    yield from (hold for hold in checks if hold is not None)


def _between(
    new: ArmFigures, base: ArmFigures, comparison: Comparison, limits: Limits
) -> Iterator[Hold]:
    apart = None
    if new.coverage is not None and base.coverage is not None:
        apart = abs(new.coverage - base.coverage)
    checks = (
        _below(HoldReason.TOO_FEW_CLUSTERS, comparison.df, limits.df, "df"),
        _above(HoldReason.COVERAGE_IMBALANCE, apart, limits.imbalance),
        _above(HoldReason.CONTRACT_VIOLATION, comparison.violations, 0),
    )
    yield from (hold for hold in checks if hold is not None)
    if not comparison.same_evaluator:
        yield Hold(HoldReason.EVALUATOR_VERSION_MISMATCH)


def _of_assignment(comparison: Comparison, limits: Limits) -> Iterator[Hold]:
    """Tasks of a paired design are in both arms on purpose, and nobody draws them."""
    if comparison.paired:
        return
    shared, p = comparison.shared_sessions, comparison.sample_ratio_p
    checks = (
        _above(HoldReason.SESSION_IN_BOTH_ARMS, shared, limits.shared_sessions),
        _below(HoldReason.SAMPLE_RATIO_MISMATCH, p, limits.sample_ratio_p),
    )
    yield from (hold for hold in checks if hold is not None)


def _of_plan(comparison: Comparison) -> Iterator[Hold]:
    plan, first = comparison.plan_at, comparison.first_data_at
    if plan is None or (first is not None and plan > first):
        yield Hold(HoldReason.PLAN_MISSING, plan, first)
    if not comparison.planned_look:
        yield Hold(HoldReason.LOOK_NOT_PLANNED)
    rate, limit = comparison.complete_rate, -comparison.complete_margin
    lower = None if rate is None else rate.lower
    if not comparison.composite and (lower is None or not lower > limit):
        yield Hold(HoldReason.INCOMPLETE_RATE_WORSE, lower, limit)
