"""Engines in Prometheus: each thing that is missing is found, and named with its fix."""

import numpy as np
import pytest

from core.doctor import Level
from tests.doctor.fakes import (
    BY_SOURCE,
    COUNTERS,
    LITELLM,
    PLACE,
    Prometheus,
    examined,
    settings_of,
)

OLD = ("vllm:gpu_prefix_cache_queries_total", "vllm:gpu_prefix_cache_hits_total")


@pytest.fixture
def made() -> Prometheus:
    return Prometheus()


def test_no_series_says_what_is_there_instead(made: Prometheus) -> None:
    """Targets that are up, and names that only look like those of vLLM, help to see why."""
    made.target(job="node", instance="a:9100")
    made.add("vllm_prompt_tokens", made.times(), made.times(), job="otel")
    found = examined(made)
    assert found.level("vllm_series") is Level.ERROR
    found.says("vllm_series", "node a:9100", "vllm_prompt_tokens", "--disable-log-stats")


def test_matchers_that_leave_nothing_are_named(made: Prometheus) -> None:
    """A filter of our own that fits no engine is the first thing to look at."""
    made.engine()
    found = examined(made, settings=settings_of(prometheus_matchers={"cluster": "other"}))
    found.says("vllm_series", "PREFIXWATCH_PROMETHEUS_MATCHERS", "cluster=other")


def test_series_that_ended_are_not_there(made: Prometheus) -> None:
    """Only the newest ten minutes count."""
    made.engine()
    made.now += 3600
    assert examined(made, now=made.now).level("vllm_series") is Level.ERROR


def test_old_names_ask_for_a_newer_vllm(made: Prometheus) -> None:
    """Counters under old names alone are named with the engine that exports them."""
    made.engine("old", counters=(*OLD, "vllm:prompt_tokens_total"))
    made.engine("new")
    found = examined(made)
    assert found.level("vllm_old_names") is Level.WARNING
    found.says("vllm_old_names", *OLD, "old", "Upgrade vLLM")
    assert "new" not in found.one("vllm_old_names").detail.split()


@pytest.mark.parametrize(
    ("label", "field"),
    [
        ("kubernetes_pod_name", "pod"),
        ("exported_pod", "pod"),
        ("exported_namespace", "namespace"),
        ("cluster_name", "cluster"),
        ("model", "model_name"),
        ("dp_rank", "engine"),
    ],
)
def test_a_label_of_another_name_is_named_with_its_setting(
    made: Prometheus, label: str, field: str
) -> None:
    """The label that looks like the one we miss is put into the setting, ready to copy."""
    made.engine(**{field: "", label: "x"})
    found = examined(made)
    setting = f"PREFIXWATCH_LABELS__{field.upper()}={label}"
    assert found.level("prometheus_labels", field) is Level.WARNING
    found.says("prometheus_labels", setting, subject=field)
    others = {s for key, s in found.wrong if key == "prometheus_labels"}
    assert others == {field}
    fixed = examined(made, settings=settings_of(labels={field: label}))
    assert fixed.level("prometheus_labels", field) is Level.OK


def test_without_a_pod_label_the_address_is_offered(made: Prometheus) -> None:
    """The address always tells engines apart."""
    made.engine(None, instance="10.0.0.1:8000")
    found = examined(made)
    found.says("prometheus_labels", "PREFIXWATCH_LABELS__POD=instance", subject="pod")


def test_cluster_and_namespace_may_be_missing(made: Prometheus) -> None:
    """One cluster needs no label for it: nothing to do, and it says so."""
    made.engine(cluster="", namespace="")
    found = examined(made)
    for field in ("cluster", "namespace"):
        assert found.level("prometheus_labels", field) is Level.OK
        found.says("prometheus_labels", "Not needed", subject=field)


def test_engines_that_lack_a_label_are_named(made: Prometheus) -> None:
    """One of two engines without a model: that one is named."""
    made.engine("whole")
    made.engine("bare", model_name="")
    found = examined(made)
    found.says("prometheus_labels", "bare", "1 of 2 engines", subject="model_name")


def test_failing_scrapes_are_named(made: Prometheus) -> None:
    """A target whose newest scrape failed is named by job and address."""
    made.engine("a")
    made.engine("b", up=0.0)
    found = examined(made)
    assert found.level("prometheus_targets") is Level.WARNING
    found.says("prometheus_targets", "vllm b:8000", "1 of 2")


def test_a_target_that_gives_no_series_names_the_flag(made: Prometheus) -> None:
    """Up, in a job of engines, and silent: statistics may be switched off."""
    made.engine("a")
    made.target(**PLACE, pod="b", instance="b:8000")
    found = examined(made)
    assert found.wrong == [("vllm_stats", "prometheus")]
    found.says("vllm_stats", "vllm b:8000", "--disable-log-stats")


def test_a_target_that_is_down_is_not_blamed_on_a_flag(made: Prometheus) -> None:
    """No series from a target that cannot be scraped says nothing about its statistics."""
    made.engine("a")
    made.target(**PLACE, pod="b", instance="b:8000", up=0.0)
    assert examined(made).wrong == [("prometheus_targets", "prometheus")]


@pytest.mark.parametrize(
    ("every", "level"),
    [
        (15.0, Level.OK),
        (60.0, Level.OK),
        (75.0, Level.WARNING),
        (120.0, Level.ERROR),
        (700.0, Level.ERROR),
    ],
)
def test_scrapes_must_fit_the_window(made: Prometheus, every: float, level: Level) -> None:
    """Five minutes must hold several scrapes: above 60 s a warning, above 100 s an error."""
    made.engine(every=every)
    assert examined(made).level("scrape_interval") is level


def test_intervals_that_differ_are_named(made: Prometheus) -> None:
    """Each interval stands with the engines that have it; the slowest is named in the fix."""
    made.engine("fast")
    made.engine("slow", every=75.0)
    found = examined(made)
    found.says("scrape_interval", "every 15 s: fast", "every 75 s: slow", "engine slow")


def test_one_engine_at_two_addresses_is_found(made: Prometheus) -> None:
    """Two scrapes of one counter are a warning: it is counted once."""
    made.engine("a", instance="a:8000")
    made.engine("a", instance="service:80", first=1.0)
    found = examined(made)
    assert found.level("duplicates") is Level.WARNING
    found.says("duplicates", "a:8000", "service:80", "PREFIXWATCH_PROMETHEUS_MATCHERS")


def test_two_engines_with_the_same_labels_are_an_error(made: Prometheus) -> None:
    """Counters that overtake each other are two engines: nothing tells them apart."""
    for instance, step in (("a:8000", 3.0), ("b:8000", 7.0)):
        times = made.times()
        for name in COUNTERS:
            made.add(
                name,
                times,
                (np.arange(times.size) * step) % 50 + 1,
                **PLACE,
                pod="same",
                model_name="m",
                engine="0",
                instance=instance,
            )
    found = examined(made)
    assert found.level("engines_alike") is Level.ERROR
    found.says("engines_alike", "a:8000 and b:8000", "PREFIXWATCH_LABELS__POD=instance")


def test_idle_addresses_with_the_same_labels_are_not_judged(made: Prometheus) -> None:
    """Counters at zero are neither one engine nor two."""
    for instance in ("a:8000", "b:8000"):
        for name in COUNTERS:
            made.add(
                name,
                made.times(),
                made.times() * 0,
                **PLACE,
                pod="same",
                model_name="m",
                engine="0",
                instance=instance,
            )
    found = examined(made)
    assert found.level("engines_alike") is Level.OK
    assert found.level("duplicates") is Level.OK


def test_engine_cores_of_one_server_are_no_duplicates(made: Prometheus) -> None:
    """Data-parallel cores share an address and are told apart by the label engine."""
    made.engine("a")
    for name in COUNTERS:
        made.add(
            name,
            made.times(),
            np.arange(made.times().size),
            **PLACE,
            pod="a",
            instance="a:8000",
            model_name="m",
            engine="1",
        )
    found = examined(made)
    assert found.level("duplicates") is Level.OK
    assert found.level("engines_alike") is Level.OK
    found.says("vllm_series", "2 engines", "a #0", "a #1")


def test_residency_off_names_flag_and_engine(made: Prometheus) -> None:
    """Engines without the histograms are named with the flag; the others are not."""
    made.engine("with")
    made.engine("without", residency=False)
    found = examined(made)
    assert found.level("kv_residency") is Level.WARNING
    found.says("kv_residency", "without (1 of 2 engines)", "--kv-cache-metrics")


def test_the_sampling_rate_is_not_made_up(made: Prometheus) -> None:
    """The rate is not exported: only its default and its flag are named."""
    made.engine()
    examined(made).says("kv_residency", "not exported", "--kv-cache-metrics-sample")


def test_caching_off_is_named(made: Prometheus) -> None:
    """An engine with caching off has zeros that mean nothing."""
    made.engine("on")
    made.engine("off", caching="False")
    found = examined(made)
    assert found.level("prefix_caching") is Level.WARNING
    found.says("prefix_caching", "off (1 of 2", "--enable-prefix-caching")


def test_caching_that_is_not_told_is_unknown(made: Prometheus) -> None:
    """No configuration metric: neither on nor off."""
    made.engine(caching=None)
    assert examined(made).level("prefix_caching") is Level.UNKNOWN


def test_missing_cross_check_asks_for_a_newer_vllm(made: Prometheus) -> None:
    """Prompt tokens by source are named where they are missing."""
    made.engine("old", by_source=False)
    found = examined(made)
    assert found.level("prompt_tokens_by_source") is Level.WARNING
    found.says("prompt_tokens_by_source", BY_SOURCE, "old")


def test_counters_of_litellm_are_seen_or_not(made: Prometheus) -> None:
    """Seen, not there at all, scraped but silent, and refused are four answers."""
    made.engine()
    assert examined(made).level("litellm_counters") is Level.UNKNOWN
    examined(made).says("litellm_counters", "require_auth_for_metrics_endpoint")
    made.target(job="litellm", instance="gw:4000")
    assert examined(made).level("litellm_counters") is Level.WARNING
    examined(made).says("litellm_counters", "gw:4000", "callbacks")
    made.add(LITELLM, made.times(), made.times(), job="litellm", instance="gw:4000")
    assert examined(made).level("litellm_counters") is Level.OK


def test_refused_scrapes_of_litellm_name_the_setting(made: Prometheus) -> None:
    """A proxy whose metrics ask for a key is down for Prometheus."""
    made.engine()
    made.target(job="litellm", instance="gw:4000", up=0.0)
    found = examined(made)
    assert found.level("litellm_counters") is Level.WARNING
    found.says("litellm_counters", "gw:4000", "require_auth_for_metrics_endpoint: false")


def test_a_fleet_fed_by_remote_write_has_no_targets(made: Prometheus) -> None:
    """Without `up` nothing is said about scrapes, and nothing is wrong."""
    times = made.times()
    for name in COUNTERS:
        made.add(name, times, times, **PLACE, pod="a", model_name="m", engine="0")
    found = examined(made)
    assert found.level("prometheus_targets") is Level.UNKNOWN
    assert found.level("vllm_stats") is Level.OK
