"""Langfuse itself: does it answer, whose project is it, which lists does it have."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from core.config import Settings
from core.doctor.checks import Check, Once, TimeLimit, Unanswered
from core.doctor.findings import Finding, Topic
from core.doctor.prometheus import NTP, SKEW_LIMIT_S, TLS
from core.doctor.sample import Sample, read_sample
from core.domain.exporters import Exporters
from core.errors import SourceContract, SourceError, SourceMissing, SourceStatus, SourceUnavailable
from core.sources.langfuse import (
    OBSERVATIONS_V1,
    OBSERVATIONS_V2,
    SCORES_V2,
    SCORES_V3,
    TRACES_V1,
    Feed,
    LangfuseSource,
    Page,
)
from core.sources.versions import at_least

Answer = TypeVar("Answer")
DAY_S = 86_400.0
SAMPLE = 300
"""Newest requests that are looked at."""
SCORES_DAYS = 7
NOWHEN = (0.0, 1.0)
"""A second of 1970: a list that is asked only whether it exists gives no rows."""
REFUSED, TOO_MANY = (401, 403), 429
GENERATIONS = {"type": "GENERATION"}
NOT_SET = "not connected: PREFIXWATCH_LANGFUSE_PUBLIC_KEY is not set"
SET_IT = (
    "Set PREFIXWATCH_LANGFUSE_URL, PREFIXWATCH_LANGFUSE_PUBLIC_KEY and "
    "PREFIXWATCH_LANGFUSE_SECRET_KEY."
)
KEYS = (
    "Set PREFIXWATCH_LANGFUSE_PUBLIC_KEY and PREFIXWATCH_LANGFUSE_SECRET_KEY to the pair of one "
    "project of this host (its Settings > API Keys; keys of an organization do not read)."
)


@dataclass(frozen=True)
class Api:
    """Which lists the server has, and the write mode that this tells."""

    observations: Feed
    scores: Feed
    mode: str
    deprecation: str | None


class _Trace(msgspec.Struct):
    id: str = ""
    sessionId: str | None = None  # noqa: N815 - the API's own name


_trace = msgspec.json.Decoder(_Trace)


class LangfuseProbe:
    """What one Langfuse answers; each question is asked once."""

    def __init__(
        self, settings: Settings, source: LangfuseSource, *, now: float, limit: TimeLimit
    ) -> None:
        self.settings = settings
        self.source = source
        self.limited: list[SourceStatus] = []
        """What was said where the server refused for the number of requests."""
        keys = {name: key for name, key in settings.keys.model_dump().items() if key is not None}
        self.exporters = Exporters(settings.exporters, keys)
        self._now = now
        self.version = Once(limit, self._noting(source.version))
        self.project = Once(limit, self._noting(source.project), after=self.version)
        self.api = Once(limit, self._noting(self._ask_api), after=self.project)
        self.page = Once(limit, self._noting(self._ask_rows), after=self.api)
        self.sample = Once(limit, self._read_sample)
        self.other_row = Once(limit, self._noting(self._ask_other), after=self.api)
        self.scores = Once(limit, self._noting(self._ask_scores), after=self.api)

    @property
    def end(self) -> float:
        """Now, by the clock of the server where it tells it."""
        skew = self.source.skew_s
        return self._now + 1 if skew is None else self._now + skew + 1

    def requests(self) -> Sample:
        """The sample, of which there must be a row.

        Raises
        ------
        Unanswered
            There is none.
        """
        found = self.sample.get()
        if not found.rows:
            raise Unanswered("no request in the last day")
        return found

    def _noting(self, ask: Callable[[], Answer]) -> Callable[[], Answer]:
        def noting() -> Answer:
            try:
                return ask()
            except SourceStatus as error:
                if error.status == TOO_MANY:
                    self.limited.append(error)
                raise

        return noting

    def _ask_api(self) -> Api:
        new = self.source.has(OBSERVATIONS_V2)
        scores = SCORES_V3 if self.source.has(SCORES_V3) else SCORES_V2
        deprecation = None
        try:
            deprecation = self.source.page(OBSERVATIONS_V1, NOWHEN, limit=1).deprecation
        except SourceMissing:
            mode = "events_only"
        else:
            mode = self._mode(new=new, deprecation=deprecation)
        return Api(OBSERVATIONS_V2 if new else OBSERVATIONS_V1, scores, mode, deprecation)

    def _mode(self, *, new: bool, deprecation: str | None) -> str:
        if deprecation is not None:
            return "cloud"
        if new:
            return "dual"
        since = OBSERVATIONS_V2.since
        old = since is not None and not at_least(self.version.get(), since)
        return "older" if old else "legacy"

    def _ask_rows(self) -> Page:
        feed = self.api.get().observations
        whole = {"expandMetadata": ",".join(self.exporters.expand)} if feed.by_cursor else {}
        return self.source.page(feed, self._day, limit=SAMPLE, filters=GENERATIONS | whole)

    def _ask_other(self) -> bool:
        return bool(self.source.page(self.api.get().observations, self._day, limit=1).rows)

    def _ask_scores(self) -> Page:
        week = (self.end - SCORES_DAYS * DAY_S, self.end)
        return self.source.page(self.api.get().scores, week)

    def _read_sample(self) -> Sample:
        sessions = None
        rows = self.page.get().rows
        if rows and not self.api.get().observations.by_cursor:
            traces = [_trace.decode(row) for row in self.source.page(TRACES_V1, self._day).rows]
            sessions = {one.id: one.sessionId for one in traces if one.sessionId}
        return read_sample(rows, self.exporters, self.settings.deployments, sessions)

    @property
    def _day(self) -> tuple[float, float]:
        return self.end - DAY_S, self.end


def _reachable(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    url = probe.source.url
    try:
        version = probe.version.get()
    except SourceContract as error:
        yield topic.error("The address answers, but not as Langfuse", f"{url}: {error.detail}", WEB)
        return
    except SourceError as error:
        words = error.detail.lower()
        tls = isinstance(error, SourceUnavailable) and ("certificate" in words or "ssl" in words)
        detail = error.detail if url in error.detail else f"{url}: {error.detail}"
        step = TLS.replace("PROMETHEUS", "LANGFUSE") if tls else error.next_step
        yield topic.error("Langfuse does not answer", detail, step)
        return
    yield topic.ok(f"Langfuse {version} answers", url)


WEB = "Set PREFIXWATCH_LANGFUSE_URL to the address of the web interface, past any login page."


def _allowed(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    try:
        project, name = probe.project.get()
    except SourceStatus as error:
        if error.status not in REFUSED:
            raise
        yield topic.error("Langfuse refuses the keys", f"{probe.source.url}: {error.detail}", KEYS)
        return
    except SourceContract as error:
        yield topic.error("The keys open no project", error.detail, KEYS)
        return
    yield topic.ok(f"The keys open project {name}", f"id {project}")


MODES = {
    "events_only": "write mode events_only: rows are there seconds after a request ends",
    "dual": "write mode dual: rows of the older ingestion come 10 minutes late or more",
    "legacy": "a write mode without the newer lists: the older ones are read",
    "older": "a version before the newer lists: the older ones are read",
    "cloud": "Langfuse Cloud",
}


def _api(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    api = probe.api.get()
    detail = f"{api.observations.path} and {api.scores.path}; {MODES[api.mode]}"
    title = f"Requests are read from {api.observations.key}, scores from {api.scores.key}"
    if api.deprecation is not None and not api.observations.by_cursor:
        yield topic.warning(
            "Langfuse announces the end of the list that is read",
            f"{detail}. It says: {api.deprecation}",
            "Upgrade Langfuse to 4, or write with its SDK 4 or later.",
        )
    elif api.deprecation is not None:
        yield topic.ok(
            title, f"{detail}. Of older lists, not read here, it says: {api.deprecation}"
        )
    else:
        yield topic.ok(title, detail)


def _limits(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    if probe.limited:
        yield topic.warning("Langfuse limits requests", probe.limited[0].detail, FEWER)
        return
    probe.project.get()
    yield topic.ok("No limit of requests was met", "no answer was HTTP 429")


FEWER = (
    "The collector waits as long as the server says. Set PREFIXWATCH_LANGFUSE_PARALLEL=1 and a "
    "larger PREFIXWATCH_COLLECT_EVERY_S, or ask for a higher limit."
)


def _clock(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    probe.api.get()
    skew = probe.source.skew_s
    if skew is None:
        raise Unanswered("its answers carry no Date header")
    detail = f"the clock of the server minus ours: {skew:+.0f} s, to a second"
    if abs(skew) > SKEW_LIMIT_S:
        yield topic.warning("The clocks of Langfuse and this machine differ", detail, NTP)
    else:
        yield topic.ok("The clocks of Langfuse and this machine agree", detail)


def _texts(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    if probe.api.get().observations.by_cursor:
        yield topic.ok(
            "Prompts and answers are not read",
            "input and output are not among the fields asked for",
        )
    else:
        yield topic.ok(
            "Prompts and answers are not kept",
            "this older list always sends them; they are dropped while rows are decoded",
        )


EVALUATE = "If answers are judged, write the judgements to Langfuse as scores of observations."

CONNECTION = (
    Check(Topic("langfuse_reachable", "langfuse", "Langfuse"), _reachable),
    Check(Topic("langfuse_keys", "langfuse", "Keys of Langfuse"), _allowed),
    Check(Topic("langfuse_api", "langfuse", "Lists of Langfuse"), _api),
    Check(Topic("langfuse_clock", "langfuse", "Clock of Langfuse"), _clock),
    Check(Topic("langfuse_texts", "langfuse", "Prompts and answers"), _texts),
)
LIMITS = (Check(Topic("langfuse_limits", "langfuse", "Limits of Langfuse"), _limits),)
"""Looked at last, when everything else was asked."""
