"""Tables: cells that are never blank, and a CSV whose cells cannot run."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import streamlit as st

from core import format as fmt
from core.domain.reading import Reading, Reason
from core.messages import say
from core.ui.style import escaped
from core.views.hit_ratio import GroupRow
from core.views.live import EngineRow

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Link:
    """Text that leads somewhere; only http and https are ever made a link."""

    text: str
    url: str | None


@dataclass(frozen=True)
class PageLink:
    """Text that leads to a page of this app, with the URL parameters of that page."""

    text: str
    page: str
    query: Mapping[str, str]

    @property
    def url(self) -> str:
        """Address below the app's own."""
        return f"{quote(self.page, safe='')}?{urlencode(self.query)}"


@dataclass(frozen=True)
class Ranged:
    """A value with its interval below it, so that neither makes a column wide."""

    text: str
    interval: str


Cell = str | int | Reading | Link | PageLink | Ranged | None


@dataclass(frozen=True)
class Column:
    """Heading, and whether its cells are numbers or long text."""

    title: str
    numeric: bool = False
    wide: bool = False


def table(
    key: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    empty: str = "",
    whole: bool = False,
) -> None:
    """Draw a table with its CSV button; None is written as unknown.

    A long one scrolls, unless its rows are few enough to be shown as a `whole`.
    """
    if not rows:
        st.caption(empty or say("table.none"))
        return
    head = "".join(f'<th class="{_kind(c)}">{escaped(c.title)}</th>' for c in columns)
    body = "".join(
        "<tr>" + "".join(_cell(c, cell) for c, cell in zip(columns, row, strict=True)) + "</tr>"
        for row in rows
    )
    kind = "pw-scroll whole" if whole else "pw-scroll"
    st.html(
        f'<div class="{kind}"><table class="pw-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    st.download_button(
        say("table.csv"),
        lambda: to_csv(columns, rows),
        file_name=f"prefixwatch-{key}.csv",
        mime="text/csv",
        key=f"csv_{key}",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def _kind(column: Column) -> str:
    return "num" if column.numeric else "wide" if column.wide else "nowrap"


def _cell(column: Column, cell: Cell) -> str:
    kind, text = _kind(column), escaped(words(cell))
    if cell is None or (isinstance(cell, Reading) and not cell.known):
        bad = isinstance(cell, Reading) and cell.reason is Reason.CONTRACT_ERROR
        text = f'<span class="pw-hatch{" bad" if bad else ""}">&nbsp;{text}&nbsp;</span>'
    elif isinstance(cell, Link) and cell.url and cell.url.startswith(("https://", "http://")):
        text = f'<a href="{escaped(cell.url)}" target="_blank" rel="noopener noreferrer">{text}</a>'
    elif isinstance(cell, Ranged):
        text = f"{escaped(cell.text)}<small>{escaped(cell.interval)}</small>"
    elif isinstance(cell, PageLink):
        text = f'<a href="{escaped(cell.url)}" target="_self">{text}</a>'
    return f'<td class="{kind}">{text}</td>'


def words(cell: Cell) -> str:
    """A cell as text; the heading carries a written-out unit."""
    if cell is None:
        return say("cell.unknown")
    if isinstance(cell, Link | PageLink):
        return cell.text
    if isinstance(cell, Ranged):
        return f"{cell.text} ({cell.interval})"
    if isinstance(cell, Reading):
        return fmt.split_unit(cell, fmt.reading(cell))[0]
    return str(cell)


def ranged(value: float, interval: tuple[float, float] | None, *, ratio: bool) -> Cell:
    """An estimate as a cell, in % or as a plain score, its interval below it if there is one."""
    text = fmt.estimate(value, None, ratio=ratio)
    return text if interval is None else Ranged(text, fmt.limits(interval, ratio=ratio))


def share_cell(part: int, whole: int, *, requests: int) -> Cell:
    """A share as a cell; of nothing there is none, whether or not there were requests."""
    if whole:
        return fmt.part_of(part, whole)
    return Reading("pass_rate", None, Reason.NOT_MEASURED if requests else Reason.NO_TRAFFIC)


def to_csv(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    """The table as CSV: exact numbers, words for unknown, no cell a formula.

    >>> print(to_csv([Column("a")], [["=1+1"]]).strip())
    a
    '=1+1
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_harmless(column.title) for column in columns])
    for row in rows:
        writer.writerow([_csv_cell(cell) for cell in row])
    return out.getvalue()


def _csv_cell(cell: Cell) -> str | int | float:
    if isinstance(cell, Reading) and cell.value is not None and cell.low is None:
        return cell.value
    if isinstance(cell, int):
        return cell
    link = f" {cell.url}" if isinstance(cell, Link) and cell.url else ""
    return _harmless(words(cell) + link)


def _harmless(text: str) -> str:
    return "'" + text if text.startswith(FORMULA_STARTS) else text


def engines_table(rows: Sequence[EngineRow]) -> None:
    """Engines of the Live page, worst first."""
    columns = [
        Column(say("col.engine")),
        Column(say("col.hit_ratio"), numeric=True),
        Column(say("col.kv_max"), numeric=True),
        Column(say("col.waiting"), numeric=True),
        Column(say("col.preemptions"), numeric=True),
        Column(say("col.age"), numeric=True),
    ]
    table(
        "engines",
        columns,
        [
            [
                say("cell.restarted", name=r.name) if r.restarted else r.name,
                r.hit_ratio,
                r.kv_usage_max,
                r.waiting,
                r.preemptions,
                fmt.age(r.age_s)
                if r.up is not False
                else say("cell.failing", age=fmt.age(r.age_s)),
            ]
            for r in rows
        ],
    )


def groups_table(key: str, rows: Sequence[GroupRow]) -> None:
    """Models or engines of the Hit ratio page; an engine's row names its model."""
    columns = [
        Column(say("col.name")),
        Column(say("col.hit_ratio"), numeric=True),
        Column(say("col.hits"), numeric=True),
        Column(say("col.queries"), numeric=True),
        Column(say("col.prompt"), numeric=True),
        Column(say("col.inflation"), numeric=True),
        Column(say("col.cached_prompt"), numeric=True),
        Column(say("col.external"), numeric=True),
        Column(say("col.restarts"), numeric=True),
        Column(say("col.gateway_share"), numeric=True),
        Column(say("col.gateway_input"), numeric=True),
    ]
    cells: list[list[Cell]] = [
        [
            r.name,
            r.hit_ratio,
            r.hits_tokens,
            r.queries_tokens,
            r.prompt_tokens,
            r.lookup_inflation,
            r.cached_prompt_ratio,
            r.external_hit_ratio,
            r.restarted,
            r.gateway_share,
            r.gateway_input_tokens,
        ]
        for r in rows
    ]
    if any(r.model not in (None, r.name) for r in rows):
        columns.append(Column(say("col.model")))
        cells = [[*row, r.model] for row, r in zip(cells, rows, strict=True)]
    table(key, columns, cells)


def ttft_note(left_out: int) -> None:
    """What the bars mean, and what is not in them."""
    st.caption(say("bars.unequal"))
    if left_out:
        st.caption(say("ttft.left_out", n=left_out))
