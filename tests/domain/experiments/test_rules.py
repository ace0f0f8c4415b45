"""Rules of a plan: one form that is measured, and everything else for a person."""

from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.catalogue import METRICS
from core.catalogue import Unit as CatalogueUnit
from core.domain.experiments.rules import (
    FIGURES,
    LARGEST,
    SMALLEST,
    Direction,
    MeasuredRule,
    Side,
    Unit,
    misread,
)
from core.domain.experiments.texts import LONGEST_LINE

UNITS = {
    Unit.PERCENT: CatalogueUnit.RATIO,
    Unit.SECONDS: CatalogueUnit.SECONDS,
    Unit.TOKENS: CatalogueUnit.TOKENS,
    Unit.TOKENS_PER_S: CatalogueUnit.TOKENS_PER_S,
    Unit.REQUESTS_PER_MIN: CatalogueUnit.REQUESTS_PER_MIN,
}


@st.composite
def rules(draw: st.DrawFn) -> MeasuredRule:
    metric, side = draw(st.sampled_from(sorted(FIGURES))), draw(st.sampled_from(Side))
    top = 100.0 if FIGURES[metric].unit is Unit.PERCENT else LARGEST
    size = draw(st.just(0.0) | st.floats(SMALLEST, top))
    sign = draw(st.sampled_from((1.0, -1.0))) if side is Side.DIFFERENCE else 1.0
    return MeasuredRule(metric, side, draw(st.sampled_from(Direction)), sign * size)


@given(rules())
def test_a_line_is_the_rule_it_was_written_from(rule: MeasuredRule) -> None:
    """Every rule has one line, no longer than a plan's, that reads as the same rule."""
    assert MeasuredRule.read(rule.line) == rule
    assert MeasuredRule.read(f"  {rule.line.upper()}. ") == rule
    assert len(rule.line) <= LONGEST_LINE
    assert misread(rule.line) is None


@given(
    st.text() | st.lists(st.sampled_from(list("incomplete rate, new arm above 5%\n"))).map("".join)
)
def test_any_line_is_read_or_left_to_a_person(line: str) -> None:
    """No text breaks the reading, and what is read is written as it was meant."""
    rule = MeasuredRule.read(line)
    assert rule is None or MeasuredRule.read(rule.line) == rule


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("regression", None),
        ("regression and time to first token p95, new arm, above 5 s", None),
        ("an engine out of KV room twice in an hour", None),
        ("accuracy, difference, below 2 pp", None),
        ("incomplete rate, difference, above 2 %", "incomplete rate, difference, above 1 pp"),
        ("incomplete rate, new arm, above 2 pp", "incomplete rate, difference, above 1 pp"),
        ("incomplete rate, new arm, above 101 %", "incomplete rate, difference, above 1 pp"),
        ("incomplete rate, new arm, above -1 %", "incomplete rate, difference, above 1 pp"),
        ("incomplete rate, baseline, above 2 %", "incomplete rate, difference, above 1 pp"),
        ("incomplete rate of v4 two points up", "incomplete rate, difference, above 1 pp"),
        ("request rate, new arm, above 1,000 requests/min",
         "request rate, difference, above 1 requests/min"),
        ("time to first token above 5 s", "time to first token mean, difference, above 1 s"),
        ("time to first token p95, new arm, above 5 s for ten minutes",
         "time to first token p95, difference, above 1 s"),
        ("time to first token p95, new arm, above ٥ s",
         "time to first token p95, difference, above 1 s"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_form_is_not_measured(line: str, form: str | None) -> None:
    """Nothing is guessed; a line that begins like a measured one is told its form."""
    assert MeasuredRule.read(line) is None
    assert misread(line) == form
    assert form is None or MeasuredRule.read(form) is not None


def test_a_figure_has_the_unit_of_the_catalogue() -> None:
    """A rule can name catalogue metrics only, by names of one meaning, in their unit."""
    assert len({figure.name for figure in FIGURES.values()}) == len(FIGURES)
    for metric, figure in FIGURES.items():
        assert METRICS[metric].unit is UNITS[figure.unit], metric
        assert figure.name == figure.name.casefold()
        assert "," not in figure.name
    assert "quality_difference" not in FIGURES


@pytest.mark.parametrize("direction", Direction)
def test_a_threshold_that_is_reached_is_not_passed(direction: Direction) -> None:
    """Strictly beyond it, on unrounded values: the next number after it counts."""
    rule = MeasuredRule("incomplete_rate", Side.DIFFERENCE, direction, 7.0)
    assert rule.limit == 0.07
    outward = inf if direction is Direction.ABOVE else -inf
    for value, met in ((0.07, False), (nextafter(0.07, outward), True)):
        assert rule.is_met((value, value)) is met
    assert rule.is_met((-0.5, -0.5)) is (direction is Direction.BELOW)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((5.1, 5.3), (True, False)),
        ((4.6, 4.9), (False, True)),
        ((4.9, 5.1), (None, None)),
        ((4.8, 5.0), (False, None)),
        ((5.0, 5.2), (None, False)),
        ((4.9, inf), (None, None)),
        ((5.1, inf), (True, False)),
        (None, (None, None)),
    ],
)
def test_a_bucket_around_the_threshold_says_nothing(
    seen: tuple[float, float] | None, expected: tuple[bool | None, bool | None]
) -> None:
    """Where only edges are known, the rule is judged only where both say the same."""
    for direction, met in zip(Direction, expected, strict=True):
        rule = MeasuredRule("arm_first_token_p95", Side.NEW, direction, 5.0)
        assert rule.is_met(seen) is met


@pytest.mark.parametrize("threshold", [float("nan"), inf, -1.0, 101.0, 1e-12])
def test_a_threshold_that_no_figure_has_is_refused(threshold: float) -> None:
    """A rule that could never be met, or not be written, is none."""
    with pytest.raises(ValueError, match="must"):
        MeasuredRule("incomplete_rate", Side.NEW, Direction.ABOVE, threshold)
