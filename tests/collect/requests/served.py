"""The fake Langfuse over real HTTP, for collectors that are processes of their own."""

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.collect.requests.fake_langfuse import FakeLangfuse
from tests.recorded_langfuse import PUBLIC, SECRET

ROOT = Path(__file__).resolve().parents[3]


class Served:
    """Answers on 127.0.0.1 until closed, each call after a little while."""

    def __init__(self, fake: FakeLangfuse, *, delay_s: float = 0.0) -> None:
        self.fake = fake
        self.delay_s = delay_s
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(served.delay_s)
                request = httpx.Request(
                    "GET", f"{served.url}{self.path}", headers=list(self.headers.items())
                )
                answer = served.fake.handle_request(request)
                body = answer.read()
                try:
                    self.send_response(answer.status_code)
                    for name, value in answer.headers.items():
                        if name != "content-length":
                            self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the one who asked was killed

            def log_message(self, *_: Any) -> None:
                """Nothing: hundreds of calls are expected."""

        return Handler


def start_collector(folder: Path, url: str, *words: str) -> subprocess.Popen[bytes]:
    """`python -m core.collect --source langfuse`, its words going to `folder/log`."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PREFIXWATCH_", "LANGFUSE_"))}
    settings = {
        "PYTHONPATH": str(ROOT),
        "PREFIXWATCH_LANGFUSE_URL": url,
        "PREFIXWATCH_LANGFUSE_PUBLIC_KEY": PUBLIC,
        "PREFIXWATCH_LANGFUSE_SECRET_KEY": SECRET,
        "PREFIXWATCH_DATA_DIR": str(folder / "data"),
        "PREFIXWATCH_COLLECT_EVERY_S": "0.3",
        "PREFIXWATCH_BACKFILL_DAYS": "0.2",
        "PREFIXWATCH_LANGFUSE_PARALLEL": "2",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "core.collect", "--source", "langfuse", *words],
            cwd=folder,
            env=own | settings,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
