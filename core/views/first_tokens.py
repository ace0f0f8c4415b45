"""Quantiles of time to first token over the engines that share one set of bucket edges."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from core.cache.store import Row, Store
from core.domain.histograms import QuantileBounds, quantile_bounds
from core.domain.reading import Reading, Reason
from core.views.fleet import Fleet

QUANTILES = {"ttft_p50": 0.5, "ttft_p95": 0.95}
INSTRUMENT = "time_to_first_token_seconds"


@dataclass(frozen=True)
class FirstTokens:
    """First-token buckets of the engines that share one set of edges, and all counts."""

    counts: tuple[Row, ...]
    edges: tuple[float, ...]
    buckets: dict[int, dict[float, float]]
    observed: frozenset[int]
    engines_left_out: int

    def quantile(self, q: float, bins: set[int]) -> QuantileBounds | None:
        """The quantile over some bins as a bucket interval."""
        if not bins & self.observed:
            return None
        counts = dict.fromkeys(self.edges, 0.0)
        for b in bins & self.buckets.keys():
            for edge, count in self.buckets[b].items():
                counts[edge] += count
        return quantile_bounds(sorted(counts.items()), q)

    def lines(self, bins: Iterable[int]) -> dict[str, tuple[QuantileBounds | None, ...]]:
        """Both quantiles per chart bin."""
        each = list(bins)
        return {
            metric: tuple(self.quantile(q, {b}) for b in each) for metric, q in QUANTILES.items()
        }

    def reading(self, fleet: Fleet, metric: str) -> Reading:
        """One quantile over the whole window."""
        bounds = self.quantile(QUANTILES[metric], set(self.observed))
        if bounds is None:
            quiet = Reason.NO_TRAFFIC if self.observed else fleet.absent(INSTRUMENT)
            return Reading(metric, None, quiet)
        return Reading(
            metric,
            bounds.estimate,
            coverage=fleet.coverage_of_rows(self.counts),
            low=bounds.lower,
            high=inf if bounds.censored else bounds.upper,
        )


def first_tokens(store: Store, params: dict[str, Any]) -> FirstTokens:
    """Read the buckets and counts of one window."""
    counts = tuple(store.read("ttft_counts", params))
    return _first_tokens(store.read("ttft_buckets", params), counts)


def _first_tokens(buckets: Sequence[Row], counts: tuple[Row, ...]) -> FirstTokens:
    by_edges: dict[str, dict[int, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    weight: dict[str, float] = defaultdict(float)
    for row in buckets:
        by_edges[row.edges][int(row.bin)][row.le] = row.requests
        weight[row.edges] += row.requests
    chosen = max(weight, key=lambda edges: weight[edges], default="")
    observed = frozenset(int(row.bin) for row in counts if row.requests is not None)
    edges = tuple(sorted(float(edge) for edge in chosen.split()))
    return FirstTokens(counts, edges, by_edges[chosen], observed, max(0, len(weight) - 1))
