"""The cluster bootstrap: near its exact distribution, repeatable, and off where it misleads."""

import numpy as np
import pytest

from core.domain.statistics import bootstrap
from core.domain.statistics.bootstrap import (
    MOST_CLUSTERS,
    bca_interval,
    bca_levels,
    cluster_bootstrap,
    order_statistic,
    percentile_interval,
    studentised_interval,
)
from core.domain.statistics.difference import separate_difference
from core.domain.statistics.group import Undefined, group
from core.domain.statistics.paired import paired_difference
from core.domain.statistics.replicates import Arms, Replicates
from core.domain.statistics.sums import ClusterSums, of_records


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sessions(size: int, seed: int, *, rate: float = 0.8) -> ClusterSums:
    draw = rng(seed)
    n = draw.integers(1, 9, size)
    passes = draw.binomial(n, draw.beta(rate * 4, (1 - rate) * 4, size)).astype(float)
    return ClusterSums(passes, n.astype(float), n.astype(float), n)


def test_near_the_exact_distribution_of_five_clusters() -> None:
    """Within 0.01 of the standard error and 0.03 of the quantiles of all 3,125 resamples."""
    n = np.array([4, 4, 5, 3, 6])
    sums = ClusterSums(np.array([4.0, 3, 5, 1, 6]), n.astype(float), n.astype(float), n)
    arms = Arms(sums)
    drawn, redrawn = bootstrap._draw(arms, 19_999, rng())
    assert redrawn == 0
    assert drawn.estimates.std() == pytest.approx(0.0985042827, abs=0.01)
    assert percentile_interval(drawn.estimates) == pytest.approx((0.6111111111, 1.0), abs=0.03)
    bca = bca_interval(drawn.estimates, sums.estimate, arms.jackknife())
    assert bca == pytest.approx((0.5555555556, 1.0), abs=0.03)
    assert cluster_bootstrap(sums, rng=rng()).degenerate


@pytest.mark.parametrize("kind", ["one", "separate", "paired"])
def test_near_the_robust_interval_of_many_clusters(kind: str) -> None:
    """With 200 clusters all three intervals are those by the linearised variance."""
    new, base = sessions(200, 2), sessions(200, 3)
    if kind == "one":
        found, error = cluster_bootstrap(new, rng=rng()), group(new).v_lin ** 0.5
    elif kind == "separate":
        found = cluster_bootstrap(new, base, rng=rng())
        error = separate_difference(group(new), group(base)).variance ** 0.5
    else:
        found = cluster_bootstrap(new, base, rng=rng(), paired=True)
        error = paired_difference(new, base).variance ** 0.5
    assert found.standard_error == pytest.approx(error, rel=0.08)
    for interval in (found.percentile, found.bca, found.studentised):
        reach = (found.estimate - interval.lower, interval.upper - found.estimate)
        assert reach == pytest.approx((1.96 * error, 1.96 * error), rel=0.15)


def test_a_seed_gives_one_result() -> None:
    """The seed is recorded, so the result can be had again; another seed gives another."""
    arms = sessions(30, 4), sessions(50, 5)
    one, again, other = (cluster_bootstrap(*arms, rng=rng(seed)) for seed in (7, 7, 8))
    assert one == again
    assert one.standard_error != other.standard_error


def test_chunks_give_every_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the count matrix does not fit, it comes in parts, and the parts are whole."""
    whole = cluster_bootstrap(sessions(30, 4), rng=rng())
    monkeypatch.setattr(bootstrap, "AT_ONCE", 30 * 7)
    parts = cluster_bootstrap(sessions(30, 4), rng=rng())
    assert parts == whole
    assert parts.resamples == 1999


@pytest.mark.parametrize("paired", [False, True])
def test_variances_of_resamples_are_the_linearised_ones(*, paired: bool) -> None:
    """The matrix products give what the method gives on clusters that are really repeated."""
    new, base = sessions(12, 6), sessions(12, 7)
    arms = Arms(new, base, paired=paired)
    counts = [rng(9 + i).multinomial(12, np.full(12, 1 / 12), size=5) for i in arms.sizes]
    drawn = arms.replicates(*counts)
    for row in range(5):
        places = [np.repeat(np.arange(12), k[row]) for k in counts]
        one, other = new.where(places[0]), base.where(places[-1])
        if paired:
            found = paired_difference(one, other, unbounded=True)
            expected = found.variance
        else:
            found = separate_difference(group(one), group(other))
            expected = group(one).v_lin + group(other).v_lin
        assert drawn.estimates[row] == pytest.approx(found.estimate)
        assert drawn.variances[row] == pytest.approx(expected)
    assert arms.variance() == pytest.approx(
        paired_difference(new, base).variance if paired else group(new).v_lin + group(base).v_lin
    )


def test_resamples_without_an_arm_are_drawn_again() -> None:
    """Tasks of one arm only can leave the other empty: such a draw is counted, not used."""
    here = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0])
    new = ClusterSums(np.array([1.0, 0, 1, 0, 0, 0, 0, 0, 0]), here * 1.0, here * 1.0, here)
    base = sessions(9, 8, rate=0.5)
    found = cluster_bootstrap(new, base, rng=rng(), paired=True)
    assert found.redrawn > 0
    assert found.resamples == 1999


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        (of_records([], []), Undefined.NO_RECORDS),
        (of_records([1, 0], "aa"), Undefined.TOO_FEW_CLUSTERS),
        (of_records([1, 1, 1], "abc"), Undefined.DEGENERATE),
        (of_records([1, 0, 1], "abc"), Undefined.DEGENERATE),
        (sessions(MOST_CLUSTERS + 1, 1), Undefined.TOO_MANY_CLUSTERS),
    ],
)
def test_not_shown_where_it_misleads(sums: ClusterSums, reason: Undefined) -> None:
    """No data, one cluster, 100 %, hardly any variance, too many clusters: no interval."""
    found = cluster_bootstrap(sums, rng=rng())
    assert found.reason is reason
    assert found.degenerate == (reason is Undefined.DEGENERATE)
    assert (found.percentile, found.bca, found.studentised) == (None, None, None)


def test_places_in_order_and_between() -> None:
    """Place (B + 1) q where it is whole, else the smallest value with enough below it."""
    assert order_statistic(np.arange(1.0, 2000.0), 0.025) == 50
    assert order_statistic(np.arange(1.0, 2000.0), 0.975) == 1950
    assert order_statistic(np.arange(1.0, 3126.0), 0.025) == 79
    assert order_statistic(np.arange(1.0, 11.0), 0.0) == 1
    assert order_statistic(np.arange(1.0, 11.0), 1.0) == 10


def test_tails_that_are_undefined() -> None:
    """All resamples on one side, no influence at all, or no variance: no such interval."""
    influence = np.array([0.1, -0.1])
    assert bca_levels(np.ones(9), 0.5, influence) is None
    assert bca_levels(np.arange(9.0), 4.0, np.zeros(2)) is None
    still = Replicates(np.ones(9), np.zeros(9))
    assert studentised_interval(still, 1.0, variance=0.1) is None
    assert studentised_interval(still, 1.0, variance=0.0) is None


def test_acceleration_is_bounded() -> None:
    """One cluster with all the influence does not throw the tails away."""
    found = bca_levels(np.arange(99.0), 49.0, np.array([1.0, *[0.0] * 50]))
    assert found.acceleration == pytest.approx(1 / 6)
    assert abs(bca_levels(np.arange(99.0), 49.0, np.array([1.0])).acceleration) <= 0.25
