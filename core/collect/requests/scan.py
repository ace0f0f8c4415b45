"""Scans: which stretches of time are still to be read, page by page.

For each kind of record (observations, scores) time is read three ways. The *head*,
the last minutes, at every step. A *sweep* over everything that is not yet settled,
every few minutes: rows that arrive late, and rows that changed. The *backfill* of
history, newest first. A scan is one stretch with the cursor of its next page; the
state holds the open ones, so a killed collector goes on at the last whole page.
Reading a stretch twice changes nothing, since rows are keyed.
"""

from typing import Literal

import msgspec

Part = Literal["head", "sweep", "backfill"]
PRIORITY: dict[Part, int] = {"head": 0, "sweep": 1, "backfill": 2}
HEAD_S = 120.0
AHEAD_S = 300.0
"""Rows may carry the clock of a sender that runs ahead."""
SWEEPS = 8
"""Sweeps in the time that rows may come late."""
FIRST_SLICE_S = 3600.0
LONGEST_SLICE_S = 7 * 86_400.0
SHORTEST_SLICE_S = 1.0
PAGES_A_SLICE = 20
FEWEST_ROWS = 10
MOST_OPEN = 200
"""Scans begun; a server that needs more is broken."""

Stretch = tuple[float, float]


class Scan(msgspec.Struct):
    """One stretch being read: [start, end) in epoch seconds, and where its next page is."""

    part: Part
    start: float
    end: float
    began_at: float
    cursor: str | None = None
    limit: int | None = None
    rows: int = 0
    pages: int = 0
    mark: str | None = None
    """A cursor met before: to meet it again is to walk in a circle."""

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.end - self.start

    def circles(self, after: str | None) -> bool:
        """Note the next cursor; True when it leads back (Brent's way of finding a cycle)."""
        self.pages += 1
        if after is not None and after == self.mark:
            return True
        if self.pages.bit_count() == 1:
            self.mark = after
        return False

    def restart(self, limit: int | None = None) -> None:
        """Begin again with the first page."""
        self.cursor, self.limit, self.pages, self.mark, self.rows = None, limit, 0, None, 0


class KindState(msgspec.Struct):
    """Memory for one kind of record.

    Everything before `settled` and outside `backfill` and `open` has been read for
    the last time. `sweep` holds what the running sweep, asked for at `swept_at`, has
    not begun.
    """

    settled: float
    backfill: list[Stretch]
    sweep: list[Stretch] = []
    swept_at: float | None = None
    last_sweep_at: float | None = None
    last_head_at: float | None = None
    open: list[Scan] = []
    rows_per_s: float | None = None
    feed: str | None = None

    def speak(self, feed: str) -> None:
        """Begin open scans again when they are read from another list: cursors are its own."""
        if self.feed is not None and self.feed != feed:
            for scan in self.open:
                scan.restart()
        self.feed = feed

    def plan(self, now: float, *, late_s: float, head_every_s: float, page: int, most: int) -> None:
        """Open the scans to read next, at most so many for sweep and backfill together."""
        self._plan_head(now, head_every_s)
        self._plan_sweep(now, late_s)
        while sum(scan.part != "head" for scan in self.open) < most:
            part: Part = "sweep" if self.sweep else "backfill"
            stretches = self.sweep if part == "sweep" else self.backfill
            if not stretches:
                return
            start, end = stretches.pop()
            begin = max(start, end - self._slice_s(page))
            if begin > start:
                stretches.append((start, begin))
            self.open.append(Scan(part, begin, end, began_at=now))

    def _plan_head(self, now: float, every_s: float) -> None:
        due = self.last_head_at is None or now - self.last_head_at >= every_s
        if due and not any(scan.part == "head" for scan in self.open):
            self.open.append(Scan("head", now - HEAD_S, now + AHEAD_S, began_at=now))
            self.last_head_at = now

    def _plan_sweep(self, now: float, late_s: float) -> None:
        running = self.sweep or any(scan.part == "sweep" for scan in self.open)
        if running:
            return
        if self.swept_at is not None:
            self.settled = max(self.settled, self.swept_at - late_s)
            self.swept_at = None
        if self.last_sweep_at is None or now - self.last_sweep_at >= late_s / SWEEPS:
            self.sweep = [(self.settled, now + AHEAD_S)]
            self.swept_at = self.last_sweep_at = now

    def next_wave(self, most: int) -> list[Scan]:
        """Scans whose next page is asked for together."""
        return sorted(self.open, key=lambda scan: PRIORITY[scan.part])[:most]

    def advance(self, scan: Scan, *, after: str | None, rows: int) -> bool:
        """Note that a page was read; True when it was the scan's last."""
        scan.rows += rows
        scan.cursor = after
        if after is not None:
            return False
        self.open.remove(scan)
        if scan.part != "head":
            self.rows_per_s = scan.rows / max(scan.length_s, SHORTEST_SLICE_S)
        return True

    def split(self, scan: Scan) -> bool:
        """Make a scan that was too heavy lighter; False when it is as light as can be.

        Its halves stand in its place: where even the lightest fails, few requests tell so.
        """
        if scan.length_s > SHORTEST_SLICE_S and len(self.open) < MOST_OPEN:
            middle = (scan.start + scan.end) / 2
            place = self.open.index(scan)
            self.open[place : place + 1] = [
                Scan(scan.part, middle, scan.end, scan.began_at, limit=scan.limit),
                Scan(scan.part, scan.start, middle, scan.began_at, limit=scan.limit),
            ]
            return True
        limit = scan.limit if scan.limit is not None else FEWEST_ROWS * 16
        if limit <= FEWEST_ROWS:
            return False
        scan.restart(limit // 2)
        return True

    def _slice_s(self, page: int) -> float:
        if self.rows_per_s is None or self.rows_per_s <= 0:
            return FIRST_SLICE_S if self.rows_per_s is None else LONGEST_SLICE_S
        wanted = PAGES_A_SLICE * page / self.rows_per_s
        return min(max(wanted, 60.0), LONGEST_SLICE_S)

    @property
    def left_s(self) -> float:
        """Seconds of history not yet read."""
        waiting = sum(end - start for start, end in self.backfill)
        return waiting + sum(s.length_s for s in self.open if s.part == "backfill")

    @property
    def idle(self) -> bool:
        """Whether there is nothing to read at once."""
        return not (self.open or self.sweep or self.backfill)


class RequestState(msgspec.Struct):
    """Memory of the Langfuse collector."""

    backfill_from: float
    observations: KindState
    scores: KindState
    rows_read: int = 0

    @property
    def kinds(self) -> dict[str, KindState]:
        """State by kind of record."""
        return {"observations": self.observations, "scores": self.scores}


def fresh(start: float, now: float, *, late_s: float) -> RequestState:
    """A state that has read nothing: history from `start`, then everything that comes."""
    edge = max(start, now - late_s)
    history: list[Stretch] = [(start, edge)] if edge > start else []
    return RequestState(
        backfill_from=start,
        observations=KindState(edge, list(history)),
        scores=KindState(edge, list(history)),
    )
