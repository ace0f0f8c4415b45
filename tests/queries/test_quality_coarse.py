"""Scores of whole turns and sessions: each counted once, and only clean ones in a mean."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.views.coarse_scores import CoarseScore
from tests.pages.written_requests import score
from tests.queries.written_quality import Row, Written, request


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.store.close()


def solved(of: str, value: float | None, n: int = 0, /, **more: Any) -> Row:
    """A number for one session; None: the evaluator failed."""
    given = {"value": value, "status": "error" if value is None else "ok"}
    return score("solved", "session", of=of, score_id=f"{of}-{n}", **(given | more))


def only(cache: Written) -> CoarseScore:
    (found,) = cache.view().coarse
    return found


def test_a_record_without_the_probability_that_others_say_is_left_out(cache: Written) -> None:
    """One in ten stands for ten; one that does not say it is counted and weighs nothing."""
    cache.put(
        scores=[
            solved("a", 1.0, inclusion_probability=0.1),
            solved("b", 0.0, inclusion_probability=1.0),
            solved("c", 0.0),
        ]
    )
    found = only(cache)
    assert (found.scored, found.weightless, found.errors) == (2, 1, 0)
    assert found.estimate.estimate == pytest.approx(10 / 11)


def test_without_any_probability_all_count_alike(cache: Written) -> None:
    """An evaluator that says none does not sample."""
    cache.put(scores=[solved("a", 1.0), solved("b", 0.0)])
    assert (only(cache).scored, only(cache).weightless) == (2, 0)
    assert only(cache).estimate.estimate == 0.5


def test_a_category_is_no_error(cache: Written) -> None:
    """It is counted as a category and has no mean, not one of 0 either."""
    kind = {"data_type": "CATEGORICAL", "label": "good", "status": "ok"}
    cache.put(scores=[solved("a", None, **kind), solved("b", None, data_type="CATEGORICAL")])
    found = only(cache)
    assert (found.categories, found.errors, found.scored) == (1, 1, 0)
    assert found.estimate.estimate is None


def test_two_values_for_one_repeat_are_a_conflict(cache: Written) -> None:
    """They are left out and counted, never averaged; the same twice is one, repeats average."""
    cache.put(
        scores=[
            solved("twice", 1.0),
            solved("twice", 0.0, 1),
            solved("weighed", 1.0, inclusion_probability=1.0),
            solved("weighed", 1.0, 1, inclusion_probability=0.5),
            solved("same", 0.5, inclusion_probability=1.0),
            solved("same", 0.5, 1, inclusion_probability=1.0),
            solved("repeats", 1.0, repeat=1, inclusion_probability=1.0),
            solved("repeats", 0.5, 1, repeat=2, inclusion_probability=1.0),
        ]
    )
    found = only(cache)
    assert (found.conflicts, found.scored, found.weightless) == (2, 2, 0)
    assert found.estimate.estimate == pytest.approx((0.5 + 0.75) / 2)


def test_an_error_is_a_record_that_says_so_and_no_valid_one(cache: Written) -> None:
    """A repeat that worked is a score; one subject is in one count."""
    cache.put(
        scores=[
            solved("mended", None, repeat=1),
            solved("mended", 1.0, 1, repeat=2),
            solved("failed", None),
            solved("failed", None, 1),
        ]
    )
    found = only(cache)
    assert (found.scored, found.errors, found.conflicts) == (1, 1, 0)


def test_a_turn_in_two_sessions_is_in_no_interval(cache: Written) -> None:
    """Which session it would belong to is not known, and none is made up."""
    cache.put(
        observations=[
            request("a", session="s", trace_id="t"),
            request("b", session="u", trace_id="t"),
            request("c", session="v", trace_id="w"),
        ],
        scores=[score("help", "trace", of=trace) for trace in ("t", "w")],
    )
    found = only(cache)
    assert (found.scored, found.sessionless, found.estimate.clusters) == (2, 1, 1)
