"""One row of observations, as any API generation or export gives it, to one record."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from core.collect.requests.metadata import UNREADABLE, Fields, Metadata, places
from core.collect.requests.raw_values import LONGEST_KEY, MOST_BUCKETS, raw_usage, raw_value
from core.collect.requests.unreadable import Instant, decoded
from core.collect.requests.violations import Violation
from core.domain.completion import completion
from core.domain.exporters import Exporter, Exporters
from core.domain.records import content_id, stable_id
from core.domain.usage import Status, Usage, Why, normalise

REQUEST_TYPE = "GENERATION"
SYNTHETIC_ROOT = "t-"
"""Langfuse copies a trace of the old model as a root row with this prefix and its id."""
OWN_PROVIDERS = ("hosted_vllm", "vllm")
GENERIC_PROVIDERS = ("openai", "text-completion-openai", "custom_openai")
SCOPE_NAME = places(["scope.name"])
ERROR_TEXTS = places(["attributes.error.type", "attributes.error.message"])
LARGEST_WHOLE = 10**9
LONGEST_NAME = 200
COPIED = (
    "gateway_request_id",
    "response_id",
    "client_request_id",
    "requested_model",
    "arm",
    "task_type",
    "tokenizer_revision",
    "engine_revision",
)


class Row(msgspec.Struct, rename={"trace_id": "traceId"}):
    """The columns that are read; whatever else a row has is skipped unread."""

    id: str
    startTime: Instant  # noqa: N815 - the API's own names
    type: str
    trace_id: str | None = None
    updatedAt: Instant | None = None  # noqa: N815
    endTime: Instant | None = None  # noqa: N815
    completionStartTime: Instant | None = None  # noqa: N815
    createdAt: Instant | None = None  # noqa: N815
    projectId: str | None = None  # noqa: N815
    parentObservationId: str | None = None  # noqa: N815
    name: str | None = None
    level: str | None = None
    statusMessage: str | None = None  # noqa: N815
    environment: str | None = None
    model: str | None = None
    providedModelName: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    promptName: str | None = None  # noqa: N815
    promptVersion: int | str | None = None  # noqa: N815
    tags: list[Any] | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    modelParameters: msgspec.Raw = msgspec.Raw(b"{}")  # noqa: N815
    usageDetails: dict[str, Any] | None = None  # noqa: N815


class Read(NamedTuple):
    """What one row became: a record, or violations, or both."""

    record: dict[str, Any] | None
    violations: tuple[Violation, ...] = ()


_row = msgspec.json.Decoder(Row)
_parameters = msgspec.json.Decoder(dict[str, Any])


class ObservationReader:
    """Reads rows by the exporters' profiles."""

    def __init__(self, exporters: Exporters, deployments: Mapping[str, str]) -> None:
        self._exporters = exporters
        self._deployments = deployments
        self._fields = {key: Fields(one.paths) for key, one in exporters.by_key.items()}
        self._objects = {key: places(one.usage_object) for key, one in exporters.by_key.items()}

    def read(self, raw: msgspec.Raw, sessions: Mapping[str, str] | None = None) -> Read:
        """One row; a row that cannot be read is a violation with its id.

        Parameters
        ----------
        sessions : mapping, optional
            Session by trace id, where rows of this API generation lack it.
        """
        row = decoded(_row, raw, "observation")
        if isinstance(row, Violation):
            return Read(None, (row,))
        if not row.trace_id:
            return Read(None, (_violation(row, None, "no_trace", "traceId", row.trace_id),))
        session = (sessions or {}).get(row.trace_id)
        return self._read(row, row.trace_id, session)

    def _read(self, row: Row, trace_id: str, session: str | None) -> Read:
        metadata = Metadata(row.metadata, row.tags or ())
        exporter = self._exporters.recognise(metadata.first(SCOPE_NAME), metadata.values.keys())
        found = metadata.named(self._fields[exporter.key])
        parameters = _parameters_of(row)
        usage = self._usage(row, exporter, metadata)
        model, provider = _model(row, found, exporter)
        record = {
            **_identity(row, trace_id),
            **_request(row, found, trace_id, session),
            **self._place(found),
            **_ending(row, metadata, usage, found.get("finish_reason"), parameters),
            **_tokens(row, usage),
            "exporter": exporter.key,
            "model": model,
            "choices": _whole(parameters.get("n")),
            "cached_scope": _cached_scope(provider),
            "revisions": 0,
        }
        record["digest"] = content_id(msgspec.json.encode(list(record.values())))
        record |= _written(row)
        broken = tuple(
            _violation(row, exporter, one.rule, one.field[:LONGEST_KEY], one.raw, model)
            for one in usage.broken[:MOST_BUCKETS]
        )
        return Read(record, broken)

    def _usage(self, row: Row, exporter: Exporter, metadata: Metadata) -> Usage:
        if row.type != REQUEST_TYPE:
            return Usage(Status.NONE, Why.NO_USAGE, exporter.contract)
        where = self._objects[exporter.key]
        whole = next((found for place in where if (found := metadata.at(place))), None)
        return normalise(row.usageDetails or {}, exporter, usage_object=whole)

    def _place(self, found: Mapping[str, str | None]) -> dict[str, str | None]:
        """Where the engine is, as far as the row says; the cache joins it to its engines."""
        address = _address(found.get("address"))
        deployment = found.get("deployment")
        named = self._deployments.get(address or "") or self._deployments.get(deployment or "")
        return {
            "address": address,
            "deployment": deployment,
            "cluster": found.get("cluster"),
            "namespace": found.get("namespace"),
            "pod": found.get("pod") or named,
            "engine": found.get("engine"),
        }


def _identity(row: Row, trace_id: str) -> dict[str, Any]:
    """Which row it is, and its times."""
    return {
        "observation_key": stable_id("observation", trace_id, row.id),
        "observation_id": row.id,
        "trace_id": trace_id,
        "project_id": row.projectId,
        "environment": row.environment or None,
        "parent_id": row.parentObservationId or None,
        "type": row.type,
        "name": (row.name or "")[:LONGEST_NAME] or None,
        "synthetic_root": row.id == SYNTHETIC_ROOT + trace_id,
        "start_at": row.startTime,
        "first_token_at": row.completionStartTime,
    }


def _written(row: Row) -> dict[str, Any]:
    """When it was written, which tells no two versions apart."""
    return {
        "created_at": row.createdAt,
        "updated_at": row.updatedAt or row.createdAt or row.endTime or row.startTime,
        "first_start_at": row.startTime,
        "last_start_at": row.startTime,
    }


def _request(
    row: Row, found: Mapping[str, str | None], trace_id: str, session: str | None
) -> dict[str, Any]:
    """Whose attempt it is: session, turn, logical request, and what was tried on it."""
    return {
        "session_id": found.get("session_id") or row.sessionId or session or None,
        "turn_id": found.get("turn_id") or trace_id,
        "logical_id": found.get("logical_id") or row.id,
        "attempt": _whole(found.get("attempt")),
        "template_version": found.get("template_version") or _prompt(row),
        **{name: found.get(name) for name in COPIED},
    }


def _ending(
    row: Row,
    metadata: Metadata,
    usage: Usage,
    finish_reason: str | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """When and how it ended.

    A sender that gives no end repeats the start, which no answer can have; an event
    is a point in time.
    """
    end = row.startTime if row.type == "EVENT" else row.endTime
    request = row.type == REQUEST_TYPE and row.level != "ERROR"
    later = end is not None and (end > row.startTime or not request)
    done = completion(
        level=row.level,
        error_text=_error_text(row, metadata),
        ended=False if end is None else (later or None),
        estimate=usage.why is Why.ESTIMATE,
        finish_reason=finish_reason,
        output=usage.output,
        max_tokens=_limit(parameters),
    )
    return {
        "end_at": end if later else None,
        "state": done.state.value,
        "state_basis": done.basis.value,
        "error_kind": done.error_kind,
    }


def _limit(parameters: Mapping[str, Any]) -> int | None:
    """Tokens that all choices together may have."""
    each, choices = _whole(parameters.get("max_tokens")), _whole(parameters.get("n"))
    return each if each is None or choices is None else each * choices


def _tokens(row: Row, usage: Usage) -> dict[str, Any]:
    return {
        "usage_status": usage.status.value,
        "usage_reason": usage.why.value if usage.why is not None else None,
        "contract": str(usage.contract),
        "total_input": usage.total_input,
        "cached_input": usage.cached_input,
        "cache_write_input": usage.cache_write_input,
        "other_input": usage.other_input,
        "output": usage.output,
        "total": usage.total,
        "raw_usage": raw_usage(row.usageDetails),
    }


def newest(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record an id: the newest version, with the first and last start of all."""
    found: dict[int, dict[str, Any]] = {}
    for record in records:
        key = record["observation_key"]
        other = found.get(key)
        if other is None:
            found[key] = record
            continue
        new, old = (record, other) if _age(record) >= _age(other) else (other, record)
        found[key] = new | {
            "first_start_at": min(new["first_start_at"], old["first_start_at"]),
            "last_start_at": max(new["last_start_at"], old["last_start_at"]),
        }
    return list(found.values())


def _age(record: dict[str, Any]) -> tuple[datetime, datetime]:
    return record["updated_at"], record["start_at"]


def _error_text(row: Row, metadata: Metadata) -> str:
    if row.level != "ERROR":
        return ""
    told = (metadata.at(place) for place in ERROR_TEXTS)
    return " ".join(text for text in (row.statusMessage, *told) if isinstance(text, str))


def _parameters_of(row: Row) -> Mapping[str, Any]:
    """Sampling parameters; only two of them are looked at, and a prompt among them is not."""
    try:
        return _parameters.decode(row.modelParameters)
    except UNREADABLE:
        return {}


def _model(
    row: Row, found: Mapping[str, str | None], exporter: Exporter
) -> tuple[str | None, str | None]:
    """Name of the served model, and who serves it.

    LiteLLM writes `provider/model`. Elsewhere `openai/` is the owner of a model, and
    a part of its name; where the provider stands apart, the name is whole.
    """
    name = found.get("model") or row.model or row.providedModelName or None
    provider = found.get("provider")
    if name is not None and provider is None and "/" in name:
        first, rest = name.split("/", 1)
        if first in OWN_PROVIDERS or (exporter.prefixed and first in GENERIC_PROVIDERS):
            return rest, first
    return name, provider


def _cached_scope(provider: str | None) -> str:
    """Whose cache a cached count is about.

    vLLM counts local and external KV together; an unnamed OpenAI-like server may be
    anything.
    """
    if provider in OWN_PROVIDERS:
        return "both"
    return "unknown" if provider is None or provider in GENERIC_PROVIDERS else "provider"


def _address(found: str | None) -> str | None:
    """host:port of a URL, as a scrape target names it.

    >>> _address("http://127.0.0.1:18101/v1/chat/completions"), _address("vllm-0:8000")
    ('127.0.0.1:18101', 'vllm-0:8000')
    """
    if found is None:
        return None
    try:
        return urlsplit(found if "//" in found else f"//{found}").netloc.rsplit("@")[-1] or None
    except ValueError:
        return None


def _prompt(row: Row) -> str | None:
    if not row.promptName:
        return None
    return f"{row.promptName}@{row.promptVersion}" if row.promptVersion else row.promptName


def _whole(value: object) -> int | None:
    """A small whole number, as such or as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if type(value) is int and abs(value) <= LARGEST_WHOLE else None


def _violation(
    row: Row,
    exporter: Exporter | None,
    rule: str,
    field: str,
    value: object,
    model: str | None = None,
) -> Violation:
    return Violation(
        kind="observation",
        record_id=row.id,
        trace_id=row.trace_id or None,
        exporter=exporter.key if exporter is not None else None,
        model=model,
        rule=rule,
        field=field,
        raw_value=raw_value(value),
        happened_at=row.startTime,
    )
