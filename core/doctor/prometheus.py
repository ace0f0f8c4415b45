"""Prometheus itself: does it answer, may we ask, what is it, what time does it have."""

import time
from collections.abc import Callable, Iterable

from core.config import Settings
from core.doctor.checks import Check, Once, TimeLimit, Unanswered
from core.doctor.findings import Finding, Topic
from core.doctor.seen import PROBED, RESIDENCY, SeenEngine, Up, seen_engines, seen_targets
from core.domain.records import RawSeries
from core.errors import SourceContract, SourceError, SourceStatus, SourceUnavailable
from core.sources.prometheus import Build, PrometheusSource, clock_skew

SKEW_LIMIT_S = 5.0
LOOK_BACK_S = 600
"""How much of the newest samples is looked at."""
TARGETS_BACK_S = 300
"""The same for scrape targets, of which a large server has many that are not engines."""
NO_SERIES = f"no series of vLLM in the last {LOOK_BACK_S // 60} minutes"
REFUSED = (401, 403)
NOT_FOUND = 404
NOT_SET = "not connected: PREFIXWATCH_PROMETHEUS_URL is not set"
SET_IT = "Set PREFIXWATCH_PROMETHEUS_URL to the address of the Prometheus that scrapes vLLM."


class PrometheusProbe:
    """What one Prometheus answers; each question is asked once."""

    def __init__(
        self,
        settings: Settings,
        source: PrometheusSource,
        *,
        now: float,
        clock: Callable[[], float] = time.time,
        limit: TimeLimit,
    ) -> None:
        self.settings = settings
        self.source = source
        self._now = now
        self._clock = clock
        self.skew_s = Once(limit, self._ask_clock)
        self.build: Once[Build] = Once(limit, source.build, after=self.skew_s)
        self.samples = Once(limit, self._ask_samples, after=self.skew_s)
        self.targets = Once(limit, self._ask_targets, after=self.skew_s)
        self.like_vllm = Once(limit, self._ask_names, after=self.skew_s)
        self.gateway = Once(limit, self._ask_gateway, after=self.skew_s)
        self.seen = Once(limit, lambda: seen_engines(self.samples.get(), settings))

    @property
    def end(self) -> float:
        """Now, by the clock of the server."""
        return float(int(self._now + self.skew_s.get()) + 1)

    def engines(self) -> tuple[SeenEngine, ...]:
        """Engines that gave samples, of which there must be one.

        Raises
        ------
        Unanswered
            There is none.
        """
        found = self.seen.get()
        if not found:
            raise Unanswered(NO_SERIES)
        return found

    def up(self) -> tuple[Up, ...]:
        """Scrape targets, each with its newest outcome."""
        return seen_targets(self.targets.get(), self.settings)

    def _ask_clock(self) -> float:
        asked = self._clock()
        answered = self.source.server_time()
        return clock_skew(answered, asked, self._clock())

    def _ask_samples(self) -> list[RawSeries]:
        return self.source.raw_samples(
            (*PROBED, *RESIDENCY),
            self.end - LOOK_BACK_S,
            self.end,
            matchers=self.settings.prometheus_matchers,
        )

    def _ask_targets(self) -> list[RawSeries]:
        return self.source.every_target(self.end - TARGETS_BACK_S, self.end, matchers={})

    def _ask_names(self) -> list[str]:
        return self.source.names_like("vllm", self.end, matchers=self.settings.prometheus_matchers)

    def _ask_gateway(self) -> list[RawSeries]:
        return self.source.raw_samples(
            LITELLM_COUNTERS, self.end - LOOK_BACK_S, self.end, matchers={}
        )


LITELLM_COUNTERS = ("litellm_input_tokens_metric_total",)


def _reachable(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    url = probe.source.url
    try:
        probe.skew_s.get()
    except SourceStatus as error:
        if error.status not in REFUSED:
            yield topic.error("Prometheus answers with an error", _told(url, error), _step(error))
            return
    except SourceContract as error:
        yield topic.error("The address answers, but not as Prometheus", _told(url, error), PATH)
        return
    except SourceError as error:
        yield topic.error("Prometheus does not answer", _told(url, error), _step(error))
        return
    yield topic.ok("Prometheus answers", url)


PATH = (
    "Point PREFIXWATCH_PROMETHEUS_URL at the server itself, without /api/v1 and past any login "
    "page; `/api/v1/query` below it must answer JSON."
)
TLS = (
    "Set PREFIXWATCH_PROMETHEUS_CA_FILE to the certificate of the authority that signed the "
    "server's."
)


def _told(url: str, error: SourceError) -> str:
    return error.detail if url in error.detail else f"{url}: {error.detail}"


def _step(error: SourceError) -> str:
    words = error.detail.lower()
    tls = isinstance(error, SourceUnavailable) and ("certificate" in words or "ssl" in words)
    return TLS if tls else error.next_step


def _allowed(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    try:
        probe.skew_s.get()
    except SourceStatus as error:
        if error.status not in REFUSED:
            raise
        yield topic.error("Prometheus refuses the credentials", error.detail, error.next_step)
        return
    settings = probe.settings
    if settings.prometheus_token is not None:
        yield topic.ok("The token is accepted", "PREFIXWATCH_PROMETHEUS_TOKEN")
    elif settings.prometheus_user is not None:
        yield topic.ok("User and password are accepted", "PREFIXWATCH_PROMETHEUS_USER")
    else:
        yield topic.ok("Prometheus asks for no credentials", "none are set, none are needed")


def _version(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    try:
        build = probe.build.get()
    except SourceStatus as error:
        if error.status != NOT_FOUND:
            raise
        raise Unanswered("the server has no /api/v1/status/buildinfo") from error
    yield topic.ok(*_named(build))


def _named(build: Build) -> tuple[str, str]:
    """What a server is by what it says, and what that means for reading it."""
    version = build.version or "without a version"
    if build.application is not None:
        return f"{build.application} {version}", "It speaks the query API of Prometheus."
    major = build.version.split(".", 1)[0]
    if major == "0":
        return (
            f"Version {version}: not one of Prometheus",
            "Thanos numbers its versions like this. It speaks the query API of Prometheus.",
        )
    ends = "closed at both ends" if major == "2" else "open at the start"
    return f"Prometheus {version}", f"Its ranges are {ends}; both kinds are read alike."


def _clock(topic: Topic, probe: PrometheusProbe) -> Iterable[Finding]:
    skew = probe.skew_s.get()
    detail = f"the clock of the server minus ours: {skew:+.1f} s"
    if abs(skew) > SKEW_LIMIT_S:
        yield topic.warning("The clocks of Prometheus and this machine differ", detail, NTP)
    else:
        yield topic.ok("The clocks of Prometheus and this machine agree", detail)


NTP = "Synchronise both machines (chrony or systemd-timesyncd); requests are joined by time."

CONNECTION = (
    Check(Topic("prometheus_reachable", "prometheus", "Prometheus"), _reachable),
    Check(Topic("prometheus_auth", "prometheus", "Credentials of Prometheus"), _allowed),
    Check(Topic("prometheus_version", "prometheus", "Version of Prometheus"), _version),
    Check(Topic("prometheus_clock", "prometheus", "Clock of Prometheus"), _clock),
)
