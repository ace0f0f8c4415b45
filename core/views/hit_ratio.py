"""Hit ratio: the three ratios side by side, reconciled, over time, by engine and model."""

from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import change, total
from core.domain.reading import Reading, Reason
from core.domain.scope import Scope
from core.views.fleet import Fleet, load_fleet, query_params
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


@dataclass(frozen=True)
class HitRatioView:
    """Everything the Hit ratio page shows."""

    fleet: Fleet
    ratios: tuple[Reading, ...]
    change: float | None
    checks: tuple[Reading, ...]
    tokens: tuple[Reading, ...]
    inflated: tuple[Inflated, ...]
    broken: tuple[str, ...]
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
    earlier = fleet.window.earlier(scope.compare)
    before = cache_sums(store, fleet, earlier).ratio("engine_hit_ratio") if earlier else None
    hit_ratio = sums.ratio("engine_hit_ratio")
    over_time = store.read("hit_ratio_over_time", query_params(scope, fleet.window))
    by_engine = tuple(_group(sums, e.name, e.model_name, {e.engine_id}) for e in fleet.engines)
    return HitRatioView(
        fleet=fleet,
        ratios=(
            hit_ratio,
            Reading("gateway_cached_share", None, Reason.NOT_CONNECTED),
            Reading("request_cached_ratio", None, Reason.NOT_CONNECTED),
        ),
        change=change(hit_ratio, before),
        checks=tuple(sums.ratio(metric) for metric in CHECKS),
        tokens=tuple(_tokens(sums, metric, None) for metric in TOKENS),
        inflated=sums.inflated(),
        broken=sums.broken("engine_hit_ratio"),
        engine_line=ratio_line("engine_hit_ratio", fleet.bins, sums.sound_in(over_time)),
        external_line=ratio_line("external_hit_ratio", fleet.bins, over_time),
        inflation_line=ratio_line("lookup_inflation", fleet.bins, over_time),
        heat=_heat(fleet, over_time),
        by_model=_by_model(fleet, sums),
        by_engine=by_engine,
    )


def _by_model(fleet: Fleet, sums: CacheSums) -> tuple[GroupRow, ...]:
    models = sorted({e.model_name for e in fleet.engines}, key=lambda m: (m is None, m or ""))
    return tuple(
        _group(
            sums,
            model or "(no model label)",
            model,
            {e.engine_id for e in fleet.engines if e.model_name == model},
        )
        for model in models
    )


def _group(sums: CacheSums, name: str, model: str | None, engines: set[int]) -> GroupRow:
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
