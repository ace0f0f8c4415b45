"""What engines and gateway were started with, as far as their metrics say."""

from collections.abc import Iterable

from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, some
from core.doctor.prometheus import LITELLM_COUNTERS, PrometheusProbe
from core.doctor.seen import RESIDENCY

DEFAULT_SAMPLE = 0.01
BY_SOURCE = ("vllm:prompt_tokens_by_source_total", "vllm:prompt_tokens_cached_total")


def _residency(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    without = [engine.name for engine in engines if not engine.names & set(RESIDENCY)]
    if without:
        yield topic.warning(
            "KV residency is not measured",
            f"{some(without)} ({len(without)} of {counted(len(engines), 'engine')}) export none "
            "of the histograms vllm:kv_block_*",
            "Start vLLM with --kv-cache-metrics (and --kv-cache-metrics-sample, default "
            f"{DEFAULT_SAMPLE}); it needs statistics on.",
        )
    else:
        yield topic.ok(
            "KV residency is measured",
            f"{counted(len(engines), 'engine')}; the sampling rate is not exported "
            f"(--kv-cache-metrics-sample, default {DEFAULT_SAMPLE})",
        )


def _caching(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    told = {e.name: (e.configuration or {}).get("enable_prefix_caching") for e in engines}
    off = [name for name, value in told.items() if value == "False"]
    untold = [name for name, value in told.items() if value not in ("True", "False")]
    if off:
        yield topic.warning(
            "Prefix caching is off",
            f"on {some(off)} ({len(off)} of {counted(len(engines), 'engine')}); its counters stay "
            "at 0 there",
            "If that is not meant, start vLLM with --enable-prefix-caching.",
        )
    elif len(untold) == len(engines):
        raise Unanswered("no engine exports vllm:cache_config_info with enable_prefix_caching")
    else:
        more = f"; not told by {some(untold)}" if untold else ""
        yield topic.ok(
            "Prefix caching is on", f"{counted(len(engines) - len(untold), 'engine')}{more}"
        )


def _by_source(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    engines = probe.engines()
    lacking = {
        name: [engine.name for engine in engines if name not in engine.names] for name in BY_SOURCE
    }
    missing = {name: found for name, found in lacking.items() if found}
    if missing:
        where = {engine for found in missing.values() for engine in found}
        yield topic.warning(
            "Prompt tokens are not told by source",
            f"{some(missing)} missing on {some(where)}; the hit ratio lacks its cross-check",
            "Upgrade vLLM on these engines to 0.26 or later.",
        )
    else:
        yield topic.ok("Prompt tokens are told by source", counted(len(engines), "engine"))


def _gateway(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    found = {s.labels.get("instance", "?") for s in probe.gateway.get() if s.times.size}
    targets = [up for up in probe.up() if "litellm" in up.name.lower()]
    down = [up.name for up in targets if not up.up]
    seen = f"{LITELLM_COUNTERS[0]} at {some(found)}" if found else f"no {LITELLM_COUNTERS[0]}"
    if down:
        yield topic.warning("Scrapes of LiteLLM fail", f"{some(down)}; {seen}", OPEN_METRICS)
    elif found:
        yield topic.ok("Counters of LiteLLM are scraped", seen)
    elif targets:
        yield topic.warning(
            "LiteLLM is scraped and gives no token counters",
            f"{some(up.name for up in targets)}; {seen}: no request yet, or the callback is off",
            'Set `litellm_settings: {callbacks: ["prometheus"]}` in the proxy\'s configuration.',
        )
    else:
        raise Unanswered(f"{seen} was seen; it would be a second source", IF_USED)


OPEN_METRICS = (
    "Look at Status > Targets in Prometheus. If it says 401, set `litellm_settings: "
    "{require_auth_for_metrics_endpoint: false}` in the proxy's configuration; the path is "
    "/metrics/, with the slash at its end."
)
IF_USED = (
    "If LiteLLM is your gateway: set `callbacks: [prometheus]` and "
    "`require_auth_for_metrics_endpoint: false` in its litellm_settings, and scrape /metrics/."
)

FLAGS = (
    Check(Topic("kv_residency", "engines", "KV residency"), _residency),
    Check(Topic("prefix_caching", "engines", "Prefix caching"), _caching),
    Check(Topic("prompt_tokens_by_source", "engines", "Prompt tokens by source"), _by_source),
    Check(Topic("litellm_counters", "gateway", "Counters of LiteLLM"), _gateway),
)
