"""What the demo's people enter arrives in the cache, once."""

from pathlib import Path

import pytest

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.config import Settings
from core.demo import DECISIONS, KNOWN, LOOKS, demo_log, demo_plans
from core.demo_people import enter_all, enter_plans, is_entered
from core.domain.experiments.decision import Decision
from core.domain.experiments.look_record import LookRow, stored_looks
from core.domain.experiments.versions import PlanRow, history
from core.domain.statistics.gate import Verdict

EPOCH = 1_789_978_380


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    seed = Settings(prometheus_url=None).demo_seed
    for _ in range(2):
        enter_all(Inbox(folder / "inbox"), seed=seed, epoch=EPOCH)
    return folder


@pytest.fixture(scope="module")
def store(home: Path) -> Store:
    made = Store(home / "cache.duckdb")
    assert not is_entered(made)
    made.merge_waiting(Inbox(home / "inbox"))
    return made


def test_everything_is_there_once(store: Store) -> None:
    """Entered twice, each plan has one sound version, and looks and decisions are no more."""
    assert is_entered(store)
    plans = store.read("experiment_plans", {"experiment": None})
    assert [row.experiment for row in plans] == sorted(KNOWN)
    for one in demo_plans(EPOCH):
        mine = [PlanRow(**row._asdict()) for row in plans if row.experiment == one.plan.experiment]
        found = history(mine)
        assert found.broken == ()
        assert [version.plan for version in found.versions] == [one.plan]
        assert found.versions[0].registered_at == one.at
    assert len(store.read("experiment_looks", {"experiment": None})) == len(LOOKS)
    assert len(store.read("experiment_decisions", {"experiment": None})) == len(DECISIONS)


def test_decisions_rest_on_looks(store: Store) -> None:
    """One promotes what passed, one overrides an inconclusive verdict by name, one rolls back."""
    looks = stored_looks(
        LookRow(**row._asdict()) for row in store.read("experiment_looks", {"experiment": None})
    )
    assert looks.broken == ()
    verdicts = {look.look_key: look.record.verdict for look in looks.taken}
    decisions = store.read("experiment_decisions", {"experiment": None})
    assert {(row.decision, row.verdict, row.override) for row in decisions} == {
        (Decision.PROMOTE, Verdict.NON_INFERIOR, False),
        (Decision.PROMOTE, Verdict.INCONCLUSIVE, True),
        (Decision.ROLL_BACK, Verdict.REGRESSION, False),
    }
    for row in decisions:
        assert verdicts[row.look_key] == row.verdict
        assert row.decided_by
        assert row.reason


def test_changes_are_in_the_lever_log(store: Store) -> None:
    """What was entered beside the experiments stands in the lever log, by name."""
    period = {"start": "2026-09-01 00:00:00+00", "end": "2026-12-01 00:00:00+00"}
    rows = store.read("changes_in_period", period)
    assert [(row.kind, row.what, row.by_whom) for row in rows] == [
        (one.kind.value, one.what, one.by) for one in demo_log(EPOCH)
    ]


def test_plans_come_without_the_simulated_rows(tmp_path: Path) -> None:
    """Plans and changes are entered at once; looks and decisions are what takes a while."""
    inbox = Inbox(tmp_path / "inbox")
    versions = enter_plans(inbox, epoch=EPOCH)
    assert set(versions) == set(KNOWN)
    names = {file.stem for batch in inbox.waiting() for file in batch.iterdir()}
    assert names == {"experiment_plans", "levers"}
