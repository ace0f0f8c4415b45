"""What a request asks of the simulated Langfuse, and how it refuses.

Refusals have the status and shape of the real server's; their texts are shorter.
"""

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec

from core.demo.shelf import Place

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")
SCORE_PARAMETERS = frozenset(
    ("limit", "cursor", "fields", "fromTimestamp", "toTimestamp", "traceId", "observationId")
) | {"sessionId", "environment", "name"}
SCORE_GROUPS = ("core", "details", "subject", "annotation")
OBSERVATION_TYPES = (
    *("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER"),
    *("EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
EARLIEST, LATEST = float("-inf"), float("inf")


class RefusedError(Exception):
    """A request the server does not answer: a status and a JSON body."""

    def __init__(self, status: int, body: dict[str, object]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def bad_request(message: str) -> RefusedError:
    """Refuse what the server understood and will not do."""
    return RefusedError(400, {"message": message, "error": "InvalidRequestError"})


def invalid(code: str, name: str, message: str, **more: object) -> RefusedError:
    """Refuse a parameter that does not fit its description."""
    issue = {"code": code, **more, "path": [name], "message": message}
    return RefusedError(400, {"message": "Invalid request data", "error": [issue]})


def limit_of(asked: httpx.QueryParams, *, most: int) -> int:
    """Rows a page may hold; 50 unless asked otherwise."""
    text = asked.get("limit", "50")
    if not re.fullmatch(r"-?\d+", text):
        raise invalid("invalid_type", "limit", "Invalid input: expected number, received NaN")
    limit = int(text)
    if limit < 0:
        message = "Too small: expected number to be >=0"
        raise invalid("too_small", "limit", message, minimum=0, inclusive=True)
    if limit > most:
        message = f"Too big: expected number to be <={most}"
        raise invalid("too_big", "limit", message, maximum=most, inclusive=True)
    return limit


def instant_ms(asked: httpx.QueryParams, name: str, otherwise: float) -> float:
    """Milliseconds of an ISO time with a zone."""
    text = asked.get(name)
    if text is None:
        return otherwise
    if not ISO.fullmatch(text):
        raise invalid("invalid_format", name, "Invalid ISO datetime", format="datetime")
    return _ms(text)


def type_of(asked: httpx.QueryParams) -> str | None:
    """Type of observation asked for, if any."""
    kind: str | None = asked.get("type")
    if kind is not None and kind not in OBSERVATION_TYPES:
        raise invalid("invalid_value", "type", "Invalid option", values=OBSERVATION_TYPES)
    return kind


def groups_of(asked: httpx.QueryParams, default: tuple[str, ...]) -> tuple[str, ...]:
    """Field groups asked for."""
    return tuple(asked["fields"].split(",")) if asked.get("fields") else default


def check_scores(asked: httpx.QueryParams) -> None:
    """Refuse parameters and groups the scores API does not know."""
    unknown = [name for name in asked if name not in SCORE_PARAMETERS]
    if unknown:
        message = f"Unrecognized key: {json.dumps(unknown[0])}"
        issue = {"code": "unrecognized_keys", "keys": unknown, "path": [], "message": message}
        raise RefusedError(400, {"message": "Invalid request data", "error": [issue]})
    if any(group not in SCORE_GROUPS for group in groups_of(asked, ())):
        raise invalid("invalid_value", "fields", "Invalid option", values=SCORE_GROUPS)
    if "observationId" in asked and "traceId" not in asked:
        raise invalid("custom", "observationId", "observationId filter requires traceId")


def filters_of(asked: httpx.QueryParams) -> list[dict[str, Any]]:
    """Conditions of the parameter `filter`; each has column, operator and value."""
    text = asked.get("filter")
    if text is None:
        return []
    try:
        conditions = json.loads(text)
    except ValueError:
        raise bad_request("Invalid JSON in filter parameter") from None
    if not isinstance(conditions, list) or not all(map(_is_condition, conditions)):
        raise invalid("invalid_union", "filter", "Invalid input")
    if any(one["operator"] != "=" for one in conditions):
        raise bad_request("The simulated server knows no operator but =")
    return conditions


def _is_condition(one: Any) -> bool:
    if not isinstance(one, dict) or one.get("type") not in ("string", "stringObject"):
        return False
    return all(isinstance(one.get(name), str) for name in ("column", "operator", "value"))


def key_of(text: str) -> int:
    """Return the key an id of 16 hexadecimal digits stands for; -1 if it is not one."""
    return int(text, 16) if re.fullmatch("[0-9a-f]{16}", text) else -1


def observations_cursor(time: str, trace: str, key: str) -> str:
    """Write where a page of observations ended."""
    return _encoded({"lastStartTimeTo": time, "lastTraceId": trace, "lastId": key}, "standard")


def scores_cursor(time: str, key: str) -> str:
    """Write where a page of scores ended."""
    return _encoded({"v": 1, "lastTimestamp": time, "lastId": key}, "url").rstrip("=")


def after(asked: httpx.QueryParams, time_name: str) -> Place | None:
    """Where the page before ended, if there was one."""
    text = asked.get("cursor")
    if not text:
        return None
    try:
        plain = text.replace("-", "+").replace("_", "/")
        told = json.loads(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
        return Place(round(_ms(told[time_name])), int(told["lastId"], 16))
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise bad_request("Invalid cursor format") from None


def _encoded(told: dict[str, object], alphabet: str) -> str:
    encode = base64.urlsafe_b64encode if alphabet == "url" else base64.b64encode
    return encode(msgspec.json.encode(told)).decode()


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000
