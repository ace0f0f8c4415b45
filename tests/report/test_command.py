"""`python -m core.report`: with and without the app, and what it says when it cannot."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from core import runtime
from core.cache.store import Store
from core.config import Settings
from core.domain.scope import from_query
from core.report.__main__ import COULD_NOT_RUN, FAILED, MADE, main
from core.report.about import APP_VERSION
from core.report.make import Format, document_of, written
from core.report.orders import KEEP_S, ReportOrders, answer_waiting
from tests.pages.homes import WRITTEN, WrittenEngine, leave, put

ROOT = Path(__file__).resolve().parents[2]
PERIOD = ["--from", WRITTEN["from"], "--to", WRITTEN["to"]]
STAMP = re.compile(rb"Made [\d: -]+ UTC")


def page_file(settings: Settings, store: Store, form: Format = Format.HTML) -> bytes:
    """What the page's button gives."""
    scope = from_query(WRITTEN)[0]
    document = document_of(store, settings, scope, experiment=None, now=time.time())
    return STAMP.sub(b"", written(document, form).data)


def test_the_file_is_the_page_s_but_for_its_stamp(
    real: Path, settings: Settings, tmp_path: Path
) -> None:
    """Without an app it opens the cache itself, merges what waits, and writes the same bytes."""
    put(real, WrittenEngine.sound("a").tables)
    leave(real, WrittenEngine.sound("b").tables)
    for form in (Format.HTML, Format.MARKDOWN):
        out = tmp_path / f"got.{form}"
        assert main([*PERIOD, "--format", form.value, "--out", str(out)]) == MADE
        assert len(STAMP.findall(out.read_bytes())) == 1
        store = Store(real / "cache.duckdb")
        assert STAMP.sub(b"", out.read_bytes()) == page_file(settings, store, form)
        store.close()
    assert b"2 of 2 engines" in (tmp_path / "got.html").read_bytes()


def test_a_running_app_makes_the_file(
    real: Path, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While an app holds the cache, another process asks it, and gets the very same file."""
    put(real, WrittenEngine.sound("a").tables)
    owner = runtime.running()
    out = tmp_path / "asked.html"
    run = subprocess.run(
        [sys.executable, "-m", "core.report", *PERIOD, "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == MADE, run.stderr
    assert "asked it to make the review" in run.stderr
    assert STAMP.sub(b"", out.read_bytes()) == page_file(settings, owner.store)
    assert not list((real / "reports").iterdir())


def test_a_holder_that_does_not_answer_is_named(
    real: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process with the cache and no app in it: an error that names it, and no file."""
    put(real, WrittenEngine.sound("a").tables)
    hold = "import sys, duckdb\nheld = duckdb.connect(sys.argv[1])\nprint('held', flush=True)\n"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold + "sys.stdin.read()", str(real / "cache.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        out = tmp_path / "none.html"
        assert main([*PERIOD, "--out", str(out), "--wait", "0.5"]) == COULD_NOT_RUN
    finally:
        holder.communicate()
    said = capsys.readouterr().err
    assert str(holder.pid) in said
    assert "did not answer within 0.5 s" in said
    assert not out.exists()
    assert not list((real / "reports").iterdir())


def test_without_a_cache_nothing_is_made(real: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No cache yet: said with its path, and none is created that would look like an empty one."""
    assert main(PERIOD) == FAILED
    assert str(Path("real") / "cache.duckdb") in capsys.readouterr().err
    assert not (real / "cache.duckdb").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--from", "yesterday", "--to", "today"], "from/to"),
        (["--from", WRITTEN["from"]], "from/to"),
        (["--range", "9d"], "invalid choice"),
        (["--range", "1d", *PERIOD], "give --range, or --from and --to"),
        (["--compare", "none"], "invalid choice"),
        (["--format", "pdf"], "invalid choice"),
        (["--experiment", "x", "--model", "m"], "give --experiment alone"),
    ],
)
def test_wrong_arguments_are_refused(
    wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, and what is wrong in words."""
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_an_experiment_nobody_registered_is_an_error(
    real: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named; the status is no success."""
    put(real, WrittenEngine.sound("a").tables)
    assert main(["--experiment", "nope"]) == FAILED
    assert "called nope" in capsys.readouterr().err


def test_a_folder_or_standard_output_takes_the_file(
    real: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """In a folder it has its own name, with the period in it; - is standard output alone."""
    put(real, WrittenEngine.sound("a").tables)
    folder = tmp_path / "reviews"
    folder.mkdir()
    assert main([*PERIOD, "--format", "csv", "--out", str(folder)]) == MADE
    (found,) = folder.iterdir()
    assert re.fullmatch(r"prefixwatch-review-\d{8}T\d{4}-\d{8}T\d{4}\.zip", found.name)
    capsysbinary.readouterr()
    assert main([*PERIOD, "--out", "-"]) == MADE
    assert capsysbinary.readouterr().out.startswith(b"<!DOCTYPE html>")
    assert main([*PERIOD, "--out", str(tmp_path / "no" / "where.html")]) == FAILED


def test_what_fails_in_the_app_is_told_to_who_asked(
    real: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of any kind is an answer with its words, and the next order is answered too."""
    store = Store(real / "cache.duckdb")
    orders = ReportOrders(real / "reports")
    first = orders.place(WRITTEN, Format.HTML, experiment="nope")
    assert answer_waiting(orders, store, settings) == 1
    answer = orders.answered(first)
    assert answer is not None
    assert answer.data is None
    assert answer.detail == "there is no readable plan of an experiment called nope"
    foreign = orders.place({"range": "a fortnight", "compare": "moon"}, Format.HTML)
    assert answer_waiting(orders, store, settings) == 1
    answer = orders.answered(foreign)
    assert answer is not None
    assert answer.data is None
    assert answer.detail == "the app cannot read range, compare of what was ordered"
    second = orders.place(WRITTEN, Format.HTML)
    monkeypatch.setattr("core.report.orders.document_of", lambda *_, **__: 1 / 0)
    answer_waiting(orders, store, settings)
    store.close()
    answer = orders.answered(second)
    assert answer is not None
    assert answer.detail == "ZeroDivisionError: division by zero"
    assert orders.answered(second) is None


def test_orders_of_nobody_are_swept(real: Path) -> None:
    """A file that is no order goes at once; one that waited an hour has nobody behind it."""
    orders = ReportOrders(real / "reports")
    kept = orders.place(WRITTEN, Format.HTML)
    old = orders.place(WRITTEN, Format.CSV)
    then = time.time() - KEEP_S - 1
    os.utime(orders.folder / f"{old.order_id}.order", (then, then))
    (orders.folder / "junk.order").write_text("{}")
    assert orders.waiting() == [kept]
    assert [path.name for path in orders.folder.iterdir()] == [f"{kept.order_id}.order"]


def test_the_version_in_the_foot_is_the_program_s() -> None:
    """A file says which version made it."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == APP_VERSION
