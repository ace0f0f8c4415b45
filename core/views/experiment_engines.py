"""What engines count, by arm: only where each arm has engines of its own."""

from collections import defaultdict

from core.cache.store import Row, Store
from core.domain.experiments.arms import Arm
from core.domain.experiments.plan import ExperimentPlan
from core.domain.gauges import mean_of_samples
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.views.experiment_arms import plan_scope, so_far
from core.views.experiment_efficiency import EfficiencyRow
from core.views.fleet import Fleet, load_fleet, query_params
from core.views.lines import or_absent
from core.views.sums import cache_sums

TIMES = {
    "engine_queue_s": "request_queue_time_seconds",
    "engine_prefill_s": "request_prefill_time_seconds",
}
RESULTS = ("engine_hit_ratio", "kv_usage_mean")
METRICS_OF_ENGINES = (*RESULTS, *TIMES)


def engine_rows(store: Store, plan: ExperimentPlan, now: float) -> tuple[EfficiencyRow, ...]:
    """Rows of what engines count; without arms where they are shared."""
    if not plan.arms.have_engines:
        return tuple(
            EfficiencyRow(metric, None, None, beside=metric in TIMES)
            for metric in METRICS_OF_ENGINES
        )
    base, new = (_readings(store, plan, now, arm) for arm in (Arm.BASE, Arm.NEW))
    return tuple(_row(metric, base[metric], new[metric]) for metric in METRICS_OF_ENGINES)


def _row(metric: str, base: Reading, new: Reading) -> EfficiencyRow:
    delta = None if base.value is None or new.value is None else new.value - base.value
    return EfficiencyRow(metric, base, new, delta, beside=metric in TIMES)


def _readings(store: Store, plan: ExperimentPlan, now: float, arm: Arm) -> dict[str, Reading]:
    if so_far(plan, now, arm).length_s < 1:
        return {metric: Reading(metric, None, Reason.NO_TRAFFIC) for metric in METRICS_OF_ENGINES}
    fleet = load_fleet(store, plan_scope(plan, now, arm), now)
    params = query_params(fleet.scope, fleet.window)
    usage = store.read("kv_usage", params)
    times: dict[str, list[Row]] = defaultdict(list)
    for row in store.read("engine_request_times", params):
        times[row.instrument].append(row)
    kv = or_absent(
        "kv_usage_mean",
        mean_of_samples((row.usage_sum, row.samples) for row in usage),
        fleet.absent("kv_cache_usage_perc"),
        fleet.coverage_of_rows(usage),
    )
    return {
        "engine_hit_ratio": cache_sums(store, fleet).ratio("engine_hit_ratio"),
        "kv_usage_mean": kv,
    } | {metric: _time(fleet, metric, name, times) for metric, name in TIMES.items()}


def _time(fleet: Fleet, metric: str, name: str, rows: dict[str, list[Row]]) -> Reading:
    """Seconds over requests, both summed over the engines that give both."""
    parts = [
        {row.engine_id: row for row in rows[f"{name}_{part}"] if row.amount is not None}
        for part in ("sum", "count")
    ]
    both = [(parts[0][engine], parts[1][engine]) for engine in parts[0] if engine in parts[1]]
    return ratio_of_sums(
        metric,
        sum(total.amount for total, _ in both) if both else None,
        sum(count.amount for _, count in both) if both else None,
        coverage=fleet.coverage_of_rows([count for _, count in both]),
        absent=fleet.absent(name),
        at_most_one=False,
    )
