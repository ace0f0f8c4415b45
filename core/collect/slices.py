"""Raw samples of one slice, keyed by what they measure.

`key_series` gives every series its instrument, engine and target; `SliceData`
lays their samples out in blocks. No files and no clock here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan

import numpy as np

from core.catalogue import HISTOGRAM_PARTS, INSTRUMENTS, Instrument, Kind
from core.config import Settings
from core.domain.counters import SampleBlock
from core.domain.records import Bools, EngineLabels, Floats, Ints, RawSeries, Target, stable_id

Earlier = tuple[float, float]
"""Time and value of a sample before a slice."""


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
ENGINE_NAMES = {name: one for name, one in NAMES.items() if not one.instrument.gateway}
"""Names that engines export; the rest are a proxy's."""


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
        """Key of the series in the cache; an info series is told by all of its labels."""
        info = self.name.instrument.kind is Kind.INFO
        return stable_id(
            *self.place,
            self.instrument_key,
            self.label,
            self.le,
            *(sorted(self.raw.labels.items()) if info else ()),
        )

    @cached_property
    def place(self) -> tuple[int, int]:
        """Keys of the engine and the target."""
        return (self.engine.engine_id, self.target.target_id)

    @property
    def base_name(self) -> str:
        """Exported name without the part of a histogram."""
        return self.exported_name.removesuffix(self.name.part)

    @property
    def instrument_key(self) -> str:
        """Instrument, and for a histogram its part: buckets keep the bare key."""
        part = "" if self.name.part == "_bucket" else self.name.part
        return self.name.instrument.key + part


@dataclass(frozen=True)
class Keyed:
    """Series of a slice by what they measure.

    `odd` says what was left out and why, by exported name: a bucket without a
    readable edge, or series that differ only in labels nobody told us about. Of
    those one is read, since adding them up would count an engine twice.
    """

    series: tuple[KeyedSeries, ...]
    native: tuple[KeyedSeries, ...]
    odd: dict[str, str]


def key_series(raw: Iterable[RawSeries], settings: Settings) -> Keyed:
    """Key every series of an engine whose name is known; others are left out."""
    return gather([_keyed(one, settings) for one in named(raw, gateway=False)])


def named(raw: Iterable[RawSeries], *, gateway: bool) -> list[RawSeries]:
    """Series whose names are known, of proxies or of engines."""
    found = ((series, NAMES.get(series.labels.get("__name__", ""))) for series in raw)
    return [series for series, name in found if name and name.instrument.gateway == gateway]


def gather(known: Sequence[KeyedSeries]) -> Keyed:
    """One series a key: of several, those that followed each other are joined."""
    odd = {key.exported_name: "its `le` is no number" for key in known if _edgeless(key)}
    groups: dict[tuple[int, bool], list[KeyedSeries]] = {}
    for key in known:
        if key.raw.times.size and not _edgeless(key):
            groups.setdefault((key.series_id, key.name.renamed), []).append(key)
    chosen = []
    for group in groups.values():
        joined = group[0] if len(group) == 1 else _joined(group)
        if joined is None:
            joined = min(group, key=_rank)
            if len({key.exported_name for key in group}) < len(group):
                odd[joined.exported_name] = "it came twice for the same engine and target"
        chosen.append(joined)
    native = tuple(key for key in known if key.raw.native_histogram)
    return Keyed(tuple(chosen), native, odd)


def _edgeless(key: KeyedSeries) -> bool:
    return key.name.part == "_bucket" and key.le is None


def _joined(group: Sequence[KeyedSeries]) -> KeyedSeries | None:
    """One series out of several that followed each other, or None where they overlap.

    A new scrape label, or an edge written `1.0` instead of `1`, ends one series in
    Prometheus and begins another; the counter behind them is the same.
    """
    order = sorted(group, key=lambda key: float(key.raw.times[0]))
    times = np.concatenate([key.raw.times for key in order])
    if (np.diff(times) <= 0).any():
        return None
    values = np.concatenate([key.raw.values for key in order])
    raw = RawSeries(order[-1].raw.labels, times, values)
    return replace(order[-1], raw=raw)


def _rank(key: KeyedSeries) -> int:
    """Preference among the names of one instrument: the first one wins."""
    names = key.name.instrument.series_names + key.name.instrument.renamed
    return names.index(key.exported_name)


def _keyed(series: RawSeries, settings: Settings) -> KeyedSeries:
    own, labels = series.labels, settings.labels
    name = NAMES[own["__name__"]]
    return KeyedSeries(
        raw=series,
        name=name,
        exported_name=own["__name__"],
        engine=EngineLabels(
            cluster=own.get(labels.cluster),
            namespace=own.get(labels.namespace),
            pod=own.get(labels.pod),
            model_name=own.get(labels.model_name),
            engine=own.get(labels.engine),
        ),
        target=target_of(own, settings),
        label=own.get(name.instrument.label) if name.instrument.label else None,
        le=edge_value(own.get("le", "")) if name.part == "_bucket" else None,
    )


def target_of(own: Mapping[str, str], settings: Settings) -> Target:
    """The scraped address behind a series, and which of two like servers scraped it."""
    labels = settings.labels
    return Target(
        job=own.get("job"),
        instance=own.get("instance"),
        replica=next((own[name] for name in settings.replica_labels if name in own), None),
        cluster=own.get(labels.cluster),
        namespace=own.get(labels.namespace),
        pod=own.get(labels.pod),
    )


def join_duplicates(
    keys: Sequence[KeyedSeries], duplicates: Mapping[tuple[int, int], Target]
) -> list[KeyedSeries]:
    """Give the samples of repeating addresses to the address they repeat.

    Both show one counter, so their samples by time are its samples: each step of
    it is counted once, also while one of the two is not scraped.
    """
    joined = {key.series_id: key for key in keys if key.place not in duplicates}
    for key in keys:
        if key.place in duplicates and key.name.instrument.kind is not Kind.INFO:
            lent = replace(key, target=duplicates[key.place])
            mine = joined.get(lent.series_id)
            joined[lent.series_id] = lent if mine is None else _interleaved(mine, lent)
    return list(joined.values())


def _interleaved(mine: KeyedSeries, lent: KeyedSeries) -> KeyedSeries:
    times = np.concatenate([mine.raw.times, lent.raw.times])
    values = np.concatenate([mine.raw.values, lent.raw.values])
    times, first = np.unique(times, return_index=True)
    return replace(mine, raw=RawSeries(mine.raw.labels, times, values[first]))


def edge_value(le: str) -> float | None:
    """A bucket edge as a number, None where it is none: `1` and `1.0` are one edge.

    >>> edge_value("+Inf"), edge_value("1") == edge_value("1.0"), edge_value("x")
    (inf, True, None)
    """
    try:
        edge = float(le)
    except ValueError:
        return None
    return None if isnan(edge) else edge


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
    keys: Sequence[KeyedSeries], earlier: Mapping[int, Earlier], *, counters: bool
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


def last_samples(keys: Sequence[KeyedSeries], before: float) -> dict[int, Earlier]:
    """The newest usable counter sample of each series before a time."""
    found = {}
    for key in keys:
        usable = np.flatnonzero(_usable(key.raw.values, counters=True) & (key.raw.times < before))
        if usable.size:
            newest = int(usable[-1])
            found[key.series_id] = (float(key.raw.times[newest]), float(key.raw.values[newest]))
    return found
