"""What every number means: one entry a metric, one entry a raw instrument.

`METRICS` are what pages show; captions, column headers, info marks and exports
read them and nothing else. `INSTRUMENTS` are what vLLM servers and LiteLLM proxies
export; the collector reads them by name. Other words of the interface live in
`core.messages`.
"""

from dataclasses import dataclass
from enum import StrEnum

VLLM = "vLLM 0.26.0 and 0.32.0, vllm/v1/metrics"
LITELLM = "LiteLLM 1.108.7, callback prometheus"


class Kind(StrEnum):
    """How an instrument's samples are turned into cells."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


HISTOGRAM_PARTS = ("_bucket", "_count", "_sum", "")
SUMS_OF_A_HISTOGRAM = ("_count", "_sum")


@dataclass(frozen=True)
class Instrument:
    """One thing a vLLM server measures, or a LiteLLM proxy (`gateway`).

    `names` are the exported names in order of preference. `renamed` are names of
    old servers: seen, named on Data health, and not read, because the number
    under the old name is not the one the page would claim it to be.
    """

    key: str
    kind: Kind
    names: tuple[str, ...]
    renamed: tuple[str, ...] = ()
    label: str | None = None
    gateway: bool = False
    buckets: bool = True
    """Whether a histogram's buckets are read, or its count and sum alone."""

    @property
    def series_names(self) -> tuple[str, ...]:
        """Every series name to ask the server for.

        A histogram is also asked for by its bare name, under which a native one
        would show.
        """
        if self.kind is Kind.HISTOGRAM:
            parts = HISTOGRAM_PARTS if self.buckets else SUMS_OF_A_HISTOGRAM
            return tuple(f"{name}{part}" for name in self.names for part in parts)
        return self.names


def _counter(key: str, *, label: str | None = None, renamed: tuple[str, ...] = ()) -> Instrument:
    names = (f"vllm:{key}_total", f"vllm:{key}")
    return Instrument(key, Kind.COUNTER, names, renamed, label)


def _gauge(key: str, *, label: str | None = None, renamed: tuple[str, ...] = ()) -> Instrument:
    return Instrument(key, Kind.GAUGE, (f"vllm:{key}",), renamed, label)


def _histogram(key: str, *, buckets: bool = True) -> Instrument:
    return Instrument(key, Kind.HISTOGRAM, (f"vllm:{key}",), buckets=buckets)


def _gateway_counter(key: str, name: str) -> Instrument:
    return Instrument(key, Kind.COUNTER, (f"{name}_total", name), gateway=True)


INSTRUMENTS: dict[str, Instrument] = {
    instrument.key: instrument
    for instrument in (
        _counter(
            "prefix_cache_queries",
            renamed=("vllm:gpu_prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries"),
        ),
        _counter(
            "prefix_cache_hits",
            renamed=("vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits"),
        ),
        _counter("external_prefix_cache_queries"),
        _counter("external_prefix_cache_hits"),
        _counter("prompt_tokens"),
        _counter("prompt_tokens_cached"),
        _counter("prompt_tokens_by_source", label="source"),
        _counter("num_preemptions"),
        _gauge("kv_cache_usage_perc", renamed=("vllm:gpu_cache_usage_perc",)),
        _gauge("num_requests_running"),
        _gauge("num_requests_waiting"),
        _gauge("num_requests_waiting_by_reason", label="reason"),
        _counter("prompt_tokens_cached_by_source", label="source"),
        _counter("generation_tokens"),
        _histogram("time_to_first_token_seconds"),
        _histogram("kv_block_lifetime_seconds"),
        _histogram("kv_block_idle_before_evict_seconds"),
        _histogram("kv_block_reuse_gap_seconds"),
        _histogram("request_num_preemptions"),
        _histogram("request_prompt_tokens", buckets=False),
        _histogram("request_prefill_kv_computed_tokens", buckets=False),
        _histogram("request_queue_time_seconds", buckets=False),
        _histogram("request_prefill_time_seconds", buckets=False),
        Instrument("cache_config_info", Kind.INFO, ("vllm:cache_config_info",)),
        # Not `litellm_cached_tokens_metric` and not `litellm_cache_*`: those are the
        # proxy's own response cache.
        _gateway_counter("gateway_input_tokens", "litellm_input_tokens_metric"),
        _gateway_counter("gateway_cached_tokens", "litellm_input_cached_tokens_metric"),
    )
}
ENGINE_INSTRUMENTS: dict[str, Instrument] = {
    key: instrument for key, instrument in INSTRUMENTS.items() if not instrument.gateway
}
"""What an engine may be asked for: a proxy's counters are no engine's."""


class Unit(StrEnum):
    """Unit of a metric; `core.ui` and `core.charts` know how to write each."""

    RATIO = "ratio"
    FACTOR = "factor"
    TOKENS = "tokens"
    TOKENS_PER_S = "tokens/s"
    SECONDS = "s"
    REQUESTS = "requests"
    REQUESTS_PER_MIN = "requests/min"
    EVENTS = "events"
    WINDOWS = "windows"
    EVENTS_PER_REQUEST = "events per request"
    SCORE = "score"


class Concept(StrEnum):
    """What a colour stands for, on every page."""

    ENGINE = "engine"
    GATEWAY = "gateway"
    REQUEST = "request"
    COMPUTED = "computed"
    EXTERNAL = "external"
    PREEMPTION = "preemption"
    WAITING = "waiting"
    NEUTRAL = "neutral"


@dataclass(frozen=True)
class Metric:
    """What one displayed number is, and what it is not."""

    key: str
    label: str
    unit: Unit
    concept: Concept
    definition: str
    population: str
    weighting: str
    query: str
    instruments: tuple[str, ...] = ()
    numerator: str = ""
    denominator: str = ""
    promql: str = ""
    unknown_when: str = "no engine in scope exports it, or fewer than two scrapes were seen"
    caveats: tuple[str, ...] = ()
    not_read_as: str = ""
    reference: str = VLLM


_EVICTED = (
    "Reported only at eviction: living blocks are absent, and what is told comes late.",
    (
        "Partial blocks at the end of a request never held a hash and count too; they are "
        "handed out again at once."
    ),
    "While never-used blocks remain, nothing else is reported.",
    (
        "Blocks of one request are evicted together and are not independent: their number is an "
        "upper bound of what they are worth, and the true sampling interval is wider."
    ),
    "A cache reset or restart forgets sampled blocks: they never report.",
)

_ENTRIES = (
    Metric(
        key="engine_hit_ratio",
        label="Engine hit ratio",
        unit=Unit.RATIO,
        concept=Concept.ENGINE,
        definition="Hit tokens divided by looked-up tokens of the local prefix cache, "
        "both summed over engines and the window before dividing.",
        population="Every token an engine looked up in its own prefix cache.",
        weighting="by token looked up",
        query="hit_ratio_by_engine",
        instruments=("prefix_cache_queries", "prefix_cache_hits"),
        numerator="hit tokens",
        denominator="looked-up tokens",
        promql="hit_ratio",
        unknown_when="nothing was looked up (no traffic), the counters are missing, "
        "or fewer than two scrapes were seen",
        caveats=(
            "Local cache only; hits of an external KV connector are another pair of counters.",
            (
                "vLLM up to 0.26 counts a lookup again on every failed admission: under KV "
                "pressure the ratio falls although reuse did not. See lookups per prompt token."
            ),
            "Requests with prompt_logprobs skip the lookup and are absent here.",
        ),
        not_read_as="a share of requests, a quality score, or saved GPU time",
    ),
    Metric(
        key="gateway_cached_share",
        label="Gateway cached share",
        unit=Unit.RATIO,
        concept=Concept.GATEWAY,
        definition="Cached input tokens divided by total input tokens, over the requests the "
        "gateway recorded with a measured cached count.",
        population="Requests seen by the gateway that carry usage.",
        weighting="by input token",
        query="gateway_usage",
        numerator="cached input tokens",
        denominator="input tokens",
        unknown_when="no request source is connected, or no request of the window has a measured "
        "cached count",
        caveats=(
            (
                "Only requests whose cached count was measured, in numerator and denominator. A "
                "missing count is not 0, and a 0 of a sender that also writes 0 for missing is not "
                "one either."
            ),
            "A proxy's own estimate (cancelled streams) counts as unknown.",
            "vLLM's cached count holds local and external KV together.",
            "Requests belong to the window by their start, engine tokens by their scrape.",
        ),
        not_read_as="the engine's ratio: missing usage, other providers, retries and external KV "
        "make them differ",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="gateway_counter_share",
        label="Gateway cached share, proxy counters",
        unit=Unit.RATIO,
        concept=Concept.GATEWAY,
        definition="Cached input tokens divided by input tokens, both as the proxy's own counters "
        "rose, summed over deployments and the window before dividing.",
        population="Requests whose usage the proxy counted, whatever sent them.",
        weighting="by input token",
        query="gateway_counters_by_deployment",
        instruments=("gateway_input_tokens", "gateway_cached_tokens"),
        numerator="cached input tokens",
        denominator="input tokens",
        promql="gateway_counter_share",
        unknown_when="no LiteLLM proxy in scope exports the counters, no cached token was ever "
        "counted there, nothing was sent (no traffic), or fewer than two scrapes were seen",
        caveats=(
            (
                "An engine that reports no cached count (no --enable-prompt-tokens-details) adds "
                "to the input and never to the cached tokens: it counts as cached 0."
            ),
            "A stream that the client cancels is estimated by the proxy, with cached 0.",
            "Retries and timeouts that end without usage are absent; engines did that work.",
            "No session, turn, arm or engine label: only deployments can be told apart.",
            (
                "A proxy of several workers must set PROMETHEUS_MULTIPROC_DIR: otherwise a scrape "
                "shows one worker and not the proxy."
            ),
        ),
        not_read_as="the engine's ratio, or the share over recorded requests: both know which "
        "counts were measured",
        reference=LITELLM,
    ),
    Metric(
        key="request_cached_ratio",
        label="Mean request cached ratio",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Mean over requests of cached input divided by total input of that request.",
        population="Requests with a measured cached count.",
        weighting="by request",
        query="gateway_usage",
        numerator="sum of request ratios",
        denominator="requests",
        unknown_when="no request source is connected, or no request of the window has a measured "
        "cached count",
        caveats=("Exactly 1.0 is no ordinary local reuse: at least one token is always computed.",),
        not_read_as="the token share: a short request weighs as much as a long one",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="gateway_input_tokens",
        label="Input tokens at the gateway",
        unit=Unit.TOKENS,
        concept=Concept.GATEWAY,
        definition="Input tokens of the requests that the gateway recorded with usage, whether "
        "their cached count is known or not.",
        population="Requests seen by the gateway that carry usage.",
        weighting="by input token",
        query="gateway_usage",
        unknown_when="no request source is connected, or no request carries usage",
        caveats=(
            "Attempts that timed out or were abandoned leave no usage, though engines worked.",
        ),
        not_read_as="the engines' prompt tokens",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="cached_ratio",
        label="Cached ratio of this request",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Cached input tokens of one request divided by its total input tokens.",
        population="One request (generation) with a measured cached count.",
        weighting="not at all: it is one request",
        query="request_by_key",
        numerator="cached input tokens",
        denominator="input tokens",
        unknown_when="its usage has no measured cached count, or breaks a contract",
        caveats=(
            "vLLM counts local and external KV together in a request's cached tokens.",
            (
                "Exactly 100 % is not ordinary local reuse: at least one token of a prompt is "
                "always computed."
            ),
        ),
        not_read_as="the engine hit ratio, or a sign of the answer's quality",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="lookup_inflation",
        label="Lookups per prompt token",
        unit=Unit.FACTOR,
        concept=Concept.NEUTRAL,
        definition="Looked-up tokens divided by prompt tokens of prefilled requests.",
        population="Engines that export both counters.",
        weighting="by token",
        query="hit_ratio_by_engine",
        instruments=("prefix_cache_queries", "prompt_tokens"),
        numerator="looked-up tokens",
        denominator="prompt tokens",
        promql="lookup_inflation",
        caveats=(
            (
                "Above 1: lookups were counted more than once (vLLM up to 0.26 under KV pressure), "
                "and the engine hit ratio is diluted by as much."
            ),
            (
                "Slightly below 1 is ordinary: a lookup is counted at admission, a prompt token "
                "when its prefill ends, and some requests skip the lookup."
            ),
        ),
        not_read_as="a load figure",
    ),
    Metric(
        key="cached_prompt_ratio",
        label="Cached share of prompt tokens",
        unit=Unit.RATIO,
        concept=Concept.ENGINE,
        definition="Prompt tokens that were not computed because KV was there, local or external, "
        "divided by all prompt tokens.",
        population="Requests whose prefill ended.",
        weighting="by prompt token",
        query="hit_ratio_by_engine",
        instruments=("prompt_tokens", "prompt_tokens_cached"),
        numerator="cached prompt tokens",
        denominator="prompt tokens",
        promql="cached_prompt_ratio",
        caveats=(
            "Local and external KV together.",
            "Right in every version, also where lookups are inflated.",
        ),
        not_read_as="the engine hit ratio when an external connector is in use",
    ),
    Metric(
        key="external_hit_ratio",
        label="External hit ratio",
        unit=Unit.RATIO,
        concept=Concept.EXTERNAL,
        definition="Hit tokens divided by looked-up tokens of the external KV connector.",
        population="Tokens looked up in the connector after the local cache missed.",
        weighting="by token looked up",
        query="hit_ratio_by_engine",
        instruments=("external_prefix_cache_queries", "external_prefix_cache_hits"),
        numerator="external hit tokens",
        denominator="external looked-up tokens",
        promql="external_hit_ratio",
        caveats=("The counters exist without a connector too and then never move: no traffic.",),
        not_read_as="a part of the engine hit ratio: its denominator is another one",
    ),
    Metric(
        key="hits_tokens",
        label="Hit tokens",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Tokens found in the local prefix cache at lookup.",
        population="Tokens looked up.",
        weighting="by token",
        query="hit_ratio_by_engine",
        instruments=("prefix_cache_hits",),
        caveats=("Multiples of the block size.",),
        not_read_as="saved GPU time",
    ),
    Metric(
        key="queries_tokens",
        label="Looked-up tokens",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Tokens looked up in the local prefix cache.",
        population="Requests at admission (from 0.27), at every attempt before.",
        weighting="by token",
        query="hit_ratio_by_engine",
        instruments=("prefix_cache_queries",),
        not_read_as="a number of requests",
    ),
    Metric(
        key="prompt_tokens",
        label="Prompt tokens",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Prompt tokens of requests whose prefill ended, cached ones included.",
        population="Requests that produced a first token.",
        weighting="by token",
        query="hit_ratio_by_engine",
        instruments=("prompt_tokens",),
    ),
    Metric(
        key="cached_prefill_tokens_per_s",
        label="Cached prefill",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.ENGINE,
        definition="Prompt tokens per second whose KV came from the local prefix cache.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_by_source",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_by_source",
        caveats=(
            "Tokens, not GPU time.",
            "First prefill only: work repeated after a preemption is in no token counter.",
        ),
        not_read_as="saved GPU time or money",
    ),
    Metric(
        key="external_prefill_tokens_per_s",
        label="External KV prefill",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.EXTERNAL,
        definition="Prompt tokens per second whose KV came from an external connector.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_by_source",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_by_source",
        caveats=("Tokens, not GPU time.",),
        not_read_as="local reuse",
    ),
    Metric(
        key="computed_prefill_tokens_per_s",
        label="Computed prefill",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.COMPUTED,
        definition="Prompt tokens per second that were computed.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_by_source",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_by_source",
        caveats=("Tokens, not GPU time.",),
        not_read_as="GPU load",
    ),
    Metric(
        key="kv_usage_max",
        label="KV usage, maximum",
        unit=Unit.RATIO,
        concept=Concept.ENGINE,
        definition="Highest sampled share of KV blocks in use on any engine.",
        population="Scrapes of engines in scope.",
        weighting="by scrape",
        query="kv_usage",
        instruments=("kv_cache_usage_perc",),
        promql="kv_usage",
        caveats=(
            (
                "Blocks held by running requests; cached blocks that nobody holds count as free, "
                "so an idle server with a full, reusable cache reads 0 %."
            ),
            "Peaks between two scrapes are not seen.",
        ),
        not_read_as="how full the prefix cache is",
    ),
    Metric(
        key="kv_usage_mean",
        label="KV usage, mean",
        unit=Unit.RATIO,
        concept=Concept.COMPUTED,
        definition="Mean of sampled shares of KV blocks in use, over scrapes and engines.",
        population="Scrapes of engines in scope.",
        weighting="by scrape",
        query="kv_usage",
        instruments=("kv_cache_usage_perc",),
        promql="kv_usage",
        caveats=("Engines of different sizes weigh alike.",),
        not_read_as="how full the prefix cache is",
    ),
    Metric(
        key="preemptions",
        label="Preemptions",
        unit=Unit.EVENTS,
        concept=Concept.PREEMPTION,
        definition="Preemption events: a running request lost its KV blocks.",
        population="Events, not requests: one request can be preempted several times.",
        weighting="by event",
        query="pressure",
        instruments=("num_preemptions",),
        promql="preemptions",
        caveats=("A cache reset that includes running requests counts too.",),
        not_read_as="a number of requests that suffered",
    ),
    Metric(
        key="preempt_window",
        label="Preemption window",
        unit=Unit.WINDOWS,
        concept=Concept.PREEMPTION,
        definition="State of an engine over one window of fixed length: 1 when an increase of "
        "the counter was seen between neighbouring scrapes at most two intervals apart, 0 when "
        "none was and at least 90 % of the scrapes are there without a gap, unknown otherwise.",
        population="Windows of engines in scope, side by side, counted from the epoch.",
        weighting="by window",
        query="preemption_strip",
        instruments=("num_preemptions",),
        promql="preempt_window",
        unknown_when="the counter is absent, fewer than two scrapes or less than 90 % of them are "
        "there, two of them are more than two intervals apart, or the window is not over",
        caveats=(
            "An increase belongs to the minute of its later scrape.",
            (
                "The PromQL shows the last window before its evaluation time, extrapolated, and "
                "beside it the number of scrapes: 0 with scrapes missing is unknown here."
            ),
        ),
        not_read_as="a number of requests that suffered",
    ),
    Metric(
        key="request_exposure",
        label="Exposure of requests",
        unit=Unit.REQUESTS,
        concept=Concept.PREEMPTION,
        definition="What the engine of a request did in the windows that the request overlaps: 1 "
        "if any of them is 1, else unknown if any is unknown or a part of the request lies in "
        "none, else 0.",
        population="Attempts that start in the page's window and scope.",
        weighting="by attempt",
        query="requests_by_exposure",
        instruments=("num_preemptions",),
        unknown_when="a window that it overlaps is unknown, it has no end, or no engine is known "
        "from its time",
        caveats=(
            (
                "Requests are widened on both sides by the clock difference of the sources and "
                "one scrape interval."
            ),
            (
                "Level: one engine where the row names it; any engine of the pod; or any engine "
                "of the model, where nobody said more."
            ),
            "A window holds events before and after the request too: the use is retrospective.",
        ),
        not_read_as="what happened to the request itself: the engine preempted something while it "
        "ran",
    ),
    Metric(
        key="incomplete_rate",
        label="Incomplete rate",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Requests that ended in an error, were cancelled or have no end, divided by all "
        "requests.",
        population="Attempts that start in the page's window and scope.",
        weighting="by attempt",
        query="requests_by_exposure",
        numerator="incomplete requests",
        denominator="requests",
        unknown_when="there is no request",
        caveats=("Requests under way have no end yet and count as incomplete.",),
        not_read_as="an effect of the exposure: a long or failing request overlaps more windows",
        reference="Langfuse observations",
    ),
    Metric(
        key="request_ttft",
        label="TTFT of requests",
        unit=Unit.SECONDS,
        concept=Concept.REQUEST,
        definition="Quantile over requests of first token minus start, as the gateway recorded "
        "both.",
        population="Requests with a first token between their start and their end.",
        weighting="by attempt",
        query="requests_by_exposure",
        unknown_when="no request has such a first token",
        caveats=(
            (
                "A call that was not streamed carries its end as first token (LiteLLM): such rows "
                "are left out and counted."
            ),
            "A streamed row of LiteLLM starts with the request: failed attempts lie inside.",
        ),
        not_read_as="the engines' own TTFT, or proof of reuse",
        reference="Langfuse observations",
    ),
    Metric(
        key="request_latency",
        label="Latency of requests",
        unit=Unit.SECONDS,
        concept=Concept.REQUEST,
        definition="Quantile over complete requests of end minus start, as the gateway recorded "
        "both.",
        population="Complete requests, truncated ones among them, whose end is after their start.",
        weighting="by attempt",
        query="requests_by_exposure",
        unknown_when="no request is complete",
        caveats=(
            "A longer request overlaps more windows, so it is exposed more often by its length.",
        ),
        not_read_as="an effect of the exposure",
        reference="Langfuse observations",
    ),
    Metric(
        key="score_mean",
        label="Mean score",
        unit=Unit.SCORE,
        concept=Concept.REQUEST,
        definition="Mean over scored requests of the value of one score, evaluator and version; "
        "repeats of one request are averaged first.",
        population="Complete requests with a score of their own.",
        weighting="by request",
        query="quality_sums",
        numerator="sum of values",
        denominator="scored requests",
        unknown_when="no complete request has a value",
        caveats=(
            "An evaluator's error is missing, not a low value.",
            "Incomplete requests are left out, which is a selection.",
        ),
        not_read_as="an effect of what the requests are grouped by",
        reference="Langfuse scores",
    ),
    Metric(
        key="pass_rate",
        label="Pass rate",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Share of scored requests that one score, evaluator and version lets pass: a "
        "boolean that is true, a number from the pass mark on, a category that passes; repeats "
        "of one request are averaged first.",
        population="Complete requests with a score of their own.",
        weighting="by request",
        query="quality_sums",
        numerator="passes",
        denominator="scored requests",
        unknown_when="no complete request has a value",
        caveats=(
            "An evaluator's error is missing, not a failure.",
            "Incomplete requests are left out, which is a selection.",
            (
                "On the Quality page a request that was chosen with a known probability counts by "
                "one over it, and intervals are over sessions."
            ),
        ),
        not_read_as="an effect of what the requests are grouped by",
        reference="Langfuse scores",
    ),
    Metric(
        key="mean_request_preemptions",
        label="Preemptions per request",
        unit=Unit.EVENTS_PER_REQUEST,
        concept=Concept.PREEMPTION,
        definition="Preemptions of finished requests divided by finished requests.",
        population="Requests that finished in the window, by the engine's own histogram.",
        weighting="by request",
        query="request_preemptions",
        instruments=("request_num_preemptions",),
        numerator="preemptions",
        denominator="finished requests",
        promql="mean_request_preemptions",
        unknown_when="the engine does not export the histogram (vLLM before 0.30), or nothing "
        "finished",
        caveats=(
            "Counted when a request finishes; aborted ones are in no histogram.",
            "Preemptions of requests under way are in the events and not here yet.",
        ),
        not_read_as="a share of requests: one request can have many",
        reference="vLLM 0.30 and later, vllm:request_num_preemptions",
    ),
    Metric(
        key="requests_preempted_twice",
        label="Requests with two or more preemptions",
        unit=Unit.REQUESTS,
        concept=Concept.PREEMPTION,
        definition="Finished requests above the first bucket of the histogram.",
        population="Requests that finished in the window, by the engine's own histogram.",
        weighting="by request",
        query="request_preemption_buckets",
        instruments=("request_num_preemptions",),
        promql="requests_preempted_twice",
        unknown_when="the engine does not export the histogram (vLLM before 0.30), or its buckets "
        "have other edges",
        caveats=(
            (
                "The first bucket mixes 0 and 1. The sum bounds how many had exactly one: what it "
                "leaves after the least and the most that the other buckets can hold."
            ),
        ),
        not_read_as="all requests that lost their blocks: those with exactly one are not among "
        "them",
        reference="vLLM 0.30 and later, vllm:request_num_preemptions",
    ),
    Metric(
        key="requests_running",
        label="Running requests",
        unit=Unit.REQUESTS,
        concept=Concept.COMPUTED,
        definition="Mean over scrapes of requests in the running batch, summed over engines.",
        population="Scrapes of engines in scope.",
        weighting="by scrape",
        query="queue",
        instruments=("num_requests_running",),
        promql="requests_waiting",
    ),
    Metric(
        key="requests_waiting",
        label="Waiting requests",
        unit=Unit.REQUESTS,
        concept=Concept.WAITING,
        definition="Mean over scrapes of requests waiting for admission, summed over engines.",
        population="Scrapes of engines in scope.",
        weighting="by scrape",
        query="queue",
        instruments=("num_requests_waiting", "num_requests_waiting_by_reason"),
        promql="requests_waiting",
        caveats=(
            (
                "Reasons: capacity (no room) and deferred (held back by a constraint, such as a "
                "KV transfer in flight)."
            ),
        ),
        not_read_as="requests that timed out",
    ),
    Metric(
        key="ttft_p50",
        label="TTFT p50",
        unit=Unit.SECONDS,
        concept=Concept.COMPUTED,
        definition="Median time to first token, as the bucket that holds it.",
        population="Requests that produced a first token, server side.",
        weighting="by request",
        query="ttft_buckets",
        instruments=("time_to_first_token_seconds",),
        promql="ttft_quantile",
        unknown_when="no request produced a first token, or the histogram is missing",
        caveats=(
            "Only the bucket is known; the true value lies between its edges.",
            "Measured in the server: network and gateway time are outside.",
            "Engines with other bucket edges are left out, and the page says so.",
        ),
        not_read_as="proof of reuse: queueing and chunked prefill move it too",
    ),
    Metric(
        key="ttft_p95",
        label="TTFT p95",
        unit=Unit.SECONDS,
        concept=Concept.PREEMPTION,
        definition="95th percentile of time to first token, as the bucket that holds it.",
        population="Requests that produced a first token, server side.",
        weighting="by request",
        query="ttft_buckets",
        instruments=("time_to_first_token_seconds",),
        promql="ttft_quantile",
        unknown_when="no request produced a first token, or the histogram is missing",
        caveats=(
            "Only the bucket is known; the true value lies between its edges.",
            "Measured in the server: network and gateway time are outside.",
            "Engines with other bucket edges are left out, and the page says so.",
        ),
        not_read_as="proof of reuse: queueing and chunked prefill move it too",
    ),
    Metric(
        key="block_idle_s",
        label="Idle before eviction, median",
        unit=Unit.SECONDS,
        concept=Concept.ENGINE,
        definition="Time between the last hit of a KV block, or its allocation where it was never "
        "hit, and the moment it was handed out again; as the bucket that holds the quantile.",
        population="Sampled blocks that were evicted while observed.",
        weighting="by sampled block",
        query="kv_block_buckets",
        instruments=("kv_block_idle_before_evict_seconds",),
        promql="block_idle_quantile",
        unknown_when="no engine runs with --kv-cache-metrics, or none of its sampled blocks was "
        "evicted in the window",
        caveats=(
            *_EVICTED,
            "Idle time equals lifetime for a block that was never hit.",
            "The time a request holds the block counts as idle too.",
        ),
        not_read_as="how long a session's blocks are kept: it is no time to live per session",
    ),
    Metric(
        key="block_reuse_gap_s",
        label="Reuse gap, median",
        unit=Unit.SECONDS,
        concept=Concept.ENGINE,
        definition="Time between neighbouring hits of a KV block, told when it is evicted; as the "
        "bucket that holds the quantile.",
        population="Gaps between the last four hits of sampled blocks that were evicted: at most "
        "three gaps a block.",
        weighting="by gap",
        query="kv_block_buckets",
        instruments=("kv_block_reuse_gap_seconds",),
        promql="block_reuse_gap_quantile",
        unknown_when="no engine runs with --kv-cache-metrics, or no evicted sampled block was hit "
        "twice in the window",
        caveats=(
            *_EVICTED,
            "The time from allocation to the first hit is no gap; a block hit once has none.",
        ),
        not_read_as="the time between turns of a session",
    ),
    Metric(
        key="block_lifetime_s",
        label="Lifetime, median",
        unit=Unit.SECONDS,
        concept=Concept.ENGINE,
        definition="Time between the allocation of a KV block and the moment it was handed out "
        "again; as the bucket that holds the quantile.",
        population="Sampled blocks that were evicted while observed.",
        weighting="by sampled block",
        query="kv_block_buckets",
        instruments=("kv_block_lifetime_seconds",),
        promql="block_lifetime_quantile",
        unknown_when="no engine runs with --kv-cache-metrics, or none of its sampled blocks was "
        "evicted in the window",
        caveats=(*_EVICTED, "Short windows hold more of the short lives."),
        not_read_as="how long a block lives: those that live on are not in it",
    ),
    Metric(
        key="sampled_evictions",
        label="Sampled evictions",
        unit=Unit.EVENTS,
        concept=Concept.NEUTRAL,
        definition="Sampled KV blocks that were handed out again: the number behind every quantile "
        "of idle time and lifetime.",
        population="Blocks that an engine chose to watch when it allocated them.",
        weighting="by sampled block",
        query="kv_block_counts",
        instruments=("kv_block_idle_before_evict_seconds",),
        promql="sampled_evictions",
        unknown_when="no engine runs with --kv-cache-metrics, or fewer than two scrapes were seen",
        caveats=(
            "Never scaled up: the sampling rate is in no series (default 0.01).",
            *_EVICTED[1:],
        ),
        not_read_as="the number of evictions",
    ),
    Metric(
        key="turn_idle_gap_s",
        label="Idle gap between turns",
        unit=Unit.SECONDS,
        concept=Concept.REQUEST,
        definition="Start of a turn minus the end of the turn before in its session.",
        population="Turns that began in the window and name a session; unknown gaps are counted "
        "with their reason.",
        weighting="by turn",
        query="turn_gaps",
        unknown_when="it is the first turn, or the turn before has no end or was still running",
        caveats=("Bars run from a power of two of seconds to the next.",),
        not_read_as="a measure of any cache",
        reference="Langfuse traces and sessions",
    ),
    Metric(
        key="possible_hit_tokens",
        label="Possible hit tokens",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Most tokens of a prompt that a prefix cache can give back: whole blocks of all "
        "tokens but the last, which is always computed.",
        population="A prompt whose whole text is in the cache.",
        weighting="not at all: it follows from block size and length",
        query="kv_configurations",
        instruments=("cache_config_info",),
        unknown_when="the engine's cache_config_info names no block size",
        caveats=("Of a prompt that ends on a block's edge, the last block is computed again.",),
        not_read_as="a forecast of hits, or a verdict on a block size",
    ),
    Metric(
        key="prefill_cached_share",
        label="Cached prefill share",
        unit=Unit.RATIO,
        concept=Concept.ENGINE,
        definition="Prompt tokens whose KV came from the local prefix cache, divided by all prompt "
        "tokens, both by source.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by prompt token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source",),
        numerator="local cached tokens",
        denominator="prompt tokens",
        promql="prefill_cached_share",
        unknown_when="no prefill ended (no traffic), the counter is missing, or fewer than two "
        "scrapes were seen",
        caveats=(
            "Local cache only; external KV has a share of its own.",
            "First prefill only: work repeated after a preemption is in no token counter.",
            "Tokens, not GPU time.",
        ),
        not_read_as="the engine hit ratio: that one counts lookups at admission",
    ),
    Metric(
        key="prefill_external_share",
        label="External KV share",
        unit=Unit.RATIO,
        concept=Concept.EXTERNAL,
        definition="Prompt tokens whose KV came from an external connector, divided by all prompt "
        "tokens, both by source.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by prompt token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source",),
        numerator="external cached tokens",
        denominator="prompt tokens",
        promql="prefill_external_share",
        unknown_when="no prefill ended (no traffic), the counter is missing, or fewer than two "
        "scrapes were seen",
        caveats=("The counter is there without a connector too, and then stays 0.",),
        not_read_as="local reuse, or the external hit ratio: its denominator is another one",
    ),
    Metric(
        key="prefill_cached_tokens",
        label="Cached prefill tokens, local",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Prompt tokens of the window whose KV came from the local prefix cache.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_tokens",
        caveats=("Tokens, not GPU time.",),
        not_read_as="saved GPU time or money",
    ),
    Metric(
        key="prefill_external_tokens",
        label="Cached prefill tokens, external",
        unit=Unit.TOKENS,
        concept=Concept.EXTERNAL,
        definition="Prompt tokens of the window whose KV came from an external connector.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_tokens",
        caveats=("Tokens, not GPU time.",),
        not_read_as="local reuse",
    ),
    Metric(
        key="prefill_computed_tokens",
        label="Computed prefill tokens",
        unit=Unit.TOKENS,
        concept=Concept.COMPUTED,
        definition="Prompt tokens of the window that were computed.",
        population="Prompt tokens of requests whose prefill ended, by source.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source",),
        promql="prefill_tokens",
        caveats=("Tokens, not GPU time.",),
        not_read_as="GPU load",
    ),
    Metric(
        key="cached_prompt_tokens",
        label="Cached prompt tokens",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Prompt tokens that were not computed as their KV was there, local or external.",
        population="Requests whose prefill ended.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("prompt_tokens_cached",),
        promql="cached_prompt_tokens",
        caveats=("Local and external KV together: this counter does not tell them apart.",),
        not_read_as="local reuse where an external connector is in use",
    ),
    Metric(
        key="cached_tier_tokens",
        label="Cached prompt tokens by tier",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Hit tokens by the tier that held their KV: device is the local cache; host, "
        "disk, p2p and external_unspecified are external.",
        population="Requests at admission.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("prompt_tokens_cached_by_source",),
        promql="cached_by_tier",
        unknown_when="no engine exports it (vLLM before 0.32), or fewer than two scrapes were seen",
        caveats=(
            (
                "Counted at admission, cached prompt tokens when a prefill ends: the two part "
                "at the edges of a busy window."
            ),
        ),
        not_read_as="what each tier holds",
        reference="vLLM 0.32.0, vllm/v1/metrics",
    ),
    Metric(
        key="request_prompt_tokens",
        label="Prompt tokens of completed requests",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Sum of prompt tokens over requests that completed in the window.",
        population="Completed requests: aborted ones are in no request histogram.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("request_prompt_tokens",),
        promql="request_prompt_tokens",
        caveats=("Counted when a request ends, not when its prefill does.",),
        not_read_as="all prompt tokens of the window",
    ),
    Metric(
        key="completed_requests_per_min",
        label="Completed requests per minute",
        unit=Unit.REQUESTS_PER_MIN,
        concept=Concept.NEUTRAL,
        definition="Requests that ended, per minute in which at least one engine was observed.",
        population="Completed requests: aborted ones are in no request histogram.",
        weighting="by request",
        query="completed_requests",
        instruments=("request_prompt_tokens",),
        caveats=("Increases across gaps of the scrapes are left out, and so is their time.",),
        not_read_as="requests that arrived: what waits or was aborted is not in it",
    ),
    Metric(
        key="mean_prompt_tokens",
        label="Mean input length",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Prompt tokens over requests, of the requests that completed in the window.",
        population="Completed requests: aborted ones are in no request histogram.",
        weighting="by request",
        query="completed_requests",
        instruments=("request_prompt_tokens",),
        numerator="prompt tokens",
        denominator="completed requests",
        caveats=("Equal input length is not equal difficulty.",),
        not_read_as="what a prefill cost: cached tokens are in it",
    ),
    Metric(
        key="request_computed_tokens",
        label="Computed tokens of completed requests",
        unit=Unit.TOKENS,
        concept=Concept.COMPUTED,
        definition="Sum of prompt tokens whose KV was computed, over requests that completed in "
        "the window.",
        population="Completed requests: aborted ones are in no request histogram.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("request_prefill_kv_computed_tokens",),
        promql="request_computed_tokens",
        caveats=("First prefill only, as in every token counter.",),
        not_read_as="GPU load",
    ),
    Metric(
        key="request_cached_tokens",
        label="Cached tokens of completed requests",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Prompt tokens less computed tokens, over requests that completed in the "
        "window.",
        population="Completed requests: aborted ones are in no request histogram.",
        weighting="by token",
        query="prefill_accounts",
        instruments=("request_prompt_tokens", "request_prefill_kv_computed_tokens"),
        promql="request_cached_tokens",
        caveats=("Local and external KV together.",),
        not_read_as="all cached tokens of the window",
    ),
    Metric(
        key="account_share",
        label="Share of its account",
        unit=Unit.RATIO,
        concept=Concept.NEUTRAL,
        definition="Tokens of one part divided by all prompt tokens of the same account, over the "
        "engines that give both.",
        population="That of the account.",
        weighting="by prompt token",
        query="prefill_accounts",
        instruments=("prompt_tokens_by_source", "prompt_tokens", "request_prompt_tokens"),
        numerator="tokens of the part",
        denominator="prompt tokens of the account",
        caveats=("Shares of two accounts are of different requests.",),
    ),
    Metric(
        key="prefill_difference",
        label="Difference between accounts",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Tokens of one account less those of another, over the engines that give both.",
        population="Those of the two accounts, named in each row.",
        weighting="by token",
        query="prefill_accounts",
        instruments=(
            "prompt_tokens_by_source",
            "prompt_tokens",
            "prompt_tokens_cached",
            "request_prompt_tokens",
        ),
        promql="prefill_difference",
        unknown_when="no engine exports both sides, or fewer than two scrapes were seen",
        caveats=(
            (
                "Requests that were aborted, or still run at an edge of the window, are in one "
                "account and not in the other."
            ),
        ),
        not_read_as="lost tokens",
    ),
    Metric(
        key="prompt_tokens_per_s",
        label="Prompt tokens per second",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.NEUTRAL,
        definition="Prompt tokens of requests whose prefill ended, cached ones included, per "
        "observed second.",
        population="Requests that produced a first token.",
        weighting="by token",
        query="throughput",
        instruments=("prompt_tokens",),
        promql="prompt_tokens_per_s",
        caveats=("Follows the load as well as the speed of engines.",),
        not_read_as="proof of reuse",
    ),
    Metric(
        key="generation_tokens_per_s",
        label="Generated tokens per second",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.NEUTRAL,
        definition="Tokens that engines generated, per observed second.",
        population="All requests, those too that are aborted later.",
        weighting="by token",
        query="throughput",
        instruments=("generation_tokens",),
        promql="generation_tokens_per_s",
        caveats=("Follows the load as well as the speed of engines.",),
        not_read_as="proof of reuse",
    ),
    Metric(
        key="uncached_tokens",
        label="Uncached input tokens",
        unit=Unit.TOKENS,
        concept=Concept.COMPUTED,
        definition="Input tokens less cached input tokens, over requests with a measured cached "
        "count.",
        population="Requests that the gateway recorded with a measured cached count.",
        weighting="by token",
        query="uncached_by_group",
        unknown_when="no request source is connected, or no request of the window has a measured "
        "cached count",
        caveats=(
            (
                "Not all of them can be cached: what is new in a prompt is computed, and so is at "
                "least one token of every request."
            ),
            "Requests without a measured count are in no sum; they are counted beside it.",
        ),
        not_read_as="what a tuning will win",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="uncached_share",
        label="Share of all uncached tokens",
        unit=Unit.RATIO,
        concept=Concept.COMPUTED,
        definition="Uncached input tokens of a group divided by those of all groups in scope.",
        population="Requests that the gateway recorded with a measured cached count.",
        weighting="by token",
        query="uncached_by_group",
        numerator="uncached tokens of the group",
        denominator="uncached tokens",
        unknown_when="no request of the group has a measured cached count",
        caveats=("A group that reports less of its requests looks smaller than it is.",),
        not_read_as="a share of requests",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="same_engine_share",
        label="Follow-ups on the same engine",
        unit=Unit.RATIO,
        concept=Concept.GATEWAY,
        definition="Follow-up turns asked on the engine of the turn before, divided by those whose "
        "two engines are known.",
        population="Follow-up turns of sessions that start in the window.",
        weighting="by turn",
        query="follow_ups",
        numerator="turns on the same engine",
        denominator="turns with both engines known",
        unknown_when="no request source is connected, there is no follow-up turn, or requests name "
        "no engines",
        caveats=(
            (
                "A turn is asked by its first request that names an engine; the engine of the turn "
                "before is that of its last such request."
            ),
            "Pod level and pool level are unknown, not another engine.",
        ),
        not_read_as="reuse: the same engine may have evicted the history",
        reference="docs/requests.md",
    ),
    Metric(
        key="follow_up_cached_share",
        label="Cached share of follow-ups",
        unit=Unit.RATIO,
        concept=Concept.GATEWAY,
        definition="Cached input tokens divided by input tokens, of the first request of follow-up "
        "turns.",
        population="Follow-up turns whose first request has a measured cached count.",
        weighting="by input token",
        query="follow_ups",
        numerator="cached input tokens",
        denominator="input tokens",
        unknown_when="no follow-up turn of this place has a measured cached count",
        caveats=(
            (
                "Turns on the same engine and on another differ in more than the engine: compare "
                "their idle gaps too."
            ),
        ),
        not_read_as="what a change of routing would give",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="follow_up_idle_gap",
        label="Median idle gap",
        unit=Unit.SECONDS,
        concept=Concept.REQUEST,
        definition="Median time from the end of the turn before to the start of this one, of known "
        "gaps.",
        population="Follow-up turns whose idle gap is known.",
        weighting="by turn",
        query="follow_ups",
        unknown_when="of no turn of this place the gap is known: the turn before has no end, or "
        "ended after this one began",
        caveats=("Unknown gaps are counted beside it and are no part of the median.",),
        not_read_as="how long an engine keeps blocks",
        reference="docs/requests.md",
    ),
    Metric(
        key="offered_tokens",
        label="Own history offered (estimate)",
        unit=Unit.TOKENS,
        concept=Concept.GATEWAY,
        definition="What the session's own history could have given at most: input and output of "
        "the turn before, or this input less one token where that is less, in whole blocks.",
        population="Follow-up turns with usage on both sides, a measured cached count and the same "
        "model.",
        weighting="by token",
        query="follow_ups",
        unknown_when="usage is missing, the turn before was still running, or another model was "
        "asked",
        caveats=(
            (
                "An estimate: it assumes that the prompt repeats the whole history from its first "
                "token, and that nothing is changed in it."
            ),
            "Block size from the engine's configuration, else 16.",
        ),
        not_read_as="a measured number",
        reference="queries/cache/affinity.sql",
    ),
    Metric(
        key="offered_delivered_share",
        label="Own history delivered (estimate)",
        unit=Unit.RATIO,
        concept=Concept.GATEWAY,
        definition="Cached input tokens divided by the tokens that the session's own history could "
        "have offered.",
        population="Follow-up turns with a known offer and a measured cached count.",
        weighting="by offered token",
        query="follow_ups",
        numerator="cached tokens",
        denominator="offered tokens",
        unknown_when="no offer is known, or nothing was offered",
        caveats=(
            (
                "Above 100 % where other prefixes gave more than the history: such turns are "
                "counted apart, and nothing is cut off."
            ),
            "An estimate, with the assumption of the tokens offered.",
        ),
        not_read_as="a hit ratio",
        reference="queries/cache/affinity.sql",
    ),
    Metric(
        key="arm_cached_tokens",
        label="Cached tokens per request",
        unit=Unit.TOKENS,
        concept=Concept.GATEWAY,
        definition="Cached input tokens over the requests of one arm that know theirs.",
        population="Requests of one arm with a measured cached count.",
        weighting="by request",
        query="arm_efficiency",
        numerator="cached input tokens",
        denominator="requests",
        unknown_when="no request of the arm has a measured cached count",
        caveats=("Tokens, not GPU time. Longer inputs have more to be found.",),
        not_read_as="time or money",
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="arm_input_tokens",
        label="Input length",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Input tokens over the requests of one arm that carry usage.",
        population="Requests of one arm that carry usage.",
        weighting="by request",
        query="arm_efficiency",
        numerator="input tokens",
        denominator="requests",
        unknown_when="no request of the arm carries usage",
        caveats=("Equal length is not equal content or difficulty.",),
        reference="Langfuse usageDetails contract",
    ),
    Metric(
        key="arm_request_rate",
        label="Request rate",
        unit=Unit.REQUESTS_PER_MIN,
        concept=Concept.NEUTRAL,
        definition="Attempts of one arm that the gateway recorded, over the minutes of its period "
        "up to now.",
        population="Attempts of one arm.",
        weighting="by attempt",
        query="arm_efficiency",
        numerator="requests",
        denominator="minutes",
        unknown_when="the period has not begun",
        caveats=("Of a canary it shows how traffic was split, not the load of the engines.",),
        reference="Langfuse observations",
    ),
    Metric(
        key="arm_first_token_s",
        label="TTFT of requests, mean",
        unit=Unit.SECONDS,
        concept=Concept.REQUEST,
        definition="Mean over requests of one arm of first token minus start, as the gateway "
        "recorded both.",
        population="Requests of one arm with a first token between their start and their end.",
        weighting="by attempt",
        query="arm_efficiency",
        numerator="seconds to the first token",
        denominator="requests",
        unknown_when="no request of the arm has such a first token",
        caveats=(
            "Queue, prefill, network and tokenisation lie in it; it names none of them.",
            "A few slow requests move a mean: read it beside p50 and p95.",
        ),
        not_read_as="the engines' own TTFT, or proof of reuse",
        reference="Langfuse observations",
    ),
    *(
        Metric(
            key=f"arm_first_token_p{percent}",
            label=f"TTFT of requests, p{percent}",
            unit=Unit.SECONDS,
            concept=Concept.REQUEST,
            definition=f"Time to first token that {percent} % of the requests of one arm stay "
            "below, as the edges of a bucket 5 % wide.",
            population="Requests of one arm with a first token between their start and their end.",
            weighting="by attempt",
            query="arm_first_tokens",
            unknown_when="no request of the arm has such a first token",
            caveats=("Queue, prefill, network and tokenisation lie in it; it names none of them.",),
            not_read_as="the engines' own TTFT, or proof of reuse",
            reference="Langfuse observations",
        )
        for percent in (50, 95)
    ),
    Metric(
        key="arm_output_rate",
        label="Output tokens per second of requests",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.REQUEST,
        definition="Output tokens over the seconds from start to end, both summed over the "
        "requests of one arm.",
        population="Requests of one arm with output tokens, a start and a later end.",
        weighting="by second of a request",
        query="arm_efficiency",
        numerator="output tokens",
        denominator="seconds of requests",
        unknown_when="no request of the arm knows its output and its times",
        caveats=("Waiting and prefill lie in the seconds; requests that run at once add up.",),
        not_read_as="the throughput of an engine",
        reference="Langfuse observations",
    ),
    Metric(
        key="engine_queue_s",
        label="Time in the queue, mean",
        unit=Unit.SECONDS,
        concept=Concept.WAITING,
        definition="Seconds that requests spent in the engine's queue, over those requests; both "
        "as the histogram's sum and count rose.",
        population="Requests that engines finished.",
        weighting="by request",
        query="engine_request_times",
        instruments=("request_queue_time_seconds",),
        numerator="seconds in the queue",
        denominator="requests",
        promql="engine_queue_s",
    ),
    Metric(
        key="engine_prefill_s",
        label="Time in prefill, mean",
        unit=Unit.SECONDS,
        concept=Concept.COMPUTED,
        definition="Seconds that requests spent in prefill, over those requests; both as the "
        "histogram's sum and count rose.",
        population="Requests that engines finished.",
        weighting="by request",
        query="engine_request_times",
        instruments=("request_prefill_time_seconds",),
        numerator="seconds in prefill",
        denominator="requests",
        promql="engine_prefill_s",
        caveats=("Counted when a request ends, in the minute of that scrape.",),
    ),
    Metric(
        key="evaluation_coverage",
        label="Evaluation coverage",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Complete requests with a valid score divided by those that should have one.",
        population="Complete requests an evaluator is meant for; those left out by a sampling "
        "plan with a known probability are in neither.",
        weighting="by request",
        query="quality_sums",
        numerator="requests with a valid score",
        denominator="requests that should have one",
        unknown_when="no complete request should have a score",
        caveats=(
            (
                "An evaluator's error, a missing record, conflicting records and an unknown "
                "probability lower it; none of them is a low score."
            ),
            (
                "Where an evaluator leaves requests out by design (a record of it says a "
                "probability below 1), a request without a record counts as not chosen, even if "
                "its record got lost."
            ),
        ),
        not_read_as="a quality score",
        reference="Langfuse scores",
    ),
    Metric(
        key="quality_difference",
        label="Difference of pass rates",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Pass rate (or mean score) of one group minus that of another: crude, over all "
        "their requests, and standardised, over strata with the same mix for both.",
        population="Scored requests of both groups that have a session.",
        weighting="by request; standardised with the pooled share of each stratum",
        query="quality_sums",
        unknown_when="a group has no scored request, fewer than two sessions, or no stratum in "
        "common with the other",
        caveats=(
            "One sum over all sessions: a session that is in both groups is not counted twice.",
            (
                "Strata that one group lacks are left out of the standardised difference, and "
                "their share is said."
            ),
            (
                "A difference that vanishes when standardised is no proof of a single cause; "
                "one that stays is not automatically nondeterminism or a hash collision."
            ),
        ),
        not_read_as="an effect: the groups were not drawn by lot",
        reference="direct standardisation and Mantel-Haenszel, variance by session",
    ),
    Metric(
        key="rank_association",
        label="Rank association",
        unit=Unit.SCORE,
        concept=Concept.REQUEST,
        definition="Spearman's rank correlation of the cached ratio (or the idle gap) with the "
        "score, over all requests and within strata.",
        population="Scored requests that know both, and have a session.",
        weighting="by request",
        query="quality_ranks",
        unknown_when="either is the same for all requests, or there are fewer than two sessions",
        caveats=(
            (
                "Association, not cause. Question difficulty, turn position, routing, load and "
                "timeouts may explain it; absence of association does not exclude a cause."
            ),
            "Ranks are held fixed for the interval; sampling weights are not used.",
        ),
        not_read_as="an effect of the cache",
        reference="Spearman, mid-ranks; variance by session",
    ),
    Metric(
        key="coarse_pass_rate",
        label="Scores of turns and sessions",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Mean of scores that are about a whole turn (trace) or a whole session; repeats "
        "are averaged first.",
        population="Turns or sessions with such a score in the window, of all models and arms.",
        weighting="by turn or session",
        query="coarse_scores",
        numerator="sum of values",
        denominator="scored turns or sessions",
        unknown_when="none has a value",
        caveats=(
            "They are not copied to the requests in them, so they have no cached ratio.",
            "Categories are counted as scored and are in no mean; they are no evaluator errors.",
            (
                "Where records of a score say how likely they were chosen, each counts by one over "
                "that; those that do not say it are counted as weightless and left out."
            ),
            (
                "Two different records for one repeat are a conflict: counted, left out, never "
                "averaged."
            ),
        ),
        not_read_as="a score of requests",
        reference="Langfuse scores",
    ),
    Metric(
        key="evaluator_agreement",
        label="Agreement with a reference",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Share of requests on which an evaluator and a reference (a human, a known "
        "answer, an execution) say the same, beside kappa and AC1.",
        population="Complete logical requests with a session that both graded as pass or fail.",
        weighting="by request",
        query="agreement_counts",
        numerator="requests with the same verdict",
        denominator="requests that both graded",
        unknown_when="no request has both, or an evaluator has no pass mark",
        caveats=(
            (
                "Where nearly all pass, kappa is near 0 or below it at high agreement: read it "
                "beside the counts."
            ),
            "A judge that errs shrinks differences: a loss of 2 points looks smaller.",
            (
                "A request whose repeats differ is on the side of the larger part; one that is "
                "split evenly, or has conflicting records, is left out."
            ),
            "Each request counts once; sampling weights are not used.",
        ),
        not_read_as="being right: the reference may err as well",
        reference="Cohen 1960, Krippendorff 2004, Gwet 2008",
    ),
    Metric(
        key="repeat_agreement",
        label="Agreement with itself",
        unit=Unit.RATIO,
        concept=Concept.REQUEST,
        definition="Share of repeatedly judged requests on which one evaluator and version says "
        "different things (flips).",
        population="Complete logical requests with a session and two verdicts or more of one "
        "evaluator and version.",
        weighting="by request",
        query="repeat_counts",
        numerator="requests with differing verdicts",
        denominator="requests judged more than once",
        unknown_when="no request was judged twice",
        caveats=(
            "The same record twice is one; a request with conflicting records is left out.",
            "Kappa, AC1 and the counts compare the first two verdicts, flips all of them.",
        ),
        not_read_as="agreement with the truth",
        reference="Langfuse scores",
    ),
    Metric(
        key="bench_hit_ratio",
        label="Hit ratio of the ON runs",
        unit=Unit.RATIO,
        concept=Concept.ENGINE,
        definition="Hit tokens divided by prompt tokens of the ON servers, both as their counters "
        "rose over the compared runs, summed before dividing.",
        population="Valid ON runs of a benchmark whose OFF run is valid too.",
        weighting="by prompt token",
        query="bench_job_runs",
        numerator="hit tokens",
        denominator="prompt tokens",
        unknown_when="no valid pair of runs was compared, or the counters were not seen on both "
        "sides of a run",
        caveats=(
            (
                "Where lookups were counted more than once (vLLM up to 0.26, under pressure), hits "
                "are the cached prompt tokens."
            ),
            "The prompts are made for the benchmark: no traffic of yours is in it.",
        ),
        not_read_as="a speed-up, or the hit ratio that real traffic will have",
    ),
    Metric(
        key="bench_hits_tokens",
        label="Hit tokens of the ON runs",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Hit tokens of the ON servers over the compared runs, beside the interval that "
        "the workload allows: all of the first wave may miss, or only its first request.",
        population="Valid ON runs of a benchmark whose OFF run is valid too.",
        weighting="by token",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared, or the counters were not seen",
        caveats=(
            "Below the interval is to be explained (eviction, preemption), and fails no run.",
            "Prompts of few different tokens can share a block by chance.",
        ),
        not_read_as="time that was not spent",
    ),
    Metric(
        key="bench_cached_tokens",
        label="Cached prompt tokens of the ON runs",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Prompt tokens that the ON servers took from any cache, by their own count.",
        population="Valid ON runs of a benchmark whose OFF run is valid too.",
        weighting="by token",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared, or the counter is not exported",
    ),
    Metric(
        key="bench_queries_off",
        label="Looked-up tokens of the OFF runs",
        unit=Unit.TOKENS,
        concept=Concept.NEUTRAL,
        definition="Tokens looked up in the prefix cache by the OFF servers: 0 where it is off.",
        population="Valid OFF runs of a benchmark whose ON run is valid too.",
        weighting="by token looked up",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared, or the counter is not exported",
    ),
    Metric(
        key="bench_queries_on",
        label="Looked-up tokens of the ON runs",
        unit=Unit.TOKENS,
        concept=Concept.ENGINE,
        definition="Tokens looked up in the prefix cache by the ON servers: their prompt tokens "
        "where each is looked up once.",
        population="Valid ON runs of a benchmark whose OFF run is valid too.",
        weighting="by token looked up",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared, or the counter is not exported",
    ),
    Metric(
        key="bench_prefill_off_s",
        label="Mean prefill time, OFF",
        unit=Unit.SECONDS,
        concept=Concept.COMPUTED,
        definition="Seconds of prefill divided by finished requests, as the OFF servers' "
        "request_prefill_time_seconds rose over the compared runs.",
        population="Valid OFF runs of a benchmark whose ON run is valid too.",
        weighting="by request",
        query="bench_job_runs",
        numerator="s of prefill",
        denominator="requests",
        unknown_when="no valid pair of runs was compared, or the histogram is not exported",
        caveats=("Chunks of other requests that run in between are inside this time.",),
    ),
    Metric(
        key="bench_prefill_on_s",
        label="Mean prefill time, ON",
        unit=Unit.SECONDS,
        concept=Concept.ENGINE,
        definition="Seconds of prefill divided by finished requests, as the ON servers' "
        "request_prefill_time_seconds rose over the compared runs.",
        population="Valid ON runs of a benchmark whose OFF run is valid too.",
        weighting="by request",
        query="bench_job_runs",
        numerator="s of prefill",
        denominator="requests",
        unknown_when="no valid pair of runs was compared, or the histogram is not exported",
        caveats=("Chunks of other requests that run in between are inside this time.",),
    ),
    Metric(
        key="bench_ttft",
        label="Median time to first token, OFF and ON",
        unit=Unit.SECONDS,
        concept=Concept.ENGINE,
        definition="Median TTFT of each run as the client saw it; over several runs their "
        "geometric mean with a t interval on logarithms. OFF over ON is the change: above 1, ON "
        "was faster.",
        population="Valid runs of a benchmark, OFF and ON of the same repeat.",
        weighting="by run",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared",
        caveats=(
            (
                "Below three pairs of runs an interval, if any, shows variation inside the runs "
                "alone, and there is no speed verdict."
            ),
            "Prefill work of one request has a ceiling; waiting for others can go beyond it.",
            "The median does not see the first, cold requests while they are fewer than half.",
        ),
        not_read_as="evidence of hits: those are counted by the engine",
        reference="vllm bench serve, vLLM 0.26.0 and 0.32.0",
    ),
    Metric(
        key="bench_throughput",
        label="Input and output tokens per second of a run",
        unit=Unit.TOKENS_PER_S,
        concept=Concept.NEUTRAL,
        definition="Input (or output) tokens of a run divided by its measured seconds; over "
        "several runs their geometric mean.",
        population="Valid runs of a benchmark, OFF and ON of the same repeat.",
        weighting="by run",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared",
        reference="vllm bench serve, vLLM 0.26.0 and 0.32.0",
    ),
    Metric(
        key="bench_e2e",
        label="Median end-to-end latency of a run",
        unit=Unit.SECONDS,
        concept=Concept.NEUTRAL,
        definition="Median seconds from sending a request to its last token, as the client saw "
        "it; over several runs their geometric mean.",
        population="Valid runs of a benchmark, OFF and ON of the same repeat.",
        weighting="by run",
        query="bench_job_runs",
        unknown_when="no valid pair of runs was compared, or the result file has no e2el",
        reference="vllm bench serve, vLLM 0.26.0 and 0.32.0",
    ),
)

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ENTRIES}


@dataclass(frozen=True)
class ScoreKind:
    """What scores of one kind measure, and what they do not."""

    label: str
    measures: str
    not_read_as: str


SCORE_KINDS: dict[str, ScoreKind] = {
    "presence": ScoreKind(
        "presence check",
        "whether there is an answer at all",
        "factuality: an answer that is there may be wrong",
    ),
    "keyword": ScoreKind(
        "keyword check",
        "whether the answer contains expected words",
        "correctness: a wrong answer may contain them, and a right one may not",
    ),
    "rule": ScoreKind(
        "rule check",
        "whether the answer keeps a rule of form, for example that it was not cut",
        "correctness of what it says",
    ),
    "judge": ScoreKind(
        "judge model",
        "what a model says of the answer",
        "the truth: read it beside its agreement with a reference and with itself",
    ),
    "reference": ScoreKind(
        "reference check",
        "whether the answer equals a known one",
        "quality of answers that may differ from it and be right",
    ),
    "human": ScoreKind(
        "human review",
        "what a person says of the answer",
        "the truth: people differ, and few answers are reviewed",
    ),
    "execution": ScoreKind(
        "execution check",
        "whether what was asked for runs and passes its tests",
        "quality beyond what the tests look at",
    ),
    "unnamed": ScoreKind(
        "score of a kind nobody has named",
        "what its name says",
        "anything more: name its kind in PREFIXWATCH_EVALUATORS",
    ),
}
KNOWN_SCORES = {
    "answer_present": "presence",
    "contains_expected": "keyword",
    "not_truncated": "rule",
}
"""Kinds of well-known score names, where no setting says one."""
_KIND_OF_SOURCE = {"ANNOTATION": "human", "EVAL": "judge"}


def kind_of(score: str, declared: str | None, source: str | None) -> str:
    """Kind of a score: what a setting says, else its well-known name, else who wrote it.

    >>> kind_of("contains_expected", None, "API"), kind_of("mine", None, None)
    ('keyword', 'unnamed')
    """
    by_source = _KIND_OF_SOURCE.get(source) if source is not None else None
    return declared or KNOWN_SCORES.get(score) or by_source or "unnamed"
