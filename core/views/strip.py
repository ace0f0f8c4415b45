"""Preemption windows of every engine over the page's window, and one row per engine."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from core.cache.store import Row, Store
from core.domain.reading import Reading
from core.domain.windows import Preempt, Unsure, joined
from core.views.fleet import Fleet, query_params
from core.views.pressure import PressureSums
from core.views.window_rule import WindowRule

MOST_CELLS = 144
"""Windows drawn side by side; of a longer stretch several share a cell."""


@dataclass(frozen=True)
class StripCell:
    """One window of one engine, or several side by side, and what it was told from.

    `expected` scrapes are None where the scrape interval is not known.
    """

    start: int
    end: int
    ones: int
    zeros: int
    unknowns: int
    why: Unsure | None
    events: float | None
    samples: int | None
    expected: float | None

    @property
    def state(self) -> Preempt:
        """1 if any of its windows is, else unknown if any is, else 0."""
        counts = {
            Preempt.ONE: self.ones,
            Preempt.ZERO: self.zeros,
            Preempt.UNKNOWN: self.unknowns,
        }
        return joined(state for state, n in counts.items() if n)

    @property
    def windows(self) -> int:
        """How many windows it stands for."""
        return self.ones + self.zeros + self.unknowns

    @property
    def covered(self) -> float | None:
        """Scrapes seen over scrapes expected."""
        if self.samples is None or not self.expected:
            return None
        return self.samples / self.expected


@dataclass(frozen=True)
class Lane:
    """One engine's windows, by time."""

    engine_id: int
    name: str
    cells: tuple[StripCell, ...]


@dataclass(frozen=True)
class EnginePressure:
    """One engine of the table: its windows by state, and what pressed on it."""

    name: str
    ones: int
    zeros: int
    unknowns: int
    events: Reading
    kv_usage_max: Reading
    waiting: Reading


def cell_s(fleet: Fleet, window_s: int) -> int:
    """Width of a cell of the strip: whole windows, at most MOST_CELLS of them.

    The widths above one window are those of the charts where windows fit into them.
    """
    windows = ceil(fleet.window.length_s / window_s)
    return ceil(windows / MOST_CELLS) * window_s


def strip(store: Store, fleet: Fleet, rule: WindowRule) -> tuple[Lane, ...]:
    """A lane for every engine of the fleet."""
    width = cell_s(fleet, rule.rule.window_s)
    params = query_params(fleet.scope, fleet.window) | rule.windows | {"bin_s": width}
    found: dict[int, list[StripCell]] = defaultdict(list)
    for row in store.read("preemption_strip", params):
        found[row.engine_id].append(_cell(row, rule.rule.window_s))
    return tuple(
        Lane(engine.engine_id, engine.name, tuple(found[engine.engine_id]))
        for engine in fleet.engines
    )


def _cell(row: Row, window_s: int) -> StripCell:
    windows = row.ones + row.zeros + row.unknowns
    return StripCell(
        start=row.first_window,
        end=row.first_window + windows * window_s,
        ones=row.ones,
        zeros=row.zeros,
        unknowns=row.unknowns,
        why=None if row.why is None else Unsure(row.why),
        events=row.events,
        samples=row.samples,
        expected=row.expected,
    )


def engine_rows(pressure: PressureSums, lanes: Sequence[Lane]) -> tuple[EnginePressure, ...]:
    """One row per engine, those with most windows of 1 first."""
    rows = []
    for lane in lanes:
        mine = {lane.engine_id}
        rows.append(
            EnginePressure(
                name=lane.name,
                ones=sum(cell.ones for cell in lane.cells),
                zeros=sum(cell.zeros for cell in lane.cells),
                unknowns=sum(cell.unknowns for cell in lane.cells),
                events=pressure.events_reading(mine),
                kv_usage_max=pressure.kv_reading(mine),
                waiting=pressure.waiting_reading(mine),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.ones, -row.unknowns)))
