"""Quality on a small written cache: every count and every rate worked by hand."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.config import EvaluatorSettings
from core.domain.quality import Dimension, Estimand
from core.domain.statistics.group import Undefined
from core.domain.statistics.sums import ClusterSums, of_records
from core.views.fleet import load_fleet
from core.views.quality import Question, ScoredRequest, asked_of, cell_requests, crossed
from core.views.quality_sums import session_sums
from tests.pages.written_requests import score
from tests.queries.written_quality import (
    END,
    KEYWORD,
    SCOPE,
    Written,
    later,
    request,
    reversal,
    verdict,
)

SAMPLING = EvaluatorSettings(score="expected", kind="keyword")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.store.close()


def test_a_coarser_score_is_copied_to_no_request(cache: Written) -> None:
    """Scores of a turn and of a session stand by themselves; the requests in them have none."""
    cache.put(
        observations=[request("a"), request("b")],
        scores=[score("help", "trace", of="trace-a"), score("solved", "session", of="s")],
    )
    view = cache.view()
    assert view.answer is None
    assert [(one.series.level, one.scored) for one in view.coarse] == [("session", 1), ("trace", 1)]


def test_versions_of_an_evaluator_stay_apart(cache: Written) -> None:
    """Each version is a series of its own, with its own requests and rate."""
    cache.put(
        observations=[request("a"), request("b")],
        scores=[
            verdict("a", 1.0),
            verdict("b", 1.0),
            verdict("a", 0.0, evaluator_version="2"),
        ],
    )
    keys = {one.evaluator_version: one.key for one in cache.view().series}
    assert set(keys) == {"1", "2"}
    rates = {v: cache.total(series=key).passes.estimate for v, key in keys.items()}
    assert rates == {"1": 1.0, "2": 0.0}


def test_an_error_of_the_evaluator_is_no_zero(cache: Written) -> None:
    """A failed evaluation is counted as such, is in no rate, and widens the bounds."""
    cache.scored((request("a"), 1.0), (request("b", session="t"), None), (request("c"), 1.0))
    answer = cache.answer()
    total = answer.total
    assert (total.tally.counts.ok, total.tally.counts.evaluator_error) == (2, 1)
    assert total.passes.estimate == 1.0
    assert (answer.bounds.lower, answer.bounds.upper) == (pytest.approx(2 / 3), 1.0)


def test_a_record_without_a_value_is_missing_and_no_zero(cache: Written) -> None:
    """A request nobody scored is missing; with none scored there is no rate at all."""
    cache.put(observations=[request("a"), request("b", session="t")], scores=[verdict("a", None)])
    total = cache.total()
    assert (total.tally.counts.missing, total.tally.counts.evaluator_error) == (1, 1)
    assert (total.passes.estimate, total.passes.reason) == (None, Undefined.NO_RECORDS)


def test_conflicting_duplicates_are_counted_and_identical_ones_once(cache: Written) -> None:
    """The same record twice is one; two values for one key are left out and counted."""
    cache.put(
        observations=[request("same"), request("other", session="t"), request("fine")],
        scores=[
            verdict("same", 1.0),
            verdict("same", 1.0, n=1),
            verdict("other", 1.0),
            verdict("other", 0.0, n=1),
            verdict("fine", 0.0),
        ],
    )
    total = cache.total()
    assert (total.tally.counts.ok, total.tally.conflicts, total.tally.counts.missing) == (2, 1, 1)
    assert total.passes.estimate == 0.5
    assert [r.observation_id for r in listed(cache) if r.status == "conflict"] == ["other"]


def listed(cache: Written) -> tuple[ScoredRequest, ...]:
    """Requests of the stratum that ordinary ones lie in."""
    question = Question(evaluators=(KEYWORD,))
    return cell_requests(cache.store, SCOPE, float(END), question, "(0.5,0.9]").requests


def test_repeats_are_averaged_and_raise_no_count(cache: Written) -> None:
    """Three verdicts on one request are one request that passes by two thirds."""
    cache.put(
        observations=[request("a"), request("b", session="t")],
        scores=[
            *(verdict("a", value, n=i, repeat=i) for i, value in enumerate((1.0, 1.0, 0.0))),
            verdict("b", 0.0),
        ],
    )
    total = cache.total()
    assert total.tally.counts.ok == total.passes.records == 2
    assert total.passes.estimate == pytest.approx(1 / 3)


def sampled_at_tenth(cache: Written) -> None:
    """Forty easy requests, four of them chosen by one in ten; ten hard ones, all chosen."""
    easy = [request(f"e{i}", session=f"e{i}") for i in range(40)]
    hard = [request(f"h{i}", session=f"h{i}") for i in range(10)]
    cache.put(
        observations=easy + hard,
        scores=[
            *(verdict(f"e{i}", float(i < 3), inclusion_probability=0.1) for i in range(4)),
            *(verdict(f"h{i}", float(i < 2), inclusion_probability=1.0) for i in range(10)),
        ],
    )


def test_sampled_scores_are_weighted(cache: Written) -> None:
    """Three of four at 10 % and two of ten at 100 %: (10 x 3 + 2) / (40 + 10), not 5 / 14."""
    sampled_at_tenth(cache)
    total = cache.total(SAMPLING)
    assert total.passes.estimate == pytest.approx(32 / 50)
    assert total.passes.kish_n == pytest.approx(50**2 / (4 * 100 + 10))
    counts = total.tally.counts
    assert (counts.ok, counts.not_sampled, counts.missing) == (14, 36, 0)
    assert counts.coverage == 1.0


def test_bounds_weigh_what_is_missing(cache: Written) -> None:
    """An evaluator's error at 10 % stands for ten requests in the bounds."""
    sampled_at_tenth(cache)
    cache.put(scores=[verdict("e5", None, inclusion_probability=0.1)])
    bounds = cache.answer(SAMPLING).bounds
    assert (bounds.lower, bounds.upper) == (pytest.approx(32 / 60), pytest.approx(42 / 60))


def test_an_unknown_probability_is_never_one(cache: Written) -> None:
    """Where an evaluator samples, a record without its probability is left out and counted."""
    sampled_at_tenth(cache)
    cache.put(scores=[verdict("e9", 0.0, inclusion_probability=None)])
    answer = cache.answer(SAMPLING)
    assert answer.total.passes.estimate == pytest.approx(32 / 50)
    assert (answer.total.tally.weightless, answer.total.tally.counts.missing) == (1, 1)
    assert answer.bounds is None


def test_attempts_of_one_request_count_once(cache: Written) -> None:
    """A failed attempt and its retry are one request, by the complete one, whichever was last."""
    cache.put(
        observations=[
            request("a1", logical_id="a", state="error"),
            request("a2", logical_id="a", start=later(5)),
            request("b1", logical_id="b", session="t"),
            request("b2", logical_id="b", session="t", start=later(9), state="cancelled"),
            request("c1", logical_id="c", state="error"),
            request("c2", logical_id="c", start=later(9), state="error"),
        ],
        scores=[verdict("a2", 1.0), verdict("b1", 0.0), verdict("a1", 0.0)],
    )
    total = cache.total()
    assert (total.tally.requests, total.tally.counts.incomplete) == (3, 1)
    assert (total.tally.counts.ok, total.passes.estimate) == (2, 0.5)
    assert {row.observation_id for row in listed(cache)} == {"a2", "b1", "c2"}


def test_a_score_on_an_incomplete_answer_is_apart(cache: Written) -> None:
    """Incomplete comes before any score; as a fail it is in the composite alone."""
    cache.scored(
        (request("a"), 1.0), (request("b", session="t"), 1.0), (request("c", state="error"), 1.0)
    )
    total = cache.total()
    assert (total.tally.counts.ok, total.tally.scored_incomplete) == (2, 1)
    assert total.passes.estimate == 1.0
    assert total.incomplete.estimate == pytest.approx(1 / 3)
    assert cache.total(estimand=Estimand.COMPOSITE).passes.estimate == pytest.approx(2 / 3)


def test_requests_it_is_not_meant_for_are_outside(cache: Written) -> None:
    """Task types an evaluator is not meant for are in no denominator."""
    only = KEYWORD.model_copy(update={"task_types": ("qa",)})
    cache.put(
        observations=[
            request("a", task_type="qa"),
            request("b", task_type="chat"),
            request("c"),
        ],
        scores=[verdict("a", 1.0)],
    )
    total = cache.total(only)
    assert (total.tally.requests, total.tally.counts.missing) == (1, 0)
    assert cache.total().tally.requests == 3


def test_only_the_last_call_of_a_turn(cache: Written) -> None:
    """An evaluator of answers misses no score on the tool calls before them."""
    last = KEYWORD.model_copy(update={"calls": "last_of_turn"})
    turn = {"trace_id": "t", "turn_id": "t"}
    cache.put(
        observations=[request("tool", **turn), request("answer", start=later(20), **turn)],
        scores=[verdict("answer", 1.0)],
    )
    assert (cache.total(last).tally.requests, cache.total(last).tally.counts.missing) == (1, 0)
    assert cache.total().tally.counts.missing == 1


@pytest.mark.parametrize("passed", [0.0, 1.0])
def test_all_or_none_pass_with_a_width(cache: Written, passed: float) -> None:
    """At 0 % and 100 % the interval is as wide as so many sessions allow, no point."""
    cache.scored(*((request(f"r{i}", session=f"s{i // 2}"), passed) for i in range(20)))
    found = cache.total().passes
    assert found.estimate == passed
    assert (found.clusters, found.n_eff) == (10, 10.0)
    assert found.interval is not None
    assert found.interval.upper - found.interval.lower > 0.2
    assert passed in found.interval
    assert found.few_clusters


def test_one_session_has_a_rate_and_no_interval(cache: Written) -> None:
    """However many requests it has."""
    cache.scored(*((request(f"r{i}"), float(i % 2)) for i in range(8)))
    found = cache.total().passes
    assert (found.estimate, found.interval) == (0.5, None)
    assert found.reason is Undefined.TOO_FEW_CLUSTERS


def test_requests_without_a_session_are_in_no_interval(cache: Written) -> None:
    """They are counted; they are never put together as one session."""
    cache.scored(
        (request("a"), 1.0),
        (request("b", session="t"), 0.0),
        (request("c", session=None), 1.0),
        (request("d", session=None), 1.0),
    )
    answer = cache.answer()
    total = answer.total
    assert (total.tally.requests, total.tally.sessions, total.tally.sessionless) == (4, 2, 2)
    assert (total.passes.records, total.passes.clusters, total.passes.estimate) == (2, 2, 0.5)
    assert not answer.asked.alone


def test_without_any_session_independence_is_said(cache: Written) -> None:
    """Each request stands alone then, and the answer says so."""
    cache.scored(*((request(f"r{i}", session=None), float(i < 6)) for i in range(8)))
    answer = cache.answer()
    assert answer.asked.alone
    assert (answer.total.passes.clusters, answer.total.passes.estimate) == (8, 0.75)
    assert answer.total.tally.sessionless == 0


def test_a_reversal_within_strata_is_marked(cache: Written) -> None:
    """Crude and standardised difference point in opposite directions, and the strata agree."""
    cache.scored(*reversal())
    found = cache.answer().contrast
    assert (found.new, found.base) == ("(0.9,1]", "(0,0.5]")
    assert found.crude.delta == pytest.approx(118 / 240 - 192 / 240)
    assert [one.difference.delta for one in found.strata] == pytest.approx([0.05, 0.1])
    assert found.adjusted.delta == pytest.approx(0.075)
    assert found.sign_change


def test_q_values_explore_the_strata(cache: Written) -> None:
    """One per stratum, none below its p-value: an interval that holds 0 has q above 0.05."""
    cache.scored(*reversal())
    strata = cache.answer().contrast.strata
    for one in strata:
        assert one.difference.interval.lower < 0 < one.difference.interval.upper
        assert 0.05 < one.q <= 1
    cached = cache.answer(across=Dimension.MODEL).contrast.strata
    (one,) = cached
    assert one.difference.interval.upper < 0
    assert one.q < 0.05


def test_the_usual_score_says_more_than_presence(cache: Written) -> None:
    """A presence check has most records and is still not what the page opens with."""
    present = {"name": "answer_present", "evaluator": "answer_present"}
    cache.put(
        observations=[request("a"), request("b")],
        scores=[
            verdict("a", 1.0),
            verdict("a", 1.0, n=8, **present),
            verdict("b", 1.0, n=8, **present),
        ],
    )
    assert cache.answer().asked.series.name == "expected"


def test_sums_of_sql_and_of_memory_are_the_same(cache: Written) -> None:
    """Random requests, weights and sessions: the same sums per session in every group."""
    rng = np.random.default_rng(20_261_130)
    drawn = [
        (f"r{i}", f"s{rng.integers(12)}", int(rng.integers(1, 1001)), float(rng.random() < 0.7))
        for i in range(300)
    ]
    weights = [float(rng.choice([0.1, 0.5, 1.0])) for _ in drawn]
    cache.put(
        observations=[request(n, session=s, cached_input=c) for n, s, c, _ in drawn],
        scores=[
            verdict(n, y, inclusion_probability=p)
            for (n, _, _, y), p in zip(drawn, weights, strict=True)
        ],
    )
    fleet = load_fleet(cache.store, SCOPE, float(END))
    sums = session_sums(cache.store, fleet, asked_of(Question(), cache.series))
    for value, low, high in (("(0,0.5]", 0, 500), ("(0.5,0.9]", 500, 900), ("(0.9,1]", 900, 1000)):
        here = [i for i, (_, _, c, _) in enumerate(drawn) if low < c <= high]
        expected = of_records(
            [drawn[i][3] for i in here],
            [drawn[i][1] for i in here],
            w=[1 / weights[i] for i in here],
        )
        found = sums.sums(Estimand.CONTENT, sums.group(by=value)).present
        assert by_session(found) == pytest.approx(by_session(expected))


def by_session(sums: ClusterSums) -> list[tuple[float, ...]]:
    """Sums in an order that does not depend on the sessions' names."""
    columns = zip(sums.n.tolist(), sums.w.tolist(), sums.s.tolist(), sums.y.tolist(), strict=True)
    return [value for row in sorted(columns) for value in row]  # type: ignore[misc]


def test_every_pair_of_groups_has_a_row(cache: Written) -> None:
    """Crossed with the strata, requests and passes add up to the table's own."""
    cache.scored(*reversal())
    answer = cache.answer()
    found = crossed(cache.store, SCOPE, float(END), Question(evaluators=(KEYWORD,)))
    assert {one.stratum for one in found} == {"easy", "hard"}
    for row in answer.rows:
        parts = [one.row.tally for one in found if one.row.value == row.value]
        assert sum(part.requests for part in parts) == row.tally.requests
        assert sum(part.counts.ok for part in parts) == row.tally.counts.ok


def test_a_load_that_is_not_known_is_a_group_of_its_own(cache: Written) -> None:
    """Narrowed to requests without a known load all are there; to any load none."""
    cache.scored(*reversal())
    everything = cache.total().tally.requests
    assert cache.total(only=((Dimension.LOAD, "unknown"),)).tally.requests == everything
    assert cache.total(only=((Dimension.LOAD, "0"),)).tally.requests == 0
