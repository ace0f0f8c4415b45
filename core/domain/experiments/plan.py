"""The plan of an experiment: everything that must be fixed before its data exist.

A plan never changes. An edited one is another version, with another hash, and both stay.
"""

from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from core.domain.experiments.arms import Arm, Arms, ByTime, Instant, Period
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.levers_guide import LEVERS, QualityCheck, quality_check
from core.domain.experiments.texts import (
    MOST_LINES,
    Entered,
    Fraction,
    Label,
    Line,
    Number,
    Revisions,
    Text,
)
from core.domain.levers import LeverKind
from core.domain.quality import Estimand
from core.domain.statistics.sequential import Spending

ALPHA = 0.025
LARGEST_ALPHA = 0.1
FEWEST_CLUSTERS = 20
LEAST_COVERAGE = 0.90
MOST_LOOKS = 20

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
MetricKey = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Rules = Annotated[tuple[Line, ...], Field(min_length=1, max_length=MOST_LINES)]
Count = Annotated[int, Field(ge=1, le=10**9)]


class DataType(StrEnum):
    """Kind of a score, in the source's own words."""

    NUMERIC = "NUMERIC"
    BOOLEAN = "BOOLEAN"
    CATEGORICAL = "CATEGORICAL"


class Unit(StrEnum):
    """What is assigned to an arm as a whole."""

    SESSION = "session"
    TASK = "task"
    POOL = "pool"
    PERIOD = "period"


UNITS: dict[Comparison, tuple[Unit, ...]] = {
    Comparison.RANDOMISED_CANARY: (Unit.SESSION,),
    Comparison.PAIRED_DATA_SET: (Unit.TASK,),
    Comparison.SEPARATE_POOLS: (Unit.SESSION, Unit.POOL),
    Comparison.BEFORE_AFTER: (Unit.PERIOD,),
}
"""Units that a comparison can assign; requests of one session are never split."""


class Series(Entered):
    """The one series of scores that decides.

    Parameters
    ----------
    name, evaluator : str
        Name of the score, and who gave it.
    evaluator_version : str or None
        None: records carry no version, so that a change of it would not be seen.
    data_type : DataType
    pass_at : float or None
        First passing value of a numeric score; a pass rate of it needs one.
    pass_labels : tuple of str
        Categories that pass; a pass rate of a categorical score needs some.
    """

    name: Label
    evaluator: Label
    evaluator_version: Label | None = None
    data_type: DataType
    pass_at: Number | None = None
    pass_labels: Annotated[tuple[Label, ...], Field(max_length=MOST_LINES)] = ()


class Assumptions(Entered):
    """What the sample plan was calculated from; none of it is a result."""

    p_base: Fraction
    p_new: Fraction
    icc: Annotated[Number, Field(ge=0, lt=1)]
    mean_session_size: Annotated[Number, Field(ge=1, le=1e6)]
    cv_session_size: Annotated[Number, Field(ge=0, le=100)]
    power: Fraction


class PerArm(Entered):
    """A count for each arm."""

    new: Count
    base: Count


class PlannedLook(Entered):
    """A moment at which the gate may decide, by information and perhaps by date."""

    fraction: Annotated[Number, Field(gt=0, le=1)]
    at: Instant | None = None


class ExperimentPlan(Entered):
    """One version of a plan.

    Parameters
    ----------
    experiment : str
        Short name that stays the same over all versions.
    lever : LeverKind
        One of the eight.
    path : str
        By which path the change is meant to work.
    higher_is_better : bool
        Of the pass rate, or of the mean; where it is not, the difference is turned round.
    margin : float
        Largest loss that is accepted: of a pass rate as a proportion, of a mean in its unit.
    alpha : float
        One-sided level.
    ratio : float
        Planned new sessions (or tasks) per one of the baseline.
    minimum_clusters, minimum_coverage
        With less in an arm, the gate holds.
    planned_clusters : PerArm or None
        Clusters at which the information is complete.
    planned_se : float or None
        Standard error at which it is; comes before `planned_clusters`.
    looks : tuple of PlannedLook
        Rising fractions of the information; the last is 1.
    period : Period
        Of observation; the periods of arms by time lie in it.
    load_cycle : str or None
        Why the period spans a whole cycle of the load.
    requests_stand_alone : bool
        Whether a request without a session is a cluster of its own.
    efficiency_metric : str
        Key of the catalogue.
    revisions : tuple of (str, str)
        What is deployed, by name: model, template, tokenizer, engine, settings.
    """

    form: Literal[1] = 1
    experiment: Slug
    title: Line
    lever: LeverKind
    path: Text
    comparison: Comparison
    arms: Arms
    unit: Unit
    primary: Series
    estimand: Estimand
    higher_is_better: bool = True
    margin: Annotated[Number, Field(ge=0)]
    alpha: Annotated[Number, Field(gt=0, le=LARGEST_ALPHA)] = ALPHA
    ratio: Annotated[Number, Field(gt=0, le=1000)] = 1.0
    minimum_clusters: Annotated[int, Field(ge=2, le=10**9)] = FEWEST_CLUSTERS
    minimum_coverage: Annotated[Number, Field(gt=0, le=1)] = LEAST_COVERAGE
    planned_clusters: PerArm | None = None
    planned_se: Annotated[Number, Field(gt=0)] | None = None
    assumptions: Assumptions | None = None
    looks: Annotated[tuple[PlannedLook, ...], Field(min_length=1, max_length=MOST_LOOKS)]
    spending: Spending = Spending.OBRIEN_FLEMING
    period: Period
    load_cycle: Text | None = None
    requests_stand_alone: bool = False
    efficiency_metric: MetricKey
    promote_rules: Rules
    stop_rules: Rules
    rollback_rules: Rules
    previous_settings: Text
    restore_procedure: Text
    revisions: Revisions = ()
    author: Line

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = [*_of_design(self), *_of_score(self), *_of_looks(self)]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def plan_hash(self) -> str:
        """Names this version by its content."""
        return self.digest

    @property
    def quality(self) -> QualityCheck:
        """What the lever and the split of the arms ask of quality."""
        return quality_check(self.lever, self.arms.dimension)

    def period_of(self, arm: Arm) -> Period:
        """When requests belong to one arm."""
        split = self.arms.split
        if isinstance(split, ByTime):
            return split.new if arm is Arm.NEW else split.base
        return self.period


def _of_design(plan: ExperimentPlan) -> Iterable[str]:
    split, period = plan.arms.split, plan.period
    if plan.lever not in LEVERS:
        yield f"lever: {plan.lever} is none of the eight levers"
    if plan.unit not in UNITS[plan.comparison]:
        known = " or ".join(UNITS[plan.comparison])
        yield f"unit: {plan.comparison} assigns by {known}, not by {plan.unit}"
    if isinstance(split, ByTime) != (plan.comparison is Comparison.BEFORE_AFTER):
        yield f"arms: {plan.comparison} cannot split its arms by {split.by}"
    if isinstance(split, ByTime):
        if not all(period.start <= part.start < part.end <= period.end for part in _parts(split)):
            yield "arms: their periods must lie in the observation period"
        if split.new.start < split.base.end:
            yield "arms: the baseline's period comes first"


def _parts(split: ByTime) -> tuple[Period, Period]:
    return split.base, split.new


def _of_score(plan: ExperimentPlan) -> Iterable[str]:
    series, rate = plan.primary, plan.estimand is not Estimand.MEAN
    if rate and plan.margin >= 1:
        yield "margin: of a pass rate it is a proportion, below 1 (2 points are 0.02)"
    if (series.pass_at is not None) != (rate and series.data_type is DataType.NUMERIC):
        yield "primary: a pass rate of a numeric score needs pass_at, and nothing else has it"
    if bool(series.pass_labels) != (rate and series.data_type is DataType.CATEGORICAL):
        yield "primary: a pass rate of categories needs pass_labels, and nothing else has them"
    if not rate and series.data_type is DataType.CATEGORICAL:
        yield "estimand: categories have no mean"
    if plan.estimand is Estimand.COMPOSITE and not plan.higher_is_better:
        yield "estimand: composite counts an incomplete answer as a fail, so passing must be good"


def _of_looks(plan: ExperimentPlan) -> Iterable[str]:
    fractions = [look.fraction for look in plan.looks]
    if not all(a < b for a, b in pairwise(fractions)):
        yield "looks: fractions of the information must rise"
    if fractions[-1] != 1:
        yield "looks: the last one is at the whole information, 1"
    dates = [look.at for look in plan.looks if look.at is not None]
    if not all(a < b for a, b in pairwise(dates)):
        yield "looks: dates must rise"
    if len(fractions) > 1 and plan.planned_clusters is None and plan.planned_se is None:
        yield "looks: several need planned_clusters or planned_se, to know the information"
