"""What every page needs to know first: who was there, what changed, where nobody knows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.cache.store import Row, Store
from core.domain.coverage import Gap, Life, find_gaps, horizon, names_of, since
from core.domain.reading import Coverage, Reason
from core.domain.records import EngineLabels
from core.domain.scope import Scope, Window


@dataclass(frozen=True)
class Engine:
    """One engine in scope."""

    engine_id: int
    name: str
    pod: str | None
    model_name: str | None
    life: Life
    last_at: float
    up: bool | None


@dataclass(frozen=True)
class LeverMark:
    """One change, as drawn on charts and listed beside them."""

    at: float
    kind: str
    origin: str
    what: str
    engine: str | None
    by_whom: str | None
    link: str | None


@dataclass(frozen=True)
class SourceState:
    """How a source stands."""

    source: str
    state: str
    checked_at: float
    read_to: float | None
    backfill_from: float | None
    progress: float | None
    left_s: float | None
    clock_skew_s: float | None
    title: str | None
    detail: str | None
    next_step: str | None
    api: str | None
    rows_read: int | None
    retry_at: float | None

    def read_within(self, start: float, end: float) -> bool:
        """Whether any of a stretch of time lies in what was read of the source.

        History is read newest first, and how far that went is not known until it is over.
        """
        if self.read_to is None or self.read_to <= start:
            return False
        if self.progress is not None and self.progress < 1:
            return False
        return self.backfill_from is None or self.backfill_from < end

    @property
    def ok(self) -> bool:
        """Whether the last reading of the source worked."""
        return self.state in ("following", "backfilling", "read_once")


@dataclass(frozen=True)
class Fleet:
    """Engines in scope and window, and what is known about the window itself."""

    scope: Scope
    window: Window
    now: float
    until: float
    bins: tuple[int, ...]
    engines: tuple[Engine, ...]
    gaps: tuple[Gap, ...]
    changes: tuple[LeverMark, ...]
    prometheus: SourceState | None
    requests: SourceState | None
    newest_request_at: float | None
    exports: Mapping[str, Mapping[str, frozenset[int]]]
    """Instrument -> state -> engine ids."""
    caching_off: frozenset[int]
    """Engines whose configuration switches prefix caching off."""
    covered_s: Mapping[int, float]
    """Seconds of the window each engine was observed; an engine without a scrape is absent."""

    @property
    def bin_s(self) -> int:
        """Width of a chart bin, seconds."""
        return self.window.bin_s

    def absent(self, *instruments: str, engines: Collection[int] | None = None) -> Reason:
        """Why there is no number of these instruments, in scope or of some engines."""
        if self.prometheus is None and not self.engines:
            return Reason.NOT_CONNECTED
        if not self.engines or (engines is not None and not engines):
            return Reason.NO_ENGINE
        here = {engine.engine_id for engine in self.engines} if engines is None else set(engines)
        states = {
            state
            for name in instruments
            for state, ids in self.exports.get(name, {}).items()
            if ids & here
        }
        if "exported" in states:
            return Reason.TOO_FEW_SCRAPES
        if "native_histogram" in states:
            return Reason.NATIVE_HISTOGRAM
        return Reason.RENAMED if "renamed" in states else Reason.NOT_EXPORTED

    def no_requests(self, start: float | None = None) -> Reason:
        """Why there is no request in the window, or in the chart bin that begins at `start`.

        Silence is only known of time that was read.
        """
        if self.requests is None:
            return Reason.NOT_CONNECTED
        first = self.window.start if start is None else start
        last = self.window.end if start is None else start + self.bin_s
        return Reason.NO_TRAFFIC if self.requests.read_within(first, last) else Reason.NOT_READ

    def coverage(self, observed_s: float, engines: int, samples: int) -> Coverage:
        """Coverage of a sum over some engines of the window."""
        return Coverage(
            observed_s=observed_s,
            expected_s=sum(e.life.expected_s(self.window.start, self.until) for e in self.engines),
            engines=engines,
            engines_expected=len(self.engines),
            samples=samples,
        )

    def coverage_of(self, engines: Collection[int], samples: int) -> Coverage:
        """Coverage of a value that these engines gave."""
        observed = sum(self.covered_s[e] for e in engines if e in self.covered_s)
        return self.coverage(observed, len(engines), samples)

    def coverage_of_rows(self, rows: Sequence[Row]) -> Coverage:
        """Coverage by the engines that gave any of these rows."""
        return self.coverage_of({r.engine_id for r in rows}, sum(r.samples for r in rows))

    def name(self, engine_id: int) -> str:
        """Short name of an engine."""
        return next(
            (e.name for e in self.engines if e.engine_id == engine_id), "(engine out of scope)"
        )

    @property
    def newest_sample_at(self) -> float | None:
        """Time of the newest sample of any engine in scope."""
        return max((engine.last_at for engine in self.engines), default=None)


def query_params(scope: Scope, window: Window) -> dict[str, Any]:
    """Parameters that all windowed cache queries share."""
    return {
        "start": datetime.fromtimestamp(window.start, UTC),
        "end": datetime.fromtimestamp(window.end, UTC),
        "bin_s": window.bin_s,
        "span_s": window.cell_s,
        **scope.labels(),
    }


def load_fleet(store: Store, scope: Scope, now: float) -> Fleet:
    """Read who was there, what changed and where nobody knows."""
    window = scope.window(now)
    params = query_params(scope, window)
    states = {row.source: SourceState(*row) for row in store.read("source_states", {})}
    prometheus = states.get("prometheus")
    engines = _engines(
        store.read("engines_in_window", params), prometheus.backfill_from if prometheus else None
    )
    until = horizon(window.end, now=now, read_to=prometheus.read_to if prometheus else None)
    bins = tuple(range(window.start // window.bin_s * window.bin_s, window.end, window.bin_s))
    covered = {
        (row.engine_id, int(row.bin)): row.covered_s
        for row in store.read("coverage_over_time", params)
    }
    per_engine: dict[int, float] = defaultdict(float)
    for (engine_id, _), seconds in covered.items():
        per_engine[engine_id] += seconds
    gaps = find_gaps(
        bins,
        window.bin_s,
        [engine.life for engine in engines],
        covered,
        start=window.start,
        until=until,
    )
    return Fleet(
        scope=scope,
        window=window,
        now=now,
        until=until,
        bins=bins,
        engines=engines,
        gaps=tuple(gaps),
        changes=tuple(
            _marks(store.read("levers_in_window", params), {e.engine_id: e.name for e in engines})
        ),
        prometheus=prometheus,
        requests=states.get("langfuse") or states.get("langfuse export"),
        newest_request_at=store.read("newest_request", {})[0].newest_at,
        exports=_exports(store.read("export_states", params)),
        caching_off=frozenset(r.engine_id for r in store.read("engines_without_caching", {})),
        covered_s=dict(per_engine),
    )


def _engines(found: list[Row], read_from: float | None) -> tuple[Engine, ...]:
    names = names_of(
        [EngineLabels(r.cluster, r.namespace, r.pod, r.model_name, r.engine) for r in found]
    )
    return tuple(
        Engine(
            engine_id=row.engine_id,
            name=name,
            pod=row.pod,
            model_name=row.model_name,
            life=Life(row.engine_id, name, since(row.first_at, read_from), row.gone_at),
            last_at=row.last_at,
            up=row.up,
        )
        for row, name in zip(found, names, strict=True)
    )


def _marks(found: Iterable[Row], names: Mapping[int, str]) -> Iterable[LeverMark]:
    for row in found:
        yield LeverMark(
            at=row.happened_at,
            kind=row.kind,
            origin=row.origin,
            what=row.what,
            engine=names.get(row.engine_id, row.pod if row.pod is not None else row.model_name),
            by_whom=row.by_whom,
            link=row.link,
        )


def _exports(found: Iterable[Row]) -> dict[str, dict[str, frozenset[int]]]:
    exports: dict[str, dict[str, frozenset[int]]] = {}
    for row in found:
        states = exports.setdefault(row.instrument, {})
        states[row.state] = states.get(row.state, frozenset()) | {row.engine_id}
    return exports
