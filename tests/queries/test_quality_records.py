"""Records of single requests: what is one repeat, one request, one conflict, what is missing."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.config import EvaluatorSettings
from core.domain.observed import Observed
from core.domain.quality import Dimension
from core.views.agreement import Agreement
from core.views.quality import Question, cell_requests
from tests.pages.homes import at
from tests.queries.written_quality import END, KEYWORD, SCOPE, Row, Written, later, request, verdict

SAMPLING = EvaluatorSettings(score="expected", kind="keyword")
HUMAN = EvaluatorSettings(score="human", kind="human")
CATEGORIES = EvaluatorSettings(score="grade")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.store.close()


def agreed(cache: Written, *, reference: str | None = None) -> Sequence[Agreement]:
    """What was found against a reference, or against the evaluator itself."""
    found = cache.view(KEYWORD, HUMAN).agreements
    return [
        one
        for one in found
        if (one.reference.name if one.reference else None) == reference
        and one.series.name == "expected"
    ]


def human(of: str, passed: float, /, **more: Any) -> Row:
    return verdict(of, passed, **{"name": "human", "evaluator": "people", "n": 9} | more)


def test_the_same_record_twice_is_no_repeat(cache: Written) -> None:
    """A duplicate agrees with itself always: nothing is made of it."""
    cache.put(
        observations=[request("a"), request("b", session="t")],
        scores=[
            verdict("a", 1.0),
            verdict("a", 1.0, n=1),
            verdict("b", 1.0, repeat=1),
            verdict("b", 0.0, n=1, repeat=2),
        ],
    )
    (found,) = agreed(cache)
    assert found.table == (0, 1, 0, 0)
    assert found.flips.estimate == 1.0


def test_conflicting_records_are_no_repeat(cache: Written) -> None:
    """Neither the two values of one repeat, nor other repeats of that request."""
    cache.put(
        observations=[request("a"), request("b", session="t")],
        scores=[
            verdict("a", 1.0),
            verdict("a", 0.0, n=1),
            verdict("a", 1.0, n=2, repeat=2),
            verdict("b", 1.0, repeat=1),
            verdict("b", 1.0, n=1, repeat=2),
        ],
    )
    (found,) = agreed(cache)
    assert found.table == (1, 0, 0, 0)


def attempts(*states: str) -> list[Row]:
    """Attempts of one logical request, nine seconds apart."""
    return [
        request(f"try-{i}", logical_id="one", start=later(9 * i), state=state)
        for i, state in enumerate(states)
    ]


def test_agreement_counts_requests_and_no_attempts(cache: Written) -> None:
    """Verdicts on an attempt that was tried again, or on an incomplete answer, count nowhere."""
    cache.put(
        observations=[
            *attempts("complete", "complete"),
            request("cut", session="t", state="cancelled"),
        ],
        scores=[
            one
            for name in ("try-0", "try-1", "cut")
            for one in (
                verdict(name, 1.0, repeat=1),
                verdict(name, 1.0, n=1, repeat=2),
                human(name, 0.0),
            )
        ],
    )
    (itself,) = agreed(cache)
    (against,) = agreed(cache, reference="human")
    assert itself.table == (1, 0, 0, 0)
    assert against.table == (0, 1, 0, 0)


def test_repeats_lie_where_their_requests_start(cache: Written) -> None:
    """Verdicts after the window are about its requests; requests of before are not in it."""
    late = at(END + 600)
    cache.put(
        observations=[request("a"), request("before", session="t", start=SCOPE.start - 60)],
        scores=[
            verdict("a", 1.0, repeat=1),
            verdict("a", 1.0, n=1, repeat=2, scored_at=late),
            verdict("before", 0.0, repeat=1),
            verdict("before", 0.0, n=1, repeat=2),
        ],
    )
    (found,) = agreed(cache)
    assert found.table == (1, 0, 0, 0)


def test_two_probabilities_for_one_record_are_a_conflict(cache: Written) -> None:
    """Which weight is right is not known, so none is taken; nor where repeats say two."""
    cache.put(
        observations=[request(name, session=name) for name in "abc"],
        scores=[
            verdict("a", 1.0, inclusion_probability=0.5),
            verdict("a", 1.0, n=1, inclusion_probability=0.1),
            verdict("b", 0.0, inclusion_probability=0.5),
            verdict("c", 1.0, repeat=1, inclusion_probability=0.5),
            verdict("c", 1.0, n=1, repeat=2, inclusion_probability=0.1),
        ],
    )
    answer = cache.answer(SAMPLING)
    tally = answer.total.tally
    assert (tally.conflicts, tally.weightless, tally.counts.ok) == (1, 1, 1)
    assert answer.total.passes.estimate == 0.0
    assert answer.bounds is None


def test_one_broken_probability_makes_nothing_unsampled(cache: Written) -> None:
    """Where all that are known are 1, a request without a record is missing, not left out."""
    cache.put(
        observations=[request(name, session=name) for name in "abcd"],
        scores=[
            verdict("a", 1.0),
            verdict("b", 0.0),
            verdict("c", 0.0, inclusion_probability=None),
        ],
    )
    total = cache.total(SAMPLING)
    assert (total.tally.weightless, total.tally.counts.not_sampled) == (1, 0)
    assert total.tally.counts.coverage == 0.5
    assert total.passes.estimate == 0.5


def test_failed_requests_are_listed_first_then_those_that_lack_a_score(cache: Written) -> None:
    """Newest first inside each; one that failed in some repeats is among the failed."""
    names = ("old-pass", "old-fail", "half", "none", "error", "cut", "twice", "pass", "fail")
    cache.put(
        observations=[
            request(name, start=later(i), state="cancelled" if name == "cut" else "complete")
            for i, name in enumerate(names)
        ],
        scores=[
            *(verdict(name, 1.0) for name in ("old-pass", "pass", "cut", "twice")),
            *(verdict(name, 0.0) for name in ("old-fail", "fail")),
            verdict("twice", 0.0, n=1),
            verdict("half", 1.0, repeat=1),
            verdict("half", 0.0, n=1, repeat=2),
            verdict("error", None),
        ],
    )
    question = Question(evaluators=(KEYWORD,))
    found = cell_requests(cache.store, SCOPE, float(END), question, "(0.5,0.9]").requests
    assert [one.observation_id for one in found] == [
        *("fail", "half", "old-fail"),
        *("twice", "cut", "error", "none"),
        *("pass", "old-pass"),
    ]


def test_the_last_call_of_a_turn_is_there_however_often_it_was_tried(cache: Written) -> None:
    """A cancelled attempt after the complete one does not take the request out of the count."""
    last = KEYWORD.model_copy(update={"calls": "last_of_turn"})
    turn = {"trace_id": "t", "turn_id": "t"}
    cache.put(
        observations=[
            request("tool", **turn),
            request("answer", logical_id="x", start=later(20), **turn),
            request("again", logical_id="x", start=later(29), state="cancelled", **turn),
        ],
        scores=[verdict("answer", 1.0)],
    )
    total = cache.total(last)
    assert (total.tally.requests, total.tally.counts.ok) == (1, 1)


def test_categories_without_pass_labels_neither_pass_nor_fail(cache: Written) -> None:
    """Nothing says which of them pass: they are scored, and no verdict is made up."""
    kind = {"name": "grade", "data_type": "CATEGORICAL", "status": "ok"}
    cache.put(
        observations=[request("a"), request("b", session="t", cached_input=400)],
        scores=[verdict(name, None, label="good", **kind) for name in "ab"],
    )
    answer = cache.answer(CATEGORIES)
    assert answer.total.tally.counts.ok == 2
    assert (answer.total.passes, answer.total.score, answer.contrast) == (None, None, None)
    question = Question(evaluators=(CATEGORIES,))
    (one,) = cell_requests(cache.store, SCOPE, float(END), question, "(0,0.5]").requests
    assert (one.status, one.passed) == ("ok", None)
    declared = CATEGORIES.model_copy(update={"pass_labels": ("good",)})
    assert cache.total(declared).passes.estimate == 1.0


def test_records_of_two_sources_have_no_one_source(cache: Written) -> None:
    """A judge whose records a person edited is not taken for people by chance."""
    cache.put(
        observations=[request("a"), request("b")],
        scores=[verdict("a", 1.0, source="EVAL"), verdict("b", 1.0, source="ANNOTATION")],
    )
    assert cache.series.source is None
    assert cache.answer(by=Dimension.MODEL).asked.series.records == 2


@pytest.mark.parametrize("low", ["0", "4"])
@pytest.mark.parametrize("pair", [("4", "0"), ("0", "4")])
def test_what_is_seen_of_gaps_does_not_hang_on_which_group_comes_first(
    cache: Written, pair: tuple[str, str], low: str
) -> None:
    """Short gaps that score lower are not long ones that do, however the two are compared."""
    waits = {"0": 5.0, "4": 5000.0}
    names = [(gap, f"{gap}-{i}", i) for gap in waits for i in range(20)]
    first = [
        request(f"{name}-0", session=name, start=later(-4 - waits[gap])) for gap, name, _ in names
    ]
    cache.put(observations=first)
    cache.scored(
        *((request(name, session=name), float(gap != low or i < 2)) for gap, name, i in names)
    )
    new, base = pair
    found = cache.answer(by=Dimension.IDLE_GAP, new=new, base=base)
    assert found.contrast is not None
    assert (found.contrast.new, found.contrast.base) == pair
    assert (Observed.LONG_GAP_LOW_SCORE in found.observed) is (low == "4")


@pytest.mark.parametrize("passed", [1.0, 0.0])
def test_a_record_without_a_trace_is_a_repeat_like_others(cache: Written, passed: float) -> None:
    """Some answers of a server leave the trace out: the request still counts once."""
    cache.put(
        observations=[request("a")],
        scores=[verdict("a", 1.0), verdict("a", passed, n=1, repeat=2, trace_id=None)],
    )
    total = cache.total()
    assert total.tally.requests == 1
    assert total.passes is not None
    assert total.passes.estimate == (1.0 + passed) / 2


def test_a_reference_without_a_trace_is_met(cache: Written) -> None:
    """A person's verdict whose trace was left out is about the same request."""
    cache.put(
        observations=[request("a")], scores=[verdict("a", 1.0), human("a", 1.0, trace_id=None)]
    )
    (against,) = agreed(cache, reference="human")
    assert against.table == (1, 0, 0, 0)
