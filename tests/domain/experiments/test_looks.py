"""Planned looks, looks that were not planned, and what is recorded of either."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import (
    BrokenLook,
    LookReason,
    LookRecord,
    LookRow,
    counted,
    stored_looks,
)
from core.domain.experiments.looks import information, look_boundary
from core.domain.experiments.plan import PerArm
from core.domain.statistics.gate import Verdict
from core.domain.statistics.sequential import Spending, boundaries
from core.errors import EntryError
from tests.domain.experiments.plans import LOOKS, PERIOD, plan
from tests.domain.experiments.taken import look, now, version

OTHER_HOLD = EvidenceLine.checked(reason="another_change", lever_id=7)
ENDED = float(PERIOD.end)
ONE_LOOK: dict[str, Any] = {"looks": LOOKS[2:], "planned_clusters": None}


def reasons(record: LookRecord) -> list[str]:
    return [line.reason for line in record.holds]


@pytest.mark.parametrize(
    ("at_information", "due"),
    [(None, None), (0.0, None), (0.29, None), (0.3, 1), (0.5, 1), (0.7, 2), (1.0, 3), (1.4, 3)],
)
def test_a_look_is_due_when_its_information_is_there(
    at_information: float | None, due: int | None
) -> None:
    """Not before; and of several that were reached the latest."""
    assert now([], at_information).due == due


def test_between_looks_nothing_is_due() -> None:
    """After the first look the next one is named, and now is no time to decide."""
    first = look([], 0.32)
    between = now([first], 0.5)
    assert (between.due, between.next, between.final) == (None, 2, False)


def test_a_look_that_was_passed_over_is_missed() -> None:
    """When the information of the second is there, the first can no longer be taken."""
    assert now([], 0.8).missed == (1,)
    second = look([], 0.8)
    assert second.record.number == 2
    assert now([second], 0.9).missed == (1,)
    assert now([second], 0.9).next == 3


def test_the_end_of_the_period_makes_the_last_look_due() -> None:
    """Also where the information fell short, or cannot be known; once, and never again."""
    for known in (0.4, None):
        assert (now([], known, at=ENDED).due, now([], known, at=ENDED).final) == (3, True)
    last = look([], 0.9, at=ENDED)
    after = now([last], 1.0, at=ENDED + 60)
    assert (after.due, after.next, after.missed) == (None, None, (1, 2))


def test_boundaries_are_those_of_the_actual_information() -> None:
    """Earlier spending is kept, and the last look spends the rest wherever it lies."""
    first = look([], 0.32)
    second = look([first], 0.75)
    last = look([first, second], 0.9, at=ENDED)
    expected = boundaries([0.32, 0.75, 0.9], ended=True)
    for taken, bound in zip((first, second, last), expected, strict=True):
        assert taken.record.boundary == pytest.approx(bound.z)
        assert taken.record.level == pytest.approx(bound.level)
        assert taken.record.spent_alpha == pytest.approx(bound.spent)
    assert last.record.spent_alpha == pytest.approx(0.025)
    assert [one.record.information_planned for one in (first, second, last)] == [0.3, 0.7, 1.0]


def test_the_spending_and_the_level_are_the_plans() -> None:
    """Another spending function or alpha gives other boundaries."""
    pocock = version(plan(spending=Spending.POCOCK, alpha=0.05))
    (bound,) = boundaries([0.32], alpha=0.05, spending=Spending.POCOCK)
    assert look([], 0.32, of=pocock).record.boundary == pytest.approx(bound.z)


def test_a_single_look_needs_no_plan_of_information() -> None:
    """It comes at the end of the period, at the whole level."""
    one = version(plan(**ONE_LOOK))
    assert now([], None, of=one).due is None
    last = look([], None, at=ENDED, of=one).record
    assert (last.number, last.final, last.information) == (1, True, None)
    assert last.boundary == pytest.approx(1.959964, abs=1e-5)
    assert last.level == pytest.approx(0.025)


def test_a_look_with_few_clusters_holds_and_spends_nothing() -> None:
    """The next look has the level that it would have had without it."""
    early = look([], 0.32, clusters=19, interval=(-0.001, 0.001))
    assert early.record.verdict is Verdict.HOLD
    assert early.record.interval_verdict is Verdict.NON_INFERIOR
    assert "look_spends_nothing" in reasons(early.record)
    assert (early.record.boundary, early.record.spent_alpha) == (None, 0.0)
    (alone,) = boundaries([0.75])
    assert look([early], 0.75).record.boundary == pytest.approx(alone.z)


@pytest.mark.parametrize(("new", "base"), [(19, 400), (400, 19), (20, 20)])
def test_the_smaller_arm_decides_whether_a_look_spends(new: int, base: int) -> None:
    """At the plan's fewest clusters in both arms there is a boundary, below it in one, none."""
    due = now([], 0.32)
    bound = look_boundary(version(), [], now=due, clusters_new=new, clusters_base=base)
    assert (bound is not None) == (min(new, base) >= 20)


def test_information_that_does_not_rise_spends_nothing() -> None:
    """Data that were taken back leave less than before: no boundary, a hold, no exception."""
    first = look([], 0.95)
    last = look([first], 0.9, at=ENDED)
    assert last.record.boundary is None
    assert last.record.verdict is Verdict.HOLD
    standing = now([first], 0.9, at=ENDED)
    bound = look_boundary(version(), [first], now=standing, clusters_new=50, clusters_base=50)
    assert bound is None


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((-0.008, 0.004), Verdict.NON_INFERIOR),
        ((-0.04, 0.01), Verdict.INCONCLUSIVE),
        ((-0.05, -0.03), Verdict.REGRESSION),
        ((-0.02, 0.01), Verdict.INCONCLUSIVE),
        ((-0.0199999999, 0.01), Verdict.NON_INFERIOR),
    ],
)
def test_a_planned_look_has_the_verdict_of_the_gate(
    interval: tuple[float, float], verdict: Verdict
) -> None:
    """At margin 2 points, strictly and unrounded."""
    record = look([], 0.32, interval=interval).record
    assert (record.verdict, record.interval_verdict, record.holds) == (verdict, verdict, ())
    crossed = verdict is not Verdict.INCONCLUSIVE
    assert record.reason is (LookReason.BOUNDARY if crossed else LookReason.PLANNED_LOOK)
    assert look([], 1.0, interval=interval).record.reason is LookReason.PLANNED_END


@pytest.mark.parametrize("interval", [(-0.008, 0.004), (-0.05, -0.03)])
def test_any_reason_turns_a_verdict_to_hold(interval: tuple[float, float]) -> None:
    """What the interval says is kept beside it: a regression under hold is not hidden."""
    record = look([], 0.32, interval=interval, holds=[OTHER_HOLD]).record
    assert record.verdict is Verdict.HOLD
    assert record.interval_verdict is look([], 0.32, interval=interval).record.verdict
    assert record.holds == (OTHER_HOLD,)


def test_a_look_without_an_interval_holds() -> None:
    """No data is never a pass."""
    record = look([], 0.32, interval=None).record
    assert (record.verdict, record.interval_verdict) == (Verdict.HOLD, None)
    assert reasons(record) == ["no_interval"]


@pytest.mark.parametrize("limit", [float("nan"), np.nan])
def test_limits_that_are_no_numbers_are_no_interval(limit: float) -> None:
    """They hold, and the record shows none."""
    record = look([], 0.32, interval=(limit, 0.01)).record
    assert (record.verdict, record.lower) == (Verdict.HOLD, None)
    assert reasons(record) == ["no_interval"]


def test_numbers_of_numpy_are_numbers() -> None:
    """A record of computed figures is the same as one of plain ones; no end is not known."""
    computed = look([], np.float64(0.32), interval=(np.float64(-0.04), np.float64(0.01))).record
    assert computed.to_json() == look([], 0.32).record.to_json()
    assert look([], 0.32, interval=(-float("inf"), 0.01)).record.lower is None


def test_a_look_outside_the_plan_has_no_verdict() -> None:
    """It is a record with its estimate, marked, without a number; the next look is as before."""
    record = look([], 0.2, interval=(-0.001, 0.001), reason=LookReason.SAFETY).record
    assert (record.verdict, record.interval_verdict, record.number) == (None, None, None)
    assert (record.boundary, record.level, record.spent_alpha) == (None, None, None)
    assert reasons(record) == ["look_not_planned"]
    assert (record.estimate, record.lower, record.upper) == (-0.01, -0.001, 0.001)
    assert record.reason is LookReason.SAFETY
    found_before = EvidenceLine.checked(reason="look_not_planned")
    assert look([], 0.2, holds=[found_before]).record.holds == (found_before,)


def test_a_second_look_at_one_number_is_not_planned() -> None:
    """Looking again until the verdict pleases is looking outside the plan."""
    first = look([], 0.32)
    again = look([first], 0.33, interval=(-0.001, 0.001))
    assert (again.record.verdict, again.record.number) == (None, None)
    assert now([first, again], 0.5).next == 2


def test_of_two_records_of_one_number_the_first_counts() -> None:
    """Two people who looked at once: one look counts, whatever the order of reading."""
    first = look([], 0.32)
    late = replace(look([], 0.4, interval=(-0.001, 0.001)), look_key=9, taken_at=first.taken_at + 5)
    assert counted([late, first], first.record.plan_hash) == (first,)
    assert counted([late, first], "0" * 64) == ()


def test_looks_at_an_older_version_spend_nothing_of_the_new_one() -> None:
    """Each version has its own looks; those of the old one stay what they are."""
    edited = version(plan(margin=0.03))
    old = look([], 0.32)
    assert now([old], 0.5, of=edited).due == 1


@pytest.mark.parametrize(
    ("new", "base", "fraction"),
    [(400, 400, 1.0), (200, 200, 0.5), (0, 400, 0.0), (100, 400, 0.4), (800, 400, 4 / 3)],
)
def test_information_follows_the_smaller_arm(new: int, base: int, fraction: float) -> None:
    """A difference is as sure as the harmonic sum of its arms."""
    found = information(plan(), clusters_new=new, clusters_base=base)
    assert found == pytest.approx(fraction)


def test_a_planned_standard_error_comes_first() -> None:
    """Where one is planned, clusters no longer count; without it there is none yet."""
    one = plan(planned_se=0.01, planned_clusters=PerArm(new=1, base=1))
    assert information(one, clusters_new=9, clusters_base=9, se=0.02) == pytest.approx(0.25)
    assert information(one, clusters_new=9, clusters_base=9) is None
    assert information(plan(**ONE_LOOK), clusters_new=9, clusters_base=9, se=0.01) is None


def row(record: LookRecord, **changed: Any) -> LookRow:
    fields = {
        "look_key": 1,
        "experiment": record.experiment,
        "plan_hash": record.plan_hash,
        "number": record.number,
        "taken_at": 5.0,
        "taken_by": record.taken_by,
        "verdict": record.verdict and record.verdict.value,
        "body": record.to_json(),
    }
    return LookRow(**fields | changed)


def test_a_record_comes_back_from_its_json() -> None:
    """What was known at a look is read as it was written, holds included."""
    for one in (look([], 0.32, holds=[OTHER_HOLD]).record, look([], 0.1).record):
        (taken,) = stored_looks([row(one)]).taken
        assert taken.record == one
        assert taken.taken_at == 5.0


@pytest.mark.parametrize(
    "changed", [{"body": "{"}, {"verdict": "non_inferior"}, {"number": 2}, {"plan_hash": "0" * 64}]
)
def test_a_stored_look_that_was_altered_is_named(changed: dict[str, Any]) -> None:
    """A row whose record cannot be read, or says something else, is no look and stays visible."""
    found = stored_looks([row(look([], 0.32).record, **changed)])
    assert found.taken == ()
    assert [type(one) for one in found.broken] == [BrokenLook]
    assert found.broken[0].fault


def test_a_look_needs_a_name() -> None:
    """Who looked is part of the record."""
    with pytest.raises(EntryError, match="taken_by"):
        LookRecord.checked(
            experiment="x",
            plan_hash="0" * 64,
            taken_by=" ",
            clusters_new=0,
            clusters_base=0,
            reason=LookReason.SAFETY,
        )
