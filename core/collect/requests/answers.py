"""Orders of pages answered: one request, its trace and its session, fetched by any id.

An id may name an observation, a trace, a session, or what a gateway or an engine
calls the request. Time is searched from now backwards in growing stretches, so that
a recent request costs one small query.
"""

from typing import Any
from urllib.parse import quote

import msgspec

from core.cache.orders import Order
from core.collect.notes import utc
from core.collect.requests.batch import Batch
from core.collect.requests.generation import Generation
from core.collect.requests.scan import AHEAD_S, Scan
from core.collect.requests.unreadable import session_of, trace_of
from core.errors import SourceError, SourceStatus
from core.sources.langfuse import OBSERVATIONS_V2

LOOKBACKS_S = (86_400.0, 30 * 86_400.0)
METADATA_KEYS = (
    "litellm_call_id",
    "response_id",
    "client_request_id",
    "attributes.llm.response.id",
    "attributes.langfuse.trace.id",
)
MOST_PAGES = 10
NO_SUCH = (400, 404)
SCORES_PAGES = 3


def asked(order: Order, *, now: float, since: float) -> dict[str, Any]:
    """What is told of an order whatever comes of it."""
    return {
        "order_id": order.order_id,
        "wanted": order.wanted,
        "asked_at": utc(order.asked_at),
        "answered_at": utc(now),
        "searched_from": utc(min(since, now - LOOKBACKS_S[-1])),
        "searched_to": utc(now),
    }


def answer(order: Order, generation: Generation, batch: Batch, *, now: float) -> dict[str, Any]:
    """Fetch what an order wants into a batch; returns the outcome.

    What is found is fetched with its whole session, so that turns and gaps are known.
    """
    if order.wanted:
        _search(order.wanted, generation, batch, now)
    found = len({record["observation_key"] for record in batch.observations})
    return {"outcome": "found" if found else "not_found", "found": found}


def failed(error: SourceError) -> dict[str, Any]:
    """A source that fails is an outcome too."""
    return {"outcome": "failed", "detail": f"{error}. {error.next_step}"}


def _search(wanted: str, generation: Generation, batch: Batch, now: float) -> None:
    if generation.feeds["observations"] is not OBSERVATIONS_V2:
        _search_v1(wanted, generation, batch, now)
        return
    ways: list[dict[str, str]] = [
        {"traceId": wanted},
        {"filter": _filter("string", "id", wanted)},
        {"sessionId": wanted},
        *({"filter": _filter("stringObject", "metadata", wanted, key)} for key in METADATA_KEYS),
    ]
    for lookback in LOOKBACKS_S:
        window = (now - lookback, now + AHEAD_S)
        for way in ways:
            rows = _rows(generation, window, way)
            if rows:
                _whole(rows, generation, batch, now)
                return


def _whole(rows: list[msgspec.Raw], generation: Generation, batch: Batch, now: float) -> None:
    """The session of what was found, or its traces where there is no session."""
    session = next((found for row in rows if (found := session_of(row)) is not None), None)
    traces = [trace for row in rows if (trace := trace_of(row)) is not None]
    window = (now - LOOKBACKS_S[-1], now + AHEAD_S)
    if session is not None:
        rows = [*rows, *_rows(generation, window, {"sessionId": session})]
    elif traces:
        rows = [*rows, *_rows(generation, window, {"traceId": traces[0]})]
    batch.add_observations(rows)
    for trace in dict.fromkeys(trace_of(row) for row in rows):
        if trace is not None:
            _scores(generation, batch, {"traceId": trace}, now)
    if session is not None:
        _scores(generation, batch, {"sessionId": session}, now)


def _scores(generation: Generation, batch: Batch, way: dict[str, str], now: float) -> None:
    feed, cursor = generation.feeds["scores"], None
    for _ in range(SCORES_PAGES):
        page = generation.source.page(feed, None, cursor=cursor, filters=way)
        batch.add_scores(page.rows, now)
        cursor = page.after
        if cursor is None:
            return


def _rows(
    generation: Generation, window: tuple[float, float], way: dict[str, str]
) -> list[msgspec.Raw]:
    found: list[msgspec.Raw] = []
    filters, cursor = way | generation.whole_keys, None
    for _ in range(MOST_PAGES):
        page = generation.source.page(OBSERVATIONS_V2, window, cursor=cursor, filters=filters)
        found += page.rows
        cursor = page.after
        if cursor is None:
            break
    return found


def _filter(kind: str, column: str, value: str, key: str | None = None) -> str:
    """A filter of the API; the value is data inside JSON."""
    condition = {"type": kind, "column": column, "operator": "=", "value": value}
    if key is not None:
        condition["key"] = key
    return msgspec.json.encode([condition]).decode()


def _search_v1(wanted: str, generation: Generation, batch: Batch, now: float) -> None:
    """v1 knows observations by id, trace and session; other ids cannot be looked for there."""
    rows = (
        _pages_v1(generation, {"traceId": wanted})
        or _pages_v1(generation, {"filter": _filter("string", "sessionId", wanted)})
        or _one_v1(generation, wanted)
    )
    if not rows:
        return
    scan = Scan("head", now - LOOKBACKS_S[0], now + AHEAD_S, began_at=now)
    batch.add_observations(rows, generation.sessions_of(rows, scan))
    for trace in dict.fromkeys(trace_of(row) for row in rows):
        if trace is not None:
            _scores(generation, batch, {"traceId": trace}, now)


def _one_v1(generation: Generation, wanted: str) -> list[msgspec.Raw]:
    """One observation by its id, and the rest of its trace."""
    path = f"{generation.feeds['observations'].path}/{quote(wanted, safe='')}"
    if wanted.strip(".") == "":
        return []
    try:
        row = msgspec.Raw(generation.source.one(path))
    except SourceStatus as error:
        if error.status not in NO_SUCH:
            raise
        return []
    trace = trace_of(row)
    return [row, *(_pages_v1(generation, {"traceId": trace}) if trace is not None else [])]


def _pages_v1(generation: Generation, way: dict[str, str]) -> list[msgspec.Raw]:
    found: list[msgspec.Raw] = []
    feed, cursor = generation.feeds["observations"], None
    for _ in range(MOST_PAGES):
        page = generation.source.page(feed, None, cursor=cursor, filters=way)
        found += page.rows
        cursor = page.after
        if cursor is None:
            break
    return found
