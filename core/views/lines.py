"""What pages draw over time alike: one value per chart bin, prefill by source."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from core.cache.store import Row
from core.domain.gauges import rate_per_s
from core.domain.reading import Coverage, Reading, Reason, Reported

LOCAL, EXTERNAL, COMPUTED = "local_cache_hit", "external_kv_transfer", "local_compute"
PREFILL = {
    "cached_prefill_tokens_per_s": LOCAL,
    "external_prefill_tokens_per_s": EXTERNAL,
    "computed_prefill_tokens_per_s": COMPUTED,
}
Line = tuple[float | None, ...]
"""One value per chart bin; None where nothing was scraped."""


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
