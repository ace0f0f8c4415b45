"""Tables as CSV: exact numbers where there are any, no cell a formula, one file a table."""

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence

from core.messages import say
from core.report.document import Cell, Document, Table

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every file in an archive: the same review gives the same bytes."""


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> harmless("=HYPERLINK(1)"), harmless("plain")
    ("'=HYPERLINK(1)", 'plain')
    """
    return "'" + text if text.startswith(FORMULA_STARTS) else text


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """A table as CSV; numbers stay numbers, all text is made harmless."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([harmless(title) for title in titles])
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def table_csv(table: Table) -> str:
    """A table of a document; a column with exact numbers has a second one that holds them."""
    exact = [any(row[n].exact is not None for row in table.rows) for n in range(_width(table))]
    titles = [title for title, _ in table.constant]
    same = [value for _, value in table.constant]
    for column, has_numbers in zip(table.columns, exact, strict=True):
        titles.append(column.title)
        if has_numbers:
            titles.append(say("review.exact", column=column.title))
    return csv_text(titles, ([*same, *_row(row, exact)] for row in table.rows))


def _width(table: Table) -> int:
    return len(table.columns)


def _row(row: Sequence[Cell], exact: Sequence[bool]) -> list[str | float]:
    found: list[str | float] = []
    for cell, has_numbers in zip(row, exact, strict=True):
        found.append(cell.text)
        if has_numbers:
            found.append("" if cell.exact is None else cell.exact)
    return found


def csv_archive(document: Document) -> bytes:
    """Every table as a file of its own, and the foot as `about.csv`, in one ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in document.tables:
            _add(archive, table.key, table_csv(table))
        about = [(document.title, document.subtitle), *document.about, (document.made, "")]
        _add(archive, "about", csv_text([say("col.what"), say("col.detail")], about))
    return out.getvalue()


def _add(archive: zipfile.ZipFile, key: str, text: str) -> None:
    info = zipfile.ZipInfo(f"{key}.csv", EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, text)
