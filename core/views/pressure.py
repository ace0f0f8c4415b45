"""What presses on the engines: KV blocks in use, requests in queues, preemption events."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.gauges import mean_of_samples, sum_of_means
from core.domain.ratios import total
from core.domain.reading import Coverage, Reading
from core.domain.scope import Window
from core.views.fleet import Fleet, query_params
from core.views.lines import Line, line, or_absent


@dataclass(frozen=True)
class PressureSums:
    """Gauges and events of every engine in a window, by chart bin.

    A reading of some engines has no coverage of its own: it stands in their row.
    """

    fleet: Fleet
    kv: tuple[Row, ...]
    queue: tuple[Row, ...]
    events: tuple[Row, ...]

    def kv_usage_max(self) -> Line:
        """Highest share of blocks in use, over time."""
        return self._line(self.kv, lambda rows: max(r.usage_max for r in rows))

    def kv_usage_mean(self) -> Line:
        """Mean share of blocks in use over scrapes and engines, over time."""
        return self._line(
            self.kv, lambda rows: mean_of_samples((r.usage_sum, r.samples) for r in rows)
        )

    def preemptions(self) -> Line:
        """Events over time."""
        known = [row for row in self.events if row.preemptions is not None]
        return self._line(known, lambda rows: sum(r.preemptions for r in rows))

    def running(self) -> Line:
        """Running requests over time."""
        return self._line(self.queue_of("num_requests_running"), mean_requests)

    def waiting(self) -> dict[str, Line]:
        """Waiting by reason, or in one line where the server gives no reasons."""
        reasons = self.queue_of("num_requests_waiting_by_reason")
        if not reasons:
            return {"": self._line(self.queue_of("num_requests_waiting"), mean_requests)}
        return {
            reason: self._line([r for r in reasons if r.reason == reason], mean_requests)
            for reason in sorted({str(row.reason) for row in reasons})
        }

    def kv_reading(self, engines: Collection[int] | None = None) -> Reading:
        """Highest share of blocks in use, of all or of some engines."""
        rows = _of(self.kv, engines)
        highest = max((row.usage_max for row in rows), default=None)
        absent = self.fleet.absent("kv_cache_usage_perc", engines=engines)
        return or_absent("kv_usage_max", highest, absent, self._covered(rows, engines))

    def kv_mean_reading(self) -> Reading:
        """Mean share of blocks in use over scrapes and engines."""
        mean = mean_of_samples((row.usage_sum, row.samples) for row in self.kv)
        absent = self.fleet.absent("kv_cache_usage_perc")
        return or_absent("kv_usage_mean", mean, absent, self._covered(self.kv, None))

    def waiting_reading(self, engines: Collection[int] | None = None) -> Reading:
        """Waiting requests, of all or of some engines."""
        rows = _of(self.queue_of("num_requests_waiting"), engines)
        absent = self.fleet.absent("num_requests_waiting", engines=engines)
        covered = self._covered(rows, engines)
        return or_absent("requests_waiting", mean_requests(rows), absent, covered)

    def events_reading(self, engines: Collection[int] | None = None) -> Reading:
        """Preemption events, of all or of some engines."""
        rows = _of(self.events, engines)
        return total(
            "preemptions",
            (row.preemptions for row in rows),
            absent=self.fleet.absent("num_preemptions", engines=engines),
            coverage=self._covered(rows, engines),
        )

    def queue_of(self, instrument: str) -> list[Row]:
        """Rows of one of the queue's gauges."""
        return [row for row in self.queue if row.instrument == instrument]

    def _covered(self, rows: Sequence[Row], engines: Collection[int] | None) -> Coverage | None:
        return self.fleet.coverage_of_rows(rows) if engines is None else None

    def _line(self, rows: Iterable[Row], value: Callable[[list[Row]], float | None]) -> Line:
        return line(self.fleet.bins, rows, value)


def pressure_sums(store: Store, fleet: Fleet, window: Window | None = None) -> PressureSums:
    """Sums of the fleet's window, or of another window (a comparison)."""
    params = query_params(fleet.scope, window or fleet.window)
    return PressureSums(
        fleet=fleet,
        kv=tuple(store.read("kv_usage", params)),
        queue=tuple(store.read("queue", params)),
        events=tuple(store.read("pressure", params)),
    )


def mean_requests(rows: Iterable[Row]) -> float | None:
    """Requests in a queue: each engine's mean over its scrapes, added up."""
    per_engine: dict[int, tuple[float, int]] = {}
    for row in rows:
        value, n = per_engine.get(row.engine_id, (0.0, 0))
        per_engine[row.engine_id] = (value + row.requests_sum, n + row.samples)
    return sum_of_means(per_engine.values())


def _of(rows: Sequence[Row], engines: Collection[int] | None) -> list[Row]:
    return [row for row in rows if engines is None or row.engine_id in engines]
