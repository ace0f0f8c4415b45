"""Values that break a contract, on their way to the table of violations."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from core.cache.inbox import rows
from core.domain.records import stable_id


@dataclass(frozen=True)
class Violation:
    """One rule that one record broke, with the field and what stood there."""

    kind: str
    rule: str
    record_id: str | None = None
    trace_id: str | None = None
    exporter: str | None = None
    model: str | None = None
    field: str | None = None
    raw_value: str | None = None
    happened_at: datetime | None = None

    @property
    def violation_id(self) -> int:
        """Key in the cache: seen again, it is the same violation."""
        return stable_id(
            "violation", self.kind, self.trace_id, self.record_id, self.rule, self.field
        )


def violation_rows(found: Iterable[Violation], source: str, seen_at: datetime) -> pa.Table:
    """Violations as rows, each once."""
    records: dict[int, dict[str, Any]] = {
        one.violation_id: {
            "violation_id": one.violation_id,
            "source": source,
            "kind": one.kind,
            "record_id": one.record_id,
            "trace_id": one.trace_id,
            "exporter": one.exporter,
            "model": one.model,
            "rule": one.rule,
            "field": one.field,
            "raw_value": one.raw_value,
            "happened_at": one.happened_at,
            "seen_at": seen_at,
        }
        for one in found
    }
    return rows("violations", list(records.values()))
