"""The inbox: a folder of immutable Parquet batches on their way to the cache.

A batch is a folder with one Parquet file a table. It is written under a hidden
name and renamed when whole, so a reader never sees half of one. Names sort in
the order of writing. Any process may write; only the cache's owner takes.
"""

import itertools
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.cache.tables import TABLES

_count = itertools.count()


class Inbox:
    """Batches under one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rejected = folder.with_name(folder.name + "-rejected")

    def write(self, source: str, tables: Mapping[str, pa.Table]) -> str | None:
        """Leave one batch; None when all its tables are empty.

        The batch is on disk, and survives a power cut, when this returns.
        """
        filled = {name: table for name, table in tables.items() if table.num_rows}
        if not filled:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        batch_id = f"{time.time_ns():020d}-{os.getpid()}-{next(_count):06d}-{source}"
        aside = self.folder / f".{batch_id}"
        aside.mkdir()
        for name, table in filled.items():
            with (aside / f"{name}.parquet").open("wb") as file:
                pq.write_table(table, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
        _sync_folder(aside)
        aside.rename(self.folder / batch_id)
        _sync_folder(self.folder)
        return batch_id

    def waiting(self) -> list[Path]:
        """Whole batches, oldest first."""
        if not self.folder.exists():
            return []
        return sorted(p for p in self.folder.iterdir() if p.is_dir() and p.name[0] != ".")

    def drop(self, batch: Path) -> None:
        """Remove a batch that the cache has committed."""
        hidden = batch.with_name("." + batch.name)
        batch.rename(hidden)
        shutil.rmtree(hidden)

    def reject(self, batch: Path) -> Path:
        """Set a batch aside that cannot be merged; nothing is deleted."""
        self.rejected.mkdir(parents=True, exist_ok=True)
        return batch.rename(self.rejected / batch.name)

    def sweep(self, *, older_than_s: float = 3600) -> None:
        """Remove what killed writers left half written."""
        if not self.folder.exists():
            return
        limit = time.time() - older_than_s
        for path in self.folder.glob(".*"):
            if path.is_dir() and path.stat().st_mtime < limit:
                shutil.rmtree(path, ignore_errors=True)


def rows(table: str, records: list[dict[str, Any]]) -> pa.Table:
    """Records of one table; a missing optional column is null."""
    return pa.Table.from_pylist(records, schema=TABLES[table])


def columns(table: str, values: Mapping[str, Any]) -> pa.Table:
    """Arrays of one table by column; float NaN becomes null where null is allowed."""
    schema = TABLES[table]
    arrays = [
        pa.array(values[field.name], type=field.type, from_pandas=field.nullable)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
