"""Good answers come through unchanged, and what is asked is exactly what is meant."""

import math

import pytest
from pytest_httpserver import HTTPServer

from core.errors import SourceContract, SourceError, SourceStatus
from core.sources.prometheus import Build, PrometheusSource, clock_skew
from tests.sources.answers import (
    QUERY,
    SourceOf,
    T,
    matrix,
    read,
    samples,
)

# --- good answers ---------------------------------------------------------------------


def test_the_server_clock_is_read(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """`vector(time())` gives seconds with milliseconds."""
    answer = {"resultType": "vector", "result": [{"metric": {}, "value": [T, f"{T}.125"]}]}
    httpserver.expect_request(QUERY, query_string={"query": "vector(time())"}).respond_with_json(
        {"status": "success", "data": answer}
    )
    assert source.server_time() == T + 0.125
    assert clock_skew(T + 600, T - 1, T + 1) == 600


def test_nothing_found_is_an_empty_list(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """No series is an answer, not an error."""
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    assert read(source) == []
    assert source.target_up(["vllm"], T, T + 60) == []


def test_values_that_are_no_finite_number_come_through(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """NaN and both infinities reach the collector, which counts and rejects them."""
    httpserver.expect_request(QUERY).respond_with_json(
        matrix(samples("NaN", "+Inf", "-Inf", "-1", "1e300", "0.1"))
    )
    (series,) = source.raw_samples(["vllm:x"], T, T + 600, matchers={})
    assert math.isnan(series.values[0])
    assert series.values[1:].tolist() == [math.inf, -math.inf, -1.0, 1e300, 0.1]


def test_warnings_of_the_envelope_are_kept(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """A partial answer is read, and what the server warned of can be taken once."""
    warned = matrix(samples("1"), warnings=["store down", "store down"], infos=["a hint"])
    httpserver.expect_request(QUERY).respond_with_json(warned)
    assert len(read(source)) == 1
    assert source.take_warnings() == ["store down"]
    assert source.take_warnings() == []


def test_a_native_histogram_is_flagged(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """Native histogram samples are told from a series that has none."""
    native = {
        "metric": {"__name__": "vllm:x"},
        "histograms": [[T, {"count": "3", "sum": "1.5", "buckets": [[0, "0.5", "1", "3"]]}]],
    }
    httpserver.expect_request(QUERY).respond_with_json(matrix(native, samples("1")))
    first, second = source.raw_samples(["vllm:x"], T, T + 600, matchers={})
    assert first.native_histogram
    assert first.times.size == 0
    assert not second.native_histogram


@pytest.mark.parametrize("edge", [T - 60, T + 60])
def test_only_samples_of_the_asked_seconds_are_kept(
    httpserver: HTTPServer, source: PrometheusSource, edge: int
) -> None:
    """Start is in and end is out, whatever the server adds at either end."""
    points = [[t, "1"] for t in (edge - 0.001, edge, edge, edge + 59.999, edge + 60)]
    httpserver.expect_request(QUERY).respond_with_json(matrix({"metric": {}, "values": points}))
    (series,) = source.raw_samples(["vllm:x"], edge, edge + 60, matchers={})
    assert series.times.tolist() == [edge, edge + 59.999]


NASTY = (
    'it\'s "quoted"',
    "back\\slash",
    "{brace}, [1m] or $matchers",
    "two\nlines\ttab",
    "모델 ☃ 𝔘",
    "<script>alert(1)</script>",
    "%s {} \x7f",
)


@pytest.mark.parametrize("text", NASTY)
def test_label_values_come_through_unchanged(
    httpserver: HTTPServer, source: PrometheusSource, text: str
) -> None:
    """What Prometheus stores in a label is what the record holds."""
    httpserver.expect_request(QUERY).respond_with_json(matrix(samples("1", model_name=text)))
    (series,) = source.raw_samples(["vllm:x"], T, T + 600, matchers={})
    assert series.labels == {"model_name": text}


# --- what is asked --------------------------------------------------------------------


def asked(httpserver: HTTPServer) -> tuple[str, str]:
    request, _ = httpserver.log[-1]
    return request.args["query"], request.args["time"]


@pytest.mark.parametrize("text", NASTY)
def test_matchers_cannot_leave_their_string(
    httpserver: HTTPServer, source: PrometheusSource, text: str
) -> None:
    """A label value is sent as one PromQL string that means exactly that value."""
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    read(source, pod=text)
    query, _ = asked(httpserver)
    head, tail = '{__name__=~"vllm:x_total",pod=', "}[600s]"
    assert query.startswith(head)
    assert query.endswith(tail)
    assert _promql_string(query[len(head) : -len(tail)]) == text


def _promql_string(literal: str) -> str:
    r"""Read one double-quoted PromQL string: backslash escapes \\, \" and \n."""
    assert literal[0] == literal[-1] == '"'
    said, rest = "", literal[1:-1]
    while rest:
        if rest[0] == "\\":
            said += {"n": "\n"}.get(rest[1], rest[1])
            rest = rest[2:]
        else:
            assert rest[0] not in '"\n'
            said, rest = said + rest[0], rest[1:]
    return said


def test_names_and_jobs_are_literal(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """Regular expression characters in a name or job match themselves only."""
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    source.target_up(['a.b|c"d', "x(y)*"], T, T + 60)
    query, _ = asked(httpserver)
    assert query == r'up{job=~"a\\.b\\|c\"d|x\\(y\\)\\*"}[60s]'


def test_a_slice_is_asked_up_to_its_last_millisecond(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """Closed and left-open ranges give the same samples when asked one millisecond early."""
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    read(source)
    query, at = asked(httpserver)
    assert query.endswith("[600s]")
    assert at == f"{T + 599}.999"


def test_a_path_in_the_address_is_kept(httpserver: HTTPServer, source_of: SourceOf) -> None:
    """A server behind a path prefix is asked there, with or without a trailing slash."""
    httpserver.expect_request("/tenant/prom/api/v1/query").respond_with_json(matrix())
    assert read(source_of(httpserver.url_for("/tenant/prom/"))) == []


BUILD = "/api/v1/status/buildinfo"


def test_build_information_is_read(httpserver: HTTPServer, source: PrometheusSource) -> None:
    """Version, and the application where one is named; more fields are let be."""
    said = {"version": "2.42.0", "revision": "x", "goVersion": "go1.19"}
    httpserver.expect_ordered_request(BUILD).respond_with_json({"status": "success", "data": said})
    httpserver.expect_ordered_request(BUILD).respond_with_json(
        {"status": "success", "data": said | {"application": "Grafana Mimir"}}
    )
    assert source.build() == Build("2.42.0", None)
    assert source.build() == Build("2.42.0", "Grafana Mimir")


def test_build_information_goes_with_the_credentials(
    httpserver: HTTPServer, source_of: SourceOf
) -> None:
    """The token is sent there too."""
    httpserver.expect_request(BUILD, headers={"Authorization": "Bearer tok"}).respond_with_json(
        {"data": {"version": "3.1.0"}}
    )
    assert source_of(prometheus_token="tok").build().version == "3.1.0"  # noqa: S106


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [(404, "no", SourceStatus), (401, "no", SourceStatus), (200, "<html>", SourceContract)],
)
def test_missing_build_information_is_a_named_error(
    httpserver: HTTPServer,
    source: PrometheusSource,
    status: int,
    body: str,
    kind: type[SourceError],
) -> None:
    """A server without it, one that refuses, and a page of HTML are told apart."""
    httpserver.expect_request(BUILD).respond_with_data(body, status=status)
    with pytest.raises(kind):
        source.build()


def test_names_and_targets_are_asked_for_literally(
    httpserver: HTTPServer, source: PrometheusSource
) -> None:
    """The beginning of a name and the matchers cannot leave their strings."""
    found = {"metric": {"__name__": "vllm_x"}, "value": [T, "1"]}
    vector = {"status": "success", "data": {"resultType": "vector", "result": [found]}}
    httpserver.expect_ordered_request(QUERY).respond_with_json(vector)
    httpserver.expect_ordered_request(QUERY).respond_with_json(matrix())
    assert source.names_like('v"', T, matchers={"a": 'b"'}) == ["vllm_x"]
    assert asked(httpserver)[0] == r'count by (__name__) ({__name__=~"v\".*",a="b\""})'
    assert source.every_target(T, T + 60, matchers={"a": "b"}) == []
    assert asked(httpserver)[0] == 'up{job=~".*",a="b"}[60s]'
