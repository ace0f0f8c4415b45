"""Agreement: reference values, the sums of sessions, intervals that can be trusted or not shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.statistics.agreement import (
    Weighting,
    agreeing,
    cohen_kappa,
    flip_rate,
    gwet_ac1,
    true_scale_margin,
)
from core.domain.statistics.agreement_intervals import (
    MOST_CLUSTERS,
    _coefficients,
    agreement_intervals,
)
from core.domain.statistics.group import Undefined
from core.domain.statistics.krippendorff import (
    Metric,
    coincidences,
    krippendorff_alpha,
    value_counts,
)
from core.domain.statistics.proportion import proportion

cells = st.tuples(*[st.integers(0, 40)] * 4).filter(any)


@given(cells)
def test_many_tables_at_once_are_as_each_alone(four: tuple[int, int, int, int]) -> None:
    """The resampled coefficients are the same ones that the tables show."""
    a, b, c, d = four
    kappa, alpha, ac1 = (float(one[0]) for one in _coefficients(np.array([four], float)))
    one = cohen_kappa([[a, b], [c, d]])
    units = np.array([[2, 0]] * a + [[1, 1]] * (b + c) + [[0, 2]] * d)
    other = krippendorff_alpha(coincidences(units), np.array([0.0, 1.0]))
    assert one is not None
    for got, expected in ((kappa, one.kappa), (alpha, other), (ac1, gwet_ac1([[a, b], [c, d]]))):
        assert (np.isnan(got) and expected is None) or got == pytest.approx(expected)


@given(cells)
def test_swapped_raters_agree_as_much(four: tuple[int, int, int, int]) -> None:
    """Neither rater is the truth."""
    a, b, c, d = four
    one, other = cohen_kappa([[a, b], [c, d]]), cohen_kappa([[a, c], [b, d]])
    assert one is not None
    assert other is not None
    assert one.kappa == (None if other.kappa is None else pytest.approx(other.kappa))
    assert one.observed == other.observed


def test_quadratic_weights_forgive_neighbours() -> None:
    """Off by one step of three costs a quarter; for two categories weights change nothing."""
    near, far = [[5, 5, 0], [0, 5, 5], [0, 0, 5]], [[5, 0, 5], [5, 5, 0], [0, 0, 5]]
    values = [cohen_kappa(one, weighting=Weighting.QUADRATIC) for one in (near, far)]
    found = [one.kappa for one in values if one is not None and one.kappa is not None]
    assert found[0] > found[1]
    two = [[20, 5], [10, 15]]
    assert cohen_kappa(two, weighting=Weighting.QUADRATIC) == pytest.approx(cohen_kappa(two))


def test_quadratic_kappa_has_its_textbook_value() -> None:
    """By hand: rows 1,1 / 0,2 / ... worked out from the definition."""
    found = cohen_kappa([[2, 1, 0], [0, 2, 1], [0, 0, 2]], weighting=Weighting.QUADRATIC)
    # disagreement seen 2·(1/4)/8; by margins (3,3,2)/8 and (2,3,3)/8:
    # (3·3 + 3·2 + 3·3 + 2·3)/4 one step, (3·3 + 2·2) two steps, over 64
    seen, expected = 2 / 4 / 8, ((9 + 6 + 9 + 6) / 4 + 13) / 64
    assert found is not None
    assert found.kappa == pytest.approx(1 - seen / expected)


def test_one_category_only_has_no_kappa_and_no_alpha() -> None:
    """All pass by both: perfect agreement, and nothing that chance could be told from."""
    found = cohen_kappa([[50, 0], [0, 0]])
    assert found is not None
    assert (found.observed, found.kappa, found.se) == (1.0, None, None)
    values, counts = value_counts([[1, 1], [1, 1]])
    assert krippendorff_alpha(coincidences(counts), values) is None
    assert gwet_ac1([[50, 0], [0, 0]]) == 1.0


def test_nothing_rated_is_unknown() -> None:
    """Empty tables, units with one value and observations without repeats give None."""
    assert cohen_kappa([[0, 0], [0, 0]]) is None
    assert gwet_ac1([[0, 0], [0, 0]]) is None
    values, counts = value_counts([[1.0], [0.0]])
    assert krippendorff_alpha(coincidences(counts), values) is None
    values, counts = value_counts([])
    assert krippendorff_alpha(coincidences(counts), values) is None
    assert flip_rate(np.array([[1, 0], [0, 1]])) is None
    assert true_scale_margin(0.02, sensitivity=0.5, specificity=0.5) is None


def test_coincidences_of_parts_add_up() -> None:
    """Sums over sessions give the value of all."""
    _, counts = value_counts([[1, 2, 3], [1, 1], [3, 3, 2], [2]])
    parts = coincidences(counts[:2]) + coincidences(counts[2:])
    assert parts == pytest.approx(coincidences(counts))
    assert parts.sum() == pytest.approx(8)


@pytest.mark.parametrize("metric", list(Metric))
def test_full_agreement_is_one(metric: Metric) -> None:
    """Whatever the distance."""
    values, counts = value_counts([[0, 0], [2, 2, 2], [5, 5]])
    assert krippendorff_alpha(coincidences(counts), values, metric=metric) == pytest.approx(1)


def test_percent_agreement_is_a_proportion_of_sessions() -> None:
    """Its interval respects sessions as any pass rate's does."""
    found = proportion(agreeing(np.array([[8, 1, 0, 1]] * 30 + [[4, 0, 3, 0]] * 10)))
    assert found.estimate == pytest.approx((9 * 30 + 4 * 10) / (10 * 30 + 7 * 10))
    assert found.clusters == 40
    assert found.interval is not None


def sessions(seed: int = 1, size: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(6, [0.6, 0.1, 0.05, 0.25], size=size)


def test_intervals_are_repeatable_and_hold_the_estimates() -> None:
    """The same seed gives the same limits, around the values of all sessions."""
    counts = sessions()
    found = agreement_intervals(counts, np.random.default_rng(4))
    again = agreement_intervals(counts, np.random.default_rng(4))
    a, b, c, d = counts.sum(axis=0)
    kappa = cohen_kappa([[a, b], [c, d]])
    assert found == again
    assert found.kappa is not None
    assert kappa is not None
    assert kappa.kappa is not None
    assert found.kappa.lower < kappa.kappa < found.kappa.upper
    assert (found.reason, found.undefined, found.resamples) == (None, 0, 1999)


def test_sessions_without_ratings_change_nothing() -> None:
    """They are no units of this sample."""
    counts = sessions()
    padded = np.concatenate([counts, np.zeros((5, 4), np.int64)])
    one, other = (agreement_intervals(x, np.random.default_rng(4)) for x in (counts, padded))
    assert one == other


def test_too_many_resamples_without_a_value_are_not_shown() -> None:
    """With one failing session of thirty, a third of the resamples have no kappa."""
    counts = np.array([[6, 0, 0, 0]] * 29 + [[4, 0, 0, 2]])
    found = agreement_intervals(counts, np.random.default_rng(4))
    assert (found.kappa, found.alpha) == (None, None)
    assert found.reason is Undefined.DEGENERATE
    assert found.undefined > 500
    assert found.ac1 is not None


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (0, Undefined.TOO_FEW_CLUSTERS),
        (1, Undefined.TOO_FEW_CLUSTERS),
        (MOST_CLUSTERS + 1, Undefined.TOO_MANY_CLUSTERS),
    ],
)
def test_too_few_or_too_many_sessions_are_not_resampled(size: int, reason: Undefined) -> None:
    """A reason stands in place of limits."""
    found = agreement_intervals(sessions(size=size), np.random.default_rng(4))
    assert (found.kappa, found.alpha, found.ac1, found.reason) == (None, None, None, reason)


def test_intervals_cover_for_clustered_ratings() -> None:
    """Of 100 samples of a known population about 95 percent hold its kappa."""
    rng, held = np.random.default_rng(8), 0
    kappa = (0.85 - (0.7 * 0.65 + 0.3 * 0.35)) / (1 - (0.7 * 0.65 + 0.3 * 0.35))
    for _ in range(100):
        shares = rng.dirichlet(np.array([0.6, 0.1, 0.05, 0.25]) * 6, size=80)
        counts = np.array([rng.multinomial(5, share) for share in shares])
        found = agreement_intervals(counts, rng, resamples=399)
        assert found.kappa is not None
        held += found.kappa.lower <= kappa <= found.kappa.upper
    assert held >= 88
