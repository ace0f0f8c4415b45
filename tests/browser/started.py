"""The app as its users start it: a server of its own on a free port of 127.0.0.1."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_S = 120.0
"""Longest wait for anything; machines under load are slow, and no test asserts a time."""
STOP_S = 30.0


class StartedApp:
    """`streamlit run app.py` on a data folder, until the end of the with-block."""

    def __init__(
        self, data_dir: Path, *, collector: bool = False, settings: Mapping[str, str] | None = None
    ) -> None:
        self.data_dir = data_dir
        self._port = _free_port()
        ours = {name: v for name, v in os.environ.items() if not name.startswith("PREFIXWATCH_")}
        self._environment = ours | {
            "PREFIXWATCH_DATA_DIR": str(data_dir),
            "PREFIXWATCH_COLLECTOR": str(collector).lower(),
            "PREFIXWATCH_PROMETHEUS_URL": "",
            **({} if settings is None else settings),
        }

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        """What the server wrote."""
        return self.data_dir.with_name(self.data_dir.name + "-server.log")

    @property
    def pid(self) -> int:
        """Process of the server."""
        return self._process.pid

    def __enter__(self) -> Self:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "streamlit", "run", "app.py"),
                    *("--server.port", str(self._port)),
                ],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5):  # noqa: S310
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError(f"the app did not start:\n{self.log.read_text(errors='replace')}")

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
