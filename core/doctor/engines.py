"""Engines in Prometheus: are they there, and do their labels say which they are."""

from collections.abc import Iterable, Mapping, Sequence

from core.catalogue import Kind
from core.collect.slices import ENGINE_NAMES
from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, some
from core.doctor.prometheus import NO_SERIES, PrometheusProbe
from core.doctor.seen import FIELDS, SeenEngine
from core.errors import DashboardError

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
    engines = probe.seen.get()
    if not engines:
        yield topic.error("No series of vLLM were found", *_nothing(probe))
        return
    kinds = {ENGINE_NAMES[n].instrument.key for e in engines for n in e.names if n in ENGINE_NAMES}
    told = f"{counted(len(engines), 'engine')} ({some(e.name for e in engines)})"
    models = some(e.labels.model_name for e in engines if e.labels.model_name is not None)
    yield topic.ok(
        f"{counted(len(engines), 'engine')} of vLLM found",
        f"{told}, models {models or 'unnamed'}, {counted(len(kinds), 'metric')} of "
        f"{_known()} that are read besides histograms",
    )


def _known() -> int:
    return len(
        {n.instrument.key for n in ENGINE_NAMES.values() if n.instrument.kind is not Kind.HISTOGRAM}
    )


def _nothing(probe: PrometheusProbe) -> tuple[str, str]:
    """What there is instead of series of vLLM, and what to do."""
    seen = [NO_SERIES]
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
            ENGINE_NAMES[n].instrument.key
            for n in engine.names
            if n in ENGINE_NAMES and not ENGINE_NAMES[n].renamed
        }
        for name in engine.names & ENGINE_NAMES.keys():
            if ENGINE_NAMES[name].renamed and ENGINE_NAMES[name].instrument.key not in current:
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


ENGINES = (
    Check(Topic("vllm_series", "prometheus", "Series of vLLM"), _series),
    Check(Topic("vllm_old_names", "prometheus", "Old metric names"), _old_names),
    *(
        Check(Topic("prometheus_labels", field, f"Label of the {WORDS[field]}"), _label)
        for field in FIELDS
    ),
)
