"""Engines and scrape targets as the newest samples show them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.catalogue import Kind
from core.collect.slices import ENGINE_NAMES, target_of
from core.config import Settings
from core.domain.coverage import names_of
from core.domain.records import EngineLabels, Floats, RawSeries, Target

CONFIGURATION = "vllm:cache_config_info"
RESIDENCY = tuple(
    f"vllm:kv_block_{name}_seconds_count" for name in ("lifetime", "idle_before_evict", "reuse_gap")
)
PROBED = tuple(n for n, name in ENGINE_NAMES.items() if name.instrument.kind is not Kind.HISTOGRAM)
FIELDS = ("pod", "model_name", "engine", "namespace", "cluster")


@dataclass(frozen=True)
class SeenEngine:
    """One engine core at one scraped address, with all of its series."""

    name: str
    target: Target
    labels: EngineLabels
    series: tuple[RawSeries, ...]

    @property
    def names(self) -> frozenset[str]:
        """Names of its series."""
        return frozenset(one.labels["__name__"] for one in self.series)

    @property
    def label_names(self) -> frozenset[str]:
        """Labels that every series has which measures something."""
        return frozenset.intersection(*(frozenset(one.labels) for one in _measuring(self.series)))

    @property
    def configuration(self) -> dict[str, str] | None:
        """Labels of its newest `vllm:cache_config_info`."""
        shown = [s for s in self.series if s.labels["__name__"] == CONFIGURATION]
        return max(shown, key=lambda one: float(one.times[-1])).labels if shown else None


@dataclass(frozen=True)
class Up:
    """A scrape target: whether its newest scrape succeeded, and how far scrapes lie apart."""

    target: Target
    up: bool
    times: Floats

    @property
    def name(self) -> str:
        """Job and address."""
        return f"{self.target.job or '?'} {self.target.instance or '?'}"

    @property
    def interval_s(self) -> float | None:
        """Median distance between scrapes; None where there were fewer than two."""
        return float(np.median(np.diff(self.times))) if self.times.size > 1 else None


def seen_engines(samples: Iterable[RawSeries], settings: Settings) -> tuple[SeenEngine, ...]:
    """Engines at their addresses; information series count to the engine of their address."""
    cores: dict[tuple[Target, str | None], list[RawSeries]] = {}
    for one in samples:
        if one.times.size:
            core = one.labels.get(settings.labels.engine)
            cores.setdefault((target_of(one.labels, settings), core), []).append(one)
    found = {place: series for place, series in cores.items() if list(_measuring(series))}
    labels = {place: _labels(place, series, settings) for place, series in found.items()}
    names = dict(zip(labels, _names(labels), strict=True))
    engines = [
        SeenEngine(names[place], place[0], labels[place], tuple(series))
        for place, series in found.items()
    ]
    return tuple(sorted(engines, key=lambda engine: engine.name))


def seen_targets(samples: Iterable[RawSeries], settings: Settings) -> tuple[Up, ...]:
    """Scrape targets with their newest outcome."""
    found = [
        Up(target_of(one.labels, settings), bool(one.values[-1] == 1), one.times)
        for one in samples
        if one.times.size
    ]
    return tuple(sorted(found, key=lambda up: up.name))


def same_place(up: Target, engine: Target) -> bool:
    """Whether a target of `up` is the address of an engine."""
    return (up.job, up.instance, up.replica) == (engine.job, engine.instance, engine.replica)


def _measuring(series: Iterable[RawSeries]) -> Iterable[RawSeries]:
    return (one for one in series if one.labels["__name__"] != CONFIGURATION)


def _labels(
    place: tuple[Target, str | None], series: Sequence[RawSeries], settings: Settings
) -> EngineLabels:
    target, core = place
    models = Counter(s.labels.get(settings.labels.model_name) for s in _measuring(series))
    model = models.most_common(1)[0][0]
    return EngineLabels(target.cluster, target.namespace, target.pod, model, core)


def _names(labels: dict[tuple[Target, str | None], EngineLabels]) -> list[str]:
    """Short names; the address where no label says the pod."""
    names = names_of(list(labels.values()))
    return [
        name if one.pod is not None else f"{place[0].instance or '?'}"
        for name, (place, one) in zip(names, labels.items(), strict=True)
    ]
