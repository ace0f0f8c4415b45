"""What was known at one look, kept as it was; the page's later figures never replace it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.plan import Slug
from core.domain.experiments.texts import Entered, Line, Number
from core.domain.statistics.gate import Verdict
from core.errors import EntryError


class LookReason(StrEnum):
    """Why a look was taken, or what it came to."""

    PLANNED_LOOK = "planned_look"
    BOUNDARY = "boundary"
    PLANNED_END = "planned_end"
    SAFETY = "safety"
    OPERATIONAL = "operational"


class LookRecord(Entered):
    """What was known at one look. When it was taken stands beside it, with its row.

    Parameters
    ----------
    number : int or None
        Place among the planned looks, from 1; None: not planned.
    information_planned, information : float or None
        Fractions of the whole; the actual one is None where the plan names no whole.
    spent_alpha : float or None
        One-sided level spent up to and with this look; None: not planned.
    boundary, level : float or None
        Critical value and one-sided level; None: the look spends nothing.
    estimate, lower, upper, se : float or None
        New minus baseline, its interval at this look's level, its standard error.
    df : float or None
        Degrees of freedom; None where the interval has none.
    verdict : Verdict or None
        None: the look was not planned.
    interval_verdict : Verdict or None
        What the interval alone says, kept beside a hold.
    watermark : float or None
        Until when data were read, seconds since the epoch.
    """

    experiment: Slug
    plan_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    number: Annotated[int, Field(ge=1)] | None = None
    final: bool = False
    taken_by: Line
    information_planned: Number | None = None
    information: Number | None = None
    spent_alpha: Number | None = None
    boundary: Number | None = None
    level: Number | None = None
    estimate: Number | None = None
    lower: Number | None = None
    upper: Number | None = None
    se: Number | None = None
    df: Number | None = None
    clusters_new: Annotated[int, Field(ge=0)]
    clusters_base: Annotated[int, Field(ge=0)]
    verdict: Verdict | None = None
    interval_verdict: Verdict | None = None
    holds: tuple[EvidenceLine, ...] = ()
    reason: LookReason
    watermark: Number | None = None


@dataclass(frozen=True)
class TakenLook:
    """A stored look, with its key and its time, seconds since the epoch."""

    look_key: int
    taken_at: float
    record: LookRecord


@dataclass(frozen=True)
class LookRow:
    """One look as it was stored."""

    look_key: int
    experiment: str
    plan_hash: str
    number: int | None
    taken_at: float
    taken_by: str
    verdict: str | None
    body: str


@dataclass(frozen=True)
class BrokenLook:
    """A stored look that cannot be read; it stays in the list."""

    look_key: int
    taken_at: float
    fault: str


@dataclass(frozen=True)
class StoredLooks:
    """All looks of one experiment in the order they were taken."""

    taken: tuple[TakenLook, ...] = ()
    broken: tuple[BrokenLook, ...] = ()


def stored_looks(rows: Iterable[LookRow]) -> StoredLooks:
    """Read the stored looks of one experiment."""
    order = sorted(rows, key=lambda row: (row.taken_at, row.look_key))
    read = [_read(row) for row in order]
    return StoredLooks(
        tuple(one for one in read if isinstance(one, TakenLook)),
        tuple(one for one in read if isinstance(one, BrokenLook)),
    )


def _read(row: LookRow) -> TakenLook | BrokenLook:
    try:
        record = LookRecord.from_json(row.body)
    except EntryError as error:
        return BrokenLook(row.look_key, row.taken_at, error.detail)
    said = (record.plan_hash, record.number, record.verdict)
    if said != (row.plan_hash, row.number, row.verdict):
        return BrokenLook(row.look_key, row.taken_at, "its row and its record say different things")
    return TakenLook(row.look_key, row.taken_at, record)


def counted(looks: Sequence[TakenLook], plan_hash: str) -> tuple[TakenLook, ...]:
    """Planned looks of one version that count: of several with one number, the first taken."""
    first: dict[int, TakenLook] = {}
    for look in sorted(looks, key=lambda one: (one.taken_at, one.look_key)):
        if look.record.plan_hash == plan_hash and look.record.number is not None:
            first.setdefault(look.record.number, look)
    return tuple(sorted(first.values(), key=lambda one: one.taken_at))
