"""Reads the demo's Langfuse as a careful client would."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import numpy as np

from core.demo.arrivals import Kind
from core.demo.source import HISTORY_S

NOW = 1_790_000_017.25
EPOCH = int((NOW - HISTORY_S) // 60) * 60
STRETCH = (EPOCH + 124 * 60, EPOCH + 154 * 60)
"""Half an hour with the beginning of affinity and a restart in it."""
OBSERVATIONS = "/api/public/v2/observations"
SCORES = "/api/public/v3/scores"
ALL_FIELDS = "core,basic,time,model,usage,metadata,prompt,metrics,trace_context"
Row = dict[str, Any]


def window(start: float, end: float) -> dict[str, str]:
    return {"fromStartTime": iso(start), "toStartTime": iso(end)}


def iso(at: float) -> str:
    return np.datetime_as_string(np.datetime64(round(at * 1000), "ms"), timezone="UTC")


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def read(client: httpx.Client, path: str = OBSERVATIONS, **asked: str) -> Iterator[Row]:
    """All pages, in the server's order."""
    asked.setdefault("limit", "1000" if path == OBSERVATIONS else "100")
    while True:
        answer = client.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        yield from answer.json()["data"]
        cursor = answer.json()["meta"].get("cursor")
        if cursor is None:
            return
        asked["cursor"] = cursor


def condition(column: str, value: str, key: str | None = None) -> str:
    kind = {"type": "stringObject", "key": key} if key else {"type": "string"}
    return json.dumps([kind | {"column": column, "operator": "=", "value": value}])


def kind_of(row: Row) -> Kind:
    """What a reader makes of a row."""
    if row["type"] != "GENERATION":
        return Kind.TOOL if row["type"] == "TOOL" else Kind.ROOT
    if row["level"] == "ERROR":
        return Kind.FAILED
    usage, told = row["usageDetails"], row["metadata"]["usage_object"]
    cached = usage["cache_read_input_tokens"]
    if isinstance(cached, bool | str):
        return Kind.BOOLEAN if isinstance(cached, bool) else Kind.TEXT
    if told["prompt_tokens_details"] is None:
        return Kind.UNREPORTED
    buckets = sum(value for name, value in usage.items() if name != "total")
    exclusive = Kind.MEASURED if buckets == usage["total"] else Kind.OVERLAP
    return Kind.CANCELLED if "cache_read_input_tokens" in told else exclusive


def start_of(row: Row) -> float:
    return seconds(row["startTime"])


def sessions_of(rows: list[Row]) -> list[list[Row]]:
    """Calls that succeeded, by session, oldest first."""
    found = defaultdict(list)
    for row in sorted(rows, key=start_of):
        if row["type"] == "GENERATION" and row["level"] == "DEFAULT" and row["sessionId"]:
            found[row["sessionId"]].append(row)
    return list(found.values())
