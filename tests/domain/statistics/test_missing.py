"""Missing scores: bounds that hold whatever they are, and where a result tips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.evaluation_counts import EvaluationCounts
from core.domain.statistics.missing import (
    Observed,
    Scored,
    Tips,
    bounding_interval,
    bounds,
    difference_bounds,
    interval_tipping_point,
    tipping_point,
)
from core.domain.statistics.sums import ClusterSums, Interval, of_records

MARGIN = 0.02
ARMS = st.tuples(*[st.integers(0, 50)] * 3).map(
    lambda three: Observed(three[0], three[0] + three[1], sum(three))
)
STATUSES = ("ok", "evaluator_error", "missing", "incomplete", "not_sampled", "not_eligible")


def hull(new: ClusterSums, base: ClusterSums) -> Interval | None:
    return difference_interval(new, base, design=Design.SEPARATE).interval


def arm(rate: float, seed: int, *, missing: int = 1, sessions: int = 300) -> Scored:
    """Sessions of eight records with a score and some without."""
    passes = np.random.default_rng(seed).binomial(8, rate, sessions).astype(float)
    eight, gone = np.full(sessions, 8), np.full(sessions, missing)
    return Scored(
        ClusterSums(passes, eight * 1.0, eight * 1.0, eight),
        ClusterSums(np.zeros(sessions), gone * 1.0, gone * 1.0, gone),
    )


@given(ARMS, st.floats(0, 1))
def test_no_assignment_leaves_the_bounds(one: Observed, rate: float) -> None:
    """Whatever share of the missing would pass, the whole rate lies within the bounds."""
    found = bounds(one)
    if one.eligible == 0:
        assert found is None
        return
    whole = (one.passes + rate * one.missing) / one.eligible
    assert found.lower - 1e-12 <= whole <= found.upper + 1e-12
    assert (found.observed is None) == (one.observed == 0)
    if one.missing == 0:
        assert found.lower == found.upper == found.observed


@given(ARMS, ARMS)
def test_bounds_of_a_difference_swap(new: Observed, base: Observed) -> None:
    """Base minus new has the bounds turned over; an arm of no one has none."""
    found, swapped = difference_bounds(new, base), difference_bounds(base, new)
    if found is None:
        assert swapped is None
        assert 0 in {new.eligible, base.eligible}
        return
    assert (swapped.lower, swapped.upper) == pytest.approx((-found.upper, -found.lower))
    assert (found.observed is None) == (0 in {new.observed, base.observed})


@given(ARMS, ARMS)
def test_at_the_tipping_point_the_estimate_is_the_margin(new: Observed, base: Observed) -> None:
    """With the missing at that rate the difference is minus the margin."""
    found = tipping_point(new, base, margin=MARGIN)
    if found is None:
        assert new.missing == 0 or 0 in {new.observed, base.observed}
        return
    filled = (new.passes + found.rate * new.missing) / new.eligible
    assert filled - base.rate == pytest.approx(-MARGIN)
    assert found.gap == pytest.approx(new.rate - found.rate)


def test_weights_take_the_place_of_counts() -> None:
    """Bounds of weights are those of the sums."""
    assert bounds(Observed(7.5, 10.0, 12.5)) == pytest.approx((0.75, 0.6, 0.8))


def test_at_the_second_tipping_point_the_lower_limit_is_the_margin() -> None:
    """There the interval that the gate uses just touches minus the margin."""
    new, base = arm(0.9, 1), arm(0.9, 2)
    found = interval_tipping_point(new, base, margin=0.05, interval=hull)
    assert found.tips is Tips.AT_RATE
    filled = hull(new.filled(found.rate), base.filled(base.observed.estimate))
    assert filled.lower == pytest.approx(-0.05, abs=1e-9)


def test_missing_scores_that_decide_nothing() -> None:
    """Too few to break a wide margin, and too few to save a narrow one."""
    new, base = arm(0.9, 1), arm(0.9, 2)
    wide = interval_tipping_point(new, base, margin=0.3, interval=hull)
    assert wide == (Tips.NEVER_BREAKS, None)
    worse = interval_tipping_point(arm(0.4, 3), base, margin=0.02, interval=hull)
    assert worse == (Tips.NEVER_SAVES, None)


def test_nothing_missing_or_nothing_known_does_not_tip() -> None:
    """Without missing scores, a base or an interval there is no tipping point."""
    new, base = arm(0.9, 1), arm(0.9, 2)
    nobody = Scored(of_records([], []), of_records([], []))
    one = Scored(of_records([1, 0], "aa"), of_records([1], "a"))
    for first, second in ((arm(0.9, 1, missing=0), base), (new, nobody), (one, base)):
        assert interval_tipping_point(first, second, margin=MARGIN, interval=hull) is None
    assert bounding_interval(one, base, interval=hull) is None


def test_the_bounding_interval_holds_every_other() -> None:
    """Whatever the missing are, the interval lies inside the one with both extremes."""
    new, base = arm(0.9, 1), arm(0.9, 2)
    found = bounding_interval(new, base, interval=hull)
    for rate in (0.0, 0.3, 1.0):
        for other in (0.0, 0.5, 1.0):
            inner = hull(new.filled(rate), base.filled(other))
            assert found.lower <= inner.lower <= inner.upper <= found.upper


@given(st.lists(st.sampled_from(STATUSES)))
def test_every_request_is_counted_once(statuses: list[str]) -> None:
    """Statuses add up, rates of nothing are unknown, and expected scores are shared out."""
    found = EvaluationCounts(**{name: statuses.count(name) for name in STATUSES})
    assert found.requests == len(statuses)
    shares = (found.coverage, found.evaluator_error_rate, found.missing_rate)
    if found.expected == 0:
        assert shares == (None, None, None)
    else:
        assert sum(shares) == pytest.approx(1)
    assert (found.incomplete_rate is None) == (found.eligible == 0)
    assert (found.pass_rate is None) == (found.ok == 0)


def test_sampled_and_incomplete_answers_do_not_mix() -> None:
    """Without weights the composite of a sample is unknown, not a number that is too low."""
    assert EvaluationCounts(ok=5, incomplete=5, passes=5).composite_pass_rate == 0.5
    assert EvaluationCounts(ok=5, incomplete=5, not_sampled=15).composite_pass_rate is None
