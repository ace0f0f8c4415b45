"""What a page shows, read back from AppTest: tiles, tables, notices, charts."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import plotly.graph_objects as go
import plotly.io
from streamlit.testing.v1 import AppTest

TAG = re.compile(r"<[^>]+>")
TILE = re.compile(r'<div class="pw-tile"(.*?)(?=<div class="pw-tile"|$)', re.DOTALL)


@dataclass(frozen=True)
class ShownTile:
    """One tile: its large text, everything written in it, and whether it is marked."""

    value: str
    words: str
    hatched: bool
    bad: bool


def bodies(app: AppTest) -> list[str]:
    """All HTML of a page but its style sheet."""
    return [html.value for html in app.html if not html.value.startswith("<style>")]


def plain(html: str) -> str:
    """HTML as the text one reads."""
    return " ".join(unescape(TAG.sub(" ", html)).replace("\xa0", " ").split())


def text(app: AppTest) -> str:
    """All text of a page outside charts and widgets."""
    notices = [e.value for kind in (app.error, app.warning, app.info, app.caption) for e in kind]
    return "\n".join([*(plain(body) for body in bodies(app)), *notices])


def titles(app: AppTest) -> list[str]:
    """Headings in order."""
    return [plain(b) for b in bodies(app) if b.startswith('<div class="pw-title">')]


def tiles(app: AppTest) -> dict[str, ShownTile]:
    """Tiles by name."""
    found = {}
    for body in bodies(app):
        for tile in TILE.findall(body):
            name, value = (re.search(rf'<div class="{c}\b[^>]*>(.*?)</div>', tile) for c in "nv")
            assert name is not None, tile
            assert value is not None, tile
            found[plain(name[1])] = ShownTile(
                plain(value[1]),
                plain(tile.split(">", 1)[1]),
                hatched="pw-hatch" in value[0],
                bad=" bad" in value[0],
            )
    return found


def tables(app: AppTest) -> list[list[dict[str, str]]]:
    """Tables as rows by heading."""
    found = []
    for body in bodies(app):
        if 'class="pw-table"' in body:
            lines = [
                [plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
                for line in re.findall(r"<tr>(.*?)</tr>", body)
            ]
            found.append([dict(zip(lines[0], line, strict=True)) for line in lines[1:]])
    return found


def table(app: AppTest, *headings: str) -> list[dict[str, str]]:
    """The rows of the first table with these headings; none when there is no such table."""
    return next((t for t in tables(app) if set(headings) <= set(t[0])), [])


def charts(app: AppTest) -> list[go.Figure]:
    """Figures of a page."""
    return [plotly.io.from_json(c.proto.spec) for c in app.get("plotly_chart")]


def marks_on(figure: go.Figure) -> set[str]:
    """Moments at which a chart draws a change, over all of its rows."""
    return {str(shape.x0) for shape in figure.layout.shapes if shape.x0 == shape.x1}


def chart_specs(app: AppTest) -> list[Any]:
    """Figures of a page as they are sent."""
    return [chart.proto.spec for chart in app.get("plotly_chart")]


def ran(app: AppTest) -> AppTest:
    """The page, once it is sure that no traceback is on it."""
    assert not app.exception, [e.message for e in app.exception]
    return app
