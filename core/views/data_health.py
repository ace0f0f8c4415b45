"""Data health: what is connected, how old it is, what is missing, what went wrong."""

from dataclasses import dataclass

from core.cache.store import Row, Store
from core.catalogue import ENGINE_INSTRUMENTS
from core.domain.coverage import names_of
from core.domain.reading import Coverage
from core.domain.records import EngineLabels
from core.domain.scope import Scope
from core.views.fleet import Fleet, SourceState, load_fleet, query_params

LOG_ROWS = 200
SKEW_LIMIT_S = 5.0


@dataclass(frozen=True)
class EngineHealth:
    """One engine at one address."""

    name: str
    cluster: str | None
    namespace: str | None
    model: str | None
    job: str | None
    instance: str | None
    up: bool | None
    age_s: float
    scrape_interval_s: float | None
    gone_at: float | None
    duplicate_of: str | None
    missing_labels: tuple[str, ...]


@dataclass(frozen=True)
class EngineCoverage:
    """How much of the window one engine was observed."""

    name: str
    coverage: Coverage
    largest_gap_s: float | None


@dataclass(frozen=True)
class ExportRow:
    """How one instrument is exported across the engines in scope."""

    instrument: str
    exported: int
    renamed: int
    not_exported: int
    native_histogram: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class LogEntry:
    """One thing that went wrong or was warned about."""

    source: str
    noted_at: float
    level: str
    title: str
    detail: str
    next_step: str | None


@dataclass(frozen=True)
class SenderRow:
    """What the requests of one exporter, model and contract carry."""

    exporter: str
    model: str | None
    environment: str | None
    contract: str
    cached_scope: str
    requests: int
    with_usage: int
    measured: int
    unproven: int
    not_reported: int
    estimates: int
    violations: int
    attributed: int
    with_session: int
    with_arm: int
    changed: int
    restarted: int
    lag_p50_s: float | None
    lag_p95_s: float | None


@dataclass(frozen=True)
class EvaluatorRow:
    """Evaluation records of one score name, level, evaluator and version."""

    name: str
    level: str
    evaluator: str
    evaluator_version: str | None
    source: str | None
    records: int
    ok: int
    errors: int
    repeats: int
    with_probability: int
    deleted: int


@dataclass(frozen=True)
class ViolationRow:
    """One rule that one record broke."""

    kind: str
    record_id: str | None
    trace_id: str | None
    exporter: str | None
    model: str | None
    rule: str
    field: str | None
    raw_value: str | None
    happened_at: float | None
    seen_at: float


@dataclass(frozen=True)
class FindingRow:
    """One finding of the doctor's newest examination."""

    finding: str
    subject: str
    level: str
    title: str
    detail: str
    next_step: str | None
    checked_at: float


@dataclass(frozen=True)
class CacheSize:
    """How much the cache holds."""

    counter_cells: int
    bucket_cells: int
    gauge_cells: int
    first_minute: float | None
    last_minute: float | None
    batches: int
    observations: int
    scores: int


@dataclass(frozen=True)
class DataHealthView:
    """Everything the Data health page shows."""

    fleet: Fleet
    sources: tuple[SourceState, ...]
    skewed: bool
    targets: tuple[EngineHealth, ...]
    duplicates: int
    coverage: tuple[EngineCoverage, ...]
    exports: tuple[ExportRow, ...]
    senders: tuple[SenderRow, ...]
    evaluators: tuple[EvaluatorRow, ...]
    violations: tuple[ViolationRow, ...]
    findings: tuple[FindingRow, ...]
    log: tuple[LogEntry, ...]
    cache: CacheSize


def build(store: Store, scope: Scope, now: float) -> DataHealthView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    sources = tuple(SourceState(*row) for row in store.read("source_states", {}))
    targets = _targets(store, now)
    params = query_params(scope, fleet.window)
    return DataHealthView(
        fleet=fleet,
        sources=sources,
        skewed=any(
            s.clock_skew_s is not None and abs(s.clock_skew_s) > SKEW_LIMIT_S for s in sources
        ),
        targets=targets,
        duplicates=sum(t.duplicate_of is not None for t in targets),
        coverage=_coverage(store, fleet),
        exports=_exports(store, fleet),
        senders=tuple(SenderRow(*row) for row in store.read("usage_coverage", params)),
        evaluators=tuple(EvaluatorRow(*r) for r in store.read("evaluator_coverage", params)),
        violations=tuple(
            ViolationRow(*row) for row in store.read("recent_violations", {"most": LOG_ROWS})
        ),
        findings=tuple(FindingRow(*row) for row in store.read("health_findings", {})),
        log=tuple(LogEntry(*row) for row in store.read("recent_log", {"most": LOG_ROWS})),
        cache=CacheSize(*store.read("cache_size", {})[0]),
    )


def _targets(store: Store, now: float) -> tuple[EngineHealth, ...]:
    rows = store.read("target_states", {})
    engines = list(dict.fromkeys(_labels(row) for row in rows))
    names = dict(zip(engines, names_of(engines), strict=True))
    return tuple(_target(row, names[_labels(row)], now) for row in rows)


def _labels(row: Row) -> EngineLabels:
    return EngineLabels(row.cluster, row.namespace, row.pod, row.model_name, row.engine)


def _target(row: Row, name: str, now: float) -> EngineHealth:
    labels = ("cluster", "namespace", "pod", "model_name", "engine")
    return EngineHealth(
        name=name,
        cluster=row.cluster,
        namespace=row.namespace,
        model=row.model_name,
        job=row.job,
        instance=row.instance,
        up=row.up,
        age_s=now - row.last_at,
        scrape_interval_s=row.scrape_interval_s,
        gone_at=row.gone_at,
        duplicate_of=row.duplicate_of,
        missing_labels=tuple(name for name in labels if getattr(row, name) is None),
    )


def _coverage(store: Store, fleet: Fleet) -> tuple[EngineCoverage, ...]:
    params = query_params(fleet.scope, fleet.window)
    rows = {row.engine_id: row for row in store.read("hit_ratio_by_engine", params)}
    found = []
    for engine in fleet.engines:
        row = rows.get(engine.engine_id)
        observed = row is not None and row.covered_s is not None
        found.append(
            EngineCoverage(
                name=engine.name,
                coverage=Coverage(
                    observed_s=row.covered_s if row is not None and observed else 0.0,
                    expected_s=engine.life.expected_s(fleet.window.start, fleet.until),
                    engines=int(observed),
                    engines_expected=1,
                    samples=row.samples if row is not None and observed else 0,
                ),
                largest_gap_s=row.largest_gap_s if row is not None else None,
            )
        )
    return tuple(found)


def _exports(store: Store, fleet: Fleet) -> tuple[ExportRow, ...]:
    rows = store.read("export_states", fleet.scope.labels())
    found = []
    for instrument in ENGINE_INSTRUMENTS:
        states = fleet.exports.get(instrument, {})
        names = {r.exported_name for r in rows if r.instrument == instrument and r.exported_name}
        found.append(
            ExportRow(
                instrument=instrument,
                exported=len(states.get("exported", ())),
                renamed=len(states.get("renamed", ())),
                not_exported=len(states.get("not_exported", ())),
                native_histogram=len(states.get("native_histogram", ())),
                names=tuple(sorted(names)),
            )
        )
    return tuple(found)
