"""A sample of the newest requests, with what the cache does not keep of them.

Rows go through the collector's own reader. Beside its record stand the provider's
usage where the exporter passes it on, whether the answer was streamed, and the
names (never the values) of the metadata keys.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from core.collect.requests.metadata import Metadata, Place, places
from core.collect.requests.observations import SCOPE_NAME, ObservationReader, Row
from core.collect.requests.violations import Violation
from core.domain.completion import State
from core.domain.exporters import Exporters
from core.domain.usage import CACHED, CACHED_INCLUSIVE

IS_STREAMING = places(["attributes.llm.is_streaming"])
YES, NO = ("true", "True", "1"), ("false", "False", "0")
ANSWERED = (State.COMPLETE.value, State.TRUNCATED.value, State.UNKNOWN.value)

_row = msgspec.json.Decoder(Row)
_parameters = msgspec.json.Decoder(dict[str, msgspec.Raw])
_word = msgspec.json.Decoder()


class Details(StrEnum):
    """What the provider's own usage says about cached tokens."""

    REPORTED = "reported"
    NOT_REPORTED = "not_reported"
    ESTIMATE = "estimate"
    CUT = "cut"
    ABSENT = "absent"
    """The exporter does not pass the provider's usage on."""


@dataclass(frozen=True)
class SampledRow:
    """One request: its record, and what was beside it in the row."""

    record: Mapping[str, Any]
    details: Details
    cached_tokens: int | None
    in_buckets: bool
    """Whether usageDetails has a bucket of cached tokens."""
    streamed: bool | None
    scope: str | None
    metadata_keys: frozenset[str]

    @property
    def answered(self) -> bool:
        """Whether it ended with an answer, as far as the row says."""
        return self.record["state"] in ANSWERED

    @property
    def has_usage(self) -> bool:
        """Whether it carries token counts at all."""
        return str(self.record["usage_status"]) != "none"

    @property
    def exporter(self) -> str:
        """Key of the profile it was read by."""
        return str(self.record["exporter"])


@dataclass(frozen=True)
class Sample:
    """Requests, newest first, and the contracts they broke."""

    rows: tuple[SampledRow, ...]
    violations: tuple[Violation, ...]

    @property
    def answered(self) -> list[SampledRow]:
        """Requests that ended with an answer."""
        return [row for row in self.rows if row.answered]


def read_sample(
    raw: Iterable[msgspec.Raw],
    exporters: Exporters,
    deployments: Mapping[str, str],
    sessions: Mapping[str, str] | None = None,
) -> Sample:
    """Rows as the API gave them, read as the collector reads them."""
    reader = ObservationReader(exporters, deployments)
    rows: list[SampledRow] = []
    violations: list[Violation] = []
    for one in raw:
        read = reader.read(one, sessions)
        violations += read.violations
        if read.record is not None:
            rows.append(_sampled(read.record, _row.decode(one), exporters))
    rows.sort(key=lambda row: row.record["start_at"], reverse=True)
    return Sample(tuple(rows), tuple(violations))


def _sampled(record: Mapping[str, Any], row: Row, exporters: Exporters) -> SampledRow:
    metadata = Metadata(row.metadata, row.tags or ())
    where = places(exporters.by_key[record["exporter"]].usage_object)
    told = next((found for place in where if (found := metadata.at(place)) is not None), None)
    cut = any(isinstance(metadata.at(Place(place.key)), str) for place in where)
    details, cached = (Details.CUT, None) if cut else _details(told)
    return SampledRow(
        record=record,
        details=details,
        cached_tokens=cached,
        in_buckets=any(_is_cached(key, value) for key, value in (row.usageDetails or {}).items()),
        streamed=_streamed(row, metadata),
        scope=metadata.first(SCOPE_NAME),
        metadata_keys=frozenset(metadata.values),
    )


def _details(told: object) -> tuple[Details, int | None]:
    if not isinstance(told, Mapping) or not told:
        return Details.ABSENT, None
    if "cache_read_input_tokens" in told:
        return Details.ESTIMATE, None
    details = told.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    if isinstance(cached, int):
        return Details.REPORTED, cached
    return Details.NOT_REPORTED, None


def _is_cached(key: str, value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_is_cached(f"{key}.{part}", inner) for part, inner in value.items())
    return value is not None and key in (*CACHED, *CACHED_INCLUSIVE)


def _streamed(row: Row, metadata: Metadata) -> bool | None:
    """Whether the answer was streamed, by what the gateway was asked for, or by its times."""
    said = _parameter(row.modelParameters, "stream")
    word = metadata.first(IS_STREAMING) if said is None else str(said)
    if word in YES:
        return True
    if word in NO:
        return False
    first, end = row.completionStartTime, row.endTime
    return True if first is not None and end is not None and first < end else None


def _parameter(parameters: msgspec.Raw, name: str) -> object:
    """One sampling parameter; the others, a prompt among them, stay undecoded."""
    try:
        raw = _parameters.decode(parameters).get(name)
        return None if raw is None or len(memoryview(raw)) > 10 else _word.decode(raw)
    except msgspec.DecodeError:
        return None
