"""`make perf`: what the Live page and a live merge cost as the history grows.

A cache of 64 engines is filled day by day with minute cells. After each stretch the same
one-hour window is built and one live batch is merged. Prints CPU seconds and the ratio to
the first day.
"""

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from core.cache.inbox import Inbox, columns, rows
from core.cache.store import Store
from core.catalogue import ENGINE_INSTRUMENTS
from core.domain.scope import Scope
from core.views import live

ENGINES = 64
COUNTERS = [name for name, i in ENGINE_INSTRUMENTS.items() if i.kind == "counter"] + [
    f"other_{i}" for i in range(24)
]
START = 1_796_000_040
DAYS = (1, 3, 10)
REPEATS = 5
MICROSECONDS = 1_000_000


def cells(first_minute: int, minutes: int) -> pa.Table:
    """Counter cells of every engine for some minutes."""
    per_engine = len(COUNTERS)
    ids = [e * 1000 + s for e in range(ENGINES) for s in range(per_engine)]
    series = np.repeat(np.array(ids), minutes)
    minute = START + 60 * np.tile(np.arange(first_minute, first_minute + minutes), len(ids))
    n = series.size
    return columns(
        "counter_cells",
        {
            "series_id": series,
            "minute": minute * MICROSECONDS,
            "increase": np.random.default_rng(first_minute).integers(0, 9999, n).astype(float),
            "gap_increase": np.zeros(n),
            "samples": np.full(n, 4),
            "resets": np.zeros(n, dtype=int),
            "covered_s": np.full(n, 60.0),
            "largest_gap_s": np.full(n, 15.0),
            "first_at": minute * MICROSECONDS,
            "last_at": (minute + 45) * MICROSECONDS,
            "duplicate": np.zeros(n, dtype=bool),
        },
    )


def dimensions() -> dict[str, pa.Table]:
    """The engines and their series."""
    places = range(ENGINES)
    return {
        "engines": rows(
            "engines",
            [{"engine_id": e, "namespace": "n", "pod": f"pod-{e}", "engine": "0"} for e in places],
        ),
        "targets": rows(
            "targets",
            [
                {
                    "engine_id": e,
                    "target_id": e,
                    "first_at": START * MICROSECONDS,
                    "last_at": (START + 86_400 * 30) * MICROSECONDS,
                    "up": True,
                }
                for e in places
            ],
        ),
        "series": rows(
            "series",
            [
                {
                    "series_id": e * 1000 + s,
                    "engine_id": e,
                    "target_id": e,
                    "instrument": name,
                    "exported_name": name,
                }
                for e in places
                for s, name in enumerate(COUNTERS)
            ],
        ),
    }


def cpu_s(act: Callable[[], object]) -> float:
    """Median CPU seconds of an act."""
    spent = []
    for _ in range(REPEATS):
        begun = time.process_time()
        act()
        spent.append(time.process_time() - begun)
    return statistics.median(spent)


def main() -> None:
    """Fill, build, merge, print."""
    home = Path(tempfile.mkdtemp())
    store, inbox = Store(home / "cache.duckdb"), Inbox(home / "inbox")
    inbox.write("perf", dimensions())
    filled, first = 0, None
    for days in DAYS:
        for hour in range(filled * 24, days * 24):
            inbox.write("perf", {"counter_cells": cells(hour * 60, 60)})
        store.merge_waiting(inbox)
        filled = days
        now = START + days * 86_400.0

        def merge(minute: int = days * 1440) -> None:
            inbox.write("perf", {"counter_cells": cells(minute - 2, 2)})
            store.merge_waiting(inbox)

        page = cpu_s(lambda now=now: live.build(store, Scope(range="1h"), now))
        merged = cpu_s(merge)
        first = first or (page, merged)
        long = cpu_s(lambda now=now: live.build(store, Scope(range="30d"), now))
        print(
            f"{days:3d} days ({days * 1440 * ENGINES * len(COUNTERS) / 1e6:.0f} M cells, "
            f"{store.path.stat().st_size / 1e6:.0f} MB): Live, 1 hour {page:.3f} s CPU "
            f"(ratio {page / first[0]:.2f}), live merge {merged:.3f} s CPU "
            f"(ratio {merged / first[1]:.2f}), Live, 30 days {long:.3f} s CPU"
        )
    store.close()
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
