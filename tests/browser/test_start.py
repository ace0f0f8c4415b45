"""The first hit of a fresh server, and the demo from an empty folder."""

from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect

from core.messages import say
from tests.browser.conftest import NewVisit
from tests.browser.looking import PAGES
from tests.browser.started import StartedApp
from tests.pages.homes import Filled

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SCOPE_BAR = ("cluster", "namespace", "model", "pod", "engine", "arm", "range", "compare", "refresh")


def test_a_deep_link_first_shows_the_whole_app(
    filled: Filled, tmp_path: Path, visit: NewVisit
) -> None:
    """On a server nobody has seen, a link to a page brings banner, scope bar and navigation."""
    with StartedApp(filled.copy_to(tmp_path / "data")) as app:
        seen = visit(app)
        seen.open("hit_ratio")
        expect(seen.page.get_by_test_id("stTopNavLink")).to_have_count(len(PAGES))
        for name in ("live", "hit_ratio", "data_health"):
            link = seen.page.get_by_test_id("stTopNavLink").filter(has_text=say(f"page.{name}"))
            expect(link).to_be_visible()
        expect(seen.page.locator(".pw-demo")).to_have_text(say("demo.banner"))
        for name in SCOPE_BAR:
            expect(seen.box(say(f"scope.{name}"))).to_be_visible()
        assert seen.path == "/hit_ratio"
        expect(seen.page.get_by_test_id("stSidebarNav")).to_have_count(0)
        seen.leave()


def test_the_demo_fills_an_empty_folder_and_moves(tmp_path: Path, visit: NewVisit) -> None:
    """Nothing configured: numbers appear and change by themselves, and nothing is left running."""
    with StartedApp(tmp_path / "data", collector=True) as app:
        seen = visit(app)
        seen.page.goto(app.url)
        seen.page.evaluate("window.stayed = true")
        expect(seen.page.locator(".pw-demo")).to_be_visible()
        expect(seen.page.locator(".pw-tile")).to_have_count(7)
        expect(seen.page.locator(".pw-tile .v").first).to_contain_text("%")
        expect(seen.fresh).to_contain_text("9 of 9 engines fresh")
        before = seen.fresh.inner_text()
        expect(seen.fresh).not_to_have_text(before)
        assert seen.page.evaluate("window.stayed") is True
        seen.go_to("data_health")
        expect(seen.page.get_by_text("running as process").first).to_be_visible()
        collectors = [
            child
            for child in psutil.Process(app.pid).children(recursive=True)
            if "core.collect" in child.cmdline()
        ]
        seen.leave()
    assert len(collectors) == 2
    _, alive = psutil.wait_procs(collectors, timeout=60)
    assert not alive
