"""What only a browser shows: links, widths, popovers, downloads, two readers at once.

Every visit ends with the promise that nothing was fetched from another host,
refused, or complained about on the console (`Visit.leave`).
"""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from core.messages import say
from tests.browser.conftest import HOSTILE, NewVisit
from tests.browser.looking import PAGES
from tests.browser.started import StartedApp
from tests.pages.homes import WRITTEN, Filled

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
WIDTHS = (1440, 1000)


def test_a_pasted_link_restores_the_scope(
    served: StartedApp, visit: NewVisit, filled: Filled
) -> None:
    """A link opens on its model, period and comparison, and stays in the address bar."""
    link = filled.window() | {"model": "gpt-oss-120b", "compare": "previous"}
    seen = visit(served)
    seen.open("hit_ratio", **link)
    assert seen.query == link
    for label, shown in (
        ("scope.model", "gpt-oss-120b"),
        ("scope.range", say("scope.fixed")),
        ("scope.compare", say("compare.previous")),
    ):
        expect(seen.value(say(label))).to_have_value(shown)
    by_model = seen.table(say("col.restarts")).locator("tbody tr")
    expect(by_model).to_have_count(1)
    expect(by_model).to_contain_text("gpt-oss-120b")
    expect(seen.page.locator(".pw-tile .d").first).to_contain_text("pp against period before")


def test_the_scope_goes_to_the_url_and_with_the_reader(served: StartedApp, visit: NewVisit) -> None:
    """Choosing a model writes the URL; the navigation keeps it, and so does a reload."""
    seen = visit(served)
    seen.open()
    assert seen.query == {}
    seen.choose(say("scope.model"), "llama-4-scout")
    seen.page.wait_for_url("**model=llama-4-scout*")
    for path in ("hit_ratio", "data_health", ""):
        seen.go_to(path)
        seen.page.wait_for_url(f"**/{path}?model=llama-4-scout")
        expect(seen.value(say("scope.model"))).to_have_value("llama-4-scout")
    seen.page.reload()
    seen.settle("")
    assert seen.query == {"model": "llama-4-scout"}
    expect(seen.fresh).to_contain_text("of 3 engines fresh")


def test_two_sessions_do_not_disturb_each_other(served: StartedApp, visit: NewVisit) -> None:
    """Two readers at once keep their own scope, zone and page."""
    here, there = visit(served), visit(served, zone="America/New_York")
    here.open("", model="qwen3-32b")
    there.open("hit_ratio", namespace="agents")
    here.choose(say("scope.range"), say("range.3h"))
    here.page.wait_for_url("**range=3h*")
    there.page.reload()
    there.settle("hit_ratio")
    assert there.query == {"namespace": "agents"}
    expect(there.fresh).to_contain_text("America/New_York")
    expect(there.fresh).to_contain_text("of 5 engines fresh")
    expect(here.fresh).to_contain_text("Asia/Seoul")
    expect(here.fresh).to_contain_text("of 4 engines fresh")
    assert here.query == {"model": "qwen3-32b", "range": "3h"}


def test_an_entered_change_is_listed_and_drawn(served: StartedApp, visit: NewVisit) -> None:
    """A change logged in the form appears in the list, and as one more line on every chart."""
    what = "match unit <32> for chat"
    seen = visit(served)
    seen.open()
    changes = seen.table(say("col.mark")).locator("tbody tr")
    charts = seen.page.locator(".js-plotly-plot")
    expect(charts).to_have_count(5)
    expect(charts.locator("g.shapelayer path").first).to_be_attached()
    listed = changes.count()
    drawn = [charts.nth(i).locator("g.shapelayer path").count() for i in (0, 1, 2, 4)]
    seen.page.get_by_text(say("lever.add")).click()
    seen.page.get_by_label(say("lever.what")).fill(what)
    seen.page.get_by_label(say("lever.by")).fill("Mina")
    seen.page.get_by_role("button", name=say("lever.save")).press("Enter")
    expect(seen.page.get_by_text(say("lever.saved"))).to_be_visible()
    expect(changes).to_have_count(listed + 1)
    expect(changes.first).to_contain_text(what)
    for i, n in zip((0, 1, 2, 4), drawn, strict=True):
        expect(charts.nth(i).locator("g.shapelayer path")).to_have_count(n + 1)


def test_numbers_explain_themselves(served: StartedApp, visit: NewVisit) -> None:
    """Behind an info mark are definition, population and a query to paste, for this scope."""
    seen = visit(served)
    seen.open("hit_ratio", model="qwen3-32b")
    seen.page.get_by_test_id("stPopoverButton").first.click()
    body = seen.page.get_by_test_id("stPopoverBody")
    expect(body).to_be_visible()
    expect(body).to_contain_text("Engine hit ratio")
    expect(body).to_contain_text(say("info.promql"))
    code = body.get_by_test_id("stCode").first
    expect(code).to_contain_text("vllm:prefix_cache_hits_total")
    expect(code).to_contain_text('model_name="qwen3-32b"')
    expect(code).to_contain_text("[3600s]")
    seen.page.keyboard.press("Escape")
    seen.page.get_by_test_id("stMainMenu").click()
    assert len(seen.requested) > 10


def test_a_table_is_downloaded_as_csv(
    served: StartedApp, visit: NewVisit, filled: Filled, tmp_path: Path
) -> None:
    """The button gives the table's rows, with exact numbers and words for unknown."""
    seen = visit(served)
    seen.open("hit_ratio", **filled.window())
    with seen.page.expect_download() as started:
        seen.page.locator(".st-key-csv_by_model").get_by_role("button").click()
    assert started.value.suggested_filename == "prefixwatch-by_model.csv"
    started.value.save_as(tmp_path / "got.csv")
    with (tmp_path / "got.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row[say("col.name")] for row in rows] == ["gpt-oss-120b", "llama-4-scout", "qwen3-32b"]
    assert all(0 < float(row[say("col.hit_ratio")]) < 1 for row in rows)
    assert rows[0][say("col.external")] == say("reason.no_traffic")
    assert 0 < float(rows[1][say("col.external")]) < 1


def test_nothing_is_cut_or_runs_over(served: StartedApp, visit: NewVisit, filled: Filled) -> None:
    """On a wide and a narrow screen, pages fit and tiles show all of their text."""
    seen = visit(served, theme="dark")
    seen.open("", **filled.window(), compare="previous")
    for path in PAGES:
        if path:
            seen.go_to(path)
        for width in WIDTHS:
            seen.page.set_viewport_size({"width": width, "height": 1000})
            seen.page.wait_for_function(FITS, timeout=30_000)
            assert seen.page.evaluate(CUT) == []
        seen.page.set_viewport_size({"width": WIDTHS[0], "height": 1000})


FITS = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    return main.scrollWidth <= main.clientWidth
        && document.documentElement.scrollWidth <= window.innerWidth;
}"""
CUT = """() => [...document.querySelectorAll('.pw-tile .v, .pw-tile .n, .pw-tile .d, .pw-title')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"""


WITHOUT_ENGINES = ("quality", "experiments", "benchmarks")
"""Pages that list no engine; hostile names of what they do list have tests of their own."""


def test_hostile_labels_are_only_text(served: StartedApp, visit: NewVisit) -> None:
    """Labels that hold markup are shown letter by letter on every page, and nothing of it runs."""
    seen = visit(served)
    seen.open("", **WRITTEN)
    for path in PAGES:
        if path:
            seen.go_to(path)
        if path not in WITHOUT_ENGINES:
            expect(seen.page.locator(".pw-table").get_by_text(HOSTILE).first).to_be_visible()
        seen.value(say("scope.pod")).click()
        expect(seen.page.get_by_role("option", name=HOSTILE, exact=True)).to_be_visible()
        seen.page.keyboard.press("Escape")
        for chart in seen.page.locator(".js-plotly-plot").all():
            chart.hover(position={"x": 200, "y": 120})
        assert seen.page.locator("img[src='x'], b[onclick], a[href^='javascript']").count() == 0
        assert seen.page.evaluate("window.ran") is None
