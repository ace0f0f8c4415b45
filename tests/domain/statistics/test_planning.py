"""Plans: sizes that rise with what is asked, and no size where none is enough."""

from math import ceil, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.statistics.independent import Passes, restricted_base_rate
from core.domain.statistics.planning import (
    ArmSize,
    arm_size,
    clusters_for,
    design_effect,
    detectable_margin,
    discordance_variance,
    icc_of_passes,
    records_needed,
    tasks_needed,
)


@pytest.mark.parametrize(
    ("rates", "margin", "power", "wald", "fm"),
    [
        ((0.95, 0.95), 0.02, 0.90, 2496, 2545),
        ((0.95, 0.95), 0.02, 0.80, 1865, 1907),
        ((0.90, 0.90), 0.05, 0.80, 566, 581),
        ((0.94, 0.95), 0.03, 0.90, 2730, 2793),
    ],
)
def test_sizes_are_those_whose_power_was_simulated(
    rates: tuple[float, float], margin: float, power: float, wald: int, fm: int
) -> None:
    """The four plans of the reference table, for both tests."""
    base = restricted_base_rate(Passes(rates[0], 1), Passes(rates[1], 1), -margin)
    plain = records_needed(*rates, margin=margin, power=power)
    strict = records_needed(*rates, margin=margin, power=power, restricted=(base - margin, base))
    assert plain is not None
    assert strict is not None
    assert (ceil(plain), ceil(strict)) == (wald, fm)


@pytest.mark.parametrize("p_new", [0.93, 0.9])
def test_a_loss_of_the_margin_cannot_be_shown_to_be_smaller(p_new: float) -> None:
    """No number of records is enough, also where arithmetic leaves a rest of 1e-17."""
    assert records_needed(p_new, 0.95, margin=0.02) is None
    assert tasks_needed(0.1, delta=-0.02, margin=0.02) is None


@given(st.floats(0.6, 0.99), st.floats(0.01, 0.1), st.floats(0.5, 0.95))
def test_more_is_needed_for_less_margin_and_more_power(
    rate: float, margin: float, power: float
) -> None:
    """The size falls with the margin and rises with the power."""
    size = records_needed(rate, rate, margin=margin, power=power)
    tighter = records_needed(rate, rate, margin=margin * 0.9, power=power)
    surer = records_needed(rate, rate, margin=margin, power=power + 0.02)
    assert size is not None
    assert tighter is not None
    assert surer is not None
    assert size < min(tighter, surer)


def test_what_cannot_be_planned_has_no_size() -> None:
    """Rates without any spread, and coverage of nothing, are no plan for 0 requests."""
    assert records_needed(1.0, 1.0, margin=0.02) is None
    assert arm_size(100, effect=1.0, mean_size=5, coverage=0.0) is None


def test_whole_numbers_are_not_rounded_up_again() -> None:
    """1.1 times 10 is 11, whatever floats say."""
    assert arm_size(10, effect=1.1, mean_size=1) == ArmSize(11, 11)


def test_missing_scores_and_weights_ask_for_more() -> None:
    """Half coverage doubles the requests; weights multiply the effect."""
    assert arm_size(100, effect=2.0, mean_size=5, coverage=0.5) == ArmSize(400, 80)
    plain = design_effect(5, cv_size=1, icc=0.1)
    assert design_effect(5, cv_size=1, icc=0.1, cv_weights=0.5) == pytest.approx(plain * 1.25)


@pytest.mark.parametrize(
    ("n", "passes"), [([4], [2.0]), ([1, 1, 1], [1.0, 0, 1]), ([3, 3], [3.0, 3.0])]
)
def test_no_correlation_is_made_up(n: list[int], passes: list[float]) -> None:
    """One cluster, single records, or records all alike say nothing about it."""
    assert icc_of_passes(np.array(n), np.array(passes)) is None


def test_a_negative_correlation_is_shown_and_not_planned_with() -> None:
    """Clusters more alike than chance have a negative estimate; a plan takes 0."""
    found = icc_of_passes(np.full(4, 4), np.full(4, 2.0))
    assert found is not None
    assert found.icc == pytest.approx(-1 / 3)
    assert found.for_planning == 0.0


def test_the_estimate_finds_the_correlation_that_data_were_made_with() -> None:
    """Beta-distributed cluster rates of correlation 0.2."""
    rng = np.random.default_rng(5)
    rates = rng.beta(0.8 * 4, 0.2 * 4, size=20_000)
    n = rng.integers(2, 9, size=rates.size)
    found = icc_of_passes(n, rng.binomial(n, rates).astype(float))
    assert found is not None
    assert found.icc == pytest.approx(0.2, abs=0.01)


def test_without_an_error_no_margin_is_detectable() -> None:
    """A variance of nothing does not let any margin pass."""
    assert detectable_margin(0.0, df=40) is None
    assert detectable_margin(0.01, df=0) is None
    assert clusters_for(40, se=0.0, se_target=0.01) is None
    assert discordance_variance(0, 0, tasks=0) is None


@given(st.floats(0.001, 0.1), st.floats(3, 1000))
def test_few_clusters_cost_margin(se: float, df: float) -> None:
    """Student's quantiles are wider than the normal ones."""
    by_t, by_z = detectable_margin(se, df=df), detectable_margin(se, df=inf)
    assert by_t is not None
    assert by_z is not None
    assert by_t > by_z
