"""A document as blocks of plain words: what the page, HTML, Markdown and CSV all show.

Numbers are words already; `exact` beside them is for CSV alone. No text here is markup.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a cell says: a value, that there is none, or that it breaks a contract."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    BAD = "bad"


@dataclass(frozen=True)
class Cell:
    """Words of one cell, never empty; `exact` is the number behind them, where there is one."""

    text: str
    kind: Kind = Kind.KNOWN
    exact: float | None = None


@dataclass(frozen=True)
class Column:
    """Heading, and whether its cells are numbers or long text."""

    title: str
    numeric: bool = False
    wide: bool = False


class Tone(StrEnum):
    """How lines are meant."""

    PLAIN = "plain"
    WARNING = "warning"
    BAD = "bad"


SECTION = 2
"""Level of the heading that begins a section."""


@dataclass(frozen=True)
class Heading:
    """A title of a section (level 2) or a part of one (3), with its catalogue metrics.

    A page folds away what is `long`.
    """

    text: str
    level: int = SECTION
    metrics: tuple[str, ...] = ()
    long: bool = False


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line."""

    items: tuple[str, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Table:
    """Rows under columns; `key` names its file, `empty` what is said without rows, `title` is
    empty where the heading above says it.

    `constant` holds columns that say the same in every row: the title shows them, and a file
    of the table alone has them.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str
    constant: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.key}: a row has another number of cells than columns")


@dataclass(frozen=True)
class Dot:
    """One line of a chart: an estimate with its interval, or words for why there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    note: str
    faint: bool = False
    """Shown, and too little to decide on."""


@dataclass(frozen=True)
class Mark:
    """A value that intervals are held against, with its name."""

    at: float
    name: str


@dataclass(frozen=True)
class Intervals:
    """Dots with intervals on one axis.

    Parameters
    ----------
    span : (float, float) or None
        What the axis can hold; None: values without known limits.
    signed : bool
        Whether it is one of differences.
    ratio : bool
        Whether values are shares, written in points; otherwise in the unit of a score.
    marks : tuple of Mark
        With two, the first is minus a margin and the second no difference.
    """

    key: str
    title: str
    axis: str
    dots: tuple[Dot, ...]
    span: tuple[float, float] | None
    signed: bool = False
    ratio: bool = True
    marks: tuple[Mark, ...] = ()


Block = Heading | Lines | Table | Intervals


@dataclass(frozen=True)
class Document:
    """One review.

    Parameters
    ----------
    title, subtitle : str
        What it is about, and of which period.
    blocks : tuple of Block
        In reading order.
    about : tuple of (str, str)
        The foot: as-of times, scope, versions.
    made : str
        When it was written: the only part that the same cache and scope do not fix.
    name : str
        Of its files, without an ending.
    """

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    about: tuple[tuple[str, str], ...]
    made: str
    name: str

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in reading order."""
        return tuple(block for block in self.blocks if isinstance(block, Table))


def blocks_of(parts: Iterable[Iterable[Block]]) -> tuple[Block, ...]:
    """Blocks of sections, one after the other."""
    return tuple(block for part in parts for block in part)


def table(
    key: str,
    title: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell | str]],
    *,
    empty: str,
    constant: tuple[tuple[str, str], ...] = (),
) -> Table:
    """A table whose plain words are known cells."""
    return Table(
        key,
        title,
        tuple(columns),
        tuple(tuple(_cells(row)) for row in rows),
        empty,
        constant,
    )


def _cells(row: Sequence[Cell | str]) -> Iterator[Cell]:
    for cell in row:
        yield Cell(cell) if isinstance(cell, str) else cell


def sections(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks by section: each begins with its heading, but for what stands above the first."""
    found: list[list[Block]] = [[]]
    for block in blocks:
        if isinstance(block, Heading) and block.level == SECTION:
            found.append([])
        found[-1].append(block)
    return [one for one in found if one]
