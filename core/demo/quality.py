"""How good the simulated answers are: the truth that whoever reads the scores must find.

An answer's chance to pass follows from its task type, its place in the session, its
arm and its session, and from nothing else; above all not from what was cached. Tasks
that are hard come with long shared prompts, and later turns are easier: so high cached
ratios go with lower rates over all and not with lower ones within a task type.
"""

from enum import IntEnum
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from core.demo.people import TASK_TYPES
from core.domain.records import Bools, Floats, Ints


class Evaluator(IntEnum):
    """Who scores; the names are those of the scores."""

    ANSWER_PRESENT = 0
    JUDGE_HELPFULNESS = 1
    CONTAINS_EXPECTED = 2
    SESSION_OK = 3
    TRACE_FORMAT_OK = 4
    HUMAN_REVIEW = 5
    JSON_VALID = 6

    @property
    def score_name(self) -> str:
        """Name of its scores."""
        return self.name.lower()


CONSTANT_RATE = {
    Evaluator.ANSWER_PRESENT: 0.985,
    Evaluator.SESSION_OK: 0.91,
    Evaluator.TRACE_FORMAT_OK: 0.97,
}
"""Pass rates that are the same for all."""
EXPECTED_RATE = {"qa": 0.84, "summary": 0.8, "code": 0.45, "agent": 0.36}
"""How often a first answer contains what was expected, in arm A; chat has nothing to expect."""
FOLLOW_UP_EXPECTED = 0.1
"""Later turns contain it more often by this, as much in every task type."""
ARM_B_EXPECTED = -0.015
JSON_RATE = {"code": 0.94, "agent": 0.93}
"""How often an answer that should be JSON can be read as such, in arm A."""
ARM_B_JSON = -0.08
ARM_B_EFFECT = {
    Evaluator.CONTAINS_EXPECTED: ARM_B_EXPECTED,
    Evaluator.JSON_VALID: ARM_B_JSON,
}
"""What arm B changes in a score, as much in every kind of answer; it changes no other."""
HELPFUL_RATE = {"qa": 0.86, "chat": 0.88, "summary": 0.84, "code": 0.56, "agent": 0.72}
"""How often a person would call an answer helpful."""
SESSION_CORRELATION = 0.1
"""Of two answers of a session, in every score: their chances to pass are one beta draw."""

JUDGE_PASS_AT = 0.7
"""The judge's values pass from here on."""
JUDGE_SENSITIVITY = {"2": 0.88, "3": 0.94}
"""Share of the helpful answers that the judge passes, by its version."""
JUDGE_SPECIFICITY = {"2": 0.78, "3": 0.86}
"""Share of the others that it does not pass."""
JUDGE_PASSING, JUDGE_FAILING = (2.0, 2.0), (4.0, 2.0)
"""Beta laws of its values above and below the bar, as parts of the room there."""
JUDGE_INCLUSION = {"code": 1.0}
"""Probability that a session is judged, where the task type has one of its own."""
JUDGE_INCLUSION_ELSE = 0.1
JUDGE_REPEATED = 0.1
"""Share of the judged answers that are judged twice."""
JUDGE_ERRORS = 0.02
REVIEWED_SHARE = 0.1
"""Probability that a judged answer is reviewed by a person too."""
MISSING_SHARE = 0.015
"""Share of the answers that an automatic evaluator never came to."""

LUCK_STEPS = 1024
"""A session's luck is one of so many steps."""


class Cells(NamedTuple):
    """What the chances of answers follow from, an answer each.

    `task` is a place in `TASK_TYPES`.
    """

    task: Ints
    first_turn: Bools
    arm_b: Bools


def true_pass_rate(
    evaluator: Evaluator,
    *,
    task_type: str,
    first_turn: bool = True,
    arm: str = "A",
    version: str = "3",
) -> float | None:
    """Pass rate over all sessions of one kind of answer; None: this score is not meant for it.

    A score of sessions or traces ignores what only an answer has, and only the judge
    has versions.

    >>> true_pass_rate(Evaluator.CONTAINS_EXPECTED, task_type="qa", arm="B")
    0.825
    >>> true_pass_rate(Evaluator.CONTAINS_EXPECTED, task_type="chat") is None
    True
    """
    if evaluator in ARM_B_EFFECT:
        rates = JSON_RATE if evaluator is Evaluator.JSON_VALID else EXPECTED_RATE
        if task_type not in rates:
            return None
        grows = evaluator is Evaluator.CONTAINS_EXPECTED and not first_turn
        later = FOLLOW_UP_EXPECTED if grows else 0.0
        return rates[task_type] + later + (ARM_B_EFFECT[evaluator] if arm == "B" else 0.0)
    if evaluator in CONSTANT_RATE:
        return CONSTANT_RATE[evaluator]
    helpful = HELPFUL_RATE[task_type]
    if evaluator is Evaluator.HUMAN_REVIEW:
        return helpful
    alarms = 1 - JUDGE_SPECIFICITY[version]
    return helpful * JUDGE_SENSITIVITY[version] + (1 - helpful) * alarms


def true_flip_rate(task_type: str, *, version: str) -> float:
    """Share of the answers judged twice whose two verdicts differ."""
    helpful = HELPFUL_RATE[task_type]
    passes, alarms = JUDGE_SENSITIVITY[version], 1 - JUDGE_SPECIFICITY[version]
    return helpful * 2 * passes * (1 - passes) + (1 - helpful) * 2 * alarms * (1 - alarms)


def judge_inclusion(task_type: str) -> float:
    """Probability that a session of a task type is judged."""
    return JUDGE_INCLUSION.get(task_type, JUDGE_INCLUSION_ELSE)


def meant_for(evaluator: Evaluator) -> Bools:
    """Which of `TASK_TYPES` a score is for."""
    meant: Bools = ~np.isnan(_rates(evaluator)[:, 0, 0])
    return meant


def chances(evaluator: Evaluator, cells: Cells, luck: Floats) -> Floats:
    """Chance of each answer to pass: the quantile `luck`, in [0, 1), of its cell's beta law.

    The law's mean is the true pass rate and its variance the correlation's share of
    rate · (1 − rate), so two answers of a session, which has one luck, have that
    correlation. NaN where the score is not meant for the answer.
    """
    step = (luck * LUCK_STEPS).astype(np.int64)
    first, arm_b = cells.first_turn.astype(np.int64), cells.arm_b.astype(np.int64)
    found: Floats = _laws(evaluator)[cells.task, first, arm_b, step]
    return found


@cache
def _laws(evaluator: Evaluator) -> Floats:
    """Quantiles of the law of every cell, at the middle of each step of luck."""
    spread = (1 - SESSION_CORRELATION) / SESSION_CORRELATION
    rate = _rates(evaluator)[..., np.newaxis]
    luck = (np.arange(LUCK_STEPS) + 0.5) / LUCK_STEPS
    laws: Floats = betaincinv(rate * spread, (1 - rate) * spread, luck)
    return laws


def _rates(evaluator: Evaluator) -> Floats:
    """True pass rates by task type, first turn and arm; NaN where it is not meant."""
    rows = [
        [
            [
                true_pass_rate(evaluator, task_type=task, first_turn=first, arm=arm)
                for arm in ("A", "B")
            ]
            for first in (False, True)
        ]
        for task in TASK_TYPES
    ]
    return np.array(rows, dtype=np.float64)
