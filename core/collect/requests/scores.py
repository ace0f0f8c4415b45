"""One row of scores, as any API generation or export gives it, to one evaluation record."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from core.collect.requests.metadata import Metadata, places
from core.collect.requests.raw_values import raw_value
from core.collect.requests.unreadable import Instant, decoded
from core.collect.requests.violations import Violation
from core.domain.evaluations import Evaluation, Evaluators, Level
from core.domain.records import stable_id

TEXTS = ("TEXT", "CORRECTION")


class _Subject(msgspec.Struct):
    kind: str = ""
    id: str | None = None
    traceId: str | None = None  # noqa: N815


class Row(msgspec.Struct):
    """Columns of a score; its comment is never read."""

    id: str
    name: str
    timestamp: Instant
    dataType: str  # noqa: N815
    value: Any = None
    stringValue: Any = None  # noqa: N815
    source: str | None = None
    environment: str | None = None
    createdAt: Instant | None = None  # noqa: N815
    updatedAt: Instant | None = None  # noqa: N815
    configId: str | None = None  # noqa: N815
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    subject: _Subject | None = None
    traceId: str | None = None  # noqa: N815
    observationId: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815


@dataclass(frozen=True)
class ReadScore:
    """What one row became: a record, or violations, or both."""

    record: dict[str, Any] | None
    violations: tuple[Violation, ...] = ()


_row = msgspec.json.Decoder(Row)


class ScoreReader:
    """Reads scores by the mapping of their names."""

    def __init__(self, evaluators: Evaluators) -> None:
        self._evaluators = evaluators
        self._keys = {key: places([key])[0] for key in evaluators.metadata_keys}

    def read(self, raw: msgspec.Raw, seen_at: datetime | None) -> ReadScore:
        """One row; a row that cannot be read is a violation with its id."""
        row = decoded(_row, raw, "score")
        if isinstance(row, Violation):
            return ReadScore(None, (row,))
        if not self._wanted(row):
            return ReadScore(None)
        level, subject = _subject(row)
        evaluation = self._evaluation(row)
        record = {
            "score_id": row.id,
            "name": row.name[:200],
            "level": level.value,
            **subject,
            "data_type": row.dataType,
            "value": evaluation.value,
            "label": evaluation.label,
            "status": evaluation.status.value,
            "evaluator": evaluation.evaluator,
            "evaluator_version": evaluation.evaluator_version,
            "source": row.source,
            "repeat": evaluation.repeat,
            "inclusion_probability": evaluation.inclusion_probability,
            "environment": row.environment or None,
            "scored_at": row.timestamp,
            "revisions": 0,
        }
        record["digest"] = stable_id(msgspec.json.encode(list(record.values())).decode())
        record["updated_at"] = row.updatedAt or row.createdAt or row.timestamp
        record["seen_at"] = seen_at if seen_at is not None else record["updated_at"]
        return ReadScore(record, tuple(_violations(row, evaluation)))

    def _wanted(self, row: Row) -> bool:
        """Free texts and corrections are answers; a mapping may be about one source only."""
        source = self._evaluators.of(row.name).source
        return row.dataType not in TEXTS and (source is None or source == row.source)

    def _evaluation(self, row: Row) -> Evaluation:
        metadata = Metadata(row.metadata, ())
        text = row.stringValue
        if row.dataType != "CATEGORICAL" and row.value is not None:
            text = None
        return self._evaluators.evaluation(
            row.name,
            data_type=row.dataType,
            value=row.value if text is None else text,
            metadata={key: metadata.at(place) for key, place in self._keys.items()},
            config_id=row.configId,
        )


def newest_scores(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record a score id: the newest version."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        other = found.get(record["score_id"])
        if other is None or _age(record) >= _age(other):
            found[record["score_id"]] = record
    return list(found.values())


def _age(record: dict[str, Any]) -> tuple[datetime, datetime]:
    return record["updated_at"], record["scored_at"]


def _subject(row: Row) -> tuple[Level, dict[str, str | None]]:
    """What a score is about: v3 names it, v2 has a column for each kind."""
    ids = {
        "observation_id": row.observationId,
        "trace_id": row.traceId,
        "session_id": row.sessionId,
    }
    about = row.subject
    if about is not None:
        level = Level(about.kind) if about.kind in set(Level) else Level.OTHER
        ids = {"observation_id": None, "trace_id": about.traceId, "session_id": None}
        if level is not Level.OTHER:
            ids[f"{level.value}_id"] = about.id
        return level, ids
    for level in (Level.OBSERVATION, Level.TRACE, Level.SESSION):
        if ids[f"{level.value}_id"]:
            return level, ids
    return Level.OTHER, ids


def _violations(row: Row, evaluation: Evaluation) -> Iterable[Violation]:
    for rule, field, value in evaluation.broken:
        yield Violation(
            kind="score",
            record_id=row.id,
            rule=rule,
            field=field,
            raw_value=raw_value(value),
            happened_at=row.timestamp,
        )
