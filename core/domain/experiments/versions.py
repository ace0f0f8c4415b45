"""Versions of one experiment's plan: which was in force, and what was known when it came."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.domain.experiments.arms import Arm
from core.domain.experiments.evidence import Evidence, EvidenceLine, whose
from core.domain.experiments.plan import ExperimentPlan
from core.errors import EntryError

REGISTERED_AFTER_DATA = "registered_after_data"
FirstData = Mapping[Arm, float | None]
"""When the first request of each arm's period began, seconds since the epoch; None: none."""


@dataclass(frozen=True)
class PlanRow:
    """One plan as it was stored."""

    experiment: str
    version: int
    plan_hash: str
    registered_at: float
    registered_by: str
    body: str


@dataclass(frozen=True)
class PlanVersion:
    """One version of a plan; its number is its place in the order of registration."""

    number: int
    plan: ExperimentPlan
    plan_hash: str
    registered_at: float
    registered_by: str


@dataclass(frozen=True)
class BrokenPlan:
    """A stored plan that cannot be used: it cannot be read, or is not what was registered."""

    number: int
    plan_hash: str
    fault: str


@dataclass(frozen=True)
class History:
    """All versions of one experiment, oldest first; none is ever left out."""

    versions: tuple[PlanVersion, ...] = ()
    broken: tuple[BrokenPlan, ...] = ()

    @property
    def newest(self) -> PlanVersion | None:
        """The version registered last."""
        return self.versions[-1] if self.versions else None

    @property
    def next_number(self) -> int:
        """Number of the version that would come next."""
        return len(self.versions) + len(self.broken) + 1

    def in_force(self, at: float) -> PlanVersion | None:
        """The version that held at a moment; None before the first was registered."""
        return next((v for v in reversed(self.versions) if v.registered_at <= at), None)

    def by_hash(self, plan_hash: str) -> PlanVersion | None:
        """The first version with this content."""
        return next((v for v in self.versions if v.plan_hash == plan_hash), None)


def history(rows: Iterable[PlanRow]) -> History:
    """Put the stored plans of one experiment in order; one sent twice in a row is one."""
    order = sorted(rows, key=lambda row: (row.registered_at, row.version, row.plan_hash))
    distinct = [next(same) for _, same in groupby(order, key=lambda row: row.plan_hash)]
    read = [_read(number, row) for number, row in enumerate(distinct, start=1)]
    return History(
        tuple(one for one in read if isinstance(one, PlanVersion)),
        tuple(one for one in read if isinstance(one, BrokenPlan)),
    )


def _read(number: int, row: PlanRow) -> PlanVersion | BrokenPlan:
    if hashlib.sha256(row.body.encode()).hexdigest() != row.plan_hash:
        return BrokenPlan(number, row.plan_hash, "its text is not the one that was registered")
    try:
        plan = ExperimentPlan.from_json(row.body)
    except EntryError as error:
        return BrokenPlan(number, row.plan_hash, error.detail)
    return PlanVersion(number, plan, row.plan_hash, row.registered_at, row.registered_by)


@dataclass(frozen=True)
class Marks:
    """What was known when a version was registered.

    Parameters
    ----------
    seen_arms : tuple of Arm
        Arms of which data existed.
    first_data_at : float or None
        When the earliest of them began.
    edited_after_data : bool
        Whether it changed a plan whose data existed.
    """

    seen_arms: tuple[Arm, ...]
    first_data_at: float | None
    edited_after_data: bool

    @property
    def registered_after_data(self) -> bool:
        """Whether data of its own arms existed: then it is no plan made before them."""
        return bool(self.seen_arms)


def marks(versions: Sequence[PlanVersion], first_data: Sequence[FirstData]) -> list[Marks]:
    """Marks of each version, oldest first.

    Parameters
    ----------
    first_data : sequence
        One for each version: its arms' first data, each inside the arm's period.
    """
    pairs = list(zip(versions, first_data, strict=True))
    return [
        Marks(
            seen_arms=_seen(version.registered_at, data),
            first_data_at=_earliest(data),
            edited_after_data=any(_seen(version.registered_at, old) for _, old in pairs[:place]),
        )
        for place, (version, data) in enumerate(pairs)
    ]


def _seen(at: float, data: FirstData) -> tuple[Arm, ...]:
    return tuple(arm for arm in Arm if (first := data.get(arm)) is not None and first < at)


def _earliest(data: FirstData) -> float | None:
    return min((at for at in data.values() if at is not None), default=None)


def judge_registration(version: PlanVersion, mark: Marks) -> Evidence:
    """Reason to hold where data existed before the plan: value is when it came, in seconds."""
    if not mark.registered_after_data:
        return Evidence()
    line = EvidenceLine.checked(
        reason=REGISTERED_AFTER_DATA,
        of=whose(mark.seen_arms),
        value=float(version.registered_at),
        limit=mark.first_data_at,
        at=float(version.registered_at),
    )
    return Evidence(holds=(line,))
