"""Answers of a real Langfuse server, read from files and replayed."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from core.config import Settings
from core.sources.langfuse import (
    OBSERVATIONS_V1,
    OBSERVATIONS_V2,
    SCORES_V2,
    SCORES_V3,
    TRACES_V1,
    Feed,
    LangfuseSource,
)

FOLDER = Path(__file__).parent / "recordings"
URL = "http://langfuse.test"
PUBLIC, SECRET = "pk-lf-5d0f", "sk-lf-7a1e"
LISTS = {
    feed.path: feed for feed in (OBSERVATIONS_V1, OBSERVATIONS_V2, SCORES_V2, SCORES_V3, TRACES_V1)
} | {
    "/api/public/scores": Feed(
        "scores_v1", "/api/public/scores", "fromTimestamp", "toTimestamp", 100, by_cursor=False
    )
}
"""Lists of the API that have pages of rows we read, and v1 scores beside them."""


@dataclass(frozen=True)
class Recording:
    """One call and its answer."""

    file: Path

    @cached_property
    def _told(self) -> dict[str, Any]:
        return json.loads(self.file.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """Folder and name of the file."""
        return f"{self.file.parent.name}/{self.file.stem}"

    @property
    def method(self) -> str:
        return self._request.get("method", "GET")

    @property
    def path(self) -> str:
        return urlsplit(self._request["path"]).path

    @property
    def query(self) -> list[tuple[str, str]]:
        """Parameters as sent, repeated ones repeated."""
        told = self._request.get("query")
        if told is None:
            rest = {k: v for k, v in self._request.items() if k not in ("method", "path", "query")}
            told = rest or dict(parse_qsl(urlsplit(self._request["path"]).query))
        pairs = told.items()
        return [(k, str(one)) for k, v in pairs for one in (v if isinstance(v, list) else [v])]

    @property
    def params(self) -> dict[str, list[str]]:
        """The same by name."""
        found: dict[str, list[str]] = {}
        for name, value in self.query:
            found.setdefault(name, []).append(value)
        return found

    @property
    def status(self) -> int:
        return self._told.get("status", 200)

    @property
    def body(self) -> dict[str, Any]:
        if "body" in self._told:
            return self._told["body"]
        rows, meta = self._told["data"], self._told["meta"]
        if not LISTS[self.path].by_cursor:
            meta = {"page": 1, "limit": 100, "totalItems": len(rows), "totalPages": 1}
        return {"data": rows, "meta": meta}

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.body["data"]

    @property
    def feed(self) -> Feed:
        """The list as it was asked for; its limit may be one that the server refuses."""
        known = LISTS[self.path]
        apart = ("limit", "cursor", "page")
        params: Any = {name: v for name, v in self.params.items() if name not in apart}
        return Feed(
            known.key,
            known.path,
            known.start,
            known.end,
            int(dict(self.query).get("limit", "50")),
            known.by_cursor,
            params,
        )

    @property
    def cursor(self) -> str | None:
        query = dict(self.query)
        return query.get("cursor", query.get("page"))

    def answer(self) -> httpx.Response:
        """The answer, byte for byte what the body says."""
        headers = self._told.get("headers", {"content-type": "application/json"})
        kept = {k: v for k, v in headers.items() if k not in ("connection", "etag", "vary")}
        return httpx.Response(self.status, headers=kept, content=json.dumps(self.body).encode())

    @property
    def _request(self) -> dict[str, Any]:
        return self._told.get("request", {"path": OBSERVATIONS_V2.path, "query": {}})


def recordings(*folders: str) -> list[Recording]:
    """Every recorded file of some folders."""
    return [
        Recording(file) for folder in folders for file in sorted((FOLDER / folder).rglob("*.json"))
    ]


def recorded(name: str) -> Recording:
    """One file by folder and name, as `dual/health`."""
    return Recording(FOLDER / "langfuse" / f"{name}.json")


LANGFUSE = recordings("langfuse")
GATEWAY = recordings("gateway")


@dataclass
class Replay(httpx.BaseTransport):
    """Answers exactly the recorded calls; any other call is a failure of the test.

    `limit`, `page` and `cursor` may be sent where the recording left them to the default.
    """

    known: Iterable[Recording]
    asked: list[httpx.Request] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        sent = Counter(request.url.params.multi_items())
        for one in self.known:
            wanted = Counter(one.query)
            extra = set(sent - wanted)
            defaults = {("limit", "50"), ("page", "1")}
            if one.path == request.url.path and not wanted - sent and extra <= defaults:
                return one.answer()
        raise AssertionError(f"never recorded: {request.url}")


def settings(folder: Path | None = None, **more: Any) -> Settings:
    """Settings that connect to the server of the tests."""
    names = {"URL": URL, "PUBLIC_KEY": PUBLIC, "SECRET_KEY": SECRET}
    keys = {f"PREFIXWATCH_LANGFUSE_{name}": value for name, value in names.items()}
    place = {"data_dir": folder} if folder is not None else {}
    return Settings(_env_file=None, **(keys | place | more))


def source_of(transport: httpx.BaseTransport, **more: Any) -> LangfuseSource:
    """A client of a transport."""
    return LangfuseSource(settings(**more), transport=transport)
