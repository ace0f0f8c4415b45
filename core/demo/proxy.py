"""The counters that the simulated gateway's proxy exports of the requests it passed on.

It counts input tokens of whatever carries usage, its own estimates of cancelled
streams among them, and cached ones where an engine told them. A series is there
from its first value on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from core.demo.arrivals import Kind
from core.demo.fleet import CLUSTER, FLEET, SCRAPE_S, Engine
from core.demo.gateway import Gateway
from core.demo.shelf import Records
from core.domain.records import Floats, Ints, RawSeries

TARGET = {
    "cluster": CLUSTER,
    "namespace": "gateway",
    "pod": "litellm-0",
    "job": "litellm",
    "instance": "10.42.1.8:4000",
}
OFFSET_S = 4.2
DEPLOYMENTS = {
    pod: [place for place, engine in enumerate(FLEET) if engine.pod == pod]
    for pod in dict.fromkeys(engine.pod for engine in FLEET)
}
"""Places in the fleet behind each address the proxy knows."""
WITH_USAGE = (Kind.MEASURED, Kind.UNREPORTED, Kind.CANCELLED)
INPUT = "litellm_input_tokens_metric_total"
CACHED = "litellm_input_cached_tokens_metric_total"


class Proxy:
    """Samples of one proxy since the gateway's epoch."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def samples(
        self, wanted: Callable[[Mapping[str, str]], bool], start: float, end: float
    ) -> list[RawSeries]:
        """Samples with start <= time <= end of the series whose labels are wanted."""
        epoch = self._gateway.epoch
        first = max(0, int(np.ceil((start - epoch - OFFSET_S) / SCRAPE_S)))
        last = int((end - epoch - OFFSET_S) // SCRAPE_S)
        times = np.round(epoch + OFFSET_S + SCRAPE_S * np.arange(first, last + 1.0), 3)
        up = {"__name__": "up"} | TARGET
        found = [RawSeries(up, times, np.ones(times.size))] if wanted(up) and times.size else []
        chosen = [
            (places, labels)
            for places in DEPLOYMENTS.values()
            for name in (INPUT, CACHED)
            if wanted(labels := _labels(name, FLEET[places[0]]))
        ]
        if not chosen or not times.size:
            return found
        self._gateway.make_until(end)
        rows = np.concatenate(list(self._rows(end)))
        series = (_series(rows, places, labels, times) for places, labels in chosen)
        return [*found, *(one for one in series if one.times.size)]

    def _rows(self, end: float) -> Iterator[Records]:
        for part in self._gateway.rows.between(self._gateway.epoch * 1000, end * 1000):
            yield part[np.isin(part["kind"], WITH_USAGE)]


def _series(
    rows: Records, places: Sequence[int], labels: dict[str, str], times: Floats
) -> RawSeries:
    """A counter at every scrape since its first value."""
    cached = labels["__name__"] == CACHED
    told = rows["kind"] == Kind.MEASURED if cached else np.ones(rows.size, dtype=bool)
    mine = rows[np.isin(rows["place"], places) & told]
    ended = (mine["time"] + mine["took"]) / 1000
    order = np.argsort(ended, kind="stable")
    tokens: Ints = mine["cached" if cached else "prompt"][order].astype(np.int64)
    totals = np.concatenate([[0], np.cumsum(tokens)])
    values = totals[np.searchsorted(ended[order], times, side="right")]
    there = values > 0
    return RawSeries(labels, times[there], values[there].astype(float))


def _labels(name: str, engine: Engine) -> dict[str, str]:
    return {
        "__name__": name,
        **TARGET,
        "model_id": engine.pod,
        "model": engine.model.name,
        "requested_model": engine.model.name,
        "api_provider": "hosted_vllm",
    }
