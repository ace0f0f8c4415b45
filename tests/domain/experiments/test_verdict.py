"""The verdict that stands: of the look, until something happens that no look knew."""

import pytest

from core.domain.experiments.evidence import Evidence, EvidenceLine
from core.domain.experiments.look_record import LookRecord
from core.domain.experiments.verdict import StandingVerdict, standing_verdict
from core.domain.statistics.gate import Verdict
from core.domain.statistics.holds import HoldReason
from tests.domain.experiments.taken import look

CHANGE = EvidenceLine(reason="other_change", lever_id=7)
COVERAGE = EvidenceLine(reason=HoldReason.COVERAGE_BELOW_MINIMUM.value, value=0.8, limit=0.9)


@pytest.fixture
def record() -> LookRecord:
    """A planned look that said inconclusive."""
    return look([], 0.35).record


def test_without_a_look_nothing_stands() -> None:
    """However much holds: there is no verdict to turn."""
    assert standing_verdict(None, None, Evidence(holds=(CHANGE,))) == StandingVerdict()


def test_what_happened_since_turns_a_recorded_verdict(record: LookRecord) -> None:
    """The interval's own verdict stays beside the hold."""
    found = standing_verdict(None, record, Evidence(holds=(CHANGE,)))
    assert found == StandingVerdict(Verdict.HOLD, record.interval_verdict, (CHANGE,))


def test_figures_that_moved_since_turn_nothing(record: LookRecord) -> None:
    """Coverage is judged at looks alone."""
    found = standing_verdict(None, record, Evidence(holds=(COVERAGE,)))
    assert found == StandingVerdict(record.verdict, record.interval_verdict)


def test_a_look_that_is_due_is_the_verdict(record: LookRecord) -> None:
    """It knew what holds now: nothing is added to it, and an older look does not count."""
    older = record.model_copy(update={"verdict": Verdict.HOLD, "holds": (COVERAGE,)})
    found = standing_verdict(record, older, Evidence(holds=(CHANGE,)))
    assert found == StandingVerdict(record.verdict, record.interval_verdict)


def test_a_reason_of_the_look_is_told_once(record: LookRecord) -> None:
    """Also where its figures have moved since."""
    then, now = (CHANGE.model_copy(update={"value": n}) for n in (1.0, 2.0))
    known = record.model_copy(update={"verdict": Verdict.HOLD, "holds": (then,)})
    assert standing_verdict(None, known, Evidence(holds=(now,))).holds == (then,)
