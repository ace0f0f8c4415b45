"""Experiments: what was planned, what the data say by arm, and what was decided.

`build_experiment` makes everything that is shown of one experiment, for the page, the
review and the report alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.config import EvaluatorSettings
from core.domain.experiments.evidence import Evidence, EvidenceLine
from core.domain.experiments.look_record import LookReason, LookRecord, TakenLook
from core.domain.experiments.looks import (
    LookFigures,
    Standing,
    information,
    look_boundary,
    standing,
    take_look,
)
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.verdict import is_new, since_the_look, standing_verdict
from core.domain.experiments.versions import Marks, PlanVersion
from core.domain.observed import Observed, above_zero, of_hits_and_gate
from core.domain.scope import Scope
from core.domain.statistics.gate import Flag, Verdict, confidence_of, flags
from core.views.experiment_arms import (
    ArmSums,
    arm_sums,
    marks_of,
    plan_scope,
    plan_series,
    read_until,
)
from core.views.experiment_efficiency import EfficiencyRow, efficiency
from core.views.experiment_engines import engine_rows
from core.views.experiment_evidence import changes_of, evidence, logged
from core.views.experiment_gate import GateFigures, gate_figures
from core.views.experiment_log import ExperimentLog, experiment_logs
from core.views.experiment_requests import FailingRequest, failing_requests
from core.views.experiment_rules import JudgedRule, judged_rules
from core.views.fleet import Fleet, load_fleet
from core.views.quality_sums import Series

NOBODY = "nobody"
HITS = "gateway_cached_share"
UNTIL_FIRST = "arm_first_token_s"


@dataclass(frozen=True)
class Question:
    """What the page was asked: an experiment, and how scores are read."""

    experiment: str | None = None
    evaluators: tuple[EvaluatorSettings, ...] = ()


@dataclass(frozen=True)
class Change:
    """One entry of the lever log from registration on, and what it is to the experiment."""

    at: float
    kind: str
    origin: str
    what: str
    by_whom: str | None
    link: str | None
    reason: str | None
    """Reason or note of its evidence; None: it does not concern an arm."""


@dataclass(frozen=True)
class ExperimentView:
    """One experiment at a moment, by the newest version of its plan.

    Parameters
    ----------
    log : ExperimentLog
        Versions, looks and decisions as they are stored.
    version : PlanVersion
        The newest version; all figures are by it.
    marks : tuple of Marks
        What was known when each version was registered, oldest first.
    series : Series
        The primary score as the cache knows it.
    figures : GateFigures
        At the level of the look that is due, else at the plan's: then it decides nothing.
    evidence : Evidence
        Every reason to hold, and every note, now.
    standing : Standing
        Which planned look is due.
    due : LookRecord or None
        What the look that is due would record now; None where none is due.
    verdict : Verdict or None
        The one that stands: of the look that is due, else of the last planned look of this
        version, and hold where something happened since that holds. None before the first.
    told : Verdict or None
        What the interval alone said at that look, kept beside a hold.
    holds : tuple of EvidenceLine
        Every reason why that verdict holds.
    watermark : float or None
        Until when requests were read.
    failing : tuple of FailingRequest
        Failed requests of the new arm, where the interval of a planned look says regression.
    """

    now: float
    fleet: Fleet
    log: ExperimentLog
    version: PlanVersion
    marks: tuple[Marks, ...]
    series: Series
    figures: GateFigures
    efficiency: tuple[EfficiencyRow, ...]
    evidence: Evidence
    changes: tuple[Change, ...]
    standing: Standing
    due: LookRecord | None
    verdict: Verdict | None
    told: Verdict | None
    holds: tuple[EvidenceLine, ...]
    watermark: float | None
    observed: tuple[Observed, ...]
    failing: tuple[FailingRequest, ...]

    @property
    def plan(self) -> ExperimentPlan:
        """The newest version of the plan."""
        return self.version.plan

    @property
    def mark(self) -> Marks:
        """What was known when the newest version was registered."""
        return self.marks[-1]

    @property
    def last_look(self) -> TakenLook | None:
        """The last planned look at this version that counts."""
        return self.log.newest_look

    @property
    def unread(self) -> bool:
        """Whether the period is over, and its last requests were not read yet."""
        end = self.plan.period.end
        return self.now >= end > read_until(self.fleet, self.now)

    @property
    def since(self) -> tuple[EvidenceLine, ...]:
        """Reasons to hold that a decision on the last look must reckon with."""
        return since_the_look(self.evidence)

    @property
    def would_hold(self) -> tuple[EvidenceLine, ...]:
        """Reasons why a look would hold now, that are not among those of the verdict."""
        return tuple(line for line in self.evidence.holds if is_new(line, self.holds))

    @property
    def says_regression(self) -> bool:
        """Whether the verdict, or the interval alone at its look, is a regression."""
        return Verdict.REGRESSION in (self.verdict, self.told)

    @property
    def rules(self) -> tuple[JudgedRule, ...]:
        """Stop and rollback rules of the plan, with what is known of each now."""
        return judged_rules(self.plan, self.verdict, self.efficiency)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Where the interval lies against 0."""
        interval = self.figures.difference.interval
        return () if interval is None else flags(interval)

    @property
    def first_token_unchanged(self) -> bool:
        """Whether no difference of the time to first token is shown, with arms that have one."""
        row = next(one for one in self.efficiency if one.metric == UNTIL_FIRST)
        if row.delta is None:
            return False
        return row.interval is None or row.interval.lower <= 0 <= row.interval.upper

    def look(self, by: str, reason: LookReason = LookReason.OPERATIONAL) -> LookRecord:
        """The record of a look that somebody takes now.

        Raises
        ------
        EntryError
            If the name cannot be used.
        """
        return _look(self, by, reason)


@dataclass(frozen=True)
class ExperimentsView:
    """Everything the Experiments page shows; `one` is None without a readable plan."""

    fleet: Fleet
    logs: tuple[ExperimentLog, ...]
    one: ExperimentView | None
    log: ExperimentLog | None
    """What is stored of the chosen experiment."""
    late: frozenset[str]
    """Experiments whose newest plan was registered after its data existed."""


def build(store: Store, scope: Scope, now: float, question: Question) -> ExperimentsView:
    """Read the cache for the page; labels and time of the scope change no experiment."""
    logs = experiment_logs(store)
    chosen = next((log for log in logs if log.experiment == question.experiment), None)
    if chosen is None and question.experiment is None:
        chosen = next(iter(logs), None)
    one = None
    if chosen is not None:
        one = build_experiment(store, chosen.experiment, now, evaluators=question.evaluators)
    return ExperimentsView(
        load_fleet(store, scope, now), logs, one, chosen, _late(store, logs, now)
    )


def _late(store: Store, logs: Sequence[ExperimentLog], now: float) -> frozenset[str]:
    marked = {log.experiment: marks_of(store, log.history, now)[-1:] for log in logs}
    return frozenset(
        name for name, newest in marked.items() if any(one.registered_after_data for one in newest)
    )


def build_experiment(
    store: Store, experiment_id: str, now: float, *, evaluators: Sequence[EvaluatorSettings] = ()
) -> ExperimentView | None:
    """Everything about one experiment at a moment, seconds since the epoch.

    None where nothing is stored under this name, or no version of its plan can be read.
    """
    log = next(iter(experiment_logs(store, experiment_id)), None)
    if log is None or log.history.newest is None:
        return None
    version, plan = log.history.newest, log.history.newest.plan
    fleet = load_fleet(store, plan_scope(plan, now), now)
    series = plan_series(store, plan, fleet.window, evaluators)
    arms = arm_sums(store, fleet, plan, series, now)
    stands, figures = _at_its_level(log, version, arms, read_until(fleet, now))
    marked = tuple(marks_of(store, log.history, now))
    rows = changes_of(store, version, now)
    about = (arms, figures, tuple(map(logged, rows)))
    found = evidence(store, version, marked[-1], about=about, now=now)
    due = None
    if stands.due is not None:
        due = _take(log, version, stands, figures.look, found, by=NOBODY, watermark=None)
    last = log.newest_look
    stood = standing_verdict(due, None if last is None else last.record, found)
    shown = (
        *efficiency(store, arms, figures, read_until(fleet, now)),
        *engine_rows(store, plan, now),
    )
    return ExperimentView(
        now=now,
        fleet=fleet,
        log=log,
        version=version,
        marks=marked,
        series=series,
        figures=figures,
        efficiency=shown,
        evidence=found,
        changes=tuple(_changes(rows, found)),
        standing=stands,
        due=due,
        verdict=stood.verdict,
        told=stood.told,
        holds=stood.holds,
        watermark=_watermark(fleet),
        observed=()
        if stood.verdict is None
        else of_hits_and_gate(_hit_change(shown), stood.verdict),
        failing=failing_requests(store, fleet, plan, series, now)
        if stood.told is Verdict.REGRESSION
        else (),
    )


def _at_its_level(
    log: ExperimentLog, version: PlanVersion, arms: ArmSums, until: float
) -> tuple[Standing, GateFigures]:
    """Which look is due, and the figures at its level; at the plan's where none is."""
    usual = gate_figures(arms, confidence=confidence_of(version.plan.alpha))
    stands = _standing(log, version, usual.look, until)
    confidence = _confidence(log, version, stands, usual.look)
    if confidence is None:
        return stands, usual
    return stands, gate_figures(arms, confidence=confidence)


def _standing(
    log: ExperimentLog, version: PlanVersion, figures: LookFigures, until: float
) -> Standing:
    there = information(
        version.plan,
        clusters_new=figures.clusters_new,
        clusters_base=figures.clusters_base,
        se=figures.se,
    )
    return standing(version, log.looks.taken, at=until, information_now=there)


def _confidence(
    log: ExperimentLog, version: PlanVersion, stands: Standing, figures: LookFigures
) -> float | None:
    """Confidence of the look that is due; None where none is, or it can spend nothing."""
    bound = look_boundary(
        version,
        log.looks.taken,
        now=stands,
        clusters_new=figures.clusters_new,
        clusters_base=figures.clusters_base,
    )
    return None if bound is None else bound.confidence


def _look(view: ExperimentView, by: str, reason: LookReason) -> LookRecord:
    return _take(
        view.log,
        view.version,
        view.standing,
        view.figures.look,
        view.evidence,
        by=by,
        watermark=view.watermark,
        reason=reason,
    )


def _take(
    log: ExperimentLog,
    version: PlanVersion,
    stands: Standing,
    figures: LookFigures,
    found: Evidence,
    *,
    by: str,
    watermark: float | None,
    reason: LookReason = LookReason.OPERATIONAL,
) -> LookRecord:
    return take_look(
        version,
        log.looks.taken,
        now=stands,
        figures=figures,
        holds=found.holds,
        by=by,
        watermark=watermark,
        reason=reason,
    )


def _changes(rows: Sequence[Row], found: Evidence) -> list[Change]:
    meanings = {
        line.lever_id: line.reason
        for line in (*found.notes, *found.holds)
        if line.lever_id is not None
    }
    return [
        Change(
            at=row.happened_at,
            kind=row.kind,
            origin=row.origin,
            what=row.what,
            by_whom=row.by_whom,
            link=row.link,
            reason=meanings.get(row.lever_id),
        )
        for row in rows
    ]


def _watermark(fleet: Fleet) -> float | None:
    source = fleet.requests
    if source is not None and source.read_to is not None:
        return source.read_to
    return fleet.newest_request_at


def _hit_change(rows: Sequence[EfficiencyRow]) -> float | None:
    """How much the cached share rose, where its whole interval lies above 0."""
    row = next(one for one in rows if one.metric == HITS)
    return row.delta if above_zero(row.interval) else None
