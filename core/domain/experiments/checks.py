"""What is looked at before a plan is registered, from plain numbers of recent data.

Nothing here forbids to register: a problem would make the gate hold, a warning asks for a
look, a note is to know. A figure that is not known is a warning, never a pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from core.domain.experiments.arms import Arm
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.rules import MeasuredRule, is_of_verdict, misread

MOST_UNKNOWN = 0.01
"""Largest share of requests without an arm's attribute, or without a session."""
DAY_S, WEEK_S = 86_400, 7 * 86_400


class Severity(StrEnum):
    """How much a finding weighs."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"
    SOUND = "sound"


class Check(StrEnum):
    """What was found; each has its words."""

    MAPPING_SOUND = "mapping_sound"
    MAPPING_PARTIAL = "mapping_partial"
    MAPPING_MISSING = "mapping_missing"
    MAPPING_UNKNOWN = "mapping_unknown"
    COVERAGE_SOUND = "coverage_sound"
    COVERAGE_LOW = "coverage_low"
    COVERAGE_UNKNOWN = "coverage_unknown"
    EVALUATOR_SOUND = "evaluator_sound"
    EVALUATOR_UNSEEN = "evaluator_unseen"
    EVALUATOR_UNVERSIONED = "evaluator_unversioned"
    EVALUATOR_SEVERAL = "evaluator_several"
    EVALUATOR_OTHER = "evaluator_other"
    SESSIONS_SOUND = "sessions_sound"
    SESSIONS_ALONE = "sessions_alone"
    SESSIONS_MISSING = "sessions_missing"
    SESSIONS_UNKNOWN = "sessions_unknown"
    CYCLE_UNDER_A_DAY = "cycle_under_a_day"
    CYCLE_UNEXPLAINED = "cycle_unexplained"
    CYCLE_EXPLAINED = "cycle_explained"
    CYCLE_A_WEEK = "cycle_a_week"
    RULE_MEASURED = "rule_measured"
    RULE_OF_VERDICT = "rule_of_verdict"
    RULE_OF_PERSON = "rule_of_person"
    RULE_MISREAD = "rule_misread"
    RULE_SHARED_ENGINES = "rule_shared_engines"
    DATA_SEEN = "data_seen"
    DATA_AHEAD = "data_ahead"


@dataclass(frozen=True)
class Finding:
    """One thing found.

    Parameters
    ----------
    value, limit : float or None
        What was seen and what it was held against: a share, or seconds.
    of : str or None
        Whose it is: an arm, a rule of the plan, or names that came with the data.
    """

    check: Check
    severity: Severity
    value: float | None = None
    limit: float | None = None
    of: str | None = None


@dataclass(frozen=True)
class RecentData:
    """Counts of recent requests in the plan's labels, whatever their arm.

    Parameters
    ----------
    requests, with_attribute, with_session : int
        Requests, and how many carry the arm's attribute and a session.
    due, evaluated : int
        Requests that should have the primary score, and those that have it.
    evaluator_versions : tuple of (str or None)
        Versions of the plan's evaluator that were seen; None: records without one.
    first_data : dict
        When the first request of each arm's period began; None: none is known.
    """

    requests: int
    with_attribute: int
    with_session: int
    due: int
    evaluated: int
    evaluator_versions: tuple[str | None, ...]
    first_data: dict[Arm, float | None]


def registration_findings(
    plan: ExperimentPlan, recent: RecentData, *, at: float
) -> tuple[Finding, ...]:
    """Everything found about a plan that is about to be registered at a moment."""
    return (
        _mapping(plan, recent),
        _coverage(plan, recent),
        *_evaluator(plan, recent),
        _sessions(plan, recent),
        *_cycle(plan),
        *_rules(plan),
        *_seen(recent, at),
    )


def _mapping(plan: ExperimentPlan, recent: RecentData) -> Finding:
    if plan.arms.dimension is None:
        return Finding(Check.MAPPING_SOUND, Severity.SOUND)
    if recent.requests < 1:
        return Finding(Check.MAPPING_UNKNOWN, Severity.WARNING)
    share = (recent.requests - recent.with_attribute) / recent.requests
    found = (share, MOST_UNKNOWN, plan.arms.dimension.value)
    if share <= MOST_UNKNOWN:
        return Finding(Check.MAPPING_SOUND, Severity.SOUND, *found)
    if recent.with_attribute < 1:
        return Finding(Check.MAPPING_MISSING, Severity.PROBLEM, *found)
    return Finding(Check.MAPPING_PARTIAL, Severity.WARNING, *found)


def _coverage(plan: ExperimentPlan, recent: RecentData) -> Finding:
    if recent.due < 1:
        return Finding(Check.COVERAGE_UNKNOWN, Severity.WARNING)
    share, limit = recent.evaluated / recent.due, plan.minimum_coverage
    if share >= limit:
        return Finding(Check.COVERAGE_SOUND, Severity.SOUND, share, limit)
    return Finding(Check.COVERAGE_LOW, Severity.PROBLEM, share, limit)


def _evaluator(plan: ExperimentPlan, recent: RecentData) -> Iterator[Finding]:
    seen, planned = recent.evaluator_versions, plan.primary.evaluator_version
    known = sorted({version for version in seen if version is not None})
    if not seen:
        yield Finding(Check.EVALUATOR_UNSEEN, Severity.WARNING)
        return
    if None in seen or planned is None:
        yield Finding(Check.EVALUATOR_UNVERSIONED, Severity.PROBLEM)
    if len(known) > 1:
        yield Finding(Check.EVALUATOR_SEVERAL, Severity.PROBLEM, of=", ".join(known))
    elif planned is not None and known and known != [planned]:
        yield Finding(Check.EVALUATOR_OTHER, Severity.PROBLEM, of=known[0])
    elif known and None not in seen and planned is not None:
        yield Finding(Check.EVALUATOR_SOUND, Severity.SOUND, of=planned)


def _sessions(plan: ExperimentPlan, recent: RecentData) -> Finding:
    if recent.requests < 1:
        return Finding(Check.SESSIONS_UNKNOWN, Severity.WARNING)
    share = (recent.requests - recent.with_session) / recent.requests
    if share <= MOST_UNKNOWN:
        return Finding(Check.SESSIONS_SOUND, Severity.SOUND, share, MOST_UNKNOWN)
    if plan.requests_stand_alone:
        return Finding(Check.SESSIONS_ALONE, Severity.NOTE, share)
    return Finding(Check.SESSIONS_MISSING, Severity.PROBLEM, share, MOST_UNKNOWN)


def _cycle(plan: ExperimentPlan) -> Iterator[Finding]:
    """A day is never enough by itself: the shortest arm's period is what counts."""
    length = float(min(plan.period_of(arm).length_s for arm in Arm))
    if length < DAY_S:
        yield Finding(Check.CYCLE_UNDER_A_DAY, Severity.WARNING, length, DAY_S)
    elif length >= WEEK_S:
        yield Finding(Check.CYCLE_A_WEEK, Severity.NOTE, length)
    elif plan.load_cycle is None:
        yield Finding(Check.CYCLE_UNEXPLAINED, Severity.WARNING, length, WEEK_S)
    else:
        yield Finding(Check.CYCLE_EXPLAINED, Severity.NOTE, length, WEEK_S)


def _rules(plan: ExperimentPlan) -> Iterator[Finding]:
    """Who judges each stop and rollback rule; a line twice is said once."""
    for line in dict.fromkeys((*plan.stop_rules, *plan.rollback_rules)):
        rule, form = MeasuredRule.read(line), misread(line)
        if rule is not None and rule.figure.of_engines and not plan.arms.have_engines:
            yield Finding(Check.RULE_SHARED_ENGINES, Severity.WARNING, of=line)
        elif rule is not None:
            yield Finding(Check.RULE_MEASURED, Severity.SOUND, of=rule.line)
        elif is_of_verdict(line):
            yield Finding(Check.RULE_OF_VERDICT, Severity.SOUND, of=line)
        elif form is not None:
            yield Finding(Check.RULE_MISREAD, Severity.WARNING, of=f"{line} → {form}")
        else:
            yield Finding(Check.RULE_OF_PERSON, Severity.NOTE, of=line)


def _seen(recent: RecentData, at: float) -> Iterator[Finding]:
    first = {arm: when for arm, when in recent.first_data.items() if when is not None}
    seen = [arm for arm in Arm if arm in first and first[arm] < at]
    for arm in seen:
        yield Finding(Check.DATA_SEEN, Severity.PROBLEM, first[arm], at, arm.value)
    if not seen:
        yield Finding(Check.DATA_AHEAD, Severity.SOUND)
