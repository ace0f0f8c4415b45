"""Ids: the same everywhere, and different for what is different."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.records import EngineLabels, Target, stable_id

ROOT = Path(__file__).resolve().parents[2]
PLAIN = st.none() | st.text(st.characters(exclude_characters="\x00\x1f", codec="utf-8"))
PARTS = st.lists(PLAIN, min_size=1, max_size=5).map(tuple)


@given(PARTS, PARTS)
def test_different_parts_have_different_ids(
    one: tuple[str | None, ...], other: tuple[str | None, ...]
) -> None:
    """Two ids are equal exactly when all parts are, in their order."""
    assert (stable_id(*one) == stable_id(*other)) == (one == other)


@given(PARTS)
def test_an_id_fits_a_bigint(parts: tuple[str | None, ...]) -> None:
    """63 bits, never negative: what the cache's key columns hold."""
    assert 0 <= stable_id(*parts) < 2**63


def test_absent_empty_and_the_word_none_are_three_things() -> None:
    """A label that is not there, an empty one, and one that says None differ."""
    assert len({stable_id(None), stable_id(""), stable_id("None")}) == 3
    assert stable_id("a", "b") != stable_id("b", "a")
    assert stable_id("a", None) != stable_id("a")
    assert stable_id("ab", "") != stable_id("a", "b")


@pytest.mark.parametrize(("one", "other"), [(("a\x1fb",), ("a", "b")), (("\x00",), (None,))])
def test_no_text_imitates_another_list_of_parts(
    one: tuple[str | None, ...], other: tuple[str | None, ...]
) -> None:
    """Whatever a label holds, it is one part."""
    assert stable_id(*one) != stable_id(*other)


def test_an_id_is_the_same_in_every_process() -> None:
    """Another process with another hash seed makes the same id, today and tomorrow."""
    script = "from core.domain.records import stable_id; print(stable_id('engine', None, 'é', 1.5))"
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {str(stable_id("engine", None, "é", 1.5))}


@given(st.tuples(PLAIN, PLAIN, PLAIN, PLAIN, PLAIN), st.tuples(PLAIN, PLAIN))
def test_engines_and_targets_are_told_apart_by_every_label(
    labels: tuple[str | None, ...], address: tuple[str | None, str | None]
) -> None:
    """Changing any one label makes another engine, and an engine is no target."""
    engine = EngineLabels(*labels)
    assert engine.as_tuple() == labels
    for i in range(5):
        changed = [*labels]
        changed[i] = (changed[i] or "") + "x"
        assert EngineLabels(*changed).engine_id != engine.engine_id
    assert Target(*address).target_id != engine.engine_id
