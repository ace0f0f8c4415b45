"""What `vllm bench serve` and the engine say of a run, as records; nothing here judges it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import NamedTuple

from core.domain.bench.prompts import Prompts, Unmade


@dataclass(frozen=True)
class Summary:
    """One kind of latency over the completed requests, milliseconds.

    `percentiles` holds what was asked for: 95.0 -> its value.
    """

    mean_ms: float
    median_ms: float
    percentiles: Mapping[float, float]


@dataclass(frozen=True)
class Requests:
    """Times of the single requests, in the order the benchmark made them.

    Parameters
    ----------
    started_s : tuple of float
        On the client's monotonic clock; only differences mean something.
    ttft_s : tuple of float
    input_tokens, output_tokens : tuple of int
    completed : tuple of bool
        False: its other values say nothing.
    """

    started_s: tuple[float, ...]
    ttft_s: tuple[float, ...]
    input_tokens: tuple[int, ...]
    output_tokens: tuple[int, ...]
    completed: tuple[bool, ...]

    def by_start(self) -> Iterator[int]:
        """Places of the completed requests, first started first."""
        order = sorted(range(len(self.started_s)), key=self.started_s.__getitem__)
        return (place for place in order if self.completed[place])


@dataclass(frozen=True)
class BenchResult:
    """One result file of `vllm bench serve`.

    Latencies and throughputs are None where no request completed (the file has 0.0 there)
    or the file does not give them.
    """

    date: str
    backend: str
    model_id: str
    tokenizer_id: str
    num_prompts: int
    max_concurrency: int | None
    request_rate: str | float
    duration_s: float
    completed: int
    failed: int
    total_input_tokens: int
    total_output_tokens: int
    request_throughput: float | None
    output_throughput: float | None
    total_token_throughput: float | None
    ttft: Summary | None
    tpot: Summary | None
    itl: Summary | None
    e2el: Summary | None
    requests: Requests | None

    @property
    def input_throughput(self) -> float | None:
        """Input tokens a second; None where none completed."""
        return self.total_input_tokens / self.duration_s if self.completed else None


@dataclass(frozen=True)
class Counters:
    """Counters of one engine, or their increases; what was not exported is None."""

    queries_tokens: float | None = None
    hits_tokens: float | None = None
    prompt_tokens: float | None = None
    cached_tokens: float | None = None
    generation_tokens: float | None = None
    finished_requests: float | None = None
    preemptions: float | None = None
    prefill_time_s: float | None = None
    prefill_count: float | None = None

    def __add__(self, other: "Counters") -> "Counters":
        """Sum of two engines; None where one of them does not say."""
        return _each(self, other, 1.0)

    def since(self, before: "Counters") -> "Counters":
        """Increases; None where a side is missing.

        >>> Counters(hits_tokens=5.0).since(Counters(hits_tokens=2.0)).hits_tokens
        3.0
        """
        return _each(self, before, -1.0)


def _each(these: Counters, those: Counters, sign: float) -> Counters:
    values: dict[str, float | None] = {}
    for field in fields(Counters):
        this, that = getattr(these, field.name), getattr(those, field.name)
        values[field.name] = None if this is None or that is None else this + sign * that
    return Counters(**values)


@dataclass(frozen=True)
class Snapshot:
    """One scrape of an engine's metrics.

    Parameters
    ----------
    engines : mapping
        Engine label -> its counters.
    configs : mapping
        Engine label -> labels of its cache_config_info.
    process_start_s : float or None
        None where several API servers hide it.
    """

    engines: Mapping[str, Counters]
    configs: Mapping[str, Mapping[str, str]]
    process_start_s: float | None = None


class KvLine(NamedTuple):
    """What an engine's log says of its KV cache."""

    engine: str
    tokens: int
    sequences: float | None


@dataclass(frozen=True)
class LogFacts:
    """What a server's log says.

    Parameters
    ----------
    kv_lines : tuple
        KV cache size of each engine, as it started.
    prefix_lines : tuple of str
        Last lines that tell of prefix caching, resets included.
    version : str or None
    caching : bool or None
        Whether the engine was set to cache prefixes.
    is_ready : bool
        Whether it said that its start was complete.
    """

    kv_lines: tuple[KvLine, ...]
    prefix_lines: tuple[str, ...]
    version: str | None
    caching: bool | None
    is_ready: bool


class ScrapeState(StrEnum):
    """What Prometheus can say of a run."""

    NOT_CONFIGURED = "not_configured"
    UNANSWERED = "unanswered"
    NOT_SCRAPED = "not_scraped"
    TOO_FEW = "too_few_scrapes"
    SEVERAL_TARGETS = "several_targets"
    OTHER_TRAFFIC = "other_traffic"
    SEEN = "seen"


@dataclass(frozen=True)
class Scraped:
    """What Prometheus counted from its last scrape before a run to its first after it.

    Parameters
    ----------
    counters : Counters or None
        Increases summed over the engines; None: unknown, and `state` says why.
    detail : str or None
        What Prometheus said where it did not answer.
    instance : str or None
        The target, as Prometheus names it.
    interval_s : float or None
        Median distance of its scrapes.
    from_at, to_at : float or None
        The two scrapes, seconds since the epoch by the clock of Prometheus.
    scrapes, resets : int or None
        Scrapes from the one to the other, and how many of them showed a restart.
    """

    state: ScrapeState
    counters: Counters | None = None
    detail: str | None = None
    instance: str | None = None
    interval_s: float | None = None
    from_at: float | None = None
    to_at: float | None = None
    scrapes: int | None = None
    resets: int | None = None

    @property
    def is_due(self) -> bool:
        """Whether only the scrape after the run is missing, so that it may still come."""
        return self.from_at is not None and self.to_at is None


@dataclass(frozen=True)
class RunEvidence:
    """Everything that is known of one run when it is judged.

    Parameters
    ----------
    exit_code : int or None
        None: nobody saw it end, as for an import.
    result, result_error : BenchResult or None, str or None
        What the file holds, or why it cannot be used.
    before, after : Snapshot or None
        Scrapes of the server around the run.
    log : LogFacts or None
    version : str or None
        The server's, as it says itself.
    serve_arguments, bench_arguments : tuple of str or None
        Commands as they were started; None for a server that was given, or an import.
    warm : bool or None
        Whether the server's cache may have held prompts of this run at its start: neither
        started afresh nor reset with success since a run of the same prompts.
    started_at, ended_at : float or None
        Seconds since the epoch.
    prompts : Prompts or Unmade
        Its prompts made again, or why they are not.
    prometheus : Scraped or None
        None: nobody asked, as for an import.
    """

    run_id: str
    exit_code: int | None
    result: BenchResult | None = None
    result_error: str | None = None
    before: Snapshot | None = None
    after: Snapshot | None = None
    log: LogFacts | None = None
    version: str | None = None
    serve_arguments: tuple[str, ...] | None = None
    bench_arguments: tuple[str, ...] | None = None
    warm: bool | None = None
    started_at: float | None = None
    ended_at: float | None = None
    cancelled: bool = False
    time_limit_hit: bool = False
    last_output: str | None = None
    prompts: Prompts | Unmade = Unmade.NOT_MADE
    prometheus: Scraped | None = None

    def increase(self) -> Counters | None:
        """Increases of the counters over the run, summed over the engines.

        Unknown when
        ------------
        A scrape is missing, the engines of the two differ, or a counter went down: the
        server was started again in between.
        """
        if self.before is None or self.after is None or not self.before.engines:
            return None
        if self.before.engines.keys() != self.after.engines.keys():
            return None
        if self.before.process_start_s != self.after.process_start_s:
            return None
        parts = [now.since(self.before.engines[e]) for e, now in self.after.engines.items()]
        whole = parts[0]
        for part in parts[1:]:
            whole += part
        return None if any(_went_down(part) for part in parts) else whole


def _went_down(part: Counters) -> bool:
    values = [getattr(part, field.name) for field in fields(Counters)]
    return any(value is not None and value < 0 for value in values)
