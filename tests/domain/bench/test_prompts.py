"""What prompts made again say of the ones that were sent."""

from dataclasses import replace

import pytest

from core.domain.bench.checklist import Look, checklist
from core.domain.bench.judge import Note, Rule, judge
from core.domain.bench.prompts import Prompts, Sharing, Unmade, sharing
from tests.domain.bench.recorded import PLAN, recorded

SENT = 63_456
"""Prompt tokens of the recorded D."""


def made(shared: int, total: int = SENT) -> Prompts:
    return Prompts("0.32.0", 30, 2115, 2116, shared, total)


def look_of(prompts: Prompts | Unmade) -> dict[str, object]:
    run, evidence = recorded("0.32.0", "D_c8")
    entries = checklist(
        run, replace(evidence, prompts=prompts), runs=("off", "on"), is_slower=False
    )
    return dict({entry.look: entry.values for entry in entries}[Look.SHARED_PREFIX])


@pytest.mark.parametrize(
    ("shared", "planned", "said"),
    [
        (2049, 2048, Sharing.SHARED),
        (2040, 2048, Sharing.SHARED),
        (2039, 2048, Sharing.NOT_SHARED),
        (1, 2048, Sharing.NOT_SHARED),
        (0, 4, Sharing.NOT_SHARED),
        (1, 0, Sharing.NOTHING_PLANNED),
    ],
)
def test_a_few_tokens_may_be_joined_at_the_boundary(
    shared: int, planned: int, said: Sharing
) -> None:
    """A prefix is shared up to what tokenising again may join; of a short one, half."""
    assert sharing(made(shared), planned, sent_tokens=None) is said


def test_the_checklist_tells_planned_and_made() -> None:
    """Planned and shared tokens stand beside both sums, and what follows from them."""
    assert look_of(made(2049)) == {
        "planned_tokens": 2048,
        "shared_tokens": 2049,
        "made_tokens": SENT,
        "sent_tokens": SENT,
        "prompts": Sharing.SHARED,
    }
    assert look_of(made(3))["prompts"] is Sharing.NOT_SHARED


def test_other_prompts_than_those_sent_prove_nothing() -> None:
    """Another sum than the server's: noted in the verdict, which stays, and sharing is open."""
    other = made(2049, SENT + 1)
    assert look_of(other)["prompts"] is Sharing.OTHER_PROMPTS
    run, evidence = recorded("0.32.0", "D_c8")
    plain = judge(PLAN, run, evidence)
    verdict = judge(PLAN, run, replace(evidence, prompts=other))
    assert verdict.verdict is plain.verdict
    (row,) = [row for row in verdict.rows if row.rule is Rule.MADE_AGAIN]
    assert (row.expected, row.seen, row.note) == (SENT + 1, SENT, Note.OTHER_PROMPTS)
    (row,) = set(judge(PLAN, run, replace(evidence, prompts=made(2049))).rows) - set(plain.rows)
    assert (row.rule, row.note) == (Rule.MADE_AGAIN, None)


@pytest.mark.parametrize("reason", Unmade)
def test_unmade_prompts_stay_unknown_with_their_reason(reason: Unmade) -> None:
    """No number, and why."""
    expected = {"planned_tokens": 2048, "shared_tokens": None, "prompts": reason}
    assert look_of(reason) == expected


@pytest.mark.parametrize(
    "numbers",
    [(0, 1, 1, 0, 0), (2, 5, 4, 0, 9), (2, 4, 5, 5, 9), (2, 4, 5, -1, 9), (2, 4, 5, 1, 11)],
)
def test_numbers_that_no_prompts_have_are_refused(numbers: tuple[int, ...]) -> None:
    """No requests, shortest above longest, more shared than the shortest has, a sum too large."""
    with pytest.raises(ValueError, match="no prompts have these numbers"):
        Prompts("0.32.0", *numbers)
