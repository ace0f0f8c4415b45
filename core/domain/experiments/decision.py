"""What was decided about an experiment, by whom, and whether that followed the gate."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from pydantic import model_validator

from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.plan import Slug
from core.domain.experiments.texts import Entered, Line, Text
from core.domain.statistics.gate import Verdict


class Decision(StrEnum):
    """What may be decided at any time, with whatever verdict there is."""

    PROMOTE = "promote"
    CONTINUE = "continue"
    STOP = "stop"
    ROLL_BACK = "roll_back"


def is_override(
    decision: Decision, verdict: Verdict | None, *, holds: Sequence[EvidenceLine] = ()
) -> bool:
    """Whether a decision goes past the gate: to promote needs non-inferior without holds.

    Parameters
    ----------
    verdict : Verdict or None
        Of the look that the decision rests on; None: there was none, or it had no verdict.

    >>> is_override(Decision.PROMOTE, Verdict.INCONCLUSIVE)
    True
    >>> is_override(Decision.PROMOTE, Verdict.NON_INFERIOR), is_override(Decision.STOP, None)
    (False, False)
    """
    passed = verdict is Verdict.NON_INFERIOR and not holds
    return decision is Decision.PROMOTE and not passed


class DecisionRecord(Entered):
    """One decision. When it was made stands beside it, with its row.

    Parameters
    ----------
    plan_hash : str or None
        Version of the plan that was in force.
    look_key : int or None
        Look that the decision rests on; None: none was taken.
    verdict : Verdict or None
        What that look said then.
    override : bool
        Whether it goes past the gate; then it needs a reason.
    """

    experiment: Slug
    decision: Decision
    by: Line
    plan_hash: Line | None = None
    look_key: int | None = None
    verdict: Verdict | None = None
    override: bool
    reason: Text | None = None

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.override and self.reason is None:
            raise ValueError("reason: an override of the gate says why")
        if is_override(self.decision, self.verdict) and not self.override:
            raise ValueError("override: to promote without a non-inferior verdict is one")
        return self
