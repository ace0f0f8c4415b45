"""Engines with counters of preemptions and requests beside them, cell by cell."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.domain.records import stable_id
from core.domain.windows import PreemptCell
from tests.pages.homes import Tables, at, leave

T0 = 1_790_000_100
"""Start of a window of 300 s."""
INTERVAL_S = 15.0


@dataclass(frozen=True)
class Counted:
    """One engine whose `num_preemptions` has these minute cells."""

    pod: str
    cells: tuple[PreemptCell, ...]
    model: str = "small"
    engine: str = "0"
    interval_s: float | None = INTERVAL_S
    first_at: float = T0 - 86_400.0
    gone_at: float | None = None

    @property
    def engine_id(self) -> int:
        """Its key."""
        return stable_id("engine", self.pod, self.engine)

    @property
    def tables(self) -> Tables:
        """Rows of all its tables."""
        place = {"engine_id": self.engine_id, "target_id": stable_id("target", self.pod)}
        series_id = stable_id("series", self.engine_id)
        gone = None if self.gone_at is None else at(self.gone_at)
        return {
            "engines": [
                {
                    "engine_id": self.engine_id,
                    "cluster": "east",
                    "namespace": "prod",
                    "pod": self.pod,
                    "model_name": self.model,
                    "engine": self.engine,
                }
            ],
            "targets": [
                {
                    "first_at": at(self.first_at),
                    "last_at": at(T0 + 3600),
                    "gone_at": gone,
                    "job": "vllm",
                    "instance": f"{self.pod}:8000",
                    "scrape_interval_s": self.interval_s,
                    "up": True,
                    **place,
                }
            ],
            "series": [
                {
                    "series_id": series_id,
                    "instrument": "num_preemptions",
                    "exported_name": "vllm:num_preemptions_total",
                    **place,
                }
            ],
            "counter_cells": [
                {
                    "series_id": series_id,
                    "minute": at(cell.minute),
                    "increase": cell.increase,
                    "gap_increase": cell.gap_increase,
                    "samples": cell.samples,
                    "resets": 0,
                    "covered_s": 60.0,
                    "largest_gap_s": cell.largest_gap_s,
                    "first_at": at(cell.first_at),
                    "last_at": at(cell.last_at),
                    "duplicate": False,
                }
                for cell in self.cells
            ],
        }


def steady(
    first: int,
    minutes: int,
    *,
    events: dict[int, float] | None = None,
    without: tuple[int, ...] = (),
) -> tuple[PreemptCell, ...]:
    """Minutes of four scrapes each from `T0 + 60 * first` on; `events` by minute."""
    told = {} if events is None else events
    return tuple(
        PreemptCell(
            T0 + 60 * i,
            told.get(i, 0.0),
            0.0,
            4,
            INTERVAL_S,
            T0 + 60.0 * i,
            T0 + 60.0 * i + 45.0,
        )
        for i in range(first, first + minutes)
        if i not in without
    )


@dataclass
class Written:
    """A cache of its own, filled with what is written."""

    folder: Path
    tables: Tables = field(default_factory=dict)

    def add(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        """More rows."""
        for name, found in tables.items():
            self.tables.setdefault(name, []).extend(found)

    def opened(self) -> Store:
        """The cache with all rows in it."""
        leave(self.folder, {name: found for name, found in self.tables.items() if found})
        store = Store(self.folder / "cache.duckdb")
        assert store.merge_waiting(Inbox(self.folder / "inbox")) == 1
        return store
