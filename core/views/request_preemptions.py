"""How often finished requests were preempted, by engine, where the histogram is exported."""

from collections import defaultdict
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.request_preemptions import Between, request_preemptions, together
from core.domain.request_preemptions import RequestPreemptions as Split
from core.views.fleet import Fleet, query_params

INSTRUMENT = "request_num_preemptions"


@dataclass(frozen=True)
class PreemptedLine:
    """One engine, or all that export the histogram.

    What the buckets tell is None where a server has other edges, or where they contradict
    the sum.
    """

    name: str
    requests: float | None
    mean: Reading
    two_or_more: Reading | None
    exactly_one: Between | None
    any: Between | None


@dataclass(frozen=True)
class PreemptedRequests:
    """All engines that export the histogram together, and each engine in scope."""

    all: PreemptedLine
    engines: tuple[PreemptedLine, ...]
    silent: tuple[str, ...]
    """Engines that do not export it."""


@dataclass(frozen=True)
class _Sums:
    requests: float | None
    preemptions: float | None
    split: Split | None


def preempted_requests(store: Store, fleet: Fleet) -> PreemptedRequests:
    """Read the histogram of every engine in scope."""
    params = query_params(fleet.scope, fleet.window)
    buckets: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in store.read("request_preemption_buckets", params):
        empty = row.requests is None
        buckets[row.engine_id].append((row.le, 0.0 if empty else row.requests))
    sums = {
        row.engine_id: _Sums(row.requests, row.preemptions, _split(row, buckets[row.engine_id]))
        for row in store.read("request_preemptions", params)
        if row.requests is not None
    }
    lines = {
        one.engine_id: _line(
            one.name,
            sums.get(one.engine_id),
            fleet.absent(INSTRUMENT, engines={one.engine_id}),
        )
        for one in fleet.engines
    }
    return PreemptedRequests(
        all=_line("", _added(list(sums.values())), fleet.absent(INSTRUMENT)),
        engines=tuple(lines.values()),
        silent=tuple(
            line.name for line in lines.values() if line.mean.reason is Reason.NOT_EXPORTED
        ),
    )


def _split(row: Row, buckets: list[tuple[float, float]]) -> Split | None:
    if row.preemptions is None:
        return None
    return request_preemptions(buckets, row.preemptions)


def _added(sums: list[_Sums]) -> _Sums | None:
    """Sums of all engines; bounds only where every one of them has any."""
    if not sums:
        return None
    requests = [one.requests for one in sums if one.requests is not None]
    events = [one.preemptions for one in sums if one.preemptions is not None]
    splits = [one.split for one in sums if one.split is not None]
    return _Sums(
        sum(requests),
        sum(events) if len(events) == len(sums) else None,
        together(splits) if len(splits) == len(sums) else None,
    )


def _line(name: str, sums: _Sums | None, absent: Reason) -> PreemptedLine:
    if sums is None:
        two = Reading("requests_preempted_twice", None, absent)
        return PreemptedLine(
            name, None, Reading("mean_request_preemptions", None, absent), two, None, None
        )
    split = sums.split
    return PreemptedLine(
        name=name,
        requests=sums.requests,
        mean=ratio_of_sums(
            "mean_request_preemptions",
            sums.preemptions,
            sums.requests,
            absent=absent,
            at_most_one=False,
        ),
        two_or_more=None
        if split is None
        else Reading("requests_preempted_twice", split.two_or_more),
        exactly_one=None if split is None else split.exactly_one,
        any=None if split is None else split.any,
    )
