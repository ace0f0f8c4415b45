"""Hours of cells: a long window tells what its minutes tell."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.named_queries import cache_queries

AT = datetime(2026, 9, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SCOPE: dict[str, Any] = dict.fromkeys(("cluster", "namespace", "model", "pod", "engine"))
WINDOW = SCOPE | {"start": AT, "end": AT + 120 * MINUTE, "bin_s": 3600}
COUNTERS = (
    "prefix_cache_queries",
    "prefix_cache_hits",
    "prompt_tokens",
    "prompt_tokens_by_source",
    "num_preemptions",
    "time_to_first_token_seconds_count",
    "request_num_preemptions_count",
    "request_num_preemptions_sum",
    "request_queue_time_seconds_count",
    "request_queue_time_seconds_sum",
    "kv_block_idle_before_evict_seconds_count",
    "kv_block_idle_before_evict_seconds_sum",
)
GAUGES = ("kv_cache_usage_perc", "num_requests_waiting")
BUCKETS = (
    "time_to_first_token_seconds",
    "request_num_preemptions",
    "kv_block_idle_before_evict_seconds",
)
PROXY = ("gateway_input_tokens", "gateway_cached_tokens")
WINDOWED = [name for name, query in cache_queries().items() if "span_s" in query.params]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "cache.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


def series_id(instrument: str, engine: int, target: int) -> int:
    return (*COUNTERS, *GAUGES, *BUCKETS, *PROXY).index(instrument) + 100 * engine + 1000 * target


def dimensions(engine: int, target: int) -> dict[str, list[dict[str, Any]]]:
    ids = {"engine_id": engine, "target_id": target}
    return {
        "engines": [{"engine_id": engine, "pod": f"pod-{engine}"}],
        "targets": [ids | {"first_at": AT, "last_at": AT + 120 * MINUTE}],
        "series": [
            ids
            | {
                "series_id": series_id(name, engine, target),
                "instrument": name,
                "exported_name": name,
                "label": "local_compute" if name.endswith("by_source") else None,
                "le": 1.0 if name in BUCKETS else None,
            }
            for name in (*COUNTERS, *GAUGES, *BUCKETS)
        ],
        "gateway_series": [
            {
                "series_id": series_id(name, engine, target),
                "instrument": name,
                "exported_name": name,
                "deployment": f"pod-{engine}",
                "requested_model": "chat",
                "instance": str(target),
            }
            for name in PROXY
        ],
    }


def cells(
    minutes: range,
    *,
    engine: int = 1,
    target: int = 1,
    duplicate: bool = False,
    amount: float = 3.0,
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {
        "counter_cells": [],
        "gauge_cells": [],
        "bucket_cells": [],
    }
    for minute in minutes:
        at = AT + minute * MINUTE
        base = {"minute": at, "duplicate": duplicate}
        seen = {"first_at": at, "last_at": at + timedelta(seconds=45)}
        increase = {"increase": amount, "gap_increase": 1.0, "largest_gap_s": 15.0 + minute}
        counts = {"samples": 4, "resets": minute % 2, "covered_s": 60.0}
        gauge = {"samples": 4, "value_sum": amount, "value_min": 0.1, "value_max": amount}
        for name in (*COUNTERS, *PROXY):
            key = {"series_id": series_id(name, engine, target)}
            found["counter_cells"].append(key | base | seen | increase | counts)
        for name in GAUGES:
            key = {"series_id": series_id(name, engine, target)}
            last = {"value_last": amount, "last_at": seen["last_at"]}
            found["gauge_cells"].append(key | base | gauge | last)
        for name in BUCKETS:
            key = {"series_id": series_id(name, engine, target)}
            found["bucket_cells"].append(key | base | {"increase": amount})
    return found


def put(inbox: Inbox, tables: dict[str, list[dict[str, Any]]]) -> None:
    inbox.write("test", {name: rows(name, records) for name, records in tables.items()})


def assert_hours_tell_what_minutes_tell(store: Store, names: list[str]) -> None:
    for name in names:
        by_minute = store.read(name, WINDOW | {"span_s": 60})
        assert by_minute, name
        assert store.read(name, WINDOW | {"span_s": 3600}) == by_minute, name


def test_hours_are_the_sum_of_their_minutes(store: Store, inbox: Inbox) -> None:
    """Two engines, two hours, in pieces and out of order: every query agrees with the minutes."""
    for engine in (1, 2):
        put(inbox, dimensions(engine, 1))
        for minutes in (range(90, 120), range(30), range(50, 90), range(30, 50)):
            put(inbox, cells(minutes, engine=engine))
    store.merge_waiting(inbox)
    assert len(WINDOWED) > 5
    assert_hours_tell_what_minutes_tell(store, WINDOWED)


def test_replaced_minutes_replace_their_hour(store: Store, inbox: Inbox) -> None:
    """Reading a period again changes its hour, and adds nothing to it."""
    put(inbox, dimensions(1, 1))
    put(inbox, cells(range(60)))
    put(inbox, cells(range(10, 20), amount=7.0))
    put(inbox, cells(range(60)))
    store.merge_waiting(inbox)
    (row,) = store.read("pressure", WINDOW | {"span_s": 3600})
    assert row.preemptions == 180.0
    assert_hours_tell_what_minutes_tell(store, WINDOWED)


def test_an_hour_of_unknowns_is_unknown(store: Store, inbox: Inbox) -> None:
    """Minutes without a pair give an hour without a sum, not an hour of zero."""
    put(inbox, dimensions(1, 1))
    found = cells(range(60))
    for cell in found["counter_cells"]:
        cell |= {"increase": None, "gap_increase": None}
    put(inbox, found)
    store.merge_waiting(inbox)
    (row,) = store.read("pressure", WINDOW | {"span_s": 3600})
    assert row.preemptions is None
    assert_hours_tell_what_minutes_tell(store, WINDOWED)


def test_duplicate_minutes_enter_no_hour(store: Store, inbox: Inbox) -> None:
    """A target that repeats another for part of an hour adds only the other part."""
    put(inbox, dimensions(1, 1))
    put(inbox, cells(range(30), duplicate=True))
    put(inbox, cells(range(30, 60)))
    store.merge_waiting(inbox)
    assert_hours_tell_what_minutes_tell(store, ["hit_ratio_by_engine", "pressure", "ttft_counts"])


def test_an_engine_that_moved_was_observed_all_hour(store: Store, inbox: Inbox) -> None:
    """Half an hour at one address and half at the next is one hour observed, not a gap."""
    for target, minutes in ((1, range(30)), (2, range(30, 60))):
        put(inbox, dimensions(1, target))
        put(inbox, cells(minutes, target=target))
    store.merge_waiting(inbox)
    (row,) = store.read("coverage_over_time", WINDOW | {"span_s": 60})
    assert row.covered_s == 3600.0
    assert_hours_tell_what_minutes_tell(store, ["coverage_over_time"])
