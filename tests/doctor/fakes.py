"""A Prometheus and a Langfuse whose answers a test writes, and the doctor between them."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import requests

from core.config import Settings
from core.doctor import Finding, Level, examine
from core.sources.langfuse import LangfuseSource
from core.sources.prometheus import PrometheusSource
from tests.collect.fake_prometheus import Answer, FakePrometheus

RECORDINGS = Path(__file__).parent.parent / "recordings"
NOW = 1_790_000_040.0
PROMETHEUS, LANGFUSE = "http://prometheus.test", "http://langfuse.test"
PUBLIC, SECRET = "pk-lf-1234", "sk-lf-5678"
COUNTERS = (
    *(
        "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_hits_total",
        "vllm:prompt_tokens_total",
    ),
    *("vllm:prompt_tokens_cached_total", "vllm:num_preemptions_total"),
)
BY_SOURCE = "vllm:prompt_tokens_by_source_total"
RESIDENCY = "vllm:kv_block_lifetime_seconds_count"
CONFIG = "vllm:cache_config_info"
LITELLM = "litellm_input_tokens_metric_total"
PLACE = {"job": "vllm", "cluster": "c", "namespace": "n"}


def recorded(name: str) -> Any:
    """One recorded answer of Langfuse."""
    return json.loads((RECORDINGS / "langfuse" / f"{name}.json").read_text(encoding="utf-8"))


def gateway(name: str) -> list[dict[str, Any]]:
    """Rows of one recorded run of a gateway."""
    path = RECORDINGS / "gateway" / f"{name}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["data"]
    return rows


class Prometheus(FakePrometheus):
    """Engines of a test, with build information and names."""

    def __init__(self, now: float = NOW, *, every: float = 15.0) -> None:
        super().__init__(now=now)
        self.every = every
        self.build: Answer = (200, json.dumps(build("2.42.0")).encode())
        self.headers: dict[str, str] = {}

    def engine(
        self,
        pod: str | None = "vllm-0",
        *,
        counters: tuple[str, ...] = COUNTERS,
        first: float = 1.0,
        every: float | None = None,
        residency: bool = True,
        caching: str | None = "True",
        by_source: bool = True,
        up: float = 1.0,
        **labels: str,
    ) -> None:
        """One engine with everything switched on, but for what a test takes away."""
        times = self.times(every)
        own = {**PLACE, "instance": f"{pod}:8000", "model_name": "m", "engine": "0"}
        own |= {"pod": pod} if pod is not None else {}
        own = {name: value for name, value in (own | labels).items() if value}
        rising = first + np.arange(times.size) * 3.0
        for name in counters:
            self.add(name, times, rising, **own)
        if by_source:
            self.add(BY_SOURCE, times, rising, source="local_compute", **own)
        if residency:
            self.add(RESIDENCY, times, rising, **own)
        if caching is not None:
            bare = {name: value for name, value in own.items() if name != "model_name"}
            self.add(CONFIG, times, times * 0 + 1, enable_prefix_caching=caching, **bare)
        self.target(every=every, up=up, **own)

    def target(self, *, every: float | None = None, up: float = 1.0, **labels: str) -> None:
        """Only the scrapes of an address."""
        times = self.times(every)
        bare = {k: v for k, v in labels.items() if k not in ("model_name", "engine")}
        self.add("up", times, times * 0 + up, **bare)

    def times(self, every: float | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Scrapes of the last 20 minutes."""
        step = every if every is not None else self.every
        return np.arange(self.now - 1200, self.now, step, dtype=float)

    def send(self, request: requests.PreparedRequest, *a: object, **k: object) -> requests.Response:
        """Answer one request."""
        if urlsplit(request.url or "").path.endswith("/api/v1/status/buildinfo"):
            request.prepare_url(f"{PROMETHEUS}/api/v1/query", {"query": "buildinfo"})
        response = super().send(request, *a, **k)
        response.headers.update(self.headers)
        return response

    def _good(self, query: str, asked: Mapping[str, list[str]]) -> Answer:
        if query == "buildinfo":
            return self.build
        if query.startswith("count by (__name__)"):
            names = {labels["__name__"] for labels, *_ in self._series}
            found = [
                {"metric": {"__name__": name}, "value": [self.now, "1"]}
                for name in sorted(names)
                if name.startswith("vllm")
            ]
            return self._success("vector", list(found))
        return super()._good(query, asked)


def build(version: str, **more: str) -> dict[str, object]:
    """Build information as Prometheus gives it."""
    return {"status": "success", "data": {"version": version, **more}}


Refusal = Callable[[httpx.Request], httpx.Response | None]


class Langfuse:
    """A Langfuse in write mode `dual`, with rows and scores of a test.

    `refuse` may answer in place of the good answer, or raise.
    """

    def __init__(self, *rows: dict[str, Any], scores: list[dict[str, Any]] | None = None) -> None:
        self.rows = list(rows)
        self.scores = scores if scores is not None else [score("judge", version="1")]
        self.refuse: Refusal = lambda _request: None
        self.asked: list[httpx.Request] = []
        self.skew_s: float | None = 0.0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.asked.append(request)
        answer = self.refuse(request) or self._good(request)
        if self.skew_s is not None:
            at = datetime.now(UTC).timestamp() + self.skew_s
            answer.headers["date"] = format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)
        return answer

    def paths(self) -> list[str]:
        """Paths that were asked for."""
        return [request.url.path.removeprefix("/api/public/") for request in self.asked]

    def _good(self, request: httpx.Request) -> httpx.Response:
        path, asked = request.url.path.removeprefix("/api/public/"), request.url.params
        if path in ("health", "projects"):
            return httpx.Response(200, json=recorded(f"dual/{path}")["body"])
        if path in ("v2/observations", "observations"):
            found = [row for row in self.rows if _inside(row, asked)]
            found = found[: int(asked["limit"])]
        elif path in ("v3/scores", "v2/scores"):
            found = self.scores
        elif path == "traces":
            found = [{"id": r["traceId"], "sessionId": f"session of {r['id']}"} for r in self.rows]
        else:
            return httpx.Response(404, text="<html>")
        by_page = {"page": 1, "limit": 1, "totalItems": 1, "totalPages": 1}
        meta = {} if path in ("v2/observations", "v3/scores") else by_page
        return httpx.Response(200, json={"data": found, "meta": meta})


def _inside(row: Mapping[str, Any], asked: httpx.QueryParams) -> bool:
    start = str(row["startTime"])[:19]
    return (
        asked.get("fromStartTime", "0")[:19] <= start < asked.get("toStartTime", "9")[:19]
        and asked.get("type", row["type"]) == row["type"]
    )


def refuse_with(status: int, *paths: str, name: str | None = None, text: str = "") -> Refusal:
    """A refusal of some paths (all when none is named) by a recorded answer or a text."""

    def refuse(request: httpx.Request) -> httpx.Response | None:
        path = request.url.path.removeprefix("/api/public/")
        if paths and path not in paths:
            return None
        if name is None:
            return httpx.Response(status, text=text)
        said = recorded(name)
        return httpx.Response(status, json=said["body"], headers=_kept(said["headers"]))

    return refuse


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name == "retry-after"}


def iso(seconds: float) -> str:
    """A moment as Langfuse writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


_ids = iter(range(10**6))


def row(
    *,
    age: float = 60.0,
    address: str | None = "vllm-0:8000",
    cached: int | None = 64,
    stream: bool = False,
    session: str | None = "s1",
    trace: str | None = None,
    lag: float = 1.0,
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A request as LiteLLM's callback `langfuse` writes it; cached None: not reported."""
    name = f"o{next(_ids)}"
    start, end = NOW - age, NOW - age + 2
    details = None if cached is None else {"cached_tokens": cached}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    given = {
        "litellm_call_id": f"call-{name}",
        "scope.name": "langfuse-sdk",
        "arm": "A",
        "task_type": "chat",
        "template_version": "v1",
        "usage_object": usage,
    }
    given |= {"api_base": f"http://{address}/v1"} if address is not None else {}
    read = cached if cached is not None else 0
    made = {
        "id": name,
        "traceId": trace if trace is not None else f"t-{name}",
        "type": "GENERATION",
        "startTime": iso(start),
        "endTime": iso(end),
        "completionStartTime": iso(start + 1 if stream else end),
        "createdAt": iso(end + lag),
        "updatedAt": iso(end + lag),
        "level": "DEFAULT",
        "model": "hosted_vllm/m",
        "sessionId": session,
        "modelParameters": {"stream": str(stream).lower(), "messages": "never read this"},
        "usageDetails": {
            "input": 100 - read,
            "cache_read_input_tokens": read,
            "output": 5,
            "total": 105,
        },
        "metadata": given | dict(metadata or {}),
    }
    return made | more


def score(name: str, *, version: str | None = None) -> dict[str, Any]:
    """A score of one observation, as v3 gives it."""
    return {
        "id": f"score{next(_ids)}",
        "name": name,
        "timestamp": iso(NOW - 30),
        "dataType": "NUMERIC",
        "value": 0.5,
        "metadata": {} if version is None else {"evaluator_version": version},
        "subject": {"kind": "observation", "id": "o", "traceId": "t"},
    }


def settings_of(**given: Any) -> Settings:
    """Settings with both sources."""
    both = {
        "prometheus_url": PROMETHEUS,
        "prometheus_timeout_s": 2.0,
        "langfuse_url": LANGFUSE,
        "langfuse_public_key": PUBLIC,
        "langfuse_secret_key": SECRET,
    }
    return Settings(_env_file=None, **(both | given))


def langfuse_source(settings: Settings, langfuse: Langfuse) -> LangfuseSource:
    """The client, joined to a fake server."""
    return LangfuseSource(settings, transport=httpx.MockTransport(langfuse))


def examined(
    prometheus: FakePrometheus | None = None,
    langfuse: Langfuse | None = None,
    *,
    settings: Settings | None = None,
    now: float = NOW,
    ours: float | None = None,
    most_s: float = 120.0,
) -> "Found":
    """What the doctor finds; `ours` is the time of our own clock."""
    settings = settings or settings_of()
    first = PrometheusSource(settings, adapter=prometheus) if prometheus is not None else None
    second = langfuse_source(settings, langfuse) if langfuse is not None else None
    return Found(
        examine(
            settings,
            prometheus=first,
            langfuse=second,
            now=now,
            clock=lambda: now if ours is None else ours,
            most_s=most_s,
        )
    )


class Found(list[Finding]):
    """Findings, asked for by key; no two of one examination share key and subject."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings)
        assert len({(f.finding, f.subject) for f in findings}) == len(findings)

    def one(self, key: str, subject: str | None = None) -> Finding:
        """The only finding of a check."""
        (found,) = (f for f in self if f.finding == key and subject in (None, f.subject))
        return found

    def level(self, key: str, subject: str | None = None) -> Level:
        """Its level."""
        return self.one(key, subject).level

    def says(self, key: str, *words: str, subject: str | None = None) -> None:
        """Detail and next step hold all these words."""
        found = self.one(key, subject)
        told = f"{found.title} {found.detail} {found.next_step}"
        missing = [word for word in words if word not in told]
        assert not missing, (missing, told)

    @property
    def wrong(self) -> list[tuple[str, str]]:
        """Keys and subjects of everything that is an error or a warning."""
        return [(f.finding, f.subject) for f in self if f.level in (Level.ERROR, Level.WARNING)]


def sound() -> tuple[Prometheus, Langfuse]:
    """Both sources with nothing to find fault with."""
    prometheus = Prometheus()
    prometheus.engine("vllm-0")
    prometheus.engine("vllm-1", first=50.0)
    prometheus.add(LITELLM, prometheus.times(), prometheus.times(), instance="gw:4000", job="gw")
    rows = [row(age=60.0 + i, address=f"vllm-{i % 2}:8000", stream=i % 3 == 0) for i in range(12)]
    return prometheus, Langfuse(*rows)
