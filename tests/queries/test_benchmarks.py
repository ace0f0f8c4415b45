"""Benchmarks over time: pairs of valid runs on servers alike, and the changes in between."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.views.bench_history import History, load_history

AT = datetime(2026, 11, 1, tzinfo=UTC)
NOW = AT.timestamp() + 10 * 86_400
Put = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "cache.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def put(store: Store, tmp_path: Path) -> Put:
    """Write rows of some tables."""
    inbox = Inbox(tmp_path / "inbox")

    def write(**tables: list[dict[str, Any]]) -> None:
        inbox.write("test", {name: rows(name, found) for name, found in tables.items()})
        store.merge_waiting(inbox)

    return write


def job(job_id: str, day: int, **other: Any) -> dict[str, Any]:
    at = AT + timedelta(days=day)
    row = dict.fromkeys(("name", "tokenizer", "target", "plan", "digest"), "x")
    row |= {"job_id": job_id, "state": "done", "origin": "launched", "model": "m", "runs": 2}
    return row | {"created_at": at, "stored_at": at} | other


def run(
    job_id: str, *, caching: bool, day: int = 0, repeat: int = 1, **other: Any
) -> dict[str, Any]:
    row: dict[str, Any] = {"job_id": job_id, "run_id": str(caching), "caching": caching}
    row |= {"pair": "C/D", "case_name": "D" if caching else "C", "concurrency": 8, "seed": 0}
    row |= {"repeat": 1, "state": "done", "requests": 30, "verdict": "valid"}
    row |= {"ttft_median_ms": 100.0 if caching else 200.0, "config_digest": "same"}
    row |= {"hits_tokens": 90 if caching else 0, "prompt_tokens": 100}
    at = AT + timedelta(days=day)
    return row | {"started_at": at, "stored_at": at} | other


def history(store: Store, model: str | None = None) -> History:
    return load_history(store, model, NOW)


def test_a_pair_of_runs_is_one_point(store: Store, put: Put) -> None:
    """Medians OFF and ON, their ratio, and hits over prompt tokens of the ON runs."""
    put(bench_jobs=[job("a", 0)], bench_runs=[run("a", caching=c) for c in (False, True)])
    (point,) = history(store).points
    assert (point.off_ms.value, point.on_ms.value, point.ratio.value) == (200.0, 100.0, 2.0)
    assert point.hit_ratio.value == 0.9
    assert (point.at, point.by_file, point.compared) == (AT.timestamp(), False, 1)


@pytest.mark.parametrize(
    "off",
    [
        {"verdict": "partial", "ttft_median_ms": None},
        {"verdict": "failed", "ttft_median_ms": None},
        {"config_digest": "other"},
        {"repeat": 2},
        {"ttft_median_ms": None},
    ],
)
def test_what_is_no_pair_is_no_point(store: Store, put: Put, off: dict[str, Any]) -> None:
    """A run without its valid other side on a server alike gives no figure, and never 0."""
    put(
        bench_jobs=[job("a", 0)],
        bench_runs=[run("a", caching=False) | off, run("a", caching=True)],
    )
    assert history(store).points == ()


def test_missing_hits_leave_the_ratio_unknown(store: Store, put: Put) -> None:
    """A counter that nobody saw is no 0 %."""
    put(
        bench_jobs=[job("a", 0)],
        bench_runs=[run("a", caching=False), run("a", caching=True, hits_tokens=None)],
    )
    (point,) = history(store).points
    assert not point.hit_ratio.known


def test_changes_between_benchmarks_are_marked(store: Store, put: Put) -> None:
    """The lever log from the first benchmark of ours on; nothing before, none for a recording."""
    lever = {"kind": "other", "origin": "entered", "what": "block size"}
    put(
        bench_jobs=[job("r", -5, origin="recorded"), job("a", 0), job("b", 4)],
        bench_runs=[
            run(name, caching=c, day=day)
            for name, day in (("r", -5), ("a", 0), ("b", 4))
            for c in (False, True)
        ],
        levers=[
            lever | {"lever_id": n, "happened_at": AT + timedelta(days=day)}
            for n, day in enumerate((-2, 2))
        ],
    )
    found = history(store)
    assert [point.job_id for point in found.points] == ["r", "a", "b"]
    assert [change.at for change in found.changes] == [(AT + timedelta(days=2)).timestamp()]


def test_an_import_is_dated_by_its_file(store: Store, put: Put) -> None:
    """Without a runner's clock the result file's own date counts, and says so."""
    imported = {"started_at": None, "file_date": "20261103-120000"}
    put(
        bench_jobs=[job("a", 5, origin="imported")],
        bench_runs=[run("a", caching=c) | imported for c in (False, True)],
    )
    (point,) = history(store).points
    assert point.by_file
    assert point.at == datetime(2026, 11, 3, 12, tzinfo=UTC).timestamp()
    put(bench_runs=[run("a", caching=c) | imported | {"file_date": "?"} for c in (False, True)])
    (point,) = history(store).points
    assert point.at == (AT + timedelta(days=5)).timestamp()


def test_speed_of_earlier_runs_is_summed(store: Store, put: Put) -> None:
    """Tokens, seconds and match unit of valid runs of one model; without any, unknown."""
    figures = {"input_tokens": 900, "output_tokens": 100, "duration_s": 2.0, "prefill_count": 3}
    figures |= {"overhead_s": 5.0, "match_unit": 16, "hits_tokens": 30 * 16 + 1}
    put(
        bench_jobs=[job("a", 0)],
        bench_runs=[run("a", caching=c) | figures for c in (False, True)],
    )
    (found,) = store.read("bench_speed", {"of_model": "m"})
    assert (found.tokens, found.duration_s, found.overheads) == (2000, 4.0, 2)
    assert (found.hits, found.match_unit) == (1, 16)
    put(bench_runs=[run("a", caching=True) | figures | {"hits_tokens": 30 * 16}])
    (chance,) = store.read("bench_speed", {"of_model": "m"})
    assert chance.hits == 0
    (other,) = store.read("bench_speed", {"of_model": "x"})
    assert (other.tokens, other.duration_s, other.match_unit) == (None, None, None)
