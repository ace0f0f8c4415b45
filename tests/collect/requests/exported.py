"""Export files as Langfuse's blob storage export writes them, made from rows of the API."""

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAPS = ("metadata", "usageDetails")
NESTED = (*MAPS, "modelParameters", "tags", "input")


def snake(name: str) -> str:
    """startTime as start_time."""
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def flat_score(row: dict[str, Any]) -> dict[str, Any]:
    """A score as the table has it: columns for the subject, words beside numbers."""
    about = row.get("subject")
    if about is None:
        return row
    flat = {k: v for k, v in row.items() if k not in ("subject", "value")}
    flat |= {"traceId": about.get("traceId"), "observationId": None, "sessionId": None}
    flat[f"{about['kind']}Id"] = about["id"]
    value = row.get("value")
    number = isinstance(value, int | float)
    return flat | {
        "value": float(value) if number else None,
        "stringValue": str(value) if isinstance(value, str | bool) else None,
    }


def write_export(file: Path, rows: list[dict[str, Any]], *, camel: bool = False) -> Path:
    """Write rows in the format that the name asks for; returns the file."""
    table = [flat_score(row) for row in rows]
    if not camel:
        table = [{snake(k): v for k, v in row.items()} for row in table]
    kind = file.with_suffix("").suffix if file.suffix == ".gz" else file.suffix
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".parquet":
        pq.write_table(_arrow(table), file)
        return file
    text = {
        ".json": lambda: json.dumps(table),
        ".jsonl": lambda: "".join(json.dumps(row) + "\n" for row in table),
        ".csv": lambda: _csv(table),
    }[kind]().encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return file


def _csv(table: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in table for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    for row in table:
        writer.writerow({k: _cell(v) for k, v in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, dict | list | bool) else value


def _arrow(table: list[dict[str, Any]]) -> pa.Table:
    """Maps of text, maps of whole numbers, times without a zone: as ClickHouse writes them."""
    names = list(dict.fromkeys(name for row in table for name in row))
    columns: dict[str, pa.Array] = {}
    maps = {name: snake(name) for name in MAPS} | {snake(name): name for name in MAPS}
    for name in names:
        values = [row.get(name) for row in table]
        if name in maps and all(isinstance(v, dict | None) for v in values):
            columns[name] = _map(values, whole="sage" in name)
        elif any(isinstance(v, dict | list) for v in values):
            columns[name] = pa.array([None if v is None else json.dumps(v) for v in values])
        elif re.search(r"([Tt]ime|_at|At|timestamp)$", name):
            texts = [v.replace("Z", "") if v else None for v in values]
            columns[name] = pa.array(texts).cast(pa.timestamp("us"))
        else:
            mixed = len({type(v) for v in values if v is not None}) > 1
            columns[name] = pa.array([str(v) if mixed and v is not None else v for v in values])
    return pa.table(columns)


def _map(values: list[dict[str, Any] | None], *, whole: bool) -> pa.Array:
    whole = whole and all(isinstance(v, int) for one in values for v in (one or {}).values())
    kind = pa.map_(pa.string(), pa.int64() if whole else pa.string())
    pairs = [
        [(k, v if whole else v if isinstance(v, str) else json.dumps(v)) for k, v in one.items()]
        if one is not None
        else None
        for one in values
    ]
    return pa.array(pairs, type=kind)
