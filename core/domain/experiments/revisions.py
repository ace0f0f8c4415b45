"""Revisions and evaluators seen in the arms: one that changed inside an arm's period holds.

Several templates side by side all the time are a mixture, not a change. A revision that
began or ended inside an arm's time is one. Where a revision is not reported, a change of
it would not be seen, and that is said.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.experiments.arms import Arm
from core.domain.experiments.evidence import Evidence, EvidenceLine, together
from core.domain.experiments.plan import Series
from core.domain.statistics.holds import HoldReason

REVISIONS = ("template_version", "model", "tokenizer_revision", "engine_revision")
EDGE_SHARE = 0.1
"""A value that is first seen later than this share of the arm's time began inside it."""
RARE_SHARE = 0.01
"""A value of fewer of the arm's requests is noted and does not hold."""


class RevisionReason(StrEnum):
    """What the revisions of an arm say."""

    REVISION_CHANGED = "revision_changed"
    REVISION_MIXED = "revision_mixed"
    REVISION_RARE = "revision_rare"
    REVISION_UNKNOWN = "revision_unknown"


@dataclass(frozen=True)
class SeenRevision:
    """One value of one revision in one arm, with its requests; value None: not reported."""

    arm: Arm
    name: str
    value: str | None
    requests: int
    first_at: float
    last_at: float


@dataclass(frozen=True)
class SeenEvaluator:
    """Records of the primary score in one arm by one version of one evaluator."""

    arm: Arm
    evaluator: str
    version: str | None
    records: int


def judge_revisions(seen: Sequence[SeenRevision]) -> Evidence:
    """Reasons to hold and notes, by arm and revision.

    >>> old = SeenRevision(Arm.NEW, "model", "a", 500, 0.0, 500.0)
    >>> new = SeenRevision(Arm.NEW, "model", "b", 500, 500.0, 1000.0)
    >>> [line.detail for line in judge_revisions([old, new]).holds]
    ['model: a (500), b (500)']
    """
    groups: dict[tuple[Arm, str], list[SeenRevision]] = defaultdict(list)
    for one in seen:
        groups[one.arm, one.name].append(one)
    order = sorted(groups, key=lambda key: (list(Arm).index(key[0]), key[1]))
    return together(_judged(groups[key]) for key in order)


def _judged(group: Sequence[SeenRevision]) -> Evidence:
    total = sum(one.requests for one in group)
    known = sorted((one for one in group if one.value is not None), key=lambda one: one.first_at)
    unknown = [one for one in group if one.value is None]
    found = Evidence()
    if unknown:
        found += Evidence(notes=(_line(RevisionReason.REVISION_UNKNOWN, unknown, total),))
    if len(known) < 2:
        return found
    start, end = min(one.first_at for one in known), max(one.last_at for one in known)
    moved = [one for one in known if _moved(one, start, end)]
    often = [one for one in moved if one.requests > RARE_SHARE * total]
    if often:
        return found + Evidence(holds=(_line(RevisionReason.REVISION_CHANGED, known, total),))
    reason = RevisionReason.REVISION_RARE if moved else RevisionReason.REVISION_MIXED
    return found + Evidence(notes=(_line(reason, known, total),))


def _moved(one: SeenRevision, start: float, end: float) -> bool:
    """Whether a value began or ended inside the arm's time, and not at its edges."""
    edge = EDGE_SHARE * (end - start)
    return one.first_at > start + edge or one.last_at < end - edge


def _line(reason: RevisionReason, group: Sequence[SeenRevision], total: int) -> EvidenceLine:
    """Values with their requests; the share is that of the values after the first."""
    later = group[1:] or group
    listed = ", ".join(f"{one.value or '–'} ({one.requests})" for one in group)
    return EvidenceLine.checked(
        reason=reason.value,
        of=group[0].arm.value,
        value=sum(one.requests for one in later) / total,
        at=float(later[0].first_at),
        detail=f"{group[0].name}: {listed}",
    )


def judge_evaluators(series: Series, seen: Sequence[SeenEvaluator]) -> Evidence:
    """Reason to hold where another version than the plan's scored, or a version is not known.

    >>> from core.domain.experiments.plan import DataType
    >>> series = Series(
    ...     name="ok", evaluator="judge", evaluator_version="2", data_type=DataType.BOOLEAN
    ... )
    >>> judge_evaluators(series, [SeenEvaluator(Arm.NEW, "judge", "2", 40)]).holds
    ()
    >>> judge_evaluators(series, [SeenEvaluator(Arm.NEW, "judge", None, 40)]).holds[0].detail
    'judge – (40), planned 2'
    """
    mine = [one for one in seen if one.evaluator == series.evaluator]
    wrong = [one for one in mine if one.version is None or one.version != series.evaluator_version]
    planned = series.evaluator_version or "–"
    return Evidence(
        holds=tuple(
            EvidenceLine.checked(
                reason=HoldReason.EVALUATOR_VERSION_MISMATCH.value,
                of=one.arm.value,
                value=float(one.records),
                detail=f"{one.evaluator} {one.version or '–'} ({one.records}), planned {planned}",
            )
            for one in wrong
        )
    )
