"""Hit ratio: the three ratios side by side, reconciled, over time, by engine and model."""

from collections import Counter
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import change, total
from core.domain.reading import Reading, Reported
from core.domain.reconciliation import Line, reconcile
from core.domain.scope import Scope
from core.messages import say
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.gateway_counters import GatewayCounters, load_gateway_counters
from core.views.requests import RequestSums, request_params, request_sums, share_line
from core.views.sums import CacheSums, Inflated, cache_sums, ratio_line

TOKENS = ("queries_tokens", "hits_tokens", "prompt_tokens")
CHECKS = ("lookup_inflation", "cached_prompt_ratio", "external_hit_ratio")


@dataclass(frozen=True)
class GroupRow:
    """Sums of one model or one engine."""

    name: str
    model: str | None
    hit_ratio: Reading
    external_hit_ratio: Reading
    lookup_inflation: Reading
    cached_prompt_ratio: Reading
    queries_tokens: Reading
    hits_tokens: Reading
    prompt_tokens: Reading
    restarted: int
    gateway_share: Reading
    gateway_input_tokens: Reading


@dataclass(frozen=True)
class Unexplained:
    """What the reconciliation knows only as a count: attempts, not tokens.

    `without_usage` counts attempts that left no usage, by kind of error ('' where
    they did not fail).
    """

    without_usage: dict[str, int]
    violations: int
    exact_one: Reported
    unattributed: Reported
    further_attempts: int
    external_hits_tokens: float | None


@dataclass(frozen=True)
class HitRatioView:
    """Everything the Hit ratio page shows."""

    fleet: Fleet
    ratios: tuple[Reading, ...]
    changes: tuple[float | None, ...]
    reconciliation: tuple[Line, ...]
    unexplained: Unexplained
    proxy: GatewayCounters
    checks: tuple[Reading, ...]
    tokens: tuple[Reading, ...]
    inflated: tuple[Inflated, ...]
    broken: tuple[str, ...]
    gateway_line: tuple[Reading, ...]
    engine_line: tuple[Reading, ...]
    external_line: tuple[Reading, ...]
    inflation_line: tuple[Reading, ...]
    heat: dict[str, tuple[Reading, ...]]
    by_model: tuple[GroupRow, ...]
    by_engine: tuple[GroupRow, ...]


def build(store: Store, scope: Scope, now: float) -> HitRatioView:
    """Read the cache for one scope; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    sums = cache_sums(store, fleet)
    requests = request_sums(store, fleet)
    ratios = _ratios(sums, requests)
    earlier = fleet.window.earlier(scope.compare)
    before: dict[str, Reading] = {}
    if earlier is not None:
        past = (cache_sums(store, fleet, earlier), request_sums(store, fleet, earlier))
        before = {reading.metric: reading for reading in _ratios(*past)}
    over_time = store.read("hit_ratio_over_time", query_params(scope, fleet.window))
    return HitRatioView(
        fleet=fleet,
        ratios=ratios,
        changes=tuple(change(reading, before.get(reading.metric)) for reading in ratios),
        reconciliation=_reconciliation(fleet, sums, requests),
        unexplained=_unexplained(store, sums, requests),
        proxy=load_gateway_counters(store, fleet),
        checks=tuple(sums.ratio(metric) for metric in CHECKS),
        tokens=tuple(_tokens(sums, metric, None) for metric in TOKENS),
        inflated=sums.inflated(),
        broken=sums.broken("engine_hit_ratio"),
        gateway_line=share_line(store, fleet),
        engine_line=ratio_line("engine_hit_ratio", fleet.bins, sums.sound_in(over_time)),
        external_line=ratio_line("external_hit_ratio", fleet.bins, over_time),
        inflation_line=ratio_line("lookup_inflation", fleet.bins, over_time),
        heat=_heat(fleet, over_time),
        by_model=_by_model(fleet, sums, requests),
        by_engine=_by_engine(fleet, sums, requests),
    )


def _ratios(sums: CacheSums, requests: RequestSums) -> tuple[Reading, ...]:
    return (sums.ratio("engine_hit_ratio"), requests.share(), requests.mean_ratio())


def _reconciliation(fleet: Fleet, sums: CacheSums, requests: RequestSums) -> tuple[Line, ...]:
    cached = [r.prompt_cached_tokens for r in sums.rows if r.prompt_cached_tokens is not None]
    prompt = _tokens(sums, "prompt_tokens", None)
    if fleet.requests is None and not prompt.known:
        return ()
    return reconcile(prompt.value, sum(cached) if cached else None, requests.groups())


def _unexplained(store: Store, sums: CacheSums, requests: RequestSums) -> Unexplained:
    scope, window = sums.fleet.scope, sums.fleet.window
    tried = store.read("gateway_attempts", request_params(scope, window))[0]
    external = [r.external_hits_tokens for r in sums.rows if r.external_hits_tokens is not None]
    without: Counter[str] = Counter()
    for row in requests.rows:
        if row.usage_status == "none":
            without[row.error_kind if row.error_kind is not None else ""] += row.requests
    measured = requests.count(lambda row: row.usage_status == "measured")
    everything = requests.count(lambda _: True)
    return Unexplained(
        without_usage=dict(sorted(without.items())),
        violations=requests.count(lambda row: row.usage_status == "violation"),
        exact_one=Reported(sum(row.exact_one for row in requests.rows), measured),
        unattributed=Reported(requests.count(lambda row: row.pod is None), everything),
        further_attempts=tried.attempts - tried.logical_requests,
        external_hits_tokens=sum(external) if external else None,
    )


def _by_model(fleet: Fleet, sums: CacheSums, requests: RequestSums) -> tuple[GroupRow, ...]:
    """Models that engines serve or that requests name; one that only one side knows shows so."""
    models = {e.model_name for e in fleet.engines} | {row.model for row in requests.rows}
    return tuple(
        _group(
            sums,
            requests.where(lambda row, model=model: row.model == model),  # type: ignore[misc]
            model if model is not None else say("table.no_model"),
            model,
            {e.engine_id for e in fleet.engines if e.model_name == model},
        )
        for model in sorted(models, key=lambda m: (m is None, m or ""))
    )


def _by_engine(fleet: Fleet, sums: CacheSums, requests: RequestSums) -> tuple[GroupRow, ...]:
    """Engines, and what the gateway saw of each where requests name it."""
    rows = [
        _group(sums, requests.of_engine(e), e.name, e.model_name, {e.engine_id})
        for e in fleet.engines
    ]
    apart = {
        say("table.pod_only"): requests.where(lambda r: r.engine_id is None and r.pod is not None),
        say("table.unattributed"): requests.where(lambda r: r.pod is None),
    }
    for name, found in apart.items():
        models = {row.model for row in found.rows}
        if found.rows:
            model = models.pop() if len(models) == 1 else None
            rows.append(_group(sums, found, name, model, set()))
    return tuple(rows)


def _group(
    sums: CacheSums,
    requests: RequestSums,
    name: str,
    model: str | None,
    engines: set[int],
) -> GroupRow:
    hit_ratio = sums.ratio("engine_hit_ratio", engines=engines)
    return GroupRow(
        name=name,
        model=model,
        hit_ratio=hit_ratio,
        external_hit_ratio=sums.ratio("external_hit_ratio", engines=engines),
        lookup_inflation=sums.ratio("lookup_inflation", engines=engines),
        cached_prompt_ratio=sums.ratio("cached_prompt_ratio", engines=engines),
        queries_tokens=_tokens(sums, "queries_tokens", engines),
        hits_tokens=_tokens(sums, "hits_tokens", engines),
        prompt_tokens=_tokens(sums, "prompt_tokens", engines),
        restarted=hit_ratio.restarted,
        gateway_share=requests.share(),
        gateway_input_tokens=requests.tokens("gateway_input_tokens"),
    )


_INSTRUMENT = {
    "queries_tokens": "prefix_cache_queries",
    "hits_tokens": "prefix_cache_hits",
    "prompt_tokens": "prompt_tokens",
}


def _tokens(sums: CacheSums, metric: str, engines: set[int] | None) -> Reading:
    rows = [r for r in sums.sound(engines) if getattr(r, metric) is not None]
    return total(
        metric,
        (getattr(r, metric) for r in rows),
        absent=sums.fleet.absent(_INSTRUMENT[metric], engines=engines),
        coverage=sums.fleet.coverage_of(
            {r.engine_id for r in rows}, sum(r.samples for r in rows if r.samples is not None)
        ),
    )


def _heat(fleet: Fleet, rows: list[Row]) -> dict[str, tuple[Reading, ...]]:
    return {
        engine.name: ratio_line(
            "engine_hit_ratio", fleet.bins, [r for r in rows if r.engine_id == engine.engine_id]
        )
        for engine in fleet.engines
    }
