"""What Prometheus counted over a run: between its last scrape before and its first after.

Increases follow the rules of `core.domain.counters`: exact, nothing extrapolated. They span a
little more than the run, so they may hold what others sent; they never decide a verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.domain.bench.result import Counters, Scraped, ScrapeState
from core.domain.counters import SampleBlock, counter_steps, largest_covered_gap
from core.domain.records import Floats, Ints, RawSeries

NAME, UP, ENGINE = "__name__", "up", "engine"


class Around(NamedTuple):
    """Times of the scrapes of a target, Prometheus' clock; None where there is none."""

    earlier: float | None
    before: float | None
    after: float | None


def by_target(
    found: Sequence[RawSeries], start: float, end: float, *, fields: Mapping[str, str]
) -> tuple[Scraped, ...]:
    """What each target of the server's address says of a run; one target for each `up`.

    Parameters
    ----------
    found : sequence of RawSeries
        `up` and counters of every target with that address.
    start, end : float
        Of the run, seconds since the epoch by the clock of Prometheus.
    fields : mapping
        Name of a series -> field of `Counters`.

    Unknown when
    ------------
    No scrape lies close before the start or close after the end: `TOO_FEW`, no counters.

    >>> labels = {"instance": "a:1"}
    >>> times, fields = np.array([0.0, 15, 30, 45]), {"hits": "hits_tokens"}
    >>> up = RawSeries({NAME: "up"} | labels, times, np.ones(4))
    >>> hits = RawSeries({NAME: "hits"} | labels, times, np.array([5.0, 5, 7, 9]))
    >>> (one,) = by_target([up, hits], 20.0, 40.0, fields=fields)
    >>> one.state.value, one.counters.hits_tokens, one.from_at, one.to_at
    ('seen', 4.0, 15.0, 45.0)
    """
    targets = [series for series in found if series.labels.get(NAME) == UP]
    return tuple(
        _of_target(up, _of(up, found, fields), start, end, fields=fields) for up in targets
    )


def agreed(targets: Sequence[Scraped]) -> Scraped:
    """One answer of all targets with the address; they are never added up.

    Two that counted alike are one server scraped twice.

    >>> agreed(()).state.value
    'not_scraped'
    """
    if not targets:
        return Scraped(ScrapeState.NOT_SCRAPED)
    counted = [one for one in targets if one.counters is not None]
    if not counted:
        return targets[0]
    if any(one.counters != counted[0].counters for one in counted):
        return Scraped(ScrapeState.SEVERAL_TARGETS)
    return counted[0]


def _of(up: RawSeries, found: Sequence[RawSeries], fields: Mapping[str, str]) -> list[RawSeries]:
    """Counters that carry every label of the target."""
    own = {item for item in up.labels.items() if item[0] != NAME}
    return [
        series
        for series in found
        if series.labels.get(NAME) in fields and own <= series.labels.items()
    ]


def _of_target(
    up: RawSeries,
    counters: Sequence[RawSeries],
    start: float,
    end: float,
    *,
    fields: Mapping[str, str],
) -> Scraped:
    few = Scraped(ScrapeState.TOO_FEW, instance=up.labels.get("instance"))
    if up.times.size < 2 or not counters:
        return few
    interval = float(np.median(np.diff(up.times)))
    times = np.unique(np.concatenate([series.times for series in counters]))
    around = _around(times, start, end, interval_s=interval)
    few = replace(few, interval_s=interval, from_at=around.before, to_at=around.after)
    if around.before is None or around.after is None:
        return few
    whole = [s for s in counters if _is_whole(s, around.before, around.after)]
    if not whole:
        return few
    increases, resets = _increases(whole, around.before, around.after)
    inside = (times >= around.before) & (times <= around.after)
    return replace(
        few,
        state=ScrapeState.SEEN if _was_quiet(whole, around) else ScrapeState.OTHER_TRAFFIC,
        counters=_counters(counters, whole, increases, fields),
        scrapes=int(inside.sum()),
        resets=resets,
    )


def _around(times: Floats, start: float, end: float, *, interval_s: float) -> Around:
    near = float(largest_covered_gap(np.array([interval_s]))[0])
    earlier, later = times[times <= start], times[times >= end]
    before = float(earlier[-1]) if earlier.size and earlier[-1] >= start - near else None
    after = float(later[0]) if later.size and later[0] <= end + near else None
    return Around(float(earlier[-2]) if earlier.size > 1 else None, before, after)


def _is_whole(series: RawSeries, first: float, last: float) -> bool:
    """Whether it was there at both ends, and every value between them is a number."""
    inside = (series.times >= first) & (series.times <= last)
    ends = np.isin([first, last], series.times).all()
    return bool(ends and np.isfinite(series.values[inside]).all())


def _increases(whole: Sequence[RawSeries], first: float, last: float) -> tuple[Floats, int]:
    """Increase of each series, and how many scrapes showed a restart."""
    cut = [(series.times >= first) & (series.times <= last) for series in whole]
    sizes = [int(inside.sum()) for inside in cut]
    time = np.concatenate([s.times[inside] for s, inside in zip(whole, cut, strict=True)])
    value = np.concatenate([s.values[inside] for s, inside in zip(whole, cut, strict=True)])
    of: Ints = np.repeat(np.arange(len(whole)), sizes)
    block = SampleBlock(of, time, value, np.ones(time.size, dtype=bool))
    engines = [series.labels.get(ENGINE, "") for series in whole]
    steps = counter_steps(block, instrument=np.unique(engines, return_inverse=True)[1])
    paired = steps.paired
    sums = np.zeros(len(whole))
    np.add.at(sums, of[paired], steps.increase[paired])
    return sums, int(np.unique(time[steps.reset]).size)


def _counters(
    counters: Sequence[RawSeries],
    whole: Sequence[RawSeries],
    increases: Floats,
    fields: Mapping[str, str],
) -> Counters:
    """Sums over the engines; None where a series of the counter is not whole."""
    sums: dict[str, float] = {}
    for series, increase in zip(whole, increases.tolist(), strict=True):
        field = fields[series.labels[NAME]]
        sums[field] = sums[field] + increase if field in sums else increase
    kept = {id(series) for series in whole}
    cut = {fields[series.labels[NAME]] for series in counters if id(series) not in kept}
    return Counters(**{field: total for field, total in sums.items() if field not in cut})


def _was_quiet(whole: Sequence[RawSeries], around: Around) -> bool:
    """Whether nothing was counted between the last two scrapes before the run."""
    if around.earlier is None or around.before is None:
        return False
    ends = [around.earlier, around.before]
    pairs = [series.values[np.isin(series.times, ends)] for series in whole]
    return all(pair.size == len(ends) and pair[0] == pair[1] for pair in pairs)
