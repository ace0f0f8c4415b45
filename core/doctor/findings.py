"""Findings: what the doctor says, and their way into the cache.

| level | when |
|---|---|
| error | a number cannot be had, or would be wrong |
| warning | a part is missing, or will be |
| unknown | it could not be told; the detail says why |
| ok | looked at, nothing to do |
"""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pyarrow as pa

from core.cache.inbox import Inbox, rows


class Level(StrEnum):
    """How much a finding asks for; errors first."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what was seen, and the setting or flag to change."""

    finding: str
    subject: str
    level: Level
    title: str
    detail: str
    next_step: str | None = None


@dataclass(frozen=True)
class Topic:
    """What one check looks at; its key stays the same over versions."""

    finding: str
    subject: str
    name: str

    def ok(self, title: str, detail: str) -> Finding:
        """Nothing to do."""
        return Finding(self.finding, self.subject, Level.OK, title, detail)

    def warning(self, title: str, detail: str, next_step: str) -> Finding:
        """A part is missing."""
        return Finding(self.finding, self.subject, Level.WARNING, title, detail, next_step)

    def error(self, title: str, detail: str, next_step: str) -> Finding:
        """A number cannot be had, or would be wrong."""
        return Finding(self.finding, self.subject, Level.ERROR, title, detail, next_step)

    def unknown(self, reason: str, next_step: str | None = None) -> Finding:
        """It could not be told."""
        title = f"{self.name}: not known"
        return Finding(self.finding, self.subject, Level.UNKNOWN, title, reason, next_step)


def finding_rows(findings: Iterable[Finding], now: float) -> pa.Table:
    """Findings of one examination as rows of the table `findings`."""
    checked_at = datetime.fromtimestamp(now, UTC)
    return rows(
        "findings",
        [
            {
                "finding": one.finding,
                "subject": one.subject,
                "level": one.level.value,
                "title": one.title,
                "detail": one.detail,
                "next_step": one.next_step,
                "checked_at": checked_at,
            }
            for one in findings
        ],
    )


def write_findings(inbox: Inbox, findings: Iterable[Finding], now: float) -> str | None:
    """Leave the findings of one examination in the inbox, as one batch."""
    return inbox.write("doctor", {"findings": finding_rows(findings, now)})


def some(names: Iterable[str], *, most: int = 5) -> str:
    """The first names of a list, and how many more there are.

    >>> some(["b", "a", "a"]), some("abcdefg", most=2)
    ('a, b', 'a, b and 5 more')
    """
    told = sorted(set(names))
    more = len(told) - most
    return ", ".join(told[:most]) + (f" and {more} more" if more > 0 else "")


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "is", "are")
    ('1 row', '2 rows', '0 are')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def setting(name: str, value: object) -> str:
    """A setting whose value is JSON, as a shell takes it.

    >>> print(setting("X", {"a:1": "b"}))
    X='{"a:1":"b"}'
    """
    return f"{name}={shlex.quote(json.dumps(value, separators=(',', ':'), ensure_ascii=False))}"
