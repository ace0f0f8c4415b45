"""Small cases worked by hand, from samples to what the pages say."""

import math

import numpy as np
import pytest

from core.domain.reading import Reason
from core.domain.scope import Scope
from core.views import data_health
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import (
    CONFIG,
    EVERY,
    HITS,
    KV_USAGE,
    PROMPT,
    QUERIES,
    T0,
    TTFT,
    Rig,
    engine,
    scrapes,
    target,
)

A, B = engine("a"), engine("b")
WINDOW = (T0, T0 + 300)


def counters(
    fake: FakePrometheus, labels: dict[str, str], queries: list[float], hits: list[float]
) -> None:
    times = scrapes(len(queries))
    fake.add("up", times, [1.0] * len(queries), **target(labels))
    fake.add(QUERIES, times, queries, **labels)
    fake.add(HITS, times, hits, **labels)


def collected(rig: Rig) -> Rig:
    rig.collect(*WINDOW)
    return rig


# --- ratios ---------------------------------------------------------------------------


def test_sums_first_restart_included(rig: Rig) -> None:
    """Tokens are summed over engines before dividing; a fall counts its new value, marked."""
    counters(rig.fake, A, [1000, 2000, 3000], [900, 1800, 2700])
    counters(rig.fake, B, [9000, 10000, 500], [900, 1000, 50])
    view = collected(rig).hit_ratio(*WINDOW)
    fleet = view.ratios[0]
    assert (fleet.numerator, fleet.denominator) == (1950, 3500)
    assert fleet.value == pytest.approx(0.55714, abs=5e-6)
    assert {row.name: row.restarted for row in view.by_engine} == {"a": 0, "b": 1}
    assert [(lever[0], lever[1]) for lever in rig.levers()] == [("restart", 2 * EVERY)]
    assert [change.engine for change in view.fleet.changes] == ["b"]


def test_ratios_are_not_averaged(rig: Rig) -> None:
    """A busy engine at 90 % and an idle one at 0 % are 89 %, and nowhere 45 %."""
    counters(rig.fake, A, [0, 100_000], [0, 90_000])
    counters(rig.fake, B, [0, 1_000], [0, 0])
    view = collected(rig).hit_ratio(*WINDOW)
    assert view.ratios[0].value == pytest.approx(0.89109, abs=5e-6)
    everywhere = [
        *view.ratios,
        *view.checks,
        *view.engine_line,
        *(row.hit_ratio for row in (*view.by_model, *view.by_engine)),
        *(tile.reading for tile in rig.live(*WINDOW).tiles),
    ]
    assert not [r for r in everywhere if r.value is not None and 0.4 < r.value < 0.5]


def test_kv_usage_is_not_added_up(rig: Rig) -> None:
    """Two engines at 40 % are 40 % at most and 40 % on average."""
    for labels in (A, B):
        counters(rig.fake, labels, [1, 2, 3], [1, 2, 3])
        rig.fake.add(KV_USAGE, scrapes(3), [0.4, 0.4, 0.4], **labels)
    view = collected(rig).live(*WINDOW)
    assert [v for v in view.kv_usage_max if v is not None] == [0.4]
    assert [v for v in view.kv_usage_mean if v is not None] == [pytest.approx(0.4)]
    (tile,) = [t.reading for t in view.tiles if t.reading.metric == "kv_usage_max"]
    assert tile.value == 0.4
    assert [row.kv_usage_max.value for row in view.engines] == [0.4, 0.4]


# --- reasons --------------------------------------------------------------------------


def reason(rig: Rig) -> Reason | None:
    view = collected(rig).hit_ratio(*WINDOW)
    assert view.ratios[0].value is None
    assert view.by_engine[0].hit_ratio.reason is view.ratios[0].reason
    return view.ratios[0].reason


def test_standing_counters_are_no_traffic(rig: Rig) -> None:
    """Counters that stand still over three scrapes are not 0 %."""
    counters(rig.fake, A, [500, 500, 500], [400, 400, 400])
    assert reason(rig) is Reason.NO_TRAFFIC


def test_more_hits_than_lookups_is_a_contract_error(rig: Rig) -> None:
    """What cannot be is named, with its sums, and not clamped to 100 %."""
    counters(rig.fake, A, [0, 100], [0, 101])
    assert reason(rig) is Reason.CONTRACT_ERROR
    view = rig.hit_ratio(*WINDOW)
    assert (view.ratios[0].numerator, view.ratios[0].denominator) == (101, 100)
    assert view.broken == ("a",)


@pytest.mark.parametrize("suffix", ["", "_total"])
def test_old_names_are_renamed_and_not_read(rig: Rig, suffix: str) -> None:
    """A server that only knows vllm:gpu_prefix_cache_* is named as such, never 0."""
    for kind in ("queries", "hits"):
        rig.fake.add(f"vllm:gpu_prefix_cache_{kind}{suffix}", scrapes(4), [1, 2, 3, 4], **A)
    assert reason(rig) is Reason.RENAMED
    assert rig.value("select count(*) from counter_cells") == 0


def test_absent_counters_are_not_exported(rig: Rig) -> None:
    """An engine without these counters is there, and its ratio is not exported."""
    rig.fake.add("vllm:num_requests_running", scrapes(4), [1, 1, 1, 1], **A)
    assert reason(rig) is Reason.NOT_EXPORTED


def test_one_scrape_is_too_few(rig: Rig) -> None:
    """One sample of a counter says nothing."""
    counters(rig.fake, A, [500], [400])
    assert reason(rig) is Reason.TOO_FEW_SCRAPES


def test_nothing_is_no_engine(rig: Rig) -> None:
    """An empty Prometheus is connected and has no engine."""
    assert collected(rig).hit_ratio(*WINDOW).ratios[0].reason is Reason.NO_ENGINE


# --- samples and labels ---------------------------------------------------------------


def test_impossible_samples_are_left_out_and_logged(rig: Rig) -> None:
    """NaN, infinite and negative samples change no sum, and the log counts them."""
    counters(
        rig.fake,
        A,
        [100, math.nan, 200, math.inf, 300, -5, 400],
        [10, 20, 30, 40, 50, 60, 70],
    )
    rig.fake.add(KV_USAGE, scrapes(7), [0.1, math.nan, 0.2, 0.3, 0.2, 0.1, 0.2], **A)
    collected(rig)
    assert rig.total("prefix_cache_queries") == 300
    assert rig.value("select sum(resets)::int from minute_counters") == 0
    assert rig.value("select sum(samples)::int from minute_gauges") == 6
    notes = dict(rig.sql("select detail, level from source_log"))
    assert {text.split(" were")[0] for text in notes} == {
        f"3 samples of {QUERIES}",
        f"1 samples of {KV_USAGE}",
    }
    assert set(notes.values()) == {"error"}


def test_an_edge_that_is_no_number_stops_nobody(rig: Rig) -> None:
    """One malformed bucket does not end the collector: other series are still read."""
    counters(rig.fake, A, [0, 100], [0, 50])
    rig.fake.add(f"{TTFT}_bucket", scrapes(2), [0, 1], le="fast", **A)
    assert collected(rig).hit_ratio(*WINDOW).ratios[0].value == 0.5
    assert f"{TTFT}_bucket" in rig.value("select detail from source_log")


def test_missing_labels_stay_missing(rig: Rig) -> None:
    """An engine without cluster, namespace and pod is there, with nothing invented."""
    bare = {"job": "vllm", "instance": "a:8000", "model_name": "m", "engine": "0"}
    counters(rig.fake, bare, [0, 100], [0, 50])
    view = collected(rig).hit_ratio(*WINDOW)
    (found,) = view.fleet.engines
    assert found.name == "(no pod label)"
    assert rig.sql("select cluster, namespace, pod from engines") == [(None, None, None)]
    assert view.ratios[0].value == 0.5
    health = data_health.build(rig.store, Scope(start=WINDOW[0], end=WINDOW[1]), rig.fake.now)
    assert health.targets[0].missing_labels == ("cluster", "namespace", "pod")


def test_names_without_total_are_found(rig: Rig) -> None:
    """Counters of a server that leaves out `_total` are the same counters."""
    for name, values in ((QUERIES, [0, 100, 200]), (HITS, [0, 60, 120])):
        rig.fake.add(name.removesuffix("_total"), scrapes(3), values, **A)
    assert collected(rig).hit_ratio(*WINDOW).ratios[0].value == 0.6
    assert set(
        rig.sql("select distinct state, exported_name from exports where state = 'exported'")
    ) == {
        ("exported", "vllm:prefix_cache_queries"),
        ("exported", "vllm:prefix_cache_hits"),
    }


def test_a_label_added_to_a_target_changes_no_sum(rig: Rig) -> None:
    """A new label in the scrape configuration makes a new series of the same counter."""
    times, values = scrapes(12), [100.0 * i for i in range(12)]
    rig.fake.add(QUERIES, times[:7], values[:7], **A)
    rig.fake.add(QUERIES, times[7:], values[7:], **A, env="prod")
    collected(rig)
    assert rig.total("prefix_cache_queries") == 1100
    assert rig.value("select sum(resets)::int from minute_counters") == 0


def test_a_label_added_between_slices_changes_no_sum(rig: Rig) -> None:
    """The same, where the old series was already known from an earlier slice."""
    times, values = scrapes(160), [100.0 * i for i in range(160)]
    rig.fake.add(QUERIES, times[:70], values[:70], **A)
    rig.fake.add(QUERIES, times[70:], values[70:], **A, env="prod")
    rig.collect(T0, T0 + 2400)
    assert rig.total("prefix_cache_queries") == 15_900
    assert rig.value("select sum(resets)::int from minute_counters") == 0


def test_series_that_cannot_be_told_apart_are_not_added_up(rig: Rig) -> None:
    """Two at once that differ in an unknown label: one is read, and the log says so."""
    counters(rig.fake, A, [0, 100, 200], [0, 50, 100])
    rig.fake.add(QUERIES, scrapes(3), [0, 100, 200], **A, copy="2")
    assert collected(rig).total("prefix_cache_queries") == 200
    (title, detail, step) = rig.sql("select title, detail, next_step from source_log")[0]
    assert QUERIES in detail
    assert title
    assert step


# --- series that are born -------------------------------------------------------------


def born(rig: Rig, ups: list[float]) -> float | None:
    """What is counted of a series whose first sample, 40, comes at the third scrape."""
    times = scrapes(4)
    rig.fake.add("vllm:num_requests_running", times, [0, 0, 0, 0], **A)
    if ups:
        rig.fake.add("up", times[-len(ups) :], ups, **target(A))
    rig.fake.add(QUERIES, times[2:], [40, 50], **A)
    return collected(rig).total("prefix_cache_queries")


def test_a_series_born_between_good_scrapes_counts_its_first_value(rig: Rig) -> None:
    """The scrape before succeeded without it: it began at 0."""
    assert born(rig, [1, 1, 1, 1]) == 50


def test_a_series_born_after_a_failed_scrape_does_not(rig: Rig) -> None:
    """Nobody knows since when it was there."""
    assert born(rig, [1, 0, 1, 1]) == 10


@pytest.mark.parametrize("ups", [[], [1, 1]])
def test_a_series_without_an_earlier_scrape_does_not(rig: Rig, ups: list[float]) -> None:
    """The first scrape of a target, or no `up` at all, says nothing about before."""
    assert born(rig, ups) == 10


def test_a_scrape_of_another_cluster_is_not_mine(rig: Rig) -> None:
    """Two clusters may use one address: the other one's good scrape says nothing here."""
    mine = A | {"cluster": "z"}
    rig.fake.add("up", scrapes(4), [1, 1, 1, 1], **target(A))
    rig.fake.add("up", scrapes(4), [1, 0, 1, 1], **target(mine))
    rig.fake.add(QUERIES, scrapes(2, start=T0 + 2 * EVERY), [40, 50], **mine)
    assert collected(rig).total("prefix_cache_queries") == 10


def test_an_address_used_again_keeps_both_histories(rig: Rig) -> None:
    """A pod gone and another one at its address are two engines with their own scrapes."""
    old, new = engine("z", instance="10.0.0.1:8000"), engine("a", instance="10.0.0.1:8000")
    early, late = scrapes(8), scrapes(8, start=T0 + 120)
    for times, labels in ((early, old), (late, new)):
        rig.fake.add("up", times, [1.0] * 8, **target(labels))
        rig.fake.add("vllm:num_requests_running", times, [0.0] * 8, **labels)
        rig.fake.add(QUERIES, times[3:], [40, 50, 60, 70, 80], **labels)
    assert collected(rig).total("prefix_cache_queries") == 160


# --- holes and restarts ---------------------------------------------------------------


def test_a_hole_stays_a_hole(rig: Rig) -> None:
    """No cell inside it; what is seen after it is kept apart; its seconds are not covered."""
    times = scrapes(40)
    there = (times < T0 + 90) | (times >= T0 + 390)
    queries = 10.0 * np.arange(40)
    rig.fake.add("up", times[there], there[there], **target(A))
    rig.fake.add(QUERIES, times[there], queries[there], **A)
    rig.collect(T0, T0 + 600)
    minutes = [
        (minute - T0) // 60
        for (minute,) in rig.sql("select epoch(minute)::bigint from minute_counters order by 1")
    ]
    assert minutes == [0, 1, 6, 7, 8, 9]
    assert rig.total("prefix_cache_queries") == 390
    assert rig.value("select sum(gap_increase) from minute_counters") == 210
    assert rig.value("select sum(covered_s) from minute_counters") == 75 + 195
    assert rig.value("select max(largest_gap_s) from minute_counters") == 315
    view = rig.hit_ratio(T0, T0 + 600)
    # the minute in which scraping began again was observed for a quarter only
    assert [(gap.start - T0, gap.end - T0) for gap in view.fleet.gaps] == [(120, 420)]


def test_a_hole_stays_a_hole_when_read_minute_by_minute(rig: Rig) -> None:
    """The scrape interval is not learnt from the hole itself."""
    times = scrapes(40)
    there = (times < T0 + 90) | (times >= T0 + 390)
    rig.fake.add("up", times[there], there[there], **target(A))
    rig.fake.add(QUERIES, times[there], 10.0 * np.arange(40)[there], **A)
    rig.collect(T0, T0 + 600, slices=[60])
    assert rig.value("select sum(gap_increase) from minute_counters") == 210
    assert rig.value("select sum(covered_s) from minute_counters") == 75 + 195


def test_one_fallen_bucket_restarts_the_histogram(rig: Rig) -> None:
    """A bucket that grew past its old value across a restart counts its new value too."""
    times = scrapes(3)
    series = {"1.0": [2, 3, 8], "5.0": [20, 30, 10], "+Inf": [20, 30, 12]}
    for le, values in series.items():
        rig.fake.add(f"{TTFT}_bucket", times, values, **A, le=le)
    rig.fake.add(f"{TTFT}_count", times, [20, 30, 12], **A)
    rig.fake.add(f"{TTFT}_sum", times, [50.0, 75.0, 80.0], **A)
    collected(rig)
    # before the restart: +1 +10 +10, cumulative; after it: 8, 10, 12
    assert dict(rig.sql("select le, sum(increase) from minute_buckets group by le")) == {
        1.0: 9,
        5.0: 11,
        math.inf: 2,
    }
    assert rig.total("time_to_first_token_seconds_count") == 22
    assert rig.total("time_to_first_token_seconds_sum") == 105
    assert len(rig.levers()) == 1


def test_one_edge_has_many_spellings(rig: Rig) -> None:
    """le="1" and le="1.0" are one bucket, also when the spelling changes in a restart."""
    counts = {"1": [0, 4], "5": [0, 6], "+Inf": [0, 6]}
    for le, values in counts.items():
        rig.fake.add(f"{TTFT}_bucket", scrapes(2), values, **A, le=le)
        spelled = le if le == "+Inf" else f"{le}.0"
        rig.fake.add(f"{TTFT}_bucket", scrapes(2), values, **B, le=spelled)
    collected(rig)
    assert dict(rig.sql("select le, sum(increase) from minute_buckets group by le")) == {
        1.0: 8,
        5.0: 4,
    }
    assert len(rig.live(*WINDOW).ttft) == 2
    assert rig.live(*WINDOW).ttft_left_out == 0


def test_an_edge_spelled_anew_goes_on(rig: Rig) -> None:
    """A server upgraded at its address that writes 1.0 for 1 goes on in the same bucket."""
    for le, values in {"1": [0, 4, 8], "+Inf": [0, 6, 12]}.items():
        rig.fake.add(f"{TTFT}_bucket", scrapes(3), values, **A, le=le)
    after = scrapes(3, start=T0 + 3 * EVERY)
    for le, values in {"1.0": [1, 2, 3], "+Inf": [2, 4, 6]}.items():
        rig.fake.add(f"{TTFT}_bucket", after, values, **A, le=le, v="2")
    collected(rig)
    assert dict(rig.sql("select le, sum(increase) from minute_buckets group by le")) == {
        1.0: 11,
        math.inf: 7,
    }


def test_the_info_series_is_no_engine(rig: Rig) -> None:
    """cache_config_info has no model name and adds no engine to the fleet."""
    counters(rig.fake, A, [0, 100], [0, 50])
    info = {k: v for k, v in A.items() if k != "model_name"} | {"block_size": "16"}
    rig.fake.add(CONFIG, scrapes(2), [1, 1], **info)
    assert len(collected(rig).hit_ratio(*WINDOW).fleet.engines) == 1
    assert rig.value("select count(*) from engines") == 1


def test_inflated_lookups_are_named(rig: Rig) -> None:
    """More lookups than prompt tokens is shown, beside the true cached share."""
    counters(rig.fake, A, [0, 1400], [0, 11])
    rig.fake.add(PROMPT, scrapes(2), [0, 100], **A)
    rig.fake.add("vllm:prompt_tokens_cached_total", scrapes(2), [0, 3], **A)
    view = collected(rig).live(*WINDOW)
    assert [(row.name, row.factor.value) for row in view.inflated] == [("a", 14)]
    checks = {r.metric: r.value for r in rig.hit_ratio(*WINDOW).checks}
    assert checks["cached_prompt_ratio"] == 0.03
