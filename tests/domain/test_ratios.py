"""Ratios, sums, means and readings: a number within its bounds, or a reason."""

from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.gauges import mean_of_samples, rate_per_s, sum_of_means
from core.domain.ratios import change, ratio_of_sums, total
from core.domain.reading import Coverage, Reading, Reason

SUMS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 10**9).map(float)


@given(SUMS, SUMS)
def test_a_ratio_is_within_0_and_1_or_unknown(top: float | None, bottom: float | None) -> None:
    """No two sums give a number outside 0 to 1, and the sums stay visible either way."""
    reading = ratio_of_sums("engine_hit_ratio", top, bottom)
    assert (reading.numerator, reading.denominator) == (top, bottom)
    if reading.value is None:
        assert reading.reason in (Reason.NOT_EXPORTED, Reason.CONTRACT_ERROR, Reason.NO_TRAFFIC)
    else:
        assert 0 <= reading.value <= 1


@given(COUNTS, COUNTS)
def test_reasons_tell_why_there_is_no_ratio(top: float, bottom: float) -> None:
    """Zero below the line is no traffic; more above than below cannot be true."""
    reading = ratio_of_sums("engine_hit_ratio", top, bottom)
    if top > bottom:
        assert reading.reason is Reason.CONTRACT_ERROR
    elif bottom == 0:
        assert reading.reason is Reason.NO_TRAFFIC
    else:
        assert reading.value == top / bottom


@given(COUNTS, COUNTS)
def test_a_factor_may_pass_1(top: float, bottom: float) -> None:
    """Where more than 1 is possible it is shown, and zero below the line stays unknown."""
    reading = ratio_of_sums("lookup_inflation", top, bottom, at_most_one=False)
    assert reading.value == (top / bottom if bottom else None)


@given(st.sampled_from(Reason), SUMS)
def test_a_missing_sum_has_the_reason_it_was_given(absent: Reason, other: float | None) -> None:
    """Without one of its sums a ratio is unknown for the reason its caller knows."""
    assert ratio_of_sums("m", None, other, absent=absent).reason is absent
    assert ratio_of_sums("m", other, None, absent=absent).reason is absent


@given(st.lists(st.tuples(COUNTS, COUNTS).map(sorted), min_size=1, max_size=6))
def test_a_ratio_of_sums_lies_between_its_parts(pairs: list[list[float]]) -> None:
    """Sum first, divide last: a fleet is never better or worse than all of its engines."""
    whole = ratio_of_sums("m", sum(a for a, _ in pairs), sum(b for _, b in pairs))
    parts = [v for a, b in pairs if (v := ratio_of_sums("m", a, b).value) is not None]
    if whole.value is None:
        assert parts == []
    else:
        assert min(parts) - 1e-12 <= whole.value <= max(parts) + 1e-12


@pytest.mark.parametrize(("top", "bottom"), [(nan, 1.0), (1.0, nan), (nan, nan), (inf, inf)])
def test_sums_that_are_no_numbers_give_no_number(top: float, bottom: float) -> None:
    """A sum that is NaN or infinite is a contract error, not a NaN that looks measured."""
    reading = ratio_of_sums("engine_hit_ratio", top, bottom)
    assert reading.value is None


@given(st.lists(SUMS, max_size=8), st.randoms(use_true_random=False))
def test_a_total_is_the_sum_of_what_is_known(parts: list[float | None], shuffling: object) -> None:
    """Unknown parts add nothing and hide nothing; only unknowns are unknown together."""
    known = [part for part in parts if part is not None]
    reading = total("preemptions", parts, absent=Reason.TOO_FEW_SCRAPES)
    assert reading.reason is (None if known else Reason.TOO_FEW_SCRAPES)
    assert reading.value == (sum(known) if known else None)
    shuffled = list(parts)
    shuffling.shuffle(shuffled)  # type: ignore[attr-defined]
    again = total("preemptions", shuffled, absent=Reason.TOO_FEW_SCRAPES)
    size = max((abs(part) for part in known), default=0.0)
    assert again.value == (
        pytest.approx(reading.value, rel=1e-9, abs=1e-9 * size) if known else None
    )


def test_a_change_needs_both_readings() -> None:
    """Without a value before or now there is no change, and no change is not zero."""
    known, unknown = Reading("m", 0.5), Reading("m", None, Reason.NO_TRAFFIC)
    assert change(known, Reading("m", 0.25)) == 0.25
    assert change(known, unknown) is change(unknown, known) is change(known, None) is None


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 60)), max_size=8))
def test_a_mean_over_scrapes_lies_between_its_engines(sums: list[tuple[int, int]]) -> None:
    """The mean weighs every scrape alike; without a scrape it is unknown."""
    mean = mean_of_samples([(float(value), n) for value, n in sums])
    if not sums:
        assert mean is None
        return
    means = [value / n for value, n in sums]
    assert mean is not None
    assert min(means) - 1e-9 <= mean <= max(means) + 1e-9


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 60)), max_size=8))
def test_queues_of_engines_add_up(sums: list[tuple[int, int]]) -> None:
    """Each engine counts with its own mean; one without a scrape adds nothing."""
    expected = [value / n for value, n in sums if n]
    found = sum_of_means([(float(value), n) for value, n in sums])
    assert found == (pytest.approx(sum(expected)) if expected else None)


@given(SUMS, st.none() | st.floats(0, 1e9))
def test_a_rate_is_known_only_over_observed_time(
    amount: float | None, seconds: float | None
) -> None:
    """Nothing observed is no rate: not 0, not infinite, not NaN."""
    rate = rate_per_s(amount, seconds)
    if amount is None or not seconds:
        assert rate is None
    else:
        assert rate is not None
        assert not isnan(rate)


def test_a_reading_has_a_value_or_a_reason() -> None:
    """Both, or neither, is refused with what was seen."""
    with pytest.raises(ValueError, match="value=None and reason=None"):
        Reading("m")
    with pytest.raises(ValueError, match=r"value=0\.0"):
        Reading("m", 0.0, Reason.NO_TRAFFIC)
    assert Reading("m", 0.0).known
    assert not Reading("m", None, Reason.NO_ENGINE).known


def test_nothing_expected_has_no_share() -> None:
    """Where nothing was to be observed the covered share is unknown."""
    assert Coverage(0.0, 0.0, 0, 0, 0).share is None
    assert Coverage(0.0, 60.0, 0, 1, 0).share == 0.0
