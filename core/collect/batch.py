"""Rows of a batch: cells, dimensions and changes as Arrow tables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from core.cache.inbox import columns, rows
from core.collect.scrapes import Scrapes
from core.collect.slices import Block, KeyedSeries
from core.collect.state import EngineMemory, EngineTarget, State
from core.domain.counters import CounterCells, gauge_cells
from core.domain.histograms import bucket_increments
from core.domain.records import Bools, Change, Floats, Ints

MICROSECONDS = 1_000_000


def _repeats(
    keys: Sequence[KeyedSeries], series: Ints, duplicates: Collection[EngineTarget]
) -> Bools:
    """Which cells belong to an address that only repeats another: kept, never added up."""
    flags = np.array([key.place in duplicates for key in keys], dtype=bool)
    return flags[series]


def micros(seconds: Floats | Ints) -> Ints:
    """Seconds since the epoch to whole microseconds, as Arrow stores them."""
    return np.round(np.asarray(seconds, dtype=float) * MICROSECONDS).astype(np.int64)


def _ids(keys: Sequence[KeyedSeries], series: Ints) -> Ints:
    return np.array([key.series_id for key in keys], dtype=np.int64)[series]


def counter_rows(
    cells: CounterCells, keys: Sequence[KeyedSeries], duplicates: Collection[EngineTarget]
) -> pa.Table:
    """Cells of counters and of the count and sum of histograms."""
    whole = np.array([key.le is None for key in keys], dtype=bool)[cells.series]
    kept = replace(cells, **{name: getattr(cells, name)[whole] for name in vars(cells)})
    return counter_table(kept, _ids(keys, kept.series), _repeats(keys, kept.series, duplicates))


def counter_table(cells: CounterCells, series_id: Ints, duplicate: Bools) -> pa.Table:
    """Counter cells under given keys, one of each a cell."""
    return columns(
        "counter_cells",
        {
            "series_id": series_id,
            "minute": micros(cells.minute),
            "increase": cells.increase,
            "gap_increase": cells.gap_increase,
            "samples": cells.samples,
            "resets": cells.resets,
            "covered_s": cells.covered_s,
            "largest_gap_s": cells.largest_gap_s,
            "first_at": micros(cells.first_at),
            "last_at": micros(cells.last_at),
            "duplicate": duplicate,
        },
    )


def bucket_rows(
    block: Block, cells: CounterCells, duplicates: Collection[EngineTarget]
) -> pa.Table:
    """Cells of histogram buckets, each bucket alone, empty ones left out."""
    edges = block.edges
    buckets = ~np.isnan(edges)[cells.series]
    only = replace(cells, **{name: getattr(cells, name)[buckets] for name in vars(cells)})
    found = bucket_increments(only, histogram=block.instruments, le=edges)
    return columns(
        "bucket_cells",
        {
            "series_id": _ids(block.keys, found.series),
            "minute": micros(found.minute),
            "increase": found.increase,
            "duplicate": _repeats(block.keys, found.series, duplicates),
        },
    )


def gauge_rows(block: Block, duplicates: Collection[EngineTarget]) -> pa.Table:
    """Cells of gauges."""
    cells = gauge_cells(block.samples)
    return columns(
        "gauge_cells",
        {
            "series_id": _ids(block.keys, cells.series),
            "minute": micros(cells.minute),
            "samples": cells.samples,
            "value_sum": cells.value_sum,
            "value_min": cells.value_min,
            "value_max": cells.value_max,
            "value_last": cells.value_last,
            "last_at": micros(cells.last_at),
            "duplicate": _repeats(block.keys, cells.series, duplicates),
        },
    )


def engine_rows(seen: Mapping[EngineTarget, EngineMemory]) -> pa.Table:
    """Labels of the engines seen in the slice."""
    names = ("cluster", "namespace", "pod", "model_name", "engine")
    found = {place[0]: memory.labels.as_tuple() for place, memory in sorted(seen.items())}
    return rows(
        "engines",
        [{"engine_id": e, **dict(zip(names, labels, strict=True))} for e, labels in found.items()],
    )


def target_rows(
    places: Mapping[EngineTarget, EngineMemory],
    gone: Mapping[EngineTarget, float],
    duplicates: Mapping[EngineTarget, EngineTarget],
    scrapes: Scrapes,
) -> pa.Table:
    """Every known engine at its address, and how its scrapes stand."""
    newest = scrapes.newest
    return rows(
        "targets",
        [
            {
                "engine_id": place[0],
                "target_id": place[1],
                "job": memory.target.job,
                "instance": memory.target.instance,
                "first_at": round(memory.first_at * MICROSECONDS),
                "last_at": round(memory.last_at * MICROSECONDS),
                "gone_at": round(gone[place] * MICROSECONDS) if place in gone else None,
                "scrape_interval_s": scrapes.interval_s(place[1]),
                "up": newest[place[1]][1] == 1 if place[1] in newest else None,
                "duplicate_of": _address(places.get(duplicates[place]))
                if place in duplicates
                else None,
            }
            for place, memory in sorted(places.items())
        ],
    )


def _address(memory: EngineMemory | None) -> str:
    return f"{memory.target.job} {memory.target.instance}" if memory else "another address"


def series_rows(keys: Iterable[KeyedSeries], state: State) -> pa.Table:
    """Series that the state did not know."""
    fresh = {key.series_id: key for key in keys if key.series_id not in state.last}
    return rows(
        "series",
        [
            {
                "series_id": series_id,
                "engine_id": key.place[0],
                "target_id": key.place[1],
                "instrument": key.instrument_key,
                "label": key.label,
                "le": key.le,
                "exported_name": key.exported_name,
            }
            for series_id, key in fresh.items()
        ],
    )


def export_rows(changed: dict[str, tuple[str, str | None]], at: float) -> pa.Table:
    """Export states that changed."""
    records = []
    for key, (state, name) in sorted(changed.items()):
        engine, target, instrument = key.split("/")
        records.append(
            {
                "engine_id": int(engine),
                "target_id": int(target),
                "instrument": instrument,
                "state": state,
                "exported_name": name,
                "checked_at": round(at * MICROSECONDS),
            }
        )
    return rows("exports", records)


def configuration_rows(fresh: Mapping[EngineTarget, Mapping[str, str]], seen_at: float) -> pa.Table:
    """Newest configuration labels of engines, one row a label."""
    return rows(
        "configurations",
        [
            {
                "engine_id": place[0],
                "target_id": place[1],
                "name": name,
                "value": value,
                "seen_at": round(seen_at * MICROSECONDS),
            }
            for place, labels in fresh.items()
            for name, value in labels.items()
        ],
    )


def lever_rows(changes: Iterable[Change]) -> pa.Table:
    """Changes as rows of the lever log."""
    return rows(
        "levers",
        [
            {
                "lever_id": change.lever_id,
                "happened_at": round(change.at * MICROSECONDS),
                "kind": change.kind,
                "origin": change.origin,
                "what": change.what,
                "engine_id": change.engine_id,
                "by_whom": change.by_whom,
                "link": change.link,
            }
            for change in changes
        ],
    )
