"""Looks: what all spend together is the level, unequal looks and early ends too."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from core.domain.statistics.crossing import crossing_probability
from core.domain.statistics.sequential import (
    Spending,
    boundaries,
    confidence_sequence,
    information_fraction,
    repeated_looks_error,
    spent,
)

TABLE = {
    (2, Spending.OBRIEN_FLEMING): (2.9626, 1.9686),
    (3, Spending.OBRIEN_FLEMING): (3.7103, 2.5114, 1.9930),
    (4, Spending.OBRIEN_FLEMING): (4.3326, 2.9631, 2.3590, 2.0141),
    (5, Spending.OBRIEN_FLEMING): (4.8769, 3.3570, 2.6803, 2.2898, 2.0310),
    (2, Spending.POCOCK): (2.1570, 2.2010),
    (3, Spending.POCOCK): (2.2794, 2.2949, 2.2959),
    (4, Spending.POCOCK): (2.3683, 2.3675, 2.3582, 2.3500),
    (5, Spending.POCOCK): (2.4380, 2.4268, 2.4102, 2.3966, 2.3860),
}


def z_of(fractions: list[float], **more: object) -> list[float | None]:
    return [one.z for one in boundaries(fractions, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("looks", "spending"), list(TABLE))
def test_equally_spaced_looks_have_the_published_boundaries(looks: int, spending: Spending) -> None:
    """Four digits of the published tables."""
    found = z_of([k / looks for k in range(1, looks + 1)], spending=spending)
    assert found == pytest.approx(TABLE[looks, spending], abs=6e-5)


def test_unequal_looks_have_their_own_boundaries() -> None:
    """At 30, 70 and 100 percent of the information."""
    assert z_of([0.3, 0.7, 1.0]) == pytest.approx([3.9286, 2.4387, 2.0000], abs=6e-5)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.floats(0.05, 0.99), min_size=1, max_size=3, unique=True),
    st.sampled_from(list(Spending)),
)
def test_all_looks_together_spend_the_level(fractions: list[float], spending: Spending) -> None:
    """The multivariate normal distribution, another way to integrate, agrees."""
    t = sorted([*fractions, 1.0])
    found = boundaries(t, spending=spending)
    used = [one for one in found if one.z is not None]
    times = np.array([one.fraction for one in used])
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    below = multivariate_normal(cov=correlation, allow_singular=True, seed=1).cdf(
        [one.z for one in used]
    )
    assert 1 - below == pytest.approx(0.025, abs=2e-4)
    assert found[-1].spent == 0.025


def test_boundaries_do_not_move_when_later_looks_come() -> None:
    """What was decided at a look stays decided, whatever comes after."""
    assert z_of([0.3, 0.7]) == z_of([0.3, 0.7, 0.8, 1.0])[:2]


@pytest.mark.parametrize("last", [0.85, 1.0, 1.2])
def test_the_last_look_spends_the_rest(last: float) -> None:
    """More or less information than planned: earlier looks keep theirs, the sum is the level."""
    found = boundaries([0.3, 0.7, last], ended=True)
    assert [one.z for one in found[:2]] == z_of([0.3, 0.7])
    bounds = [one.z for one in found if one.z is not None]
    assert crossing_probability(bounds, [0.3, 0.7, last]) == pytest.approx(0.025, abs=1e-9)


def test_a_look_short_of_the_plan_does_not_spend_all() -> None:
    """Only an end spends the rest."""
    assert boundaries([0.3, 0.7])[-1].spent == spent(0.7)


def test_a_look_that_can_spend_nothing_cannot_decide() -> None:
    """So early a look has no boundary, and later ones are as if it had not been."""
    early, *later = boundaries([0.01, 0.5, 1.0])
    assert (early.z, early.level, early.confidence) == (None, None, None)
    assert [one.z for one in later] == z_of([0.5, 1.0])


def test_a_look_without_new_data_cannot_decide() -> None:
    """The same data a second time spend nothing, and later looks are as if it had not been."""
    first, again, last = z_of([0.5, 0.5 + 1e-9, 1.0])
    assert again is None
    assert [first, last] == z_of([0.5, 1.0])


def test_looks_close_together_are_still_exact() -> None:
    """Fine steps need fine integration."""
    fractions = [0.5, 0.501, 0.502, 1.0]
    bounds = [z for z in z_of(fractions, spending=Spending.POCOCK) if z is not None]
    correlation = np.sqrt(
        np.minimum.outer(fractions, fractions) / np.maximum.outer(fractions, fractions)
    )
    drawn = multivariate_normal(cov=correlation, seed=2).rvs(400_000, random_state=3)
    assert (drawn > bounds).any(axis=1).mean() == pytest.approx(0.025, abs=1e-3)


def test_the_level_of_a_look_is_that_of_its_interval() -> None:
    """Confidence 2Φ(b) - 1 leaves the one-sided level on either side."""
    last = boundaries([0.5, 1.0])[-1]
    assert last.level == pytest.approx(0.024498, abs=1e-5)
    assert last.confidence == pytest.approx(1 - 2 * 0.024498, abs=2e-5)


@pytest.mark.parametrize("fractions", [[0.0, 1.0], [0.5, 0.5], [0.7, 0.3], [-0.1]])
def test_fractions_that_do_not_rise_are_refused(fractions: list[float]) -> None:
    """Information never shrinks."""
    with pytest.raises(ValueError, match="rise"):
        boundaries(fractions)


def test_every_look_more_costs_level() -> None:
    """A dashboard that refreshes is a look."""
    errors = [repeated_looks_error(looks, z=1.959964) for looks in (1, 2, 5, 20)]
    assert errors[0] == pytest.approx(0.025, abs=1e-6)
    assert errors == sorted(errors)
    assert errors[-1] > 0.1


def test_a_confidence_sequence_waits_for_a_hundred_clusters() -> None:
    """It holds only approximately, and not for few; it narrows with more."""
    assert confidence_sequence(99, 0.4, tightest_at=5000) is None
    assert confidence_sequence(1000, 0.0, tightest_at=5000) is None
    widths = [confidence_sequence(n, 0.4, tightest_at=5000) for n in (100, 1000, 5000)]
    found = [one.half_width for one in widths if one is not None]
    assert found == sorted(found, reverse=True)
    assert len(found) == 3
    assert found[-1] > 1.96 * 0.4 / sqrt(5000)


def test_information_without_an_error_is_unknown() -> None:
    """A standard error of nothing is no infinite information."""
    assert information_fraction(0.0, se_planned=0.01) is None
