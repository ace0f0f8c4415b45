"""Raw samples of one slice, keyed by what they measure.

`key_series` gives every series its instrument, engine and target; `SliceData`
lays their samples out in blocks. No files and no clock here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np

from core.catalogue import HISTOGRAM_PARTS, INSTRUMENTS, Instrument, Kind
from core.config import EngineLabelNames
from core.domain.counters import SampleBlock
from core.domain.records import Bools, EngineLabels, Floats, Ints, RawSeries, Target, stable_id


@dataclass(frozen=True)
class Name:
    """What an exported series name stands for."""

    instrument: Instrument
    part: str = ""
    renamed: bool = False


def names_to_read() -> dict[str, Name]:
    """Every exported name the collector asks for, old names included."""
    names: dict[str, Name] = {}
    for instrument in INSTRUMENTS.values():
        for name in instrument.series_names:
            part = _part(name) if instrument.kind is Kind.HISTOGRAM else ""
            names[name] = Name(instrument, part)
        for name in instrument.renamed:
            names[name] = Name(instrument, renamed=True)
    return names


def _part(name: str) -> str:
    return next(part for part in HISTOGRAM_PARTS if name.endswith(part))


NAMES = names_to_read()


@dataclass(frozen=True)
class KeyedSeries:
    """One raw series with the keys the cache knows it by."""

    raw: RawSeries
    name: Name
    exported_name: str
    engine: EngineLabels
    target: Target
    label: str | None
    le: float | None

    @cached_property
    def series_id(self) -> int:
        """Key of the series in the cache."""
        return stable_id(
            self.engine.engine_id, self.target.target_id, self.instrument_key, self.label, self.le
        )

    @cached_property
    def place(self) -> tuple[int, int]:
        """Keys of the engine and the target."""
        return (self.engine.engine_id, self.target.target_id)

    @property
    def instrument_key(self) -> str:
        """Instrument, and for a histogram its part: buckets keep the bare key."""
        part = "" if self.name.part == "_bucket" else self.name.part
        return self.name.instrument.key + part


def key_series(raw: Iterable[RawSeries], labels: EngineLabelNames) -> list[KeyedSeries]:
    """Key every series whose name is known; others are left out."""
    keyed = []
    for series in raw:
        exported = series.labels.get("__name__", "")
        name = NAMES.get(exported)
        if name is not None:
            keyed.append(_keyed(series, name, exported, labels))
    return keyed


def _keyed(series: RawSeries, name: Name, exported: str, labels: EngineLabelNames) -> KeyedSeries:
    own = series.labels
    engine = EngineLabels(
        cluster=own.get(labels.cluster),
        namespace=own.get(labels.namespace),
        pod=own.get(labels.pod),
        model_name=own.get(labels.model_name),
        engine=own.get(labels.engine),
    )
    edge = own.get("le") if name.part == "_bucket" else None
    return KeyedSeries(
        raw=series,
        name=name,
        exported_name=exported,
        engine=engine,
        target=Target(own.get("job"), own.get("instance")),
        label=own.get(name.instrument.label) if name.instrument.label else None,
        le=None if edge is None else edge_value(edge),
    )


def edge_value(le: str) -> float:
    """A bucket edge as a number: `le="1"` and `le="1.0"` are one edge.

    >>> edge_value("+Inf"), edge_value("1") == edge_value("1.0")
    (inf, True)
    """
    return inf if le in ("+Inf", "Inf", "inf") else float(le)


@dataclass(frozen=True)
class Block:
    """Samples of several series, the earlier neighbour of each in front.

    `rejected` counts samples per series that no counter or gauge can have
    (NaN, infinite, or a negative counter); they are left out, never repaired.
    """

    keys: Sequence[KeyedSeries]
    samples: SampleBlock
    rejected: Ints

    @property
    def instruments(self) -> Ints:
        """Number per series that all parts and edges of one histogram share."""
        numbers: dict[object, int] = {}
        return np.array(
            [
                numbers.setdefault(
                    (key.place, key.name.instrument.key, key.label)
                    if key.name.instrument.kind is Kind.HISTOGRAM
                    else key.series_id,
                    len(numbers),
                )
                for key in self.keys
            ],
            dtype=np.int64,
        )

    @property
    def edges(self) -> Floats:
        """Upper edge per series; NaN where a series is no bucket."""
        return np.array([nan if key.le is None else key.le for key in self.keys], dtype=float)


def build_block(
    keys: Sequence[KeyedSeries], earlier: Mapping[int, tuple[float, float]], *, counters: bool
) -> Block:
    """Lay samples out, with the earlier neighbour (time, value) of each series first."""
    times: list[Floats] = [np.zeros(0)]
    values: list[Floats] = [np.zeros(0)]
    counted: list[Bools] = [np.zeros(0, dtype=bool)]
    sizes = np.zeros(len(keys), dtype=np.int64)
    rejected = np.zeros(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        good = _usable(key.raw.values, counters=counters)
        before = earlier.get(key.series_id)
        if before is not None:
            times.append(np.array([before[0]]))
            values.append(np.array([before[1]]))
            counted.append(np.zeros(1, dtype=bool))
        times.append(key.raw.times[good])
        values.append(key.raw.values[good])
        counted.append(np.ones(np.count_nonzero(good), dtype=bool))
        rejected[i] = good.size - np.count_nonzero(good)
        sizes[i] = np.count_nonzero(good) + (before is not None)
    samples = SampleBlock(
        series=np.repeat(np.arange(len(keys), dtype=np.int64), sizes),
        time=np.concatenate(times),
        value=np.concatenate(values),
        counted=np.concatenate(counted),
    )
    return Block(keys, samples, rejected)


def _usable(values: Floats, *, counters: bool) -> Bools:
    finite: Bools = np.isfinite(values)
    return finite & (values >= 0) if counters else finite
