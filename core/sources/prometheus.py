"""Prometheus: raw samples in, `RawSeries` out.

The connection is prometheus-api-client's (session, auth, TLS, proxy). What it
leaves out is added at its edges: a timeout, retries that keep the server's own
error text, warnings of the envelope, and typed decoding in a response hook, so
that a login page, a truncated body or an error envelope is named for what it is.
"""

import gc
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from pydantic import SecretStr
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as PoolTimeoutError
from urllib3.util.retry import Retry

from core.config import Settings
from core.domain.records import RawSeries
from core.errors import (
    SourceContract,
    SourceError,
    SourceStatus,
    SourceTimeout,
    SourceUnavailable,
)
from core.named_queries import any_of, quoted, render_promql

RETRIED = (429, 502, 503, 504)
MILLISECOND = 0.001
CHUNK = 1 << 20
TIMEOUTS = (requests.Timeout, PoolTimeoutError, TimeoutError)
ERROR_TEXT = 500
"""Characters of a server's error text that are kept."""


class _Series(msgspec.Struct, gc=False):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None
    histograms: msgspec.Raw = msgspec.Raw(b"")


class _Data(msgspec.Struct):
    result: list[_Series]


class _Envelope(msgspec.Struct):
    status: str
    data: _Data | None = None
    errorType: str = ""  # noqa: N815 - the API's own name
    error: str = ""
    warnings: list[str] = []
    infos: list[str] = []


class _Build(msgspec.Struct):
    version: str = ""
    application: str = ""


class _BuildEnvelope(msgspec.Struct):
    data: _Build


_decoder = msgspec.json.Decoder(_Envelope)
_build_decoder = msgspec.json.Decoder(_BuildEnvelope)


@dataclass(frozen=True)
class Build:
    """What a server says it is. `application` is None where it does not name one."""

    version: str
    application: str | None


class PrometheusSource:
    """Reads one Prometheus (or anything that speaks its query API)."""

    def __init__(
        self, settings: Settings, *, adapter: requests.adapters.BaseAdapter | None = None
    ) -> None:
        if settings.prometheus_url is None:
            raise SourceUnavailable("PREFIXWATCH_PROMETHEUS_URL is not set")
        self.warnings: list[str] = []
        """Warnings of the API since they were last taken."""
        self.url = settings.prometheus_url
        session = requests.Session()
        session.verify = (
            str(settings.prometheus_ca_file)
            if settings.prometheus_ca_file
            else settings.prometheus_verify_tls
        )
        session.hooks["response"].append(self._decode)
        session.stream = True
        self._session = session
        self._timeout_s = settings.prometheus_timeout_s
        self._connection = PrometheusConnect(
            url=settings.prometheus_url,
            auth=_auth(settings),
            session=session,
            timeout=settings.prometheus_timeout_s,
            retry=Retry(
                total=2,
                read=False,
                backoff_factor=0.5,
                status_forcelist=RETRIED,
                respect_retry_after_header=False,
                raise_on_status=False,
            ),
        )
        if adapter is not None:
            session.mount(settings.prometheus_url, adapter)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def server_time(self) -> float:
        """The server's own clock, seconds since the epoch.

        Raises
        ------
        SourceError
            Unreachable, too slow, refused, or answering in another shape.
        """
        answer = self._ask(render_promql("server_time", matchers={}))
        if len(answer) != 1 or answer[0].value is None:
            raise SourceContract("`vector(time())` gave no single value")
        return _number(answer[0].value[1])

    def raw_samples(
        self, names: Iterable[str], start: float, end: float, *, matchers: Mapping[str, str]
    ) -> list[RawSeries]:
        """Samples as stored, with start <= time < end, each exactly once.

        Parameters
        ----------
        start, end : float
            Whole seconds. The query asks for one millisecond less than `end`, so
            the answer is the same whether ranges are closed (2.x) or left-open
            (3.x); what lies outside is cut away.
        """
        return self._matrix(
            "raw_samples", start, end, names=any_of(sorted(names)), and_matchers=_more(matchers)
        )

    def target_up(self, jobs: Iterable[str], start: float, end: float) -> list[RawSeries]:
        """Samples of `up` of the given scrape jobs, with start <= time < end."""
        return self._matrix("target_up", start, end, jobs=any_of(sorted(jobs)))

    def reset_calls(
        self, jobs: Iterable[str], start: float, end: float, *, matchers: Mapping[str, str]
    ) -> list[RawSeries]:
        """Samples of the API servers' counter of cache resets, with start <= time < end."""
        asked = {"jobs": any_of(sorted(jobs)), "and_matchers": _more(matchers)}
        return self._matrix("reset_calls", start, end, **asked)

    def every_target(
        self, start: float, end: float, *, matchers: Mapping[str, str]
    ) -> list[RawSeries]:
        """Samples of `up` of all scrape jobs, with start <= time < end."""
        return self._matrix("every_target", start, end, and_matchers=_more(matchers))

    def names_like(self, beginning: str, at: float, *, matchers: Mapping[str, str]) -> list[str]:
        """Names of series that begin with a word and have a sample at a time."""
        query = render_promql(
            "names_like",
            matchers={},
            names=quoted(f"{re.escape(beginning)}.*"),
            and_matchers=_more(matchers),
        )
        found = self._ask(query, time=f"{at:.3f}")
        return sorted(s.metric["__name__"] for s in found if "__name__" in s.metric)

    def build(self) -> Build:
        """What the server says it is; servers that only speak the query API may lack this.

        Raises
        ------
        SourceError
            As for samples; a SourceStatus 404 where the server does not tell.
        """
        found: list[Build] = []

        def keep(response: requests.Response, **_: Any) -> None:
            if not response.is_redirect:
                found.append(_build(response, _read(response, time.monotonic() + self._timeout_s)))

        with self._translated():
            self._session.get(
                f"{self.url}/api/v1/status/buildinfo",
                auth=self._connection.auth,
                verify=self._session.verify,
                timeout=self._timeout_s,
                hooks={"response": keep},
            )
        return found[-1]

    def take_warnings(self) -> list[str]:
        """Warnings the server gave since the last call, each once."""
        taken = list(dict.fromkeys(self.warnings))
        self.warnings.clear()
        return taken

    def _matrix(self, name: str, start: float, end: float, **parts: str) -> list[RawSeries]:
        query = render_promql(name, matchers={}, window=f"{round(end - start)}s", **parts)
        with _collector_paused():
            answer = self._ask(query, time=f"{end - MILLISECOND:.3f}")
            return [_raw(series, start, end) for series in answer]

    def _ask(self, query: str, **params: str) -> list[_Series]:
        with self._translated():
            result: list[_Series] = self._connection.custom_query(query, params=params)
        return result

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SourceError:
            raise
        except (requests.RequestException, HTTPError, PrometheusApiClientException) as error:
            cause = _cause(error)
            kind = SourceTimeout if isinstance(cause, TIMEOUTS) else SourceUnavailable
            raise kind(f"{self.url}: {_words(cause)}") from error

    def _decode(self, response: requests.Response, **_: Any) -> None:
        """Turn every answer into records or a named error, once."""
        if response.is_redirect:
            return
        body = _read(response, time.monotonic() + self._timeout_s)
        envelope = _envelope(response, body)
        if (
            envelope.errorType == "timeout"
            or response.status_code == requests.codes.gateway_timeout
        ):
            raise SourceTimeout(f"HTTP {response.status_code} timeout: {envelope.error}")
        if response.status_code != requests.codes.ok or envelope.status != "success":
            raise _refused(response, envelope)
        if envelope.data is None:
            raise SourceContract("the answer says success and holds no data")
        self.warnings += envelope.warnings
        result = envelope.data.result
        response.json = lambda **_: {"data": {"result": result}}  # type: ignore[method-assign]


_STEPS = {
    0: "Look at the log of the Prometheus server.",
    401: "Set PREFIXWATCH_PROMETHEUS_TOKEN, or ..._USER and ..._PASSWORD.",
    403: "The credentials are known but may not query; ask for read access.",
    404: "Check the path of PREFIXWATCH_PROMETHEUS_URL; it must not include /api/v1.",
    422: "The query was too heavy; the collector asks for a smaller slice by itself.",
    429: "The server limits requests; the collector waits and goes on.",
    503: "The server is starting or overloaded; the collector tries again by itself.",
}


def _more(matchers: Mapping[str, str]) -> str:
    """Matchers as they stand behind the first one of a selector."""
    return "".join(f",{label}={quoted(value)}" for label, value in sorted(matchers.items()))


def clock_skew(answered: float, asked_at: float, got_at: float) -> float:
    """Server clock minus our clock, seconds, taking half of the round trip off.

    >>> clock_skew(105.0, 100.0, 102.0)
    4.0
    """
    return answered - (asked_at + got_at) / 2


def _read(response: requests.Response, deadline: float) -> bytes:
    """The whole body, or a timeout: a socket timeout alone bounds each byte, not the answer."""
    parts: list[bytes] = []
    while part := response.raw.read1(CHUNK, decode_content=True):
        parts.append(part)
        if time.monotonic() > deadline:
            response.close()
            raise SourceTimeout("the answer did not end in time")
    response.close()
    return b"".join(parts)


def _envelope(response: requests.Response, body: bytes) -> _Envelope:
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if response.status_code != requests.codes.ok:
            text = " ".join(body[:ERROR_TEXT].decode(errors="replace").split())
            return _Envelope(status="error", errorType=response.reason or "", error=text)
        kind = response.headers.get("Content-Type", "no content type")
        raise SourceContract(f"not a Prometheus answer ({kind}): {error}") from error


def _refused(response: requests.Response, envelope: _Envelope) -> SourceStatus:
    return SourceStatus(
        f"HTTP {response.status_code} {envelope.errorType}: {envelope.error[:ERROR_TEXT]}",
        status=response.status_code,
        next_step=_STEPS.get(response.status_code, _STEPS[0]),
    )


def _build(response: requests.Response, body: bytes) -> Build:
    if response.status_code != requests.codes.ok:
        text = " ".join(body[:ERROR_TEXT].decode(errors="replace").split())
        told = _Envelope(status="error", errorType=response.reason or "", error=text)
        raise _refused(response, told)
    try:
        said = _build_decoder.decode(body).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceContract(f"no build information: {error}") from error
    named = "VictoriaMetrics" if "X-Server-Hostname" in response.headers else None
    return Build(said.version, said.application or named)


def _raw(series: _Series, start: float, end: float) -> RawSeries:
    n = len(series.values)
    times = np.fromiter((point[0] for point in series.values), float, n)
    values = np.fromiter((_number(point[1]) for point in series.values), float, n)
    inside = (times >= start - MILLISECOND / 2) & (times < end - MILLISECOND / 2)
    inside[1:] &= times[1:] > times[:-1]
    native = bool(series.histograms) and not n
    return RawSeries(series.metric, times[inside], values[inside], native)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SourceContract(f"a sample is no number: {error}") from error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of small lists and no cycles: garbage collection doubles the cost."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Bearer(requests.auth.AuthBase):
    """A token as auth and not as a header, which a netrc file would replace."""

    def __init__(self, token: SecretStr) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign a request."""
        request.headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        return request


def _auth(settings: Settings) -> _Bearer | tuple[str, str] | None:
    if settings.prometheus_token is not None:
        return _Bearer(settings.prometheus_token)
    if settings.prometheus_user is None:
        return None
    password = settings.prometheus_password
    return (settings.prometheus_user, password.get_secret_value() if password else "")


def _cause(error: BaseException) -> BaseException:
    """The innermost reason of a failed request."""
    inner: object = error
    while isinstance(inner, BaseException):
        error = inner
        inner = getattr(error, "reason", None) or next(
            (arg for arg in error.args if isinstance(arg, BaseException)), error.__cause__
        )
    return error


def _words(cause: BaseException) -> str:
    """What a cause says, without the query it was asked for."""
    text = str(cause).rsplit(": ", 1)[-1] or type(cause).__name__
    return text.split("?", 1)[0][:ERROR_TEXT]
