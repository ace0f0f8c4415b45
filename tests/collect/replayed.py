"""A real Prometheus that serves one recording."""

import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests


@contextmanager
def served(program: str, recording: Path, folder: Path) -> Iterator[str]:
    """Start the server on a block of samples; gives its address."""
    with tarfile.open(recording) as archive:
        archive.extractall(folder)  # noqa: S202 - our own archive; Debian's 3.11.2 has no filter
    config = folder / "empty.yml"
    config.write_text("scrape_configs: []\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [
        program,
        f"--storage.tsdb.path={folder / 'tsdb'}",
        "--storage.tsdb.retention.time=100y",
        f"--config.file={config}",
        f"--web.listen-address={address}",
    ]
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as server:
        try:
            _wait_until_ready(f"http://{address}", server, log)
            yield f"http://{address}"
        finally:
            server.terminate()
            server.wait(20)


def _wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        try:
            if requests.get(f"{url}/-/ready", timeout=1).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    pytest.fail(f"prometheus did not become ready:\n{log.read_text()[-2000:]}")
