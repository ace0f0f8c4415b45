"""The Langfuse collector: wave after wave of pages from the source into the inbox."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from core.cache.inbox import Inbox, rows
from core.cache.orders import Orders
from core.collect.notes import note, notes_table, utc
from core.collect.requests.answers import answer, asked, failed
from core.collect.requests.batch import SOURCE, Batch, Readers
from core.collect.requests.generation import Generation, recognise
from core.collect.requests.scan import KindState, RequestState, Scan, fresh
from core.collect.state import StateFile
from core.config import Settings
from core.errors import (
    SourceContract,
    SourceError,
    SourceLimited,
    SourceMissing,
    SourceStatus,
    SourceTimeout,
)
from core.sources.langfuse import TOO_LARGE, LangfuseSource, Page

log = logging.getLogger(__name__)

TOO_HEAVY = (422, TOO_LARGE)
PACE_WAVES = 20
Fetched = tuple[str, Scan, Page | SourceError]


class LangfuseCollector:
    """Keeps one Langfuse project flowing into the inbox.

    `step` reads one wave: a page of each of several scans, together. Every outcome,
    also a failure, ends as rows in a batch, so that pages can show it.
    """

    def __init__(
        self,
        settings: Settings,
        source: LangfuseSource,
        inbox: Inbox,
        state_file: StateFile[RequestState],
        *,
        orders: Orders | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.source = source
        self.inbox = inbox
        self.state_file = state_file
        self.readers = Readers(settings)
        self._orders = orders
        self._clock = clock
        self._generation: Generation | None = None
        self._not_before = 0.0
        self._pace: list[tuple[float, float]] = []
        self._state: RequestState | None = None

    def step(self) -> bool:
        """Read one wave; True when there is more to read at once."""
        now = self._clock()
        if now < self._not_before:
            return False
        try:
            self.answer_orders()
            return self._wave(self._spoken(), now)
        except SourceError as error:
            self._heed(error)
            self._report_failure(error)
            return False

    def collect_range(self, start: float, end: float) -> None:
        """Read one closed period, without touching what `step` remembers.

        Raises
        ------
        SourceError
            At the first page that cannot be read; earlier ones stay.
        """
        generation, now = self._spoken(), self._clock()
        state = RequestState(start, KindState(end, [(start, end)]), KindState(end, [(start, end)]))
        while not all(kind.idle for kind in state.kinds.values()):
            for kind in state.kinds.values():
                if not kind.open and kind.backfill:
                    kind.open = [Scan("backfill", *kind.backfill.pop(), began_at=now)]
            fetched = self._fetch(generation, state)
            failure = self._take(generation, state, fetched, "read_once")
            if failure is not None:
                raise failure

    def urgent(self) -> bool:
        """Whether somebody waits for an order that may be fetched now."""
        return self._orders is not None and not self.wait_s() and bool(self._orders.waiting())

    def wait_s(self) -> float:
        """Seconds until the server may be asked again, as it said."""
        return max(0.0, self._not_before - self._clock())

    def answer_orders(self) -> None:
        """Fetch what pages asked for; a source that fails answers too.

        Raises
        ------
        SourceLimited
            The server wants to be left alone; orders not yet begun wait.
        """
        if self._orders is None:
            return
        for order in self._orders.waiting():
            batch, now, limit = Batch(self.readers), self._clock(), None
            told = asked(order, now=now, since=self._loaded().backfill_from)
            try:
                told |= answer(order, self._spoken(), batch, now=now)
            except SourceError as error:
                self._heed(error)
                told |= failed(error)
                limit = error if isinstance(error, SourceLimited) else None
            tables = batch.tables(utc(self._clock()))
            self.inbox.write(SOURCE, tables | {"orders": rows("orders", [told])})
            self._orders.answered(order)
            if limit is not None:
                raise limit

    def _spoken(self) -> Generation:
        if self._generation is None:
            self._generation = recognise(self.source, self.readers.exporters.expand)
        return self._generation

    def _loaded(self) -> RequestState:
        if self._state is None:
            now, late_s = self._clock(), self.settings.langfuse_late_s
            self._state = self.state_file.load() or fresh(
                now - self.settings.backfill.total_seconds(), now, late_s=late_s
            )
        return self._state

    def _wave(self, generation: Generation, now: float) -> bool:
        state = self._loaded()
        for name, kind in state.kinds.items():
            kind.speak(generation.feeds[name].key)
            kind.plan(
                now,
                late_s=self.settings.langfuse_late_s,
                head_every_s=self.settings.collect_every_s,
                page=generation.feeds[name].limit,
                most=self.settings.langfuse_parallel,
            )
        fetched = self._fetch(generation, state)
        failure = self._take(generation, state, fetched, None)
        self.state_file.save(state)
        if failure is not None:
            raise failure
        return not all(kind.idle for kind in state.kinds.values())

    def _fetch(self, generation: Generation, state: RequestState) -> list[Fetched]:
        """One page of each scan of the wave, in parallel."""
        most = self.settings.langfuse_parallel
        wave = [(name, s) for name, kind in state.kinds.items() for s in kind.next_wave(most)]

        def page(name: str, scan: Scan) -> Page | SourceError:
            try:
                return generation.page(name, scan)
            except SourceError as error:
                return error

        with ThreadPoolExecutor(max_workers=most) as pool:
            pages = list(pool.map(lambda one: page(*one), wave))
        return [(name, scan, found) for (name, scan), found in zip(wave, pages, strict=True)]

    def _take(
        self, generation: Generation, state: RequestState, fetched: list[Fetched], way: str | None
    ) -> SourceError | None:
        """Turn what was fetched into one batch; returns a failure that must be told."""
        batch, failure = Batch(self.readers), None
        for name, scan, found in fetched:
            kind = state.kinds[name]
            try:
                page = self._read(generation, batch, name, scan, found)
            except SourceError as error:
                failure = self._failed(kind, scan, error) or failure
                continue
            generation.deprecation = page.deprecation or generation.deprecation
            whole = kind.advance(scan, after=page.after, rows=len(page.rows))
            state.rows_read += len(page.rows)
            if whole and name == "scores" and scan.part != "head":
                batch.end_scan(scan)
        now = self._clock()
        tables = batch.tables(utc(now))
        if failure is None:
            tables["sources"] = rows("sources", [self._status(generation, state, now, way)])
        if generation.deprecation is not None:
            text = generation.deprecation
            noted = note(SOURCE, "warning", "This API will end", text, now // 86_400 * 86_400)
            tables["source_log"] = notes_table([noted])
        self.inbox.write(SOURCE, tables)
        return failure

    def _read(
        self, generation: Generation, batch: Batch, name: str, scan: Scan, found: Page | SourceError
    ) -> Page:
        """Rows of one page into the batch; what went wrong with it is raised."""
        if isinstance(found, SourceError):
            raise found
        if name == "observations":
            batch.add_observations(found.rows, generation.sessions_of(found.rows, scan))
        else:
            batch.add_scores(found.rows, scan.began_at)
        if scan.circles(found.after):
            raise SourceContract(f"{generation.feeds[name].path}: the cursor repeats")
        return found

    def _heed(self, error: SourceError) -> None:
        """Wait as long as a server says; ask anew what one offers that has changed."""
        if isinstance(error, SourceLimited):
            self._not_before = max(self._not_before, self._clock() + error.retry_after_s)
        if isinstance(error, SourceMissing):
            self._generation = None

    def _failed(self, kind: KindState, scan: Scan, error: SourceError) -> SourceError | None:
        """Make a heavy scan lighter; anything else is told."""
        status = error.status if isinstance(error, SourceStatus) else None
        repeats = isinstance(error, SourceContract) and "cursor repeats" in error.detail
        slow = isinstance(error, SourceTimeout)
        if (status in TOO_HEAVY or repeats or (slow and self._alive())) and kind.split(scan):
            log.warning("%s; trying a smaller slice than %.0f s", error.detail, scan.length_s)
            return None
        self._heed(error)
        return error

    def _alive(self) -> bool:
        """Whether the server answers at all: a dead one is not helped by smaller slices."""
        try:
            self.source.version()
        except SourceError:
            return False
        return True

    def _status(
        self, generation: Generation, state: RequestState, now: float, way: str | None
    ) -> dict[str, object]:
        left = sum(kind.left_s for kind in state.kinds.values())
        span = (now - state.backfill_from) * len(state.kinds)
        self._pace = [*self._pace[-PACE_WAVES:], (now, left)]
        return {
            "source": SOURCE,
            "state": way or ("backfilling" if left > 0 else "following"),
            "checked_at": utc(now),
            "read_to": utc(now) if way is None else None,
            "backfill_from": utc(state.backfill_from),
            "progress": 1 - left / span if span > 0 else None,
            "left_s": self._left_s(left),
            "clock_skew_s": self.source.skew_s,
            "api": generation.name,
            "rows_read": state.rows_read,
        }

    def _left_s(self, left: float) -> float | None:
        """Seconds until the history is read, at the pace of the last waves."""
        (then, was), (now, at) = self._pace[0], self._pace[-1]
        done = was - at
        return left * (now - then) / done if done > 0 and left > 0 else None

    def _report_failure(self, error: SourceError) -> None:
        now = self._clock()
        log.warning("%s", error)
        limited = isinstance(error, SourceLimited)
        status = {
            "source": SOURCE,
            "state": error.kind,
            "checked_at": utc(now),
            "backfill_from": utc(self._loaded().backfill_from),
            "title": error.title,
            "detail": error.detail,
            "next_step": error.next_step,
            "clock_skew_s": self.source.skew_s,
            "api": self._generation.name if self._generation is not None else None,
            "rows_read": self._loaded().rows_read,
            "retry_at": utc(self._not_before) if limited else None,
        }
        noted = note(
            SOURCE,
            "warning" if limited else "error",
            error.title,
            error.detail,
            now // 60 * 60,
            error.next_step,
        )
        self.inbox.write(
            SOURCE, {"sources": rows("sources", [status]), "source_log": notes_table([noted])}
        )
