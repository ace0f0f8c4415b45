"""Several claims: adjusted p-values keep order and family, levels belong to intervals."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.statistics.difference import separate_difference
from core.domain.statistics.gate import confidence_of
from core.domain.statistics.group import group
from core.domain.statistics.multiplicity import (
    benjamini_hochberg,
    critical_values,
    holm,
    one_sided_p,
    selected_confidence,
    smallest_level,
)
from core.domain.statistics.quantiles import student
from core.domain.statistics.sums import of_records

p_values = st.lists(st.none() | st.floats(0, 1), max_size=12)


@given(p_values)
def test_adjusted_values_keep_places_order_and_ties(p: list[float | None]) -> None:
    """None stays in its place; no value falls, none is above 1, equal ones stay equal."""
    for adjusted in (holm(p), benjamini_hochberg(p)):
        assert [one is None for one in adjusted] == [one is None for one in p]
        pairs = sorted((a, b) for a, b in zip(p, adjusted, strict=True) if a is not None)
        assert all(a <= b <= 1 for a, b in pairs if b is not None)
        assert [b for _, b in pairs] == sorted(b for _, b in pairs if b is not None)
        assert len(set(pairs)) == len({a for a, _ in pairs})


@given(p_values)
def test_tests_that_were_not_run_are_no_part_of_the_family(p: list[float | None]) -> None:
    """Leaving them out changes no other value."""
    run = [one for one in p if one is not None]
    for adjust in (holm, benjamini_hochberg):
        assert [one for one in adjust(p) if one is not None] == list(adjust(run))


@given(st.permutations([0.001, 0.01, 0.02, 0.3, 0.9]))
def test_the_order_of_tests_does_not_matter(p: list[float]) -> None:
    """Each p-value has the adjusted value that it has in another order."""
    for adjust in (holm, benjamini_hochberg):
        assert dict(zip(p, adjust(p), strict=True)) == dict(
            zip(sorted(p), adjust(sorted(p)), strict=True)
        )


def test_the_level_of_a_t_interval_is_its_p_value() -> None:
    """Root search and closed form agree."""
    delta, se, df = -0.004, 0.009, 37.0

    def lower(alpha: float) -> float:
        return delta - student(df, confidence=confidence_of(alpha)) * se

    found, closed = smallest_level(lower, 0.02), one_sided_p(delta, se, df=df, margin=0.02)
    assert found == pytest.approx(closed, rel=1e-8)


def test_the_level_of_the_hull_is_where_it_just_passes() -> None:
    """At a level a little above, the interval passes; a little below it does not."""
    sessions = [k // 4 for k in range(240)]
    new = group(of_records([k % 19 != 0 for k in range(240)], sessions))
    base = group(of_records([k % 23 != 0 for k in range(240)], sessions))

    def lower(alpha: float) -> float | None:
        found = separate_difference(new, base, confidence=confidence_of(alpha)).interval
        return None if found is None else found.lower

    level = smallest_level(lower, 0.05)
    assert level is not None
    above, below = lower(level * 1.001), lower(level * 0.999)
    assert above is not None
    assert below is not None
    assert below < -0.05 < above


@pytest.mark.parametrize(
    ("lower", "level"), [(None, None), (-0.02, 1.0), (-0.5, 1.0), (0.1, 6.2e-16)]
)
def test_a_level_at_its_ends(lower: float | None, level: float | None) -> None:
    """No interval, no level; one that never passes 1; one that always does the smallest."""
    assert smallest_level(lambda _alpha: lower, 0.02) == (
        level if level is None else pytest.approx(level, rel=0.01)
    )


def test_a_p_value_without_an_error_is_unknown() -> None:
    """A standard error of nothing proves nothing."""
    assert one_sided_p(0.0, 0.0, df=10, margin=0.02) is None
    assert critical_values(0, df=10) is None
    assert critical_values(3, df=0) is None
    assert selected_confidence(0, 10) is None


def test_more_intervals_are_wider_and_one_is_plain() -> None:
    """Bonferroni's and Sidak's quantiles start at the usual one."""
    one, many = critical_values(1, df=1e9), critical_values(10, df=1e9)
    assert one is not None
    assert many is not None
    assert one.z == pytest.approx(1.959964, abs=1e-6)
    assert one.z_sidak == pytest.approx(one.z)
    assert one.t == pytest.approx(one.z, abs=1e-6)
    assert one.z < many.z_sidak < many.z < inf


@pytest.mark.parametrize("p", [float("nan"), -0.1, 1.1])
def test_what_is_no_p_value_is_refused(p: float) -> None:
    """A test that gave none is None, not a number outside the range."""
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="p-values"):
            adjust([0.01, p])
