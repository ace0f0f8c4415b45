"""The scores of the demo, and the truth behind them."""

from collections import Counter

import httpx
import numpy as np
import pytest

from core.config import Settings
from core.demo import known_scores
from core.demo.evaluators import JUDGE_SWITCH_S
from core.demo.quality import (
    CONSTANT_RATE,
    JUDGE_ERRORS,
    MISSING_SHARE,
    REVIEWED_SHARE,
    Evaluator,
    judge_inclusion,
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


def test_nearly_every_answer_is_checked_and_some_sessions_are_judged(
    stretch: list[Row], scores: list[Row]
) -> None:
    """One evaluator misses a few answers only; the judge takes whole sessions, by task type."""
    inner = [r for r in stretch if start_of(r) < STRETCH[1] and r["type"] == "GENERATION"]
    answers = [row["id"] for row in inner if row["level"] == "DEFAULT"]
    scored = {s["subject"]["id"] for s in scores if s["name"] == "answer_present"}
    missing = np.mean([one not in scored for one in answers])
    assert missing == pytest.approx(MISSING_SHARE, rel=0.2)
    subjects = {s["subject"]["id"] for s in scores if s["name"] == "judge_helpfulness"}
    sessions = {row["sessionId"]: False for row in inner if row["sessionId"]}
    sessions |= {row["sessionId"]: True for row in inner if row["id"] in subjects}
    sessions.pop("", None)
    of = {row["sessionId"]: row["metadata"]["task_type"] for row in inner}
    for task in set(of.values()):
        judged = np.mean([found for one, found in sessions.items() if of[one] == task])
        assert judged == pytest.approx(judge_inclusion(task), abs=0.06), task


def test_what_samples_says_its_probability(stretch: list[Row], scores: list[Row]) -> None:
    """Judge and reviewers tell the known probability of their record; no other score has one."""
    of = {row["id"]: row["metadata"]["task_type"] for row in stretch}
    shares = {"judge_helpfulness": 1.0, "human_review": REVIEWED_SHARE}
    evaluators = {"judge_helpfulness": "judge-small", "human_review": "reviewers"}
    seen = Counter()
    for score in scores:
        told, name, about = score["metadata"], score["name"], score["subject"]["id"]
        if name not in shares:
            assert told == {}
        elif about in of:
            known = judge_inclusion(of[about]) * shares[name]
            assert told["inclusion_probability"] == pytest.approx(known)
            assert told["evaluator"] == evaluators[name]
            seen[name] += 1
    assert min(seen[name] for name in shares) > 100
    repeats = Counter(s["metadata"].get("repeat") for s in scores)
    assert set(repeats) == {None, 0, 1}


def test_people_say_yes_or_no(scores: list[Row]) -> None:
    """A review is a boolean that somebody wrote, under a version of what they go by."""
    reviews = [s for s in scores if s["name"] == "human_review"]
    assert {s["value"] for s in reviews} == {True, False}
    assert {s["dataType"] for s in reviews} == {"BOOLEAN"}
    assert {s["source"] for s in reviews} == {"ANNOTATION"}
    assert {s["metadata"]["evaluator_version"] for s in reviews} == {"guide-1"}


def test_true_rates_are_the_constants(settings: Settings, client: httpx.Client) -> None:
    """Over all history, pass rates and errors are those the module declares."""
    known = known_scores(settings, EPOCH, NOW, now=NOW)
    for evaluator, rate in CONSTANT_RATE.items():
        found = known[evaluator]
        assert found.total / found.number == pytest.approx(rate, abs=0.01), evaluator
        assert found.errors == 0
    judge = known[Evaluator.JUDGE_HELPFULNESS]
    assert judge.errors / judge.number == pytest.approx(JUDGE_ERRORS, rel=0.15)


def test_the_judge_changes_at_a_known_time(client: httpx.Client) -> None:
    """Version 3 takes over at its time in the story."""
    switch = EPOCH + JUDGE_SWITCH_S
    asked = {"name": "judge_helpfulness", "fields": "details"}
    asked |= {"fromTimestamp": iso(switch - 600), "toTimestamp": iso(switch + 600)}
    versions = set()
    for row in read(client, SCORES, **asked):
        version = row["metadata"]["evaluator_version"]
        assert version == ("3" if seconds(row["timestamp"]) >= switch else "2")
        versions.add(version)
    assert versions == {"2", "3"}
