"""The gate: strict comparisons, holds beside verdicts, equivalence as a claim of its own."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.statistics.equivalence import is_equivalent, tost
from core.domain.statistics.gate import (
    Flag,
    Verdict,
    alpha_of,
    confidence_of,
    flags,
    interval_verdict,
    judge,
)
from core.domain.statistics.holds import Hold, HoldReason
from core.domain.statistics.sums import Interval

LOWER, HIGHER = Flag.STATISTICALLY_LOWER, Flag.STATISTICALLY_HIGHER
FEW = Hold(HoldReason.TOO_FEW_CLUSTERS, 19, 20, "new")
limits = st.floats(-1, 1)
margins = st.floats(0, 1)


@pytest.mark.parametrize(
    ("lower", "upper", "verdict", "found"),
    [
        (-0.008, 0.004, Verdict.NON_INFERIOR, ()),
        (-0.04, 0.01, Verdict.INCONCLUSIVE, ()),
        (-0.05, -0.03, Verdict.REGRESSION, (LOWER,)),
        (-0.02, 0.01, Verdict.INCONCLUSIVE, ()),
        (-0.03, -0.02, Verdict.INCONCLUSIVE, (LOWER,)),
        (-0.015, -0.005, Verdict.NON_INFERIOR, (LOWER,)),
        (0.005, 0.02, Verdict.NON_INFERIOR, (HIGHER,)),
    ],
)
def test_an_interval_has_the_verdict_of_the_table(
    lower: float, upper: float, verdict: Verdict, found: tuple[Flag, ...]
) -> None:
    """With a margin of two points every row of the rule's table comes out."""
    result = judge(Interval(lower, upper), 0.02)
    assert (result.verdict, result.interval_verdict) == (verdict, verdict)
    assert result.flags == found
    assert result.holds == ()


@pytest.mark.parametrize("interval", [None, Interval(nan, nan), Interval(0.1, nan)])
def test_no_interval_is_a_hold_with_a_reason(interval: Interval | None) -> None:
    """Without limits there is no verdict but hold, and it says why."""
    result = judge(interval, 0.02)
    assert result.verdict is Verdict.HOLD
    assert result.interval_verdict is None
    assert result.flags == ()
    assert [hold.reason for hold in result.holds] == [HoldReason.NO_INTERVAL]


def test_the_given_reason_stands_where_there_is_no_interval() -> None:
    """A known reason to hold is not covered by the general one."""
    hold = Hold(HoldReason.NO_EVALUATED_RECORDS, 0, 1, "new")
    assert judge(None, 0.02, holds=[hold]).holds == (hold,)


def test_a_limit_just_inside_the_margin_is_not_rounded_away() -> None:
    """What would show as -2.00 decides by its own digits."""
    assert judge(Interval(-0.0199999, 0.0), 0.02).verdict is Verdict.NON_INFERIOR
    assert judge(Interval(-0.0200001, 0.0), 0.02).verdict is Verdict.INCONCLUSIVE


def test_limits_without_end_decide_nothing() -> None:
    """An interval that excludes nothing is inconclusive."""
    assert judge(Interval(-inf, inf), 0.02).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("margin", [-0.01, nan, inf])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    """A plan without a usable margin does not get as far as a verdict."""
    with pytest.raises(ValueError, match="margin"):
        judge(Interval(0.0, 0.1), margin)


@given(limits, limits, margins, st.sampled_from([(), (FEW,)]))
def test_a_hold_never_becomes_a_pass_and_hides_nothing(
    one: float, other: float, margin: float, holds: tuple[Hold, ...]
) -> None:
    """Under hold the interval says the same as without, and the verdict is hold."""
    interval = Interval(min(one, other), max(one, other))
    result = judge(interval, margin, holds=holds)
    assert result.interval_verdict == interval_verdict(interval, margin)
    assert result.verdict is (Verdict.HOLD if holds else result.interval_verdict)


@given(limits, limits, margins)
def test_a_wider_interval_never_decides_more(one: float, other: float, margin: float) -> None:
    """Widening an interval keeps its verdict or makes it inconclusive."""
    interval = Interval(min(one, other), max(one, other))
    wider = Interval(interval.lower - 0.01, interval.upper + 0.01)
    assert interval_verdict(wider, margin) in {
        interval_verdict(interval, margin),
        Verdict.INCONCLUSIVE,
    }


@given(limits, limits)
def test_swapped_arms_swap_the_flags(one: float, other: float) -> None:
    """Lower than the baseline is the baseline's higher."""
    low, high = min(one, other), max(one, other)
    swapped = {LOWER: HIGHER, HIGHER: LOWER}
    assert flags(Interval(-high, -low)) == tuple(swapped[f] for f in flags(Interval(low, high)))


@given(st.floats(0.001, 0.5))
def test_level_and_confidence_are_two_names_of_one_thing(alpha: float) -> None:
    """One-sided alpha to confidence and back gives the same alpha."""
    assert alpha_of(confidence_of(alpha)) == pytest.approx(alpha)


@given(st.floats(-0.05, 0.05), st.floats(0.001, 0.05), st.floats(2, 200))
def test_both_tests_agree_with_the_interval(delta: float, se: float, df: float) -> None:
    """Two one-sided tests are the interval strictly inside the limits."""
    found = tost(delta, se, df=df, low=-0.02, high=0.02)
    assert found is not None
    assert found.equivalent == is_equivalent(found.interval, -0.02, 0.02)
    assert found.p == max(found.p_lower, found.p_upper)


def test_a_pass_is_not_equivalence() -> None:
    """What is clearly higher passes the gate and is not equivalent."""
    interval = Interval(0.01, 0.05)
    assert judge(interval, 0.02).verdict is Verdict.NON_INFERIOR
    assert not is_equivalent(interval, -0.02, 0.02)


@pytest.mark.parametrize(("se", "df"), [(0.0, 10.0), (0.01, 0.0), (nan, 10.0)])
def test_equivalence_without_an_error_is_unknown(se: float, df: float) -> None:
    """A standard error of nothing shows nothing."""
    assert tost(0.0, se, df=df, low=-0.02, high=0.02) is None
