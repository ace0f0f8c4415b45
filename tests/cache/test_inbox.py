"""The inbox: whole batches or none, in the order of writing."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.cache import inbox as inbox_module
from core.cache.inbox import Inbox, columns, rows
from core.cache.tables import TABLES

HOUR_S = 3600
AT = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


def engine(engine_id: int) -> pa.Table:
    return rows("engines", [{"engine_id": engine_id, "pod": f"pod-{engine_id}"}])


def note(log_id: int) -> pa.Table:
    words = {"source": "s", "level": "error", "title": "t", "detail": "d"}
    return rows("source_log", [{"log_id": log_id, "noted_at": AT, **words}])


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_batch_is_invisible_until_whole(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """While any file of a batch is being written, nobody sees the batch."""
    seen: list[list[Path]] = []
    write = pq.write_table

    def watched(*args: Any, **more: Any) -> None:
        write(*args, **more)
        seen.append(inbox.waiting())

    monkeypatch.setattr(inbox_module.pq, "write_table", watched)
    batch = inbox.write("test", {"engines": engine(1), "source_log": note(1)})
    assert seen == [[], []]
    (found,) = inbox.waiting()
    assert found.name == batch
    assert files(found) == ["engines.parquet", "source_log.parquet"]


def test_a_failed_writer_leaves_nothing_visible(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that dies in its second file leaves a hidden folder, and no batch."""
    write = pq.write_table

    def dying(table: pa.Table, file: Any, **more: Any) -> None:
        if table.schema == TABLES["source_log"]:
            raise OSError("No space left on device")
        write(table, file, **more)

    monkeypatch.setattr(inbox_module.pq, "write_table", dying)
    with pytest.raises(OSError, match="No space left"):
        inbox.write("test", {"engines": engine(1), "source_log": note(1)})
    assert inbox.waiting() == []
    assert len(list(inbox.folder.glob(".*"))) == 1


def test_names_sort_by_writing(inbox: Inbox) -> None:
    """Batches come back in the order they were written, whatever their source is called."""
    written = [inbox.write(source, {"engines": engine(1)}) for source in ("z", "a", "m") * 20]
    assert [path.name for path in inbox.waiting()] == written


def test_names_sort_by_writing_in_one_clock_tick(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock too coarse to tell two batches apart changes neither order nor names."""
    monkeypatch.setattr(inbox_module.time, "time_ns", lambda: 1_790_000_000_000_000_000)
    written = [inbox.write("test", {"engines": engine(1)}) for _ in range(12)]
    assert len(set(written)) == 12
    assert [path.name for path in inbox.waiting()] == written


def test_nothing_to_say_is_no_batch(inbox: Inbox) -> None:
    """Tables without rows leave no batch, and no empty file in one."""
    empty = TABLES["engines"].empty_table()
    assert inbox.write("test", {"engines": empty}) is None
    assert inbox.waiting() == []
    inbox.write("test", {"engines": empty, "source_log": note(1)})
    assert files(inbox.waiting()[0]) == ["source_log.parquet"]


def test_an_inbox_that_was_never_written_is_empty(inbox: Inbox) -> None:
    """Asking or sweeping before the first batch is no error and makes no folder."""
    inbox.sweep()
    assert inbox.waiting() == []
    assert not inbox.folder.exists()


def test_stray_files_are_no_batches(inbox: Inbox) -> None:
    """A file somebody left in the folder is neither a batch nor removed."""
    inbox.write("test", {"engines": engine(1)})
    stray = inbox.folder / "README.txt"
    stray.write_text("mine")
    inbox.sweep(older_than_s=-1)
    assert len(inbox.waiting()) == 1
    assert stray.read_text() == "mine"


def test_leftovers_are_swept_only_when_old(inbox: Inbox) -> None:
    """A half-written batch goes after an hour; a fresh one may still be in the making."""
    inbox.write("test", {"engines": engine(1)})
    (whole,) = inbox.waiting()
    old, fresh = inbox.folder / ".old", inbox.folder / ".fresh"
    for path in (old, fresh):
        path.mkdir()
        (path / "engines.parquet").write_bytes(b"PAR1")
    age(old, HOUR_S + 60)
    age(fresh, HOUR_S - 60)
    age(whole, 30 * 24 * HOUR_S)
    inbox.sweep()
    assert not old.exists()
    assert fresh.exists()
    assert inbox.waiting() == [whole]


def test_a_dropped_batch_is_gone(inbox: Inbox) -> None:
    """Dropping removes one batch and leaves nothing of it."""
    inbox.write("test", {"engines": engine(1)})
    inbox.write("test", {"engines": engine(2)})
    first, second = inbox.waiting()
    inbox.drop(first)
    assert inbox.waiting() == [second]
    assert not list(inbox.folder.glob(".*"))


def test_a_rejected_batch_is_kept(inbox: Inbox) -> None:
    """Setting aside moves the batch out of the way with every file in it."""
    inbox.write("test", {"engines": engine(1), "source_log": note(1)})
    (batch,) = inbox.waiting()
    aside = inbox.reject(batch)
    assert inbox.waiting() == []
    assert aside.parent == inbox.rejected
    assert files(aside) == ["engines.parquet", "source_log.parquet"]


def test_a_batch_reads_back_as_written(inbox: Inbox) -> None:
    """Values and types of every column are those that were given."""
    table = note(1)
    inbox.write("test", {"source_log": table})
    assert pq.read_table(inbox.waiting()[0] / "source_log.parquet").equals(table)


def test_a_missing_optional_column_is_null() -> None:
    """A record that says nothing about an optional column says unknown, not empty."""
    (record,) = rows("engines", [{"engine_id": 1}]).to_pylist()
    assert record == dict.fromkeys(TABLES["engines"].names) | {"engine_id": 1}


def test_an_unknown_increase_is_null() -> None:
    """NaN, the mark of an unknown increase in an array, becomes null; 0 stays 0."""
    zeros = np.zeros(3, dtype=np.int64)
    values = {
        name: zeros.astype(float) if TABLES["counter_cells"].field(name).type == "double" else zeros
        for name in TABLES["counter_cells"].names
    } | {"increase": np.array([np.nan, 0.0, 2.0]), "duplicate": zeros.astype(bool)}
    table = columns("counter_cells", values)
    assert table["increase"].to_pylist() == [None, 0.0, 2.0]
    assert table["gap_increase"].to_pylist() == [0.0, 0.0, 0.0]
