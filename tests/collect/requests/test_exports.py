"""Export files give the table that the API gives; damaged ones are named."""

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from core.collect.requests.exports import read_exports
from core.errors import SourceContract
from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.exported import write_export
from tests.collect.requests.fake_langfuse import FakeLangfuse, observation, score
from tests.collect.requests.rig import T0, Rig, project
from tests.recorded_langfuse import FOLDER, recorded

ENDINGS = (".parquet", ".jsonl", ".csv", ".json", ".jsonl.gz", ".csv.gz", ".json.gz")
FULL = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"


def recorded_observations() -> list[dict[str, Any]]:
    """Rows with every field group: contracts, errors, unfinished ones, a session, a gateway."""
    names = (
        "dual/v2_observations_contracts_trace",
        "dual/v2_observations_otel_trace_all",
        "dual/v2_observations_session",
        "dual/v2_legacy_session",
    )
    rows = [row for name in names for row in recorded(name).rows]
    gateway = json.loads(
        (FOLDER / "gateway/classic_tags_observations_v2_expanded.json").read_text()
    )
    return rows + gateway["data"]


def recorded_scores() -> list[dict[str, Any]]:
    return recorded("dual/v3_scores_all_groups").rows


@pytest.fixture(scope="module")
def as_of_the_api(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tables that the API's own rows make."""
    rig = Rig(tmp_path_factory.mktemp("api"), FakeLangfuse())
    rig.feed(recorded_observations(), recorded_scores())
    tables = rig.tables()
    rig.close()
    return tables


@pytest.mark.parametrize("camel", [False, True], ids=["snake", "camel"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_export_gives_the_table_of_the_api(
    site: Rig, tmp_path: Path, as_of_the_api: dict[str, Any], ending: str, *, camel: bool
) -> None:
    """Every format, gzipped or not, with names in either case: the same rows."""
    rows, scores = recorded_observations(), recorded_scores()
    files = [
        write_export(tmp_path / f"observations{ending}", rows, camel=camel),
        write_export(tmp_path / f"scores{ending}", scores, camel=camel),
    ]
    assert read_exports(files, site.settings, site.inbox) == len(rows) + len(scores)
    tables = site.tables()
    assert len(tables["observations"]) == len(as_of_the_api["observations"]) > 50
    assert tables == as_of_the_api


def test_a_folder_is_read_and_other_tables_are_left(
    site: Rig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A whole export folder: observations and scores are read, traces are left and named."""
    caplog.set_level(logging.INFO)
    write_export(tmp_path / "out/observations/2026-11-30.jsonl.gz", [observation(1, T0)])
    write_export(tmp_path / "out/observations/2026-12-01.csv", [observation(2, T0)])
    write_export(tmp_path / "out/scores/2026-11-30.parquet", [score(1, T0)])
    write_export(tmp_path / "out/traces/2026-11-30.jsonl", [{"id": "t", "timestamp": "x"}])
    (tmp_path / "out/observations/_SUCCESS").touch()
    assert read_exports([tmp_path / "out"], site.settings, site.inbox) == 3
    assert site.ids() == ["obs-0001", "obs-0002"]
    assert site.ids("scores") == ["score-0001"]
    assert "2026-11-30.jsonl" in caplog.text


def test_a_damaged_line_costs_one_row(site: Rig, tmp_path: Path) -> None:
    """Half a line is one violation; the lines around it are read."""
    file = write_export(tmp_path / "observations.jsonl", [observation(n, T0) for n in range(3)])
    lines = file.read_text().splitlines()
    lines[1] = lines[1][:40]
    file.write_text("\n".join([*lines, "", "  "]))
    assert read_exports([file], site.settings, site.inbox) == 3
    assert site.ids() == ["obs-0000", "obs-0002"]
    assert site.value("select rule from violations") == "unreadable_row"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("observations.json", b""),
        ("observations.json", b'[{"id": "a"}, {"id"'),
        ("observations.json", b'{"id": "a"}'),
        ("observations.parquet", b""),
        ("observations.parquet", b"PAR1 not really"),
        ("observations.csv.gz", b"no gzip"),
        ("observations.jsonl.gz", gzip.compress(b"{}\n" * 99)[:-12]),
        ("observations.jsonl", b'{"id": "a\xff"}\n'),
        ("observations.csv", b'id,start_time\n"a\x00b",1\n'),
        ("observations.xml", b"<a/>"),
        ("rows.csv", b"id\n"),
        ("traces.csv", b"id\n"),
    ],
)
def test_a_damaged_or_unknown_file_is_named(
    site: Rig, tmp_path: Path, name: str, content: bytes
) -> None:
    """A file that cannot be read is an error with its name and a next step, not a traceback."""
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / name).write_bytes(content)
    if name == "observations.csv":
        assert read_exports([folder / name], site.settings, site.inbox) in (0, 1)
        return
    with pytest.raises(SourceContract, match=name) as caught:
        read_exports([folder / name], site.settings, site.inbox)
    assert caught.value.next_step


def test_a_file_that_is_not_there_is_named(site: Rig, tmp_path: Path) -> None:
    """A wrong path is told."""
    with pytest.raises(SourceContract, match="observations-gone"):
        read_exports([tmp_path / "observations-gone.csv"], site.settings, site.inbox)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".json", ".parquet"])
def test_an_empty_file_has_no_rows(site: Rig, tmp_path: Path, ending: str) -> None:
    """A window without rows is no error."""
    file = tmp_path / f"scores{ending}"
    if ending == ".parquet":
        pq.write_table(pq.read_table(write_export(file, [score(1, T0)])).slice(0, 0), file)
    else:
        file.write_text({".json": "[]", ".csv": "id,name\n"}.get(ending, ""))
    assert read_exports([file], site.settings, site.inbox) == 0
    assert site.ids("scores") == []


def test_a_byte_order_mark_is_no_part_of_a_name(site: Rig, tmp_path: Path) -> None:
    """A CSV that begins with a mark keeps its first column."""
    file = write_export(tmp_path / "observations.csv", [observation(1, T0)])
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    read_exports([file], site.settings, site.inbox)
    assert site.ids() == ["obs-0001"]


def test_only_the_columns_that_are_read_leave_the_file(
    site: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a Parquet file the texts are not even decoded."""
    file = write_export(
        tmp_path / "observations.parquet",
        [observation(1, T0, input="in", output="out", comment="c")],
    )
    taken: list[list[str]] = []
    real = pq.ParquetFile.iter_batches

    def spy(self: Any, *given: Any, **named: Any) -> Any:
        taken.append(named["columns"])
        return real(self, *given, **named)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    read_exports([file], site.settings, site.inbox)
    assert taken
    assert not {"input", "output", "comment"} & set(taken[0])


def test_a_span_without_usage_is_a_row(site: Rig, tmp_path: Path) -> None:
    """An empty map, an empty text or words that are no JSON lose no row."""
    rows = [observation(n, T0, type="SPAN", usageDetails={}, tags=[]) for n in range(2)]
    parquet = write_export(tmp_path / "observations-1.parquet", rows[:1])
    table = write_export(tmp_path / "observations-2.csv", rows[1:])
    table.write_text(table.read_text().replace("[]", "\"['a','b']\"").replace("{}", "[]"))
    read_exports([parquet, table], site.settings, site.inbox)
    assert site.ids() == ["obs-0000", "obs-0001"]
    assert site.value("select count(*) from violations") == 0


def test_an_old_export_brings_no_deleted_score_back(
    langfuse_rig_of: RequestRigOf, tmp_path: Path
) -> None:
    """A file knows what was there when it was written, not what is there now."""
    server = FakeLangfuse(**project(3, every_s=60, scores=3))
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    rig.catch_up(collector)
    file = write_export(tmp_path / "scores.jsonl", server.scores)
    server.scores = server.scores[:2]
    rig.pass_time(collector, 200)
    assert rig.deleted() == ["score-0002"]
    read_exports([file], rig.settings, rig.inbox)
    assert rig.deleted() == ["score-0002"]
