"""The rooms of the house: who may import whom, how large things may grow, what starts it."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from streamlit.runtime.pages_manager import PagesManager

ROOT = Path(__file__).resolve().parents[1]
CORE = sorted((ROOT / "core").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
APP = ROOT / "app.py"
PAGE_IMPORTS = ("streamlit", "core.ui", "core.charts", "core.messages", "core.views")
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_PAGE = 60
LONG_ON_PURPOSE = {
    "core/catalogue.py": "one entry a metric: it grows with what is measured, not with logic",
    "core/messages.py": "one line a text: it grows with what is said, not with logic",
}
ARITHMETIC = (ast.BinOp, ast.AugAssign, ast.Compare)
REDUCING = {"sum", "min", "max", "round", "abs", "sorted", "int", "float", "divmod", "pow"}
OUTSIDE = ("select ", "insert ", "http://", "https://")


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def imported(file: Path) -> set[str]:
    """Every module a file names in an import; `from a import b` counts as both a and a.b."""
    names: set[str] = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def inside(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_imports_only_what_lays_out(page: Path) -> None:
    """Pages know Streamlit, core.ui, core.charts, core.messages and their view; nothing else."""
    assert {name for name in imported(page) if not inside(name, PAGE_IMPORTS)} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_works_nothing_out(page: Path) -> None:
    """No arithmetic, no comparison, no comprehension, no SQL and no address on a page."""
    for node in ast.walk(parsed(page)):
        where = f"{name_of(page)}:{getattr(node, 'lineno', 0)}"
        assert not isinstance(node, ARITHMETIC), where
        assert not isinstance(node, (ast.comprehension, ast.For, ast.While, ast.Try)), where
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in REDUCING, where
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not any(mark in node.value.lower() for mark in OUTSIDE), where
        if isinstance(node, ast.JoinedStr):
            assert not any(isinstance(part, ast.FormattedValue) for part in node.values), where


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_short(page: Path) -> None:
    """A page is layout; one that grows has work in it that belongs elsewhere."""
    assert len(page.read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_A_PAGE


def test_every_page_is_in_the_list_with_its_name() -> None:
    """File, URL, view and text of a page share one name, and no page is left out."""
    constants = {node.value for node in ast.walk(parsed(APP)) if isinstance(node, ast.Constant)}
    for page in PAGES:
        assert f"pages/{page.name}" in constants
        assert page.stem in constants
        assert (ROOT / "core" / "views" / page.name).exists()


def test_views_load_no_streamlit() -> None:
    """All of core.views in a fresh interpreter: a report or a test needs no web framework."""
    views = [f"core.views.{f.stem}" for f in (ROOT / "core" / "views").glob("[a-z]*.py")]
    assert len(views) > len(PAGES)
    code = (
        f"import sys, importlib\nfor name in {views!r}:\n    importlib.import_module(name)\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"streamlit", "plotly"} & set(run.stdout.split()) == set()


def test_streamlit_stays_in_its_room() -> None:
    """Only app.py, the pages and core.ui import Streamlit."""
    knows = {name_of(f) for f in (*CORE, *PAGES, APP) if any(_streamlit(n) for n in imported(f))}
    assert all(name.startswith(("app.py", "pages/", "core/ui/")) for name in knows)
    assert "app.py" in knows


def _streamlit(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] == "streamlit"


@pytest.mark.parametrize("file", [*CORE, APP], ids=name_of)
def test_files_stay_small(file: Path) -> None:
    """No file of the program grows beyond what one reads in one sitting."""
    lines = len(file.read_text(encoding="utf-8").splitlines())
    if name_of(file) in LONG_ON_PURPOSE:
        assert lines > MOST_LINES, "no longer long: take it off the list"
    else:
        assert lines <= MOST_LINES


def functions(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield f"{name_of(file)}:{node.name}", node.end_lineno - node.lineno + 1


def test_functions_stay_short() -> None:
    """No function is longer than a screen."""
    long = {
        name: lines
        for file in (*CORE, *PAGES, APP)
        for name, lines in functions(file)
        if lines > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")


def targets() -> set[str]:
    """Targets a person may call: those without a folder in their name."""
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile(), re.MULTILINE))


def test_every_target_is_explained() -> None:
    """`make help` lists every target with a text, and every listed one is phony."""
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    helped = {line.split(maxsplit=1)[0] for line in listed if len(line.split(maxsplit=1)) == 2}
    phony = re.search(r"^\.PHONY:(.*)$", makefile(), re.MULTILINE)
    assert phony is not None
    assert targets() == helped == set(phony[1].split())


def test_the_readme_can_be_followed() -> None:
    """Every `make` command of the README exists, and run and test are among them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"(?:^ {4,}|^\$ |^|`|=\S+ )make ([a-z][a-z-]*)", readme, re.MULTILINE)
    assert {"run", "test"} <= set(commands) <= targets()


def test_the_server_is_local_and_silent() -> None:
    """It binds to loopback, sends no statistics, and shows no source lines to readers."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["address"] == "127.0.0.1"
    assert config["server"]["enableAgentApi"] is False
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"]["showErrorDetails"] == "none"


def test_the_private_switch_still_exists() -> None:
    """Streamlit still has what app.py sets so that a first deep link shows the whole app."""
    assert "uses_pages_directory" in vars(PagesManager)
    switched = [
        node
        for node in parsed(APP).body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "PagesManager.uses_pages_directory"
    ]
    assert len(switched) == 1
    assert ast.unparse(switched[0].value) == "False"


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_everything_installed_is_pinned(name: str) -> None:
    """Each line of the .in file is in the .txt file at one version it allows; all have hashes."""
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    pinned = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            one, *hashes = line.split("--hash=sha256:")
            requirement = Requirement(one.strip())
            assert hashes, line
            assert all(re.fullmatch(r"[0-9a-f]{64}", value.strip()) for value in hashes), line
            assert [s.operator for s in requirement.specifier] == ["=="], line
            (specifier,) = requirement.specifier
            pinned[canonicalize_name(requirement.name)] = specifier.version
    asked = [
        Requirement(line.split("#")[0])
        for line in (ROOT / f"{name}.in").read_text(encoding="utf-8").splitlines()
        if line.split("#")[0].strip() and not line.startswith("-")
    ]
    assert asked
    for requirement in asked:
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])
