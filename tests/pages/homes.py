"""Data folders in a known state: filled by the demo, or written engine by engine."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.catalogue import ENGINE_INSTRUMENTS, Kind
from core.collect.collectors import DemoCollector
from core.collect.follow import SOURCE
from core.collect.requests.follow import LangfuseCollector
from core.collect.requests.scan import RequestState
from core.collect.state import State, StateFile
from core.config import Settings
from core.demo import HISTORY_S, demo_langfuse, demo_source, evaluators_of, fleet_epoch
from core.domain.records import stable_id
from core.domain.scope import iso_minute

T0 = 1_790_000_040
"""First minute of what is written by hand."""
MINUTES = 10
SCRAPE_S = 15.0
REQUESTS_S = 900.0
"""How much of the demo's request side is read: all of it takes a minute."""
Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Filled:
    """A data folder with a fleet's whole history in its cache."""

    folder: Path
    epoch: int

    def copy_to(self, folder: Path) -> Path:
        """The same data elsewhere."""
        return Path(shutil.copytree(self.folder, folder))

    def window(self, first_minute: int = 180, last_minute: int = 360) -> dict[str, str]:
        """URL parameters of some minutes of the fleet's life: all of its second story cycle."""
        return window(self.epoch + first_minute * 60, self.epoch + last_minute * 60)


def window(start: float, end: float) -> dict[str, str]:
    """URL parameters of a fixed period."""
    return {"from": iso_minute(start), "to": iso_minute(end)}


WRITTEN = window(T0, T0 + MINUTES * 60)
"""URL parameters of the period of what is written by hand."""


def fill_from_demo(folder: Path, *, now: float) -> Filled:
    """Let the real collector read the demo up to `now`, and merge it."""
    settings = Settings(
        prometheus_url=None, data_dir=folder, backfill_days=HISTORY_S / 86_400, collector=False
    )
    inbox = Inbox(settings.home / "inbox")
    collector = DemoCollector(
        settings,
        demo_source(settings, clock=lambda: now),
        inbox,
        StateFile(settings.home / "collectors" / f"{SOURCE}.state", State),
        clock=lambda: now,
    )
    while collector.step():
        pass
    requests = LangfuseCollector(
        settings.model_copy(update={"evaluators": evaluators_of(settings)}),
        demo_langfuse(settings, clock=lambda: now),
        inbox,
        StateFile(settings.home / "collectors" / "langfuse.state", RequestState),
        clock=lambda: now,
    )
    requests.collect_range(now - REQUESTS_S, now)
    _merge(settings.home)
    return Filled(folder, fleet_epoch(settings, now))


def put(home: Path, tables: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Leave a batch of rows in a home that no app holds, and merge it."""
    leave(home, tables)
    _merge(home)


def leave(home: Path, tables: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Leave a batch of rows in the inbox of a home."""
    Inbox(home / "inbox").write("test", {t: rows(t, list(found)) for t, found in tables.items()})


def _merge(home: Path) -> None:
    store, inbox = Store(home / "cache.duckdb"), Inbox(home / "inbox")
    waiting = len(inbox.waiting())
    try:
        assert store.merge_waiting(inbox) == waiting
    finally:
        store.close()


def at(seconds: float) -> datetime:
    """A moment as the cache keeps it."""
    return datetime.fromtimestamp(seconds, UTC)


def source_row(state: str, *, checked: float, **more: Any) -> Tables:
    """How Prometheus stands, as the collector reports it."""
    return {"sources": [{"source": SOURCE, "state": state, "checked_at": at(checked), **more}]}


@dataclass(frozen=True)
class WrittenEngine:
    """One engine with the same increase of its counters in every minute.

    `per_minute` holds instrument -> tokens or events a minute; what is in
    neither `per_minute` nor `renamed` is not exported.
    """

    pod: str
    per_minute: Mapping[str, float] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    model: str = "small"
    namespace: str = "prod"
    cluster: str = "east"
    scrapes: int = 4

    @classmethod
    def sound(cls, pod: str, **more: Any) -> Self:
        """An engine that hits half of what it looks up."""
        tokens = {
            "prefix_cache_queries": 1000.0,
            "prefix_cache_hits": 500.0,
            "prompt_tokens": 1000.0,
            "prompt_tokens_cached": 500.0,
            "num_preemptions": 1.0,
        }
        return cls(pod, per_minute=tokens, **more)

    @property
    def tables(self) -> Tables:
        """Rows of all its tables."""
        engine_id = stable_id("engine", self.cluster, self.namespace, self.pod)
        place = {"engine_id": engine_id, "target_id": stable_id("target", self.pod)}
        last = at(T0 + MINUTES * 60 - 1)
        series = {
            key: {
                "series_id": stable_id("series", engine_id, key),
                "instrument": key,
                "exported_name": ENGINE_INSTRUMENTS[key].names[0],
                **place,
            }
            for key in self.per_minute
        }
        return {
            "engines": [
                {
                    "engine_id": engine_id,
                    "cluster": self.cluster,
                    "namespace": self.namespace,
                    "pod": self.pod,
                    "model_name": self.model,
                    "engine": "0",
                }
            ],
            "targets": [
                {
                    "first_at": at(T0 - 3600),
                    "last_at": last,
                    "job": "vllm",
                    "instance": "10.0.0.1:8000",
                    "scrape_interval_s": SCRAPE_S,
                    "up": True,
                    **place,
                }
            ],
            "series": list(series.values()),
            "exports": [
                {"instrument": key, "checked_at": last, **place, **self._export(key)}
                for key, instrument in ENGINE_INSTRUMENTS.items()
                if instrument.kind is not Kind.INFO
            ],
            "counter_cells": [
                self._cell(int(one["series_id"]), minute, self.per_minute[key])
                for key, one in series.items()
                for minute in range(T0, T0 + MINUTES * 60, 60)
            ],
        }

    def _export(self, key: str) -> dict[str, str | None]:
        if key in self.per_minute:
            return {"state": "exported", "exported_name": ENGINE_INSTRUMENTS[key].names[0]}
        if key in self.renamed:
            return {"state": "renamed", "exported_name": self.renamed[key]}
        return {"state": "not_exported", "exported_name": None}

    def _cell(self, series_id: int, minute: int, increase: float) -> dict[str, Any]:
        known = self.scrapes > 1
        return {
            "series_id": series_id,
            "minute": at(minute),
            "samples": self.scrapes,
            "resets": 0,
            "covered_s": SCRAPE_S * self.scrapes if known else 0.0,
            "largest_gap_s": SCRAPE_S if known else None,
            "increase": increase if known else None,
            "gap_increase": 0.0 if known else None,
            "first_at": at(minute + 7),
            "last_at": at(minute + 52),
            "duplicate": False,
        }


def together(*engines: WrittenEngine) -> Tables:
    """Rows of several engines in one batch."""
    tables: Tables = {}
    for engine in engines:
        for name, found in engine.tables.items():
            tables.setdefault(name, []).extend(found)
    return tables
