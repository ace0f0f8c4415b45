"""Which generation of the API a server speaks, and the pages of it.

v2 observations and v3 scores first; v1 observations and v2 scores only where a
server lacks them. Rows of v1 do not name their session: it is looked up in the
list of traces around them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from core.collect.requests.scan import Scan
from core.collect.requests.unreadable import decoded, trace_of
from core.collect.requests.violations import Violation
from core.errors import SourceMissing
from core.sources.langfuse import (
    OBSERVATIONS_V2,
    OLDER,
    SCORES_V3,
    TRACES_V1,
    Feed,
    LangfuseSource,
    Page,
)

TRACE_LOOKBACK_S = 3600.0
"""A trace begins before its observations; longer ones keep their session unknown."""
SESSIONS_KEPT = 200_000


class _Trace(msgspec.Struct):
    id: str
    sessionId: str | None = None  # noqa: N815 - the API's own name


_trace = msgspec.json.Decoder(_Trace)


@dataclass
class Generation:
    """The lists to read, and what was learned while reading them."""

    source: LangfuseSource
    feeds: dict[str, Feed]
    expand: str
    version: str
    deprecation: str | None = None
    sessions: dict[str, str] = field(default_factory=dict)
    _looked_up: set[tuple[float, float]] = field(default_factory=set)

    @property
    def name(self) -> str:
        """In words, for people: `observations v2, scores v3, server 4.16.0`."""
        lists = ", ".join(feed.key.replace("_", " ") for feed in self.feeds.values())
        return f"{lists}, server {self.version}"

    def page(self, kind: str, scan: Scan) -> Page:
        """The next page of a scan."""
        feed = self.feeds[kind]
        return self.source.page(
            feed,
            (scan.start, scan.end),
            cursor=scan.cursor,
            limit=scan.limit,
            filters=self.whole_keys if feed is OBSERVATIONS_V2 else None,
        )

    @property
    def whole_keys(self) -> dict[str, str]:
        """Asks for the metadata keys that must not be cut."""
        return {"expandMetadata": self.expand} if self.expand else {}

    def sessions_of(self, rows: Iterable[msgspec.Raw], scan: Scan) -> dict[str, str] | None:
        """Session by trace id, for rows of v1 only."""
        if self.feeds["observations"] is OBSERVATIONS_V2:
            return None
        wanted = {trace for row in rows if (trace := trace_of(row)) is not None}
        if (
            any(trace not in self.sessions for trace in wanted)
            and (scan.start, scan.end) not in self._looked_up
        ):
            self._look_up(scan.start - TRACE_LOOKBACK_S, scan.end)
            self._looked_up.add((scan.start, scan.end))
        return self.sessions

    def _look_up(self, start: float, end: float) -> None:
        if len(self.sessions) > SESSIONS_KEPT:
            self.sessions.clear()
            self._looked_up.clear()
        cursor = None
        while True:
            page = self.source.page(TRACES_V1, (start, end), cursor=cursor)
            for raw in page.rows:
                trace = decoded(_trace, raw, "trace")
                if not isinstance(trace, Violation) and trace.sessionId:
                    self.sessions[trace.id] = trace.sessionId
            if page.after is None:
                return
            cursor = page.after


def recognise(source: LangfuseSource, expand: Iterable[str]) -> Generation:
    """Find out what a server offers.

    Raises
    ------
    SourceMissing
        It offers neither generation of a list.
    SourceError
        It does not answer, or not so that it can be told.
    """
    version = source.version()
    feeds = {"observations": OBSERVATIONS_V2, "scores": SCORES_V3}
    for kind, feed in feeds.items():
        if not source.has(feed):
            older = OLDER[feed.key]
            if not source.has(older):
                raise SourceMissing(f"neither {feed.path} nor {older.path}")
            feeds[kind] = older
    return Generation(source, feeds, ",".join(expand), version)
