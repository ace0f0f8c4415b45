"""Langfuse: pages of observations and scores in, undecoded rows out.

Client, authentication and small service calls are the langfuse package's. Pages go
through the same HTTP client without its models, which refuse a whole page for one
odd row: each row comes out as raw JSON and is decoded by whoever knows its columns,
so that texts are never even parsed. Input and output are never asked for.
"""

import email.utils
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
import msgspec
from langfuse.api import LangfuseAPI
from langfuse.api.core.api_error import ApiError
from pydantic import ValidationError

from core.config import Settings
from core.errors import (
    SourceContract,
    SourceError,
    SourceLimited,
    SourceMissing,
    SourceStatus,
    SourceTimeout,
    SourceUnavailable,
)
from core.sources.versions import at_least

ERROR_TEXT = 300
LARGEST_PAGE = 256 << 20
"""Bytes of one answer; a larger one is asked for again in smaller pieces."""
TOO_LARGE = 413
TIMEOUTS = (408, 504, 524)
"""A proxy's timeouts, Cloudflare's own among them."""
LEAST_WAIT_S, MOST_WAIT_S = 1.0, 600.0


@dataclass(frozen=True)
class Feed:
    """One list of the API. `since` is the server version that brought it."""

    key: str
    path: str
    start: str
    end: str
    limit: int
    by_cursor: bool
    params: Mapping[str, str] = field(default_factory=dict)
    since: tuple[int, int] | None = None


OBSERVATIONS_V2 = Feed(
    "observations_v2",
    "/api/public/v2/observations",
    "fromStartTime",
    "toStartTime",
    1000,
    by_cursor=True,
    params={"fields": "core,basic,time,model,usage,metadata,prompt,trace_context"},
    since=(3, 133),
)
OBSERVATIONS_V1 = Feed(
    "observations_v1",
    "/api/public/observations",
    "fromStartTime",
    "toStartTime",
    100,
    by_cursor=False,
)
TRACES_V1 = Feed(
    "traces_v1",
    "/api/public/traces",
    "fromTimestamp",
    "toTimestamp",
    100,
    by_cursor=False,
    params={"fields": "core"},
)
SCORES_V3 = Feed(
    "scores_v3",
    "/api/public/v3/scores",
    "fromTimestamp",
    "toTimestamp",
    100,
    by_cursor=True,
    params={"fields": "core,details,subject"},
    since=(3, 179),
)
SCORES_V2 = Feed(
    "scores_v2",
    "/api/public/v2/scores",
    "fromTimestamp",
    "toTimestamp",
    100,
    by_cursor=False,
    params={"fields": "score"},
)
OLDER: dict[str, Feed] = {"observations_v2": OBSERVATIONS_V1, "scores_v3": SCORES_V2}
"""What to read instead where a server lacks a list."""


@dataclass(frozen=True)
class Page:
    """Rows of one page, and the cursor of the next one, None after the last."""

    rows: list[msgspec.Raw]
    after: str | None
    deprecation: str | None = None


class _Meta(msgspec.Struct):
    cursor: str | None = None
    page: int | None = None
    totalPages: int | None = None  # noqa: N815 - the API's own name


class _Deprecation(msgspec.Struct):
    message: str = ""
    sunsetAt: str = ""  # noqa: N815


class _Envelope(msgspec.Struct):
    data: list[msgspec.Raw]
    meta: _Meta
    deprecation: _Deprecation | None = msgspec.field(name="_deprecation", default=None)


class _Problem(msgspec.Struct):
    message: str = ""
    error: msgspec.Raw = msgspec.Raw(b"")


_page = msgspec.json.Decoder(_Envelope)
_problem = msgspec.json.Decoder(_Problem)


class LangfuseSource:
    """Reads one Langfuse project."""

    def __init__(self, settings: Settings, *, transport: httpx.BaseTransport | None = None) -> None:
        address, public = settings.langfuse_address, settings.langfuse_public_key
        if address is None or public is None or settings.langfuse_secret_key is None:
            raise SourceUnavailable("PREFIXWATCH_LANGFUSE_PUBLIC_KEY is not set")
        secret = settings.langfuse_secret_key.get_secret_value()
        self.url = address
        self.skew_s: float | None = None
        """The server's clock minus ours, to a second, as of the last answer."""
        self._timeout_s = settings.langfuse_timeout_s
        self._environments = settings.langfuse_environments
        self._http = httpx.Client(
            base_url=address,
            auth=(public, secret),
            timeout=settings.langfuse_timeout_s,
            verify=ssl.create_default_context(cafile=settings.langfuse_ca_file)
            if settings.langfuse_ca_file
            else settings.langfuse_verify_tls,
            transport=transport,
        )
        self._api = LangfuseAPI(
            base_url=address, username=public, password=secret, httpx_client=self._http
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def version(self) -> str:
        """The server's version; needs no keys.

        Raises
        ------
        SourceError
            Unreachable, too slow, or not Langfuse.
        """
        with self._translated():
            answer = self._api.health.health(request_options={"max_retries": 0})
        return str(answer.version)

    def project(self) -> tuple[str, str]:
        """Id and name of the project that the keys open.

        Raises
        ------
        SourceError
            As for pages; 401 and 403 say what is wrong with the keys.
        """
        with self._translated():
            found = self._api.projects.get(request_options={"max_retries": 0}).data
        if not found:
            raise SourceContract("the keys open no project")
        return found[0].id, found[0].name

    def page(
        self,
        feed: Feed,
        window: tuple[float, float] | None,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        filters: Mapping[str, str] | None = None,
    ) -> Page:
        """One page of a list, filters resent with every one.

        Parameters
        ----------
        window : (float, float) or None
            Start (inclusive) and end (exclusive), epoch seconds; milliseconds count.

        Raises
        ------
        SourceLimited, SourceMissing, SourceStatus, SourceTimeout, SourceContract
            What the answer was instead of a page.
        """
        params: dict[str, str | int | list[str]] = {**feed.params, **(filters or {})}
        params["limit"] = feed.limit if limit is None else min(limit, feed.limit)
        if window is not None:
            params[feed.start], params[feed.end] = _iso(window[0]), _iso(window[1])
        if self._environments:
            params["environment"] = list(self._environments)
        if feed.by_cursor and cursor is not None:
            params["cursor"] = cursor
        elif not feed.by_cursor:
            params["page"] = cursor if cursor is not None else "1"
        return _read_page(feed, self._get(feed.path, params), cursor)

    def one(self, path: str) -> bytes:
        """Body of one record by its path; a record that is not there is a SourceStatus 404."""
        return self._get(path, {})

    def has(self, feed: Feed) -> bool:
        """Whether the server offers a list, told by one row of it.

        Raises
        ------
        SourceError
            When the answer does not tell: only the known kinds of 404 do.
        """
        try:
            self.page(feed, None, limit=1)
        except SourceMissing:
            return False
        except SourceStatus as error:
            if error.status != httpx.codes.NOT_FOUND or feed.since is None:
                raise
            if at_least(self.version(), feed.since):
                raise
            return False
        return True

    def _get(self, path: str, params: Mapping[str, str | int | list[str]]) -> bytes:
        deadline = time.monotonic() + self._timeout_s
        with self._translated(), self._http.stream("GET", path, params=params) as response:
            self._note_clock(response)
            parts, size = [], 0
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > LARGEST_PAGE:
                    raise SourceStatus(f"more than {LARGEST_PAGE} bytes", status=TOO_LARGE)
                if time.monotonic() > deadline:
                    raise SourceTimeout("the answer did not end in time", next_step=_SLOW)
            body = b"".join(parts)
        if response.status_code != httpx.codes.OK:
            raise _refused(response, body)
        return body

    def _note_clock(self, response: httpx.Response) -> None:
        server = _instant(response.headers.get("date"))
        if server is not None:
            self.skew_s = server + 0.5 - time.time()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SourceError:
            raise
        except httpx.TimeoutException as error:
            raise SourceTimeout(f"{self.url}: {type(error).__name__}", next_step=_SLOW) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SourceUnavailable(f"{self.url}: {str(error)[:ERROR_TEXT]}") from error
        except ApiError as error:
            raise _unlike(error) from error
        except (ValidationError, ValueError, RecursionError) as error:
            raise SourceContract(f"{self.url}: not a Langfuse answer") from error


_SLOW = "Raise PREFIXWATCH_LANGFUSE_TIMEOUT_S, or look at the load of Langfuse."
_STEPS = {
    0: "Look at the log of the Langfuse server.",
    401: "Check PREFIXWATCH_LANGFUSE_PUBLIC_KEY, ..._SECRET_KEY and that they belong to this host.",
    403: "The keys are known but may not read; use the keys of the project.",
    404: "Check PREFIXWATCH_LANGFUSE_URL; it is the address of the web interface.",
    413: "The collector asks for a smaller slice by itself.",
    422: "The query was too heavy; the collector asks for a smaller slice by itself.",
    503: "The server is starting or its database is down; the collector tries again by itself.",
}
EVENTS_ONLY = "not available on deployments running in Langfuse v4 events_only mode"
NEEDS_V4 = "only available in a Langfuse v4 write mode"


def _read_page(feed: Feed, body: bytes, cursor: str | None) -> Page:
    try:
        envelope = _page.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceContract(f"{feed.path}: not a page ({error})", next_step=_STEPS[404]) from error
    meta = envelope.meta
    if feed.by_cursor:
        after = meta.cursor
        if after is not None and after == cursor:
            raise SourceContract(f"{feed.path}: the cursor repeats")
    else:
        if meta.page is None or meta.totalPages is None:
            raise SourceContract(f"{feed.path}: a page without numbers")
        if cursor is not None and str(meta.page) != cursor:
            raise SourceContract(f"{feed.path}: page {meta.page} instead of page {cursor}")
        after = str(meta.page + 1) if meta.page < meta.totalPages else None
    old = envelope.deprecation
    return Page(envelope.data, after, f"{old.message} ({old.sunsetAt})" if old else None)


def _refused(response: httpx.Response, body: bytes) -> SourceError:
    status = response.status_code
    if response.is_redirect:
        where = response.headers.get("location", "elsewhere").split("?", 1)[0]
        return SourceContract(f"HTTP {status}: leads to {where}", next_step=_STEPS[404])
    words = _message(body)
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return SourceLimited(f"HTTP 429: {words}", retry_after_s=_wait(response.headers))
    if status == httpx.codes.NOT_FOUND and (EVENTS_ONLY in words or NEEDS_V4 in words):
        return SourceMissing(f"HTTP 404: {words}")
    if status in TIMEOUTS:
        return SourceTimeout(f"HTTP {status}", next_step=_SLOW)
    return _status(status, words)


def _unlike(error: ApiError) -> SourceError:
    """What the langfuse package could not take."""
    words = _words(error.body)
    if error.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return SourceLimited(f"HTTP 429: {words}", retry_after_s=_wait(error.headers or {}))
    return _status(error.status_code, words)


def _status(status: int | None, words: str) -> SourceError:
    if status is None or status < httpx.codes.BAD_REQUEST:
        return SourceContract(f"not a Langfuse answer: {words}", next_step=_STEPS[404])
    return SourceStatus(
        f"HTTP {status}: {words}", status=status, next_step=_STEPS.get(status, _STEPS[0])
    )


def _message(body: bytes) -> str:
    """The server's own words; of a page of HTML only that it is one."""
    try:
        return " ".join(_problem.decode(body).message.split())[:ERROR_TEXT]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "a page of HTML" if b"<" in body[:200] else "no JSON"


def _words(body: object) -> str:
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])[:ERROR_TEXT]
    return "no JSON"


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds to wait; without a header that can be read, the shortest wait that is polite.

    Retry-After is a number of seconds, or a date by the server's clock.
    """
    named = {name.lower(): value for name, value in headers.items()}
    text = named.get("retry-after", "")
    until = _instant(text)
    if until is not None:
        now = _instant(named.get("date"))
        seconds = until - (now if now is not None else time.time())
    else:
        seconds = float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d*)?\s*", text) else LEAST_WAIT_S
    return min(max(seconds, LEAST_WAIT_S), MOST_WAIT_S)


def _instant(stamp: str | None) -> float | None:
    """A date of HTTP; one that names no zone is UTC."""
    try:
        at = email.utils.parsedate_to_datetime(stamp or "")
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _iso(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
