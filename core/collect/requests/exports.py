"""Files of Langfuse's blob-storage export: a second door for large projects.

Rows are those of the API with names in snake case; they enter by the same readers.
Parquet, JSONL, JSON and CSV are read, each also gzipped. Only the columns that the
readers know are taken, so texts stay in the file. An export holds what had arrived
when its window closed: rows that came later are in no file, and only the API has them.
"""

import csv
import gzip
import logging
import re
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from core.cache.inbox import Inbox, rows
from core.collect.notes import utc
from core.collect.requests.batch import SOURCE, Batch, Readers
from core.collect.requests.observations import Row as ObservationRow
from core.collect.requests.scores import Row as ScoreRow
from core.config import Settings
from core.errors import SourceContract

log = logging.getLogger(__name__)

ROWS_A_BATCH = 5000
KINDS: dict[str, type[msgspec.Struct]] = {"observations": ObservationRow, "scores": ScoreRow}
OTHER = "traces"
"""A third table of the export, which is not read: observations name their trace."""
AGAIN = "Check that the file is whole; reading it again doubles nothing."
FORMATS = (".parquet", ".jsonl", ".ndjson", ".json", ".csv")
AS_JSON = ("metadata", "usageDetails", "modelParameters", "tags")
AS_TIME = re.compile(r"(Time|At|timestamp)$")
csv.field_size_limit(sys.maxsize)


def read_exports(paths: Iterable[Path], settings: Settings, inbox: Inbox) -> int:
    """Read files, or all export files of folders, into the inbox; returns rows read.

    Raises
    ------
    SourceContract
        A file whose name says neither observations nor scores, or of another format.
    """
    readers, total = Readers(settings), 0
    for path in _files(paths):
        kind = _kind(path)
        for chunk in _chunks(_whole(path, kind)):
            now = time.time()
            batch = Batch(readers)
            raw = [msgspec.Raw(msgspec.json.encode(record)) for record in chunk]
            if kind == "observations":
                batch.add_observations(raw)
            else:
                batch.add_scores(raw, None)
            total += len(chunk)
            status = {
                "source": f"{SOURCE} export",
                "state": "read_once",
                "checked_at": utc(now),
                "rows_read": total,
            }
            tables = batch.tables(utc(now))
            inbox.write(SOURCE, tables | {"sources": rows("sources", [status])})
        log.info("%s: %d rows so far", path.name, total)
    return total


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for found in sorted(p for p in path.rglob("*") if p.is_file()):
                if _format(found) in FORMATS and _named(found) != OTHER:
                    yield found
                else:
                    log.info("%s: left out, no file of observations or scores", found.name)
        else:
            yield path


def _format(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _kind(path: Path) -> str:
    """Observations or scores, as the path says: Langfuse names folder and file so."""
    if _format(path) not in FORMATS:
        raise SourceContract(f"{path}: none of {', '.join(FORMATS)}, gzipped or not")
    kind = _named(path)
    if kind not in KINDS:
        raise SourceContract(f"{path}: neither the name nor its folders say observations or scores")
    return kind


def _named(path: Path) -> str:
    """What the name says, or the nearest folder that says anything."""
    for text in (path.name, *reversed(path.parts[:-1])):
        for kind in (*KINDS, OTHER):
            if kind in text:
                return kind
    return ""


def _whole(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Rows of a file; one that breaks off is named, and the rows before stay."""
    try:
        yield from _records(path, kind)
    except (OSError, EOFError, ValueError, csv.Error, zlib.error, pa.ArrowException) as error:
        raise SourceContract(f"{path}: {error}"[:300], next_step=AGAIN) from error


def _records(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Rows of a file with the names of the API, texts left out."""
    wanted = {field.encode_name for field in msgspec.structs.fields(KINDS[kind])}
    by_column = {_snake(name): name for name in wanted} | {name: name for name in wanted}
    by_column |= {"provided_model_name": "model"} if kind == "observations" else {}
    for row in _rows(path, by_column.keys()):
        named = {by_column[key]: value for key, value in row.items() if key in by_column}
        yield {name: _value(name, value) for name, value in named.items() if value is not None}


def _rows(path: Path, columns: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    kind = _format(path)
    if kind == ".parquet":
        file = pq.ParquetFile(path)
        known = [name for name in file.schema_arrow.names if name in set(columns)]
        for batch in file.iter_batches(batch_size=ROWS_A_BATCH, columns=known):
            yield from batch.to_pylist()
        return
    with _opened(path) as stream:
        if kind == ".csv":
            yield from csv.DictReader(stream)
        elif kind == ".json":
            yield from msgspec.json.decode(stream.read(), type=list[dict[str, Any]])
        else:
            for line in stream:
                yield from _line(path, line)


def _line(path: Path, line: str) -> Iterator[dict[str, Any]]:
    """A line of JSON; a damaged one is a row that cannot be read, not a lost file."""
    if not line.strip():
        return
    try:
        yield msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        log.warning("%s: a line is no JSON", path.name)
        yield {"id": None}


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _chunks(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for record in records:
        chunk.append(record)
        if len(chunk) == ROWS_A_BATCH:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _value(name: str, value: Any) -> Any:
    """A cell as the API would write it: times with a zone, JSON columns as JSON."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if name in AS_JSON:
        found = _json(value)
        return found if isinstance(found, list if name == "tags" else dict) else None
    if isinstance(value, str):
        if value in {"", r"\N"}:
            return None
        if AS_TIME.search(name):
            return _time(value)
        return _score(value) if name == "value" else value
    return value


def _score(text: str) -> Any:
    """A score out of a text file: numbers and booleans as such."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _json(value: Any) -> Any:
    """JSON in a text, or a Parquet map as its pairs."""
    if isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return None
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {str(key): _json_inside(inner) for key, inner in value}
    return value


def _json_inside(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in '{["':
        return _json(value)
    return value


def _time(text: str) -> str:
    """A time with its zone; exports write UTC without saying so."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
