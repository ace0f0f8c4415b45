"""What is looked at before a plan is registered."""

from dataclasses import replace
from typing import Any

import pytest

from core.domain.experiments.arms import Arm, Arms, ByTime, Period
from core.domain.experiments.checks import (
    Check,
    Finding,
    RecentData,
    Severity,
    registration_findings,
)
from core.domain.experiments.plan import ExperimentPlan
from tests.domain.experiments.plans import DAY, IN_TIME, LOOKS, SERIES, START, plan

RECENT = RecentData(1000, 1000, 1000, 1000, 950, ("v2",), dict.fromkeys(Arm))
NOTHING = RecentData(0, 0, 0, 0, 0, (), dict.fromkeys(Arm))


def findings(
    one: ExperimentPlan | None = None, recent: RecentData = RECENT
) -> dict[Check, Finding]:
    found = registration_findings(one or plan(), recent, at=START - 60.0)
    return {finding.check: finding for finding in found}


def lasting(seconds: int, **more: Any) -> ExperimentPlan:
    return plan(period=Period(start=START, end=START + seconds), **more)


def test_a_sound_plan_has_nothing_against_it() -> None:
    """Neither a problem nor a warning; the length of the period is still a note."""
    found = findings()
    assert {f.severity for f in found.values()} == {Severity.SOUND, Severity.NOTE}
    assert found[Check.CYCLE_A_WEEK].severity is Severity.NOTE


def test_no_data_is_a_warning_and_never_a_pass() -> None:
    """Without a request nothing can be said of mapping, coverage, evaluator or sessions."""
    found = findings(recent=NOTHING)
    unknown = (
        Check.MAPPING_UNKNOWN,
        Check.COVERAGE_UNKNOWN,
        Check.EVALUATOR_UNSEEN,
        Check.SESSIONS_UNKNOWN,
    )
    assert [found[check].severity for check in unknown] == [Severity.WARNING] * 4


@pytest.mark.parametrize(
    ("seconds", "load_cycle", "check", "severity"),
    [
        (3600, "x", Check.CYCLE_UNDER_A_DAY, Severity.WARNING),
        (DAY - 1, None, Check.CYCLE_UNDER_A_DAY, Severity.WARNING),
        (DAY, None, Check.CYCLE_UNEXPLAINED, Severity.WARNING),
        (DAY, "batch work every night", Check.CYCLE_EXPLAINED, Severity.NOTE),
        (7 * DAY - 1, None, Check.CYCLE_UNEXPLAINED, Severity.WARNING),
        (7 * DAY, None, Check.CYCLE_A_WEEK, Severity.NOTE),
    ],
)
def test_no_length_is_called_sufficient(
    seconds: int, load_cycle: str | None, check: Check, severity: Severity
) -> None:
    """A day asks for a reason, a week is noted; none of them is sound."""
    cycle = {
        c: f for c, f in findings(lasting(seconds, load_cycle=load_cycle)).items() if "cycle" in c
    }
    assert {c: f.severity for c, f in cycle.items()} == {check: severity}


def test_the_shortest_arm_counts() -> None:
    """A week of baseline does not make up for an hour of the new arm."""
    base = Period(start=START, end=START + 7 * DAY)
    new = Period(start=base.end, end=base.end + 3600)
    short = plan(**IN_TIME | {"arms": Arms(split=ByTime(base=base, new=new))})
    assert findings(short)[Check.CYCLE_UNDER_A_DAY].value == 3600


@pytest.mark.parametrize(
    ("known", "check"),
    [(1000, Check.MAPPING_SOUND), (990, Check.MAPPING_SOUND), (989, Check.MAPPING_PARTIAL)],
)
def test_requests_must_say_their_arm(known: int, check: Check) -> None:
    """One in a hundred may not; none at all is a problem."""
    assert check in findings(recent=replace(RECENT, with_attribute=known))
    none = findings(recent=replace(RECENT, with_attribute=0))
    assert none[Check.MAPPING_MISSING].severity is Severity.PROBLEM
    assert Check.MAPPING_SOUND in findings(plan(**IN_TIME), replace(RECENT, with_attribute=0))


def test_coverage_is_held_against_the_plans() -> None:
    """The plan's own minimum counts, at the limit it is enough."""
    assert Check.COVERAGE_SOUND in findings(recent=replace(RECENT, evaluated=900))
    low = findings(recent=replace(RECENT, evaluated=899))[Check.COVERAGE_LOW]
    assert (low.value, low.limit, low.severity) == (0.899, 0.9, Severity.PROBLEM)
    assert Check.COVERAGE_SOUND in findings(
        plan(minimum_coverage=0.5), replace(RECENT, evaluated=500)
    )


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("v2",), {Check.EVALUATOR_SOUND}),
        (("v3",), {Check.EVALUATOR_OTHER}),
        (("v2", "v3"), {Check.EVALUATOR_SEVERAL}),
        ((None,), {Check.EVALUATOR_UNVERSIONED}),
        (("v2", None), {Check.EVALUATOR_UNVERSIONED}),
        ((), {Check.EVALUATOR_UNSEEN}),
    ],
)
def test_one_known_version_of_the_evaluator_is_asked_for(
    versions: tuple[str | None, ...], expected: set[Check]
) -> None:
    """Anything else would make the gate hold, and is said before."""
    found = findings(recent=replace(RECENT, evaluator_versions=versions))
    assert {check for check in found if check.startswith("evaluator")} == expected


def test_a_plan_without_a_version_is_told() -> None:
    """A version that nobody planned cannot be held to."""
    one = plan(primary=SERIES.model_copy(update={"evaluator_version": None}))
    assert Check.EVALUATOR_UNVERSIONED in findings(one)


def test_requests_without_a_session_are_a_problem_or_stand_alone() -> None:
    """1 % may lack one; more only where the plan says that they stand alone."""
    assert Check.SESSIONS_SOUND in findings(recent=replace(RECENT, with_session=990))
    many = replace(RECENT, with_session=989)
    assert findings(recent=many)[Check.SESSIONS_MISSING].severity is Severity.PROBLEM
    alone = findings(plan(requests_stand_alone=True), many)
    assert alone[Check.SESSIONS_ALONE].severity is Severity.NOTE


def test_data_that_exist_already_are_named_with_their_arm() -> None:
    """Who registers learns before that the plan will be marked."""
    seen = replace(RECENT, first_data={Arm.NEW: None, Arm.BASE: START - 61.0})
    found = findings(plan(looks=LOOKS), seen)[Check.DATA_SEEN]
    assert (found.of, found.value, found.severity) == ("base", START - 61.0, Severity.PROBLEM)
    assert Check.DATA_AHEAD in findings()


@pytest.mark.parametrize(
    ("rule", "check", "severity"),
    [
        ("Incomplete rate, difference, above 2 pp.", Check.RULE_MEASURED, Severity.SOUND),
        ("regression at any look", Check.RULE_OF_VERDICT, Severity.SOUND),
        ("reports from users", Check.RULE_OF_PERSON, Severity.NOTE),
        ("incomplete rate two points up", Check.RULE_MISREAD, Severity.WARNING),
        ("engine hit ratio, new arm, below 30 %", Check.RULE_SHARED_ENGINES, Severity.WARNING),
    ],
)
def test_who_judges_a_rule_is_said_before(rule: str, check: Check, severity: Severity) -> None:
    """Each rule once: measured, of the verdict, for a person, or not in the form it seems to be."""
    found = [
        one
        for one in registration_findings(
            plan(stop_rules=(rule,), rollback_rules=(rule,)), RECENT, at=START - 60.0
        )
        if one.check.startswith("rule")
    ]
    assert [(one.check, one.severity) for one in found] == [(check, severity)]
    assert (found[0].of or "").casefold().startswith(rule.casefold().rstrip("."))


def test_engines_of_arms_in_time_can_be_measured() -> None:
    """What engines count can be a rule where time tells the arms apart."""
    one = plan(**IN_TIME, stop_rules=("engine hit ratio, new arm, below 30 %",))
    assert Check.RULE_MEASURED in findings(one)
