"""A benchmark launched from the page, in a browser, with a stand-in for the `vllm` command."""

import sys
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect

from core.messages import say
from tests.bench.conftest import FAKE
from tests.browser.conftest import NewVisit
from tests.browser.looking import Visit
from tests.browser.started import StartedApp

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_plan_is_launched_once_and_judged(tmp_path: Path, visit: NewVisit) -> None:
    """From the form to a verdict for every run; a double click and a second tab are one job."""
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{FAKE.read_text()}")
    program.chmod(0o755)
    program.with_name("fake.json").write_text('{"bench_s": 0.5}')
    settings = {
        "PREFIXWATCH_BENCH_LAUNCH": "true",
        "PREFIXWATCH_BENCH_VLLM": str(program),
    }
    data = tmp_path / "data"
    with StartedApp(data, settings=settings) as app:
        here, there = visit(app), visit(app)
        for seen in (here, there):
            seen.open("benchmarks")
            type_into(seen, say("bench.model"), "tiny")
            type_into(seen, say("bench.tokenizer"), "tokenizer")
            cases = seen.table(say("bench.col_expected_ratio")).locator("tbody tr")
            expect(cases).to_have_count(6)
            type_into(seen, say("bench.concurrency"), "2")
            expect(cases).to_have_count(3)
        here.page.get_by_role("button", name=say("bench.launch")).dblclick()
        expect(here.page.locator(".pw-title", has_text=say("bench.running"))).to_be_visible()
        expect(here.table(say("bench.col_time")).locator("tbody tr")).to_have_count(6)
        there.page.get_by_role("button", name=say("bench.launch")).click(force=True)
        expect(here.page.locator(".pw-title", has_text=say("bench.running"))).to_have_count(0)
        expect(here.page.get_by_text("6 of 6 planned runs are valid")).to_be_visible()
        lines = here.page.locator(".pw-line")
        expect(lines.filter(has_text="C/D")).to_contain_text(
            say("bench_conclusion.hits_no_speed_verdict")
        )
        hits = here.table(say("bench.col_observed")).locator("tbody tr")
        expect(hits.filter(has_text="C/D")).to_contain_text("30.7 k")
        expect(hits.filter(has_text="C/D")).to_contain_text("28,672 to 30,720")
        expect(here.page.get_by_text(say("bench.no_trouble"))).to_be_visible()
        here.leave()
        there.leave()
        assert len(list((data / "bench" / "jobs").glob("[0-9]*"))) == 1
    left = [one for one in psutil.process_iter(["cmdline"]) if str(program) in _words(one)]
    assert left == []


def type_into(seen: Visit, label: str, words: str) -> None:
    field = seen.page.get_by_role("textbox", name=label, exact=True)
    field.fill(words)
    field.press("Enter")


def _words(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or [])
