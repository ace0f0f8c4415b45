"""The cache's owner: one file, one process, every batch once."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.cache.inbox import Inbox, columns, rows
from core.cache.store import Store
from core.cache.tables import KEYS, TABLES, TIME
from core.errors import CacheBusyError, CacheError, CacheSchemaError
from core.named_queries import cache_queries
from tests.queries.test_query_files import PARAMS as EVERY_PARAM

ROOT = Path(__file__).resolve().parents[2]
AT = datetime(2026, 9, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SCOPE: dict[str, Any] = dict.fromkeys(("cluster", "namespace", "model", "pod", "engine"))
PARAMS = SCOPE | {
    "arm": None,
    "start": AT,
    "end": AT + 60 * MINUTE,
    "bin_s": 60,
    "span_s": 60,
    "most": 1000,
}
DERIVED = ("counter_hours", "bucket_hours", "gauge_hours", "turns")
HOSTILE = (
    "'; drop table engines; --",
    '"; drop table engines; --',
    "$pod",
    "{pod} %s ? :1",
    "<script>alert(1)</script>",
    "back\\slash\\",
    "line\nbreak\ttab\r",
    "",
    "NULL",
    "模型 🦆 é é \u202e\u200b\ufeff",
    "\x1f\x01\x7f",
    "x" * 5000,
)
SQL_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    TIME: "TIMESTAMP WITH TIME ZONE",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


def engine(engine_id: int, **labels: str | None) -> dict[str, Any]:
    return {"engine_id": engine_id, **labels}


def target(engine_id: int, **more: Any) -> dict[str, Any]:
    times = {"first_at": AT, "last_at": AT + 30 * MINUTE}
    return {"engine_id": engine_id, "target_id": 1, **times, **more}


def series(series_id: int, instrument: str, **more: Any) -> dict[str, Any]:
    ids = {"series_id": series_id, "engine_id": 1, "target_id": 1}
    return {**ids, "instrument": instrument, "exported_name": f"vllm:{instrument}", **more}


def counter_cell(series_id: int, minute: int, increase: float | None) -> dict[str, Any]:
    at = AT + minute * MINUTE
    counts = {"samples": 4, "resets": 0, "covered_s": 60.0, "duplicate": False}
    sums = {"increase": increase, "gap_increase": None if increase is None else 0.0}
    return {"series_id": series_id, "minute": at, "first_at": at, "last_at": at} | counts | sums


def gauge_cell(series_id: int, minute: int) -> dict[str, Any]:
    at = AT + minute * MINUTE
    values = dict.fromkeys(("value_sum", "value_min", "value_max", "value_last"), 0.5)
    return {
        "series_id": series_id,
        "minute": at,
        "samples": 1,
        "last_at": at,
        "duplicate": False,
    } | (values)


def bucket_cell(series_id: int, minute: int) -> dict[str, Any]:
    at = AT + minute * MINUTE
    return {"series_id": series_id, "minute": at, "increase": 1.0, "duplicate": False}


def put(inbox: Inbox, **tables: list[dict[str, Any]]) -> Path:
    """Write one batch and return its folder."""
    inbox.write("test", {name: rows(name, records) for name, records in tables.items()})
    return inbox.waiting()[-1]


def raw(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store._cursor() as cursor:
        return cursor.execute(query).fetchall()


def pods(store: Store) -> list[str | None]:
    return [row.pod for row in store.read("scope_choices", {})]


def test_a_batch_is_merged_and_dropped(store: Store, inbox: Inbox) -> None:
    """What lay in the inbox is in the cache afterwards, and no longer in the inbox."""
    batch = put(inbox, engines=[engine(1, pod="a")], counter_cells=[counter_cell(5, 0, 3.0)])
    assert store.merge_waiting(inbox) == 1
    assert inbox.waiting() == []
    assert pods(store) == ["a"]
    assert raw(store, "select batch_id from batches") == [(batch.name,)]
    assert store.version == 1


def test_merging_twice_changes_nothing(store: Store, inbox: Inbox, tmp_path: Path) -> None:
    """The same batch given again is known by its name and adds no row."""
    batch = put(inbox, engines=[engine(1, pod="a")], counter_cells=[counter_cell(5, 0, 3.0)])
    copy = shutil.copytree(batch, tmp_path / "copy")
    assert store.merge_waiting(inbox) == 1
    before = {table: raw(store, f"from {table} order by all") for table in TABLES}
    shutil.copytree(copy, batch)
    assert store.merge_waiting(inbox) == 0
    assert inbox.waiting() == []
    assert {table: raw(store, f"from {table} order by all") for table in TABLES} == before
    assert store.version == 1


def test_the_same_rows_under_another_name_change_nothing(store: Store, inbox: Inbox) -> None:
    """Reading one period again writes another batch with the same keys: no row is added."""
    for _ in range(3):
        put(
            inbox,
            engines=[engine(1, pod="a")],
            counter_cells=[counter_cell(5, m, 3.0) for m in range(10)],
            gauge_cells=[gauge_cell(6, m) for m in range(10)],
            bucket_cells=[bucket_cell(7, m) for m in range(10)],
        )
    assert store.merge_waiting(inbox) == 3
    counts = store.read("cache_size", {})[0]
    assert (counts.counter_cells, counts.gauge_cells, counts.bucket_cells) == (10, 10, 10)
    assert pods(store) == ["a"]


def test_a_later_row_replaces_the_earlier_one(store: Store, inbox: Inbox) -> None:
    """A cell that came when its minute was half over gives way to the whole one."""
    put(inbox, counter_cells=[counter_cell(5, 0, 3.0), counter_cell(5, 1, None)])
    put(inbox, counter_cells=[counter_cell(5, 1, 8.0), counter_cell(5, 2, None)])
    store.merge_waiting(inbox)
    found = raw(store, "select increase from counter_cells order by minute")
    assert found == [(3.0,), (8.0,), (None,)]


def test_a_row_can_become_unknown_again(store: Store, inbox: Inbox) -> None:
    """Replacing takes nulls too: an optional value that is gone does not linger."""
    put(inbox, targets=[target(1, gone_at=AT, up=False)])
    put(inbox, targets=[target(1)])
    store.merge_waiting(inbox)
    assert raw(store, "select gone_at, up from targets") == [(None, None)]


def test_an_older_period_changes_no_present_state(store: Store, inbox: Inbox) -> None:
    """History read later only widens what is known of a target; its state stays the newest."""
    new, old = AT + 30 * MINUTE, AT - 60 * MINUTE
    put(inbox, targets=[target(1, up=True, instance="new")])
    put(inbox, targets=[target(1, up=False, instance="old") | {"first_at": old, "last_at": AT}])
    store.merge_waiting(inbox)
    assert raw(store, "select first_at, last_at, up, instance from targets") == [
        (old, new, True, "new")
    ]


def test_one_key_twice_in_one_batch_is_one_row(store: Store, inbox: Inbox) -> None:
    """Keys are unique in the cache, also when one batch repeats a key."""
    put(inbox, engines=[engine(1, pod="a"), engine(1, pod="a")])
    store.merge_waiting(inbox)
    assert pods(store) == ["a"]


def test_a_kill_after_the_commit_repeats_nothing(
    path: Path, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that was committed and not yet dropped is only dropped by the next owner."""
    put(inbox, counter_cells=[counter_cell(5, 0, 3.0)])

    class KilledError(BaseException):
        """Stands for the moment of death."""

    def killed(*_: object) -> None:
        raise KilledError

    first = Store(path)
    with monkeypatch.context() as patched:
        patched.setattr(inbox, "drop", killed)
        with pytest.raises(KilledError):
            first.merge_waiting(inbox)
    first.close()
    assert len(inbox.waiting()) == 1
    second = Store(path)
    assert second.merge_waiting(inbox) == 0
    assert inbox.waiting() == []
    assert raw(second, "select increase from counter_cells") == [(3.0,)]
    assert raw(second, "select count(*) from batches") == [(1,)]
    second.close()


def test_a_kill_before_the_commit_leaves_nothing(path: Path, inbox: Inbox) -> None:
    """A process that dies between two tables of a batch leaves neither, and the batch waits."""
    put(inbox, counter_cells=[counter_cell(5, 0, 3.0)], engines=[engine(1, pod="a")])
    script = """
import os, sys
from pathlib import Path
from core.cache import store
from core.cache.inbox import Inbox
merge, done = store._merge_table, []
def dying(cursor, table, path):
    merge(cursor, table, path)
    done.append(table)
    if len(done) == 2:
        os._exit(9)
store._merge_table = dying
store.Store(Path(sys.argv[1])).merge_waiting(Inbox(Path(sys.argv[2])))
"""
    ended = run_python(script, path, inbox.folder)
    assert ended.returncode == 9, ended.stderr
    after = Store(path)
    assert raw(after, "select count(*) from counter_cells") == [(0,)]
    assert raw(after, "select count(*) from batches") == [(0,)]
    assert pods(after) == []
    assert after.merge_waiting(inbox) == 1
    assert pods(after) == ["a"]
    after.close()


def run_python(script: str, *args: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def corrupt(batch: Path) -> None:
    (batch / "engines.parquet").write_bytes(b"not a Parquet file")


def truncated(batch: Path) -> None:
    file = batch / "engines.parquet"
    file.write_bytes(file.read_bytes()[:-20])


def damaged_inside(batch: Path) -> None:
    file = batch / "engines.parquet"
    body = bytearray(file.read_bytes())
    body[4:40] = bytes(36)
    file.write_bytes(body)


def unknown_table(batch: Path) -> None:
    (batch / "engines.parquet").rename(batch / "sqlite_master.parquet")


def column_missing(batch: Path) -> None:
    _rewrite(batch, lambda table: table.drop_columns(["pod"]))


def column_added(batch: Path) -> None:
    _rewrite(batch, lambda table: table.append_column("extra", [["x"]]))


def column_of_another_type(batch: Path) -> None:
    words = pa.array(["not a number"])
    _rewrite(batch, lambda table: table.set_column(0, "engine_id", words))


def key_missing(batch: Path) -> None:
    nothing = pa.array([None], pa.int64())
    _rewrite(batch, lambda table: table.set_column(0, "engine_id", nothing))


def _rewrite(batch: Path, change: Any) -> None:
    file = batch / "engines.parquet"
    table = change(pq.read_table(file))
    pq.write_table(table, file)


@pytest.mark.parametrize(
    "damage",
    [
        corrupt,
        truncated,
        damaged_inside,
        unknown_table,
        column_missing,
        column_added,
        column_of_another_type,
        key_missing,
    ],
)
def test_a_bad_batch_is_set_aside_and_named(store: Store, inbox: Inbox, damage: Any) -> None:
    """A batch that cannot be merged is kept, named in the log, and holds nobody up."""
    put(inbox, engines=[engine(1, pod="before")])
    bad = put(inbox, counter_cells=[counter_cell(5, 0, 3.0)], engines=[engine(2, pod="bad")])
    damage(bad)
    put(inbox, engines=[engine(3, pod="after")])
    assert store.merge_waiting(inbox) == 2
    assert pods(store) == ["after", "before"]
    assert store.read("cache_size", {})[0].counter_cells == 0
    assert inbox.waiting() == []
    assert [path.name for path in inbox.rejected.iterdir()] == [bad.name]
    (noted,) = store.read("recent_log", {"most": 10})
    assert (noted.source, noted.level) == ("cache", "error")
    assert noted.detail.startswith(bad.name)
    assert noted.next_step


def test_a_second_process_is_told_who_has_the_file(store: Store, path: Path) -> None:
    """Another process gets CacheBusyError naming the holder's PID, and does no harm."""
    script = """
import sys
from pathlib import Path
from core.cache.store import Store
from core.errors import CacheBusyError
try:
    Store(Path(sys.argv[1]))
except CacheBusyError as error:
    sys.exit(f"{error} | {error.next_step}")
"""
    ended = run_python(script, path)
    assert ended.returncode == 1
    assert CacheBusyError.title in ended.stderr
    assert f"process {os.getpid()} (" in ended.stderr
    assert CacheBusyError.next_step in ended.stderr
    assert pods(store) == []


def test_the_file_is_free_after_close(path: Path) -> None:
    """Closing gives the file back: the next owner finds what the last one merged."""
    Store(path).close()
    script = (
        "import sys; from pathlib import Path; from core.cache.store import Store\n"
        "store = Store(Path(sys.argv[1])); print(store.is_new); store.close()"
    )
    ended = run_python(script, path)
    assert (ended.returncode, ended.stdout.strip()) == (0, "False"), ended.stderr


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    """A schema this version does not know is never touched, and the file is let go."""
    Store(path).close()
    with duckdb.connect(path) as other:
        other.execute("insert into schema_versions values (999, now())")
    with pytest.raises(CacheSchemaError, match="schema 999"):
        Store(path)
    with duckdb.connect(path) as other:
        assert other.execute("select max(number) from schema_versions").fetchone() == (999,)


def test_a_file_that_is_no_database_is_an_error_with_a_next_step(path: Path) -> None:
    """Something else under the cache's name is named, not overwritten."""
    path.write_bytes(b"SQLite format 3\0" + bytes(4096))
    with pytest.raises(CacheError) as caught:
        Store(path)
    assert str(path) in caught.value.detail
    assert caught.value.next_step
    assert path.read_bytes().startswith(b"SQLite")


def test_the_schema_is_applied_once(path: Path) -> None:
    """A second opening applies nothing and loses nothing."""
    first = Store(path)
    applied = raw(first, "from schema_versions order by all")
    assert first.is_new
    first.close()
    second = Store(path)
    assert not second.is_new
    assert raw(second, "from schema_versions order by all") == applied
    second.close()


def test_batch_columns_are_the_schema_files_columns(store: Store) -> None:
    """Names, order, types and nullability of every batch table are those of the database."""
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for table, column, kind, nullable in raw(
        store,
        "select table_name, column_name, data_type, is_nullable from duckdb_columns() "
        "where not internal and table_name in (select table_name from duckdb_tables()) "
        "order by table_name, column_index",
    ):
        found.setdefault(table, []).append((column, kind, nullable))
    expected = {
        name: sorted((field.name, SQL_TYPES[field.type], field.nullable) for field in schema)
        for name, schema in TABLES.items()
    }
    own = {"batches", "schema_versions", *DERIVED}
    assert {name: sorted(columns) for name, columns in found.items() if name not in own} == (
        expected
    )


def test_keys_are_columns_that_are_never_null() -> None:
    """Every table has a key, and no part of a key may be unknown."""
    assert KEYS.keys() == TABLES.keys()
    for table, keys in KEYS.items():
        assert keys
        assert not any(TABLES[table].field(key).nullable for key in keys), table


def test_reading_goes_on_while_batches_come(store: Store, inbox: Inbox) -> None:
    """Four readers never fail, never see part of a batch, and never go back in time."""
    per_batch, batches = 200, 15
    failures: list[object] = []
    reads = [0] * 4
    done = threading.Event()

    def read(number: int) -> None:
        newest = 0
        while not done.is_set():
            try:
                (size,) = store.read("cache_size", {})
                store.read("hit_ratio_by_engine", PARAMS)
            except Exception as error:  # noqa: BLE001 - any failure fails the test
                failures.append(error)
                return
            whole = (size.batches * per_batch,) * 2
            if (size.counter_cells, size.gauge_cells) != whole or size.batches < newest:
                failures.append(size)
            newest = size.batches
            reads[number] += 1

    readers = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for reader in readers:
        reader.start()
    for batch in range(batches):
        inbox.write("test", cells_of(batch, per_batch))
        store.merge_waiting(inbox)
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert min(reads) > 0
    assert store.read("cache_size", {})[0].counter_cells == batches * per_batch


def cells_of(batch: int, size: int) -> dict[str, pa.Table]:
    minutes = np.full(size, (int(AT.timestamp()) + 60 * batch) * 1_000_000)
    whole, parts = np.ones(size, dtype=np.int64), np.ones(size)
    values = {
        "series_id": np.arange(size),
        "minute": minutes,
        "first_at": minutes,
        "last_at": minutes,
        "duplicate": np.zeros(size, dtype=bool),
    }
    return {
        table: columns(
            table,
            {
                field.name: values.get(field.name, parts if field.type == pa.float64() else whole)
                for field in TABLES[table]
            },
        )
        for table in ("counter_cells", "gauge_cells")
    }


@pytest.mark.parametrize("table", TABLES)
def test_hostile_texts_survive(store: Store, inbox: Inbox, table: str) -> None:
    """Whatever a label or message holds is stored as it came, in every text column."""
    schema = TABLES[table]
    texts = [field.name for field in schema if field.type == pa.string()]
    simple = {pa.int64(): 1, pa.float64(): 1.0, pa.bool_(): True, TIME: AT}
    records = [
        {f.name: hostile if f.name in texts else simple[f.type] for f in schema}
        | {key: i if schema.field(key).type == pa.int64() else hostile for key in KEYS[table][:1]}
        for i, hostile in enumerate(HOSTILE)
    ]
    put(inbox, **{table: records})
    assert store.merge_waiting(inbox) == 1
    query = f"select {', '.join(schema.names)} from {table}"  # noqa: S608 - names of ours
    found = sorted(raw(store, query), key=repr)
    assert found == sorted((tuple(record[n] for n in schema.names) for record in records), key=repr)
    assert len(raw(store, "from duckdb_tables()")) == len(TABLES) + len(DERIVED) + 2


@pytest.mark.parametrize("label", SCOPE)
def test_a_hostile_filter_is_only_a_value(store: Store, inbox: Inbox, label: str) -> None:
    """A filter finds exactly the engine that carries the text, in every scoped query."""
    column = "model_name" if label == "model" else label
    names = [text for text in HOSTILE if text]
    put(
        inbox,
        engines=[engine(i, **{column: text}) for i, text in enumerate(names)],
        targets=[target(i) for i in range(len(names))],
    )
    store.merge_waiting(inbox)
    for i, text in enumerate(names):
        found = store.read("engines_in_window", PARAMS | {label: text})
        assert [row.engine_id for row in found] == [i]
    scoped = [name for name, query in cache_queries().items() if label in query.params]
    assert len(scoped) > 5
    for name in scoped:
        store.read(name, EVERY_PARAM | PARAMS | {label: HOSTILE[0]})
    assert len(store.read("scope_choices", {})) == len(names)


COUNTERS = (
    "prefix_cache_queries",
    "prefix_cache_hits",
    "external_prefix_cache_queries",
    "external_prefix_cache_hits",
    "prompt_tokens",
    "prompt_tokens_cached",
    "prompt_tokens_by_source",
    "num_preemptions",
    "time_to_first_token_seconds_count",
)
MEASURED = {
    "hit_ratio_by_engine": (
        "hits_tokens",
        "queries_tokens",
        "external_hits_tokens",
        "external_queries_tokens",
        "prompt_tokens",
        "prompt_cached_tokens",
    ),
    "hit_ratio_over_time": (
        "hits_tokens",
        "queries_tokens",
        "external_hits_tokens",
        "external_queries_tokens",
        "prompt_tokens",
    ),
    "pressure": ("preemptions",),
    "ttft_counts": ("requests",),
    "prefill_by_source": ("tokens",),
}
"""Sums of increases, by query."""


def fill(inbox: Inbox, increases: list[float | None]) -> None:
    put(
        inbox,
        engines=[engine(1, pod="a")],
        targets=[target(1)],
        series=[series(i, name) for i, name in enumerate(COUNTERS)],
        counter_cells=[
            counter_cell(i, minute, increase)
            for i in range(len(COUNTERS))
            for minute, increase in enumerate(increases)
        ],
    )


def test_a_sum_over_only_unknowns_is_unknown(store: Store, inbox: Inbox) -> None:
    """Scrapes without a pair give null sums in every query, never 0."""
    fill(inbox, [None, None])
    store.merge_waiting(inbox)
    for name, measured in MEASURED.items():
        found = store.read(name, PARAMS)
        assert found, name
        assert {getattr(row, column) for row in found for column in measured} == {None}, name


def test_a_sum_over_an_absent_counter_is_unknown(store: Store, inbox: Inbox) -> None:
    """An engine that exports one counter has null for every other one."""
    put(
        inbox,
        engines=[engine(1)],
        series=[series(1, "prefix_cache_queries")],
        counter_cells=[counter_cell(1, 0, 0.0)],
    )
    store.merge_waiting(inbox)
    for name in ("hit_ratio_by_engine", "hit_ratio_over_time"):
        (row,) = store.read(name, PARAMS)
        values = {column: getattr(row, column) for column in MEASURED[name]}
        assert values == dict.fromkeys(values) | {"queries_tokens": 0.0}
    for name in ("pressure", "ttft_counts", "prefill_by_source", "ttft_buckets", "kv_usage"):
        assert store.read(name, PARAMS) == []


def test_a_known_part_is_summed(store: Store, inbox: Inbox) -> None:
    """An unknown minute beside known ones takes nothing away, and a seen 0 is a number."""
    fill(inbox, [None, 2.0, 0.0, 3.0])
    store.merge_waiting(inbox)
    (row,) = store.read("hit_ratio_by_engine", PARAMS)
    assert {getattr(row, c) for c in MEASURED["hit_ratio_by_engine"]} == {5.0}
    assert [r.preemptions for r in store.read("pressure", PARAMS)] == [None, 2.0, 0.0, 3.0]
    (row,) = store.read("pressure", PARAMS | {"bin_s": 3600})
    assert row.preemptions == 5.0


def test_duplicate_cells_are_kept_and_not_added(store: Store, inbox: Inbox) -> None:
    """Cells of an address that repeats another are stored and enter no sum."""
    fill(inbox, [2.0])
    put(
        inbox,
        series=[series(100, "num_preemptions", target_id=2)],
        counter_cells=[counter_cell(100, 0, 2.0) | {"duplicate": True}],
    )
    store.merge_waiting(inbox)
    (row,) = store.read("pressure", PARAMS)
    assert row.preemptions == 2.0
    assert raw(store, "select count(*) from counter_cells where duplicate") == [(1,)]


def test_a_failing_disk_is_no_fault_of_the_batch(
    store: Store, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the cache itself cannot write, batches wait; nothing is set aside."""
    put(inbox, engines=[engine(1, pod="a")])

    def full(*_: object) -> None:
        raise duckdb.IOException("IO Error: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("core.cache.store._merge_table", full)
        with pytest.raises(duckdb.IOException):
            store.merge_waiting(inbox)
    assert len(inbox.waiting()) == 1
    assert not inbox.rejected.exists()
    assert store.merge_waiting(inbox) == 1
    assert pods(store) == ["a"]
