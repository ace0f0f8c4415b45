"""What the tests of the Prometheus client answer with, and how they ask."""

import json
import socket
from collections.abc import Callable

import pytest

from core.errors import (
    SourceError,
)
from core.sources.prometheus import PrometheusSource

QUERY = "/api/v1/query"
T = 1_790_000_040

SourceOf = Callable[..., PrometheusSource]


def matrix(*series: dict[str, object], **more: object) -> dict[str, object]:
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series)}} | more


def samples(*values: str, **labels: str) -> dict[str, object]:
    return {"metric": labels, "values": [[T + 15 * i, v] for i, v in enumerate(values)]}


def read(source: PrometheusSource, **matchers: str) -> list[object]:
    return list(source.raw_samples(["vllm:x_total"], T, T + 600, matchers=matchers))


def failure(source: PrometheusSource, kind: type[SourceError]) -> str:
    """The words of the error that reading raises, which must be of exactly this kind."""
    with pytest.raises(SourceError) as caught:
        read(source)
    assert type(caught.value) is kind
    assert caught.value.title
    assert caught.value.next_step
    return str(caught.value)


def api_error(kind: str, text: str) -> str:
    return json.dumps({"status": "error", "errorType": kind, "error": text})


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
