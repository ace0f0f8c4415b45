"""Which rules of a plan a verdict alone decides; all others are words that a person judges."""

from core.domain.statistics.gate import Verdict

_REGRESSION = frozenset(
    {
        "regression",
        "regression at any look",
        "regression at a planned look",
        "regression at any planned look",
    }
)
"""Rules that say nothing but the verdict, whatever their case and full stop."""


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
    if " ".join(rule.casefold().rstrip(". ").split()) not in _REGRESSION:
        return None
    if verdict is None or verdict is Verdict.HOLD:
        return None
    return verdict is Verdict.REGRESSION
