"""Test vectors of estimands and intervals: every one of them, at its own tolerance."""

import itertools
import json
from collections import Counter
from collections.abc import Callable
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.domain.statistics.bootstrap import bca_interval, bca_levels, percentile_interval
from core.domain.statistics.difference import separate_difference
from core.domain.statistics.evaluation_counts import EvaluationCounts
from core.domain.statistics.group import Group, group
from core.domain.statistics.independent import (
    Passes,
    farrington_manning,
    miettinen_nurminen,
    newcombe,
)
from core.domain.statistics.missing import Observed, bounds, difference_bounds, tipping_point
from core.domain.statistics.paired import paired_difference
from core.domain.statistics.pairs import PairCounts, newcombe_paired, tango
from core.domain.statistics.proportion import clopper_pearson, proportion, wilson_interval
from core.domain.statistics.quantiles import student
from core.domain.statistics.replicates import Arms
from core.domain.statistics.sums import ClusterSums, Interval, of_records

VECTORS = [
    one
    for one in json.loads((Path(__file__).parent / "vectors.json").read_text())["vectors"]
    if one["section"].split(".")[0] in {"1", "2"}
]
Inputs = dict[str, Any]
Found = dict[str, Any]


def of_clusters(n: list[int], passes: list[float]) -> ClusterSums:
    records, sizes = np.array(n), np.array(n, dtype=float)
    return ClusterSums(np.array(passes, dtype=float), sizes, sizes, records)


def limits(interval: Interval | None) -> Found:
    assert interval is not None
    return {"lower": interval.lower, "upper": interval.upper}


def one_rate(method: Callable[..., Interval | None]) -> Callable[[Inputs], Found]:
    return lambda i: limits(method(i["x"], i["n"], confidence=i["confidence"]))


def two_rates(method: Callable[..., Interval | None]) -> Callable[[Inputs], Found]:
    def run(i: Inputs) -> Found:
        new, base = Passes(i["x_new"], i["n_new"]), Passes(i["x_base"], i["n_base"])
        found = method(new, base, confidence=i["confidence"])
        return {"delta": new.rate - base.rate, **limits(found)}

    return run


def paired_rates(method: Callable[..., Interval | None]) -> Callable[[Inputs], Found]:
    def run(i: Inputs) -> Found:
        counts = PairCounts(*(i[name] for name in PairCounts._fields))
        return {"delta": counts.estimate, **limits(method(counts, confidence=i["confidence"]))}

    return run


def score_test(i: Inputs) -> Found:
    new, base = Passes(i["x_new"], i["n_new"]), Passes(i["x_base"], i["n_base"])
    found = farrington_manning(new, base, null_difference=i["null_delta"])
    assert found is not None
    return {
        "p_base_restricted": found.p_base,
        "p_new_restricted": found.p_new,
        "z": found.z,
        "p_value": found.p_value,
    }


def two_arms(i: Inputs) -> Found:
    arms = [group(of_clusters(i[name]["n"], i[name]["passes"])) for name in ("new", "base")]
    found = separate_difference(*arms, confidence=i["confidence"])
    assert found.estimate is not None
    assert found.interval is not None
    assert found.cr2 is not None
    assert found.effective is not None
    linear = sum(arm.v_lin for arm in arms)
    df_lin = linear**2 / sum(arm.v_lin**2 / (arm.clusters - 1) for arm in arms)
    half = student(df_lin, confidence=i["confidence"]) * sqrt(linear)
    result = {
        "delta": found.estimate,
        "df_cr2": found.df,
        "df_used": found.df,
        "lower_cr2": found.cr2.lower,
        "upper_cr2": found.cr2.upper,
        "lower_mover": found.effective.lower,
        "upper_mover": found.effective.upper,
        "lower_default": found.interval.lower,
        "upper_default": found.interval.upper,
        "df_lin": df_lin,
        "lower_lin": found.estimate - half,
        "upper_lin": found.estimate + half,
        "sparsity_count": found.sparsity,
        "sparse_flag": found.sparse,
    }
    for name, arm in zip(("new", "base"), arms, strict=True):
        result |= {
            f"p_{name}": arm.estimate,
            f"var_lin_{name}": arm.v_lin,
            f"var_cr2_{name}": arm.v_cr2,
            f"df_bm_{name}": arm.df,
            f"neff_{name}": arm.n_eff,
        }
    return result


def one_group(i: Inputs) -> Found:
    found = proportion(of_clusters(i["n"], i["passes"]), confidence=i["confidence"])
    return {
        "p": found.estimate,
        "var_lin": found.v_lin,
        "var_cr2": found.v_cr2,
        "df_bm": found.df,
        "n_eff": found.n_eff,
        "design_effect": found.deff,
        **limits(found.interval),
    }


def no_discordance(i: Inputs) -> Found:
    tasks = of_clusters([1] * i["tasks"], [1] * i["tasks"])
    return limits(paired_difference(tasks, tasks, confidence=i["confidence"]).interval)


def tasks(i: Inputs) -> Found:
    new = of_clusters([int(n) for n in i["task_new_n"]], i["task_new_passes"])
    base = of_clusters([int(n) for n in i["task_base_n"]], i["task_base_passes"])
    found = paired_difference(new, base, confidence=i["confidence"])
    return {
        "delta": found.estimate,
        "var": found.variance,
        "df": found.df,
        **limits(found.interval),
        "var_if_wrongly_unpaired": group(new).v_lin + group(base).v_lin,
        "discordant_tasks": found.discordant_clusters,
    }


def hajek(i: Inputs) -> Found:
    weights = [1 / probability for probability in i["inclusion_probability"]]
    sums = of_records(i["y"], i["cluster"], w=weights)
    found = group(sums)
    assert found.estimate is not None
    assert found.v_lin is not None
    error, df = sqrt(found.v_lin), found.clusters - 1
    c = student(df, confidence=i["confidence"])
    odds = log(found.estimate / (1 - found.estimate))
    step = c * error / (found.estimate * (1 - found.estimate))
    return {
        "cluster_sum_wy": sums.y.tolist(),
        "cluster_sum_w": sums.w.tolist(),
        "cluster_sum_w2": sums.s.tolist(),
        "p": found.estimate,
        "unweighted_p": of_records(i["y"], i["cluster"]).estimate,
        "horvitz_thompson_total": float(sums.y.sum()),
        "sum_w": found.weight,
        "kish_n": found.kish_n,
        "kish_clusters": found.kish_clusters,
        "var_lin": found.v_lin,
        "se_lin": error,
        "df_lin": df,
        "lower_wald_t": found.estimate - c * error,
        "upper_wald_t": found.estimate + c * error,
        "lower_logit": 1 / (1 + exp(step - odds)),
        "upper_logit": 1 / (1 + exp(-step - odds)),
        **korn_graubard(found, i["confidence"]),
        "var_cr2_scalar": found.v_cr2,
        "df_bm_scalar": found.df,
    }


def korn_graubard(found: Group, confidence: float) -> Found:
    """Beta quantiles with the effective size of the linearised variance."""
    worth = found.estimate * (1 - found.estimate) / found.v_lin
    ratio = student(found.records - 1, confidence=confidence)
    ratio /= student(found.clusters - 1, confidence=confidence)
    n = min(found.records, worth * ratio**2)
    interval = clopper_pearson(found.estimate * n, n, confidence=confidence)
    return {f"{name}_korn_graubard": value for name, value in limits(interval).items()}


def two_means(i: Inputs) -> Found:
    sums = of_clusters(i["cluster_n"], i["cluster_passes"])
    return {
        "ratio_of_sums": sums.estimate,
        "mean_of_cluster_means": float(np.mean(sums.y / sums.w)),
    }


def one_bound(i: Inputs) -> Found:
    found = bounds(Observed(i["passes"], i["n_observed"], i["n_eligible"]))
    assert found is not None
    return {"observed_rate": found.observed, "lower": found.lower, "upper": found.upper}


def observed(i: Inputs, name: str) -> Observed:
    return Observed(i[name]["passes"], i[name]["observed"], i[name]["eligible"])


def two_bounds(i: Inputs) -> Found:
    found = difference_bounds(observed(i, "new"), observed(i, "base"))
    assert found is not None
    return {
        "delta_observed": found.observed,
        "lower": found.lower,
        "upper": found.upper,
        "margin_02_robust": found.lower > -0.02,
    }


def tips(i: Inputs) -> Found:
    found = tipping_point(observed(i, "new"), observed(i, "base"), margin=i["margin"])
    assert found is not None
    return {"pass_rate_among_new_missing": found.rate, "gap_from_observed_new": found.gap}


def coverage(i: Inputs) -> Found:
    passes = sum(one for one in i["passes"] if one is not None)
    found = EvaluationCounts(**Counter(i["states"]), passes=passes)
    return {
        "n_requests": found.requests,
        "n_eligible": found.eligible,
        "n_complete": found.complete,
        "n_evaluated": found.ok,
        "incomplete_rate": found.incomplete_rate,
        "evaluator_error_rate_of_complete": found.evaluator_error_rate,
        "missing_rate_of_complete": found.missing_rate,
        "evaluation_coverage_of_complete": found.coverage,
        "pass_rate_completers": found.pass_rate,
        "pass_rate_composite_incomplete_fail": found.composite_pass_rate,
    }


def every_resample(i: Inputs) -> Found:
    sums = of_clusters(i["cluster_n"], i["cluster_passes"])
    size = sums.w.size
    draws = itertools.product(range(size), repeat=size)
    arms = Arms(sums)
    drawn = arms.replicates(np.array([np.bincount(d, minlength=size) for d in draws])).estimates
    theta, influence = sums.estimate, arms.jackknife()
    assert theta is not None
    without = [sums.where(np.arange(size) != g).estimate for g in range(size)]
    assert influence * size / (size - 1) == pytest.approx(np.mean(without) - np.array(without))
    percentile = percentile_interval(drawn, confidence=i["confidence"])
    levels = bca_levels(drawn, theta, influence, confidence=i["confidence"])
    bca = bca_interval(drawn, theta, influence, confidence=i["confidence"])
    assert levels is not None
    assert bca is not None
    return {
        "theta": theta,
        "n_resamples": drawn.size,
        "boot_mean": drawn.mean(),
        "boot_se_population": drawn.std(),
        "percentile_lower": percentile.lower,
        "percentile_upper": percentile.upper,
        "z0": levels.bias,
        "acceleration": levels.acceleration,
        "jackknife": without,
        "bca_alpha_lower": levels.lower,
        "bca_alpha_upper": levels.upper,
        "bca_lower": bca.lower,
        "bca_upper": bca.upper,
    }


HANDLERS: dict[str, Callable[[Inputs], Found]] = {
    "wilson": one_rate(wilson_interval),
    "clopper_pearson": one_rate(clopper_pearson),
    "newcombe_method10_diff": two_rates(newcombe),
    "miettinen_nurminen_diff": two_rates(miettinen_nurminen),
    "farrington_manning_test": score_test,
    "tango_paired_diff": paired_rates(tango),
    "newcombe_paired_method10": paired_rates(newcombe_paired),
    "clustered_difference_independent_arms": two_arms,
    "clustered_proportion_wilson_neff": one_group,
    "clustered_difference_paired_zero_variance": no_discordance,
    "clustered_difference_paired": tasks,
    "hajek_weighted_proportion_clustered": hajek,
    "ratio_of_sums_vs_mean_of_means": two_means,
    "worst_best_bounds": one_bound,
    "worst_best_bounds_delta": two_bounds,
    "tipping_point": tips,
    "coverage_counts": coverage,
    "cluster_bootstrap_full_enumeration": every_resample,
}


@pytest.mark.parametrize("vector", VECTORS, ids=[one["id"] for one in VECTORS])
def test_every_vector(vector: dict[str, Any]) -> None:
    """Every number of the vector comes out within its tolerance, what is undefined as None."""
    found = HANDLERS[vector["method"]](vector["inputs"])
    for name, expected in vector["expected"].items():
        if expected is None or isinstance(expected, bool):
            assert found[name] is expected, name
        else:
            assert found[name] == pytest.approx(expected, abs=vector["tolerance"], rel=0), name


def test_every_handler_is_used() -> None:
    """No handler without a vector: the file is read, and read whole."""
    assert {one["method"] for one in VECTORS} == set(HANDLERS)
