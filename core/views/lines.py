"""What pages draw over time alike: prefill by source, and the queue."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from core.cache.store import Row
from core.domain.gauges import rate_per_s, sum_of_means
from core.domain.reading import Coverage, Reading, Reason, Reported
from core.views.fleet import Fleet

LOCAL, EXTERNAL, COMPUTED = "local_cache_hit", "external_kv_transfer", "local_compute"
PREFILL = {
    "cached_prefill_tokens_per_s": LOCAL,
    "external_prefill_tokens_per_s": EXTERNAL,
    "computed_prefill_tokens_per_s": COMPUTED,
}
RUNNING, WAITING = "num_requests_running", "num_requests_waiting"
WAITING_BY_REASON = "num_requests_waiting_by_reason"
Line = tuple[float | None, ...]


def or_absent(
    metric: str,
    value: float | None,
    absent: Reason,
    coverage: Coverage | Reported | None = None,
) -> Reading:
    """A value, or the reason why there is none."""
    if value is None:
        return Reading(metric, None, absent, coverage=coverage)
    return Reading(metric, value, coverage=coverage)


def line(
    bins: Sequence[int], rows: Iterable[Row], value: Callable[[list[Row]], float | None]
) -> Line:
    """One value per chart bin from the rows of that bin; None without any."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[int(row.bin)].append(row)
    return tuple(value(found[b]) if b in found else None for b in bins)


def tokens_per_s(rows: Iterable[Row]) -> float | None:
    """Tokens per observed second; None where no row knows."""
    known = [row for row in rows if row.tokens is not None]
    if not known:
        return None
    return rate_per_s(sum(row.tokens for row in known), sum(row.observed_s for row in known))


def prefill_lines(bins: Sequence[int], rows: Sequence[Row]) -> dict[str, Line]:
    """Tokens per second of each source per chart bin."""
    return {
        metric: line(bins, [row for row in rows if row.source == source], tokens_per_s)
        for metric, source in PREFILL.items()
    }


def of_gauge(rows: Iterable[Row], instrument: str) -> list[Row]:
    """Rows of one gauge of the queue."""
    return [row for row in rows if row.instrument == instrument]


def mean_requests(rows: Iterable[Row]) -> float | None:
    """Requests in a queue: each engine's mean over its scrapes, added up."""
    per_engine: dict[int, tuple[float, int]] = {}
    for row in rows:
        value, n = per_engine.get(row.engine_id, (0.0, 0))
        per_engine[row.engine_id] = (value + row.requests_sum, n + row.samples)
    return sum_of_means(per_engine.values())


def waiting_reading(fleet: Fleet, queue: Sequence[Row]) -> Reading:
    """Waiting requests over the whole window."""
    rows = of_gauge(queue, WAITING)
    coverage = fleet.coverage_of_rows(rows)
    return or_absent("requests_waiting", mean_requests(rows), fleet.absent(WAITING), coverage)


def running_line(bins: Sequence[int], queue: Sequence[Row]) -> Line:
    """Running requests per chart bin."""
    return line(bins, of_gauge(queue, RUNNING), mean_requests)


def waiting_lines(bins: Sequence[int], queue: Sequence[Row]) -> dict[str, Line]:
    """Waiting by reason, or in one line where the server gives no reasons."""
    reasons = of_gauge(queue, WAITING_BY_REASON)
    if not reasons:
        return {"": line(bins, of_gauge(queue, WAITING), mean_requests)}
    return {
        reason: line(bins, [r for r in reasons if r.reason == reason], mean_requests)
        for reason in sorted({str(row.reason) for row in reasons})
    }
