"""A hand-written Prometheus behind a real port, and one that scrapes a server by itself."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.collect.fake_prometheus import FakePrometheus

SAMPLE = re.compile(r'(vllm:\w+)\{.*?engine="(\d+)"[^}]*\} (\S+)')


@contextmanager
def served(make: Callable[[], FakePrometheus], *, slow_s: float = 0.0) -> Iterator[str]:
    """The address of what `make` gives at each question."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            time.sleep(slow_s)
            asked = parse_qs(urlsplit(self.path).query)
            status, body = make()._good(asked["query"][-1], asked)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Scraper:
    """Reads one server's metrics every `interval_s`, in a thread of its own."""

    def __init__(self, url: str, *, interval_s: float) -> None:
        self.url, self.interval_s = url, interval_s
        self.times = 1.0
        """What is stored is so many times what was counted."""
        self._scrapes: list[tuple[float, dict[str, float]]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._go)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def count(self) -> int:
        return len(self._scrapes)

    def prometheus(self) -> FakePrometheus:
        """Everything that was scraped so far, as Prometheus would store it."""
        scrapes = list(self._scrapes)
        fake = FakePrometheus(time.time())
        where = {"instance": urlsplit(self.url).netloc, "job": "vllm"}
        times = [at for at, _ in scrapes]
        if scrapes:
            fake.add("up", times, [1.0] * len(times), **where)
            for name in scrapes[0][1]:
                values = [found[name] for _, found in scrapes]
                fake.add(name, times, values, engine="0", **where)
        return fake

    def _go(self) -> None:
        while not self._end.wait(self.interval_s):
            at = round(time.time(), 3)
            text = httpx.get(f"{self.url}/metrics", trust_env=False).text
            found = {name: self.times * float(value) for name, _, value in SAMPLE.findall(text)}
            self._scrapes.append((at, found))
