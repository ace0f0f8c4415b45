"""Engines in Prometheus: are they there, told apart, scraped often enough, and once."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from core.catalogue import Kind
from core.collect.changes import duplicate_places
from core.collect.slices import NAMES, KeyedSeries, key_series
from core.collect.state import State
from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, some
from core.doctor.prometheus import LOOK_BACK_S, PrometheusProbe
from core.doctor.seen import FIELDS, SeenEngine, Up, same_place
from core.domain.records import Floats
from core.errors import DashboardError

WINDOW_S = 300
"""The trailing window of preemptions; it must hold several scrapes."""
SLOW_S, TOO_SLOW_S = 60.0, 100.0
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "pod": (
        *("pod", "kubernetes_pod_name", "pod_name", "k8s_pod_name", "exported_pod"),
        *("kubernetes_pod", "hostname", "instance"),
    ),
    "namespace": (
        *("namespace", "kubernetes_namespace", "k8s_namespace_name", "exported_namespace"),
        *("kubernetes_namespace_name", "ns"),
    ),
    "cluster": ("cluster", "cluster_name", "k8s_cluster_name", "kubernetes_cluster", "cluster_id"),
    "model_name": ("model_name", "model", "served_model_name", "exported_model_name", "model_id"),
    "engine": ("engine", "engine_index", "engine_id", "dp_rank", "exported_engine"),
}
"""Labels under which servers are known to keep these; `instance` always tells engines apart."""
WORDS = {
    **{field: field for field in FIELDS},
    "model_name": "model",
    "engine": "engine core",
}
OPTIONAL = {
    "namespace": "Not needed where pod names are unique.",
    "cluster": "Not needed with one cluster.",
}


def _series(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    try:
        engines = probe.engines()
    except Unanswered as none:
        yield topic.error("No series of vLLM were found", *_nothing(probe, none.reason))
        return
    kinds = {NAMES[n].instrument.key for e in engines for n in e.names if n in NAMES}
    told = f"{counted(len(engines), 'engine')} ({some(e.name for e in engines)})"
    models = some(e.labels.model_name for e in engines if e.labels.model_name is not None)
    yield topic.ok(
        f"{counted(len(engines), 'engine')} of vLLM found",
        f"{told}, models {models or 'unnamed'}, {counted(len(kinds), 'metric')} of "
        f"{_known()} that are read besides histograms",
    )


def _known() -> int:
    return len(
        {n.instrument.key for n in NAMES.values() if n.instrument.kind is not Kind.HISTOGRAM}
    )


def _nothing(probe: PrometheusProbe, reason: str) -> tuple[str, str]:
    """What there is instead of series of vLLM, and what to do."""
    seen = [reason]
    matchers = probe.settings.prometheus_matchers
    try:
        like, up = probe.like_vllm.get(), probe.up()
    except (DashboardError, Unanswered):
        like, up = [], ()
    if like:
        seen.append(f"names that begin alike: {some(like)}")
    seen.append(f"targets that are up: {some(u.name for u in up if u.up) or 'none'}")
    if matchers:
        return (
            "; ".join(seen),
            (
                "Check that PREFIXWATCH_PROMETHEUS_MATCHERS fits the labels of your engines "
                f"(now: {', '.join(f'{k}={v}' for k, v in matchers.items())})."
            ),
        )
    return (
        "; ".join(seen),
        (
            "Add a scrape job for /metrics of every vLLM server (metric names must keep their "
            "`vllm:` prefix), and start vLLM without --disable-log-stats."
        ),
    )


def _old_names(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    old: dict[str, list[str]] = {}
    for engine in probe.engines():
        current = {
            NAMES[n].instrument.key for n in engine.names if n in NAMES and not NAMES[n].renamed
        }
        for name in engine.names & NAMES.keys():
            if NAMES[name].renamed and NAMES[name].instrument.key not in current:
                old.setdefault(name, []).append(engine.name)
    if not old:
        yield topic.ok("Metrics have their present names", "no engine exports an old name alone")
        return
    names = {engine for engines in old.values() for engine in engines}
    yield topic.warning(
        "Old metric names are exported",
        f"{some(old)} on {some(names)}; a number under an old name is not read",
        "Upgrade vLLM on these engines to 0.26 or later.",
    )


def _label(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    field = topic.subject
    wanted = getattr(probe.settings.labels, field)
    engines = probe.engines()
    without = [engine for engine in engines if wanted not in engine.label_names]
    if not without:
        values = {getattr(engine.labels, field) for engine in engines}
        yield topic.ok(
            f"Label {wanted} says the {WORDS[field]}",
            f"{counted(len(values), 'value')}: {some(values)}",
        )
        return
    detail = (
        f"label {wanted} is missing on {some(e.name for e in without)} "
        f"({len(without)} of {counted(len(engines), 'engine')})"
    )
    likely = _likely(field, wanted, without)
    if likely is not None:
        setting = f"PREFIXWATCH_LABELS__{field.upper()}={likely}"
        yield topic.warning(
            f"The {WORDS[field]} has another label",
            f"{detail}; label {likely} looks like it",
            f"Set {setting}, or relabel the scrape job so that {wanted} is there.",
        )
    elif field in OPTIONAL:
        yield topic.ok(f"No label says the {WORDS[field]}", f"{detail}. {OPTIONAL[field]}")
    else:
        yield topic.warning(
            f"No label says the {WORDS[field]}",
            f"{detail}; labels there: {some(set.union(*(set(e.label_names) for e in without)))}",
            f"Add label {wanted} in the scrape job, or name yours with "
            f"PREFIXWATCH_LABELS__{field.upper()}.",
        )


def _likely(field: str, wanted: str, engines: Sequence[SeenEngine]) -> str | None:
    """The label that all these engines have and that is known to mean the field."""
    there = frozenset.intersection(*(engine.label_names for engine in engines))
    return next((name for name in CANDIDATES[field] if name in there and name != wanted), None)


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
    keys = key_series(probe.samples.get(), probe.settings).series
    twice = duplicate_places(keys, State(settled=0, backfill_from=0))
    addresses = {key.place: key.target.instance or "?" for key in keys}
    if twice:
        pairs = [f"{addresses[again]} repeats {addresses[one]}" for again, one in twice.items()]
        yield topic.warning(
            "Engines are scraped twice",
            f"{some(pairs)}; each is counted once",
            "Remove one of the scrape jobs, or leave one out with "
            'PREFIXWATCH_PROMETHEUS_MATCHERS=\'{"job": "<the one to read>"}\'.',
        )
    alike = _alike(keys, set(twice))
    if alike:
        yield topic.error(
            "Different engines carry the same labels",
            f"{some(alike)} cannot be told apart by cluster, namespace, pod, model and engine",
            "Give each its own pod label in the scrape job, or set "
            "PREFIXWATCH_LABELS__POD=instance.",
        )
    if not twice and not alike:
        yield topic.ok("Every engine is scraped once", counted(len(engines), "engine"))


def _alike(keys: Sequence[KeyedSeries], repeating: set[tuple[int, int]]) -> list[str]:
    """Addresses that share all labels of an engine and show other counters."""
    shown: dict[int, dict[tuple[int, int], str]] = {}
    for key in keys:
        if key.name.instrument.kind is Kind.COUNTER and key.place not in repeating:
            shown.setdefault(key.engine.engine_id, {})[key.place] = key.target.instance or "?"
    return [
        f"{one} and {other}"
        for places in shown.values()
        for one, other in combinations(sorted(set(places.values())), 2)
    ]


ENGINES = (
    Check(Topic("vllm_series", "prometheus", "Series of vLLM"), _series),
    Check(Topic("vllm_old_names", "prometheus", "Old metric names"), _old_names),
    *(
        Check(Topic("prometheus_labels", field, f"Label of the {WORDS[field]}"), _label)
        for field in FIELDS
    ),
    Check(Topic("prometheus_targets", "prometheus", "Scrape targets"), _targets),
    Check(Topic("vllm_stats", "prometheus", "Targets without series"), _stats),
    Check(Topic("scrape_interval", "prometheus", "Scrape interval"), _interval),
    Check(Topic("duplicates", "prometheus", "Duplicate targets"), _duplicates),
)
