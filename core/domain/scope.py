"""What a page looks at: labels, a time window, a comparison. To and from the URL."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil, floor

MINUTE_S = 60
HOUR_S = 3600
RANGES: dict[str, int] = {
    "5m": 300,
    "15m": 900,
    "1h": 3600,
    "3h": 3 * 3600,
    "6h": 6 * 3600,
    "12h": 12 * 3600,
    "1d": 86400,
    "3d": 3 * 86400,
    "7d": 7 * 86400,
    "14d": 14 * 86400,
    "30d": 30 * 86400,
}
DEFAULT_RANGE = "1h"
BINS_S = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)
MOST_BINS = 240
LONGEST_S = BINS_S[-1] * (MOST_BINS - 1)
"""Longest period a link may ask for."""
YEARS = range(2000, 2100)


class Compare(StrEnum):
    """The period a window is compared with."""

    NONE = "none"
    PREVIOUS = "previous"
    DAY = "day"
    WEEK = "week"


@dataclass(frozen=True)
class Window:
    """Whole minutes, in long windows whole hours; half open: [start, end), epoch seconds."""

    start: int
    end: int

    @property
    def length_s(self) -> int:
        """Length in seconds."""
        return self.end - self.start

    @property
    def bin_s(self) -> int:
        """Width of a chart bin: the finest that gives at most MOST_BINS bins.

        >>> Window(0, 3600).bin_s, Window(0, 86400).bin_s
        (60, 900)
        """
        return next((b for b in BINS_S if self.length_s <= b * MOST_BINS), BINS_S[-1])

    @property
    def cell_s(self) -> int:
        """Length of the cells a window is summed from: hours where bins are that wide."""
        return HOUR_S if self.bin_s >= HOUR_S else MINUTE_S

    def earlier(self, compare: Compare) -> "Window | None":
        """The period to compare with; None for no comparison.

        >>> Window(600, 900).earlier(Compare.PREVIOUS)
        Window(start=300, end=600)
        """
        shift = {
            Compare.PREVIOUS: self.length_s,
            Compare.DAY: 86400,
            Compare.WEEK: 7 * 86400,
        }.get(compare)
        return None if shift is None else Window(self.start - shift, self.end - shift)


@dataclass(frozen=True)
class Scope:
    """Labels to look at (None: all), the window, and the comparison."""

    cluster: str | None = None
    namespace: str | None = None
    model: str | None = None
    pod: str | None = None
    engine: str | None = None
    arm: str | None = None
    range: str = DEFAULT_RANGE
    start: int | None = None
    end: int | None = None
    compare: Compare = Compare.NONE

    def window(self, now: float) -> Window:
        """The window in whole cells, the one of `now` included.

        >>> Scope(range="5m").window(1000.0)
        Window(start=720, end=1020)
        >>> Scope(range="3d").window(300_000.0)
        Window(start=39600, end=302400)
        """
        if self.start is not None and self.end is not None:
            start, end = self.start, self.end
        else:
            start, end = ceil(now / MINUTE_S) * MINUTE_S - RANGES[self.range], ceil(now)
        window = _snapped(start, end, MINUTE_S)
        return _snapped(start, end, HOUR_S) if window.cell_s == HOUR_S else window

    def labels(self) -> dict[str, str | None]:
        """Query parameters of the label filters."""
        return {name: getattr(self, name) for name in LABELS}


LABELS = ("cluster", "namespace", "model", "pod", "engine")
URL_NAMES = (*LABELS, "arm", "range", "from", "to", "compare")
PAGE_NAMES = (
    *("id", "score", "estimand", "by", "across", "new", "base"),
    *(
        "task",
        "template",
        "input",
        "turn",
        "load",
        "crossed",
        "experiment",
        "cell",
        "job",
        "series",
    ),
    *("period", "against"),
)
"""URL parameters of single pages: no part of the scope, kept when the scope changes."""


def _snapped(start: float, end: float, cell_s: int) -> Window:
    return Window(floor(start / cell_s) * cell_s, ceil(end / cell_s) * cell_s)


def to_query(scope: Scope) -> dict[str, str]:
    """Plain URL parameters; what equals the default is left out.

    >>> to_query(Scope(model="m", range="5m"))
    {'model': 'm', 'range': '5m'}
    >>> to_query(Scope(start=0, end=60))
    {'from': '1970-01-01T00:00Z', 'to': '1970-01-01T00:01Z'}
    """
    named = {name: getattr(scope, name) for name in (*LABELS, "arm")}
    query = {name: value for name, value in named.items() if value is not None}
    if scope.start is not None and scope.end is not None:
        query |= {"from": iso_minute(scope.start), "to": iso_minute(scope.end)}
    elif scope.range != DEFAULT_RANGE:
        query["range"] = scope.range
    if scope.compare is not Compare.NONE:
        query["compare"] = scope.compare.value
    return query


def from_query(query: Mapping[str, str]) -> tuple[Scope, list[str]]:
    """Read URL parameters; what cannot be read is named and left at its default.

    >>> from_query({"range": "2h", "compare": "day"})
    (Scope(cluster=None, ..., compare=<Compare.DAY: 'day'>), ['range'])
    """
    wrong: list[str] = []
    scope = Scope(
        cluster=query.get("cluster") or None,
        namespace=query.get("namespace") or None,
        model=query.get("model") or None,
        pod=query.get("pod") or None,
        engine=query.get("engine") or None,
        arm=query.get("arm") or None,
    )
    if (chosen := query.get("range")) is not None:
        if chosen in RANGES:
            scope = replace(scope, range=chosen)
        else:
            wrong.append("range")
    if "from" in query or "to" in query:
        start, end = _instant(query.get("from")), _instant(query.get("to"))
        if start is not None and end is not None and 0 < end - start <= LONGEST_S:
            period = _snapped(start, end, MINUTE_S)
            scope = replace(scope, start=period.start, end=period.end)
        else:
            wrong.append("from/to")
    if (compare := query.get("compare")) is not None:
        if compare in set(Compare):
            scope = replace(scope, compare=Compare(compare))
        else:
            wrong.append("compare")
    return scope, wrong


def iso_minute(t: float) -> str:
    """Minute in UTC, as it stands in a URL."""
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _instant(text: str | None) -> float | None:
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    if at.year not in YEARS:
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return at.timestamp()
