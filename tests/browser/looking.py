"""One browser session on one app: where it goes, what it sees, what it asked for."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import ConsoleMessage, Dialog, Locator, Page, Request, Response, expect

from core.messages import say
from tests.browser.started import PATIENCE_S

expect.set_options(timeout=PATIENCE_S * 1000)

PAGES = {
    "": "chart.prefill",
    "hit_ratio": "hit.definitions",
    "kv_residency": "kv.summary",
    "cached_prefill": "prefill.headline",
    "preemption": "preempt.strip",
    "quality": "quality.coarse",
    "benchmarks": "bench.plan",
    "experiments": "experiments.all",
    "review": "review.limits",
    "request": "request.recent",
    "data_health": "health.sources",
}
"""URL path of each page, and a heading that only it has."""
PROBES = re.compile(rf"/(?:{'|'.join(filter(None, PAGES))})/_stcore/(?:health|host-config)$")
"""What Streamlit asks for below a deep link before it finds its base path; always 404."""


class Visit:
    """A page in a browser context of its own."""

    def __init__(self, url: str, page: Page) -> None:
        self.url = url
        self.page = page
        self.requested: list[str] = []
        self.refused: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._request)
        page.on("response", self._response)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)

    def _request(self, request: Request) -> None:
        self.requested.append(request.url)

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(response.url)

    def _console(self, message: ConsoleMessage) -> None:
        probe = PROBES.search(urlsplit(message.location.get("url", "")).path)
        if message.type == "error" and not probe:
            self.complaints.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def leave(self) -> None:
        """Close the session: nothing was asked of other hosts, refused, or complained about."""
        self.page.context.close()
        refused = [url for url in self.refused if not PROBES.search(urlsplit(url).path)]
        assert not self.complaints, self.complaints
        assert not self.foreign(), self.foreign()
        assert not refused, refused

    def open(self, path: str = "", **query: str) -> None:
        """Follow a link and wait until its page is drawn."""
        self.page.goto(f"{self.url}/{path}" + (f"?{urlencode(query)}" if query else ""))
        self.settle(path)

    def settle(self, path: str) -> None:
        """Wait until the script has run and the page is whole."""
        heading = self.page.locator(".pw-title", has_text=say(PAGES[path]))
        expect(heading.first).to_be_visible()
        expect(self.page.get_by_test_id("stStatusWidget")).to_have_count(0)
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)

    @property
    def query(self) -> dict[str, str]:
        """Parameters in the address bar."""
        return dict(parse_qsl(urlsplit(self.page.url).query))

    @property
    def path(self) -> str:
        """Path in the address bar."""
        return urlsplit(self.page.url).path

    def box(self, label: str) -> Locator:
        """A select box by its label."""
        return self.page.get_by_test_id("stSelectbox").filter(
            has=self.page.get_by_text(label, exact=True)
        )

    def value(self, label: str) -> Locator:
        """What a select box shows: the value of this element."""
        return self.box(label).locator("input")

    def choose(self, label: str, option: str) -> None:
        """Pick an option of a select box; one that scrolls into view closes its list again."""
        self.value(label).scroll_into_view_if_needed()
        self.value(label).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def go_to(self, path: str) -> None:
        """Follow a link of the navigation."""
        title = say(f"page.{path or 'live'}")
        self.page.get_by_test_id("stTopNavLink").filter(has_text=title).click()
        self.settle(path)

    @property
    def fresh(self) -> Locator:
        """The line that says how old the data is, and of which window."""
        return self.page.locator(".pw-fresh").last

    def table(self, heading: str) -> Locator:
        """The table with a column of this heading."""
        return self.page.locator(".pw-table", has=self.page.locator("th", has_text=heading)).first

    def foreign(self) -> set[str]:
        """Hosts other than the app's own that anything was asked of."""
        own = urlsplit(self.url).netloc
        schemes = {"http", "https", "ws", "wss"}
        return {
            parts.netloc
            for parts in map(urlsplit, self.requested)
            if parts.scheme in schemes and parts.netloc != own
        }
