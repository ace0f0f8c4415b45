"""Chromium against a started app; one worker does all of it."""

import os
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from dataclasses import replace
from typing import Literal

import pytest
from playwright.sync_api import Browser, sync_playwright

from core.domain.bench.plan_file import plan_text
from core.domain.bench.presets import small
from tests.browser.looking import Visit
from tests.browser.started import CHROMIUM, CHROMIUM_ARGS, PATIENCE_S, StartedApp
from tests.pages.homes import MINUTES, T0, Filled, Tables, WrittenEngine, at, put
from tests.pages.written_requests import observation

NewVisit = Callable[..., Visit]
HOSTILE = """<img src=x onerror="window.ran=1"><b onclick=alert(1)>"'`**x**`$y$</b>"""
"""A label value that does harm wherever it is taken for more than text."""


def hostile_tables() -> Tables:
    """An engine and a request whose every text, and a change, would run if it could."""
    labels = {"model": HOSTILE, "namespace": HOSTILE, "cluster": HOSTILE}
    broken = {"prefix_cache_queries": 10.0, "prefix_cache_hits": 20.0}
    engine = WrittenEngine(HOSTILE, per_minute=broken, **labels).tables
    engine["targets"][0] |= {"gone_at": at(T0 + MINUTES * 60), "job": HOSTILE, "instance": HOSTILE}
    lever = {
        "lever_id": 1,
        "happened_at": at(T0 + 60),
        "kind": "other",
        "origin": "entered",
        "what": HOSTILE,
        "by_whom": HOSTILE,
        "link": f"javascript:{HOSTILE}",
    }
    texts = dict.fromkeys(("model", "session_id", "pod", "arm"), HOSTILE)
    return (
        engine
        | {"levers": [lever], "observations": [observation(HOSTILE, **texts)]}
        | hostile_benchmark()
    )


def hostile_benchmark() -> Tables:
    """A benchmark of two valid runs whose every name would run if it could."""
    plan = replace(small(HOSTILE, HOSTILE), name=HOSTILE)
    texts = dict.fromkeys(("name", "model", "tokenizer", "reason"), HOSTILE)
    when = {"stored_at": at(T0), "created_at": at(T0)}
    job = {"job_id": HOSTILE, "state": "done", "origin": "imported", "target": "managed", "runs": 2}
    job |= {"plan": plan_text(plan), "digest": "x"} | texts | when
    run = {"job_id": HOSTILE, "pair": "A/B", "concurrency": 1, "repeat": 1, "seed": 0}
    run |= {"state": "done", "requests": 16, "stored_at": at(T0), "started_at": at(T0)}
    run |= {"verdict": "valid", "ttft_median_ms": 5.0, "reason": HOSTILE, "server_version": HOSTILE}
    sides = (("001-B-c1-r1", "B", True), ("002-A-c1-r1", "A", False))
    runs = [run | {"run_id": r, "case_name": case, "caching": on} for r, case, on in sides]
    return {"bench_jobs": [job], "bench_runs": runs}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; without it these tests are skipped, but never in CI."""
    if not CHROMIUM.exists() or find_library("atomic") is None:
        message = "needs Debian's packages chromium and libatomic1"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGS), timeout=PATIENCE_S * 1000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedApp]:
    """An app on a copy of the filled demo, and on one engine of bad intent that left long ago."""
    folder = filled.copy_to(tmp_path_factory.mktemp("served") / "data")
    put(folder / "demo", hostile_tables())
    with StartedApp(folder) as app:
        yield app


@pytest.fixture
def visit(chromium: Browser) -> Iterator[NewVisit]:
    """Open pages of an app in a browser session of their own, and watch what they do."""
    visits: list[Visit] = []

    def new(
        app: StartedApp, *, theme: Literal["light", "dark"] = "light", zone: str = "Asia/Seoul"
    ) -> Visit:
        context = chromium.new_context(
            viewport={"width": 1440, "height": 1000},
            color_scheme=theme,
            timezone_id=zone,
            locale="en-GB",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        visits.append(Visit(app.url, context.new_page()))
        return visits[-1]

    yield new
    for one in visits:
        one.leave()
