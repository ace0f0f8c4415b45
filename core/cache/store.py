"""The owner of the DuckDB file: schema, one writer, read cursors."""

import logging
import re
import threading
from collections import namedtuple
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from core.cache.inbox import Inbox
from core.cache.tables import COUNTED, DATED, FURTHEST, KEYS, MOVING, NEAR, SEEN, TABLES
from core.errors import BatchError, CacheBusyError, CacheError, CacheSchemaError
from core.named_queries import (
    NamedQuery,
    cache_queries,
    macro_files,
    rollup_statements,
    schema_files,
)

log = logging.getLogger(__name__)

UNMERGEABLE = (BatchError, pa.ArrowException, duckdb.DataError, duckdb.IntegrityError)
"""What a batch itself can be blamed for; a full disk is not its fault."""
Row = Any
"""A named tuple: one row of a named query."""


class Reader:
    """Runs named queries on one cursor; what several of them read is made once for all of them."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self._made: dict[str, dict[str, Any]] = {}
        """Tables made of queries that others read, with the parameters each was made with."""

    def read(self, name: str, params: Mapping[str, Any]) -> list[Row]:
        """Rows as named tuples with the columns of the query's header; null is None."""
        query, given = self._ready(name, params)
        row = namedtuple("Row", query.returns)  # type: ignore[misc]  # noqa: PYI024
        return [row(*values) for values in self._cursor.execute(query.text, given).fetchall()]

    def columns(self, name: str, params: Mapping[str, Any]) -> pa.Table:
        """Many rows: their columns as an Arrow table."""
        query, given = self._ready(name, params)
        return self._cursor.sql(query.text, params=given).to_arrow_table()

    def _ready(self, name: str, params: Mapping[str, Any]) -> tuple[NamedQuery, dict[str, Any]]:
        query = cache_queries()[name]
        for source in query.reads:
            self._make(source, params)
        return query, {key: params[key] for key in query.params}

    def _make(self, name: str, params: Mapping[str, Any]) -> None:
        query, given = self._ready(name, params)
        if self._made.get(name) != given:
            text = f"create or replace temp table {name} as {query.text}"
            self._cursor.execute(text, given)
            self._made[name] = given


class Store:
    """One open cache file. Only one process may hold one.

    Raises
    ------
    CacheBusyError
        Another process has the file open; names it.
    CacheSchemaError
        A newer version made the file.
    """

    def __init__(self, path: Path, *, memory_limit: str = "4GB") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._writing = threading.Lock()
        self.version = 0
        """Batches merged since the file was opened: what page caches depend on."""
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory_limit,
            "temp_directory": str(path.with_suffix(".tmp")),
        }
        try:
            self._owner = duckdb.connect(path, config=settings)
        except duckdb.IOException as error:
            raise _translated(error, path) from error
        try:
            self._migrate()
        except Exception:
            self._owner.close()
            raise

    def close(self) -> None:
        """Give the file back."""
        with self._writing:
            self._owner.close()

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Named queries on one cursor, for one thread."""
        with self._cursor() as cursor:
            yield Reader(cursor)

    def read(self, name: str, params: Mapping[str, Any]) -> list[Row]:
        """Run one named query on a cursor of its own; safe from any thread."""
        with self.reader() as reader:
            return reader.read(name, params)

    def columns(self, name: str, params: Mapping[str, Any]) -> pa.Table:
        """Run one named query for many rows: its columns as an Arrow table."""
        with self.reader() as reader:
            return reader.columns(name, params)

    def merge_waiting(self, inbox: Inbox) -> int:
        """Merge every whole batch once, oldest first; returns how many.

        A batch and its id are committed together, so a kill at any moment
        neither loses nor repeats one. A batch that cannot be merged is set
        aside and named in the log; the others go on.

        Raises
        ------
        duckdb.Error, OSError
            The cache or the disk fails: nothing is set aside, try again later.
        """
        merged = 0
        for batch in inbox.waiting():
            try:
                merged += self._merge(batch)
            except (*UNMERGEABLE, duckdb.Error) as error:
                if not _is_its_fault(error):
                    raise
                aside = inbox.reject(batch)
                log.exception("batch %s cannot be merged and lies in %s", batch.name, aside)
                self._note_rejected(batch.name, str(error))
                continue
            inbox.drop(batch)
        return merged

    def _merge(self, batch: Path) -> bool:
        tables = {path.stem: path for path in sorted(batch.glob("*.parquet"))}
        unknown = set(tables) - set(TABLES)
        if unknown:
            raise BatchError(f"unknown tables {', '.join(sorted(unknown))}")
        with self._writing, self._cursor() as cursor:
            cursor.begin()
            try:
                seen = cursor.execute("select 1 from batches where batch_id = ?", [batch.name])
                if seen.fetchone():
                    cursor.rollback()
                    return False
                for table, path in tables.items():
                    _merge_table(cursor, table, path)
                    _roll_up(cursor, table, path)
                cursor.execute("insert into batches values (?, ?)", [batch.name, datetime.now(UTC)])
                cursor.commit()
            except BaseException:
                cursor.rollback()
                raise
            self.version += 1
        return True

    def _note_rejected(self, batch: str, why: str) -> None:
        now = datetime.now(UTC)
        row = [
            int(now.timestamp() * 1e6),
            "cache",
            now,
            "error",
            BatchError.title,
            f"{batch}: {why}"[:2000],
            BatchError.next_step,
        ]
        with self._writing, self._cursor() as cursor:
            cursor.execute("insert into source_log values (?, ?, ?, ?, ?, ?, ?)", row)
            self.version += 1

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one thread and one use; settings are per connection."""
        with self._owner.cursor() as cursor:
            cursor.execute("set TimeZone = 'UTC'")
            yield cursor

    def _migrate(self) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                "create table if not exists schema_versions (number bigint, applied_at timestamptz)"
            )
            found = cursor.execute("select max(number) from schema_versions").fetchone()
            newest = found[0] if found and found[0] is not None else -1
            self.is_new = newest < 0
            files = schema_files()
            if newest > max(number for number, _ in files):
                raise CacheSchemaError(f"{self.path} has schema {newest}")
            for number, path in files:
                if number > newest:
                    cursor.begin()
                    cursor.execute(path.read_text(encoding="utf-8"))
                    cursor.execute(
                        "insert into schema_versions values (?, ?)", [number, datetime.now(UTC)]
                    )
                    cursor.commit()
            for path in macro_files():
                cursor.execute(path.read_text(encoding="utf-8"))


def _merge_table(cursor: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Keyed merge of one Parquet file: rows seen again are replaced, never added.

    Table and column names come from `core.cache.tables`; values stay in the file.
    """
    names = TABLES[table].names
    found = pq.read_schema(path).names
    if set(found) != set(names):
        raise BatchError(f"{table} has columns {found}, expected {names}")
    keys = KEYS[table]
    others = [name for name in names if name not in keys]
    on = " and ".join(f"old.{key} = new.{key}" for key in keys)
    near, bounds = _near(cursor, table, path)
    params: list[Any] = [str(path), *bounds]
    update = ", ".join(f"{name} = {_newer(table, name)}" for name in others)
    cursor.execute(
        f"merge into {table} as old using "  # noqa: S608 - names are our own
        f"(select distinct on ({', '.join(keys)}) {', '.join(names)} from read_parquet(?)) "
        f"as new on {on}{near} "
        f"when matched then update set {update} "
        f"when not matched then insert ({', '.join(names)}) "
        f"values ({', '.join('new.' + name for name in names)})",
        params,
    )


def _near(cursor: duckdb.DuckDBPyConnection, table: str, path: Path) -> tuple[str, list[Any]]:
    """The stretch of a long table in which a file's older rows lie, as a condition."""
    if table in NEAR:
        column, reach = NEAR[table]
        low, high = f"min({column}) - interval '{reach}'", f"max({column}) + interval '{reach}'"
        source = "read_parquet(?)"
    elif table in MOVING:
        column, (key,) = MOVING[table], KEYS[table]
        low, high = f"min({column})", f"max({column})"
        source = f"{table} where {key} in (select {key} from read_parquet(?))"  # noqa: S608
    else:
        return "", []
    query = f"select {low}, {high} from {source}"  # noqa: S608 - names are our own
    found = cursor.execute(query, [str(path)]).fetchone() or (None, None)
    return f" and old.{column} between ? and ?", list(found)


def _newer(table: str, column: str) -> str:
    """What a column becomes when its row is seen again."""
    if column in FURTHEST.get(table, {}):
        return f"{FURTHEST[table][column]}(old.{column}, new.{column})"
    dated = DATED.get(table)
    if dated is None:
        return f"new.{column}"
    if column == COUNTED.get(table):
        changed = f"new.{dated[0]} > old.{dated[0]} and new.digest <> old.digest"
        return f"old.{column} + cast({changed} as bigint)"
    if (table, column) in SEEN:
        at = SEEN[table, column]
        return f"case when new.{at} < old.{column} then old.{column} else new.{column} end"
    new, old = (", ".join(f"{row}.{name}" for name in dated) for row in ("new", "old"))
    return f"case when ({new}) >= ({old}) then new.{column} else old.{column} end"


def _roll_up(cursor: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Make again what is derived from a table's rows, where a batch touches it."""
    statement = rollup_statements().get(f"roll_up_{table}")
    if statement is None:
        return
    if "start" not in statement.params:
        cursor.execute(statement.text, {"path": str(path)})
        return
    bounds = cursor.execute(
        "select time_bucket(interval '1 hour', min(minute)), "
        "time_bucket(interval '1 hour', max(minute)) + interval '1 hour' from read_parquet(?)",
        [str(path)],
    ).fetchone()
    if bounds is not None:
        start, end = bounds
        cursor.execute(statement.text, {"path": str(path), "start": start, "end": end})


def _is_its_fault(error: Exception) -> bool:
    """Whether a batch is broken: DuckDB has no name for damage deep inside a file."""
    return isinstance(error, UNMERGEABLE) or type(error) is duckdb.Error


def _translated(error: duckdb.IOException, path: Path) -> CacheError:
    text = str(error)
    if "lock" not in text.lower():
        return CacheError(f"{path}: {text}", next_step="Check the folder and its permissions.")
    holder = re.search(r"held in (.+?) \(PID (\d+)\)", text)
    who = f"process {holder[2]} ({holder[1]})" if holder else "another process"
    return CacheBusyError(f"{path} is held by {who}")
