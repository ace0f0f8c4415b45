"""Reference values of gates, plans, looks, strata, exposure, agreement and quantiles.

Every vector of these sections has a handler here; one without fails.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import count, pairwise
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from core.domain.counters import SampleBlock, counter_cells, counter_steps
from core.domain.histograms import quantile_bounds, share_below
from core.domain.order_statistics import rank_interval, sampled_count
from core.domain.statistics.agreement import cohen_kappa, gwet_ac1
from core.domain.statistics.association import rank_sums, spearman
from core.domain.statistics.equivalence import is_equivalent, tost
from core.domain.statistics.gate import confidence_of, judge
from core.domain.statistics.holds import Hold, HoldReason
from core.domain.statistics.independent import Passes, restricted_base_rate
from core.domain.statistics.krippendorff import (
    Metric,
    coincidences,
    krippendorff_alpha,
    value_counts,
)
from core.domain.statistics.multiplicity import benjamini_hochberg, critical_values, holm
from core.domain.statistics.planning import (
    arm_size,
    design_effect,
    detectable_margin,
    icc_of_passes,
    records_needed,
)
from core.domain.statistics.sample_ratio import sample_ratio
from core.domain.statistics.sequential import (
    Spending,
    boundaries,
    classical_constant,
    confidence_sequence,
    repeated_looks_error,
)
from core.domain.statistics.standardised import (
    Stratum,
    crude_delta,
    mantel_haenszel,
    sato_variance,
    standardised,
)
from core.domain.statistics.sums import ClusterSums, Interval
from core.domain.strata import cached_stratum
from core.domain.windows import (
    Preempt,
    PreemptCell,
    PreemptWindow,
    events_in_overlap,
    exposure,
    preempt_windows,
)

SECTIONS = ("3", "4", "5", "6", "7", "8", "9")
ALL = json.loads((Path(__file__).parent / "vectors.json").read_text())["vectors"]
VECTORS = [one for one in ALL if one["section"].split(".")[0] in SECTIONS]

Answer = dict[str, Any]
HANDLERS: dict[str, Callable[[Mapping[str, Any]], Answer]] = {}


def handles(*methods: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    def register(handler: Callable[..., Answer]) -> Callable[..., Answer]:
        HANDLERS.update(dict.fromkeys(methods, handler))
        return handler

    return register


@pytest.mark.parametrize("vector", VECTORS, ids=[one["id"] for one in VECTORS])
def test_a_method_gives_its_reference_value(vector: Mapping[str, Any]) -> None:
    """Every figure of a vector is found, within the vector's tolerance."""
    got = HANDLERS[vector["method"]](vector["inputs"])
    for key, expected in vector["expected"].items():
        if key != "note":
            assert_close(got[key], expected, vector["tolerance"], key)


def assert_close(got: Any, expected: Any, tolerance: float, key: str) -> None:
    if isinstance(expected, dict):
        assert set(got) == set(expected), key
        for name in expected:
            assert_close(got[name], expected[name], tolerance, f"{key}.{name}")
    elif isinstance(expected, list):
        assert len(got) == len(expected), key
        for i, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_close(one, other, tolerance, f"{key}[{i}]")
    elif isinstance(expected, bool | str) or expected is None:
        assert got == expected, key
    else:
        assert got is not None, key
        assert abs(got - expected) <= max(tolerance, 1e-15), (key, got, expected)


def test_there_are_vectors_of_every_section() -> None:
    """No section is left out by a change of its name."""
    assert {one["section"].split(".")[0] for one in VECTORS} == set(SECTIONS)


# 3 gate


@handles("sample_ratio_mismatch")
def _sample_ratio(given: Mapping[str, Any]) -> Answer:
    found = sample_ratio(given["sessions"], given["planned_ratio"])
    assert found is not None
    return {"chi2": found.chi2, "p_value": found.p, "mismatch": found.is_mismatch()}


@handles("three_verdict")
def _verdict(given: Mapping[str, Any]) -> Answer:
    interval = Interval(given["lower"], given["upper"])
    holds = [Hold(HoldReason(reason)) for reason in given["hold_reasons"]]
    found = judge(interval, given["margin"], holds=holds)
    inside = is_equivalent(interval, -given["margin"], given["margin"])
    return {
        "verdict": found.verdict,
        "interval_verdict": found.interval_verdict,
        "flags": list(found.flags),
        "equivalent_tost_same_interval": inside,
    }


@handles("level_map")
def _levels(given: Mapping[str, Any]) -> Answer:
    confidence = confidence_of(given["one_sided_alpha"])
    return {"two_sided_confidence_for_ni": confidence, "tost_confidence": confidence}


@handles("tost")
def _tost(given: Mapping[str, Any]) -> Answer:
    found = tost(
        given["delta"],
        given["se"],
        df=given["df"],
        low=given["low"],
        high=given["high"],
        alpha=given["alpha"],
    )
    assert found is not None
    return {
        "t_lower": found.t_lower,
        "t_upper": found.t_upper,
        "p_lower": found.p_lower,
        "p_upper": found.p_upper,
        "p_tost": found.p,
        "ci90": list(found.interval),
        "equivalent": found.equivalent,
    }


# 4 planning


@handles("ni_sample_size_clustered")
def _sample_size(given: Mapping[str, Any]) -> Answer:
    rates, ratio, margin = (
        (given["p_new"], given["p_base"]),
        given["ratio_new_to_base"],
        given["margin"],
    )
    rest = {
        "margin": margin,
        "alpha": given["alpha_one_sided"],
        "power": given["power"],
        "ratio": ratio,
    }
    base = restricted_base_rate(Passes(ratio * rates[0], ratio), Passes(rates[1], 1), -margin)
    wald = records_needed(*rates, **rest)
    fm = records_needed(*rates, **rest, restricted=(base - margin, base))
    size = given["mean_cluster_size"]
    effect = design_effect(size, cv_size=given["cv_cluster_size"], icc=given["icc"])
    assert wald is not None
    assert fm is not None
    of_base = arm_size(ceil(wald), effect=effect, mean_size=size)
    of_new = arm_size(ratio * wald, effect=effect, mean_size=size)
    assert of_base is not None
    assert of_new is not None
    return {
        "n_base_wald": wald,
        "n_base_wald_ceil": ceil(wald),
        "n_base_farrington_manning": fm,
        "n_base_fm_ceil": ceil(fm),
        "design_effect": effect,
        "requests_base": of_base.requests,
        "clusters_base": of_base.clusters,
        "requests_new": of_new.requests,
        "clusters_new": of_new.clusters,
    }


@handles("minimum_detectable_margin")
def _detectable(given: Mapping[str, Any]) -> Answer:
    se, rest = (
        given["se_delta"],
        {"alpha": given["alpha_one_sided"], "assumed_delta": given["assumed_delta"]},
    )
    return {
        "margin_z": detectable_margin(se, df=inf, power=given["power"], **rest),
        "margin_t": detectable_margin(se, df=given["df"], power=given["power"], **rest),
        "half_width_margin": detectable_margin(se, df=given["df"], power=0.5, **rest),
    }


@handles("icc_anova_binary")
def _icc(given: Mapping[str, Any]) -> Answer:
    found = icc_of_passes(np.array(given["cluster_n"]), np.array(given["cluster_passes"], float))
    assert found is not None
    return {
        "icc": found.icc,
        "ms_between": found.between,
        "ms_within": found.within,
        "n0": found.typical_size,
    }


@handles("design_effect")
def _effect(given: Mapping[str, Any]) -> Answer:
    effect = design_effect(
        given["mean_cluster_size"], cv_size=given["cv_cluster_size"], icc=given["icc"]
    )
    return {"design_effect": effect}


# 5 multiplicity and looks


@handles("holm_and_bh")
def _adjusted(given: Mapping[str, Any]) -> Answer:
    by_holm, by_bh = holm(given["p"]), benjamini_hochberg(given["p"])
    return {
        "holm": by_holm,
        "bh": by_bh,
        "holm_rejections": sum(p <= given["alpha"] for p in by_holm if p is not None),
        "bh_rejections": sum(q <= given["alpha"] for q in by_bh if q is not None),
    }


@handles("simultaneous_critical_values")
def _critical(given: Mapping[str, Any]) -> Answer:
    found = critical_values(given["n_intervals"], df=given["df"], confidence=given["confidence"])
    assert found is not None
    return {"z_bonferroni": found.z, "t_bonferroni": found.t, "z_sidak": found.z_sidak}


def _looks(given: Mapping[str, Any], spending: Spending) -> Answer:
    found = boundaries(
        given["information_fractions"], alpha=given["alpha_one_sided"], spending=spending
    )
    return {"z": [one.z for one in found], "cumulative_alpha": [one.spent for one in found]}


@handles("lan_demets_obf_one_sided")
def _obf(given: Mapping[str, Any]) -> Answer:
    return _looks(given, Spending.OBRIEN_FLEMING)


@handles("lan_demets_pocock_one_sided")
def _pocock(given: Mapping[str, Any]) -> Answer:
    return _looks(given, Spending.POCOCK)


@handles("pocock_obf_constants_two_sided_05")
def _classical(given: Mapping[str, Any]) -> Answer:
    looks, alpha = given["looks"], given["alpha_two_sided"]
    return {
        "pocock_c": classical_constant(looks, alpha=alpha, shape=Spending.POCOCK),
        "obf_c": classical_constant(looks, alpha=alpha),
    }


@handles("naive_repeated_looks_error")
def _naive(given: Mapping[str, Any]) -> Answer:
    return {"error": [repeated_looks_error(looks, z=given["z"]) for looks in given["looks"]]}


@handles("asymptotic_confidence_sequence_two_sided")
def _sequence(given: Mapping[str, Any]) -> Answer:
    n, sigma, alpha = given["n"], given["sigma"], given["alpha"]
    found = confidence_sequence(n, sigma, tightest_at=given["tuned_for_n"], alpha=alpha)
    assert found is not None
    fixed = float(ndtri(1 - alpha / 2)) * sigma / n**0.5
    return {
        "rho": found.rho,
        "half_width": found.half_width,
        "fixed_n_half_width": fixed,
        "ratio": found.half_width / fixed,
    }


# 6 strata


@handles("cached_ratio_stratum")
def _cached(given: Mapping[str, Any]) -> Answer:
    def stratum(value: float | None) -> str:
        if value is None:
            return str(cached_stratum(None, 1000))
        cached, total = Decimal(str(value)).as_integer_ratio()
        return str(cached_stratum(cached, total))

    return {"strata": [stratum(value) for value in given["values"]]}


@handles("simpson_mh_standardised")
def _simpson(given: Mapping[str, Any]) -> Answer:
    strata = [
        Stratum(_records(s["new_pass"], s["new_n"]), _records(s["base_pass"], s["base_n"]))
        for s in given["strata"]
    ]
    return {
        "crude_delta": crude_delta(strata),
        "stratum_deltas": [one.delta for one in strata],
        "mh_risk_difference": mantel_haenszel(strata).delta,
        "mh_var_sato": sato_variance(strata),
        "direct_standardised_delta": standardised(strata).delta,
    }


def _records(passes: int, n: int) -> ClusterSums:
    ones = np.ones(1)
    return ClusterSums(passes * ones, n * ones, n * ones, np.array([n]))


@handles("standardised_delta_clustered_variance")
def _clustered(given: Mapping[str, Any]) -> Answer:
    names = sorted({row["cluster"] for row in given["rows"]})
    strata = [
        Stratum(*(_sums(given["rows"], names, arm, stratum) for arm in ("new", "base")))
        for stratum in given["direct_weights"]
    ]
    mh = mantel_haenszel(strata)
    direct = standardised(strata, weights=list(given["direct_weights"].values()))
    assert direct.influence is not None
    return {
        "mh_delta": mh.delta,
        "mh_var": mh.variance,
        "direct_delta": direct.delta,
        "direct_var": direct.variance,
        "influence_direct": dict(zip(names, direct.influence.tolist(), strict=True)),
    }


def _sums(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], arm: str, stratum: str
) -> ClusterSums:
    n, passes = np.zeros(len(names), np.int64), np.zeros(len(names))
    for row in rows:
        if (row["arm"], row["stratum"]) == (arm, stratum):
            n[names.index(row["cluster"])] += row["n"]
            passes[names.index(row["cluster"])] += row["passes"]
    return ClusterSums(passes, n.astype(float), n.astype(float), n)


@handles("spearman_midrank")
def _spearman(given: Mapping[str, Any]) -> Answer:
    sums = rank_sums(given["x"], given["y"], clusters=range(len(given["x"])))
    return {"rho": spearman(sums).rho}


# 7 exposure


@handles("preempt_window_exposure")
def _exposure(given: Mapping[str, Any]) -> Answer:
    start, end = given["request"]
    states = {None: Preempt.UNKNOWN, 0: Preempt.ZERO}
    increases = [
        (PreemptWindow(w["start"], w["end"], states.get(w["increase"], Preempt.ONE)), w["increase"])
        for w in given["windows"]
    ]
    tolerance = given["clock_skew_s"]
    found = events_in_overlap(increases, start, end, tolerance=tolerance)
    assert found is not None
    return {
        "exposure": exposure([one for one, _ in increases], start, end, tolerance=tolerance),
        "covered_fraction": found.covered_share,
        "expected_events_in_overlap": found.expected,
        "prob_at_least_one_event_poisson": found.any_probability,
    }


def _block(times: Sequence[float], values: Sequence[float]) -> SampleBlock:
    n = len(times)
    return SampleBlock(
        np.zeros(n, np.int64), np.array(times, float), np.array(values, float), np.ones(n, bool)
    )


@handles("counter_increase")
def _increase(given: Mapping[str, Any]) -> Answer:
    times, values = zip(*given["samples"], strict=True)
    steps = counter_steps(_block(times, values))
    return {
        "raw_increase": float(steps.increase[steps.paired].sum()),
        "resets": int(steps.reset.sum()),
    }


@handles("scrape_coverage")
def _coverage(given: Mapping[str, Any]) -> Answer:
    times, interval = given["sample_times"], float(given["scrape_interval_s"])
    start, end = given["window"]
    block = _block(times, [0.0] * len(times))
    found = counter_cells(block, counter_steps(block), scrape_interval_s=np.array([interval]))
    cells = [
        PreemptCell(*values)
        for values in zip(
            found.minute.tolist(),
            found.increase.tolist(),
            found.gap_increase.tolist(),
            found.samples.tolist(),
            found.largest_gap_s.tolist(),
            found.first_at.tolist(),
            found.last_at.tolist(),
            strict=True,
        )
    ]
    window = preempt_windows(cells, start=start, end=end - 1, interval_s=interval)[0]
    samples = int(found.samples.sum())
    return {
        "expected_samples": (end - start) / interval,
        "observed_samples": samples,
        "coverage": samples * interval / (end - start),
        "max_gap_s": float(np.nanmax(found.largest_gap_s)),
        "status_if_min_samples_2_and_max_gap_30": window.state,
    }


# 8 agreement


@handles("cohen_kappa")
def _kappa(given: Mapping[str, Any]) -> Answer:
    found = cohen_kappa(given["table"])
    assert found is not None
    return {
        "percent_agreement": found.observed,
        "expected_agreement": found.expected,
        "kappa": found.kappa,
        "kappa_se": found.se,
        "gwet_ac1": gwet_ac1(given["table"]),
    }


@handles("krippendorff_alpha", "krippendorff_alpha_nominal")
def _alpha(given: Mapping[str, Any]) -> Answer:
    units = [[v for v in unit if v is not None] for unit in zip(*given["raters"], strict=True)]
    values, counts = value_counts(units)
    pairs = coincidences(counts)
    found = {f"alpha_{m}": krippendorff_alpha(pairs, values, metric=m) for m in Metric}
    return {**found, "alpha": found["alpha_nominal"]}


# 9 buckets and samples


def _buckets(given: Mapping[str, Any]) -> list[tuple[float, float]]:
    rows = [(float(edge), float(upto)) for edge, upto in given["buckets"]]
    first = rows[0]
    return [first, *((edge, upto - before) for (_, before), (edge, upto) in pairwise(rows))]


@handles("histogram_quantile_with_bounds")
def _quantile(given: Mapping[str, Any]) -> Answer:
    found = quantile_bounds(_buckets(given), given["q"])
    if found is None:
        return dict.fromkeys(("estimate", "bucket_lower", "bucket_upper"))
    return {
        "estimate": found.estimate,
        "bucket_lower": found.lower,
        "bucket_upper": found.upper,
        "censored_at_top": found.censored,
    }


@handles("histogram_cdf")
def _share(given: Mapping[str, Any]) -> Answer:
    found = [share_below(_buckets(given), threshold) for threshold in given["thresholds"]]
    return {key: [getattr(one, key) for one in found] for key in ("estimate", "lower", "upper")}


@handles("quantile_ci_order_statistics")
def _ranks(given: Mapping[str, Any]) -> Answer:
    found = rank_interval(given["n"], given["q"], level=given["confidence"])
    return {"lower_rank": found.lower, "upper_rank": found.upper, "coverage": found.coverage}


@handles("min_n_for_quantile_upper_limit")
def _fewest(given: Mapping[str, Any]) -> Answer:
    level = 1 - 2 * given["one_sided_tail"]
    fewest = [
        next(n for n in count(1) if rank_interval(n, q, level=level).upper is not None)
        for q in given["q"]
    ]
    return {"min_n": fewest}


@handles("sampled_evictions")
def _sampled(given: Mapping[str, Any]) -> Answer:
    found = sampled_count(given["evictions"], given["sample_rate"])
    assert found is not None
    return {
        "expected": found.expected,
        "sd": found.sd,
        "interval95": [found.lower, found.upper],
        "prob_zero": found.none,
    }
