"""Review: one period against another, or one experiment, on one page for a meeting."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.cache.store import Store
from core.config import EvaluatorSettings
from core.domain.experiments.arms import Arm
from core.domain.scope import RANGES, Compare, Scope
from core.domain.windows import WINDOW_S
from core.views.experiment_arms import arm_rows
from core.views.experiment_log import ExperimentLog, experiment_logs
from core.views.experiments import ExperimentView, build_experiment
from core.views.fleet import Fleet, SourceState, load_fleet, query_params
from core.views.quality_sums import Series
from core.views.review_period import EfficiencyRow, Period, compared, load_period
from core.views.review_quality import QualityReview, quality_review
from core.views.review_records import Records, records_in

USUAL_RANGE = "7d"
USUAL_COMPARE = Compare.PREVIOUS


@dataclass(frozen=True)
class ReviewQuestion:
    """What a review is asked beside its scope; None: as the scope says.

    `experiment` makes it a review of that experiment, whose plan fixes scope and period.
    """

    range: str | None = None
    compare: Compare | None = None
    experiment: str | None = None
    evaluators: tuple[EvaluatorSettings, ...] = ()
    window_s: int = WINDOW_S


@dataclass(frozen=True)
class ViolationGroup:
    """Records that break one rule in one way; `examples` are ids of up to three of them."""

    kind: str
    rule: str
    field: str | None
    exporter: str | None
    records: int
    examples: str


@dataclass(frozen=True)
class RevisionSeen:
    """A revision that requests of the period name; None: they do not name it."""

    name: str
    revision: str | None
    requests: int
    first_at: float
    last_at: float


@dataclass(frozen=True)
class ArmRevision:
    """A revision that requests of one arm name; None: they do not name it."""

    arm: Arm
    name: str
    revision: str | None
    requests: int
    first_at: float
    last_at: float


@dataclass(frozen=True)
class PeriodReview:
    """Everything a review of a period shows."""

    now: Period
    before: Period
    efficiency: tuple[EfficiencyRow, ...]
    quality: QualityReview
    violations: tuple[ViolationGroup, ...]
    sources: tuple[SourceState, ...]
    records: Records
    revisions: tuple[RevisionSeen, ...]
    schema: int

    @property
    def series(self) -> tuple[Series, ...]:
        """Scores of single requests, graded or not."""
        return (*(one.series for one in self.quality.graded), *self.quality.ungraded)


@dataclass(frozen=True)
class ExperimentReview:
    """Everything a review of an experiment shows; `revisions` are those of each arm."""

    one: ExperimentView
    revisions: tuple[ArmRevision, ...]
    sources: tuple[SourceState, ...]
    schema: int


@dataclass(frozen=True)
class ReviewView:
    """A review of a period or of an experiment; neither where the experiment is not there."""

    fleet: Fleet
    experiments: Mapping[str, str]
    """Title of the newest plan by the name of its experiment, registered last first."""
    period: PeriodReview | None
    experiment: ExperimentReview | None


def build(store: Store, scope: Scope, now: float, asked: ReviewQuestion) -> ReviewView:
    """Read the cache for one scope and question; `now` is seconds since the epoch."""
    titles = {log.experiment: _title(log) for log in experiment_logs(store)}
    if asked.experiment is None:
        period = build_period(store, scope, now, asked)
        return ReviewView(period.now.fleet, titles, period, None)
    one = build_experiment(store, asked.experiment, now, evaluators=asked.evaluators)
    if one is None:
        return ReviewView(load_fleet(store, scope, now), titles, None, None)
    found = ExperimentReview(one, _arm_revisions(store, one), _sources(store), _schema(store))
    return ReviewView(one.fleet, titles, None, found)


def _title(log: ExperimentLog) -> str:
    newest = log.history.newest
    return log.experiment if newest is None else newest.plan.title


def build_period(store: Store, scope: Scope, now: float, asked: ReviewQuestion) -> PeriodReview:
    """One period beside another, both of the same scope."""
    scope = review_scope(scope, asked)
    new = load_period(store, scope, now)
    window = new.fleet.window
    earlier = window.earlier(scope.compare)
    if earlier is None:
        raise ValueError("a review compares two periods")
    old = load_period(store, replace(scope, start=earlier.start, end=earlier.end), now)
    params = query_params(scope, window) | {"arm": scope.arm}
    return PeriodReview(
        now=new,
        before=old,
        efficiency=compared(new, old),
        quality=quality_review(
            store, new.fleet, old.fleet, evaluators=asked.evaluators, window_s=asked.window_s
        ),
        violations=_violations(store, params),
        sources=_sources(store),
        records=records_in(store, window, now),
        revisions=tuple(RevisionSeen(*r) for r in store.read("revisions_in_period", params)),
        schema=_schema(store),
    )


def _sources(store: Store) -> tuple[SourceState, ...]:
    return tuple(SourceState(*row) for row in store.read("source_states", {}))


def _schema(store: Store) -> int:
    number: int = store.read("schema_version", {})[0].number
    return number


def _arm_revisions(store: Store, one: ExperimentView) -> tuple[ArmRevision, ...]:
    """What the requests of each arm name, over the arm's period so far."""
    return tuple(
        ArmRevision(arm, row.name, row.revision, row.requests, row.first_at, row.last_at)
        for arm, row in arm_rows(store, "arm_revisions", one.plan, one.now)
    )


def review_scope(scope: Scope, asked: ReviewQuestion) -> Scope:
    """The scope with the period and comparison that a review asks for.

    A review compares: without a comparison it takes the period before.

    >>> found = review_scope(Scope(start=0, end=60), ReviewQuestion(range="7d"))
    >>> found.range, found.start, str(found.compare)
    ('7d', None, 'previous')
    """
    if asked.range in RANGES:
        scope = replace(scope, range=asked.range, start=None, end=None)
    compare = asked.compare or scope.compare
    return replace(scope, compare=USUAL_COMPARE if compare is Compare.NONE else compare)


def _violations(store: Store, params: Mapping[str, object]) -> tuple[ViolationGroup, ...]:
    return tuple(ViolationGroup(*row) for row in store.read("violations_by_rule", params))
