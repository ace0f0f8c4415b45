"""The HTML file of a review in a browser without a network, on screen and on paper."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from core.messages import say
from core.report.html import html
from tests.browser.conftest import NewVisit
from tests.browser.started import ROOT, StartedApp
from tests.pages.homes import Filled
from tests.report.written import HOSTILE, every_block

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
STAMP = re.compile(rb"Made [\d: -]+ UTC")
OVERFLOWS = "document.documentElement.scrollWidth > window.innerWidth"


def offline(chromium: Browser, file: Path, *, theme: str, width: int) -> tuple[Page, list[str]]:
    """A page on a file, with every request but that for the file refused and noted."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    asked: list[str] = []

    def refuse(route: Route) -> None:
        if route.request.url == file.as_uri():
            route.continue_()
            return
        asked.append(route.request.url)
        route.abort()

    page.route("**/*", refuse)
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(file.as_uri())
    return page, asked


@pytest.mark.parametrize("width", [1440, 1000])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_hostile_file_asks_for_nothing(
    chromium: Browser, tmp_path: Path, theme: str, width: int
) -> None:
    """Words of bad intent are seen letter by letter; nothing runs, loads or runs over."""
    file = tmp_path / "review.html"
    file.write_text(html(every_block()), encoding="utf-8")
    page, asked = offline(chromium, file, theme=theme, width=width)
    expect(page.locator("h1")).to_have_text(HOSTILE)
    expect(page.locator("svg.chart")).to_have_count(2)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.scripts.length") == 0
    assert page.locator("a, img, link, iframe").count() == 0
    assert asked == []
    assert not page.evaluate(OVERFLOWS)
    page.context.close()


def test_the_page_s_file_is_the_command_line_s_and_prints(
    served: StartedApp, visit: NewVisit, chromium: Browser, filled: Filled, tmp_path: Path
) -> None:
    """Downloaded and ordered from the running app: one file but for its stamp, and paper of it."""
    window = filled.window(330, 360)
    seen = visit(served)
    seen.open("review", **window)
    with seen.page.expect_download() as started:
        seen.page.get_by_role("button", name=say("review.download.html")).click()
    mine, theirs = tmp_path / "page.html", tmp_path / "cli.html"
    started.value.save_as(mine)
    command = [sys.executable, "-m", "core.report", "--from", window["from"], "--to", window["to"]]
    subprocess.run(
        [*command, "--out", str(theirs)], cwd=ROOT, env=served.environment, check=True, timeout=300
    )
    assert STAMP.sub(b"", mine.read_bytes()) == STAMP.sub(b"", theirs.read_bytes())
    page, asked = offline(chromium, mine, theme="light", width=1440)
    expect(page.locator("h2").filter(has_text=say("review.efficiency"))).to_be_visible()
    assert not page.evaluate(OVERFLOWS)
    paper = page.pdf(prefer_css_page_size=True, print_background=True)
    assert asked == []
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) > 1
    page.context.close()
