"""What an experiment is judged from: changes, arms, revisions and evaluators in a period."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.domain.experiments.arms import Arm
from core.domain.experiments.changes import LoggedChange, judge_changes
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.revisions import (
    SeenEvaluator,
    SeenRevision,
    judge_evaluators,
    judge_revisions,
)
from core.domain.levers import LeverKind
from core.levers import enter
from tests.domain.experiments.plans import DAY, PERIOD, SERIES, START, plan
from tests.pages.homes import at
from tests.pages.written_requests import observation, score

PERIOD_OF = {"start": at(PERIOD.start), "end": at(PERIOD.end)}
BY_ARM: dict[str, Any] = {
    **dict.fromkeys(("cluster", "namespace", "model", "pod", "engine")),
    **PERIOD_OF,
    "dimension": "arm",
    "score": "answer_ok",
}
ARM_OF = {"compact": Arm.NEW, "control": Arm.BASE}


class Cache:
    """An inbox and the cache behind it."""

    def __init__(self, folder: Path) -> None:
        self.inbox = Inbox(folder / "inbox")
        self.store = Store(folder / "cache.duckdb")

    def put(self, **tables: list[dict[str, Any]]) -> None:
        self.inbox.write("test", {name: rows(name, found) for name, found in tables.items()})

    def read(self, name: str, **changed: Any) -> list[Any]:
        self.store.merge_waiting(self.inbox)
        assert not self.inbox.rejected.exists()
        return self.store.read(name, BY_ARM | changed)

    def changes(self) -> list[LoggedChange]:
        return [
            LoggedChange(
                row.lever_id,
                row.happened_at,
                row.kind,
                row.what,
                row.engine_id,
                row.cluster,
                row.namespace,
                row.model_name,
            )
            for row in self.read("changes_in_period")
        ]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path)
    yield opened
    opened.store.close()


def request(name: str, arm: str | None, seconds: float, **more: Any) -> dict[str, Any]:
    return observation(name, start=START + seconds, arm=arm, **more)


def logged(cache: Cache, kind: LeverKind, what: str, at_s: float) -> None:
    enter(cache.inbox, kind=kind, what=what, by_whom="Mina", link=None, at=at_s)


def holding(cache: Cache, one: ExperimentPlan) -> list[str | None]:
    found = judge_changes(one, cache.changes(), registered_at=START - 3600.0)
    return [line.detail for line in found.holds]


def test_a_second_logged_change_inside_the_period_holds(cache: Cache) -> None:
    """From the form of the lever log to the reason, with the words that were entered."""
    logged(cache, LeverKind.PROMPT_ORDER, "template v2 for one half", START + 60.0)
    assert holding(cache, plan()) == []
    logged(cache, LeverKind.REPLICAS, "two more <engines>", START + DAY)
    assert holding(cache, plan()) == ["replicas: two more <engines>"]
    logged(cache, LeverKind.REPLICAS, "after the end", PERIOD.end)
    assert len(holding(cache, plan())) == 1


def test_changes_carry_the_labels_of_their_engine(cache: Cache) -> None:
    """A change that was found says whose it is; an entered one concerns everybody."""
    found = {"lever_id": 5, "happened_at": at(START + 60), "kind": "restart", "what": "x"}
    cache.put(
        engines=[{"engine_id": 7, "cluster": "east", "namespace": "blue", "model_name": "m"}],
        levers=[found | {"origin": "found", "engine_id": 7}],
    )
    logged(cache, LeverKind.OTHER, "y", START + 61.0)
    first, second = cache.changes()
    assert (first.engine_id, first.cluster, first.namespace, first.model) == (
        7,
        "east",
        "blue",
        "m",
    )
    assert (second.engine_id, second.cluster, second.namespace) == (None, None, None)


def test_arms_are_counted_with_their_sessions(cache: Cache) -> None:
    """Requests without the attribute are a row of their own, those outside the period none."""
    cache.put(
        observations=[
            request("a", "control", 10, session_id="s1"),
            request("b", "control", 30, session_id="s1"),
            request("c", "compact", 20, session_id=None),
            request("d", None, 40),
            request("early", "control", -1),
            request("late", "control", PERIOD.length_s),
        ]
    )
    found = [tuple(row) for row in cache.read("arm_requests")]
    assert found == [
        ("compact", 1, 0, 1, START + 20, START + 20),
        ("control", 2, 1, 0, START + 10, START + 30),
        (None, 1, 1, 0, START + 40, START + 40),
    ]


@pytest.mark.parametrize("dimension", ["arm", "template_version", "model", "namespace", "cluster"])
def test_any_attribute_may_tell_the_arms_apart(cache: Cache, dimension: str) -> None:
    """The row's value is that of the attribute; without one, all requests are one row."""
    cache.put(observations=[observation("a", start=START + 1.0, **{dimension: "one"})])
    for name in ("arm_requests", "arm_revisions"):
        assert {row.value for row in cache.read(name, dimension=dimension)} == {"one"}
        assert {row.value for row in cache.read(name, dimension="time")} == {None}


def test_labels_restrict_both_arms(cache: Cache) -> None:
    """A restriction is a value like any other, whatever it holds."""
    cache.put(
        observations=[
            request("a", "control", 1, cluster="east"),
            request("b", "control", 2, cluster="'; drop table observations; --"),
        ]
    )
    for cluster in ("east", "'; drop table observations; --"):
        assert [row.requests for row in cache.read("arm_requests", cluster=cluster)] == [1]
    assert cache.read("arm_requests", cluster="west") == []


def test_a_template_that_changes_inside_an_arm_holds(cache: Cache) -> None:
    """The one that was not reported is unknown, and no third version."""
    cache.put(
        observations=[
            request(f"{arm}{n}", arm, n * 100, template_version=version, engine_revision=None)
            for n in range(10)
            for arm, version in (("control", "v1"), ("compact", "v1" if n < 5 else "v2"))
        ]
    )
    seen = [
        SeenRevision(ARM_OF[row.value], row.name, row.revision, *row[3:])
        for row in cache.read("arm_revisions")
    ]
    found = judge_revisions(seen)
    assert [(line.of, line.detail) for line in found.holds] == [
        ("new", "template_version: v1 (5), v2 (5)")
    ]
    unknown = {(line.of, line.detail) for line in found.notes}
    assert ("base", "engine_revision: – (10)") in unknown
    assert ("new", "tokenizer_revision: – (10)") in unknown


def test_evaluators_are_counted_by_version(cache: Cache) -> None:
    """Records of the primary score about single requests; deleted and other ones are left out."""
    cache.put(
        observations=[request("a", "control", 1), request("b", "compact", 2)],
        scores=[
            score("answer_ok", "observation", of="a", trace_id="trace-a"),
            score("answer_ok", "observation", of="b", evaluator_version="v3"),
            score("other", "observation", of="b"),
            score("answer_ok", "trace", of="trace-b"),
            score("answer_ok", "observation", of="a", score_id="gone", deleted_at=at(START + 9)),
            score("answer_ok", "observation", of="b", score_id="e", status="error", value=None),
        ],
    )
    found = [tuple(row) for row in cache.read("arm_evaluators")]
    assert found == [
        ("compact", "judge", "v2", 1, 1),
        ("compact", "judge", "v3", 1, 0),
        ("control", "judge", "v2", 1, 0),
    ]
    seen = [SeenEvaluator(ARM_OF[value], who, what, n) for value, who, what, n, _ in found]
    assert [line.of for line in judge_evaluators(SERIES, seen).holds] == ["new"]
