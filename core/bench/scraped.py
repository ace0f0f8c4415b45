"""Prometheus, asked after a run what it counted over it; it can neither fail nor hold up a run.

A server that nobody scrapes costs no wait. Where it is scraped, the scrape after the run
is waited for, two intervals at most.
"""

import math
import time
from urllib.parse import urlsplit

from core.bench.tails import last_lines, masked
from core.bench.watch import Watch
from core.config import Settings
from core.domain.bench.judge import PROMETHEUS
from core.domain.bench.result import Scraped, ScrapeState
from core.domain.bench.scraped import UP, agreed, by_target
from core.domain.records import RawSeries
from core.errors import SourceError
from core.sources.prometheus import PrometheusSource, clock_skew
from core.sources.vllm_bench import COUNTERS

ASK_S = 5.0
"""A question takes no longer than this, however patient the collector is."""
LOOK_BACK_S = 300.0
"""So far before a run scrapes are looked for: to know their interval, and whether it was quiet."""
INTERVALS, SLACK_S, MOST_S = 2, 1.0, 120.0
ASKS_PER_INTERVAL = 8
LOOPBACK = ("localhost", "127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}
FIELDS = {name: field for name, field in COUNTERS.items() if field in PROMETHEUS}


def ask_prometheus(
    settings: Settings, url: str, *, start: float, end: float, watch: Watch
) -> Scraped:
    """What Prometheus counted at a server over a run; why it cannot say is part of the answer.

    Parameters
    ----------
    start, end : float
        Seconds since the epoch by our own clock.

    Raises
    ------
    CancelledError
        The job is to end.
    """
    if settings.prometheus_url is None:
        return Scraped(ScrapeState.NOT_CONFIGURED)
    patience_s = min(settings.prometheus_timeout_s, ASK_S)
    try:
        source = PrometheusSource(settings.model_copy(update={"prometheus_timeout_s": patience_s}))
        try:
            return _Question(source, settings, url, start, end).answered(watch)
        finally:
            source.close()
    except SourceError as error:
        said = last_lines(" ".join(masked(error.detail, settings).split()), lines=1)
        return Scraped(ScrapeState.UNANSWERED, detail=said)


def instances(url: str) -> tuple[str, ...]:
    """How Prometheus may name the target of a server's address.

    >>> instances("http://127.0.0.1:8000")
    ('127.0.0.1:8000', '[::1]:8000', 'localhost:8000')
    >>> instances("https://gpu-7.lan/v1")
    ('gpu-7.lan:443',)
    """
    parts = urlsplit(url)
    port = PORTS.get(parts.scheme) if parts.port is None else parts.port
    hosts = LOOPBACK if parts.hostname in LOOPBACK else (str(parts.hostname),)
    return tuple(sorted(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts))


class _Question:
    """One run at one Prometheus, in the time of its clock."""

    def __init__(
        self, source: PrometheusSource, settings: Settings, url: str, start: float, end: float
    ) -> None:
        self._source = source
        self._matchers = settings.prometheus_matchers
        self._instances = instances(url)
        asked_at = time.time()
        skew = clock_skew(source.server_time(), asked_at, time.time())
        self._skew, self._start, self._end = skew, start + skew, end + skew

    def answered(self, watch: Watch) -> Scraped:
        """The answer, once the scrape after the run is there or its time is over."""
        asked_at = time.monotonic()
        while True:
            found = self._now()
            due = [one.interval_s for one in found if one.is_due and one.interval_s is not None]
            if not due:
                return agreed(found)
            interval = max(due)
            limit = min(INTERVALS * interval + SLACK_S, MOST_S)
            if time.monotonic() - asked_at > limit:
                return agreed(found)
            self._pause(interval / ASKS_PER_INTERVAL, watch)

    def _now(self) -> tuple[Scraped, ...]:
        start = math.floor(self._start - LOOK_BACK_S)
        end = math.ceil(time.time() + self._skew)
        found: list[RawSeries] = []
        for instance in self._instances:
            matchers = self._matchers | {"instance": instance}
            found += self._source.raw_samples([UP, *FIELDS], start, end, matchers=matchers)
        return by_target(found, self._start, self._end, fields=FIELDS)

    @staticmethod
    def _pause(seconds: float, watch: Watch) -> None:
        end = time.monotonic() + seconds
        watch.pause()
        while time.monotonic() < end:
            watch.pause()
