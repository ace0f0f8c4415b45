"""The lever log against an experiment: its own change, and every other one."""

from typing import Any

import pytest

from core.domain.experiments.arms import Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.changes import (
    OWN_S,
    ChangeReason,
    LoggedChange,
    judge_changes,
    own_change,
)
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.plan import Unit
from core.domain.levers import ENTERED, LeverKind
from tests.domain.experiments.plans import AFTER, BEFORE, DAY, IN_TIME, PERIOD, START, plan

BY_HAND = START - 3600.0
"""When the plan was registered."""
FOUND = (
    LeverKind.RESTART,
    LeverKind.ENGINE_APPEARED,
    LeverKind.ENGINE_LEFT,
    LeverKind.CACHE_RESET,
)
POOLS: dict[str, Any] = {
    "comparison": Comparison.SEPARATE_POOLS,
    "unit": Unit.POOL,
    "arms": Arms(
        split=ByAttribute(dimension=Dimension.NAMESPACE, base="blue", new="green"), cluster="east"
    ),
}


def change(lever_id: int, kind: str, at: float, **more: Any) -> LoggedChange:
    return LoggedChange(lever_id, at, kind, f"change {lever_id}", **more)


OWN = change(1, LeverKind.PROMPT_ORDER, START + 60.0)


def holds(one: Any, *changes: LoggedChange) -> list[int | None]:
    found = judge_changes(one, changes, registered_at=BY_HAND)
    assert all(line.reason == ChangeReason.ANOTHER_CHANGE for line in found.holds)
    return [line.lever_id for line in found.holds]


def notes(one: Any, *changes: LoggedChange) -> list[tuple[int | None, str]]:
    found = judge_changes(one, changes, registered_at=BY_HAND)
    return [(line.lever_id, line.reason) for line in found.notes]


def test_the_experiments_own_change_does_not_hold() -> None:
    """The first change of the plan's kind is what the experiment is about: a note."""
    assert holds(plan(), OWN) == []
    assert notes(plan(), OWN) == [(1, "own_change")]


@pytest.mark.parametrize("kind", ENTERED)
def test_a_second_entered_change_inside_the_period_holds(kind: LeverKind) -> None:
    """Whatever its kind, the plan's own kind included; the line says what, when and which."""
    second = change(2, kind, START + DAY)
    assert holds(plan(), OWN, second) == [2]
    (line,) = judge_changes(plan(), [second, OWN], registered_at=BY_HAND).holds
    assert (line.at, line.detail) == (START + DAY, f"{kind}: change 2")
    assert line.of is None


@pytest.mark.parametrize("at", [PERIOD.start - 1.0, float(PERIOD.end), PERIOD.end + 5.0])
def test_a_change_outside_the_period_is_nothing(at: float) -> None:
    """The period is half open: its end no longer belongs to it."""
    assert holds(plan(), OWN, change(2, LeverKind.OTHER, at)) == []
    assert notes(plan(), OWN, change(2, LeverKind.OTHER, at)) == [(1, "own_change")]


def test_the_own_change_may_be_made_before_the_period() -> None:
    """Made between registration and start, it is the own one; a second of its kind holds."""
    early = change(1, LeverKind.PROMPT_ORDER, START - 600.0)
    again = change(2, LeverKind.PROMPT_ORDER, START + 600.0)
    found = own_change(plan(), [again, early], registered_at=BY_HAND)
    assert found == early
    assert holds(plan(), early, again) == [2]


def test_a_change_before_registration_is_not_the_own_one() -> None:
    """An older change of that kind was another one."""
    old = change(1, LeverKind.PROMPT_ORDER, BY_HAND - 1.0)
    assert own_change(plan(), [old], registered_at=BY_HAND) is None
    assert own_change(plan(), [old, OWN], registered_at=BY_HAND) == OWN


def test_without_an_own_change_every_entry_holds() -> None:
    """Nobody logged the experiment's change: what was logged is another one."""
    assert holds(plan(), change(2, LeverKind.REPLICAS, START + 60.0)) == [2]


def test_a_configuration_that_changed_holds() -> None:
    """Settings of an engine that changed inside the period are another change."""
    assert holds(plan(), OWN, change(2, LeverKind.CONFIGURATION, START + 70.0)) == [2]


def test_a_kind_that_is_not_known_holds() -> None:
    """A newer collector may find what this version has no rule for."""
    assert holds(plan(), OWN, change(2, "moved_to_the_moon", START + DAY)) == [2]


@pytest.mark.parametrize("kind", FOUND)
def test_restarts_are_notes_but_between_before_and_after(kind: LeverKind) -> None:
    """Arms at one time meet the same restarts; arms after one another do not."""
    restart = change(2, kind, START + DAY, engine_id=7)
    assert holds(plan(), OWN, restart) == []
    assert (2, "engines_changed") in notes(plan(), OWN, restart)
    assert holds(plan(**POOLS), OWN, restart) == []
    in_time = plan(**IN_TIME)
    assert holds(in_time, restart) == [2]
    (line,) = judge_changes(in_time, [restart], registered_at=BY_HAND).holds
    assert line.of == "base"


def test_what_the_lever_leaves_on_engines_is_its_trace() -> None:
    """A new KV dtype shows as a changed configuration and restarts, for half an hour."""
    dtype = plan(lever=LeverKind.KV_DTYPE)
    own = change(1, LeverKind.KV_DTYPE, START + 3600.0)
    near = change(2, LeverKind.CONFIGURATION, own.at + OWN_S)
    late = change(3, LeverKind.CONFIGURATION, own.at + OWN_S + 1)
    assert holds(dtype, own, near, late) == [3]
    assert (2, "own_trace") in notes(dtype, own, near, late)
    routing = plan(lever=LeverKind.AFFINITY_ROUTING)
    own = change(1, LeverKind.AFFINITY_ROUTING, START + 3600.0)
    assert holds(routing, own, near) == [2]


def test_a_change_of_another_pool_concerns_its_arm_alone() -> None:
    """An engine's labels say whose change it was; elsewhere it is nobody's."""
    green = change(2, LeverKind.CONFIGURATION, START + DAY, cluster="east", namespace="green")
    west = change(3, LeverKind.CONFIGURATION, START + DAY, cluster="west", namespace="green")
    red = change(4, LeverKind.CONFIGURATION, START + DAY, cluster="east", namespace="red")
    unknown = change(5, LeverKind.CONFIGURATION, START + DAY)
    found = judge_changes(plan(**POOLS), [green, west, red, unknown], registered_at=BY_HAND)
    assert [(line.lever_id, line.of) for line in found.holds] == [(2, "new"), (5, None)]


def test_before_and_after_have_their_change_between_them() -> None:
    """The own change lies after the baseline; one inside the baseline is another change."""
    gap = plan(
        **IN_TIME
        | {
            "arms": Arms(
                split=ByTime(base=BEFORE, new=Period(start=AFTER.start + DAY, end=AFTER.end))
            )
        }
    )
    between = change(1, LeverKind.PROMPT_ORDER, AFTER.start + 600.0)
    inside = change(2, LeverKind.PROMPT_ORDER, BEFORE.start + 600.0)
    assert holds(gap, between) == []
    assert notes(gap, between) == [(1, "own_change")]
    assert holds(gap, inside, between) == [2]


def test_hostile_words_of_a_change_are_kept_as_text() -> None:
    """What cannot be seen is marked, what is too long is cut; nothing is refused."""
    what = "a\x00b\u202e" + "x" * 5000
    second = LoggedChange(2, START + 70.0, LeverKind.OTHER, what)
    (line,) = judge_changes(plan(), [OWN, second], registered_at=BY_HAND).holds
    assert line.detail is not None
    assert line.detail.startswith("other: a\ufffdb\ufffdxxx")
    assert len(line.detail) == 500
