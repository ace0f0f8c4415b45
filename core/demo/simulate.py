"""Samples of the simulated fleet, one story cycle at a time.

Everything follows from the seed, the epoch and the cycle's number; counters are
running sums of what each scrape interval added. No queries here, and no clock.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from core.demo.completed import completed_increments, generated_tokens
from core.demo.configuration import configuration_labels
from core.demo.exports import Measured, Name, first_token_increments, gauges, token_increments
from core.demo.fleet import CYCLE_S, FLEET, Engine
from core.demo.residency import Past, handed_out, residency_increments
from core.demo.traffic import EngineCycle, engine_cycle
from core.domain.records import Bools, Floats, RawSeries

KEPT_CYCLES = 9
"""Older cycles are forgotten, as a server forgets what is beyond its retention."""

Labels = frozenset[tuple[str, str]]
Cycle = dict[Labels, RawSeries]


class Simulation:
    """The fleet's samples since its epoch, made when first asked for."""

    def __init__(self, *, seed: int, epoch: float) -> None:
        self._seed = seed
        self._epoch = epoch
        self._cycles: dict[int, Cycle] = {}
        self._made = 0
        self._totals: dict[Engine, dict[Name, float]] = {engine: {} for engine in FLEET}
        self._past: dict[Engine, Past] = {}

    def samples(
        self, wanted: Callable[[Mapping[str, str]], bool], start: float, end: float
    ) -> list[RawSeries]:
        """Samples with start <= time <= end of the series whose labels are wanted."""
        first = max(0, int((start - self._epoch) // CYCLE_S))
        last = int((end - self._epoch) // CYCLE_S)
        pieces: dict[Labels, list[RawSeries]] = defaultdict(list)
        self._make_until(last)
        for number in range(first, last + 1):
            for labels, series in self._cycles.get(number, {}).items():
                if wanted(series.labels) and (piece := _between(series, start, end)):
                    pieces[labels].append(piece)
        return [_joined(parts) for parts in pieces.values()]

    def _make_until(self, last: int) -> None:
        while self._made <= last:
            self._cycles[self._made] = self._make(self._made)
            self._cycles.pop(self._made - KEPT_CYCLES, None)
            self._made += 1

    def _make(self, number: int) -> Cycle:
        cycle: Cycle = {}
        for place in range(len(FLEET)):
            made = engine_cycle(place, number, seed=self._seed, epoch=self._epoch)
            for series in self._engine_series(made):
                cycle[frozenset(series.labels.items())] = series
        return cycle

    def _engine_series(self, made: EngineCycle) -> list[RawSeries]:
        engine, elapsed, at = made.engine, made.elapsed, made.at
        down = engine.restart.covers(elapsed)
        scraped = ~engine.scrape_gap.covers(elapsed)
        shown = scraped & ~down
        times = at[shown]
        counters = self._counters(made, down)
        series = [
            RawSeries(_labels(engine, name), times, values[shown].astype(float))
            for name, values in {**counters, **gauges(engine.model, made.traffic, made.rng)}.items()
        ]
        series += _configurations(engine, elapsed, at, shown)
        series += _resets(engine, elapsed, at, shown)
        up = {"__name__": "up"} | engine.target_labels
        return [*series, RawSeries(up, at[scraped], (~down[scraped]).astype(float))]

    def _counters(self, made: EngineCycle, down: Bools) -> Measured:
        engine, traffic = made.engine, made.traffic
        (own,) = made.rng.spawn(1)
        increments = {
            **token_increments(traffic, made.rng),
            **first_token_increments(engine.model, traffic, made.rng),
            **self._further(made, down, own),
        }
        counters = _running_totals(increments, self._totals[engine], down)
        self._totals[engine] = {name: float(values[-1]) for name, values in counters.items()}
        return counters

    def _further(self, made: EngineCycle, down: Bools, rng: np.random.Generator) -> Measured:
        """What needs to know the cycle before; drawn apart, so that it changes nothing else."""
        engine, traffic = made.engine, made.traffic
        past = self._past.get(engine)
        before = None if past is None else past.traffic
        generated = generated_tokens(engine, traffic, before, down, rng)
        blocks = handed_out(traffic, generated, past)
        self._past[engine] = Past(traffic, made.elapsed, blocks)
        return {
            Name("vllm:generation_tokens_total"): generated,
            **completed_increments(engine, traffic, before, down, rng),
            **residency_increments(made, blocks, past, down, rng),
        }


def _labels(engine: Engine, name: Name) -> dict[str, str]:
    own = {name.label: name.value} if name.label else {}
    return {"__name__": name.metric} | engine.labels | own


def _configurations(engine: Engine, elapsed: Floats, at: Floats, shown: Bools) -> list[RawSeries]:
    """`cache_config_info`: one series for every configuration the engine had."""
    restarts = engine.restart.times_begun(elapsed)
    found = []
    for count in np.unique(restarts[shown]):
        times = at[shown & (restarts == count)]
        labels = configuration_labels(engine, restarts=int(count))
        labels = {"__name__": "vllm:cache_config_info"} | labels
        found.append(RawSeries(labels, times, np.ones(times.size)))
    return found


def _resets(engine: Engine, elapsed: Floats, at: Floats, shown: Bools) -> list[RawSeries]:
    """Calls of `/reset_prefix_cache` at the API server: a series born with the first call."""
    called = engine.reset.times_begun(elapsed)
    there = shown & (called > 0)
    if not there.any():
        return []
    own = {"handler": "/reset_prefix_cache", "method": "POST", "status": "2xx"}
    labels = {"__name__": "http_requests_total"} | engine.target_labels | own
    return [RawSeries(labels, at[there], called[there])]


def _running_totals(
    increments: Measured, before: Mapping[Name, float], down: Bools
) -> dict[Name, Floats]:
    """Counters at every scrape; they begin again at zero where the engine went down."""
    fell = int(np.argmax(down)) if down.any() else None
    totals = {}
    for name, added in increments.items():
        total = before.get(name, 0.0) + np.cumsum(added, dtype=float)
        if fell is not None:
            total[fell:] -= total[fell - 1]
        totals[name] = np.round(total, 6)
    return totals


def _between(series: RawSeries, start: float, end: float) -> RawSeries | None:
    low = int(series.times.searchsorted(start, "left"))
    high = int(series.times.searchsorted(end, "right"))
    if low == high:
        return None
    return RawSeries(series.labels, series.times[low:high], series.values[low:high])


def _joined(pieces: list[RawSeries]) -> RawSeries:
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([piece.times for piece in pieces])
    return RawSeries(pieces[0].labels, times, np.concatenate([piece.values for piece in pieces]))
