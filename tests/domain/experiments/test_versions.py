"""Versions of a plan: none is lost, and what was known when one came is marked."""

from typing import Any

import pytest

from core.domain.experiments.arms import Arm
from core.domain.experiments.versions import (
    REGISTERED_AFTER_DATA,
    BrokenPlan,
    PlanRow,
    history,
    judge_registration,
    marks,
)
from tests.domain.experiments.plans import START, plan

FIRST = plan()
SECOND = plan(margin=0.03)
NONE_YET: dict[Arm, float | None] = dict.fromkeys(Arm)


def row(one: Any, at: float, version: int = 1, **changed: Any) -> PlanRow:
    fields = {
        "experiment": one.experiment,
        "version": version,
        "plan_hash": one.plan_hash,
        "registered_at": at,
        "registered_by": "Mina",
        "body": one.to_json(),
    }
    return PlanRow(**fields | changed)


def test_an_edited_plan_keeps_its_old_version() -> None:
    """Both versions are there, in the order of registration, whatever order they are read in."""
    found = history([row(SECOND, START + 50, 2), row(FIRST, START)])
    assert [(v.number, v.plan) for v in found.versions] == [(1, FIRST), (2, SECOND)]
    assert found.newest is not None
    assert found.newest.plan_hash == SECOND.plan_hash
    assert found.next_number == 3
    assert found.by_hash(FIRST.plan_hash) == found.versions[0]


def test_the_version_in_force_is_the_last_registered_by_then() -> None:
    """Before the first there is none; a version holds from its registration on."""
    found = history([row(FIRST, START), row(SECOND, START + 50, 2)])
    held = [found.in_force(START + s) for s in (-1, 0, 49, 50)]
    assert [version and version.number for version in held] == [None, 1, 1, 2]


def test_two_versions_of_one_number_are_two() -> None:
    """Two people who edit at once both get a version, in the order of registration."""
    found = history([row(SECOND, START + 2, 2), row(FIRST, START + 1, 2)])
    assert [v.number for v in found.versions] == [1, 2]


def test_one_plan_sent_twice_is_one_version_and_an_old_one_may_return() -> None:
    """The same content in a row is one version; after another one it is a new version."""
    twice = history([row(FIRST, START), row(FIRST, START + 1, registered_by="Jo")])
    assert [(v.number, v.registered_by) for v in twice.versions] == [(1, "Mina")]
    back = history([row(FIRST, START), row(SECOND, START + 1, 2), row(FIRST, START + 2, 3)])
    assert [v.number for v in back.versions] == [1, 2, 3]


@pytest.mark.parametrize("body", ["{", FIRST.to_json().replace("0.02", "0.09"), ""])
def test_a_stored_plan_that_was_altered_is_named_and_not_used(body: str) -> None:
    """A body that is not what was registered is no version, and stays visible."""
    found = history([row(FIRST, START, body=body), row(SECOND, START + 1, 2)])
    assert [(v.number, v.plan) for v in found.versions] == [(2, SECOND)]
    assert [type(one) for one in found.broken] == [BrokenPlan]
    assert found.broken[0].number == 1
    assert found.broken[0].fault
    assert found.next_number == 3


def test_a_plan_registered_after_its_data_is_marked_and_holds() -> None:
    """One request of one arm before the registration is enough; the arm is named."""
    (version,) = history([row(FIRST, START + 100)]).versions
    (mark,) = marks([version], [{Arm.NEW: START + 200.0, Arm.BASE: START + 99.0}])
    assert mark.registered_after_data
    assert mark.seen_arms == (Arm.BASE,)
    (line,) = judge_registration(version, mark).holds
    assert (line.reason, line.of) == (REGISTERED_AFTER_DATA, "base")
    assert (line.value, line.limit) == (START + 100.0, START + 99.0)


@pytest.mark.parametrize("first", [NONE_YET, {}, dict.fromkeys(Arm, START + 100.0)])
def test_a_plan_registered_before_its_data_is_not_marked(first: Any) -> None:
    """No data yet, or data from the moment of registration on."""
    (version,) = history([row(FIRST, START + 100)]).versions
    (mark,) = marks([version], [first])
    assert not mark.registered_after_data
    assert not mark.edited_after_data
    assert judge_registration(version, mark).holds == ()


def test_an_edit_after_data_were_seen_is_marked() -> None:
    """A second version is marked when data of any earlier one existed, even if its own did not."""
    versions = history(
        [row(FIRST, START), row(SECOND, START + 50, 2), row(FIRST, START + 500, 3)]
    ).versions
    seen = dict.fromkeys(Arm, START + 100.0)
    early, late, again = marks(versions, [seen, NONE_YET, NONE_YET])
    assert [m.edited_after_data for m in (early, late, again)] == [False, False, True]
    assert not again.registered_after_data
