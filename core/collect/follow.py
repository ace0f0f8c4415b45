"""The Prometheus collector: slice after slice from the source into the inbox."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from core.cache.inbox import Inbox, rows
from core.collect.advance import Advance, Slice, advance
from core.collect.gateway import jobs_of_unmet
from core.collect.notes import note, notes_table, utc
from core.collect.slices import NAMES, named
from core.collect.state import EngineMemory, State, StateFile
from core.config import Settings
from core.domain.records import RawSeries
from core.errors import SourceError, SourceStatus, SourceTimeout
from core.sources.prometheus import PrometheusSource, clock_skew

log = logging.getLogger(__name__)

SOURCE = "prometheus"
MINUTE_S = 60
POINTS_A_SLICE = 300_000
FIRST_SLICE_S = 15 * MINUTE_S
LONGEST_SLICE_S = 86_400
LOOKBACK_S = 5 * MINUTE_S
"""Read before the first slice, so that its first samples have a neighbour; and of `up` before
the first slice that shows a proxy, whose counters are born with its first request."""
DIMENSIONS = ("engines", "targets", "series", "exports", "configurations", "gateway_series")
TOO_HEAVY = 422


@dataclass(frozen=True)
class Clock:
    """Now, by the server's clock, and how far ours is from it."""

    now: float
    skew_s: float


class PrometheusCollector:
    """Keeps one Prometheus flowing into the inbox.

    `step` reads one slice; the command line repeats it. Every outcome, also a failure, ends
    as rows in a batch, so that pages can show it.
    """

    def __init__(
        self,
        settings: Settings,
        source: PrometheusSource,
        inbox: Inbox,
        state_file: StateFile[State],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.source = source
        self.inbox = inbox
        self.state_file = state_file
        self._clock = clock
        self._slice_limit = FIRST_SLICE_S
        self._pace: list[tuple[float, int]] = []

    def step(self) -> bool:
        """Read one slice; True when there is more to catch up with at once."""
        try:
            return self._step()
        except SourceError as error:
            self._report_failure(error)
            return False

    def urgent(self) -> bool:
        """Nobody orders anything from Prometheus."""
        return False

    def wait_s(self) -> float:
        """Seconds until the source may be asked again: Prometheus names no limits."""
        return 0.0

    def collect_range(self, start: float, end: float) -> None:
        """Read one closed period, without touching what `step` remembers.

        Raises
        ------
        SourceError
            At the first slice that cannot be read; earlier ones stay.
        """
        first, last = _minute(start), _minute(end + MINUTE_S - 1)
        state = self._fresh(first)
        while state.settled < last:
            stop = min(state.settled + self._slice_s(state), last)
            read = self._read(state, stop)
            if read is None:
                continue
            done = advance(state, read, settle_to=stop, settings=self.settings)
            self._write(done, self._read_once(first, stop, last))
            state = done.state

    def _step(self) -> bool:
        clock = self._server_clock()
        state = self.state_file.load()
        if state is None:
            state = self._fresh(_minute(clock.now - self.settings.backfill.total_seconds()))
            self.state_file.save(state)
        live = _minute(clock.now - self.settings.settle_s)
        stop = min(state.settled + self._slice_s(state), int(clock.now))
        if stop <= state.settled:
            return False
        settle_to = max(state.settled, min(stop, live))
        read = self._read(state, stop)
        if read is None:
            return True
        done = advance(state, read, settle_to=settle_to, settings=self.settings)
        self._pace = [*self._pace[-19:], (self._clock(), settle_to)]
        self._write(done, self._status(done.state, clock, state.backfill_from, stop))
        self.state_file.save(done.state)
        return settle_to < live

    def _fresh(self, start: int) -> State:
        """A state that knows the samples just before its start."""
        state = State(settled=start - LOOKBACK_S, backfill_from=start)
        while state.settled < start:
            stop = min(state.settled + self._slice_limit, start)
            read = self._read(state, stop)
            if read is not None:
                done = advance(state, read, settle_to=stop, settings=self.settings)
                self.inbox.write(SOURCE, {name: done.tables[name] for name in DIMENSIONS})
                state = done.state
        return state

    @property
    def _unsettled_s(self) -> int:
        """Longest stretch between the settled minute and now."""
        return _minute(self.settings.settle_s + 2 * MINUTE_S - 1)

    def _slice_s(self, state: State) -> int:
        """Length of the next slice in whole minutes, sized by what the last one held."""
        wanted = float(FIRST_SLICE_S)
        if state.points_per_s is not None:
            wanted = POINTS_A_SLICE / max(state.points_per_s, POINTS_A_SLICE / LONGEST_SLICE_S)
        fitting = max(MINUTE_S, _minute(min(wanted, self._slice_limit, LONGEST_SLICE_S)))
        # The unsettled end is read again each time: as one piece, unless it is too heavy.
        return max(fitting, min(self._unsettled_s, self._slice_limit))

    def _read(self, state: State, stop: int) -> Slice | None:
        """One slice, or None when it was too heavy and the next try will be shorter."""
        try:
            read = self._read_slice(state, stop)
        except SourceError as error:
            length = stop - state.settled
            heavy = isinstance(error, SourceTimeout) or (
                isinstance(error, SourceStatus) and error.status == TOO_HEAVY
            )
            if not heavy or length <= MINUTE_S:
                raise
            self._slice_limit = max(MINUTE_S, _minute(length / 2))
            log.warning("slice of %d s was too heavy, trying %d s", length, self._slice_limit)
            return None
        if stop - state.settled >= self._slice_limit:
            self._slice_limit = min(LONGEST_SLICE_S, self._slice_limit * 2)
        return read

    def _read_slice(self, state: State, stop: int) -> Slice:
        samples = self.source.raw_samples(
            NAMES, state.settled, stop, matchers=self.settings.prometheus_matchers
        )
        engines = _jobs(named(samples, gateway=False), state.engines.values())
        jobs = engines | _jobs(samples, state.proxies.values())
        up = self.source.target_up(jobs, state.settled, stop) if jobs else []
        resets = (
            self.source.reset_calls(
                engines, state.settled, stop, matchers=self.settings.prometheus_matchers
            )
            if engines
            else []
        )
        if unmet := jobs_of_unmet(samples, state, self.settings):
            begin = state.settled - LOOKBACK_S
            up = [*self.source.target_up(unmet, begin, state.settled), *up]
        return Slice(state.settled, stop, samples, up, resets)

    def _server_clock(self) -> Clock:
        asked = self._clock()
        answered = self.source.server_time()
        got = self._clock()
        return Clock(answered, clock_skew(answered, asked, got))

    def _write(self, done: Advance, status: pa.Table) -> None:
        length = max(done.seconds, 1)
        done.state.points_per_s = done.points / length
        notes = [
            note(SOURCE, "warning", "Prometheus warned", text, done.state.settled)
            for text in self.source.take_warnings()
        ]
        notes += [
            note(
                SOURCE,
                "error",
                "Samples that cannot be true were left out",
                f"{count} samples of {name} were NaN, infinite or negative",
                done.state.settled,
            )
            for name, count in done.rejected.items()
        ]
        notes += [
            note(
                SOURCE,
                "error",
                "Series were left out",
                f"{name}: {why}",
                done.state.settled,
                "Look at its labels in Prometheus; PREFIXWATCH_REPLICA_LABELS names labels by "
                "which two like scrapers differ.",
            )
            for name, why in done.odd.items()
        ]
        self.inbox.write(
            SOURCE, done.tables | {"sources": status, "source_log": notes_table(notes)}
        )

    def _status(self, state: State, clock: Clock, begin: int, stop: int) -> pa.Table:
        span = clock.now - begin
        progress = min(stop, clock.now) - begin
        return rows(
            "sources",
            [
                {
                    "source": SOURCE,
                    "state": "following" if stop >= clock.now - 2 * MINUTE_S else "backfilling",
                    "checked_at": utc(self._clock()),
                    "read_to": utc(stop),
                    "backfill_from": utc(state.backfill_from),
                    "progress": progress / span if span > 0 else None,
                    "left_s": self._left_s(clock.now - stop),
                    "clock_skew_s": clock.skew_s,
                }
            ],
        )

    def _read_once(self, first: int, stop: int, last: int) -> pa.Table:
        """The state after a slice of one closed period: nothing follows it."""
        return rows(
            "sources",
            [
                {
                    "source": SOURCE,
                    "state": "read_once",
                    "checked_at": utc(self._clock()),
                    "read_to": utc(stop),
                    "backfill_from": utc(first),
                    "progress": (stop - first) / (last - first),
                }
            ],
        )

    def _left_s(self, behind_s: float) -> float | None:
        """Seconds until caught up, at the pace of the last slices."""
        if len(self._pace) < 3:
            return None
        (then, was), (now, at) = self._pace[0], self._pace[-1]
        pace = (at - was) / (now - then) if now > then else 0.0
        return behind_s / pace if pace > 0 else None

    def _report_failure(self, error: SourceError) -> None:
        now = self._clock()
        log.warning("%s", error)
        state = self.state_file.load()
        status = {
            "source": SOURCE,
            "state": error.kind,
            "checked_at": utc(now),
            "read_to": utc(state.settled) if state else None,
            "backfill_from": utc(state.backfill_from) if state else None,
            "title": error.title,
            "detail": error.detail,
            "next_step": error.next_step,
        }
        noted = note(SOURCE, "error", error.title, error.detail, _minute(now), error.next_step)
        self.inbox.write(
            SOURCE,
            {"sources": rows("sources", [status]), "source_log": notes_table([noted])},
        )


def _jobs(samples: Iterable[RawSeries], met: Iterable[EngineMemory]) -> set[str]:
    """Scrape jobs of a slice's series, and of addresses met before."""
    jobs = {series.labels["job"] for series in samples if "job" in series.labels}
    return jobs | {m.target.job for m in met if m.target.job is not None}


def _minute(t: float) -> int:
    return int(t // MINUTE_S) * MINUTE_S
