"""Rank correlation: known values, sessions as units, unknown where nothing varies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.domain.statistics.association import (
    RankSums,
    mid_ranks,
    rank_sums,
    spearman,
    spearman_within,
)
from core.domain.statistics.group import Undefined


def weighted(sums: RankSums, k: np.ndarray) -> RankSums:
    return RankSums(*(k * one for one in (sums.n, sums.x, sums.y, sums.xx, sums.yy, sums.xy)))


def drawn(seed: int, n: int = 120) -> tuple[list[float], list[float], list[int]]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, n) / 5
    y = np.round(x + rng.normal(size=n), 1)
    return x.tolist(), y.tolist(), (np.arange(n) // 4).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_value_is_that_of_another_implementation(seed: int) -> None:
    """With many ties, from sums per session alone."""
    x, y, sessions = drawn(seed)
    found = spearman(rank_sums(x, y, clusters=sessions))
    assert found.rho == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert (found.records, found.clusters, found.df) == (120, 30, 29)


def test_ties_share_the_mean_of_their_ranks() -> None:
    """Three zeros have rank 2."""
    assert mid_ranks([0, 5, 0, 0, 9]).tolist() == [2, 4, 2, 2, 5]


def test_influence_is_the_derivative_with_ranks_held_fixed() -> None:
    """The interval is the one of a central difference in every session's multiplier."""
    sums = rank_sums(*drawn(7)[:2], clusters=drawn(7)[2])
    found, slopes = spearman(sums), []
    for g in range(sums.n.size):
        ends = []
        for step in (1e-5, -1e-5):
            k = np.ones(sums.n.size)
            k[g] += step
            ends.append(correlation(weighted(sums, k)))
        slopes.append((ends[0] - ends[1]) / 2e-5)
    variance = 30 / 29 * float(np.var(slopes)) * 30
    assert found.interval is not None
    assert found.rho is not None
    half = 2.045229642 * variance**0.5
    assert found.interval == pytest.approx((found.rho - half, found.rho + half), abs=1e-7)


def correlation(sums: RankSums) -> float:
    n = sums.n.sum()
    mx, my = sums.x.sum() / n, sums.y.sum() / n
    xx, yy = sums.xx.sum() / n - mx**2, sums.yy.sum() / n - my**2
    return float((sums.xy.sum() / n - mx * my) / np.sqrt(xx * yy))


def test_records_twice_in_their_session_change_nothing() -> None:
    """The unit is the session, not the record."""
    x, y, sessions = drawn(3)
    once = spearman(rank_sums(x, y, clusters=sessions))
    twice = spearman(rank_sums(x * 2, y * 2, clusters=sessions * 2))
    assert once.interval is not None
    assert twice.rho == pytest.approx(once.rho)
    assert twice.interval == pytest.approx(once.interval)


def test_inside_strata_the_difference_between_them_is_gone() -> None:
    """Two strata with a falling relation inside and a rising one between."""
    low, high = ([0, 1, 2, 3], [3, 2, 1, 0]), ([10, 11, 12, 13], [13, 12, 11, 10])
    sessions = [0, 1, 2, 3]
    together = spearman(rank_sums(low[0] + high[0], low[1] + high[1], clusters=sessions * 2))
    inside = spearman_within([rank_sums(*one, clusters=sessions) for one in (low, high)])
    assert together.rho is not None
    assert together.rho > 0
    assert inside.rho == pytest.approx(-1)


def test_a_constant_stratum_is_left_out_and_counted() -> None:
    """It says nothing about an association."""
    varied = rank_sums([0, 1, 2], [1, 0, 2], clusters=[0, 1, 2])
    flat = rank_sums([0, 0, 0], [1, 0, 2], clusters=[0, 1, 2])
    found = spearman_within([varied, flat])
    assert found.rho == pytest.approx(0.5)
    assert (found.records, found.constant) == (3, 1)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([0.5] * 4, [0, 1, 0, 1], Undefined.NO_VARIATION),
        ([0, 1, 0, 1], [1] * 4, Undefined.NO_VARIATION),
        ([0.1], [0.2], Undefined.NO_RECORDS),
        ([], [], Undefined.NO_RECORDS),
    ],
)
def test_without_variation_there_is_no_correlation(
    x: list[float], y: list[float], reason: Undefined
) -> None:
    """None with its reason, not 0."""
    found = spearman(rank_sums(x, y, clusters=range(len(x))))
    assert (found.rho, found.interval, found.reason) == (None, None, reason)


def test_one_session_has_no_interval() -> None:
    """The value stands, its spread is not known."""
    found = spearman(rank_sums([0, 1, 2], [0, 2, 1], clusters=["a"] * 3))
    assert found.rho == pytest.approx(0.5)
    assert (found.interval, found.reason) == (None, Undefined.TOO_FEW_CLUSTERS)


def test_a_perfect_relation_has_no_interval() -> None:
    """A width of nothing is not certainty."""
    found = spearman(rank_sums([0, 1, 2], [0, 1, 2], clusters=[0, 1, 2]))
    assert found.rho == pytest.approx(1)
    assert (found.interval, found.reason) == (None, Undefined.NO_VARIATION)


def test_intervals_cover_for_clustered_records() -> None:
    """Of 300 samples of a known population about 95 percent hold its correlation."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(300):
        shared = np.repeat(rng.normal(size=(60, 2)), 4, axis=0)
        xy = shared + rng.normal(size=(240, 2)) @ np.array([[1, 0.8], [0, 0.6]])
        found = spearman(rank_sums(xy[:, 0], xy[:, 1], clusters=(np.arange(240) // 4).tolist()))
        assert found.interval is not None
        held += found.interval.lower <= 0.3845 <= found.interval.upper
    assert 0.91 <= held / 300 <= 0.98


def test_a_sum_that_is_no_number_breaks_the_contract() -> None:
    """It is neither left out nor passed on, and a record must be known."""
    sums = rank_sums([0, 1, 2], [0, 2, 1], clusters=[0, 1, 2])
    found = spearman(replace(sums, xy=np.array([1.0, np.nan, 3.0])))
    assert (found.rho, found.interval) == (None, None)
    with pytest.raises(ValueError, match="finite"):
        rank_sums([0, np.nan], [0, 1], clusters=[0, 1])
