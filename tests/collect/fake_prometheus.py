"""A Prometheus whose samples a test writes by hand, joined in place of the network.

Answers have Prometheus' own JSON shape. Ranges are closed, as in 2.x, or
left-open, as in 3.x. Samples after its clock are not there yet.
"""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

import numpy as np
import requests
from urllib3 import HTTPResponse

from core.domain.records import Floats

Answer = tuple[int, bytes]
SELECTOR = re.compile(r"([\w:]*)\{(.*)\}\[(\d+)s\]", re.DOTALL)
MATCHER = re.compile(r'(\w+)(=~|=)("(?:[^"\\]|\\.)*"),?')
MILLISECOND = 0.001


class FakePrometheus(requests.adapters.BaseAdapter):
    """Serves hand-written samples to a `PrometheusSource`.

    `refuse` sees the query and the length of its window, and may give an answer
    (status, body) of its own, or raise, in place of the good one.
    """

    def __init__(self, now: float, *, left_open: bool = False) -> None:
        super().__init__()
        self.now = now
        self.left_open = left_open
        self.refuse: Callable[[str, int], Answer | None] = lambda _query, _seconds: None
        self.asked: list[str] = []
        self.warnings: list[str] = []
        self._series: list[tuple[dict[str, str], Floats, list[str]]] = []

    def add(
        self,
        name: str,
        times: Sequence[float] | Floats,
        values: Sequence[float] | Floats,
        **labels: str,
    ) -> None:
        """Store one series. Equal label sets are one series in Prometheus: add them once."""
        at = np.asarray(times, dtype=float)
        assert (np.diff(at) > 0).all()
        assert at.size == len(values)
        self._series.append(({"__name__": name, **labels}, at, [_text(v) for v in values]))

    def send(
        self, request: requests.PreparedRequest, *_: object, **__: object
    ) -> requests.Response:
        """Answer one request."""
        asked = parse_qs(str(urlsplit(request.url or "").query))
        query = asked["query"][-1]
        self.asked.append(query)
        selector = SELECTOR.fullmatch(query)
        seconds = int(selector[3]) if selector else 0
        status, body = self.refuse(query, seconds) or self._good(query, asked)
        raw = HTTPResponse(
            io.BytesIO(body), {"Content-Type": "application/json"}, status, preload_content=False
        )
        response = requests.Response()
        response.status_code, response.raw, response.request = status, raw, request
        response.headers = requests.structures.CaseInsensitiveDict(raw.headers)
        response.url, response.encoding, response.reason = request.url or "", "utf-8", "fake"
        return response

    def close(self) -> None:
        """Nothing is open."""

    def _good(self, query: str, asked: Mapping[str, list[str]]) -> Answer:
        if query == "vector(time())":
            found: list[object] = [{"metric": {}, "value": [self.now, _text(self.now)]}]
            return self._success("vector", found)
        selector = SELECTOR.fullmatch(query)
        end = float(asked["time"][-1])
        if selector is None or int(selector[3]) <= 0:
            return 400, api_error("bad_data", f"parse error in {query}")
        tests = [("__name__", "=", json.dumps(selector[1]))] if selector[1] else []
        tests += MATCHER.findall(selector[2])
        return self._success("matrix", self._select(tests, end - int(selector[3]), end))

    def _success(self, kind: str, result: list[object]) -> Answer:
        envelope = {"status": "success", "data": {"resultType": kind, "result": result}}
        if self.warnings:
            envelope["warnings"] = self.warnings
        return 200, json.dumps(envelope).encode()

    def _select(self, tests: list[tuple[str, str, str]], start: float, end: float) -> list[object]:
        side = "right" if self.left_open else "left"
        found: list[object] = []
        for labels, times, values in sorted(self._series, key=lambda s: sorted(s[0].items())):
            if not all(_accepts(labels, *test) for test in tests):
                continue
            low = int(np.searchsorted(times, round(start, 3), side))
            high = int(np.searchsorted(times, round(min(end, self.now), 3), "right"))
            if low < high:
                points = zip(times[low:high].tolist(), values[low:high], strict=True)
                found.append({"metric": labels, "values": [[t, v] for t, v in points]})
        return found


def api_error(kind: str, text: str) -> bytes:
    """An error envelope."""
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


def _accepts(labels: Mapping[str, str], label: str, op: str, literal: str) -> bool:
    pattern = json.loads(literal)
    found = labels.get(label, "")
    return found == pattern if op == "=" else re.fullmatch(pattern, found) is not None


def _text(value: float) -> str:
    """A sample value as Prometheus writes it."""
    special = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
    return special.get(str(float(value)), repr(float(value)).removesuffix(".0"))
