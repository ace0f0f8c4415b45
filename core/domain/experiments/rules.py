"""Stop and rollback rules of a plan that can be judged; all others are words for a person.

A rule is a line of a plan. One that says nothing but "regression" is judged by the verdict; one
written as `MeasuredRule.line` writes it, by a figure of the arms.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Self

from core.domain.statistics.gate import Verdict

LARGEST, SMALLEST = 1e9, 1e-9
"""Thresholds that can be written in plain digits; 0 can, too."""
_REGRESSION = frozenset(
    {
        "regression",
        "regression at any look",
        "regression at a planned look",
        "regression at any planned look",
    }
)
"""Rules that say nothing but the verdict, whatever their case and full stop."""


class Unit(StrEnum):
    """Unit of a threshold of one arm, as it is written."""

    PERCENT = "%"
    SECONDS = "s"
    TOKENS = "tokens"
    TOKENS_PER_S = "tokens/s"
    REQUESTS_PER_MIN = "requests/min"


POINTS = "pp"
"""Unit of a difference of two percentages."""


class Side(StrEnum):
    """What is held against the threshold."""

    NEW = "new arm"
    DIFFERENCE = "difference"
    """New minus baseline."""


class Direction(StrEnum):
    """On which side of the threshold a rule is met."""

    ABOVE = "above"
    BELOW = "below"


class RuleState(StrEnum):
    """What is known of a rule."""

    MET = "met"
    NOT_MET = "not_met"
    UNKNOWN = "unknown"
    PERSON = "person"
    """It is no rule that can be judged here."""


@dataclass(frozen=True)
class Figure:
    """A figure that rules can name.

    Parameters
    ----------
    name : str
        As plans write it: it never changes, whatever a page calls the figure.
    of_engines : bool
        Whether engines count it, so that it has arms only where they have engines of their own.
    """

    name: str
    unit: Unit
    of_engines: bool = False


FIGURES: Mapping[str, Figure] = {
    "incomplete_rate": Figure("incomplete rate", Unit.PERCENT),
    "arm_first_token_s": Figure("time to first token mean", Unit.SECONDS),
    "arm_first_token_p50": Figure("time to first token p50", Unit.SECONDS),
    "arm_first_token_p95": Figure("time to first token p95", Unit.SECONDS),
    "arm_output_rate": Figure("output rate of requests", Unit.TOKENS_PER_S),
    "gateway_cached_share": Figure("gateway cached share", Unit.PERCENT),
    "request_cached_ratio": Figure("request cached ratio mean", Unit.PERCENT),
    "arm_cached_tokens": Figure("cached tokens per request", Unit.TOKENS),
    "arm_input_tokens": Figure("input tokens per request", Unit.TOKENS),
    "arm_request_rate": Figure("request rate", Unit.REQUESTS_PER_MIN),
    "engine_hit_ratio": Figure("engine hit ratio", Unit.PERCENT, of_engines=True),
    "kv_usage_mean": Figure("kv usage mean", Unit.PERCENT, of_engines=True),
    "engine_queue_s": Figure("queue time mean", Unit.SECONDS, of_engines=True),
    "engine_prefill_s": Figure("prefill time mean", Unit.SECONDS, of_engines=True),
}
"""By key of the catalogue. The quality difference is the gate's business, and none of them."""
_BY_NAME = {figure.name: metric for metric, figure in FIGURES.items()}
_FORM = re.compile(
    r"(?P<name>[^,]+), (?P<side>new arm|difference), (?P<direction>above|below)"
    r" (?P<number>[-−]?[0-9]+(?:\.[0-9]+)?) ?(?P<unit>\S+)"
)


@dataclass(frozen=True)
class MeasuredRule:
    """A figure of the new arm, or its difference, above or below a threshold.

    Parameters
    ----------
    metric : str
        Key of `FIGURES`.
    threshold : float
        In the unit that is written: % of an arm, pp of a difference, s, tokens.

    Raises
    ------
    ValueError
        The threshold is none that the figure could have, or too small or large to be written.
    """

    metric: str
    side: Side
    direction: Direction
    threshold: float

    def __post_init__(self) -> None:
        top = 100.0 if self.figure.unit is Unit.PERCENT else LARGEST
        bottom = -top if self.side is Side.DIFFERENCE else 0.0
        if not bottom <= self.threshold <= top:
            raise ValueError(f"must lie between {bottom:g} and {top:g} {self.unit}")
        if 0 < abs(self.threshold) < SMALLEST:
            raise ValueError(f"must be 0 or at least {SMALLEST:g}")

    @property
    def figure(self) -> Figure:
        """The figure it names."""
        return FIGURES[self.metric]

    @property
    def unit(self) -> str:
        """Unit of the threshold, as it is written."""
        unit = self.figure.unit
        points = unit is Unit.PERCENT and self.side is Side.DIFFERENCE
        return POINTS if points else unit.value

    @property
    def limit(self) -> float:
        """The threshold in the unit of the catalogue: a percentage as a share."""
        return self.threshold / 100 if self.figure.unit is Unit.PERCENT else self.threshold

    def written(self, value: float) -> float:
        """A value of the catalogue's unit in the unit of the threshold."""
        return value * 100 if self.figure.unit is Unit.PERCENT else value

    @property
    def line(self) -> str:
        """The rule as a plan writes it.

        >>> MeasuredRule("incomplete_rate", Side.DIFFERENCE, Direction.ABOVE, 2.0).line
        'incomplete rate, difference, above 2 pp'
        """
        digits = f"{Decimal(repr(self.threshold + 0.0)):f}"
        number = digits.removesuffix(".0")
        return f"{self.figure.name}, {self.side}, {self.direction} {number} {self.unit}"

    @classmethod
    def read(cls, line: str) -> Self | None:
        """The rule that a line of a plan holds; None: it is free text, or cannot be read.

        >>> MeasuredRule.read("Time to first token p95, new arm, above 5 s.").threshold
        5.0
        >>> MeasuredRule.read("incomplete rate, difference, above 2 %") is None
        True
        """
        found = _FORM.fullmatch(_plain(line))
        if found is None or found["name"] not in _BY_NAME:
            return None
        number = float(found["number"].replace("−", "-"))
        side, direction = Side(found["side"]), Direction(found["direction"])
        try:
            rule = cls(_BY_NAME[found["name"]], side, direction, number)
        except ValueError:
            return None
        return rule if found["unit"] == rule.unit else None

    def is_met(self, seen: tuple[float, float] | None) -> bool | None:
        """Whether a figure lies strictly beyond the threshold.

        Parameters
        ----------
        seen : tuple of (float, float) or None
            Least and most the figure can be, unrounded, in the unit of the catalogue: twice the
            same where it is known, the edges of its bucket where only they are. None: unknown.

        Unknown when
        ------------
        The figure is, or the threshold lies between what it can be (None).

        >>> rule = MeasuredRule("arm_first_token_p95", Side.NEW, Direction.ABOVE, 5.0)
        >>> [rule.is_met(seen) for seen in ((5.1, 5.3), (4.9, 5.0), (4.9, 5.1), None)]
        [True, False, None, None]
        """
        if seen is None:
            return None
        low, high = seen
        if self.direction is Direction.ABOVE:
            return True if low > self.limit else False if high <= self.limit else None
        return True if high < self.limit else False if low >= self.limit else None


def misread(line: str) -> str | None:
    """The form to write a line in that begins like a measured rule and is none.

    >>> misread("Incomplete rate of v4 two points up")
    'incomplete rate, difference, above 1 pp'
    >>> misread("incomplete rate, difference, above 2 pp"), misread("reports from users")
    (None, None)
    """
    if MeasuredRule.read(line) is not None:
        return None
    plain = _plain(line)
    stems = {name.removesuffix(" mean"): metric for name, metric in _BY_NAME.items()}
    begun = [stem for stem in stems if plain.startswith(stem)]
    if not begun:
        return None
    metric = stems[max(begun, key=len)]
    return MeasuredRule(metric, Side.DIFFERENCE, Direction.ABOVE, 1.0).line


def is_of_verdict(rule: str) -> bool:
    """Whether a rule says nothing but that there is a regression.

    >>> is_of_verdict("Regression at any planned look."), is_of_verdict("regression of p95")
    (True, False)
    """
    return _plain(rule) in _REGRESSION


def is_met(rule: str, verdict: Verdict | None) -> bool | None:
    """Whether a stop or rollback rule is met by a verdict of a planned look.

    Parameters
    ----------
    rule : str
        One line of a plan.
    verdict : Verdict or None
        The one that stands; None: no planned look was taken.

    Unknown when
    ------------
    The rule says more, or something else, than that there is a regression; or there is no
    verdict, or one on hold (None).

    >>> is_met("Regression at any planned look.", Verdict.REGRESSION)
    True
    >>> is_met("regression", Verdict.INCONCLUSIVE)
    False
    >>> is_met("regression of p95 above 5 s", Verdict.REGRESSION) is None
    True
    """
    if not is_of_verdict(rule) or verdict is None or verdict is Verdict.HOLD:
        return None
    return verdict is Verdict.REGRESSION


def _plain(line: str) -> str:
    """A line whatever its case, spaces and full stop."""
    return " ".join(line.casefold().rstrip(". ").split())
