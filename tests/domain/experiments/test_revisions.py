"""Revisions and evaluators inside the arms."""

import pytest

from core.domain.experiments.arms import Arm
from core.domain.experiments.revisions import (
    REVISIONS,
    SeenEvaluator,
    SeenRevision,
    judge_evaluators,
    judge_revisions,
)
from tests.domain.experiments.plans import SERIES


def seen(
    value: str | None,
    first: float,
    last: float,
    requests: int = 500,
    *,
    arm: Arm = Arm.NEW,
    name: str = "template_version",
) -> SeenRevision:
    return SeenRevision(arm, name, value, requests, first, last)


@pytest.mark.parametrize("name", REVISIONS)
@pytest.mark.parametrize("arm", Arm)
def test_a_revision_that_changes_inside_an_arm_holds(name: str, arm: Arm) -> None:
    """Template, model, tokenizer or engine: one after the other in one arm is a change."""
    old, new = seen("v1", 0, 400, arm=arm, name=name), seen("v2", 390, 1000, arm=arm, name=name)
    (line,) = judge_revisions([new, old]).holds
    assert (line.reason, line.of, line.at) == ("revision_changed", arm.value, 390)
    assert line.detail == f"{name}: v1 (500), v2 (500)"
    assert line.value == 0.5


def test_different_revisions_in_the_two_arms_are_no_change() -> None:
    """That the arms differ is what an experiment is."""
    found = judge_revisions([seen("v1", 0, 1000, arm=Arm.BASE), seen("v2", 0, 1000)])
    assert found.holds == found.notes == ()


def test_templates_side_by_side_are_a_mixture() -> None:
    """Two templates from beginning to end are noted and do not hold."""
    found = judge_revisions([seen("chat", 0, 1000), seen("search", 20, 990)])
    assert found.holds == ()
    assert [line.reason for line in found.notes] == ["revision_mixed"]


@pytest.mark.parametrize(("first", "last"), [(0, 400), (600, 1000)])
def test_one_that_goes_or_comes_beside_another_is_a_change(first: float, last: float) -> None:
    """The other ran from beginning to end; the arm was not the same throughout."""
    assert judge_revisions([seen("v1", 0, 1000), seen("v2", first, last)]).holds


@pytest.mark.parametrize(("requests", "held"), [(5, False), (6, True)])
def test_a_handful_of_requests_is_noted(requests: int, held: bool) -> None:  # noqa: FBT001
    """A revision of 1 % of the arm's requests or fewer does not hold."""
    found = judge_revisions([seen("v1", 0, 1000, 500), seen("v2", 400, 500, requests)])
    assert bool(found.holds) == held
    if not held:
        assert [line.reason for line in found.notes] == ["revision_rare"]


def test_a_revision_that_is_not_reported_is_said() -> None:
    """Unknown is no revision: it neither holds nor passes for the one that is known."""
    found = judge_revisions([seen(None, 0, 1000), seen("v1", 0, 1000, 1500)])
    assert found.holds == ()
    (line,) = found.notes
    assert (line.reason, line.value) == ("revision_unknown", 0.25)
    assert judge_revisions([]).notes == ()


def test_another_version_of_the_evaluator_holds() -> None:
    """The planned version alone may score; another, or an unknown one, is a reason to hold."""
    planned = [SeenEvaluator(arm, "judge", "v2", 40) for arm in Arm]
    assert judge_evaluators(SERIES, planned).holds == ()
    other = [*planned, SeenEvaluator(Arm.NEW, "judge", "v3", 2)]
    (line,) = judge_evaluators(SERIES, other).holds
    assert (line.reason, line.of, line.value) == ("evaluator_version_mismatch", "new", 2)
    unknown = [SeenEvaluator(Arm.BASE, "judge", None, 2)]
    assert [one.of for one in judge_evaluators(SERIES, unknown).holds] == ["base"]


def test_a_plan_without_a_version_holds_whatever_scored() -> None:
    """Nobody can say that both arms were scored by one version."""
    series = SERIES.model_copy(update={"evaluator_version": None})
    for version in (None, "v2"):
        assert judge_evaluators(series, [SeenEvaluator(Arm.NEW, "judge", version, 2)]).holds


def test_other_evaluators_are_left_alone() -> None:
    """A person who scores beside the judge is another series."""
    assert judge_evaluators(SERIES, [SeenEvaluator(Arm.NEW, "person", None, 2)]).holds == ()
