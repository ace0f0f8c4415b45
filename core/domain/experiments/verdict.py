"""Which verdict of an experiment stands: its planned look's, unless something happened since."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.experiments.evidence import Evidence, EvidenceLine
from core.domain.experiments.look_record import LookRecord
from core.domain.statistics.gate import Verdict
from core.domain.statistics.holds import HoldReason


@dataclass(frozen=True)
class StandingVerdict:
    """What stands, and why.

    Parameters
    ----------
    verdict : Verdict or None
        None: no planned look was taken.
    told : Verdict or None
        What the interval alone said at that look, kept beside a hold.
    holds : tuple of EvidenceLine
        Reasons of the look, and those that came after it.
    """

    verdict: Verdict | None = None
    told: Verdict | None = None
    holds: tuple[EvidenceLine, ...] = ()


def standing_verdict(
    due: LookRecord | None, last: LookRecord | None, found: Evidence
) -> StandingVerdict:
    """The verdict of the look that is due, else of the last one, and whether it still holds.

    Parameters
    ----------
    due : LookRecord or None
        The look as it would be recorded now; None: none is due.
    last : LookRecord or None
        The newest planned look that was taken.
    found : Evidence
        What is known now.

    Unknown when
    ------------
    No look is due and none was taken.
    """
    record = due if due is not None else last
    if record is None:
        return StandingVerdict()
    since = () if due is not None else since_the_look(found)
    holds = (*record.holds, *(line for line in since if is_new(line, record.holds)))
    return StandingVerdict(
        Verdict.HOLD if since else record.verdict, record.interval_verdict, holds
    )


def since_the_look(found: Evidence) -> tuple[EvidenceLine, ...]:
    """Reasons that turn a recorded verdict to hold: what happened, not figures that moved.

    Coverage, sessions and the like are judged again at the next look, and are never
    exchanged for those that a look knew.
    """
    figures = set(HoldReason) - {HoldReason.EVALUATOR_VERSION_MISMATCH}
    return tuple(line for line in found.holds if line.reason not in figures)


def is_new(line: EvidenceLine, known: Sequence[EvidenceLine]) -> bool:
    """Whether a reason was not there at the look; its figures may have moved since."""
    same = {(one.reason, one.of, one.lever_id) for one in known}
    return (line.reason, line.of, line.lever_id) not in same
