"""Adjusted differences: the mix is taken out, and a session counts once."""

from collections.abc import Callable

import numpy as np
import pytest

from core.domain.records import Floats
from core.domain.statistics.group import Undefined
from core.domain.statistics.heterogeneity import (
    StratumDifference,
    is_contradictory,
    is_sign_change,
    stratum_differences,
)
from core.domain.statistics.standardised import (
    Adjusted,
    Stratum,
    crude_delta,
    mantel_haenszel,
    sato_variance,
    standardised,
)
from core.domain.statistics.sums import ClusterSums, Interval

METHODS = (standardised, mantel_haenszel)
Method = Callable[[list[Stratum]], Adjusted]


def sums(passes: list[float], n: list[int]) -> ClusterSums:
    weight = np.array(n, float)
    return ClusterSums(np.array(passes, float), weight, weight, np.array(n))


KIDNEY = [
    Stratum(sums([81], [87]), sums([234], [270])),
    Stratum(sums([192], [263]), sums([55], [80])),
]
NONE = sums([0] * 6, [0] * 6)
DISJOINT = [
    Stratum(
        sums([4, 3, 2, 0, 0, 0], [4, 4, 3, 0, 0, 0]), sums([0, 0, 0, 5, 1, 2], [0, 0, 0, 5, 3, 2])
    ),
    Stratum(
        sums([1, 0, 2, 0, 0, 0], [3, 0, 2, 0, 0, 0]), sums([0, 0, 0, 2, 1, 0], [0, 0, 0, 4, 1, 1])
    ),
]
SHARED = [
    Stratum(sums([4, 3, 2, 1], [4, 4, 3, 2]), sums([5, 1, 2, 2], [5, 3, 2, 2])),
    Stratum(sums([1, 0, 2, 3], [3, 0, 2, 3]), sums([2, 1, 0, 1], [4, 1, 1, 2])),
]


def times(strata: list[Stratum], k: Floats) -> list[Stratum]:
    return [Stratum(*(ClusterSums(k * a.y, k * a.w, k * a.s, a.n) for a in one)) for one in strata]


def test_kidney_stones_change_their_sign() -> None:
    """Better in both strata, worse thrown together: crude and adjusted stand side by side."""
    crude, adjusted = crude_delta(KIDNEY), mantel_haenszel(KIDNEY).delta
    assert [round(one.delta, 4) for one in KIDNEY if one.delta is not None] == [0.0644, 0.0425]
    assert crude == pytest.approx(-0.0457142857)
    assert adjusted == pytest.approx(0.0538355702)
    assert is_sign_change(crude, adjusted)
    assert not is_sign_change(crude, -0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strata", [DISJOINT, SHARED], ids=["disjoint", "shared"])
def test_influence_is_the_derivative_in_a_sessions_multiplier(
    method: Method, strata: list[Stratum]
) -> None:
    """The analytic value and a central difference agree, the mix held fixed."""
    found = method(strata)
    assert found.influence is not None
    fixed = [one.weight for one in strata]
    for g in range(found.influence.size):
        shifted = []
        for step in (1e-5, -1e-5):
            k = np.ones(found.influence.size)
            k[g] += step
            moved = times(strata, k)
            again = standardised(moved, weights=fixed) if method is standardised else method(moved)
            assert again.delta is not None
            shifted.append(again.delta)
        slope = (shifted[0] - shifted[1]) / 2e-5
        assert found.influence[g] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_sessions_in_both_arms_are_one_sum(method: Method) -> None:
    """Their variance is that of the sums, with sessions less one degrees of freedom."""
    found = method(SHARED)
    assert found.influence is not None
    u = found.influence - found.influence.mean()
    assert found.variance == pytest.approx(4 / 3 * float(u @ u))
    assert found.df == pytest.approx(3)


@pytest.mark.parametrize("method", METHODS)
def test_swapped_arms_reverse_the_difference(method: Method) -> None:
    """The same interval with the opposite sign."""
    one = method(DISJOINT)
    other = method([Stratum(s.base, s.new) for s in DISJOINT])
    interval, reverse = one.interval(), other.interval()
    assert one.delta is not None
    assert interval is not None
    assert reverse is not None
    assert other.delta == pytest.approx(-one.delta)
    assert reverse == pytest.approx((-interval.upper, -interval.lower))


@pytest.mark.parametrize("method", METHODS)
def test_the_scale_of_weights_and_the_order_of_sessions_do_not_matter(method: Method) -> None:
    """Weights times a constant, and sessions in another order, give the same."""
    plain, order = method(DISJOINT), np.array([3, 1, 5, 0, 2, 4])
    turned = [Stratum(a.where(order), b.where(order)) for a, b in DISJOINT]
    for other in (method(times(DISJOINT, np.full(6, 7.0))), method(turned)):
        assert other.delta == pytest.approx(plain.delta, rel=1e-12)
        assert other.variance == pytest.approx(plain.variance, rel=1e-12)
        assert other.df == pytest.approx(plain.df, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_stratum_without_both_arms_is_dropped_and_counted(method: Method) -> None:
    """Nothing is said of it, and how much weight it has is."""
    lonely = Stratum(sums([2, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0]), NONE)
    found, plain = method([*DISJOINT, lonely]), method(DISJOINT)
    assert found.delta == pytest.approx(plain.delta)
    assert found.variance == pytest.approx(plain.variance)
    assert plain.dropped_share == 0
    weight = sum(one.weight for one in DISJOINT)
    assert found.dropped_share == pytest.approx(4 / (weight + 4))


def test_a_given_mix_is_the_mix() -> None:
    """All weight on one stratum gives its difference; nothing of the others is dropped."""
    found = standardised(DISJOINT, weights=[0, 2])
    assert found.delta == pytest.approx(DISJOINT[1].delta)
    assert found.dropped_share == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strata", [[], [Stratum(NONE, NONE)]], ids=["none", "empty"])
def test_no_stratum_gives_no_difference(method: Method, strata: list[Stratum]) -> None:
    """A reason, and never 0."""
    found = method(strata)
    assert (found.delta, found.variance, found.interval()) == (None, None, None)
    assert found.dropped_share is None
    assert found.reason is Undefined.NO_RECORDS
    assert sato_variance(strata) is None
    assert crude_delta(strata) is None


@pytest.mark.parametrize("method", METHODS)
def test_one_session_an_arm_gives_no_interval(method: Method) -> None:
    """The difference stands, its spread is not known."""
    found = method([Stratum(sums([1, 0], [2, 0]), sums([0, 2], [0, 2]))])
    assert found.delta == -0.5
    assert found.interval() is None
    assert found.reason is Undefined.TOO_FEW_CLUSTERS


@pytest.mark.parametrize("method", METHODS)
def test_sessions_all_alike_give_no_interval(method: Method) -> None:
    """A variance of nothing is not certainty."""
    found = method([Stratum(sums([2, 2, 0, 0], [2, 2, 0, 0]), sums([0, 0, 3, 3], [0, 0, 3, 3]))])
    assert found.delta == 0
    assert found.interval() is None
    assert found.reason is Undefined.NO_VARIATION


def test_one_record_sessions_have_nearly_the_variance_of_independent_records() -> None:
    """Linearised and Sato's variance agree for many single records."""
    rng = np.random.default_rng(11)
    strata = []
    arm, kind = rng.integers(0, 2, 8000), rng.integers(0, 2, 8000)
    passed = rng.random(8000) < 0.7 + 0.2 * kind
    for one in (0, 1):
        here = [(arm == a) & (kind == one) for a in (1, 0)]
        strata.append(Stratum(*(sums(list(passed * h), [int(x) for x in h]) for h in here)))
    assert mantel_haenszel(strata).variance == pytest.approx(sato_variance(strata), rel=0.02)


def test_each_stratum_has_its_own_interval_and_may_contradict() -> None:
    """Opposite signs that exclude each other leave no pooled verdict; wide ones do not."""
    rows = stratum_differences([*DISJOINT, Stratum(DISJOINT[0].new, NONE)], narrow)
    assert [row.delta is None for row in rows] == [False, False, True]
    assert rows[2].interval is None
    up, down = StratumDifference(0.1, Interval(0.05, 0.2)), StratumDifference(-0.1, Interval(-1, 1))
    assert not is_contradictory([up, down])
    assert not is_contradictory([up, StratumDifference(None, None)])
    assert is_contradictory([up, up, StratumDifference(-0.1, Interval(-0.2, 0.0))])


def narrow(new: ClusterSums, base: ClusterSums) -> Interval | None:
    a, b = new.estimate, base.estimate
    return None if a is None or b is None else Interval(a - b - 0.01, a - b + 0.01)


@pytest.mark.parametrize("method", METHODS)
def test_a_sum_that_is_no_number_breaks_the_contract(method: Method) -> None:
    """It is neither left out nor passed on."""
    new = sums([np.nan, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0])
    broken = [DISJOINT[0], Stratum(new, DISJOINT[1].base)]
    found = method(broken)
    assert (found.delta, found.interval()) == (None, None)
    assert found.reason is Undefined.CONTRACT_VIOLATION
    assert crude_delta(broken) is None
