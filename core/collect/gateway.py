"""Counters of LiteLLM proxies in a slice: counted per series, summed per deployment.

A proxy splits its counters by user, team and key, and makes a series only at its
first value. Increases are taken of each such series alone, since a proxy may drop
single ones, and then added up to what is written: deployment, model and provider.
Labels that name people leave this module only as part of a hash.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa

from core.cache.inbox import rows
from core.collect.batch import counter_table
from core.collect.changes import duplicate_places, place_key, place_of
from core.collect.scrapes import DEFAULT_INTERVAL_S, Scrapes
from core.collect.slices import (
    NAMES,
    Block,
    Keyed,
    KeyedSeries,
    build_block,
    gather,
    join_duplicates,
    last_samples,
    named,
    target_of,
)
from core.collect.state import MEMORY_S, EngineTarget, ProxyMemory, Sample, State
from core.config import Settings
from core.domain.counters import CounterCells, begin_anew, counter_cells, counter_steps, sum_cells
from core.domain.records import Bools, EngineLabels, Floats, Ints, RawSeries, stable_id

DIMENSIONS = {
    "deployment": "model_id",
    "model_name": "model",
    "requested_model": "requested_model",
    "provider": "api_provider",
}
"""Column and the proxy's label of it: all that is kept of the proxy's own labels."""
UNSAID = ("", "None")
"""What a proxy writes where it does not know."""
MISSED_INTERVALS = 1.5
"""Neighbouring samples this many intervals apart have a scrape between them."""


@dataclass(frozen=True)
class GatewayCounts:
    """Rows and memory of the proxies of one slice."""

    cells: pa.Table
    series: pa.Table
    block: Block
    last: dict[int, Sample]
    proxies: dict[str, ProxyMemory]
    since: float
    """From when on proxies were read: of scrapes before, nobody knows what they showed."""


def jobs_of_unmet(samples: Iterable[RawSeries], state: State, settings: Settings) -> set[str]:
    """Scrape jobs of proxies that the state does not know: nobody asked for their `up` yet."""
    met = {memory.target for memory in state.proxies.values()}
    return {
        series.labels["job"]
        for series in named(samples, gateway=True)
        if "job" in series.labels and target_of(series.labels, settings) not in met
    }


def key_gateway(raw: Iterable[RawSeries], up: Iterable[RawSeries], settings: Settings) -> Keyed:
    """Key the series of proxies by their address and the labels the proxy itself gave.

    Labels that `up` of the same address carries came from the scraper: with them a
    changed scrape label would look like new series, and a second scrape job like
    another proxy.
    """
    scraper: dict[tuple[str | None, str | None], set[tuple[str, str]]] = defaultdict(set)
    for one in up:
        scraper[one.labels.get("job"), one.labels.get("instance")].update(one.labels.items())
    return gather(
        [
            _keyed(one, scraper[one.labels.get("job"), one.labels.get("instance")], settings)
            for one in named(raw, gateway=True)
        ]
    )


def _keyed(series: RawSeries, scraper: set[tuple[str, str]], settings: Settings) -> KeyedSeries:
    target = target_of(series.labels, settings)
    names = settings.labels
    placed = {"__name__", "job", "instance", *settings.replica_labels}
    placed |= {names.cluster, names.namespace, names.pod}
    own = sorted(pair for pair in series.labels.items() - scraper if pair[0] not in placed)
    return KeyedSeries(
        raw=series,
        name=NAMES[series.labels["__name__"]],
        exported_name=series.labels["__name__"],
        engine=EngineLabels(target.cluster, target.namespace, target.pod, None, None),
        target=target,
        label=str(stable_id("proxy", own)),
        le=None,
    )


def count_gateway(keyed: Keyed, state: State, scrapes: Scrapes, *, settle_to: int) -> GatewayCounts:
    """Count the increases of proxies and add them up per deployment.

    A proxy scraped under two addresses counts once, as an engine does.
    """
    duplicates = duplicate_places(keyed.series, state.proxies)
    places = _seen(keyed.series, state, duplicates)
    series = [
        *join_duplicates(
            keyed.series, {place: places[first].target for place, first in duplicates.items()}
        ),
        *(key for key in keyed.series if key.place in duplicates),
    ]
    block = build_block(series, state.last, counters=True)
    since = state.settled if state.proxies_since is None else state.proxies_since
    sums = [written_id(key) for key in series]
    written: dict[int, list[KeyedSeries]] = defaultdict(list)
    for series_id, key in zip(sums, series, strict=True):
        written[series_id].append(key)
    cells = _cells(block, state, scrapes, since=since)
    ids, number = np.unique(np.array(sums, dtype=np.int64), return_inverse=True)
    summed = sum_cells(cells, number)
    repeats = np.array([written[i][0].place in duplicates for i in ids.tolist()], dtype=bool)
    return GatewayCounts(
        cells=counter_table(summed, ids[summed.series], repeats[summed.series]),
        series=_series_rows(written, state),
        block=block,
        last=last_samples(series, settle_to),
        proxies=_remembered(places, series, settle_to),
        since=since,
    )


def _cells(block: Block, state: State, scrapes: Scrapes, *, since: float) -> CounterCells:
    """Cells of every series alone, what it began with included."""
    begun = _begun(block, state, scrapes)
    begun[begun < since] = np.nan
    steps = begin_anew(block.samples, counter_steps(block.samples), since=begun)
    interval = [scrapes.interval_s(key.place[1]) or DEFAULT_INTERVAL_S for key in block.keys]
    return counter_cells(block.samples, steps, scrape_interval_s=np.array(interval, dtype=float))


def written_id(key: KeyedSeries) -> int:
    """Key in the cache of the sum that a proxy's series is part of."""
    return stable_id("gateway", key.place[1], key.instrument_key, *dimensions(key).values())


def dimensions(key: KeyedSeries) -> dict[str, str | None]:
    """What is kept of a proxy's labels.

    Prometheus renames a label of the proxy to `exported_...` where the scraper
    has one of the same name.
    """
    labels = key.raw.labels
    found = {
        column: labels.get(f"exported_{label}", labels.get(label))
        for column, label in DIMENSIONS.items()
    }
    return {column: None if value in UNSAID else value for column, value in found.items()}


def _begun(block: Block, state: State, scrapes: Scrapes) -> Floats:
    """For every sample that begins a series the time of the scrape before it; else NaN."""
    since = np.full(block.samples.time.size, np.nan)
    counters: dict[tuple[EngineTarget, str], list[int]] = defaultdict(list)
    for i, key in enumerate(block.keys):
        counters[key.place, key.instrument_key].append(i)
    for (place, instrument), series in counters.items():
        memory = state.proxies.get(place_key(place))
        newest = None if memory is None else memory.newest.get(instrument)
        mine = np.flatnonzero(np.isin(block.samples.series, series))
        since[mine] = _begun_of(block, mine, scrapes, place[1], newest)
    since[block.rejected[block.samples.series] > 0] = np.nan
    return since


def _begun_of(
    block: Block, mine: Ints, scrapes: Scrapes, target: int, newest: float | None
) -> Floats:
    """The same for one instrument of one proxy; `newest` is its newest scrape before the slice.

    A series begins with a sample whose scrape follows a successful one that did not
    show it: at its birth, or after the proxy restarted or dropped it. Where one scrape
    replaced all series by others they were relabelled: nothing began.
    """
    series, time = block.samples.series[mine], block.samples.time[mine]
    before, answered = scrapes.before_each(target, time)
    again = np.zeros(time.size, dtype=bool)
    again[1:] = series[1:] == series[:-1]
    begun = block.samples.counted[mine] & answered
    begun &= ~again | _missed(time, before, scrapes, target)
    shown = time if newest is None else np.append(time, newest)
    replaced = (_count(shown, time) == _count(time[begun], time)) & (_count(shown, before) > 0)
    return np.where(begun & ~replaced, before, np.nan)


def _missed(time: Floats, before: Floats, scrapes: Scrapes, target: int) -> Bools:
    """Whether the scrape before a sample lies after the sample before it in its series.

    Only where samples and `up` carry the same times: deduplicated storage may take
    them from different scrapers, and then nothing can be said.
    """
    missed = np.zeros(time.size, dtype=bool)
    gap = np.diff(time)
    interval = scrapes.interval_s(target) or DEFAULT_INTERVAL_S
    missed[1:] = (before[1:] > time[:-1]) & (gap > MISSED_INTERVALS * interval)
    return missed & np.isin(time, scrapes.times(target, since=-np.inf))


def _count(times: Floats, at: Floats) -> Ints:
    """How many of `times` equal each of `at`."""
    order = np.sort(times)
    return np.searchsorted(order, at, side="right") - np.searchsorted(order, at, side="left")


def _seen(
    series: Iterable[KeyedSeries],
    state: State,
    duplicates: Mapping[EngineTarget, EngineTarget],
) -> dict[EngineTarget, ProxyMemory]:
    """Every known proxy at its address, those of the slice up to date."""
    places = {place_of(key): memory for key, memory in state.proxies.items()}
    for key in series:
        before = places.get(key.place)
        begun = float(key.raw.times[0])
        places[key.place] = ProxyMemory(
            labels=key.engine,
            target=key.target,
            first_at=begun if before is None else min(before.first_at, begun),
            last_at=float(key.raw.times[-1]) if before is None else before.last_at,
            duplicate_of=duplicates[key.place][1] if key.place in duplicates else None,
            newest={} if before is None else before.newest,
        )
    return places


def _remembered(
    places: Mapping[EngineTarget, ProxyMemory], series: Sequence[KeyedSeries], settle_to: int
) -> dict[str, ProxyMemory]:
    """Proxies as of `settle_to`: nothing of the unsettled part enters."""
    newest: dict[EngineTarget, dict[str, float]] = defaultdict(dict)
    for key in series:
        settled = key.raw.times[key.raw.times < settle_to]
        if settled.size:
            of = newest[key.place]
            at = float(settled[-1])
            of[key.instrument_key] = max(at, of.get(key.instrument_key, at))
    remembered = {}
    for place, memory in places.items():
        shown = memory.newest | newest[place]
        last_at = max(shown.values(), default=memory.first_at)
        if memory.first_at < settle_to and settle_to - last_at <= MEMORY_S:
            remembered[place_key(place)] = msgspec.structs.replace(
                memory, last_at=last_at, newest=shown
            )
    return remembered


def _series_rows(written: Mapping[int, Sequence[KeyedSeries]], state: State) -> pa.Table:
    """Sums with a series that the state did not know."""
    return rows(
        "gateway_series",
        [
            {
                "series_id": series_id,
                "instrument": keys[0].instrument_key,
                "exported_name": keys[0].exported_name,
                "cluster": keys[0].target.cluster,
                "namespace": keys[0].target.namespace,
                "proxy": keys[0].target.pod,
                "job": keys[0].target.job,
                "instance": keys[0].target.instance,
                **dimensions(keys[0]),
            }
            for series_id, keys in written.items()
            if any(key.series_id not in state.last for key in keys)
        ],
    )
