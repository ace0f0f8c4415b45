"""Rows that break the shape of the API: one violation each, never a lost page."""

from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec

from core.collect.requests.metadata import UNREADABLE, short_text
from core.collect.requests.violations import Violation

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone: one without could be any of twenty-four."""
Row = TypeVar("Row", bound=msgspec.Struct)


class _Ids(msgspec.Struct):
    id: Any = None
    traceId: Any = None  # noqa: N815 - the API's own names
    sessionId: Any = None  # noqa: N815


_ids = msgspec.json.Decoder(_Ids)


def decoded(decoder: msgspec.json.Decoder[Row], raw: msgspec.Raw, kind: str) -> Row | Violation:
    """One row, or the violation that stands for it, with its ids as far as they can be read."""
    try:
        row = decoder.decode(raw)
    except UNREADABLE as error:
        return _unreadable(raw, kind, str(error))
    if not getattr(row, "id", None):
        return _unreadable(raw, kind, "No id - at `$.id`")
    return row


def trace_of(raw: msgspec.Raw) -> str | None:
    """The trace id of a row that may be damaged."""
    return short_text(_known(raw).traceId)


def session_of(raw: msgspec.Raw) -> str | None:
    """The session id of a row that may be damaged."""
    return short_text(_known(raw).sessionId)


def _unreadable(raw: msgspec.Raw, kind: str, words: str) -> Violation:
    known = _known(raw)
    return Violation(
        kind=kind,
        record_id=short_text(known.id),
        trace_id=short_text(known.traceId),
        rule="unreadable_row",
        field=words.rsplit("`$.", 1)[1].rstrip("`") if "`$." in words else None,
        raw_value=words.split(" - at", 1)[0][:200],
    )


def _known(raw: msgspec.Raw) -> _Ids:
    try:
        return _ids.decode(raw)
    except UNREADABLE:
        return _Ids()
