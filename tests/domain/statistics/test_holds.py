"""Reasons to hold: each at its limit, with what was seen, and unknown is not good enough."""

from dataclasses import replace
from typing import Any

import pytest

from core.domain.statistics.gate import Verdict, judge
from core.domain.statistics.holds import (
    DEFAULT,
    ArmFigures,
    Comparison,
    Hold,
    HoldReason,
    Limits,
    dropped_hold,
    find_holds,
)
from core.domain.statistics.sample_ratio import sample_ratio
from core.domain.statistics.sums import Interval

ARM = ArmFigures(
    evaluated=900,
    clusters=20,
    coverage=0.90,
    largest_share=0.20,
    unknown_clusters=0.01,
    unknown_probability=0.01,
)
COMPARISON = Comparison(
    df=10.0,
    paired=False,
    shared_sessions=0.01,
    sample_ratio_p=0.001,
    same_evaluator=True,
    violations=0,
    planned_look=True,
    plan_at=1.0,
    first_data_at=1.0,
    composite=False,
    complete_rate=Interval(-0.019, 0.01),
    complete_margin=0.02,
)


def holds(arm: ArmFigures = ARM, **changes: Any) -> tuple[Hold, ...]:
    return find_holds(arm, ARM, comparison=replace(COMPARISON, **changes))


def test_figures_at_their_limits_hold_nothing() -> None:
    """A limit that is met exactly is met."""
    assert holds() == ()


@pytest.mark.parametrize(
    ("field", "value", "reason", "limit"),
    [
        ("evaluated", 0, HoldReason.NO_EVALUATED_RECORDS, 1),
        ("clusters", 19, HoldReason.TOO_FEW_CLUSTERS, 20),
        ("coverage", 0.899, HoldReason.COVERAGE_BELOW_MINIMUM, 0.90),
        ("coverage", None, HoldReason.COVERAGE_BELOW_MINIMUM, 0.90),
        ("largest_share", 0.21, HoldReason.DOMINANT_CLUSTER, 0.20),
        ("largest_share", None, HoldReason.DOMINANT_CLUSTER, 0.20),
        ("unknown_clusters", 0.011, HoldReason.UNKNOWN_CLUSTER_SHARE, 0.01),
        ("unknown_clusters", None, HoldReason.UNKNOWN_CLUSTER_SHARE, 0.01),
        ("unknown_probability", 0.011, HoldReason.UNKNOWN_PROBABILITY, 0.01),
        ("unknown_probability", None, HoldReason.UNKNOWN_PROBABILITY, 0.01),
    ],
)
def test_one_arm_beyond_a_limit_holds(
    field: str, value: float | None, reason: HoldReason, limit: float
) -> None:
    """The arm, the value and the limit are kept with the reason."""
    assert Hold(reason, value, limit, "new") in holds(replace(ARM, **{field: value}))


@pytest.mark.parametrize(
    ("change", "hold"),
    [
        ({"df": 9.9}, Hold(HoldReason.TOO_FEW_CLUSTERS, 9.9, 10.0, "df")),
        ({"df": None}, Hold(HoldReason.TOO_FEW_CLUSTERS, None, 10.0, "df")),
        ({"shared_sessions": 0.02}, Hold(HoldReason.SESSION_IN_BOTH_ARMS, 0.02, 0.01)),
        ({"shared_sessions": None}, Hold(HoldReason.SESSION_IN_BOTH_ARMS, None, 0.01)),
        ({"sample_ratio_p": 0.0009}, Hold(HoldReason.SAMPLE_RATIO_MISMATCH, 0.0009, 0.001)),
        ({"sample_ratio_p": None}, Hold(HoldReason.SAMPLE_RATIO_MISMATCH, None, 0.001)),
        ({"same_evaluator": False}, Hold(HoldReason.EVALUATOR_VERSION_MISMATCH)),
        ({"same_evaluator": None}, Hold(HoldReason.EVALUATOR_VERSION_MISMATCH)),
        ({"violations": 1}, Hold(HoldReason.CONTRACT_VIOLATION, 1, 0)),
        ({"planned_look": False}, Hold(HoldReason.LOOK_NOT_PLANNED)),
        ({"plan_at": None}, Hold(HoldReason.PLAN_MISSING, None, 1.0)),
        ({"plan_at": 1.1}, Hold(HoldReason.PLAN_MISSING, 1.1, 1.0)),
        (
            {"complete_rate": Interval(-0.02, 0.01)},
            Hold(HoldReason.INCOMPLETE_RATE_WORSE, -0.02, -0.02),
        ),
        ({"complete_rate": None}, Hold(HoldReason.INCOMPLETE_RATE_WORSE, None, -0.02)),
    ],
)
def test_a_comparison_beyond_a_limit_holds(change: dict[str, Any], hold: Hold) -> None:
    """Each condition of the comparison holds alone."""
    assert holds(**change) == (hold,)


def test_coverage_that_differs_between_arms_holds() -> None:
    """Both arms well covered, but not alike."""
    (hold,) = holds(replace(ARM, coverage=0.96))
    assert (hold.reason, hold.limit) == (HoldReason.COVERAGE_IMBALANCE, 0.05)
    assert hold.value == pytest.approx(0.06)


def test_a_composite_estimand_needs_no_second_claim_on_completion() -> None:
    """An incomplete answer is a fail there already."""
    assert holds(composite=True, complete_rate=None) == ()


def test_paired_tasks_are_in_both_arms_on_purpose() -> None:
    """No session counts are held against a paired design."""
    assert holds(paired=True, shared_sessions=None, sample_ratio_p=None) == ()


def test_a_plan_before_any_data_is_in_time() -> None:
    """Nothing was seen yet when it was fixed."""
    assert holds(first_data_at=None) == ()


def test_reasons_are_all_listed_in_their_order() -> None:
    """One reason hides no other."""
    found = [hold.reason for hold in holds(replace(ARM, clusters=3), violations=2, plan_at=None)]
    assert found == [
        HoldReason.TOO_FEW_CLUSTERS,
        HoldReason.CONTRACT_VIOLATION,
        HoldReason.PLAN_MISSING,
    ]


def test_limits_can_be_set() -> None:
    """A plan's own limit is the one that is compared and kept."""
    found = find_holds(ARM, ARM, comparison=COMPARISON, limits=Limits(clusters=30))
    assert [(hold.value, hold.limit, hold.of) for hold in found] == [
        (20, 30, "new"),
        (20, 30, "base"),
    ]


def test_unknown_dropped_weight_holds() -> None:
    """Of an adjusted difference somebody must know what it leaves out."""
    assert dropped_hold(None) == Hold(HoldReason.STRATA_DROPPED, None, DEFAULT.dropped)


@pytest.mark.parametrize(
    ("sessions", "planned"), [([0, 0], [1, 1]), ([5], [1]), ([5, 5], [1, 0]), ([5, 5], [1])]
)
def test_a_ratio_of_nothing_is_unknown(sessions: list[int], planned: list[float]) -> None:
    """No sessions, one arm or no plan give no p-value."""
    assert sample_ratio(sessions, planned) is None


def test_nineteen_sessions_do_not_pass_however_good_they_look() -> None:
    """The interval is kept and shown, the verdict is hold."""
    few = holds(replace(ARM, clusters=19))
    result = judge(Interval(-0.008, 0.004), 0.02, holds=few)
    assert (result.verdict, result.interval_verdict) == (Verdict.HOLD, Verdict.NON_INFERIOR)
    assert [hold.reason for hold in result.holds] == [HoldReason.TOO_FEW_CLUSTERS]
