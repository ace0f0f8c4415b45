"""A recorded gateway run: a real Prometheus, real rows, and the faults that were in it."""

import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator

import pytest
import requests

from core.config import Settings
from core.doctor import Level, examine
from core.sources.prometheus import PrometheusSource
from tests.collect.conftest import _program
from tests.doctor.fakes import (
    RECORDINGS,
    Found,
    Langfuse,
    gateway,
    langfuse_source,
    settings_of,
)

ENDS = {"classic": 1_796_042_789, "otel": 1_796_043_148}
"""Last second of each recorded run."""
WITHOUT_FLAG = "vllm-2 (127.0.0.1:18103)"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prometheus that serves the recorded run."""
    folder = tmp_path_factory.mktemp("gateway")
    with tarfile.open(RECORDINGS / "gateway" / "tsdb.tar.gz") as archive:
        archive.extractall(folder)  # noqa: S202 - our own archive; Debian's 3.11.2 has no filter
    (folder / "empty.yml").write_text("scrape_configs: []\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [
        _program("prometheus"),
        f"--storage.tsdb.path={folder / 'tsdb'}",
        "--storage.tsdb.retention.time=100y",
        f"--config.file={folder / 'empty.yml'}",
        f"--web.listen-address={address}",
    ]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as it,
    ):
        try:
            _wait_until_ready(f"http://{address}")
            yield f"http://{address}"
        finally:
            it.terminate()
            it.wait(20)


def _wait_until_ready(url: str) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if requests.get(f"{url}/-/ready", timeout=2).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.1)
    pytest.fail("Prometheus did not become ready")


def found_in(run: str, *, prometheus: str | None = None, cut: bool = False) -> Found:
    """What the doctor finds at the end of a run."""
    rows = gateway(f"{run}_observations_v2_expanded")
    if cut:
        rows = [_as_cut(row) for row in rows]
    rows.sort(key=lambda row: str(row["startTime"]), reverse=True)
    langfuse = Langfuse(*rows, scores=gateway("classic_scores_v3"))
    settings: Settings = settings_of(prometheus_url=prometheus)
    source = PrometheusSource(settings) if prometheus is not None else None
    try:
        return Found(
            examine(
                settings,
                prometheus=source,
                langfuse=langfuse_source(settings, langfuse),
                now=float(ENDS[run]),
            )
        )
    finally:
        if source is not None:
            source.close()


def _as_cut(row: dict[str, object]) -> dict[str, object]:
    """A row as it comes where long metadata is cut at 200 characters."""
    metadata = row["metadata"]
    assert isinstance(metadata, dict)
    text = str(metadata["usage_object"])
    return row | {"metadata": metadata | {"usage_object": text[:200] if text != "{}" else {}}}


@pytest.mark.prometheus
@pytest.mark.xdist_group("prometheus")
def test_the_recorded_run_has_the_faults_it_had(url: str) -> None:
    """vllm-2 lacks the flag; streams, gateway and rows do their part; and little else is wrong."""
    found = found_in("classic", prometheus=url)
    found.says(
        "usage_engine_flag",
        f"Start vLLM at {WITHOUT_FLAG} with --enable-prompt-tokens-details",
        "vllm-0 (127.0.0.1:18101), vllm-1 (127.0.0.1:18102) report it",
    )
    for key in ("usage_streams", "usage_gateway", "usage_present", "usage_zeros", "attribution"):
        assert found.level(key) is Level.OK
    found.says("usage_gateway", "litellm/tiny-llama 143 of 158")
    assert found.one("prometheus_version").title.startswith("Prometheus 2.42.0")
    assert sorted(found.wrong) == [
        ("kv_residency", "engines"),
        ("litellm_counters", "gateway"),
        ("prometheus_targets", "prometheus"),
        ("request_keys", "task_type"),
        ("scores", "scores"),
        ("usage_engine_flag", "usage"),
    ]


@pytest.mark.prometheus
@pytest.mark.xdist_group("prometheus")
def test_the_killed_engine_and_the_stopped_proxy_are_named(url: str) -> None:
    """Scrapes that failed at the end of the run are named by address."""
    found = found_in("classic", prometheus=url)
    found.says("prometheus_targets", "vllm 127.0.0.1:18102")
    found.says("litellm_counters", "litellm 127.0.0.1:4011")
    found.says("kv_residency", "vllm-0, vllm-1, vllm-2", "--kv-cache-metrics")


def test_requests_alone_name_the_address() -> None:
    """Without Prometheus the same engine is found, by its address."""
    found = found_in("classic")
    found.says("usage_engine_flag", "Start vLLM at 127.0.0.1:18103 with")
    assert found.level("attribution") is Level.UNKNOWN


def test_rows_of_the_other_callback_name_no_engine() -> None:
    """`langfuse_otel` writes no address: some engine lacks the flag, and rows cannot say which."""
    found = found_in("otel")
    assert found.level("usage_engine_flag") is Level.WARNING
    found.says("usage_engine_flag", "14 of 129 rows without a place", "Start every vLLM")
    found.says("usage_gateway", "litellm_otel/tiny-llama 115 of")
    assert found.level("usage_contract") is Level.OK


def test_cut_metadata_is_told_from_a_missing_flag() -> None:
    """The same run with metadata cut at 200 characters: the gateway's part is what is wrong."""
    found = found_in("classic", cut=True)
    found.says("usage_gateway", "usage_object is cut", "Use Langfuse 4")
    assert found.level("usage_gateway") is Level.WARNING
