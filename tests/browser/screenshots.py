"""Pictures of every page on the demo, for the README and for looking.

    python tests/browser/screenshots.py OUTDIR

Starts the app on a folder of its own, waits until its history is read, and saves
each page light and dark, wide and narrow, at full height.
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser.looking import PAGES, Visit
from tests.browser.started import CHROMIUM, CHROMIUM_ARGS, StartedApp

WIDTHS = (1440, 1000)
NARROWEST_HEIGHT = 1000
HISTORY = {"range": "3h"}
READ_MS = 900_000
"""Longest wait for the demo's history, milliseconds."""
HEIGHT = """() => Math.ceil(
    document.querySelector('[data-testid=stMainBlockContainer]').getBoundingClientRect().height)"""
CHARTS_DRAWN = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
    .every(chart => chart.querySelector('.main-svg'))"""


def main(folder: Path) -> None:
    """Save all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        StartedApp(Path(home) / "data", collector=True) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGS), timeout=120_000
        )
        for theme in ("light", "dark"):
            context = browser.new_context(color_scheme=theme, timezone_id="Asia/Seoul")
            context.set_default_timeout(120_000)
            seen = Visit(app.url, context.new_page())
            seen.page.set_viewport_size({"width": WIDTHS[0], "height": NARROWEST_HEIGHT})
            seen.page.goto(app.url)
            expect(seen.page.locator(".pw-tile").first).to_be_visible()
            expect(seen.page.get_by_test_id("stProgress")).to_have_count(0, timeout=READ_MS)
            for path in PAGES:
                seen.open(path, **HISTORY)
                for width in WIDTHS:
                    name = f"{path or 'live'}-{theme}-{width}.png"
                    _save(seen.page, width, folder / name)
            context.close()
        browser.close()


def _save(page: Page, width: int, file: Path) -> None:
    """One picture of the whole page: Streamlit scrolls inside, so the window is made as tall."""
    for _ in range(2):
        height = max(NARROWEST_HEIGHT, int(page.evaluate(HEIGHT)))
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(CHARTS_DRAWN)
        time.sleep(2)
    page.screenshot(path=file)
    print(file)  # noqa: T201 - says what was made


if __name__ == "__main__":
    main(Path(sys.argv[1]))
