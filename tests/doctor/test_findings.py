"""Findings on their way into the cache and onto Data health."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.doctor import Finding, Level, write_findings
from core.domain.scope import Scope
from core.views.data_health import DataHealthView, build
from tests.doctor.fakes import NOW, examined, sound


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "cache.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


def shown(store: Store, inbox: Inbox) -> DataHealthView:
    store.merge_waiting(inbox)
    assert not inbox.rejected.exists()
    return build(store, Scope(), NOW)


def finding(key: str, level: Level, *, step: str | None = "Do it") -> Finding:
    return Finding(key, "s", level, f"Title of {key}", "seen", step)


def test_every_finding_reaches_the_page(store: Store, inbox: Inbox) -> None:
    """What the doctor says is what Data health reads, word for word."""
    found = examined(*sound())
    assert write_findings(inbox, found, NOW) is not None
    rows = shown(store, inbox).findings
    told = {(f.finding, f.subject, f.level.value, f.title, f.detail, f.next_step) for f in found}
    assert told == {(r.finding, r.subject, r.level, r.title, r.detail, r.next_step) for r in rows}
    assert {row.checked_at for row in rows} == {NOW}


def test_errors_come_first(store: Store, inbox: Inbox) -> None:
    """Worst first, whatever their names."""
    levels = (Level.OK, Level.UNKNOWN, Level.WARNING, Level.ERROR)
    write_findings(inbox, [finding(f"{i}", level) for i, level in enumerate(levels)], NOW)
    assert [row.level for row in shown(store, inbox).findings] == [
        *("error", "warning", "unknown", "ok")
    ]


def test_what_the_newest_examination_did_not_find_is_over(store: Store, inbox: Inbox) -> None:
    """A finding about something that is gone does not stay on the page."""
    write_findings(inbox, [finding("a", Level.ERROR), finding("b", Level.OK)], NOW - 900)
    write_findings(inbox, [finding("b", Level.WARNING, step=None)], NOW)
    (row,) = shown(store, inbox).findings
    assert (row.finding, row.level, row.next_step) == ("b", "warning", None)


def test_an_older_examination_merged_later_changes_nothing(store: Store, inbox: Inbox) -> None:
    """Batches may be merged in any order."""
    write_findings(inbox, [finding("a", Level.OK)], NOW)
    write_findings(inbox, [finding("a", Level.ERROR)], NOW - 900)
    assert [row.level for row in shown(store, inbox).findings] == ["ok"]


def test_no_examination_is_no_row(store: Store, inbox: Inbox) -> None:
    """Before the first run there is nothing to show, and nothing is made up."""
    assert shown(store, inbox).findings == ()
