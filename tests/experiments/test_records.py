"""Plans, looks and decisions from the entry to the cache and back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.domain.experiments.decision import Decision, DecisionRecord
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import LookRecord, LookRow, TakenLook, stored_looks
from core.domain.experiments.plan import ExperimentPlan
from core.domain.experiments.versions import History, PlanRow, history
from core.domain.statistics.gate import Verdict
from core.errors import EntryError
from core.experiments import decide, record_look, register
from tests.domain.experiments.plans import START, plan
from tests.domain.experiments.taken import look, version

HOSTILE = (
    "'; drop table experiment_plans; --",
    "<script>alert(1)</script>",
    "$x {y} %s",
    "模型 🦆",
)
EMPTY = History()


class Cache:
    """An inbox and the cache behind it."""

    def __init__(self, folder: Path) -> None:
        self.inbox = Inbox(folder / "inbox")
        self.store = Store(folder / "cache.duckdb")

    def rows(self, name: str) -> list[Any]:
        self.store.merge_waiting(self.inbox)
        assert not self.inbox.rejected.exists()
        return self.store.read(name, {"experiment": "compact-prompt"})

    @property
    def history(self) -> History:
        return history(PlanRow(*row) for row in self.rows("experiment_plans"))

    @property
    def looks(self) -> tuple[TakenLook, ...]:
        found = stored_looks(LookRow(*row) for row in self.rows("experiment_looks"))
        assert found.broken == ()
        return found.taken

    @property
    def decisions(self) -> list[Any]:
        return self.rows("experiment_decisions")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path)
    yield opened
    opened.store.close()


def enter(cache: Cache, one: ExperimentPlan, at: float = START, known: History = EMPTY) -> int:
    return register(cache.inbox, one, by_whom="Mina", at=at, known=known)


def test_a_plan_comes_back_as_it_was_registered(cache: Cache) -> None:
    """Content, hash, time and name survive inbox and cache."""
    assert enter(cache, plan(), START + 0.25) == 1
    (found,) = cache.history.versions
    assert found.plan == plan()
    assert found.plan_hash == plan().plan_hash
    assert (found.registered_at, found.registered_by) == (START + 0.25, "Mina")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_come_back_as_they_were(cache: Cache, text: str) -> None:
    """Texts of a plan, a look and a decision are data on every way."""
    one = plan(title=text, restore_procedure=text, revisions={text: text}, author=text)
    register(cache.inbox, one, by_whom=text, at=START, known=EMPTY)
    (found,) = cache.history.versions
    assert (found.plan, found.registered_by) == (one, text)
    hold = EvidenceLine.checked(reason="another_change", detail=text)
    record_look(cache.inbox, look([], 0.32, holds=[hold]).record, at=START)
    assert [line.detail for line in cache.looks[0].record.holds] == [text]
    decided(cache, cache.looks[0], by_whom=text, reason=text)
    assert (cache.decisions[0].decided_by, cache.decisions[0].reason) == (text, text)


def test_a_second_click_registers_nothing(cache: Cache) -> None:
    """Before the merge and after it; the first time is kept."""
    enter(cache, plan(), START)
    enter(cache, plan(), START + 2)
    assert [v.registered_at for v in cache.history.versions] == [START]
    assert enter(cache, plan(), START + 9, cache.history) == 1
    assert cache.inbox.waiting() == []
    assert len(cache.rows("experiment_plans")) == 1


def test_an_edited_plan_is_a_second_version(cache: Cache) -> None:
    """Both are there, and an old one may come back as the third."""
    enter(cache, plan())
    assert enter(cache, plan(margin=0.03), START + 1, cache.history) == 2
    assert enter(cache, plan(), START + 2, cache.history) == 3
    assert [(v.number, v.plan.margin) for v in cache.history.versions] == [
        (1, 0.02),
        (2, 0.03),
        (3, 0.02),
    ]


def test_experiments_are_kept_apart(cache: Cache) -> None:
    """One experiment's versions are its own; asked for all, all come."""
    enter(cache, plan())
    enter(cache, plan(experiment="other"))
    assert [v.plan.experiment for v in cache.history.versions] == ["compact-prompt"]
    everything = cache.store.read("experiment_plans", {"experiment": None})
    assert [row.experiment for row in everything] == ["compact-prompt", "other"]


@pytest.mark.parametrize("by", ["", "  ", "a\x00", "x" * 501])
def test_a_plan_without_a_usable_name_is_refused(cache: Cache, by: str) -> None:
    """Nothing is recorded that nobody stands for."""
    with pytest.raises(EntryError, match="by"):
        register(cache.inbox, plan(), by_whom=by, at=START, known=EMPTY)
    assert cache.inbox.waiting() == []


def test_a_metric_that_does_not_exist_is_refused(cache: Cache) -> None:
    """Efficiency is measured by an entry of the catalogue."""
    with pytest.raises(EntryError, match="efficiency_metric"):
        enter(cache, plan(efficiency_metric="no_such_metric"))


def test_a_look_is_kept_once_with_its_first_time(cache: Cache) -> None:
    """A second click records the same look again: nothing changes."""
    record = look([], 0.32).record
    keys = {record_look(cache.inbox, record, at=START + s) for s in (1.5, 3.0)}
    (taken,) = cache.looks
    assert (taken.taken_at, taken.record, {taken.look_key}) == (START + 1.5, record, keys)


def test_a_later_look_replaces_none(cache: Cache) -> None:
    """Another look at the same number, with other data, stands beside the first."""
    first = look([], 0.32).record
    record_look(cache.inbox, first, at=START)
    record_look(cache.inbox, look([], 0.4).record, at=START + 60)
    assert [one.record.information for one in cache.looks] == [0.32, 0.4]
    assert cache.looks[0].record == first


def test_a_look_outside_the_plan_is_stored_without_a_verdict(cache: Cache) -> None:
    """Its row says so too: no number, no verdict."""
    record_look(cache.inbox, look([], 0.1, interval=(-0.001, 0.001)).record, at=START)
    (row,) = cache.rows("experiment_looks")
    assert (row.number, row.verdict) == (None, None)
    (taken,) = cache.looks
    assert [line.reason for line in taken.record.holds] == ["look_not_planned"]
    assert taken.record.estimate == -0.01


def decided(
    cache: Cache,
    rests_on: TakenLook | None,
    decision: Decision = Decision.PROMOTE,
    *,
    by_whom: str = "Mina",
    reason: str | None = None,
    **more: Any,
) -> DecisionRecord:
    return decide(
        cache.inbox,
        decision,
        version=version(),
        look=rests_on,
        by_whom=by_whom,
        reason=reason,
        at=more.pop("at", START),
        **more,
    )


def test_to_promote_what_passed_is_no_override(cache: Cache) -> None:
    """Non-inferior without holds needs a name and nothing else."""
    passed = look([], 0.32, interval=(-0.008, 0.004))
    assert not decided(cache, passed).override
    (row,) = cache.decisions
    assert (row.decision, row.override, row.verdict) == ("promote", False, "non_inferior")
    assert (row.look_key, row.decided_by, row.reason) == (passed.look_key, "Mina", None)
    assert row.plan_hash == plan().plan_hash


def test_to_promote_what_is_inconclusive_is_a_named_override(cache: Cache) -> None:
    """Without a reason or a name it is refused; with both it is kept as what it is."""
    open_ = look([], 0.32)
    assert open_.record.verdict is Verdict.INCONCLUSIVE
    for refused in ({"reason": None}, {"reason": " "}, {"by_whom": "", "reason": "x"}):
        with pytest.raises(EntryError):
            decided(cache, open_, **refused)  # type: ignore[arg-type]
    assert cache.decisions == []
    decided(cache, open_, reason="the old model goes away on Friday")
    (row,) = cache.decisions
    assert (row.override, row.verdict, row.decided_by) == (True, "inconclusive", "Mina")
    assert row.reason == "the old model goes away on Friday"


def test_a_hold_found_since_the_look_is_an_override(cache: Cache) -> None:
    """The verdict of the look stays what it was; the decision goes past the hold."""
    passed = look([], 0.32, interval=(-0.008, 0.004))
    hold = EvidenceLine.checked(reason="another_change")
    assert decided(cache, passed, reason="seen", holds=[hold]).override
    assert cache.decisions[0].verdict == "non_inferior"


def test_a_look_at_another_version_carries_no_verdict_over(cache: Cache) -> None:
    """What passed under an old margin has not passed under the new one."""
    passed = look([], 0.32, interval=(-0.008, 0.004), of=version(plan(margin=0.03)))
    made = decided(cache, passed, reason="x")
    assert (made.override, made.verdict) == (True, None)
    assert decided(cache, None, reason="no look was taken").override


def test_a_decision_is_kept_once_and_another_beside_it(cache: Cache) -> None:
    """A second click adds nothing; another decision is another row, and none is replaced."""
    open_ = look([], 0.32)
    for s in (0, 2):
        decided(cache, open_, Decision.CONTINUE, at=START + s)
    decided(cache, open_, Decision.ROLL_BACK, at=START + 60)
    found = [(row.decision, row.decided_at) for row in cache.decisions]
    assert found == [("continue", START), ("roll_back", START + 60)]


def test_records_survive_a_new_start(cache: Cache, tmp_path: Path) -> None:
    """What was recorded is in the file, not in the process."""
    enter(cache, plan())
    record: LookRecord = look([], 0.32).record
    record_look(cache.inbox, record, at=START)
    before = (cache.history, cache.looks)
    cache.store.close()
    cache.store = Store(tmp_path / "cache.duckdb")
    assert (cache.history, cache.looks) == before
    assert replace(before[1][0], look_key=0) != before[1][0]
