"""`make perf`: what the Quality page costs on three million requests, by length of the window.

The rows are made inside DuckDB, by the schema of the cache: 30 days, sessions of ten turns, one
request in fifty tried twice, a score on every request and a second one on a tenth of the sessions.
Prints CPU and wall seconds of building the page, and the share of the largest queries.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import duckdb

import core.cache.store
from core.cache.store import Reader, Store
from core.config import EvaluatorSettings
from core.domain.quality import Dimension
from core.domain.scope import Scope
from core.named_queries import cache_queries
from core.views.quality import Question, build

REQUESTS = 3_000_000
DAYS = 30
END = 1_796_000_400
START = END - DAYS * 86_400
PER_S = REQUESTS / (DAYS * 86_400)
WINDOWS = {"1 hour": 3600, "1 day": 86_400, "7 days": 7 * 86_400, "all 30 days": DAYS * 86_400}
TARGET_S = 10.0

STARTED = f"to_timestamp({START} + i / {PER_S})"
OBSERVATION = {
    "observation_key": "(hash(i) >> 1)::bigint",
    "observation_id": "printf('%016x', i)",
    "trace_id": "printf('%032x', i)",
    "turn_id": "printf('%032x', i)",
    "type": "'GENERATION'",
    "synthetic_root": "false",
    "start_at": STARTED,
    "end_at": f"{STARTED} + interval 5 second",
    "updated_at": f"{STARTED} + interval 6 second",
    "first_start_at": STARTED,
    "last_start_at": STARTED,
    "session_id": "'session-' || (i // 10)",
    "exporter": "'litellm'",
    "logical_id": "printf('call-%016x', case when i % 50 = 1 then i - 1 else i end)",
    "model": "'model-' || (i % 4)",
    "pod": "'pod-' || (i % 64)",
    "arm": "case when i // 10 % 2 = 0 then 'A' else 'B' end",
    "task_type": "['qa', 'code', 'chat', 'agent'][1 + i // 10 % 4]",
    "template_version": "'v3'",
    "state": "case when i % 50 = 0 then 'error' else 'complete' end",
    "state_basis": "'ended'",
    "usage_status": "case when i % 20 = 0 then 'unknown' else 'measured' end",
    "contract": "'exclusive'",
    "cached_scope": "'both'",
    "total_input": "3000 + i % 1000",
    "cached_input": "case when i % 20 <> 0 then (hash(i) % 3000)::bigint end",
    "output": "300",
    "digest": "i",
    "revisions": "0",
}
SCORE = {
    "score_id": "printf('{name}-%016x', i)",
    "name": "'{name}'",
    "level": "'observation'",
    "observation_id": "printf('%016x', i)",
    "trace_id": "printf('%032x', i)",
    "data_type": "'{kind}'",
    "value": "{value}",
    "status": "'ok'",
    "evaluator": "'{name}'",
    "evaluator_version": "'1'",
    "inclusion_probability": "{probability}",
    "scored_at": f"{STARTED} + interval 20 second",
    "updated_at": f"{STARTED} + interval 20 second",
    "seen_at": f"{STARTED} + interval 30 second",
    "digest": "i",
    "revisions": "0",
}
TURN = {
    "session_id": "'session-' || (i // 10)",
    "turn_id": "printf('%032x', i)",
    "turn_index": "i % 10",
    "start_at": STARTED,
    "idle_gap_s": "case when i % 10 > 0 then (i % 400)::double end",
    "observations": "1",
}
EXPECTED = {
    "name": "expected",
    "kind": "BOOLEAN",
    "value": "(hash(i, 1) % 100 < 80)::int::double",
    "probability": "1",
}
JUDGE = {
    "name": "judge",
    "kind": "NUMERIC",
    "value": "(hash(i, 2) % 100)::double / 100",
    "probability": "0.1",
}
EVALUATORS = (
    EvaluatorSettings(score="expected", kind="keyword"),
    EvaluatorSettings(score="judge", kind="judge", pass_at=0.3),
)


def fill(path: Path) -> None:
    """Make a cache of all rows; nobody may have it open."""
    Store(path).close()
    with duckdb.connect(str(path)) as connection:
        _insert(connection, "observations", OBSERVATION)
        _insert(connection, "turns", TURN)
        for made, chosen in ((EXPECTED, "true"), (JUDGE, "hash(i // 10) % 10 = 0")):
            row = {column: value.format(**made) for column, value in SCORE.items()}
            _insert(connection, "scores", row, where=chosen)
        connection.execute(
            "insert into sources (source, state, checked_at, read_to) "
            "values ('langfuse', 'following', to_timestamp($end), to_timestamp($end))",
            {"end": END},
        )


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, str], where: str = "true"
) -> None:
    connection.execute(
        f"insert into {table} ({', '.join(row)}) select {', '.join(row.values())} "  # noqa: S608 - our own
        f"from range({REQUESTS}) rows(i) where {where} order by i"
    )


class Timed(Reader):
    """A reader that notes the wall seconds of its queries, and of the tables they share."""

    spent: ClassVar[dict[str, float]] = {}

    def columns(self, name: str, params: Mapping[str, Any]) -> Any:
        for source in cache_queries()[name].reads:
            with self.noted(source):
                self._make(source, params)
        with self.noted(name):
            return super().columns(name, params)

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - begun


def main() -> None:
    """Fill, build for every window, print."""
    home = Path(tempfile.mkdtemp())
    fill(home / "cache.duckdb")
    store = Store(home / "cache.duckdb")
    core.cache.store.Reader = Timed  # type: ignore[misc]
    print(f"{REQUESTS / 1e6:.0f} M requests, {store.path.stat().st_size / 1e6:.0f} MB")
    for words, length in WINDOWS.items():
        for score, by in (
            ("expected", Dimension.CACHED_RATIO),
            ("judge", Dimension.CACHED_RATIO),
            ("expected", Dimension.IDLE_GAP),
        ):
            kind = "NUMERIC" if score == "judge" else "BOOLEAN"
            question = Question(series=f"{score}|{score}|1|{kind}", by=by, evaluators=EVALUATORS)
            Timed.spent.clear()
            cpu, wall = time.process_time(), time.perf_counter()
            view = build(store, Scope(start=END - length, end=END), END, question)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if view.answer is None:
                raise RuntimeError("no score was found")
            most = sorted(Timed.spent.items(), key=lambda one: -one[1])[:3]
            print(
                f"{words:12s} {score:9s} by {by:13s} "
                f"{view.answer.total.tally.requests:9,d} requests: {cpu:5.1f} s CPU, "
                f"{wall:5.1f} s wall (target {TARGET_S:.0f}); "
                + ", ".join(f"{name} {spent:.1f} s" for name, spent in most),
                flush=True,
            )
    store.close()
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
