"""A Langfuse collector, its inbox and a cache in one folder, fed by a fake server."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pyarrow.parquet as pq

from core.cache.inbox import Inbox
from core.cache.orders import Orders
from core.cache.store import Store
from core.collect.notes import utc
from core.collect.requests.batch import Batch, Readers
from core.collect.requests.follow import LangfuseCollector
from core.collect.requests.scan import RequestState
from core.collect.state import StateFile
from core.sources.langfuse import LangfuseSource
from tests.collect.requests.fake_langfuse import observation, score
from tests.recorded_langfuse import settings

T0 = 1_790_000_000.0
"""The clock's first time: everything below is before it unless said otherwise."""
MODES = ("events_only", "dual", "legacy", "old")
TABLES = ("observations", "scores", "turns", "violations", "orders")
APART = {"scores": {"seen_at"}, "violations": {"seen_at"}, "orders": {"answered_at"}}
"""Columns that say when one looked."""


class Clock:
    """A clock that a test turns."""

    def __init__(self, now: float = T0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Rig:
    """Everything between a server and the cache's tables, in one folder."""

    def __init__(self, folder: Path, server: httpx.BaseTransport, **more: Any) -> None:
        self.server = server
        self.clock = Clock()
        self.settings = settings(folder, **more)
        self.inbox = Inbox(self.settings.home / "inbox")
        self.state_file = StateFile(self.settings.home / "collectors" / "l.state", RequestState)
        self.orders = Orders(self.settings.home / "orders")
        self._store: Store | None = None

    def collector(self) -> LangfuseCollector:
        """A collector as a new process would make it."""
        return LangfuseCollector(
            self.settings,
            LangfuseSource(self.settings, transport=self.server),
            self.inbox,
            self.state_file,
            orders=self.orders,
            clock=self.clock,
        )

    def catch_up(self, collector: LangfuseCollector | None = None, *, most: int = 400) -> int:
        """Step until nothing is left; returns how many steps that took."""
        collector = collector or self.collector()
        for n in range(1, most + 1):
            if not collector.step():
                return n
        raise AssertionError("the collector never catches up")

    def pass_time(self, collector: LangfuseCollector, seconds: float) -> None:
        """Later, step until nothing is left."""
        self.clock.now += seconds
        self.catch_up(collector)

    def feed(self, observations: Iterable[Any] = (), scores: Iterable[Any] = ()) -> None:
        """One batch of rows, as a page would bring them."""
        batch = Batch(Readers(self.settings))
        batch.add_observations([_raw(row) for row in observations])
        batch.add_scores([_raw(row) for row in scores], self.clock.now)
        self.inbox.write("langfuse", batch.tables(utc(self.clock.now)))

    @property
    def store(self) -> Store:
        """The cache, with everything merged that waits."""
        if self._store is None:
            self._store = Store(self.settings.home / "cache.duckdb")
        self._store.merge_waiting(self.inbox)
        assert not self.inbox.rejected.exists(), "a batch was rejected"
        return self._store

    def sql(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        """Rows of the cache."""
        with self.store._cursor() as cursor:
            return cursor.execute(query, list(params)).fetchall()

    def value(self, query: str, *params: Any) -> Any:
        """The one value a query gives."""
        ((value,),) = self.sql(query, *params)
        return value

    def ids(self, table: str = "observations") -> list[str]:
        """Ids of a table, sorted."""
        key = {"observations": "observation_id", "scores": "score_id"}[table]
        return [row[0] for row in self.sql(f"select {key} from {table} order by 1")]  # noqa: S608

    def deleted(self) -> list[str]:
        """Ids of scores that are marked as deleted."""
        found = self.sql("select score_id from scores where deleted_at is not null order by 1")
        return [row[0] for row in found]

    def source_states(self) -> list[str]:
        """States that waiting batches tell, oldest first."""
        return [row["state"] for row in self.source_rows()]

    def source_rows(self) -> list[dict[str, Any]]:
        """How the source stands as waiting batches tell, oldest first."""
        return [row for batch in self.inbox.waiting() for row in read_table(batch, "sources")]

    def tables(
        self, names: Iterable[str] = TABLES, apart: dict[str, set[str]] = APART
    ) -> dict[str, list[tuple[Any, ...]]]:
        """Contents of tables in one order, for comparing, but for when one looked."""
        return {
            name: self.sql(
                f"select * exclude ({', '.join(apart[name])}) from {name} order by all"  # noqa: S608
                if apart.get(name)
                else f"select * from {name} order by all"  # noqa: S608
            )
            for name in names
        }

    def close(self) -> None:
        """Give the cache back."""
        if self._store is not None:
            self._store.close()


def read_table(batch: Path, table: str) -> list[dict[str, Any]]:
    """Rows of one table of a batch."""
    path = batch / f"{table}.parquet"
    return pq.read_table(path).to_pylist() if path.exists() else []


def project(
    number: int, *, every_s: float, end: float = T0 - 30, scores: int | None = None
) -> dict[str, Any]:
    """Rows of a project: observations and scores, the newest at `end`."""
    times = [end - every_s * i for i in range(number)]
    return {
        "observations": [observation(i, at) for i, at in enumerate(times)],
        "scores": [score(i, at) for i, at in enumerate(times[:scores])],
        "sessions": {f"trace-{i // 2:04d}": f"session-{i // 6}" for i in range(number)},
    }


def path_of(request: httpx.Request) -> str:
    """The part of a path after the API's own."""
    return request.url.path.removeprefix("/api/public")


def only(path: str, response: Callable[[], httpx.Response]) -> Callable[..., Any]:
    """A fault of one list."""
    return lambda request: response() if path_of(request) == path else None


def _raw(row: Any) -> msgspec.Raw:
    return msgspec.Raw(row if isinstance(row, bytes) else json.dumps(row).encode())
