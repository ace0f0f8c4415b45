"""Text from outside stays text: in HTML, in charts, in notices and in CSV files."""

import csv
import io
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from core.domain.reading import Reading, Reason
from core.messages import say
from core.ui.tables import Column, Link, to_csv
from tests.pages.conftest import Open
from tests.pages.homes import T0, WRITTEN, WrittenEngine, at, source_row, together
from tests.pages.shown import bodies, chart_specs, tables

PAGES = ("live", "hit_ratio", "cached_prefill", "kv_residency", "preemption", "data_health")
HOSTILE = '<script>alert(1)</script>"}'
TAGS = {"div", "small", "table", "thead", "tbody", "tr", "th", "td", "span", "a"}
Put = Callable[..., None]


class Tags(HTMLParser):
    """Tags and attributes as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture
def hostile(put_real: Put) -> None:
    """A cache in which every text from outside is hostile."""
    broken = {"prefix_cache_queries": 10.0, "prefix_cache_hits": 20.0}
    inflated = {"prefix_cache_queries": 90.0, "prefix_cache_hits": 20.0, "prompt_tokens": 10.0}
    labels = {"model": HOSTILE, "namespace": HOSTILE, "cluster": HOSTILE}
    tables = together(
        WrittenEngine(HOSTILE, per_minute=broken, **labels),
        WrittenEngine(HOSTILE + "2", per_minute=inflated, **labels),
    )
    unseen = {
        s["series_id"] for s in WrittenEngine(HOSTILE, per_minute=broken, **labels).tables["series"]
    }
    tables["counter_cells"] = [
        cell
        for cell in tables["counter_cells"]
        if cell["series_id"] not in unseen or cell["minute"] >= at(T0 + 240)
    ]
    for target in tables["targets"]:
        target |= {"job": HOSTILE, "instance": HOSTILE, "duplicate_of": HOSTILE}
    lever = {
        "lever_id": 1,
        "happened_at": at(T0 + 60),
        "kind": "other",
        "origin": "entered",
        "what": HOSTILE,
        "by_whom": HOSTILE,
        "link": f"https://example.org/{HOSTILE}",
        "engine_id": tables["engines"][0]["engine_id"],
    }
    note = {
        "log_id": 1,
        "source": HOSTILE,
        "noted_at": at(T0),
        "level": HOSTILE,
        "title": HOSTILE,
        "detail": HOSTILE,
        "next_step": HOSTILE,
    }
    words = {"title": HOSTILE, "detail": HOSTILE, "next_step": HOSTILE}
    put_real(
        tables
        | source_row("unavailable", checked=T0, **words)
        | {"levers": [lever], "source_log": [note]}
    )


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("page", PAGES)
def test_html_is_escaped_everywhere(open_page: Open, page: str) -> None:
    """Whatever labels, errors and entries hold, only our own tags and attributes are written."""
    html = bodies(open_page(page, WRITTEN))
    assert any("&lt;script&gt;" in body for body in html)
    for body in html:
        seen = Tags(body)
        assert seen.tags <= TAGS
        assert seen.attributes <= {"class", "style", "title", "href", "target", "rel"}


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("page", PAGES)
def test_the_reader_still_sees_the_name(open_page: Open, page: str) -> None:
    """Escaping loses nothing: the name is shown letter by letter."""
    cells = {
        cell for rows in tables(open_page(page, WRITTEN)) for row in rows for cell in row.values()
    }
    assert HOSTILE in cells


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("page", PAGES)
def test_notices_take_no_markdown(open_page: Open, page: str) -> None:
    """Names and errors in notices have every Markdown mark escaped."""
    app = open_page(page, WRITTEN)
    notices = [notice.value for notice in (*app.warning, *app.error) if "script" in notice.value]
    assert notices
    for notice in notices:
        assert not re.search(r"(?<!\\)[<>{}\[\]`*_~$|#]", notice)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("page", ["live", "hit_ratio", "cached_prefill"])
def test_charts_take_no_html(open_page: Open, page: str) -> None:
    """Plotly reads tags in texts; no name reaches it with one."""
    specs = chart_specs(open_page(page, WRITTEN))
    assert any("&lt;script" in spec for spec in specs)
    assert not [spec for spec in specs if "<script" in spec or "\\u003cscript" in spec]


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("page", ["live", "hit_ratio", "cached_prefill"])
def test_promql_quotes_the_label(open_page: Open, page: str) -> None:
    """A label with quotes and braces is one value in the query to paste, with no way out."""
    app = open_page(page, WRITTEN | {"pod": HOSTILE})
    queries = [code.value for code in app.code if code.language == "promql"]
    queries = [query for query in queries if "litellm" not in query]
    assert queries
    quoted = HOSTILE.replace('"', '\\"')
    assert all(f'pod="{quoted}"' in query for query in queries)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x")']
)
def test_no_csv_cell_is_a_formula(text: str) -> None:
    """Headings, texts and links that begin like a formula are quoted as text."""
    written = to_csv([Column(text), Column("link")], [[text, Link(text, "https://x")]])
    heading, row = list(csv.reader(io.StringIO(written, newline="")))
    assert heading[0] == "'" + text
    assert row == ["'" + text, f"'{text} https://x"]


def test_csv_writes_unknown_in_words() -> None:
    """A cell without a number has its reason; a number is exact and stays a number."""
    cells = [
        None,
        Reading("engine_hit_ratio", None, Reason.NO_TRAFFIC),
        Reading("engine_hit_ratio", None, Reason.CONTRACT_ERROR, 3.0, 2.0),
        Reading("engine_hit_ratio", 1 / 3),
        Reading("ttft_p95", 0.8, low=0.75, high=1.0),
        Reading("preemptions", -0.5),
        7,
    ]
    written = to_csv([Column(str(i)) for i in range(len(cells))], [cells])
    (row,) = list(csv.reader(io.StringIO(written)))[1:]
    assert row == [
        say("cell.unknown"),
        say("reason.no_traffic"),
        say("reason.contract_error"),
        str(1 / 3),
        "750 ms – 1 s",
        "-0.5",
        "7",
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_table_has_its_csv(open_demo: Open, page: str) -> None:
    """No table without its button, and each names its own file."""
    app = open_demo(page)
    buttons = [button.key for button in app.download_button]
    assert len(buttons) == len(set(buttons)) == len(tables(app))
    assert all(button.label == say("table.csv") for button in app.download_button)
