"""A Langfuse over real HTTP that misbehaves: named errors, in time, without the keys."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from core.config import Settings
from core.errors import (
    SourceContract,
    SourceError,
    SourceLimited,
    SourceStatus,
    SourceTimeout,
    SourceUnavailable,
)
from core.sources import langfuse
from core.sources.langfuse import OBSERVATIONS_V2, LangfuseSource
from tests.recorded_langfuse import PUBLIC, SECRET, settings
from tests.sources.answers import unused_port

PATH = OBSERVATIONS_V2.path
EMPTY = {"data": [], "meta": {}}
LOGIN = "<!doctype html><title>Sign in</title>"
ClientOf = Callable[..., LangfuseSource]


@pytest.fixture
def client_of(httpserver: HTTPServer) -> Iterator[ClientOf]:
    """Makes clients of the test server, or of `url`, and closes them."""
    made: list[LangfuseSource] = []

    def make(url: str | None = None, **more: Any) -> LangfuseSource:
        address = url or httpserver.url_for("").rstrip("/")
        made.append(LangfuseSource(settings(PREFIXWATCH_LANGFUSE_URL=address, **more)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def failure(source: LangfuseSource, kind: type[SourceError]) -> str:
    """The words of the error that reading raises, of exactly this kind, without the keys."""
    with pytest.raises(SourceError) as caught:
        source.page(OBSERVATIONS_V2, (0, 1))
    error = caught.value
    assert type(error) is kind
    assert error.title
    assert error.next_step
    told = f"{error!r} {error} {error.next_step} {error.__cause__!r}"
    assert SECRET not in told
    assert PUBLIC not in told
    return str(error)


def test_nobody_listens(client_of: ClientOf) -> None:
    """A refused connection names the address."""
    assert "127.0.0.1" in failure(client_of(f"http://127.0.0.1:{unused_port()}"), SourceUnavailable)


def test_without_keys_there_is_no_client() -> None:
    """The missing setting is named."""
    with pytest.raises(SourceUnavailable, match="PREFIXWATCH_LANGFUSE_PUBLIC_KEY"):
        LangfuseSource(Settings(_env_file=None))


def test_an_answer_that_never_comes_is_a_timeout(
    httpserver: HTTPServer, client_of: ClientOf, release: threading.Event
) -> None:
    """A server that only accepts costs one timeout."""
    httpserver.expect_request(PATH).respond_with_handler(
        lambda _: Response(json.dumps(release.wait(5)))
    )
    began = time.monotonic()
    failure(client_of(langfuse_timeout_s=0.3), SourceTimeout)
    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("status", [200, 500])
def test_a_dripping_body_ends_near_the_timeout(
    httpserver: HTTPServer, client_of: ClientOf, release: threading.Event, status: int
) -> None:
    """A byte now and then does not hold the collector, not even in an error's body."""

    def body() -> Iterator[bytes]:
        yield b'{"data":['
        while not release.wait(0.1):
            yield b" "

    httpserver.expect_request(PATH).respond_with_response(
        Response(body(), status=status, content_type="application/json")
    )
    began = time.monotonic()
    failure(client_of(langfuse_timeout_s=0.5), SourceTimeout)
    assert time.monotonic() - began < 2.5


@pytest.mark.parametrize("missing", [1, 40])
def test_a_body_that_is_cut_is_no_answer(
    httpserver: HTTPServer, client_of: ClientOf, missing: int
) -> None:
    """Fewer bytes than announced are never taken for a page."""
    body = json.dumps({"data": [{"id": "a"}], "meta": {}}).encode()
    cut = Response(iter([body]), headers={"Content-Length": str(len(body) + missing)})
    httpserver.expect_request(PATH).respond_with_response(cut)
    failure(client_of(), SourceUnavailable)


def test_a_redirect_to_a_login_is_not_followed(httpserver: HTTPServer, client_of: ClientOf) -> None:
    """The keys are not sent on to another place, and its query is not repeated."""
    httpserver.expect_request(PATH).respond_with_response(
        Response(status=302, headers={"Location": "/login?session=s3cret"})
    )
    words = failure(client_of(), SourceContract)
    assert "/login" in words
    assert "s3cret" not in words
    assert len(httpserver.log) == 1


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, LOGIN, SourceContract),
        (302, LOGIN, SourceContract),
        (404, LOGIN, SourceStatus),
        (429, "{}", SourceLimited),
        (500, "", SourceStatus),
        (200, "[]", SourceContract),
        (200, '{"status": "OK"}', SourceContract),
        (200, "[" * 5000, SourceContract),
    ],
)
def test_a_health_call_that_is_none(
    httpserver: HTTPServer, client_of: ClientOf, status: int, body: str, kind: type[SourceError]
) -> None:
    """The small calls of the client package end as our errors too, limits with their wait."""
    httpserver.expect_request("/api/public/health").respond_with_response(
        Response(body, status=status, headers={"Retry-After": "33"})
    )
    with pytest.raises(SourceError) as caught:
        client_of().version()
    assert type(caught.value) is kind
    assert caught.value.next_step
    assert SECRET not in f"{caught.value!r} {caught.value}"
    if isinstance(caught.value, SourceLimited):
        assert caught.value.retry_after_s == 33
    assert len(httpserver.log) == 1


def test_a_page_too_large_to_hold_asks_for_less(
    httpserver: HTTPServer, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gzipped bomb is counted as it unfolds, and cut off."""
    monkeypatch.setattr(langfuse, "LARGEST_PAGE", 1 << 20)
    bomb = gzip.compress(b'{"data":["' + b"x" * (16 << 20) + b'"],"meta":{}}')
    assert len(bomb) < 1 << 20
    httpserver.expect_request(PATH).respond_with_response(
        Response(bomb, headers={"Content-Encoding": "gzip"})
    )
    with pytest.raises(SourceStatus) as caught:
        client_of().page(OBSERVATIONS_V2, None)
    assert caught.value.status == langfuse.TOO_LARGE


def test_a_body_that_is_no_gzip_is_an_error(httpserver: HTTPServer, client_of: ClientOf) -> None:
    """A wrong encoding is named."""
    httpserver.expect_request(PATH).respond_with_response(
        Response(b"{}", headers={"Content-Encoding": "gzip"})
    )
    failure(client_of(), SourceUnavailable)


def test_filters_are_sent_with_every_page(httpserver: HTTPServer, client_of: ClientOf) -> None:
    """A cursor carries no filters: window, groups, environments and keys go along."""
    httpserver.expect_request(PATH).respond_with_json(EMPTY)
    source = client_of(langfuse_environments=("prod", "lab"))
    filters = {"expandMetadata": "a,b"}
    source.page(OBSERVATIONS_V2, (1.0004, 2.5), filters=filters)
    source.page(OBSERVATIONS_V2, (1.0004, 2.5), filters=filters, cursor="abc+/=", limit=5000)
    first, second = (request.args for request, _ in httpserver.log)
    assert first["fromStartTime"] == "1970-01-01T00:00:01.000Z"
    assert first["toStartTime"] == "1970-01-01T00:00:02.500Z"
    assert first.getlist("environment") == ["prod", "lab"]
    assert first["limit"] == second["limit"] == "1000"
    assert second["cursor"] == "abc+/="
    assert {k: v for k, v in second.items() if k != "cursor"} == dict(first.items())


@pytest.mark.parametrize("words", ["x" * 1_000_000, "a\nb\r\nc", "\u202e<b>"])
def test_the_servers_words_are_short_and_one_line(
    httpserver: HTTPServer, client_of: ClientOf, words: str
) -> None:
    """A megabyte of message does not reach the log."""
    httpserver.expect_request(PATH).respond_with_json({"message": words}, status=500)
    told = failure(client_of(), SourceStatus)
    assert len(told) < 500
    assert "\n" not in told
