"""Scores of the simulated requests, from evaluators whose truth is known.

How often an answer passes depends on its session and, for one evaluator, on its
arm; never on what was cached. Kept as numbers; `score_rows` makes their JSON.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from core.demo.arrivals import Kind
from core.demo.fleet import CYCLE_S, MINUTE_S
from core.demo.identity import Identity
from core.demo.people import in_arm_b, named, task_types
from core.demo.shelf import Records
from core.domain.records import Bools, Floats, Ints

ANSWER_PRESENT_RATE = 0.985
CONTAINS_EXPECTED_RATE = {"A": 0.86, "B": 0.845}
SESSION_OK_RATE = 0.91
TRACE_FORMAT_OK_RATE = 0.97
JUDGE_MEAN = {"2": 0.74, "3": 0.77}
"""Mean of the judge's values, by its version."""
JUDGE_SWITCH_S = CYCLE_S + 75 * MINUTE_S
"""When the judge's version 3 takes over, seconds since the epoch."""
JUDGE_INCLUSION = 0.2
"""Probability that a session is judged."""
JUDGE_REPEATED = 0.1
JUDGE_ERRORS = 0.02
JUDGE_PRECISION = 12.0
"""Of the beta law of the judge's values: larger is narrower."""
SESSION_SWING = {"contains_expected": 0.09, "judge_helpfulness": 0.08}
"""How far a session lies above or below the mean; half of them do each."""
SENT_AFTER_S = (6.0, 594.0)
STORED_AFTER_MS = 6_000
"""A score can be read so long after its own time."""


class Evaluator(IntEnum):
    """Who scores; the names are those of the scores."""

    ANSWER_PRESENT = 0
    JUDGE_HELPFULNESS = 1
    CONTAINS_EXPECTED = 2
    SESSION_OK = 3
    TRACE_FORMAT_OK = 4

    @property
    def score_name(self) -> str:
        """Name of its scores."""
        return self.name.lower()


SCORE = np.dtype(
    [
        *(("time", "i8"), ("key", "u8"), ("value", "f8"), ("about", "u8")),
        *(
            ("trace", "i4"),
            ("session", "i4"),
            ("evaluator", "u1"),
            ("repeat", "i1"),
            ("error", "?"),
        ),
    ]
)
"""`about` is the key of an observation, `repeat` -1 where nothing was repeated."""

REPEATS = 2


@dataclass(frozen=True)
class Verdicts:
    """Scores of one evaluator before they are dated: which rows, and what it said."""

    evaluator: Evaluator
    rows: Records
    value: Floats
    repeat: int = -1
    error: Bools | None = None


def scores(
    requests: Records, identity: Identity, epoch: float, rng: np.random.Generator
) -> Records:
    """Score a cycle's requests."""
    answers = requests[requests["kind"] < Kind.FAILED]
    verdicts = [
        _passed(Evaluator.ANSWER_PRESENT, answers, ANSWER_PRESENT_RATE, rng),
        _contains_expected(answers, identity, rng),
        _passed(
            Evaluator.SESSION_OK,
            answers[answers["over"] & named(identity, answers["session"])],
            SESSION_OK_RATE,
            rng,
        ),
        _passed(
            Evaluator.TRACE_FORMAT_OK,
            answers[answers["rooted"] & answers["last"]],
            TRACE_FORMAT_OK_RATE,
            rng,
        ),
    ]
    made = [_dated(one, identity, rng) for one in verdicts]
    return np.concatenate([*made, *_judged(answers, identity, epoch, rng)])


def judge_versions(time_ms: Ints, epoch: float) -> list[str]:
    """Which version of the judge speaks at each time."""
    later = time_ms >= (epoch + JUDGE_SWITCH_S) * 1000
    return ["3" if one else "2" for one in later.tolist()]


def stored(records: Records, now: float) -> Bools:
    """Which scores can be read at a time."""
    readable: Bools = records["time"] + STORED_AFTER_MS <= now * 1000
    return readable


def _passed(
    evaluator: Evaluator, rows: Records, rate: Floats | float, rng: np.random.Generator
) -> Verdicts:
    return Verdicts(evaluator, rows, (rng.random(rows.size) < rate).astype(float))


def _contains_expected(answers: Records, identity: Identity, rng: np.random.Generator) -> Verdicts:
    asked = np.array(task_types(identity, answers["session"], answers["place"])) == "qa"
    rows = answers[asked & answers["last"]]
    rate = np.where(
        in_arm_b(identity, rows["session"]),
        CONTAINS_EXPECTED_RATE["B"],
        CONTAINS_EXPECTED_RATE["A"],
    )
    rate = rate + _swing(Evaluator.CONTAINS_EXPECTED, rows, identity)
    return _passed(Evaluator.CONTAINS_EXPECTED, rows, rate, rng)


def _judged(
    answers: Records, identity: Identity, epoch: float, rng: np.random.Generator
) -> list[Records]:
    """Judge the last answers of the turns of sampled sessions, some of them twice."""
    sampled = identity.fractions("judged", answers["session"]) < JUDGE_INCLUSION
    rows = answers[sampled & answers["last"]]
    twice = rng.random(rows.size) < JUDGE_REPEATED
    parts = [(rows[~twice], -1), *((rows[twice], repeat) for repeat in range(REPEATS))]
    return [_judge(part, repeat, identity, epoch, rng) for part, repeat in parts]


def _judge(
    rows: Records, repeat: int, identity: Identity, epoch: float, rng: np.random.Generator
) -> Records:
    error = rng.random(rows.size) < JUDGE_ERRORS
    blank = Verdicts(Evaluator.JUDGE_HELPFULNESS, rows, np.zeros(rows.size), repeat, error)
    judged = _dated(blank, identity, rng)
    mean = np.array([JUDGE_MEAN[one] for one in judge_versions(judged["time"], epoch)])
    mean = mean + _swing(Evaluator.JUDGE_HELPFULNESS, rows, identity)
    value = rng.beta(mean * JUDGE_PRECISION, (1 - mean) * JUDGE_PRECISION)
    judged["value"] = np.where(error, 0.0, np.round(value, 3))
    return judged


def _swing(evaluator: Evaluator, rows: Records, identity: Identity) -> Floats:
    name = evaluator.score_name
    better = identity.fractions(name, rows["session"]) < 0.5  # half of the sessions
    return np.where(better, 1.0, -1.0) * SESSION_SWING[name]


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
    if verdicts.error is not None:
        made["error"] = verdicts.error
    return made
