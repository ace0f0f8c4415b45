"""Loads `queries/` and holds every file to its contract.

A query file is a topic with several named queries. Each begins with a header of
comments (`--` in SQL, `#` in PromQL), the same in both languages:

    name: hit_ratio_by_engine
    params: start timestamptz, end timestamptz
    returns: hits_tokens tokens, queries_tokens tokens
    metrics: engine_hit_ratio            (optional: catalogue keys it serves)
    reads: graded                        (optional: queries whose rows it reads by their names)

then prose: what one row is, what is left out. SQL values go in as DuckDB's own
`$name` parameters. PromQL takes its `$name` parts from `render_promql` alone.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.errors import QueryFileError

ROOT = Path(__file__).resolve().parent.parent / "queries"
COMMENT = {".sql": "--", ".promql": "#"}
PARAMETER = re.compile(r"\$([a-z_]+)")
HEADER = re.compile(r"(name|params|returns|metrics|reads):\s*(.*)")


@dataclass(frozen=True)
class NamedQuery:
    """One query of one file."""

    name: str
    params: tuple[str, ...]
    returns: tuple[str, ...]
    metrics: tuple[str, ...]
    prose: str
    text: str
    where: str
    reads: tuple[str, ...] = ()


@cache
def cache_queries() -> Mapping[str, NamedQuery]:
    """Queries that pages run on the cache, by name."""
    return _load(sorted((ROOT / "cache").glob("*.sql")))


@cache
def rollup_statements() -> Mapping[str, NamedQuery]:
    """Statements that sum hours from the minute cells of a batch, by name."""
    return _load(sorted((ROOT / "rollup").glob("*.sql")))


@cache
def prometheus_queries() -> Mapping[str, NamedQuery]:
    """PromQL by name."""
    return _load(sorted((ROOT / "prometheus").glob("*.promql")))


def schema_files() -> list[tuple[int, Path]]:
    """Numbered schema files in order."""
    return [(int(path.name[:3]), path) for path in sorted((ROOT / "schema").glob("*.sql"))]


def macro_files() -> list[Path]:
    """Files of table macros that cache queries share."""
    return sorted((ROOT / "macros").glob("*.sql"))


def render_promql(name: str, *, matchers: Mapping[str, str], **parts: str) -> str:
    r"""Fill a PromQL query; label values are escaped here and nowhere else.

    >>> quoted('a"} or vector(1) #')
    '"a\\"} or vector(1) #"'
    """
    query = prometheus_queries()[name]
    selector = ",".join(f"{label}={quoted(value)}" for label, value in sorted(matchers.items()))
    given = parts | {"matchers": selector}
    missing = set(query.params) - set(given)
    if missing:
        raise QueryFileError(f"{query.where}: {name} needs {', '.join(sorted(missing))}")
    return PARAMETER.sub(lambda m: given[m[1]], query.text)


def quoted(value: str) -> str:
    """A PromQL string literal holding exactly `value`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def any_of(values: Iterator[str] | list[str]) -> str:
    """A PromQL regular expression, quoted, that matches any of the literal values."""
    return quoted("|".join(re.sub(r"([.+*?()\[\]{}|^$\\])", r"\\\1", value) for value in values))


def _load(paths: list[Path]) -> dict[str, NamedQuery]:
    queries: dict[str, NamedQuery] = {}
    for path in paths:
        for query in _parse(path):
            if query.name in queries:
                first = queries[query.name].where
                raise QueryFileError(f"{query.where}: {query.name} is already defined at {first}")
            queries[query.name] = query
    for query in queries.values():
        if unknown := set(query.reads) - set(queries):
            raise QueryFileError(f"{query.where}: reads no query: {', '.join(sorted(unknown))}")
    return queries


def _parse(path: Path) -> Iterator[NamedQuery]:
    mark = COMMENT[path.suffix]
    blocks: list[tuple[int, list[str], list[str]]] = []
    in_header = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith(mark):
            comment = line[len(mark) :].strip()
            if comment.startswith("name:"):
                blocks.append((number, [], []))
                in_header = True
            if blocks and in_header:
                blocks[-1][1].append(comment)
            continue
        in_header = in_header and not line.strip()
        if blocks:
            blocks[-1][2].append(line)
        elif line.strip():
            raise QueryFileError(f"{path.name}:{number}: text before the first 'name:' header")
    for number, header, body in blocks:
        yield _query(f"{path.parent.name}/{path.name}:{number}", header, body)


def _query(where: str, header: list[str], body: list[str]) -> NamedQuery:
    found = {m[1]: m[2].strip() for line in header if (m := HEADER.fullmatch(line))}
    prose = " ".join(line for line in header if not HEADER.fullmatch(line)).strip()
    text = "\n".join(body).strip()
    for part in ("name", "params", "returns"):
        if part not in found:
            raise QueryFileError(f"{where}: no '{part}:' line in the header")
    if not prose:
        raise QueryFileError(f"{where}: say what one row is")
    params = _words(found["params"])
    undeclared = set(PARAMETER.findall(text)) ^ set(params)
    if undeclared:
        raise QueryFileError(
            f"{where}: declared and used parameters differ: {', '.join(sorted(undeclared))}"
        )
    metrics, reads = (_words(found.get(part, "")) for part in ("metrics", "reads"))
    returns = _words(found["returns"])
    return NamedQuery(found["name"], params, returns, metrics, prose, text, where, reads)


def _words(text: str) -> tuple[str, ...]:
    """First word of each comma-separated part; 'none' is an empty list."""
    parts = [part.strip() for part in text.split(",")]
    return tuple(part.split()[0] for part in parts if part and part != "none")
