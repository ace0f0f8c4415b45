"""A Langfuse that answers from rows in memory, as the server's own handlers do.

It follows what real servers were seen to do: cursors without filters, limits, order,
the three kinds of 404, rate limits. A `fault` may answer in its place.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from core.sources.versions import at_least

HTML = "<!DOCTYPE html><html><body>404: This page could not be found.</body></html>"
NEEDS_V4 = (
    "The observations v2 API is only available in a Langfuse v4 write mode. "
    "Learn more at: https://langfuse.com/docs/v4"
)
EVENTS_ONLY = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)
SINCE = {"/v2/observations": (3, 133), "/v3/scores": (3, 179)}
Fault = Callable[[httpx.Request], httpx.Response | None]


def observation(number: int, at: float, **more: Any) -> dict[str, Any]:
    """One row of the v2 API: a generation of 1000 input tokens, 900 of them cached."""
    start = iso(at)
    return {
        "id": f"obs-{number:04d}",
        "traceId": f"trace-{number // 2:04d}",
        "startTime": start,
        "endTime": iso(at + 1),
        "projectId": "project",
        "parentObservationId": None,
        "type": "GENERATION",
        "name": "answer",
        "level": "DEFAULT",
        "statusMessage": "",
        "environment": "default",
        "createdAt": iso(at + 2),
        "updatedAt": iso(at + 2),
        "metadata": {"scope.name": "langfuse-sdk", "arm": "A"},
        "model": "hosted_vllm/tiny",
        "modelParameters": {"max_tokens": 64},
        "usageDetails": {"input": 100, "input_cached_tokens": 900, "output": 10, "total": 1010},
        "sessionId": f"session-{number // 6}",
        "tags": [],
    } | more


def score(number: int, at: float, **more: Any) -> dict[str, Any]:
    """One row of the v3 API: a judge's verdict on an observation."""
    return {
        "id": f"score-{number:04d}",
        "projectId": "project",
        "name": "judge",
        "source": "API",
        "timestamp": iso(at),
        "environment": "default",
        "createdAt": iso(at),
        "updatedAt": iso(at),
        "comment": None,
        "configId": None,
        "metadata": {"evaluator_version": 1},
        "subject": {
            "kind": "observation",
            "id": f"obs-{number:04d}",
            "traceId": f"trace-{number // 2:04d}",
        },
        "dataType": "NUMERIC",
        "value": 0.5,
    } | more


def iso(at: float) -> str:
    """A time as the API writes it."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


@dataclass
class FakeLangfuse(httpx.BaseTransport):
    """One project of one server."""

    observations: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    version: str = "4.16.0"
    mode: str = "events_only"
    """events_only, dual, legacy (v4 server, old tables), old (v3 server, preview off)."""
    fault: Fault | None = None
    asked: list[httpx.Request] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    """Session by trace, for the list of traces of v1."""
    most: int = 1000
    """Rows of a page at most: servers drop odd rows, and pages come out short."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.asked.append(request)
        if self.fault is not None and (answered := self.fault(request)) is not None:
            return answered
        path, query = request.url.path.removeprefix("/api/public"), request.url.params
        if path == "/health":
            return httpx.Response(200, json={"status": "OK", "version": self.version})
        if path == "/projects":
            project = {"id": "project", "name": "Project", "organization": {"id": "o", "name": "o"}}
            return httpx.Response(200, json={"data": [project | {"metadata": {}}]})
        refused = self._lacks(path)
        return refused if refused is not None else self._list(path, query)

    def _list(self, path: str, query: httpx.QueryParams) -> httpx.Response:
        seen, written = ("startTime", "Start"), ("timestamp", "")
        lists = {
            "/v2/observations": lambda: self._by_cursor(self.observations, *seen, query, 1000),
            "/v3/scores": lambda: self._by_cursor(self.scores, *written, query, 100),
            "/observations": lambda: self._by_page(self.observations, *seen, query),
            "/v2/scores": lambda: self._by_page(self.scores, *written, query),
            "/traces": lambda: self._by_page(self._traces(), *written, query),
        }
        if path in lists:
            return lists[path]()
        if path.startswith("/observations/"):
            return self._one(path.rsplit("/", 1)[1])
        return httpx.Response(404, text=HTML, headers={"content-type": "text/html"})

    def _lacks(self, path: str) -> httpx.Response | None:
        html = httpx.Response(404, text=HTML, headers={"content-type": "text/html"})
        newer, older = path in ("/v2/observations", "/v3/scores"), not path.startswith("/v")
        older = older or path == "/v2/scores"
        if self.mode == "old" and newer and not at_least(self.version, SINCE[path]):
            return html
        if self.mode == "old" and path == "/v2/observations":
            return httpx.Response(404, json={"message": NEEDS_V4, "error": "LangfuseNotFoundError"})
        if self.mode == "legacy" and path == "/v2/observations":
            return httpx.Response(404, json={"message": NEEDS_V4, "error": "LangfuseNotFoundError"})
        if self.mode == "events_only" and older:
            return httpx.Response(404, json={"message": EVENTS_ONLY})
        return None

    def _by_cursor(
        self,
        rows: Sequence[dict[str, Any]],
        column: str,
        word: str,
        query: httpx.QueryParams,
        most: int,
    ) -> httpx.Response:
        limit = int(query.get("limit", "50"))
        if limit > most:
            return httpx.Response(400, json={"message": "Invalid request data", "error": []})
        found = self._matching(rows, column, word, query)
        if cursor := query.get("cursor"):
            last = tuple(json.loads(base64.b64decode(cursor))["last"])
            found = [row for row in found if _place(row, column) < last]
        limit = min(limit, self.most)
        page, meta = found[:limit], {}
        if len(found) > limit:
            place = json.dumps({"last": _place(page[-1], column)})
            meta = {"cursor": base64.b64encode(place.encode()).decode()}
        return httpx.Response(200, json={"data": [_shown(r, query) for r in page], "meta": meta})

    def _by_page(
        self, rows: Sequence[dict[str, Any]], column: str, word: str, query: httpx.QueryParams
    ) -> httpx.Response:
        limit, page = int(query.get("limit", "50")), int(query.get("page", "1"))
        if limit > 100:
            return httpx.Response(400, json={"message": "Invalid request data", "error": []})
        limit = min(limit, self.most)
        found = self._matching(rows, column, word, query)
        meta = {
            "page": page,
            "limit": limit,
            "totalItems": len(found),
            "totalPages": -(-len(found) // limit),
        }
        shown = found[(page - 1) * limit : page * limit]
        traces = "subject" not in shown[0] and not word if shown else True
        old = shown if traces else [_as_v1(row) if word else _as_v2(row) for row in shown]
        return httpx.Response(200, json={"data": old, "meta": meta})

    def _matching(
        self, rows: Sequence[dict[str, Any]], column: str, word: str, query: httpx.QueryParams
    ) -> list[dict[str, Any]]:
        names = ("fromStartTime", "toStartTime") if word else ("fromTimestamp", "toTimestamp")
        start, end = (query.get(name) for name in names)
        found = [
            row
            for row in rows
            if (start is None or row[column] >= start) and (end is None or row[column] < end)
        ]
        for name in ("traceId", "sessionId"):
            if wanted := query.get(name):
                found = [row for row in found if _named(row, name) == wanted]
        for one in json.loads(query.get("filter", "[]")):
            found = [row for row in found if _filtered(row, one)]
        return sorted(found, key=lambda row: _place(row, column), reverse=True)

    def _traces(self) -> list[dict[str, Any]]:
        first: dict[str, str] = {}
        for row in self.observations:
            trace = row["traceId"]
            first[trace] = min(first.get(trace, row["startTime"]), row["startTime"])
        return [
            {"id": trace, "timestamp": at, "sessionId": self.sessions.get(trace)}
            for trace, at in first.items()
        ]

    def _one(self, observation_id: str) -> httpx.Response:
        for row in self.observations:
            if row["id"] == observation_id:
                return httpx.Response(200, json=_as_v1(row))
        message = {"message": "Observation not found", "error": "LangfuseNotFoundError"}
        return httpx.Response(404, json=message)


def _shown(row: dict[str, Any], query: httpx.QueryParams) -> dict[str, Any]:
    """The columns of the groups that were asked for; texts only with `io`."""
    groups = query.get("fields", "core,basic").split(",")
    hidden = set() if "io" in groups or "subject" in groups else {"input", "output"}
    hidden |= set() if "metadata" in groups or "subject" in groups else {"metadata"}
    return {key: value for key, value in row.items() if key not in hidden}


def _as_v1(row: dict[str, Any]) -> dict[str, Any]:
    """As v1 shows an observation: no session, scopes nested, always with its texts."""
    texts = {"input": "in", "output": "out"}
    old = texts | {k: v for k, v in row.items() if k != "sessionId"}
    if isinstance(row.get("metadata"), dict):
        nested: dict[str, Any] = {}
        for key, value in row["metadata"].items():
            first, _, rest = key.partition(".")
            if rest:
                nested.setdefault(first, {})[rest] = value
            else:
                nested[key] = value
        old["metadata"] = nested
    return old


def _as_v2(row: dict[str, Any]) -> dict[str, Any]:
    """As v2 shows a score: a column for each kind of subject, words beside numbers."""
    old = {k: v for k, v in row.items() if k not in ("subject", "value")}
    about, value = row["subject"], row["value"]
    old |= {"traceId": about.get("traceId"), "observationId": None, "sessionId": None}
    old[f"{about['kind']}Id"] = about["id"]
    if row["dataType"] == "BOOLEAN":
        old |= {"value": int(value), "stringValue": str(value)}
    elif row["dataType"] == "CATEGORICAL":
        old |= {"value": 0, "stringValue": value}
    elif row["dataType"] == "NUMERIC":
        old |= {"value": value, "stringValue": None}
    else:
        old |= {"stringValue": value}
    return old


def _place(row: dict[str, Any], column: str) -> tuple[str, str, str]:
    return (str(row[column]), str(row.get("traceId", "")), str(row["id"]))


def _named(row: dict[str, Any], name: str) -> Any:
    subject = row.get("subject")
    if subject is None:
        return row.get(name)
    if name == "sessionId":
        return subject["id"] if subject["kind"] == "session" else None
    return subject["id"] if subject["kind"] == "trace" else subject.get("traceId")


def _filtered(row: dict[str, Any], one: dict[str, Any]) -> bool:
    if one["column"] == "metadata":
        return bool(row["metadata"].get(one["key"]) == one["value"])
    return bool(row.get(one["column"]) == one["value"])
