"""Clients of a local HTTP server."""

import threading
from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer

from core.config import Settings
from core.sources.prometheus import PrometheusSource
from tests.sources.answers import SourceOf


@pytest.fixture
def source_of(httpserver: HTTPServer) -> Iterator[SourceOf]:
    """Makes clients of the test server, or of `url`, and closes them."""
    made: list[PrometheusSource] = []

    def make(url: str | None = None, **settings: object) -> PrometheusSource:
        chosen = Settings(
            _env_file=None, prometheus_url=url or httpserver.url_for("").rstrip("/"), **settings
        )
        made.append(PrometheusSource(chosen))
        return made[-1]

    yield make
    for source in made:
        source.close()


@pytest.fixture
def source(source_of: SourceOf) -> PrometheusSource:
    return source_of()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets handlers that wait go on when the test is over."""
    event = threading.Event()
    yield event
    event.set()
