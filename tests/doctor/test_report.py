"""The command line: a report to read, JSON, an exit status, and no secret in any of them."""

import base64
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from pytest_httpserver import HTTPServer

from core.doctor import Finding, Level
from core.doctor.__main__ import main
from core.doctor.harmless import MASK, Harmless
from core.doctor.report import COULD_NOT_RUN, WIDTH, as_json, as_text, exit_status
from tests.collect.fake_prometheus import api_error
from tests.doctor.fakes import PUBLIC, Langfuse, Prometheus, examined, row, settings_of

TOKEN, PASSWORD, KEY = "tok/3c7d==", "p@ss 9f1a", "sk-lf-5d2e"
BASIC = base64.b64encode(f"scraper:{PASSWORD}".encode()).decode()
LANGFUSE_BASIC = base64.b64encode(f"{PUBLIC}:{KEY}".encode()).decode()
SECRETS = (TOKEN, PASSWORD, KEY, BASIC, LANGFUSE_BASIC, "tok%2F3c7d%3D%3D", "p%40ss+9f1a")
Environment = Callable[..., None]


def finding(level: Level, **more: Any) -> Finding:
    return Finding(
        **({"finding": "f", "subject": "s", "title": "T", "detail": "d"} | more), level=level
    )


@pytest.mark.parametrize(
    ("levels", "status"),
    [
        ((), 0),
        ((Level.OK, Level.UNKNOWN), 0),
        ((Level.OK, Level.WARNING), 1),
        ((Level.ERROR, Level.WARNING, Level.OK), 2),
    ],
)
def test_the_exit_status_is_that_of_the_worst(levels: tuple[Level, ...], status: int) -> None:
    """0 nothing wrong, also where much is unknown; 1 warnings; 2 errors."""
    assert exit_status([finding(level) for level in levels]) == status


def test_the_report_says_the_worst_first() -> None:
    """Errors, warnings, unknown, in order; each with its detail and its next step."""
    found = [
        finding(Level.OK, title="Fine"),
        finding(Level.WARNING, title="Slow", next_step="Hurry"),
        finding(Level.UNKNOWN, title="Clock: not known", detail="why"),
        finding(Level.UNKNOWN, title="Label: not known", detail="why"),
        finding(Level.ERROR, title="Gone", detail="not there", next_step="Start it"),
    ]
    text = as_text(found, took_s=1.2, most_s=120.0)
    order = ["Errors (1)", "Gone", "not there", "-> Start it", "Warnings (1)", "Slow"]
    order += ["-> Hurry", "Not known (2)", "Clock, Label", "why", "In order (1)", "Fine", "1.2 s"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert text.count("why") == 1


def test_the_report_is_100_columns_wide() -> None:
    """Lines are wrapped; a flag is never cut at its hyphens."""
    flag = "--enable-prompt-tokens-details"
    found = [finding(Level.ERROR, detail=f"word {flag} " * 40, next_step=f"{flag} and " * 30)]
    lines = as_text(found, took_s=0.0, most_s=1.0).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    assert sum(line.count(flag) for line in lines) == 70


def test_json_holds_every_finding_whole() -> None:
    """Machines read the same findings, with the moment and how long it took."""
    found = examined(Prometheus(), Langfuse(row()))
    report = json.loads(as_json(found, now=0.0, took_s=1.0))
    assert report["checked_at"] == "1970-01-01T00:00:00+00:00"
    assert len(report["findings"]) == len(found)
    assert {tuple(sorted(one)) for one in report["findings"]} == {
        ("detail", "finding", "level", "next_step", "subject", "title")
    }


def secret_settings() -> Any:
    return settings_of(
        prometheus_token=TOKEN,
        prometheus_user="scraper",
        prometheus_password=PASSWORD,
        langfuse_secret_key=KEY,
    )


@pytest.mark.parametrize("secret", SECRETS)
def test_a_server_that_repeats_a_secret_is_not_quoted(secret: str) -> None:
    """Credentials come back in errors, names, labels and rows, and appear in no finding."""
    prometheus = Prometheus()
    prometheus.engine(secret, model_name=secret)
    prometheus.warnings = [secret]
    prometheus.build = (200, json.dumps({"data": {"version": secret}}).encode())
    langfuse = Langfuse(
        row(model=secret, address=f"{secret}:1", metadata={secret: 1, "arm": secret}),
        row(usageDetails={secret: "x", "input": secret}),
    )
    asked = [examined(prometheus, langfuse, settings=secret_settings())]
    prometheus.refuse = lambda _q, _s: (401, api_error("unauthorized", f"bad {secret}"))
    langfuse.refuse = lambda _request: httpx.Response(403, json={"message": f"bad {secret}"})
    asked.append(examined(prometheus, langfuse, settings=secret_settings()))

    def gone(*_: object) -> None:
        raise requests.ConnectionError(f"http://u:{secret}@host/ refused")

    prometheus.refuse = gone
    langfuse.refuse = lambda _request: (_ for _ in ()).throw(httpx.ConnectError(f"to {secret}"))
    asked.append(examined(prometheus, langfuse, settings=secret_settings()))
    told = [
        text
        for found in asked
        for text in (as_text(found, took_s=0.0, most_s=1.0), as_json(found, now=0.0, took_s=0.0))
    ]
    assert any(MASK in text for text in told)
    for text in told:
        assert secret not in text
        assert secret not in " ".join(text.split())


def test_texts_of_servers_cannot_move_the_cursor() -> None:
    """Escape sequences, line breaks and directions of writing are taken out."""
    settings = settings_of()
    told = Harmless(settings).text("a\x1b[2J\r\nb\u202ec\x07\u2028d http://me:you@host/x")
    assert told == f"a [2J b c d http://{MASK}@host/x"


def test_a_short_secret_is_hidden_where_it_stands_alone() -> None:
    """A password of one letter does not blot out every word that holds it."""
    harmless = Harmless(settings_of(prometheus_user="u", prometheus_password="a"))  # noqa: S106
    assert harmless.text("bad password a, again") == f"bad password {MASK}, again"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Environment:
    """Sets the program's variables, and no other of them; no `.env` is read."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith(("PREFIXWATCH_", "LANGFUSE_"))]:
        monkeypatch.delenv(name)

    def put(**given: str) -> None:
        for name, value in given.items():
            monkeypatch.setenv(f"PREFIXWATCH_{name}", value)

    put(DATA_DIR=str(tmp_path / "data"))
    return put


def test_bad_settings_end_with_3(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    """A setting that cannot be used is named, without its value."""
    environment(PROMETHEUS_URL="ftp://u:hidden@x")
    assert main([]) == 3
    environment(PROMETHEUS_URL="http://127.0.0.1:1", DEPLOYMENTS="{hidden")
    assert main([]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "PREFIXWATCH_PROMETHEUS_URL" in told.err
    assert "deployments" in told.err
    assert "hidden" not in told.err


def test_a_certificate_that_is_not_there_ends_with_3(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that leads nowhere is named by its setting; a file that is no certificate too."""
    environment(
        LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY=KEY, LANGFUSE_CA_FILE="/nowhere/ca.pem"
    )
    assert main([]) == 3
    assert "langfuse_ca_file" in capsys.readouterr().err
    environment(LANGFUSE_CA_FILE=__file__)
    assert main([]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1


def test_the_demo_says_what_to_set(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing configured: the demo's engines are examined, whatever of them is found in error."""
    assert main([]) != COULD_NOT_RUN
    told = capsys.readouterr().out
    assert told.startswith("Nothing is configured, so the demo runs.")
    assert "PREFIXWATCH_PROMETHEUS_URL" in told
    assert "engines of vLLM found" in told
    assert main(["--json"]) != COULD_NOT_RUN
    assert json.loads(capsys.readouterr().out)["findings"]


def test_errors_end_with_2(
    environment: Environment, httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real server that refuses us: exit status 2 and the setting, in a moment."""
    httpserver.expect_request("/api/v1/query").respond_with_data("no", status=401)
    environment(PROMETHEUS_URL=httpserver.url_for(""), PROMETHEUS_TOKEN=TOKEN)
    begun = time.monotonic()
    assert main([]) == 2
    assert time.monotonic() - begun < 5
    told = capsys.readouterr().out
    assert "Prometheus refuses the credentials" in told
    assert TOKEN not in told
    httpserver.clear()
