"""The Quality page in a browser: a click on a dot lists its requests, and the link keeps it."""

import pytest
from playwright.sync_api import expect

from core.messages import say
from tests.browser.conftest import NewVisit
from tests.browser.started import StartedApp
from tests.pages.homes import Filled

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_click_on_a_dot_lists_its_requests(
    served: StartedApp, visit: NewVisit, filled: Filled
) -> None:
    """The group goes to the URL and its requests appear; a reload shows them, `none` ends it."""
    seen = visit(served)
    seen.open("quality", **filled.window(), by="task_type")
    dots = seen.page.locator(".js-plotly-plot").first.locator(".scatterlayer .point")
    expect(dots.first).to_be_visible()
    dots.first.scroll_into_view_if_needed()
    box = dots.first.bounding_box()
    assert box is not None
    seen.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.page.wait_for_url("**cell=*")
    cell = seen.query["cell"]
    listed = seen.table(say("col.observation"))
    expect(listed.locator("tbody tr").first).to_contain_text(cell)
    expect(seen.value(say("quality.cell"))).to_have_value(cell)
    seen.page.reload()
    seen.settle("quality")
    assert seen.query["cell"] == cell
    expect(listed.locator("tbody tr").first).to_contain_text(cell)
    seen.choose(say("quality.cell"), say("quality.none_chosen"))
    expect(listed).to_have_count(0)
    assert "cell" not in seen.query
