"""Pages against views: what a view works out is shown, and nothing is asked for in vain."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

from core.views.benchmarks import BenchmarksView
from core.views.cached_prefill import CachedPrefillView
from core.views.data_health import DataHealthView
from core.views.fleet import Fleet
from core.views.hit_ratio import HitRatioView
from core.views.kv_residency import KvResidencyView
from core.views.live import LiveView
from core.views.preemption import PreemptionView
from core.views.request import RequestView

ROOT = Path(__file__).resolve().parents[2]
UI = sorted((ROOT / "core" / "ui").glob("*.py"))
VIEWS = {
    "benchmarks": BenchmarksView,
    "live": LiveView,
    "hit_ratio": HitRatioView,
    "cached_prefill": CachedPrefillView,
    "preemption": PreemptionView,
    "data_health": DataHealthView,
    "request": RequestView,
    "kv_residency": KvResidencyView,
}


def used_of(view: type, files: list[Path]) -> set[str]:
    """Attributes read from names that are annotated with the view."""
    used: set[str] = set()
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {
            node.arg
            for node in ast.walk(tree)
            if isinstance(node, ast.arg) and _is(node.annotation, view)
        } | {
            node.target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and _is(node.annotation, view)
        }
        used |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in names
        }
    return used


def _is(annotation: ast.expr | None, view: type) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == view.__name__


@pytest.mark.parametrize("page", VIEWS)
def test_every_field_of_a_view_is_shown(page: str) -> None:
    """A field that no page and no part of core.ui reads would be work nobody sees."""
    view = VIEWS[page]
    used = used_of(view, [ROOT / "pages" / f"{page}.py", *UI])
    assert {field.name for field in fields(view)} - used == set()


@pytest.mark.parametrize("page", VIEWS)
def test_pages_read_only_what_the_view_has(page: str) -> None:
    """A field that was renamed in the view is renamed on its page."""
    view = VIEWS[page]
    used = used_of(view, [ROOT / "pages" / f"{page}.py", *UI])
    assert used
    assert used <= {field.name for field in fields(view)} | set(vars(view))


def test_what_pages_share_is_shown() -> None:
    """The part that every view has holds no field that nothing reads."""
    read = {
        node.attr
        for folder in ("core/ui", "core/views", "core/charts")
        for file in (ROOT / folder).glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert {field.name for field in fields(Fleet)} - read == set()
