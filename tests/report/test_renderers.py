"""Files of a document: the same words in each, nothing that runs, nothing from elsewhere."""

import csv
import io
import re
import zipfile
from dataclasses import replace

import pytest

from core.report.csv_files import csv_archive, table_csv
from core.report.document import Cell, Column, Dot, Heading, Intervals, Lines, sections, table
from core.report.html import POLICY, html
from core.report.make import Format, written
from core.report.markdown import markdown, plain
from core.report.svg import intervals_svg
from tests.report.written import FORMULA, HOSTILE, Seen, every_block

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer"),
    *("h1", "h2", "h3", "p", "ul", "li", "div", "span", "table", "caption", "thead", "tbody"),
    *("tr", "th", "td", "dl", "dt", "dd", "figure", "figcaption"),
    *("svg", "g", "line", "circle", "rect", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "scope", "role"),
    *("viewbox", "aria-label", "text-anchor", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"),
    *("width", "height"),
}
"""No handler, no style, no reference: neither href nor src."""


@pytest.mark.parametrize("text", [HOSTILE, FORMULA])
def test_html_holds_only_our_own_tags(text: str) -> None:
    """Whatever words hold, no script, no handler and no reference comes out of them."""
    written_html = html(every_block(text))
    seen = Seen(written_html)
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES
    assert seen.text.count(text) >= 12
    assert POLICY in written_html
    assert "url(" not in written_html
    assert "@import" not in written_html


def test_markdown_takes_no_markup() -> None:
    """A table keeps its columns, and no tag or link comes out of a word."""
    lines = markdown(every_block()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert not [line for line in lines if re.search(r"(?<!\\)[<>]|(?<!\\)\]\(", line)]


def test_markdown_marks_what_would_begin_a_list() -> None:
    """A line that begins like a list, a heading or a rule is a sentence; a number is a number."""
    assert plain("- one") == "\\- one"
    assert plain("2) two") == "2\\) two"
    assert plain("# three") == "\\# three"
    assert plain("---") == "\\---"
    assert plain("62.0 %") == "62.0 %"
    assert plain("+1.2 pp") == "+1.2 pp"


def test_csv_has_exact_numbers_beside_words_and_no_formula() -> None:
    """A file a table, each cell as on the page, exact numbers beside, and nothing that runs."""
    document = every_block(FORMULA)
    with zipfile.ZipFile(io.BytesIO(csv_archive(document))) as archive:
        assert sorted(archive.namelist()) == ["about.csv", "none.csv", "one.csv"]
        rows = list(csv.reader(io.StringIO(archive.read("one.csv").decode())))
    safe = "'" + FORMULA
    assert rows == [
        [safe, safe, "b", "c", "d", "d, exact"],
        [safe, safe, safe, safe, "0.5", "0.5"],
    ]


def test_an_unknown_number_stays_empty_in_csv() -> None:
    """A column of exact numbers has none where nobody knows one, and no 0."""
    one = table("t", "", [Column("n")], [[Cell("7", exact=7)], ["unknown"]], empty="")
    assert list(csv.reader(io.StringIO(table_csv(one))))[1:] == [["7", "7"], ["unknown", ""]]


@pytest.mark.parametrize("form", Format)
def test_a_file_differs_by_its_time_stamp_alone(form: Format) -> None:
    """The same document gives the same bytes, and another time changes the stamp only."""
    document = every_block()
    made = written(document, form)
    assert written(document, form) == made
    later = written(replace(document, made="made later"), form)
    assert later.name == made.name
    if form is not Format.CSV:
        assert later.data.replace(b"made later", b"made then") == made.data


def test_a_chart_draws_intervals_and_hatches_the_unknown() -> None:
    """A dot lies inside its interval, what is not known has a bar and its reason, not a dot."""
    dots = (Dot("a", 0.5, 0.4, 0.9, "note"), Dot("b", None, None, None, "why not"))
    svg = intervals_svg(Intervals("k", "t", "x", dots, (0.0, 1.0)))
    (centre,) = (float(x) for x in re.findall(r'<circle class="dot" cx="([\d.]+)"', svg))
    left, right = (
        float(x)
        for x in re.findall(r'<line class="bar" x1="([\d.]+)" y1="41.0" x2="([\d.]+)"', svg)[0]
    )
    assert left < centre < right
    assert svg.count("<circle") == svg.count('<rect class="none"') == 1
    assert ">why not</text>" in svg


def test_a_chart_of_nothing_is_still_a_chart() -> None:
    """Without a dot, or with one point alone, an axis is drawn and nothing divides by 0."""
    assert "<svg" in intervals_svg(Intervals("k", "t", "x", (), None))
    one = (Dot("a", 0.0, None, None, "note"),)
    assert "<circle" in intervals_svg(Intervals("k", "t", "x", one, (-1.0, 1.0), signed=True))


def test_sections_begin_with_their_heading() -> None:
    """What stands above the first heading is a section of its own; parts stay inside theirs."""
    above, first, part = Lines(("a",)), Heading("one"), Heading("part", level=3)
    assert sections([above, first, part]) == [[above], [first, part]]


def test_a_row_has_a_cell_for_each_column() -> None:
    """A table that would shift its cells is refused."""
    with pytest.raises(ValueError, match="another number of cells"):
        table("t", "", [Column("a")], [["1", "2"]], empty="")
