"""The scores of the demo, and the truth behind them."""

from collections import Counter, defaultdict

import httpx
import numpy as np
import pytest

from core.config import Settings
from core.demo import known_scores
from core.demo.evaluators import (
    ANSWER_PRESENT_RATE,
    CONTAINS_EXPECTED_RATE,
    JUDGE_ERRORS,
    JUDGE_INCLUSION,
    JUDGE_MEAN,
    JUDGE_SWITCH_S,
    SESSION_OK_RATE,
    TRACE_FORMAT_OK_RATE,
    Evaluator,
)
from tests.demo.conftest import ClientOf
from tests.demo.reading import EPOCH, NOW, SCORES, STRETCH, Row, iso, read, seconds, start_of


@pytest.fixture(scope="module")
def scores(client: httpx.Client) -> list[Row]:
    asked = {"fromTimestamp": iso(STRETCH[0]), "toTimestamp": iso(STRETCH[1] + 700)}
    return list(read(client, SCORES, **asked, fields="core,details,subject"))


def test_scores_tell_the_known_sums(settings: Settings, scores: list[Row]) -> None:
    """Every evaluator has the known number of scores, errors and passes."""
    known = known_scores(settings, STRETCH[0], STRETCH[1] + 700, now=NOW)
    assert len({row["id"] for row in scores}) == len(scores)
    for evaluator in Evaluator:
        mine = [row for row in scores if row["name"] == evaluator.score_name]
        errors = [row for row in mine if row["metadata"].get("status") == "error"]
        total = sum(row["value"] for row in mine if row not in errors)
        assert (len(mine), len(errors)) == known[evaluator][:2]
        assert total == pytest.approx(known[evaluator].total)
        assert all(row["value"] == 0 for row in errors)


def test_scores_come_after_their_subject(
    stretch: list[Row], scores: list[Row], client_of: ClientOf
) -> None:
    """A score belongs to a row, trace or session that exists, 6 s to 10 min after its end."""
    rows = {row["id"]: row for row in stretch}
    lags = [
        seconds(score["timestamp"]) + 6 - seconds(rows[score["subject"]["id"]]["endTime"])
        for score in scores
        if score["subject"]["kind"] == "observation" and score["subject"]["id"] in rows
    ]
    assert len(lags) > 5_000
    assert 6 <= min(lags) < max(lags) <= 600.1
    seen = {row["sessionId"] for row in stretch} | {row["traceId"] for row in stretch}
    others = [s["subject"] for s in scores if s["subject"]["kind"] != "observation"]
    assert np.mean([one["id"] in seen for one in others]) > 0.75
    now = STRETCH[0] + 300.0
    early = list(read(client_of(now), SCORES, fromTimestamp=iso(now - 60)))
    assert max(seconds(row["timestamp"]) for row in early) <= now - 6


def test_every_answer_is_checked_and_some_sessions_are_judged(
    stretch: list[Row], scores: list[Row]
) -> None:
    """One evaluator covers all answers; the judge covers whole sessions, some answers twice."""
    inner = [r for r in stretch if start_of(r) < STRETCH[1] and r["type"] == "GENERATION"]
    answers = {row["id"] for row in inner if row["level"] == "DEFAULT"}
    scored = {s["subject"]["id"] for s in scores if s["name"] == "answer_present"}
    assert answers <= scored
    judged = [s for s in scores if s["name"] == "judge_helpfulness"]
    subjects = {s["subject"]["id"] for s in judged}
    sessions = {row["sessionId"]: False for row in inner if row["sessionId"]}
    sessions |= {row["sessionId"]: True for row in inner if row["id"] in subjects}
    sessions.pop("", None)
    assert np.mean(list(sessions.values())) == pytest.approx(JUDGE_INCLUSION, abs=0.03)
    repeats = Counter(s["metadata"].get("repeat") for s in judged)
    assert set(repeats) == {None, 0, 1}
    told = {"evaluator": "judge-small", "inclusion_probability": JUDGE_INCLUSION}
    assert all(told.items() <= s["metadata"].items() for s in judged)


def test_true_rates_are_the_constants(settings: Settings, client: httpx.Client) -> None:
    """Over all history, pass rates and means are those the module declares."""
    known = known_scores(settings, EPOCH, NOW, now=NOW)
    for evaluator, rate in (
        (Evaluator.ANSWER_PRESENT, ANSWER_PRESENT_RATE),
        (Evaluator.SESSION_OK, SESSION_OK_RATE),
        (Evaluator.TRACE_FORMAT_OK, TRACE_FORMAT_OK_RATE),
        (Evaluator.CONTAINS_EXPECTED, np.mean(list(CONTAINS_EXPECTED_RATE.values()))),
    ):
        found = known[evaluator]
        assert found.total / found.number == pytest.approx(rate, abs=0.01), evaluator
    judge = known[Evaluator.JUDGE_HELPFULNESS]
    assert judge.errors / judge.number == pytest.approx(JUDGE_ERRORS, rel=0.3)


def test_the_judge_changes_at_a_known_time(client: httpx.Client) -> None:
    """Version 3 takes over at its time in the story, with a mean of its own."""
    switch = EPOCH + JUDGE_SWITCH_S
    asked = {"name": "judge_helpfulness", "fields": "details"}
    asked |= {"fromTimestamp": iso(switch - 2400), "toTimestamp": iso(switch + 2400)}
    values = defaultdict(list)
    for row in read(client, SCORES, **asked):
        version = row["metadata"]["evaluator_version"]
        assert version == ("3" if seconds(row["timestamp"]) >= switch else "2")
        if "status" not in row["metadata"]:
            values[version].append(row["value"])
    for version, mean in JUDGE_MEAN.items():
        assert np.mean(values[version]) == pytest.approx(mean, abs=0.015)
