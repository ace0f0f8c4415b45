"""Differences of two arms: mirror images, references, and what has no interval."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import Difference, Method, separate_difference
from core.domain.statistics.group import Undefined, group
from core.domain.statistics.independent import (
    Passes,
    farrington_manning,
    miettinen_nurminen,
    newcombe,
    restricted_base_rate,
)
from core.domain.statistics.influence import variance_of_influence
from core.domain.statistics.paired import paired_difference
from core.domain.statistics.pairs import PairCounts, newcombe_paired, pair_counts, tango
from core.domain.statistics.quantiles import normal
from core.domain.statistics.sums import ClusterSums, Interval, of_records
from tests.domain.statistics.strategies import Records, records

COUNT = st.integers(1, 60)
RATES = st.tuples(COUNT, COUNT).map(lambda pair: Passes(min(pair), max(pair)))
PAIRS = st.tuples(*[st.integers(0, 30)] * 4).filter(any).map(lambda four: PairCounts(*four))
BROKEN = ClusterSums(np.array([np.nan, 1]), np.ones(2), np.ones(2), np.ones(2, dtype=np.int64))


def separate(new: ClusterSums, base: ClusterSums) -> Difference:
    return difference_interval(new, base, design=Design.SEPARATE)


def reversed_of(interval: Interval) -> object:
    return pytest.approx((-interval.upper, -interval.lower), abs=1e-11)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[ClusterSums, ClusterSums]:
    """Two arms over the same tasks, some of them in one arm only."""
    size = draw(st.integers(2, 10))

    def one_arm() -> ClusterSums:
        n = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
        passes = np.array([draw(st.integers(0, int(one))) for one in n], dtype=float)
        return ClusterSums(passes, n.astype(float), n.astype(float), n)

    return one_arm(), one_arm()


@settings(max_examples=50)
@given(records(), records())
def test_swapping_the_arms_turns_the_interval_over(new: Records, base: Records) -> None:
    """Base minus new is minus new minus base, in every part of the result."""
    found, swapped = separate(new.sums, base.sums), separate(base.sums, new.sums)
    assert swapped.estimate == -found.estimate
    for name in ("interval", "cr2", "effective"):
        assert getattr(swapped, name) == reversed_of(getattr(found, name))
    assert (swapped.df, swapped.sparse) == (pytest.approx(found.df), found.sparse)


@settings(max_examples=50)
@given(records(), records())
def test_fails_for_passes_turn_the_interval_over(new: Records, base: Records) -> None:
    """A difference of fail rates is minus the difference of pass rates."""
    found, mirrored = separate(new.sums, base.sums), separate(-new.sums, -base.sums)
    assert mirrored.interval == reversed_of(found.interval)


@settings(max_examples=50)
@given(records(), records())
def test_the_hull_holds_both_its_parts(new: Records, base: Records) -> None:
    """Smaller lower and larger upper limit; both parts are kept and hold the estimate."""
    found = separate(new.sums, base.sums)
    for part in (found.cr2, found.effective):
        assert found.interval.lower <= part.lower <= found.estimate + 1e-12
        assert found.interval.upper >= part.upper >= found.estimate - 1e-12
    assert found.interval.lower in {found.cr2.lower, found.effective.lower}
    assert found.interval.upper in {found.cr2.upper, found.effective.upper}


@given(tasks())
def test_paired_arms_swap_and_mirror(arms: tuple[ClusterSums, ClusterSums]) -> None:
    """The same holds over tasks, whatever method their data take."""
    new, base = arms
    found = difference_interval(new, base, design=Design.PAIRED)
    swapped = difference_interval(base, new, design=Design.PAIRED)
    mirrored = difference_interval(-new, -base, design=Design.PAIRED)
    assert found.method is swapped.method is mirrored.method
    if found.interval is None:
        assert found.reason is not None
        assert swapped.interval is mirrored.interval is None
        return
    assert swapped.interval == reversed_of(found.interval)
    assert mirrored.interval == reversed_of(found.interval)
    assert found.interval.lower <= found.estimate <= found.interval.upper


@pytest.mark.parametrize("method", [newcombe, miettinen_nurminen])
@settings(max_examples=60)
@given(new=RATES, base=RATES)
def test_independent_arms_swap_and_mirror(
    method: Callable[..., Interval], new: Passes, base: Passes
) -> None:
    """Newcombe and Miettinen–Nurminen treat both arms, and passes and fails, alike."""
    found = method(new, base)
    fails = [Passes(one.records - one.passes, one.records) for one in (new, base)]
    assert method(base, new) == pytest.approx((-found.upper, -found.lower), abs=1e-7)
    assert method(*fails) == pytest.approx((-found.upper, -found.lower), abs=1e-7)
    assert -1 <= found.lower <= new.rate - base.rate + 1e-12
    assert found.upper <= 1


@pytest.mark.parametrize("method", [tango, newcombe_paired])
@given(counts=PAIRS)
def test_paired_counts_swap_and_mirror(method: Callable[..., Interval], counts: PairCounts) -> None:
    """So do Tango and Newcombe's paired method."""
    a, b, c, d = counts
    found = method(counts)
    assert method(PairCounts(a, c, b, d)) == pytest.approx((-found.upper, -found.lower), abs=1e-9)
    assert method(PairCounts(d, c, b, a)) == pytest.approx((-found.upper, -found.lower), abs=1e-9)


@settings(max_examples=60)
@given(RATES, RATES, st.floats(-0.9, 0.9))
def test_restricted_rates_are_the_most_likely(new: Passes, base: Passes, apart: float) -> None:
    """No base rate with the new one so far above it makes the data likelier."""

    def surprise(rate: float) -> float:
        total = 0.0
        for arm, p in ((new, rate + apart), (base, rate)):
            for count, share in ((arm.passes, p), (arm.records - arm.passes, 1 - p)):
                total -= count * np.log(max(share, 1e-300))
        return total

    found = restricted_base_rate(new, base, apart)
    lowest, highest = max(0.0, -apart), min(1.0, 1 - apart)
    best = minimize_scalar(surprise, bounds=(lowest, highest), options={"xatol": 1e-10})
    assert surprise(found) <= best.fun + 1e-6


@given(RATES, RATES)
def test_the_test_and_its_interval_agree(new: Passes, base: Passes) -> None:
    """At the lower limit of the score interval the one-sided p is 0.025, up to N/(N-1)."""
    found = miettinen_nurminen(new, base)
    if found.lower <= -1 + 1e-6:
        return
    total = new.records + base.records
    tested = farrington_manning(new, base, null_difference=found.lower)
    assert tested.z == pytest.approx(normal() * np.sqrt(total / (total - 1)), abs=1e-4)


@given(st.integers(2, 80), st.sampled_from([-1, 0, 1]))
def test_no_variance_over_tasks_is_tangos_bound(n: int, way: int) -> None:
    """All tasks alike, or all lost, or all won: the rule for no variance is Tango's limit."""
    new = of_records([float(way >= 0)] * n, range(n))
    base = of_records([float(way <= 0)] * n, range(n))
    counts = pair_counts(new, base)
    found = paired_difference(new, base)
    assert found.method is Method.PAIRED_NO_VARIANCE
    assert found.interval == pytest.approx(tango(counts), abs=1e-9)


def test_tasks_without_a_partner_give_no_certainty() -> None:
    """All pass, but no task is in both arms: nothing is known of how they would differ."""
    here = np.arange(80) < 40
    n = here.astype(np.int64)
    new = ClusterSums(here * 1.0, here * 1.0, here * 1.0, n)
    base = ClusterSums(~here * 1.0, ~here * 1.0, ~here * 1.0, 1 - n)
    found = paired_difference(new, base)
    assert (found.paired_clusters, found.unpaired_clusters) == (0, 80)
    assert found.interval == (-1, 1)


def test_the_same_tasks_and_separate_sessions_differ() -> None:
    """Pairing takes out what tasks have in common; one sum over both arms is that variance."""
    rng = np.random.default_rng(5)
    hard = rng.random(60) * 0.8
    y = [(rng.random((60, 3)) > hard[:, None]).sum(axis=1).astype(float) for _ in range(2)]
    arms = [ClusterSums(one, np.full(60, 3.0), np.full(60, 3.0), np.full(60, 3)) for one in y]
    found, apart = paired_difference(*arms), separate(*arms)
    u = (y[0] - y[0].mean()) / 180 - (y[1] - y[1].mean()) / 180
    assert found.variance == pytest.approx(variance_of_influence(u))
    assert found.variance < 0.8 * apart.variance
    assert found.df == 59


def test_design_and_data_choose_the_method() -> None:
    """One record a task is Tango's, repeats are not, sessions get the hull, none Newcombe."""
    y, other = [1, 1, 0, 1] * 6, [1, 0, 0, 1] * 6
    one = [of_records(scores, range(24)) for scores in (y, other)]
    repeats = [of_records(scores, [i // 2 for i in range(24)]) for scores in (y, other)]
    weighted = [of_records(scores, range(24), w=[1, 2] * 12) for scores in (y, other)]
    single = [of_records(scores, [0] * 24) for scores in (y, other)]

    def method(arms: list[ClusterSums], design: Design, *, unbounded: bool = False) -> Method:
        return difference_interval(*arms, design=design, unbounded=unbounded).method

    assert method(one, Design.PAIRED) is Method.TANGO
    assert method(repeats, Design.PAIRED) is Method.PAIRED
    assert method(weighted, Design.PAIRED) is Method.PAIRED
    assert method(one, Design.PAIRED, unbounded=True) is Method.PAIRED
    assert method(one, Design.SEPARATE) is Method.HULL
    assert method(one, Design.SEPARATE, unbounded=True) is Method.CR2
    assert method(one, Design.NO_CLUSTERS) is Method.NEWCOMBE
    assert method(weighted, Design.NO_CLUSTERS) is Method.HULL
    assumed = [difference_interval(*one, design=design).independence_assumed for design in Design]
    assert assumed == [False, False, True]
    together = difference_interval(*single, design=Design.NO_CLUSTERS)
    assert together.interval == newcombe(Passes(18, 24), Passes(12, 24))
    assert together.reason is None
    assert not together.few_clusters


@pytest.mark.parametrize(
    ("new", "base", "reason"),
    [
        (of_records([], []), of_records([1, 0], "ab"), Undefined.NO_RECORDS),
        (of_records([1, 0], "ab"), of_records([], []), Undefined.NO_RECORDS),
        (of_records([1, 0], "aa"), of_records([1, 0], "ab"), Undefined.TOO_FEW_CLUSTERS),
        (of_records([1, 0], "ab", w=[0, 0]), of_records([1, 0], "ab"), Undefined.NO_RECORDS),
        (of_records([3, 0], "ab"), of_records([1, 0], "ab"), Undefined.NOT_A_PROPORTION),
        (BROKEN, of_records([1, 0], "ab"), Undefined.CONTRACT_VIOLATION),
    ],
)
def test_separate_arms_without_an_interval_say_why(
    new: ClusterSums, base: ClusterSums, reason: Undefined
) -> None:
    """An empty arm, one cluster, no weight, a score of 3: a reason and no interval."""
    found = separate(new, base)
    assert (found.interval, found.reason) == (None, reason)
    known = {Undefined.TOO_FEW_CLUSTERS, Undefined.NOT_A_PROPORTION}
    assert (found.estimate is not None) == (reason in known)
    assert found.few_clusters


@pytest.mark.parametrize(
    ("new", "base", "reason"),
    [
        (of_records([], []), of_records([], []), Undefined.NO_RECORDS),
        (of_records([1], "a"), of_records([0], "a"), Undefined.TOO_FEW_CLUSTERS),
        (of_records([3, 0], "ab"), of_records([1, 0], "ab"), Undefined.NOT_A_PROPORTION),
        (of_records([1, 0], "ab", w=[0, 0]), of_records([1, 0], "ab"), Undefined.NO_RECORDS),
        (of_records([1, 0], "ab"), BROKEN, Undefined.CONTRACT_VIOLATION),
    ],
)
def test_paired_arms_without_an_interval_say_why(
    new: ClusterSums, base: ClusterSums, reason: Undefined
) -> None:
    """No task, one task, no weight, a score of 3: a reason and no interval."""
    found = difference_interval(new, base, design=Design.PAIRED)
    assert (found.interval, found.reason) == (None, reason)


def test_scores_that_never_vary_claim_no_certainty() -> None:
    """Unbounded scores all alike have a difference and no interval of width 0."""
    alike = of_records([3.0] * 40, range(40))
    for design in (Design.SEPARATE, Design.PAIRED):
        found = difference_interval(alike, alike, design=design, unbounded=True)
        assert (found.estimate, found.interval) == (0, None)
        assert found.reason is Undefined.NO_VARIATION


def test_arms_over_other_tasks_are_refused() -> None:
    """Places that do not belong together are a mistake of the caller, and loud."""
    with pytest.raises(ValueError, match="3 and 2 places"):
        paired_difference(of_records([1, 1, 0], "abc"), of_records([1, 0], "ab"))


def test_few_clusters_are_marked() -> None:
    """19 sessions in an arm are few, 20 are not; a dominant one makes few of many."""

    def arm(sizes: list[int]) -> ClusterSums:
        ids = [g for g, size in enumerate(sizes) for _ in range(size)]
        return of_records([float(i % 4 > 0) for i in range(len(ids))], ids)

    base = group(arm([4] * 60))
    assert separate_difference(group(arm([4] * 19)), base).few_clusters
    assert not separate_difference(group(arm([4] * 20)), base).few_clusters
    assert separate_difference(group(arm([5] * 29 + [200])), base).few_clusters


@pytest.mark.parametrize("empty", [Passes(0, 0), Passes(3, 5)])
def test_arms_without_records_have_no_independent_interval(empty: Passes) -> None:
    """Zero records are no rate of 0."""
    for method in (newcombe, miettinen_nurminen):
        assert (method(empty, Passes(1, 2)) is None) == (empty.records == 0)
    assert farrington_manning(Passes(0, 5), Passes(0, 5), null_difference=0.0) is None
    assert tango(PairCounts(0, 0, 0, 0)) is newcombe_paired(PairCounts(0, 0, 0, 0)) is None


def test_influence_needs_two_clusters_and_numbers() -> None:
    """One cluster has no variance, and infinity is none."""
    assert variance_of_influence(np.array([0.5])) is None
    assert variance_of_influence(np.array([0.5, -0.5]), np.zeros(0)) is None
    assert variance_of_influence(np.array([np.nan, 1.0])) is None


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(confidence: float) -> None:
    """95 is no confidence; 0.95 is, and so is the largest number below 1."""
    sums = of_records([1, 0, 1, 1], "abcd")
    with pytest.raises(ValueError, match="between 0 and 1"):
        difference_interval(sums, sums, design=Design.SEPARATE, confidence=confidence)
    widest = difference_interval(
        sums, sums, design=Design.SEPARATE, confidence=float(np.nextafter(1, 0))
    ).interval
    assert np.isfinite(widest).all()
