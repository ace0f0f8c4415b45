"""Scores of the simulated requests, from evaluators whose truth is known.

Who is scored, when, and what comes out; how good the answers are is in `quality`.
Kept as numbers; `score_rows` makes their JSON.
"""

from dataclasses import dataclass

import numpy as np

from core.demo.arrivals import Kind
from core.demo.fleet import CYCLE_S, MINUTE_S
from core.demo.identity import Identity
from core.demo.people import TASK_TYPES, in_arm_b, named, tasks
from core.demo.quality import (
    JUDGE_ERRORS,
    JUDGE_FAILING,
    JUDGE_PASS_AT,
    JUDGE_PASSING,
    JUDGE_REPEATED,
    JUDGE_SENSITIVITY,
    JUDGE_SPECIFICITY,
    MISSING_SHARE,
    REVIEWED_SHARE,
    Cells,
    Evaluator,
    chances,
    judge_inclusion,
    meant_for,
)
from core.demo.shelf import Records
from core.domain.records import Bools, Floats, Ints

JUDGE_SWITCH_S = CYCLE_S + 75 * MINUTE_S
"""When the judge's version 3 takes over, seconds since the epoch."""
SENT_AFTER_S = (6.0, 594.0)
STORED_AFTER_MS = 6_000
"""A score can be read so long after its own time."""

SCORE = np.dtype(
    [
        *(("time", "i8"), ("key", "u8"), ("value", "f8"), ("about", "u8"), ("inclusion", "f8")),
        *(
            ("trace", "i4"),
            ("session", "i4"),
            ("evaluator", "u1"),
            ("repeat", "i1"),
            ("error", "?"),
        ),
    ]
)
"""`about` is the key of an observation, `repeat` -1 where nothing was repeated, and
`inclusion` NaN where nothing was sampled."""

REPEATS = 2
_JUDGED = np.array([judge_inclusion(task) for task in TASK_TYPES])
_EXPECTED = meant_for(Evaluator.CONTAINS_EXPECTED)
_JSON = meant_for(Evaluator.JSON_VALID)


@dataclass(frozen=True)
class Verdicts:
    """Scores of one evaluator before they are dated: which rows, and what it said."""

    evaluator: Evaluator
    rows: Records
    value: Floats
    inclusion: Floats | None = None
    repeat: int = -1
    error: Bools | None = None


def scores(
    requests: Records, identity: Identity, epoch: float, rng: np.random.Generator
) -> Records:
    """Score a cycle's requests."""
    answers = requests[requests["kind"] < Kind.FAILED]
    task = _tasks(answers, identity)
    expected, json = (answers["last"] & meant[task] for meant in (_EXPECTED, _JSON))
    subjects = {
        Evaluator.ANSWER_PRESENT: _reached(answers, rng),
        Evaluator.CONTAINS_EXPECTED: _reached(answers[expected], rng),
        Evaluator.SESSION_OK: answers[answers["over"] & named(identity, answers["session"])],
        Evaluator.TRACE_FORMAT_OK: answers[answers["rooted"] & answers["last"]],
    }
    verdicts = [
        Verdicts(evaluator, rows, _passes(evaluator, rows, identity, rng))
        for evaluator, rows in subjects.items()
    ]
    made = [_dated(one, identity, rng) for one in verdicts]
    made += _judged(answers, identity, epoch, rng)
    rows = _reached(answers[json], rng)
    values = _passes(Evaluator.JSON_VALID, rows, identity, rng)
    checked = Verdicts(Evaluator.JSON_VALID, rows, values)
    return np.concatenate([*made, _dated(checked, identity, rng)])


def judge_versions(time_ms: Ints, epoch: float) -> list[str]:
    """Which version of the judge speaks at each time."""
    return ["3" if one else "2" for one in _later(time_ms, epoch).tolist()]


def stored(records: Records, now: float) -> Bools:
    """Which scores can be read at a time."""
    readable: Bools = records["time"] + STORED_AFTER_MS <= now * 1000
    return readable


def _later(time_ms: Ints, epoch: float) -> Bools:
    later: Bools = time_ms >= (epoch + JUDGE_SWITCH_S) * 1000
    return later


def _tasks(rows: Records, identity: Identity) -> Ints:
    return tasks(identity, rows["session"], rows["place"])


def _reached(rows: Records, rng: np.random.Generator) -> Records:
    """Rows that an automatic evaluator came to; the others are missing."""
    return rows[rng.random(rows.size) >= MISSING_SHARE]


def _passes(
    evaluator: Evaluator, rows: Records, identity: Identity, rng: np.random.Generator
) -> Floats:
    """Draw who passes, with the chance of the kind of answer and of its session."""
    session = rows["session"]
    cells = Cells(_tasks(rows, identity), rows["turn"] == 0, in_arm_b(identity, session))
    luck = identity.fractions(evaluator.score_name, session)
    return (rng.random(rows.size) < chances(evaluator, cells, luck)).astype(float)


def _judged(
    answers: Records, identity: Identity, epoch: float, rng: np.random.Generator
) -> list[Records]:
    """Judge the last answers of the turns of sampled sessions, and let people review some.

    Some are judged twice. A person's word is what the judge is right or wrong about.
    """
    inclusion = _JUDGED[_tasks(answers, identity)]
    sampled = identity.fractions("judged", answers["session"]) < inclusion
    rows = _reached(answers[sampled & answers["last"]], rng)
    inclusion = _JUDGED[_tasks(rows, identity)]
    helpful = _passes(Evaluator.HUMAN_REVIEW, rows, identity, rng)
    twice = rng.random(rows.size) < JUDGE_REPEATED
    reviewed = rng.random(rows.size) < REVIEWED_SHARE
    review = Verdicts(
        Evaluator.HUMAN_REVIEW,
        rows[reviewed],
        helpful[reviewed],
        inclusion[reviewed] * REVIEWED_SHARE,
    )
    made = [_dated(review, identity, rng)]
    for repeat, these in ((-1, ~twice), *((repeat, twice) for repeat in range(REPEATS))):
        error = rng.random(int(these.sum())) < JUDGE_ERRORS
        blank = Verdicts(
            *(Evaluator.JUDGE_HELPFULNESS, rows[these], helpful[these], inclusion[these]),
            repeat=repeat,
            error=error,
        )
        made.append(_judge(_dated(blank, identity, rng), epoch, rng))
    return made


def _judge(scored: Records, epoch: float, rng: np.random.Generator) -> Records:
    """Put the judge's values where the truth stood; beside an error there is none."""
    later, helpful, size = _later(scored["time"], epoch), scored["value"] > 0, scored.size
    right, alarm = (np.where(later, of["3"], of["2"]) for of in (JUDGE_SENSITIVITY, _FALSE_ALARMS))
    passed = rng.random(size) < np.where(helpful, right, alarm)
    above = JUDGE_PASS_AT + (1 - JUDGE_PASS_AT) * rng.beta(*JUDGE_PASSING, size)
    below = JUDGE_PASS_AT * rng.beta(*JUDGE_FAILING, size)
    value = np.floor(1000 * np.where(passed, above, below)) / 1000  # rounded, never over the bar
    scored["value"] = np.where(scored["error"], 0.0, value)
    return scored


_FALSE_ALARMS = {version: 1 - right for version, right in JUDGE_SPECIFICITY.items()}


def _dated(verdicts: Verdicts, identity: Identity, rng: np.random.Generator) -> Records:
    """Scores, each some time after the end of what it is about."""
    rows, size = verdicts.rows, verdicts.rows.size
    made = np.zeros(size, SCORE)
    after = rng.lognormal(3.4, 1.0, size).clip(*SENT_AFTER_S) * 1000
    made["time"] = rows["time"] + rows["took"] + after.astype(np.int64) - STORED_AFTER_MS
    serials = 4 * rows["call"].astype(np.int64) + verdicts.repeat + 1
    made["key"] = identity.keys(verdicts.evaluator.score_name, serials)
    made["evaluator"], made["repeat"] = verdicts.evaluator, verdicts.repeat
    made["about"], made["value"] = rows["key"], verdicts.value
    made["trace"], made["session"] = rows["trace"], rows["session"]
    made["inclusion"] = np.nan if verdicts.inclusion is None else verdicts.inclusion
    if verdicts.error is not None:
        made["error"] = verdicts.error
    return made
