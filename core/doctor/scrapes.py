"""How engines are scraped: with success, often enough, and each of them once."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from core.catalogue import Kind
from core.collect.changes import duplicate_places
from core.collect.slices import KeyedSeries, key_series
from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, some
from core.doctor.prometheus import LOOK_BACK_S, PrometheusProbe
from core.doctor.seen import SeenEngine, Up, same_place
from core.domain.duplicates import are_one_engine
from core.domain.records import Floats

WINDOW_S = 300
"""The trailing window of preemptions; it must hold several scrapes."""
SLOW_S, TOO_SLOW_S = 60.0, 100.0
Place = tuple[int, int]
"""Keys of an engine and of the address it is scraped at."""


def _targets(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    mine = _targets_of_engines(probe)
    down = [up for up in mine if not up.up]
    if not mine:
        raise Unanswered("`up` is not there for the engines, as where samples are written remotely")
    if down:
        yield topic.warning(
            "Scrapes of engines fail",
            f"{some(u.name for u in down)} ({len(down)} of {counted(len(mine), 'target')})",
            "Look at Status > Targets in Prometheus for the reason.",
        )
    else:
        yield topic.ok("Scrapes of engines succeed", counted(len(mine), "target"))


def _targets_of_engines(probe: PrometheusProbe) -> list[Up]:
    """Targets of the jobs that serve engines."""
    jobs = {engine.target.job for engine in probe.engines()}
    return [up for up in probe.up() if up.target.job in jobs]


def _stats(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    silent = [
        up
        for up in _targets_of_engines(probe)
        if up.up and not any(same_place(up.target, engine.target) for engine in engines)
    ]
    if silent and not probe.settings.prometheus_matchers:
        yield topic.warning(
            "Targets are up and give no series of vLLM",
            f"{some(u.name for u in silent)}, in a job that serves engines",
            "If they are vLLM servers, start them without --disable-log-stats.",
        )
    else:
        yield topic.ok("Every target of these jobs gives series of vLLM", some(_jobs(engines)))


def _jobs(engines: Iterable[SeenEngine]) -> list[str]:
    return [f"job {engine.target.job or '?'}" for engine in engines]


def _interval(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    found: dict[str, float] = {}
    for engine in probe.engines():
        gaps = Up(engine.target, up=True, times=_times(engine)).interval_s
        found[engine.name] = LOOK_BACK_S if gaps is None else gaps
    slowest = max(found, key=lambda name: found[name])
    longest, shortest = found[slowest], min(found.values())
    detail = (
        f"{some(_each(found))}; a window of {WINDOW_S} s holds {WINDOW_S / longest:.0f} of them"
    )
    step = (
        f"Set scrape_interval of the job to 15s (at most 30s); engine {slowest} is scraped "
        "least often."
    )
    if longest > TOO_SLOW_S:
        yield topic.error("Scrapes lie too far apart for 5-minute windows", detail, step)
    elif longest > SLOW_S:
        yield topic.warning("Scrapes lie far apart for 5-minute windows", detail, step)
    elif longest > 1.5 * shortest:
        yield topic.ok("Scrapes are close enough; their intervals differ", detail)
    else:
        yield topic.ok("Scrapes are close enough", detail)


def _times(engine: SeenEngine) -> Floats:
    return max((one.times for one in engine.series), key=lambda times: times.size)


def _each(found: Mapping[str, float]) -> list[str]:
    """Intervals, each with the engines that have it."""
    by_interval: dict[str, list[str]] = {}
    for name, interval in found.items():
        by_interval.setdefault(f"{interval:.3g} s", []).append(name)
    if len(by_interval) == 1:
        return [f"every {next(iter(by_interval))}"]
    return [f"every {interval}: {some(names)}" for interval, names in by_interval.items()]


def _duplicates(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    keys, twice = _twice(probe)
    addresses = {key.place: key.target.instance or "?" for key in keys}
    if twice:
        pairs = [f"{addresses[again]} repeats {addresses[one]}" for again, one in twice.items()]
        yield topic.warning(
            "Engines are scraped twice",
            f"{some(pairs)}; each is counted once",
            "Remove one of the scrape jobs, or leave one out with "
            'PREFIXWATCH_PROMETHEUS_MATCHERS=\'{"job": "<the one to read>"}\'.',
        )
    else:
        yield topic.ok("Every engine is scraped once", counted(len(engines), "engine"))


def _told_apart(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    keys, _ = _twice(probe)
    alike = _alike(keys)
    if alike:
        yield topic.error(
            "Different engines carry the same labels",
            f"{some(alike)} cannot be told apart by cluster, namespace, pod, model and engine",
            "Give each a pod label of its own in the scrape job, or set "
            "PREFIXWATCH_LABELS__POD=instance.",
        )
    else:
        yield topic.ok("Labels tell engines apart", counted(len(engines), "engine"))


def _twice(probe: PrometheusProbe) -> tuple[Sequence[KeyedSeries], Mapping[Place, Place]]:
    """Series by what they measure, and addresses that repeat another, as the collector sees it."""
    keys = key_series(probe.samples.get(), probe.settings).series
    return keys, duplicate_places(keys, {})


def _alike(keys: Sequence[KeyedSeries]) -> list[str]:
    """Addresses that share all labels of an engine and show counters that overtake each other."""
    shown: dict[int, dict[Place, dict[str, KeyedSeries]]] = {}
    for key in keys:
        if key.name.instrument.kind is Kind.COUNTER:
            at = shown.setdefault(key.engine.engine_id, {}).setdefault(key.place, {})
            at[f"{key.instrument_key}/{key.label}"] = key
    pairs = (pair for places in shown.values() for pair in combinations(places.values(), 2))
    return [
        " and ".join(sorted(_address(one) for one in (a, b)))
        for a, b in pairs
        if are_one_engine([(_samples(a[n]), _samples(b[n])) for n in a.keys() & b.keys()]) is False
    ]


def _address(counters: Mapping[str, KeyedSeries]) -> str:
    return next(iter(counters.values())).target.instance or "?"


def _samples(key: KeyedSeries) -> tuple[Floats, Floats]:
    finite = np.isfinite(key.raw.values)
    return key.raw.times[finite], key.raw.values[finite]


SCRAPES = (
    Check(Topic("prometheus_targets", "prometheus", "Scrape targets"), _targets),
    Check(Topic("vllm_stats", "prometheus", "Targets without series"), _stats),
    Check(Topic("scrape_interval", "prometheus", "Scrape interval"), _interval),
    Check(Topic("duplicates", "prometheus", "Duplicate targets"), _duplicates),
    Check(Topic("engines_alike", "prometheus", "Engines with the same labels"), _told_apart),
)
