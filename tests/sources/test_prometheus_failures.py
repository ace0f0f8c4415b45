"""A real HTTP server that misbehaves in every known way: named errors, no crash."""

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from core.config import Settings
from core.errors import (
    SourceContract,
    SourceStatus,
    SourceTimeout,
    SourceUnavailable,
)
from core.sources.prometheus import PrometheusSource
from tests.sources.answers import (
    QUERY,
    SourceOf,
    T,
    api_error,
    failure,
    matrix,
    read,
    samples,
    unused_port,
)

LOGIN_PAGE = "<!doctype html><html><title>Sign in</title></html>"

# --- the server cannot be reached, or does not answer ---------------------------------


@pytest.fixture(scope="module")
def refused() -> str:
    """The words for a refused connection, asked once since its retries take a second."""
    settings = Settings(_env_file=None, prometheus_url=f"http://127.0.0.1:{unused_port()}")
    source = PrometheusSource(settings)
    try:
        return failure(source, SourceUnavailable)
    finally:
        source.close()


def test_a_refused_connection_is_unavailable(refused: str) -> None:
    """Nobody listens: the error names the address, and not the long query."""
    assert "127.0.0.1" in refused
    assert "vllm:x_total" not in refused
    assert "__name__" not in refused


def test_a_refused_connection_says_why(refused: str) -> None:
    """Refused, unknown host and a bad certificate can be told apart."""
    assert "refused" in refused.lower()


def test_no_address_is_said_at_once() -> None:
    """Without an address there is no client."""
    with pytest.raises(SourceUnavailable, match="PREFIXWATCH_PROMETHEUS_URL"):
        PrometheusSource(Settings(_env_file=None, prometheus_url=None))


def test_a_slow_server_costs_one_timeout(
    httpserver: HTTPServer, source_of: SourceOf, release: threading.Event
) -> None:
    """No answer in time is a timeout, reported after about one timeout and not after four."""
    httpserver.expect_request(QUERY).respond_with_handler(_waits(release))
    began = time.monotonic()
    failure(source_of(prometheus_timeout_s=0.4), SourceTimeout)
    assert time.monotonic() - began < 1.0


def _waits(release: threading.Event) -> Callable[[Request], Response]:
    def handler(_: Request) -> Response:
        release.wait(5)
        return Response("{}")

    return handler


def test_a_body_that_stops_half_way_is_a_timeout(
    httpserver: HTTPServer, source_of: SourceOf, release: threading.Event
) -> None:
    """A server that sends headers and then hangs is too slow, so a smaller slice may help."""

    def body() -> Iterator[bytes]:
        yield b'{"status":"success","data":'
        release.wait(5)
        yield b"null}"

    httpserver.expect_request(QUERY).respond_with_response(
        Response(body(), content_type="application/json")
    )
    failure(source_of(prometheus_timeout_s=0.4), SourceTimeout)


def test_a_dripping_body_ends_near_the_timeout(
    httpserver: HTTPServer, source_of: SourceOf, release: threading.Event
) -> None:
    """One byte now and then does not hold the collector for ever."""

    def body() -> Iterator[bytes]:
        yield b'{"status":"success"'
        for _ in range(25):
            if release.wait(0.1):
                break
            yield b" "
        yield b',"data":{"result":[]}}'

    httpserver.expect_request(QUERY).respond_with_response(
        Response(body(), content_type="application/json")
    )
    began = time.monotonic()
    failure(source_of(prometheus_timeout_s=0.4), SourceTimeout)
    assert time.monotonic() - began < 1.5


# --- the server refuses ---------------------------------------------------------------


def test_401_names_the_setting(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """Missing credentials: the status, the server's words, and what to set."""
    httpserver.expect_request(QUERY).respond_with_data("Unauthorized: no token", status=401)
    with pytest.raises(SourceStatus, match=r"HTTP 401 .*no token") as caught:
        read(source)
    assert caught.value.status == 401
    assert "PREFIXWATCH_PROMETHEUS_TOKEN" in caught.value.next_step
    assert len(httpserver.log) == 1


@pytest.mark.parametrize("status", [503, 429, 502])
def test_overload_is_retried_twice_at_most(
    httpserver: HTTPServer, source: PrometheusSource, status: int
) -> None:
    """A busy server is asked three times in all, and its own words survive the retries."""
    httpserver.expect_request(QUERY).respond_with_data(
        api_error("unavailable", "the querier is starting"), status=status
    )
    words = failure(source, SourceStatus)
    assert f"HTTP {status}" in words
    assert "the querier is starting" in words
    assert 1 <= len(httpserver.log) <= 3


def test_a_busy_moment_is_bridged(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """One 503 before a good answer is no failure."""
    httpserver.expect_ordered_request(QUERY).respond_with_data("busy", status=503)
    httpserver.expect_ordered_request(QUERY).respond_with_json(matrix(samples("1")))
    assert len(read(source)) == 1


def test_a_query_that_timed_out_in_the_server_is_a_timeout(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """Prometheus' own query.timeout (503, errorType timeout) asks for a smaller slice."""
    text = "query timed out in expression evaluation"
    httpserver.expect_request(QUERY).respond_with_data(api_error("timeout", text), status=503)
    assert text in failure(source, SourceTimeout)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (200, "execution", "multiple matches for labels"),
        (400, "bad_data", "invalid parameter: parse error at char 9"),
        (422, "execution", "query processing would load too many samples into memory"),
        (500, "internal", "opening storage failed"),
    ],
)
def test_an_error_of_the_api_keeps_its_text(
    httpserver: HTTPServer, source: PrometheusSource, status: int, kind: str, text: str
) -> None:
    """Status, error type and text of the API are in the message; nothing is asked again."""
    httpserver.expect_request(QUERY).respond_with_data(
        api_error(kind, text), status=status, content_type="application/json"
    )
    with pytest.raises(SourceStatus) as caught:
        read(source)
    assert caught.value.status == status
    assert f"HTTP {status} {kind}: {text}" in str(caught.value)
    assert caught.value.next_step
    assert len(httpserver.log) == 1


def test_a_long_error_text_is_cut(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """A megabyte of error page does not reach the log."""
    httpserver.expect_request(QUERY).respond_with_data("x" * 1_000_000, status=500)
    assert len(failure(source, SourceStatus)) < 1000


# --- the server answers something else ------------------------------------------------


def test_a_login_page_is_named(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """HTML with status 200 is a contract error that mentions the login page."""
    httpserver.expect_request(QUERY).respond_with_data(LOGIN_PAGE, content_type="text/html")
    with pytest.raises(SourceContract, match="text/html") as caught:
        read(source)
    assert "login page" in caught.value.next_step


def test_a_redirect_to_a_login_page_is_named(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """A proxy that sends us to sign in ends as the same contract error."""
    httpserver.expect_request(QUERY).respond_with_response(
        Response(status=302, headers={"Location": "/login"})
    )
    httpserver.expect_request("/login").respond_with_data(LOGIN_PAGE, content_type="text/html")
    assert "text/html" in failure(source, SourceContract)


def test_redirects_without_end_are_an_error(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """A redirect loop is an error like any other."""
    httpserver.expect_request(QUERY).respond_with_response(
        Response(status=302, headers={"Location": QUERY})
    )
    assert "redirect" in failure(source, SourceUnavailable)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "pong",
        '{"status":"success"}',
        '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"val',
        '{"status":"success","data":{"resultType":"scalar","result":[1.5,"1"]}}',
        '{"status":"success","data":{"result":[{"metric":{},"values":[[1.5]]}]}}',
        '{"status":"success","data":{"result":[{"metric":{},"values":[[1.5,2]]}]}}',
        '{"status":"success","data":{"result":[{"metric":{"a":1},"values":[]}]}}',
    ],
)
def test_another_shape_is_a_contract_error(
    httpserver: HTTPServer, source: PrometheusSource, body: str
) -> None:
    """Empty, truncated and misshapen bodies are told from unreachable servers."""
    httpserver.expect_request(QUERY).respond_with_data(body, content_type="application/json")
    failure(source, SourceContract)


def test_bytes_that_are_no_text_are_a_contract_error(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """Invalid UTF-8 does not crash."""
    body = b'{"status":"success","data":{"result":[{"metric":{"pod":"\xff\xfe"},"values":[]}]}}'
    httpserver.expect_request(QUERY).respond_with_data(body, content_type="application/json")
    failure(source, SourceContract)


def test_a_connection_cut_inside_the_body_is_an_error(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """Fewer bytes than announced is never taken for a whole answer."""
    body = json.dumps(matrix(samples("1", "2"))).encode()
    cut = Response(iter([body]), headers={"Content-Length": str(len(body) + 50)})
    httpserver.expect_request(QUERY).respond_with_response(cut)
    failure(source, SourceUnavailable)


def test_a_sample_that_is_no_number_is_a_contract_error(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """A word in place of a value is named, not skipped."""
    httpserver.expect_request(QUERY).respond_with_json(matrix(samples("1", "many")))
    assert "many" in failure(source, SourceContract)


@pytest.mark.parametrize(
    "data",
    [
        {"resultType": "vector", "result": []},
        {"resultType": "matrix", "result": [samples("1")]},
        {"resultType": "vector", "result": [{"metric": {}, "value": [T, "soon"]}]},
    ],
)
def test_a_clock_that_tells_no_time_is_a_contract_error(
    httpserver: HTTPServer, source: PrometheusSource, data: dict[str, object]
) -> None:
    """Nothing, a range, or a word in place of the server's time does not crash."""
    httpserver.expect_request(QUERY).respond_with_json({"status": "success", "data": data})
    with pytest.raises(SourceContract):
        source.server_time()
