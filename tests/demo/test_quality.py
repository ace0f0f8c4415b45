"""The quality of the demo's answers: known rates come back, and what misleads does so."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from core.config import EvaluatorSettings, Settings
from core.demo import evaluators_of
from core.demo.arrivals import Kind
from core.demo.evaluators import judge_versions
from core.demo.gateway import Gateway
from core.demo.people import in_arm_b, task_types
from core.demo.quality import (
    CONSTANT_RATE,
    HELPFUL_RATE,
    JUDGE_PASS_AT,
    JUDGE_REPEATED,
    JUDGE_SENSITIVITY,
    JUDGE_SPECIFICITY,
    REVIEWED_SHARE,
    SESSION_CORRELATION,
    Evaluator,
    judge_inclusion,
    true_flip_rate,
    true_pass_rate,
)
from tests.demo.reading import EPOCH

CELL = ["task_type", "first_turn", "arm"]
FAR = 4.0
"""Standard errors beyond which a rate is not the known one."""
CLEAR = 3.0
"""Standard errors beyond which a difference is there."""


class Estimate(NamedTuple):
    value: float
    error: float


@pytest.fixture(scope="module")
def answers(gateway: Gateway) -> pd.DataFrame:
    """All requests of the history, with what their quality may depend on."""
    found = np.concatenate(list(gateway.rows.between(EPOCH * 1000, np.inf)))
    found = found[found["kind"] < Kind.FAILED]
    columns = ("key", "session", "prompt", "cached", "kind", "last")
    frame = pd.DataFrame({name: found[name] for name in columns})
    identity = gateway.identity
    frame["task_type"] = task_types(identity, found["session"], found["place"])
    frame["first_turn"] = found["turn"] == 0
    frame["arm"] = np.where(in_arm_b(identity, found["session"]), "B", "A")
    return frame.set_index("key")


@pytest.fixture(scope="module")
def scored(gateway: Gateway, answers: pd.DataFrame) -> pd.DataFrame:
    """All scores of answers, each beside its request."""
    found = np.concatenate(list(gateway.scores.between(EPOCH * 1000, np.inf)))
    columns = ("about", "evaluator", "value", "repeat", "error", "inclusion")
    frame = pd.DataFrame({name: found[name] for name in columns})
    frame["version"] = judge_versions(found["time"], EPOCH)
    judged = frame["evaluator"] == Evaluator.JUDGE_HELPFULNESS
    frame["passed"] = (frame["value"] >= np.where(judged, JUDGE_PASS_AT, 1.0)).astype(float)
    return frame.join(answers, on="about", how="inner")


def of(scored: pd.DataFrame, evaluator: Evaluator) -> pd.DataFrame:
    return scored[(scored["evaluator"] == evaluator) & ~scored["error"]]


def rate(rows: pd.DataFrame, weight: "pd.Series[float] | float" = 1.0) -> Estimate:
    """Ratio of sums, with the standard error that sums by session give."""
    weights = rows["passed"] * 0 + weight
    value = (weights * rows["passed"]).sum() / weights.sum()
    beyond = (weights * (rows["passed"] - value)).groupby(rows["session"]).sum()
    return Estimate(value, float(np.sqrt((beyond**2).sum()) / weights.sum()))


def by_cached(rows: pd.DataFrame) -> Estimate:
    """Rate of the requests with more than half cached, minus that of the others."""
    high = 2 * rows["cached"] > rows["prompt"]
    ends = [rows[high]["passed"], rows[~high]["passed"]]
    parts = [(end - end.mean()) / end.size for end in ends]
    beyond = pd.concat([parts[0], -parts[1]]).groupby(rows["session"]).sum()
    return Estimate(ends[0].mean() - ends[1].mean(), float(np.sqrt((beyond**2).sum())))


def expected(scored: pd.DataFrame) -> pd.DataFrame:
    """Scores of the requests whose cached tokens a reader knows."""
    rows = of(scored, Evaluator.CONTAINS_EXPECTED)
    return rows[rows["kind"] == Kind.MEASURED]


def cells(rows: pd.DataFrame) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    for found, part in rows.groupby(CELL):
        yield dict(zip(CELL, found, strict=True)), part


@pytest.mark.parametrize(
    "evaluator",
    [Evaluator.ANSWER_PRESENT, Evaluator.CONTAINS_EXPECTED, Evaluator.HUMAN_REVIEW],
)
def test_known_rates_come_back(scored: pd.DataFrame, evaluator: Evaluator) -> None:
    """In every cell of covariates the pass rate is the true one, within its clustered error."""
    found = list(cells(of(scored, evaluator)))
    assert len(found) == 4 * sum(
        true_pass_rate(evaluator, task_type=task) is not None for task in HELPFUL_RATE
    )
    for cell, rows in found:
        true = true_pass_rate(evaluator, **cell)
        estimate = rate(rows)
        assert abs(estimate.value - true) < FAR * estimate.error, cell


@pytest.mark.parametrize("version", ["2", "3"])
def test_both_versions_of_the_judge_have_their_rates(scored: pd.DataFrame, version: str) -> None:
    """The judge passes helpful answers and others as often as its version does."""
    rows = of(scored, Evaluator.JUDGE_HELPFULNESS)
    rows = rows[rows["version"] == version]
    for task, part in rows.groupby("task_type"):
        true = true_pass_rate(Evaluator.JUDGE_HELPFULNESS, task_type=task, version=version)
        estimate = rate(part)
        assert abs(estimate.value - true) < FAR * estimate.error, task
        assert estimate.error < 0.03


def test_answers_of_a_session_are_alike(scored: pd.DataFrame) -> None:
    """One-way analysis of variance finds the known intra-session correlation."""
    rows = of(scored, Evaluator.CONTAINS_EXPECTED)
    rows = rows[(rows["task_type"] == "agent") & ~rows["first_turn"] & (rows["arm"] == "A")]
    sessions = rows.groupby("session")["passed"].agg(["size", "mean", "var"])
    size, number = sessions["size"], len(sessions)
    within = (sessions["var"] * (size - 1)).sum() / (size - 1).sum()
    between = (size * (sessions["mean"] - rows["passed"].mean()) ** 2).sum() / (number - 1)
    usual = (size.sum() - (size**2).sum() / size.sum()) / (number - 1)
    correlation = (between - within) / (between + (usual - 1) * within)
    assert correlation == pytest.approx(SESSION_CORRELATION, abs=0.025)


def test_a_high_cached_ratio_looks_worse_and_is_not(scored: pd.DataFrame) -> None:
    """The crude difference is negative, that within every task type positive: Simpson's pair."""
    rows = expected(scored)
    crude = by_cached(rows)
    assert crude.value < -0.03
    assert crude.value < -CLEAR * crude.error
    for task, part in rows.groupby("task_type"):
        within = by_cached(part)
        assert within.value > CLEAR * within.error, task


def test_nothing_is_left_within_task_type_and_turn(scored: pd.DataFrame) -> None:
    """Among answers of one task type, turn position and arm, cached and rate are unrelated."""
    found = [by_cached(part) for _, part in cells(expected(scored))]
    standardised = np.array([one.value / one.error for one in found])
    assert np.abs(standardised).max() < FAR
    assert abs(standardised.sum()) < FAR * np.sqrt(standardised.size)


def test_the_weighted_rate_is_the_true_one(scored: pd.DataFrame, answers: pd.DataFrame) -> None:
    """Where hard tasks are judged always, only weights by probability give the rate of all."""
    rows = of(scored, Evaluator.JUDGE_HELPFULNESS)
    rows = rows[(rows["version"] == "3") & (rows["repeat"] < 1)]
    known = {
        task: true_pass_rate(Evaluator.JUDGE_HELPFULNESS, task_type=task, version="3")
        for task in HELPFUL_RATE
    }
    true = answers[answers["last"]]["task_type"].map(known).mean()
    assert (rows["inclusion"] == rows["task_type"].map(judge_inclusion)).all()
    weighted, plain = rate(rows, 1 / rows["inclusion"]), rate(rows)
    # The mix of the version's own period differs a little from that of all answers.
    assert abs(weighted.value - true) < FAR * weighted.error
    assert weighted.error < 0.01
    assert plain.value < true - 0.08


def test_people_find_the_known_sensitivity(scored: pd.DataFrame) -> None:
    """Against reviews, each version passes and fails as its constants say."""
    reviews = of(scored, Evaluator.HUMAN_REVIEW).set_index("about")["value"]
    judged = of(scored, Evaluator.JUDGE_HELPFULNESS)
    judged = judged[judged["repeat"] < 1]
    share = len(reviews) / len(judged)
    both = judged.join(reviews.rename("helpful"), on="about", how="inner")
    assert share == pytest.approx(REVIEWED_SHARE, rel=0.1)
    for version in ("2", "3"):
        rows = both[both["version"] == version]
        for helpful, known in (
            (1, JUDGE_SENSITIVITY[version]),
            (0, 1 - JUDGE_SPECIFICITY[version]),
        ):
            found = rows["passed"][rows["helpful"] == helpful]
            error = np.sqrt(known * (1 - known) / found.size)
            assert abs(found.mean() - known) < FAR * error, (version, helpful)


def test_repeats_flip_as_often_as_known(scored: pd.DataFrame) -> None:
    """A tenth of the judged answers has two verdicts; they differ as often as they should."""
    rows = of(scored, Evaluator.JUDGE_HELPFULNESS)
    judged = rows.groupby("about")["repeat"].max()
    assert (judged >= 0).mean() == pytest.approx(JUDGE_REPEATED, rel=0.1)
    first, second = (rows[rows["repeat"] == one].set_index("about") for one in (0, 1))
    pairs = first.join(second[["passed", "version"]].add_suffix("_again"), how="inner")
    pairs = pairs[pairs["version"] == pairs["version_again"]]
    differ = pairs["passed"] != pairs["passed_again"]
    known = np.array(
        [
            true_flip_rate(task, version=version)
            for task, version in zip(pairs["task_type"], pairs["version"], strict=True)
        ]
    )
    error = np.sqrt((known * (1 - known)).sum()) / known.size
    assert abs(differ.mean() - known.mean()) < FAR * error


def test_the_demo_declares_what_it_measures(scored: pd.DataFrame) -> None:
    """Every score is declared, and meant for the requests that have it, with what passes."""
    declared = {one.score: one for one in evaluators_of(Settings(prometheus_url=None))}
    assert set(declared) == {one.score_name for one in Evaluator}
    assert all(one.kind and one.measures for one in declared.values())
    for evaluator in set(Evaluator) - {Evaluator.SESSION_OK, Evaluator.TRACE_FORMAT_OK}:
        rows, said = of(scored, evaluator), declared[evaluator.score_name]
        assert set(rows["task_type"]) == set(said.task_types or HELPFUL_RATE)
        assert bool(rows["last"].all()) == (said.calls == "last_of_turn")
        assert rows["inclusion"].isna().all() == (said.probability == 1)
    assert declared["judge_helpfulness"].pass_at == JUDGE_PASS_AT


def test_what_is_configured_comes_first() -> None:
    """A mapping of one's own replaces the demo's; without the demo there is no other."""
    own = EvaluatorSettings(score="answer_present", version="9")
    demo = evaluators_of(Settings(prometheus_url=None, evaluators=(own,)))
    assert [one.version for one in demo if one.score == own.score] == ["9"]
    assert len(demo) == len(Evaluator)
    real = Settings(prometheus_url="http://prometheus.invalid", evaluators=(own,))
    assert evaluators_of(real) == (own,)


def test_only_answers_have_covariates() -> None:
    """A constant rate is the same whatever else is said; chat has nothing to expect."""
    for evaluator, known in CONSTANT_RATE.items():
        assert true_pass_rate(evaluator, task_type="agent", arm="B", first_turn=False) == known
    assert true_pass_rate(Evaluator.CONTAINS_EXPECTED, task_type="chat") is None
