"""A small Prometheus over real HTTP, whose clock the test turns.

Every value is a function of the scrape number, so two readings of one instant
always agree. The series hold what collectors find hard: restarts, missing
scrapes, failed scrapes, and an engine that is born while being watched. All values
are multiples of 1/16, so that sums are exact in any order.
"""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

SCRAPE_S = 15
BORN = 20
"""Scrape at which the last engine appears."""
ENGINES = 3
EDGES = ("0.1", "1.0", "+Inf")
MODELS = ("small", "small", "large")
NAMES = re.compile(r'\{__name__=~"(?P<names>[^"]*)"\}\[(?P<seconds>\d+)s\]')
UP = re.compile(r'up\{job=~"(?P<jobs>[^"]*)"\}\[(?P<seconds>\d+)s\]')

Labels = dict[str, str]
Point = tuple[float, str]


class ServedPrometheus:
    """Answers on 127.0.0.1 until closed; `now` is its clock."""

    def __init__(self, now: float) -> None:
        self.begin = now - 600
        self.now = now
        self.asked = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                self._answer({name: values[-1] for name, values in asked.items()})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer({name: values[-1] for name, values in parse_qs(body).items()})

            def _answer(self, asked: dict[str, str]) -> None:
                served.asked += 1
                result = served.answer(asked["query"], float(asked.get("time", served.now)))
                body = json.dumps({"status": "success", "data": {"result": result}}).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the one who asked was killed

            def log_message(self, *_: Any) -> None:
                """Nothing: thousands of requests are expected."""

        return Handler

    def answer(self, query: str, at: float) -> list[dict[str, object]]:
        """Result of one query, as the API gives it."""
        if query == "vector(time())":
            return [{"metric": {}, "value": (self.now, repr(self.now))}]
        if query.startswith("http_requests_total{"):
            return []
        matched = NAMES.fullmatch(query) or UP.fullmatch(query)
        assert matched is not None, query
        seconds = float(matched["seconds"])
        wanted = re.compile(json.loads(f'"{matched[1]}"'))
        by_name = query.startswith("{")
        series = []
        for engine in range(ENGINES):
            for labels, points in self._engine(engine, at - seconds, min(at, self.now)):
                name = labels["__name__"]
                if (name != "up") == by_name and wanted.fullmatch(
                    name if by_name else labels["job"]
                ):
                    series.append({"metric": labels, "values": points})
        return series

    def _engine(
        self, engine: int, start: float, end: float
    ) -> Iterator[tuple[Labels, list[Point]]]:
        first = self.begin + 1.7 * engine + 0.321
        low = max(0, int((start - first) // SCRAPE_S))
        high = int((end - first) // SCRAPE_S) + 1
        scrapes = [
            (k, round(first + SCRAPE_S * k, 3))
            for k in range(low, max(low, high + 1))
            if start <= first + SCRAPE_S * k <= end and not _skipped(engine, k)
        ]
        target = {"job": "vllm", "instance": f"10.0.0.{engine}:8000"}
        ups = [(at, "0" if _failed(engine, k) else "1") for k, at in scrapes]
        if ups:
            yield {"__name__": "up", **target}, ups
        alive = [(k, at) for k, at in scrapes if not _failed(engine, k)]
        if engine == ENGINES - 1:
            alive = [(k, at) for k, at in alive if k >= BORN]
        if alive:
            place = target | {"namespace": "prod", "pod": f"pod-{engine}", "engine": "0"}
            yield from _exported(engine, alive, place)


def _exported(
    engine: int, scrapes: list[tuple[int, float]], place: Labels
) -> Iterator[tuple[Labels, list[Point]]]:
    labels = place | {"model_name": MODELS[engine]}

    def counter(name: str, rate: int, **more: str) -> tuple[Labels, list[Point]]:
        points = [(at, str(_count(engine, k, rate))) for k, at in scrapes]
        return {"__name__": f"vllm:{name}", **labels, **more}, points

    def gauge(name: str, period: int) -> tuple[Labels, list[Point]]:
        points = [(at, repr((k * 7 + engine) % period / period)) for k, at in scrapes]
        return {"__name__": f"vllm:{name}", **labels}, points

    yield counter("prefix_cache_queries_total", 400)
    yield counter("prefix_cache_hits_total", 160)
    yield counter("prompt_tokens_total", 400)
    yield counter("prompt_tokens_by_source_total", 240, source="local_compute")
    yield counter("prompt_tokens_by_source_total", 160, source="local_cache_hit")
    yield counter("num_preemptions_total", 1)
    yield gauge("kv_cache_usage_perc", 16)
    yield gauge("num_requests_running", 8)
    yield gauge("num_requests_waiting", 4)
    for edge, rate in zip(EDGES, (2, 5, 9), strict=True):
        yield counter("time_to_first_token_seconds_bucket", rate, le=edge)
    yield counter("time_to_first_token_seconds_count", 9)
    yield counter("time_to_first_token_seconds_sum", 4)
    config = {"__name__": "vllm:cache_config_info", "block_size": "16", "engine": "0"}
    yield place | config, [(at, "1") for _, at in scrapes]


def _life(engine: int) -> int:
    return 97 + 13 * engine


def _count(engine: int, k: int, rate: int) -> int:
    """A counter that starts at zero again after every life of its engine."""
    since = k % _life(engine)
    return rate * since + since % (rate // 2 + 1)


def _skipped(engine: int, k: int) -> bool:
    """Scrapes that never happened."""
    return k % 61 in range(30, 30 + 3 * engine)


def _failed(engine: int, k: int) -> bool:
    """Scrapes that got no answer."""
    return k % 83 == 5 + engine
