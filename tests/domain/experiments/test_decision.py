"""Decisions, and which of them go past the gate."""

from typing import Any

import pytest

from core.domain.experiments.decision import Decision, DecisionRecord, is_override
from core.domain.experiments.evidence import EvidenceLine
from core.domain.statistics.gate import Verdict
from core.errors import EntryError

HOLD = EvidenceLine.checked(reason="another_change")


@pytest.mark.parametrize("verdict", [*Verdict, None])
def test_to_promote_needs_non_inferior(verdict: Verdict | None) -> None:
    """Whatever else the verdict, to promote is an override; without one, too."""
    assert is_override(Decision.PROMOTE, verdict) == (verdict is not Verdict.NON_INFERIOR)


def test_a_hold_found_later_makes_it_an_override() -> None:
    """A change logged after the look is a reason to hold all the same."""
    assert is_override(Decision.PROMOTE, Verdict.NON_INFERIOR, holds=[HOLD])


@pytest.mark.parametrize("decision", [Decision.CONTINUE, Decision.STOP, Decision.ROLL_BACK])
@pytest.mark.parametrize("verdict", [*Verdict, None])
def test_to_stop_is_never_an_override(decision: Decision, verdict: Verdict | None) -> None:
    """To go on, to stop and to roll back need no verdict."""
    assert not is_override(decision, verdict, holds=[HOLD])


def record(**changed: Any) -> DecisionRecord:
    fields = {
        "experiment": "x",
        "decision": Decision.PROMOTE,
        "by": "Mina",
        "verdict": Verdict.INCONCLUSIVE,
        "override": True,
        "reason": "the old model goes away on Friday",
    }
    return DecisionRecord.checked(**fields | changed)


def test_an_override_is_kept_with_name_and_reason() -> None:
    """Both come back as they were given."""
    again = DecisionRecord.from_json(record().to_json())
    assert (again.by, again.reason, again.override) == (
        "Mina",
        "the old model goes away on Friday",
        True,
    )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"reason": None}, "reason"),
        ({"reason": "  "}, "reason"),
        ({"by": ""}, "by"),
        ({"by": "x" * 501}, "by"),
        ({"override": False}, "override"),
        ({"override": False, "verdict": None}, "override"),
        ({"override": False, "verdict": Verdict.HOLD}, "override"),
    ],
)
def test_an_override_without_name_or_reason_is_refused(changed: Any, fault: str) -> None:
    """Nor can one be recorded as if it were none."""
    with pytest.raises(EntryError, match=fault):
        record(**changed)
