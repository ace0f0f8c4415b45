"""A document as Markdown; text from outside means nothing but itself."""

import re
from collections.abc import Iterator, Sequence

from core.messages import say
from core.report.document import (
    Block,
    Cell,
    Document,
    Heading,
    Intervals,
    Kind,
    Lines,
    Table,
    Tone,
)

MARKS = "\\`*_{}[]<>#|~$&!"
NUMBERED = re.compile(r"(\d+)[.)](?:\s|$)")
LISTED = re.compile(r"(?:[-+]\s|[-+=]+$)")
"""Beginnings of a line that would make it a list or a heading."""
TONES = {Tone.PLAIN: "", Tone.WARNING: "review.warning", Tone.BAD: "review.error"}


def markdown(document: Document) -> str:
    """The whole document, its foot at the end."""
    lines = [f"# {plain(document.title)}", "", plain(document.subtitle)]
    for block in document.blocks:
        lines += ["", *_block(block)]
    lines += ["", f"## {plain(say('review.about'))}", ""]
    lines += [f"- {plain(name)}: {plain(value)}" for name, value in document.about]
    lines += ["", plain(document.made), ""]
    return "\n".join(lines)


def plain(text: str) -> str:
    r"""Text on one line, in which no character is markup.

    >>> plain("a|b\n<script>"), plain("1. no list")
    ('a\\|b \\<script\\>', '1\\. no list')
    """
    for mark in MARKS:
        text = text.replace(mark, "\\" + mark)
    text = " ".join(text.split())
    if number := NUMBERED.match(text):
        return f"{number[1]}\\{text[len(number[1]) :]}"
    return f"\\{text}" if LISTED.match(text) else text


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {plain(block.text)}"
    elif isinstance(block, Lines):
        mark = TONES[block.tone]
        for line in block.items:
            yield f"- {f'**{say(mark)}** ' if mark else ''}{plain(line)}"
    elif isinstance(block, Table):
        yield from _table(block)
    else:
        yield from _intervals(block)


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        yield plain(table.empty)
        return
    if table.title:
        yield f"{plain(table.title)}:"
        yield ""
    yield _line([column.title for column in table.columns])
    yield "|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(plain(text) for text in texts) + " |"


def _cell(cell: Cell) -> str:
    if cell.kind is Kind.BAD:
        return f"**{plain(cell.text)}**"
    return f"_{plain(cell.text)}_" if cell.kind is Kind.UNKNOWN else plain(cell.text)


def _intervals(block: Intervals) -> Iterator[str]:
    """The chart in words: its dots with their intervals."""
    yield f"{plain(block.title)}:"
    yield ""
    for dot in block.dots:
        yield f"- {plain(dot.name)}: {plain(dot.note)}"
