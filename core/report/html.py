"""A document as one HTML file: no script, nothing from elsewhere, made to be printed."""

from collections.abc import Iterator
from html import escape

from core.messages import say
from core.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Intervals,
    Kind,
    Lines,
    Table,
)
from core.report.style import STYLE
from core.report.svg import intervals_svg

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for this file: nothing but its own style sheet."""


def html(document: Document) -> str:
    """The whole document; every text in it is escaped."""
    body = "\n".join(line for block in document.blocks for line in _block(block))
    about = "\n".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in document.about
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(document.title)}</title>
<style>
{STYLE}
</style>
</head>
<body>
<header>
<h1>{_text(document.title)}</h1>
<p>{_text(document.subtitle)}</p>
</header>
<main>
{body}
</main>
<footer>
<h2>{_text(say("review.about"))}</h2>
<dl>
{about}
</dl>
<p>{_text(document.made)}</p>
</footer>
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(text, quote=True)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"<h{block.level}>{_text(block.text)}</h{block.level}>"
    elif isinstance(block, Lines):
        yield f'<ul class="lines {block.tone}">'
        yield from (f"<li>{_text(line)}</li>" for line in block.items)
        yield "</ul>"
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Intervals):
        yield f"<figure><figcaption>{_text(block.title)}</figcaption>"
        yield intervals_svg(block)
        yield "</figure>"


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        yield f'<p class="empty">{_text(table.empty)}</p>'
        return
    yield f'<div class="scroll"><table id="{_text(table.key)}">'
    if table.title:
        yield f"<caption>{_text(table.title)}</caption>"
    heads = (f'<th scope="col"{_kind(c)}>{_text(c.title)}</th>' for c in table.columns)
    yield f"<thead><tr>{''.join(heads)}</tr></thead><tbody>"
    for row in table.rows:
        cells = (_cell(c, cell) for c, cell in zip(table.columns, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _kind(column: Column) -> str:
    kind = "num" if column.numeric else "wide" if column.wide else ""
    return f' class="{kind}"' if kind else ""


def _cell(column: Column, cell: Cell) -> str:
    text = _text(cell.text)
    if cell.kind is not Kind.KNOWN:
        text = f'<span class="{cell.kind}">{text}</span>'
    return f"<td{_kind(column)}>{text}</td>"
