"""No default stands in for a measured value, in SQL or in Python."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILLERS = {"fillna", "nan_to_num", "coalesce", "ifnull", "nvl", "fill_null"}
NAMES_ONLY = r"(?!\s*[a-z]+\.[a-z_]+(\s*,\s*[a-z]+\.[a-z_]+)*\s*\))"
"""The first of several columns that is there is no filler: no constant is among them."""
FILLING = re.compile(
    rf"\bcoalesce\s*\({NAMES_ONLY}|\b(ifnull|nvl|nanvl)\s*\(|\bzeroifnull\b", re.IGNORECASE
)
EVERYTHING = re.compile(r"\bselect\s+\*", re.IGNORECASE)
REVIEWED = {
    (
        "core/domain/coverage.py",
        "covered_s.get((life.engine_id, begin), 0.0)",
    ): "seconds between scrape pairs that ended in the bin: no pair is none, and named so",
    (
        "core/views/pressure.py",
        "per_engine.get(row.engine_id, (0.0, 0))",
    ): "start of a running sum; the engine has at least the row that is being added",
    (
        "core/demo/simulate.py",
        "before.get(name, 0.0)",
    ): "a simulated counter is born at zero",
}
"""Defaults that stand in for no measured value: file, expression, why it is harmless."""


def zero_defaults(source: str) -> Iterator[str]:
    """Expressions of Python source that turn something absent into zero."""
    for node in ast.walk(ast.parse(source)):
        if _is_zero_default(node):
            yield ast.unparse(node)


def _is_zero_default(node: ast.AST) -> bool:
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.Or) and _is_zero(node.values[-1])
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in FILLERS:
        return True
    takes_default = name in {"get", "pop", "setdefault", "getattr", "next"} and len(node.args) > 1
    named = [word.value for word in node.keywords if word.arg in {"default", "fill_value"}]
    return (takes_default and _is_zero(node.args[-1])) or any(map(_is_zero, named))


def _is_zero(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_zero, node.elts))
    return isinstance(node, ast.Constant) and node.value in (0, 0.0) and node.value is not False


def python_files() -> list[Path]:
    return [*sorted((ROOT / "core").rglob("*.py")), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]


@pytest.mark.parametrize(
    "source",
    [
        "row.tokens or 0",
        "found.get(key, 0.0)",
        "found.get(key, (0.0, 0))",
        "frame.fillna(0)",
        "np.nan_to_num(values)",
        "max(values, default=0)",
        "next(values, 0)",
    ],
)
def test_the_scanner_sees_defaults(source: str) -> None:
    """Every way to turn an absent value into zero is seen."""
    assert len(list(zero_defaults(source))) == 1


@pytest.mark.parametrize(
    "source", ["found.get(key)", "a or b", "a or None", "found.get(key, '')", "x > 0 or y > 0"]
)
def test_the_scanner_lets_the_rest_be(source: str) -> None:
    """What makes no zero is not complained about."""
    assert list(zero_defaults(source)) == []


def test_no_default_stands_in_for_a_measured_value() -> None:
    """Every zero default in the program has been looked at, and none of the list is stale."""
    found = {
        (path.relative_to(ROOT).as_posix(), expression)
        for path in python_files()
        for expression in zero_defaults(path.read_text(encoding="utf-8"))
    }
    assert found == set(REVIEWED)


def test_no_query_fills_in_or_selects_everything() -> None:
    """SQL neither replaces null nor leaves its columns open, in files or in the program.

    Schema files may copy a whole table: there, the columns stand a few lines above.
    """
    sources = [*(ROOT / "queries").rglob("*.sql"), *(ROOT / "queries").rglob("*.promql")]
    assert len(sources) > 5
    for path in [*sources, *python_files()]:
        text = path.read_text(encoding="utf-8")
        assert not FILLING.search(text), path
        assert path.parent.name == "schema" or not EVERYTHING.search(text), path


@pytest.mark.parametrize(
    "text", ["select coalesce(sum(x), 0)", "coalesce(a.x, 0)", "coalesce(x, 0)", "IFNULL (x, 0)"]
)
def test_the_pattern_sees_fillers(text: str) -> None:
    """The pattern finds what it is meant to find."""
    assert FILLING.search(text)
    assert not FILLING.search("coalesce(o.pod, a.pod, p.pod)")


@pytest.mark.parametrize("text", ["select * from t", "select\n  * from t"])
def test_the_pattern_sees_open_columns(text: str) -> None:
    """The pattern finds what it is meant to find."""
    assert EVERYTHING.search(text)
    assert not EVERYTHING.search("select count(*) from t")


def test_promql_makes_no_zero_of_nothing() -> None:
    """No PromQL adds `or vector(0)` to an empty answer."""
    for path in (ROOT / "queries" / "prometheus").glob("*.promql"):
        assert not re.search(r"\bor\s+(on\s*\([^)]*\)\s*)?vector\s*\(\s*0", path.read_text())
