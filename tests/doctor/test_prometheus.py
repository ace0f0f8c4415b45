"""Prometheus: answers, credentials, version and clock, each told from the others."""

import json

import pytest
import requests

from core.doctor import Level
from tests.collect.fake_prometheus import api_error
from tests.doctor.fakes import NOW, Prometheus, build, examined, settings_of


def refusing(status: int, body: bytes) -> Prometheus:
    made = Prometheus()
    made.engine()
    made.refuse = lambda _query, _seconds: (status, body)
    return made


def test_a_server_that_refuses_the_connection_is_one_error() -> None:
    """Not there: one error that names the address, everything else unknown for that reason."""
    made = Prometheus()

    def gone(_query: str, _seconds: int) -> None:
        raise requests.ConnectionError("Connection refused")

    made.refuse = gone
    found = examined(made)
    assert found.wrong == [("prometheus_reachable", "prometheus")]
    found.says("prometheus_reachable", "http://prometheus.test", "Connection refused", "address")
    assert found.level("vllm_series") is Level.UNKNOWN
    found.says("vllm_series", "not asked", "Connection refused")
    assert len(made.asked) == 1


def test_a_timeout_names_its_setting() -> None:
    """Too slow is told from gone."""
    made = Prometheus()

    def slow(_query: str, _seconds: int) -> None:
        raise requests.ReadTimeout("timed out")

    made.refuse = slow
    examined(made).says("prometheus_reachable", "PREFIXWATCH_PROMETHEUS_TIMEOUT_S")


def test_an_unknown_certificate_names_its_setting() -> None:
    """A private authority is named with the setting that takes its certificate."""
    made = Prometheus()

    def strange(_query: str, _seconds: int) -> None:
        raise requests.exceptions.SSLError("certificate verify failed: self-signed certificate")

    made.refuse = strange
    examined(made).says("prometheus_reachable", "PREFIXWATCH_PROMETHEUS_CA_FILE")


@pytest.mark.parametrize(
    ("status", "settings"),
    [(401, "PREFIXWATCH_PROMETHEUS_TOKEN"), (403, "read access")],
)
def test_refused_credentials_are_not_a_server_that_is_down(status: int, settings: str) -> None:
    """401 and 403 are one error, about credentials; the server is reachable."""
    found = examined(refusing(status, b"no"))
    assert found.wrong == [("prometheus_auth", "prometheus")]
    assert found.level("prometheus_reachable") is Level.OK
    found.says("prometheus_auth", settings, str(status))


def test_accepted_credentials_are_named_by_their_setting() -> None:
    """Which of the settings was accepted is said, not its value."""
    made = Prometheus()
    made.engine()
    found = examined(made, settings=settings_of(prometheus_token="tok-1234"))  # noqa: S106
    found.says("prometheus_auth", "PREFIXWATCH_PROMETHEUS_TOKEN")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"<html>Sign in</html>", "not as Prometheus"),
        (404, b"404 page not found", "must not include /api/v1"),
        (500, api_error("internal", "disk"), "log of the Prometheus"),
        (429, b"slow down", "limits"),
        (503, b"starting", "starting"),
        (400, api_error("bad_data", "x"), "HTTP 400"),
    ],
)
def test_other_answers_say_what_they_are(status: int, body: bytes, words: str) -> None:
    """A login page, a wrong path, an error and a limit each have their own next step."""
    found = examined(refusing(status, body))
    assert found.wrong == [("prometheus_reachable", "prometheus")]
    found.says("prometheus_reachable", words)


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (build("2.42.0+ds"), "Prometheus 2.42.0+ds"),
        (build("3.1.0"), "Prometheus 3.1.0"),
        (build("2.10.0", application="Grafana Mimir"), "Grafana Mimir 2.10.0"),
        (build("0.34.1"), "Version 0.34.1: not one of Prometheus"),
    ],
)
def test_the_server_is_named_by_what_it_says(given: object, title: str) -> None:
    """Prometheus 2 and 3, Mimir and Thanos are told apart by their build information."""
    made = Prometheus()
    made.engine()
    made.build = (200, json.dumps(given).encode())
    found = examined(made)
    assert found.one("prometheus_version").title == title
    assert found.level("prometheus_version") is Level.OK


def test_victoriametrics_is_named_by_its_header() -> None:
    """It answers with a version of Prometheus and a header of its own."""
    made = Prometheus()
    made.engine()
    made.build = (200, json.dumps(build("2.24.0")).encode())
    made.headers = {"X-Server-Hostname": "vm-1"}
    assert examined(made).one("prometheus_version").title == "VictoriaMetrics 2.24.0"


@pytest.mark.parametrize("answer", [(404, b"not found"), (200, b"<html>"), (500, b"x")])
def test_a_server_that_tells_no_version_is_unknown_and_no_more(answer: tuple[int, bytes]) -> None:
    """Build information is a courtesy: without it nothing else changes."""
    made = Prometheus()
    made.engine()
    made.build = answer
    found = examined(made)
    assert found.level("prometheus_version") is Level.UNKNOWN
    assert found.level("vllm_series") is Level.OK


@pytest.mark.parametrize(
    ("ahead_s", "level"), [(4.0, Level.OK), (6.0, Level.WARNING), (-6.0, Level.WARNING)]
)
def test_clocks_that_differ_are_warned_of(ahead_s: float, level: Level) -> None:
    """More than 5 s between the clocks is said with the difference, and engines are still found."""
    made = Prometheus()
    made.engine()
    found = examined(made, now=NOW - ahead_s, ours=NOW - ahead_s)
    assert found.level("prometheus_clock") is level
    found.says("prometheus_clock", f"{ahead_s:+.1f} s")
    assert found.level("vllm_series") is Level.OK


def test_one_check_that_breaks_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error nobody thought of is unknown, by kind and place, without its words."""
    made = Prometheus()
    made.engine()

    def broken(*_: object) -> None:
        raise KeyError("tok-secret")

    monkeypatch.setattr("core.doctor.scrapes.duplicate_places", broken)
    found = examined(made)
    assert found.level("duplicates") is Level.UNKNOWN
    found.says("duplicates", "KeyError", "report")
    assert "tok-secret" not in str(list(found))
    assert found.level("scrape_interval") is Level.OK
