"""The Request page in a browser: from a list to one request, and an order answered meanwhile."""

import time

import pytest
from playwright.sync_api import expect

from core.cache.orders import Order, Orders
from core.messages import say
from tests.browser.conftest import HOSTILE, NewVisit
from tests.browser.started import PATIENCE_S, StartedApp
from tests.browser.test_app import CUT, FITS, WIDTHS
from tests.pages.homes import T0, WRITTEN, at, leave
from tests.pages.written_requests import observation

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_row_of_the_list_leads_to_its_request(served: StartedApp, visit: NewVisit) -> None:
    """A link keeps the scope, opens in place, fits both widths, and holds hostile text as text."""
    seen = visit(served)
    seen.open("request", **WRITTEN)
    link = seen.page.locator(".pw-table a").get_by_text(HOSTILE, exact=True).first
    link.click()
    expect(seen.page.locator(".pw-found").first).to_contain_text(HOSTILE)
    expect(seen.page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    assert seen.query == WRITTEN | {"id": HOSTILE}
    for width in WIDTHS:
        seen.page.set_viewport_size({"width": width, "height": 1000})
        seen.page.wait_for_function(FITS, timeout=30_000)
        assert seen.page.evaluate(CUT) == []
    assert seen.page.locator("img[src='x'], b[onclick], a[href^='javascript']").count() == 0
    assert seen.page.evaluate("window.ran") is None


def test_an_order_is_awaited_and_its_answer_shown(served: StartedApp, visit: NewVisit) -> None:
    """The page waits with the time since it asked, others work on, and the answer shows alone."""
    waits, other = visit(served), visit(served)
    waits.page.goto(f"{served.url}/request?id=late-one")
    expect(waits.page.get_by_text("Asked the collector").first).to_be_visible()
    other.open("data_health")
    order = waiting(served, "late-one")
    row = {
        "order_id": order.order_id,
        "wanted": order.wanted,
        "asked_at": at(order.asked_at),
        "answered_at": at(T0),
        "outcome": "found",
        "found": 1,
    }
    home = served.data_dir / "demo"
    leave(home, {"orders": [row], "observations": [observation("late-one")]})
    Orders(home / "orders").answered(order)
    found = waits.page.locator(".pw-found").first
    expect(found).to_contain_text(say("request.found", id="late-one"))
    assert waits.query == {"id": "late-one"}


def waiting(served: StartedApp, wanted: str) -> Order:
    """The order that a page left."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for order in Orders(served.data_dir / "demo" / "orders").waiting():
            if order.wanted == wanted:
                return order
        time.sleep(0.1)
    raise AssertionError("no order was left")
