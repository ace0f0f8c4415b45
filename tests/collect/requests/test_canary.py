"""Texts and keys leave no trace: not in requests, batches, tables, state or logs."""

import logging
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from core.collect.requests.exports import read_exports
from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.exported import write_export
from tests.collect.requests.fake_langfuse import FakeLangfuse, iso, observation, score
from tests.collect.requests.rig import T0, Rig, path_of
from tests.recorded_langfuse import PUBLIC, SECRET

CANARY = "the canary sings of the customer's secret illness"
"""A text, longer than the short words that violations may quote."""


def told_rows() -> list[dict[str, Any]]:
    """Rows with the text wherever a sender may put one."""
    asked = {"role": "user", "content": CANARY}
    everywhere = {
        "input": [asked],
        "output": CANARY,
        "statusMessage": f"invalid request: {CANARY}",
        "modelParameters": {"messages": [asked], "max_tokens": 5, "stop": CANARY},
        "tags": [CANARY, f"note:{CANARY}"],
        "prompt": CANARY,
        "traceName": CANARY,
        "userId": CANARY,
    }
    metadata = {
        "scope.name": "langfuse-sdk",
        "prompt": CANARY,
        "messages": [asked],
        "a": {"b": [asked]},
    }
    usage = {"input": 1, "note": CANARY}
    return [
        observation(1, T0 - 50) | everywhere | {"metadata": metadata},
        observation(2, T0 - 51) | everywhere | {"level": "ERROR"},
        observation(3, T0 - 52) | everywhere | {"usageDetails": usage},
        observation(4, T0 - 53) | everywhere | {"usageDetails": {"input": CANARY, "output": 2}},
        observation(5, T0 - 54) | everywhere | {"level": [CANARY]},
        observation(6, T0 - 55) | everywhere | {"metadata": CANARY},
        observation(7, T0 - 56) | everywhere | {"metadata": [CANARY], "startTime": iso(T0 - 56)},
    ]


def told_scores() -> list[dict[str, Any]]:
    """Scores with the text in comments, free texts, corrections and metadata."""
    return [
        score(1, T0 - 50, comment=CANARY, metadata={"reason": CANARY, "repeat": CANARY}),
        score(2, T0 - 50, dataType="TEXT", value=CANARY),
        score(3, T0 - 50, dataType="CORRECTION", value=CANARY),
        score(4, T0 - 50, dataType="NUMERIC", value=CANARY),
        score(5, T0 - 50, value=0.5, metadata=CANARY),
        score(6, T0 - 50, metadata={"inclusion_probability": CANARY}),
        score(7, T0 - 50, dataType=[CANARY]),
    ]


def everything_written(rig: Rig) -> str:
    """All that lies in the folder as text: batches decoded, tables, state and log."""
    found = [path.name for path in rig.settings.home.rglob("*")]
    files = [path for path in rig.settings.home.rglob("*") if path.is_file()]
    found += [str(pq.read_table(p).to_pylist()) for p in files if p.suffix == ".parquet"]
    found += [p.read_bytes().decode("latin-1") for p in files if p.suffix != ".parquet"]
    tables = rig.sql(
        "select table_name from information_schema.tables where table_type like 'BASE%'"
    )
    for (table,) in tables:
        found += [str(row) for row in rig.sql(f"select * from {table}")]  # noqa: S608
    return "\n".join(found)


def written_by(rig: Rig, caplog: pytest.LogCaptureFixture) -> str:
    """Before and after merging, and what was logged."""
    waiting = [str(pq.read_table(p).to_pylist()) for p in rig.settings.home.rglob("*.parquet")]
    assert waiting
    return "\n".join([*waiting, everything_written(rig), caplog.text])


@pytest.mark.parametrize(("mode", "version"), [("events_only", "4.16.0"), ("old", "3.100.0")])
def test_no_text_is_kept_of_an_api(
    langfuse_rig_of: RequestRigOf, caplog: pytest.LogCaptureFixture, mode: str, version: str
) -> None:
    """v2 never asks for texts, v1 sends them anyway: neither leaves one anywhere."""
    caplog.set_level(logging.DEBUG)
    server = FakeLangfuse(told_rows(), told_scores(), mode=mode, version=version)
    server.sessions = {"trace-0000": "session-0"}
    rig = langfuse_rig_of(server)
    rig.orders.place("trace-0001", now=T0)
    rig.catch_up()
    written = written_by(rig, caplog)
    assert len(rig.ids()) == 6
    assert len(rig.ids("scores")) == 4
    assert CANARY not in written
    assert "canary" not in written
    for request in server.asked:
        fields = request.url.params.get("fields", "").split(",")
        assert "io" not in fields
        assert CANARY not in str(request.url)
    if mode == "events_only":
        asked = [r for r in server.asked if path_of(r) == "/v2/observations"]
        assert asked
        assert all("fields" in request.url.params for request in asked)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_no_text_is_kept_of_an_export(
    site: Rig, tmp_path: Path, caplog: pytest.LogCaptureFixture, ending: str
) -> None:
    """Columns of texts stay in the file."""
    caplog.set_level(logging.DEBUG)
    rows = [row for row in told_rows() if isinstance(row["level"], str)]
    scores = [row for row in told_scores() if isinstance(row["dataType"], str)]
    files = [
        write_export(tmp_path / f"observations{ending}", rows),
        write_export(tmp_path / f"scores{ending}", scores),
    ]
    read_exports(files, site.settings, site.inbox)
    written = written_by(site, caplog)
    assert len(site.ids()) >= 5
    assert CANARY not in written


@pytest.mark.parametrize("status", [200, 401, 403, 404, 429, 500])
def test_the_keys_are_nowhere(
    site: Rig, server: FakeLangfuse, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """Both keys are sent as credentials, and told in no table, state, error or log."""
    caplog.set_level(logging.DEBUG)
    server.observations = [observation(1, T0 - 50)]
    if status != 200:
        server.fault = lambda r: (
            None if "health" in path_of(r) else httpx.Response(status, json={"message": "no"})
        )
    site.collector().step()
    written = written_by(site, caplog)
    assert SECRET not in written
    assert PUBLIC not in written
    assert all(request.headers["authorization"].startswith("Basic ") for request in server.asked)
    assert not any(SECRET in str(r.url) or PUBLIC in str(r.url) for r in server.asked)
    for told in (
        repr(site.settings),
        site.settings.model_dump_json(),
        repr(vars(site.collector())),
    ):
        assert SECRET not in told


def test_the_canary_would_be_found(site: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """The search itself works: a name is kept, and is found in batch and table."""
    site.feed([observation(1, T0, name=CANARY)])
    written = written_by(site, caplog)
    assert written.count(CANARY) >= 2
