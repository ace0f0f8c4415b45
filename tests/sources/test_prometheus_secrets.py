"""Credentials are sent, and told nowhere else."""

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from core.config import Settings
from core.errors import (
    SourceError,
    SourceUnavailable,
)
from core.sources.prometheus import PrometheusSource
from tests.sources.answers import (
    QUERY,
    SourceOf,
    failure,
    matrix,
    read,
    unused_port,
)

TOKEN, PASSWORD = "tok-3c7d", "pass-9f1a"


def test_a_bearer_token_is_sent(httpserver: HTTPServer, source_of: SourceOf) -> None:
    """The token goes into the header of every request."""
    httpserver.expect_request(
        QUERY, headers={"Authorization": f"Bearer {TOKEN}"}
    ).respond_with_json(matrix())
    assert read(source_of(prometheus_token=TOKEN)) == []


def test_a_netrc_file_does_not_replace_the_token(
    httpserver: HTTPServer, source_of: SourceOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forgotten ~/.netrc entry for the host leaves the configured token in place."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login old password stale\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    read(source_of(prometheus_token=TOKEN))
    request, _ = httpserver.log[-1]
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("in_url", [False, True])
def test_basic_credentials_are_sent(
    httpserver: HTTPServer, source_of: SourceOf, *, in_url: bool
) -> None:
    """User and password, given apart or in the address, go into the header."""
    httpserver.expect_request(QUERY).respond_with_json(matrix())
    if in_url:
        address = httpserver.url_for("").replace("://", f"://scraper:{PASSWORD}@").rstrip("/")
        read(source_of(address))
    else:
        read(source_of(prometheus_user="scraper", prometheus_password=PASSWORD))
    request, _ = httpserver.log[-1]
    assert request.authorization is not None
    assert (request.authorization.username, request.authorization.password) == ("scraper", PASSWORD)


@pytest.mark.parametrize("status", [200, 401, 503])
def test_secrets_are_in_no_error(httpserver: HTTPServer, source_of: SourceOf, status: int) -> None:
    """Neither the message nor its cause repeats a token or a password."""
    httpserver.expect_request(QUERY).respond_with_data("no", status=status)
    secrets = (
        {"prometheus_token": TOKEN},
        {"prometheus_user": "u", "prometheus_password": PASSWORD},
        {"url": httpserver.url_for("").replace("://", f"://u:{PASSWORD}@")},
    )
    for given in secrets[: 3 if status != 503 else 1]:
        with pytest.raises(SourceError) as caught:
            read(source_of(**given))
        told = f"{caught.value!r} {caught.value} {caught.value.__cause__!r}"
        assert TOKEN not in told
        assert PASSWORD not in told


def test_secrets_are_in_no_error_of_the_connection() -> None:
    """An unreachable server is named without the credentials of its address."""
    address = f"http://u:{PASSWORD}@127.0.0.1:{unused_port()}"
    source = PrometheusSource(
        Settings(_env_file=None, prometheus_url=address, prometheus_timeout_s=1)
    )
    try:
        assert PASSWORD not in failure(source, SourceUnavailable)
    finally:
        source.close()


def test_secrets_do_not_print() -> None:
    """Settings can be logged: token and password are masked, the address is bare."""
    settings = Settings(
        _env_file=None,
        prometheus_url=f"https://scraper:{PASSWORD}@metrics.example:9090/x",
        prometheus_token=TOKEN,
    )
    for told in (repr(settings), str(settings), settings.model_dump_json()):
        assert TOKEN not in told
        assert PASSWORD not in told
    assert settings.prometheus_url == "https://metrics.example:9090/x"
