"""Estimates and variances of clustered records: what must not change them, and references."""

from itertools import pairwise

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.domain.statistics.group import Group, Undefined, cr3_variance, group
from core.domain.statistics.proportion import mean, proportion
from core.domain.statistics.sums import ClusterSums, of_records
from tests.domain.statistics.strategies import Records, records

SAME = {"rel": 1e-12, "abs": 1e-15}
PIECES = ("estimate", "v_lin", "v_cr2", "df")


def close(one: Group, other: Group, names: tuple[str, ...]) -> None:
    for name in names:
        value, expected = getattr(one, name), getattr(other, name)
        near = {"rel": 0, "abs": 1e-12} if name == "interval" else SAME
        assert value == (expected if expected is None else pytest.approx(expected, **near)), name


@settings(max_examples=60)
@given(records(), st.randoms(use_true_random=False))
def test_order_and_kind_of_id_do_not_matter(rows: Records, random: object) -> None:
    """Rows in any order, and clusters named by numbers, texts or tuples, are one result."""
    order = list(range(len(rows.y)))
    random.shuffle(order)
    named = rows._replace(clusters=[f"session-{one}" for one in rows.clusters])
    paired = rows._replace(clusters=[(one, "x") for one in rows.clusters])
    found = proportion(rows.sums)
    for other in (rows.shuffled(order), named.shuffled(order), paired):
        close(found, proportion(other.sums), (*PIECES, "n_eff", "deff", "kish_n", "interval"))


@settings(max_examples=60)
@given(records(), st.floats(1e-6, 1e6))
def test_scaling_all_weights_changes_nothing(rows: Records, factor: float) -> None:
    """Weights say how records stand to each other; their unit is nobody's business."""
    names = (*PIECES, "n_eff", "deff", "kish_n", "kish_clusters", "largest_share", "interval")
    close(proportion(rows.sums), proportion(rows.scaled(factor).sums), names)


@settings(max_examples=60)
@given(records())
def test_copies_inside_a_cluster_add_no_evidence(rows: Records) -> None:
    """Every row twice under its own id: the same estimate, variances and degrees of freedom."""
    found, twice = group(rows.sums), group(rows.twice().sums)
    close(found, twice, PIECES)
    assert twice.records == 2 * found.records


@settings(max_examples=60)
@given(records(least_clusters=4))
def test_copies_as_new_clusters_halve_the_variance(rows: Records) -> None:
    """Twice the clusters are half the variance, up to G/(G-1)."""
    found = group(rows.sums)
    new = group(rows.twice([f"copy-{one}" for one in rows.clusters]).sums)
    ratio = (2 * found.clusters / (2 * found.clusters - 1)) / (
        found.clusters / (found.clusters - 1)
    )
    assert new.v_lin == pytest.approx(found.v_lin * ratio / 2, **SAME)


@settings(max_examples=60)
@given(records())
def test_passes_and_fails_are_mirror_images(rows: Records) -> None:
    """With every pass a fail the interval is turned over, and nothing else changes."""
    found, mirrored = proportion(rows.sums), proportion(-rows.sums)
    assert mirrored.estimate == pytest.approx(1 - found.estimate)
    close(found, mirrored, ("v_lin", "v_cr2", "df", "n_eff"))
    assert mirrored.interval == pytest.approx((1 - found.interval[1], 1 - found.interval[0]))


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=60))
def test_one_record_a_cluster_is_the_textbook_variance(y: list[float]) -> None:
    """p (1 - p) / (n - 1), by either variance; the degrees of freedom are n - 1."""
    found = group(of_records(y, list(range(len(y)))))
    p, n = float(np.mean(y)), len(y)
    assert found.v_lin == pytest.approx(p * (1 - p) / (n - 1))
    assert found.v_cr2 == pytest.approx(p * (1 - p) / (n - 1))
    assert found.df == pytest.approx(n - 1)


@settings(max_examples=60)
@given(records())
def test_degrees_of_freedom_by_whole_matrices(rows: Records) -> None:
    """The O(G) sums are the trace formula of the written-out quadratic form."""
    sums = rows.sums
    found = group(sums)
    h, s = sums.w / sums.w.sum(), sums.s
    a = np.sqrt(s / (s * (1 - 2 * h) + h**2 * s.sum()))
    e = sums.y - found.estimate * sums.w
    form = np.diag(s) - np.outer(s, h) - np.outer(h, s) + np.outer(h, h) * s.sum()
    form = np.outer(a, a) * form
    assert found.df == pytest.approx(np.trace(form) ** 2 / (form**2).sum(), rel=1e-8)
    assert found.v_cr2 == pytest.approx((a**2 * e**2).sum() / sums.w.sum() ** 2, abs=1e-15)


@settings(max_examples=40)
@given(records())
def test_cr2_is_unbiased_for_independent_records(rows: Records) -> None:
    """Its expectation over independent scores of variance 1 is the variance of their mean.

    The variance is a quadratic form of the scores, so that expectation is the sum of what
    it gives for one record at a time.
    """
    only = np.eye(len(rows.y))
    expected = sum(group(rows._replace(y=one.tolist()).sums).v_cr2 for one in only)
    assert expected == pytest.approx(rows.sums.s.sum() / rows.sums.weight**2)


@settings(max_examples=60)
@given(records(least_clusters=3))
def test_cr3_is_near_the_jackknife(rows: Records) -> None:
    """Leaving one cluster out at a time gives the cross-check, centred on the estimate."""
    sums = rows.sums
    found = group(sums)
    places = np.arange(sums.w.size)
    without = np.array([sums.where(places != g).estimate for g in places])
    jackknife = (places.size - 1) / places.size * ((without - found.estimate) ** 2).sum()
    assert cr3_variance(sums) == pytest.approx(jackknife, rel=1e-9, abs=1e-18)


@settings(max_examples=60)
@given(records())
def test_a_group_is_worth_at_most_its_records(rows: Records) -> None:
    """No lucky small variance makes sessions worth more than independent records."""
    found = proportion(rows.sums)
    assert found.n_eff <= found.records
    assert found.interval.lower <= found.estimate <= found.interval.upper
    assert found.interval.lower >= 0
    assert found.interval.upper <= 1


@pytest.mark.parametrize("y", [0.0, 1.0])
def test_all_passed_or_all_failed_is_not_certain(y: float) -> None:
    """At 0 and 100 % the clusters stand for the records; one limit is exact, one far away."""
    found = proportion(of_records([y] * 40, [i // 5 for i in range(40)]))
    assert found.n_eff == pytest.approx(8)
    assert found.deff is None
    assert found.interval[int(y)] == y
    assert abs(found.interval[1 - int(y)] - y) > 0.4


def test_equal_rates_in_every_cluster_have_no_variance() -> None:
    """Rounding of a third is no variance: five clusters of 2/3 are worth five records."""
    found = proportion(of_records([1, 1, 0] * 5, [i // 3 for i in range(15)], w=[1 / 0.3] * 15))
    assert found.v_cr2 == 0
    assert found.n_eff == pytest.approx(5)


NOTHING = np.zeros(0)
NAN = float("nan")


@pytest.mark.parametrize(
    ("sums", "estimate", "reason"),
    [
        (of_records([], []), None, Undefined.NO_RECORDS),
        (of_records([1, 0], ["a", "b"], w=[0, 0]), None, Undefined.NO_RECORDS),
        (of_records([1, 0], ["a", "a"]), 0.5, Undefined.TOO_FEW_CLUSTERS),
        (of_records([1, 0], ["a", "b"], w=[1, 0]), 1.0, Undefined.TOO_FEW_CLUSTERS),
        (of_records([1, 0], ["a", "b"], w=[1, 1e-30]), 1.0, Undefined.TOO_FEW_CLUSTERS),
        (
            ClusterSums(np.array([NAN, 1]), np.ones(2), np.ones(2), np.ones(2, dtype=np.int64)),
            None,
            Undefined.CONTRACT_VIOLATION,
        ),
        (
            ClusterSums(np.ones(2), np.array([NAN, 1]), np.ones(2), np.ones(2, dtype=np.int64)),
            None,
            Undefined.CONTRACT_VIOLATION,
        ),
        (
            ClusterSums(np.ones(2), np.array([-1.0, 3]), np.ones(2), np.ones(2, dtype=np.int64)),
            None,
            Undefined.CONTRACT_VIOLATION,
        ),
    ],
)
def test_nothing_to_say_is_said(
    sums: ClusterSums, estimate: float | None, reason: Undefined
) -> None:
    """No data, no weight, one cluster, broken sums: a reason and no interval, never 0 %."""
    for found in (proportion(sums), mean(sums)):
        assert found.estimate == estimate
        assert found.interval is None
        assert found.reason is reason
        assert found.n_eff is None
        assert found.few_clusters
    assert cr3_variance(sums) is None


def test_scores_beyond_one_are_no_proportion() -> None:
    """A score of 3 has a mean with an interval, and no pass rate."""
    sums = of_records([3, 4, 5, 4], list("abcd"))
    assert proportion(sums).reason is Undefined.NOT_A_PROPORTION
    assert proportion(sums).interval is None
    assert mean(sums).interval is not None
    assert mean(of_records([3, 3], list("ab"))).reason is Undefined.NO_VARIATION


@settings(max_examples=60)
@given(records(scores=(0.0, 0.25, 1.0)))
def test_more_confidence_is_a_wider_interval(rows: Records) -> None:
    """99 % holds 95 % holds 80 %."""
    assume(mean(rows.sums).interval is not None)
    for method in (proportion, mean):
        found = [method(rows.sums, confidence=level).interval for level in (0.99, 0.95, 0.8)]
        for outer, inner in pairwise(found):
            assert outer.lower <= inner.lower <= inner.upper <= outer.upper


@settings(max_examples=20)
@given(records(scores=(0.0, 0.5, 1.0)))
def test_sums_of_sql_are_the_sums_in_memory(rows: Records) -> None:
    """One GROUP BY in DuckDB gives what of_records gives, and so the same result."""
    table = pd.DataFrame(rows._asdict())
    found = (
        duckdb.from_df(table)
        .query(
            "t",
            "select sum(w * y) as y, sum(w) as w, sum(w * w) as s, count(*) as n"
            " from t group by clusters order by clusters",
        )
        .fetchnumpy()
    )
    sums = ClusterSums(*(np.asarray(found[name]) for name in "yws"), found["n"])
    close(proportion(rows.sums), proportion(sums), (*PIECES, "n_eff", "interval"))
    assert sums.n.tolist() == rows.sums.n.tolist()
