"""JSON of observations, as the LiteLLM proxy's `langfuse` callback leaves them in Langfuse.

Rows of a page are made column by column, for the field groups asked for. There is
no group `io` and no text of a prompt or an answer.
"""

from collections.abc import Callable, Iterable
from itertools import repeat

import numpy as np

from core.demo.arrivals import Kind
from core.demo.fleet import FLEET
from core.demo.identity import Identity, hexes
from core.demo.metadata import REVISIONS, Metadata, parameters, raw_hits
from core.demo.people import TEMPLATES, in_arm_b, named, users
from core.demo.rows import ROOT_PART, observation_keys
from core.demo.shelf import Records
from core.domain.records import Ints

PROJECT = "demo"
ENVIRONMENT = "production"
DEFAULT_GROUPS = ("core", "basic")
CREATED_AFTER_MS = 700
Columns = dict[str, Iterable[object]]
_NO = False

_NAMES = np.array(
    ["answer"] * Kind.FAILED + ["answer", "search", "turn", "", ""],
    dtype=object,
)
_CHAT = np.array([engine.model.namespace == "chat" for engine in FLEET])
_MODELS = [f"hosted_vllm/{engine.model.name}" for engine in FLEET]
_REFUSED = [
    "litellm.InternalServerError: InternalServerError: Hosted_vllmException - "
    f"Cannot connect to host {engine.instance} ssl:default [Connect call failed]"
    for engine in FLEET
]


def iso(times_ms: Ints) -> list[str]:
    """Times as Langfuse writes them.

    >>> iso(np.array([0]))
    ['1970-01-01T00:00:00.000Z']
    """
    texts = np.datetime_as_string(times_ms.astype("datetime64[ms]"), timezone="UTC")
    return [str(text) for text in texts.tolist()]


def session_ids(identity: Identity, sessions: Ints) -> list[str]:
    """Session ids; empty where the client sends none."""
    sent = named(identity, sessions).tolist()
    hexes = identity.hexes("session", sessions)
    return [f"sess-{one}" if known else "" for one, known in zip(hexes, sent, strict=True)]


def trace_ids(identity: Identity, traces: Ints) -> list[str]:
    """Trace ids, 32 hexadecimal digits; the first 16 tell the trace."""
    halves = identity.hexes("trace", traces), identity.hexes("trace, second half", traces)
    return [first + second for first, second in zip(*halves, strict=True)]


def observation_rows(
    rows: Records, identity: Identity, groups: Iterable[str], expanded: Iterable[str]
) -> list[dict[str, object]]:
    """JSON rows with the groups asked for; long metadata is cut unless it is expanded."""
    wanted = set(groups)
    columns = _core(rows, identity)
    for group, add in _GROUPS.items():
        if group in wanted:
            columns |= add(rows, identity)
    if "metadata" in wanted:
        columns["metadata"] = Metadata(rows, identity, frozenset(expanded)).column()
    return [dict(zip(columns, row, strict=False)) for row in zip(*columns.values(), strict=False)]


def _core(rows: Records, identity: Identity) -> Columns:
    first = _first_ms(rows)
    return {
        "id": hexes(rows["key"]),
        "traceId": trace_ids(identity, rows["trace"]),
        "startTime": iso(rows["time"]),
        "endTime": iso(rows["time"] + rows["took"]),
        "projectId": repeat(PROJECT),
        "parentObservationId": _parents(rows, identity),
        "type": _types(rows),
        "latency": (rows["took"] / 1000).tolist(),
        "timeToFirstToken": [None if one < 0 else one / 1000 for one in first.tolist()],
        "modelId": repeat(None),
        "inputPrice": repeat(None),
        "outputPrice": repeat(None),
        "totalPrice": repeat(None),
    }


def _basic(rows: Records, identity: Identity) -> Columns:
    places = rows["place"].tolist()
    failed = (rows["kind"] == Kind.FAILED).tolist()
    return {
        "name": _NAMES[rows["kind"]].tolist(),
        "level": ["ERROR" if one else "DEFAULT" for one in failed],
        "statusMessage": [
            _REFUSED[place] if one else "" for place, one in zip(places, failed, strict=True)
        ],
        "version": repeat(""),
        "environment": repeat(ENVIRONMENT),
        "userId": users(identity, rows["session"]),
        "sessionId": session_ids(identity, rows["session"]),
        "isRootObservation": (~rows["rooted"] | (rows["kind"] == Kind.ROOT)).tolist(),
        "bookmarked": repeat(_NO),
        "public": repeat(_NO),
    }


def _time(rows: Records, _: Identity) -> Columns:
    first = _first_ms(rows)
    stored = iso(rows["time"] + rows["took"] + CREATED_AFTER_MS + rows["key"] % 300)
    begun = zip(first.tolist(), iso(rows["time"] + first), strict=True)
    return {
        "completionStartTime": [None if one < 0 else text for one, text in begun],
        "createdAt": stored,
        "updatedAt": stored,
    }


def _model(rows: Records, _: Identity) -> Columns:
    called = (rows["kind"] <= Kind.FAILED).tolist()
    places, streams = rows["place"].tolist(), rows["stream"].tolist()
    columns = zip(called, places, streams, rows["limit"].tolist(), strict=True)
    return {
        "model": [
            _MODELS[place] if call else "" for call, place in zip(called, places, strict=True)
        ],
        "internalModelId": repeat(""),
        "modelParameters": [
            parameters(limit, REVISIONS[place], stream=stream) if call else {}
            for call, place, stream, limit in columns
        ],
    }


def _usage(rows: Records, _: Identity) -> Columns:
    names = ("kind", "prompt", "cached", "output")
    columns = zip(*(rows[name].tolist() for name in names), strict=True)
    used = rows["prompt"] + rows["output"]
    return {
        "usageDetails": [_usage_details(*row) for row in columns],
        "inputUsage": rows["prompt"].tolist(),
        "outputUsage": rows["output"].tolist(),
        "totalUsage": used.tolist(),
        "costDetails": [{"total": 0} if one else {} for one in used.tolist()],
        "inputCost": repeat(None),
        "outputCost": repeat(None),
        "totalCost": repeat(0),
        "usagePricingTierId": repeat(None),
        "usagePricingTierName": repeat(None),
    }


def _usage_details(kind: int, prompt: int, cached: int, output: int) -> dict[str, object]:
    """Exclusive buckets; an exporter that knows no cached tokens writes 0."""
    if kind >= Kind.FAILED:
        return {}
    told = 0 if kind in (Kind.UNREPORTED, Kind.CANCELLED) else cached
    return {
        "input": prompt if kind == Kind.OVERLAP else prompt - told,
        "output": output,
        "total": prompt + output,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": raw_hits(kind, told),
    }


def _prompt(_: Records, __: Identity) -> Columns:
    return {"promptId": repeat(""), "promptName": repeat(""), "promptVersion": repeat(None)}


def _trace_context(rows: Records, identity: Identity) -> Columns:
    arms = in_arm_b(identity, rows["session"]).tolist()
    chat = _CHAT[rows["place"]].tolist()
    retried = rows["retried"].tolist()
    return {
        "traceName": ["chat-turn" if one else "agent-turn" for one in chat],
        "release": repeat(""),
        "tags": [_tags(*row) for row in zip(arms, retried, strict=True)],
    }


def _tags(arm_b: bool, retried: bool) -> list[str]:  # noqa: FBT001 - one row
    arm = "B" if arm_b else "A"
    return [f"arm:{arm}", f"template:{TEMPLATES[arm]}", f"attempted_retries:{int(retried)}"]


def _first_ms(rows: Records) -> Ints:
    """Time to first token as the callback tells it: without a stream, that of the whole answer."""
    first: Ints = np.where(rows["stream"] | (rows["first"] < 0), rows["first"], rows["took"])
    return first


def _types(rows: Records) -> list[str]:
    types = np.full(rows.size, "GENERATION", dtype=object)
    types[rows["kind"] == Kind.TOOL] = "TOOL"
    roots = rows["kind"] == Kind.ROOT
    types[roots] = np.where(_CHAT[rows["place"][roots]], "SPAN", "AGENT")
    names: list[str] = types.tolist()
    return names


def _parents(rows: Records, identity: Identity) -> list[str | None]:
    keys = hexes(observation_keys(identity, rows["trace"], ROOT_PART))
    inside = (rows["rooted"] & (rows["kind"] != Kind.ROOT)).tolist()
    return [key if one else None for key, one in zip(keys, inside, strict=True)]


_GROUPS: dict[str, Callable[[Records, Identity], Columns]] = {
    "basic": _basic,
    "time": _time,
    "model": _model,
    "usage": _usage,
    "prompt": _prompt,
    "trace_context": _trace_context,
}
