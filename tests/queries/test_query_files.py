"""Query files: every one loads, keeps the house rules, and answers what its header says."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cache.store import Store
from core.cache.tables import KEYS
from core.catalogue import HISTOGRAM_PARTS, INSTRUMENTS, METRICS
from core.errors import QueryFileError
from core.named_queries import (
    ROOT,
    NamedQuery,
    _load,
    any_of,
    cache_queries,
    macro_files,
    prometheus_queries,
    quoted,
    render_promql,
    rollup_statements,
    schema_files,
)

AT = datetime(2026, 9, 1, tzinfo=UTC)
PARAMS = dict.fromkeys(("cluster", "namespace", "model", "pod", "engine", "arm")) | {
    "start": AT,
    "end": AT + timedelta(hours=1),
    "bin_s": 60,
    "span_s": 60,
    "most": 10,
    "from": AT - timedelta(days=1),
    "until": AT + timedelta(hours=2),
    "block_tokens": 16,
    "key": 1,
    "order_id": 1,
    "window_s": 300,
    "fewest": 2,
    "coverage": 0.9,
    "gap_intervals": 2.05,
    "read_to": None,
    "late": 1800,
    "tolerance": 16.0,
    "longest": 21_600,
    "engine_id": 1,
    "window_at": 0,
    "window_end": 300,
    "dimension": "arm",
    "step": 1.05,
    **dict.fromkeys(("by", "across"), "cached_ratio"),
    **dict.fromkeys(("score", "evaluator", "reference_score", "reference_evaluator"), "x"),
    **dict.fromkeys(("evaluator_version", "reference_version", "by_value", "across_value")),
    **dict.fromkeys(("data_type", "reference_type"), "BOOLEAN"),
    **dict.fromkeys(("pass_at", "reference_pass_at", "task_types")),
    **{key: ["good"] for key in ("pass_labels", "reference_labels")},
    **dict.fromkeys(("sampled", "skips", "last_of_turn", "turned", "alone"), False),
    **{key: [1.0, 2.0] for key in ("idle_edges", "input_edges", "turn_edges", "load_edges")},
    "block_s": 900,
    "factor": "cached_ratio",
    "of_model": None,
    "job_id": "x",
    **dict.fromkeys(
        (
            *("only_task_type", "only_template_version"),
            *("only_input_length", "only_turn_position", "only_load"),
        )
    ),
    **dict.fromkeys(
        (
            "id",
            "logical_id",
            "observation_id",
            "session_id",
            "trace_id",
            "turn_id",
            "experiment",
        ),
        "x",
    ),
}
SCOPE = ("cluster", "namespace", "model", "pod", "engine")
GATEWAY_SCOPE = SCOPE[:3]
"""A proxy's counters know neither pod nor engine."""
ONE_ROW = {
    *("cache_size", "follow_up_reach", "gateway_attempts", "newest_request"),
    *("bench_other_models", "bench_speed"),
    "completed_requests",
    "request_coverage",
    "schema_version",
    "cache_size",
    "follow_up_reach",
    "gateway_attempts",
    "newest_request",
}
"""Aggregates without a group: one row needs no order."""
READ_BY_OTHERS = {name for query in cache_queries().values() for name in query.reads}
"""Queries whose rows nobody sees: sorting them would be in vain."""
PARTS = {
    "names": '"up|vllm:x"',
    "and_matchers": ',pod="a"',
    "jobs": '"vllm"',
    "window": "5m",
    "preempt_window": "5m",
}
HEADER = "-- name: {name}\n-- params: none\n-- returns: a text\n-- One row, for a test.\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store(tmp_path_factory.mktemp("empty") / "cache.duckdb")
    yield opened
    opened.close()


def every_query() -> list[NamedQuery]:
    every = (cache_queries(), prometheus_queries(), rollup_statements())
    return [query for queries in every for query in queries.values()]


def test_every_file_is_loaded() -> None:
    """No file lies in queries/ that nobody reads, and every topic has a query."""
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()}
    loaded = {query.where.rsplit(":", 1)[0] for query in every_query()}
    loaded |= {path.relative_to(ROOT).as_posix() for _, path in schema_files()}
    loaded |= {path.relative_to(ROOT).as_posix() for path in macro_files()}
    assert files - loaded == {"README.md"}


def test_every_table_of_minutes_has_its_hours() -> None:
    """Whatever is kept by the minute is summed by the hour."""
    minutes = {table for table, keys in KEYS.items() if "minute" in keys}
    assert set(rollup_statements()) >= {f"roll_up_{table}" for table in minutes}


def test_what_is_derived_follows_a_table_of_batches() -> None:
    """Every roll-up is made from the rows of a table that batches hold."""
    assert set(rollup_statements()) <= {f"roll_up_{table}" for table in KEYS}


def test_schema_files_are_numbered_without_gaps() -> None:
    """Schema files are applied in the order of their numbers, from 1, each number once."""
    assert [number for number, _ in schema_files()] == list(range(1, len(schema_files()) + 1))


@pytest.mark.parametrize("name", cache_queries())
def test_columns_are_those_of_the_header(store: Store, name: str) -> None:
    """A query gives the declared columns in the declared order, and no row from nothing."""
    found = store.columns(name, PARAMS)
    assert tuple(found.column_names) == cache_queries()[name].returns
    assert len(found) == (1 if name in ONE_ROW else 0)


@pytest.mark.parametrize("name", cache_queries())
def test_every_query_has_an_order(name: str) -> None:
    """Rows come in an order that the query itself sets, last of all but a limit."""
    text = cache_queries()[name].text
    ordered = re.search(r"\border by [\w., \n]+(limit \$\w+)?$", text) is not None
    assert ordered != (name in ONE_ROW or name in READ_BY_OTHERS)


@pytest.mark.parametrize("name", cache_queries())
def test_a_scope_is_whole(name: str) -> None:
    """A query that filters by one label filters by all there are, and any may be left open."""
    query = cache_queries()[name]
    filtered = [label for label in SCOPE if label in query.params]
    whole = GATEWAY_SCOPE if query.where.startswith("cache/gateway.sql") else SCOPE
    assert filtered in ([], list(whole))
    for label in filtered:
        assert re.search(rf"\(\${label} is null or (e\.)?\w+ = \${label}\)", query.text)


def test_instruments_in_queries_exist() -> None:
    """Every instrument a query asks for by name is one the collector writes."""
    known = {key + part for key in INSTRUMENTS for part in HISTOGRAM_PARTS}
    asked = {
        name
        for query in cache_queries().values()
        for group in re.findall(r"instrument (?:=|in) (\([^)]*\)|'[^']*')", query.text)
        for name in re.findall(r"'([^']*)'", group)
    }
    assert len(asked) > 10
    assert asked <= known


def test_promql_asks_for_names_that_are_collected() -> None:
    """The check by hand reads the same series as the panel."""
    known = {name for instrument in INSTRUMENTS.values() for name in instrument.series_names}
    asked = {
        name
        for query in prometheus_queries().values()
        for name in re.findall(r"vllm:\w+|litellm_\w+", query.text)
    }
    assert len(asked) > 5
    assert asked <= known


def test_metrics_name_queries_that_exist() -> None:
    """Every metric is read by a cache query, and checked by a PromQL where it names one."""
    for metric in METRICS.values():
        assert metric.query in cache_queries(), metric.key
        assert metric.key in cache_queries()[metric.query].metrics, metric.key
        if metric.promql:
            assert metric.promql in prometheus_queries(), metric.key
            assert metric.key in prometheus_queries()[metric.promql].metrics, metric.key


def test_queries_name_metrics_that_exist() -> None:
    """Every key in a header is an entry of the catalogue."""
    for query in every_query():
        assert set(query.metrics) <= set(METRICS), query.where


def test_metrics_name_instruments_that_exist() -> None:
    """Every instrument behind a metric is known, and so is everything shown of it."""
    for metric in METRICS.values():
        assert set(metric.instruments) <= set(INSTRUMENTS), metric.key
        assert bool(metric.numerator) == bool(metric.denominator), metric.key
        for words in (metric.label, metric.definition, metric.population, metric.weighting):
            assert words.strip(), metric.key


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def query_text(name: str, body: str = "select 'x' as a order by a") -> str:
    return HEADER.format(name=name) + body + "\n"


def test_a_name_used_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    """Two queries of one name, in one file or two, stop the start and name both lines."""
    one = write(tmp_path, "cache/one.sql", query_text("twice"))
    two = write(tmp_path, "cache/two.sql", query_text("once") + "\n" + query_text("twice"))
    with pytest.raises(QueryFileError, match=r"two\.sql:7: twice .* at cache/one\.sql:1"):
        _load([one, two])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (query_text("q", "select $start as a order by a"), r"q\.sql:1: declared and used .*start"),
        (
            query_text("q").replace("params: none", "params: start timestamptz"),
            r"q\.sql:1: declared and used .*start",
        ),
        (query_text("q").replace("-- params: none\n", ""), r"q\.sql:1: no 'params:'"),
        (query_text("q").replace("-- returns: a text\n", ""), r"q\.sql:1: no 'returns:'"),
        (query_text("q").replace("-- One row, for a test.\n", ""), r"q\.sql:1: say what one row"),
        ("select 1\n", r"q\.sql:1: text before the first 'name:'"),
        ("-- params: none\n\nselect 1\n", r"q\.sql:3: text before the first 'name:'"),
        (query_text("a") + "\n-- name: b\nselect 1\n", r"q\.sql:7: no 'params:'"),
    ],
)
def test_a_broken_header_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """What is missing or not declared is named with the file and the line of its header."""
    with pytest.raises(QueryFileError, match=message):
        _load([write(tmp_path, "cache/q.sql", text)])


def test_a_good_file_is_taken_apart(tmp_path: Path) -> None:
    """Name, parameters, columns, metrics, prose and text are read, in both languages."""
    text = (
        "# name: q\n# params: matchers, window\n# returns: ratio\n# metrics: engine_hit_ratio\n"
        "# Two lines\n# of prose.\nsum(x{$matchers}[$window])\n"
    )
    (query,) = _load([write(tmp_path, "prometheus/q.promql", text)]).values()
    assert query == NamedQuery(
        "q",
        ("matchers", "window"),
        ("ratio",),
        ("engine_hit_ratio",),
        "Two lines of prose.",
        "sum(x{$matchers}[$window])",
        "prometheus/q.promql:1",
    )


def test_a_part_that_is_missing_is_named() -> None:
    """A PromQL without all of its parts is never sent."""
    with pytest.raises(QueryFileError, match="needs window"):
        render_promql("hit_ratio", matchers={})


def unquoted(literal: str) -> str:
    assert literal[0] == literal[-1] == '"'
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


@given(st.text())
def test_a_label_value_cannot_leave_its_quotes(value: str) -> None:
    """Whatever a label holds, it is one string literal that means exactly that."""
    literal = quoted(value)
    assert re.fullmatch(r'"(?:[^"\\\n]|\\.)*"', literal, flags=re.DOTALL)
    assert unquoted(literal) == value


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text())
def test_a_choice_of_values_matches_them_and_nothing_else(values: list[str], other: str) -> None:
    """A regular expression made of literal values is anchored to those values."""
    pattern = re.compile(unquoted(any_of(values)))
    assert all(pattern.fullmatch(value) for value in values)
    assert bool(pattern.fullmatch(other)) == (other in values)


@pytest.mark.prometheus
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("value", ["prod", 'a"} or vector(1) #', "back\\slash\nline", "模型"])
def test_prometheus_reads_every_query(tmp_path: Path, value: str) -> None:
    """promtool accepts every query as it is rendered, whatever the scope holds."""
    lines = ["groups:", "- name: queries", "  rules:"]
    for name in prometheus_queries():
        parts = PARTS | {"and_matchers": f",pod={quoted(value)}"}
        wanted = {k: v for k, v in parts.items() if k in prometheus_queries()[name].params}
        text = render_promql(name, matchers={"pod": value}, **wanted)
        if text.endswith("]"):
            text = f"count_over_time({text})"
        lines += [f"  - record: test:{name}", "    expr: |", *_indented(text)]
    rules = write(tmp_path, "rules.yml", "\n".join(lines) + "\n")
    checked = subprocess.run(
        ["promtool", "check", "rules", str(rules)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(prometheus_queries())} rules found" in checked.stdout


def _indented(text: str) -> list[str]:
    return [f"      {line}" for line in text.split("\n")]
