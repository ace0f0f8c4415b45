"""Rows by which a collector says how it stands and what went wrong."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa

from core.cache.inbox import rows
from core.domain.records import stable_id


def utc(t: float) -> datetime:
    """Seconds since the epoch as a time of day."""
    return datetime.fromtimestamp(t, UTC)


def note(
    source: str, level: str, title: str, detail: str, at: float, next_step: str | None = None
) -> dict[str, object]:
    """One entry of the log; the same one of the same second is the same entry."""
    return {
        "log_id": stable_id("log", source, title, detail, int(at)),
        "source": source,
        "noted_at": utc(at),
        "level": level,
        "title": title,
        "detail": detail,
        "next_step": next_step,
    }


def notes_table(notes: Iterable[dict[str, object]]) -> pa.Table:
    """Entries of the log as rows."""
    return rows("source_log", list(notes))
