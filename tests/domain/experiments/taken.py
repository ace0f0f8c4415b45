"""Looks as they are taken, one after the other, at a plan of three."""

from collections.abc import Sequence
from typing import Any

from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import LookReason, TakenLook
from core.domain.experiments.looks import LookFigures, Standing, standing, take_look
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import PlanVersion
from core.domain.statistics.sums import Interval
from tests.domain.experiments.plans import START, plan


def version(one: ExperimentPlan | None = None) -> PlanVersion:
    """A plan that was registered before its period."""
    one = plan() if one is None else one
    return PlanVersion(1, one, one.plan_hash, START - 3600.0, "Mina")


def now(
    looks: Sequence[TakenLook], information: float | None, *, at: float = START, **more: Any
) -> Standing:
    """Where the experiment stands."""
    return standing(more.get("of", version()), looks, at=at, information_now=information)


def look(
    looks: Sequence[TakenLook],
    information: float | None,
    *,
    interval: tuple[float, float] | None = (-0.04, 0.01),
    clusters: int = 200,
    holds: Sequence[EvidenceLine] = (),
    at: float = START,
    of: PlanVersion | None = None,
    **more: Any,
) -> TakenLook:
    """Take one, with whatever the data said."""
    plan_version = version() if of is None else of
    limits = None if interval is None else Interval(*interval)
    figures = LookFigures(-0.01, limits, 0.012, 150.0, clusters, clusters)
    record = take_look(
        plan_version,
        looks,
        now=now(looks, information, at=at, of=plan_version),
        figures=figures,
        holds=holds,
        by="Mina",
        watermark=at,
        reason=more.get("reason", LookReason.OPERATIONAL),
    )
    return TakenLook(len(looks) + 1, at + len(looks), record)
