"""Prometheus' query API, answered in this process from the simulation.

It knows the forms the collector sends: a range selector with label matchers, and
`vector(time())`. Everything else is refused the way Prometheus refuses it.
"""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec
import requests
from urllib3 import HTTPResponse

from core.domain.records import Floats, RawSeries

QUERY_PATH = "/api/v1/query"
SELECTOR = re.compile(r"(?P<name>[\w:]*)\{(?P<matchers>.*)\}\[(?P<seconds>\d+)s\]", re.DOTALL)
MATCHER = re.compile(
    r'\s*(?P<label>\w+)\s*(?P<op>=~|!~|!=|=)\s*(?P<value>"(?:[^"\\]|\\.)*")\s*(?:,|$)'
)


class Scraped(Protocol):
    """Something whose samples the server stored."""

    def samples(
        self, wanted: Callable[[Mapping[str, str]], bool], start: float, end: float
    ) -> list[RawSeries]:
        """Samples with start <= time <= end of the series whose labels are wanted."""


class BadQueryError(Exception):
    """A query that is not understood; turned into an error envelope here."""


@dataclass(frozen=True)
class Matcher:
    """One label condition; regular expressions are anchored."""

    label: str
    pattern: re.Pattern[str]
    wanted: bool

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it; an absent label counts as empty."""
        found = self.pattern.fullmatch(labels.get(self.label, "")) is not None
        return found is self.wanted


class SimulatedPrometheus(requests.adapters.HTTPAdapter):
    """Answers requests of a session instead of the network."""

    def __init__(self, scraped: Sequence[Scraped], clock: Callable[[], float]) -> None:
        super().__init__()
        self._scraped = scraped
        self._clock = clock

    def send(
        self, request: requests.PreparedRequest, *_: object, **__: object
    ) -> requests.Response:
        """Answer one request."""
        address = urlsplit(request.url or "")
        if address.path != QUERY_PATH:
            return self._response(request, 404, b"404 page not found")
        asked = {name: values[-1] for name, values in parse_qs(str(address.query)).items()}
        try:
            data = self._answer(asked.get("query", ""), asked.get("time"))
        except BadQueryError as refused:
            return self._response(request, 400, _error(str(refused)))
        return self._response(request, 200, _success(data))

    def _answer(self, query: str, time: str | None) -> dict[str, object]:
        now = self._clock()
        at = now if time is None else _instant(time)
        if query == "vector(time())":
            at = round(at, 3)
            return {"resultType": "vector", "result": [{"metric": {}, "value": (at, _text(at))}]}
        matchers, seconds = _parse(query)

        def wanted(labels: Mapping[str, str]) -> bool:
            return all(matcher.accepts(labels) for matcher in matchers)

        start, end = round(at - seconds, 3), min(at, now)
        found = [s for one in self._scraped for s in one.samples(wanted, start, end)]
        return {"resultType": "matrix", "result": [_series(series) for series in found]}

    def _response(
        self, request: requests.PreparedRequest, status: int, body: bytes
    ) -> requests.Response:
        kind = "application/json" if status != requests.codes.not_found else "text/plain"
        raw = HTTPResponse(io.BytesIO(body), {"Content-Type": kind}, status, preload_content=False)
        return self.build_response(request, raw)


def _parse(query: str) -> tuple[list[Matcher], int]:
    selector = SELECTOR.fullmatch(query.strip())
    if selector is None:
        raise BadQueryError("the simulated server answers range selectors only")
    name = selector["name"]
    matchers = [_matcher("__name__", "=", name)] if name else []
    text, position = selector["matchers"], 0
    while position < len(text):
        found = MATCHER.match(text, position)
        if found is None:
            raise BadQueryError(f"parse error: unexpected {text[position : position + 20]!r}")
        matchers.append(_matcher(found["label"], found["op"], json.loads(found["value"])))
        position = found.end()
    return matchers, int(selector["seconds"])


def _matcher(label: str, op: str, value: str) -> Matcher:
    try:
        pattern = re.compile(value if "~" in op else re.escape(value))
    except re.error as error:
        raise BadQueryError(f"error parsing regexp: {error}") from error
    return Matcher(label, pattern, wanted=not op.startswith("!"))


def _instant(time: str) -> float:
    try:
        return float(time)
    except ValueError:
        raise BadQueryError(f'invalid parameter "time": cannot parse {time!r}') from None


def _series(series: RawSeries) -> dict[str, object]:
    texts = _texts(series.values)
    points = list(zip(series.times.tolist(), texts, strict=True))
    return {"metric": series.labels, "values": points}


def _texts(values: Floats) -> list[str]:
    if (values == values.astype(int)).all():
        return [str(value) for value in values.astype(int).tolist()]
    return [_text(value) for value in values.tolist()]


def _text(value: float) -> str:
    return repr(value).removesuffix(".0")


def _success(data: dict[str, object]) -> bytes:
    return msgspec.json.encode({"status": "success", "data": data})


def _error(text: str) -> bytes:
    return msgspec.json.encode({"status": "error", "errorType": "bad_data", "error": text})
