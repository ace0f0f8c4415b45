"""A home with a fake `vllm` that does as it is told, and what a test looks for after."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.bench import runner, server, watch
from core.bench.endpoint import Endpoint
from core.bench.jobs import Jobs
from core.bench.lifeline import all_lines
from core.config import Settings, load_settings
from core.domain.bench.plan import Pair, Plan, Serve
from core.domain.bench.presets import random_case, repetition_case

FAKE = Path(__file__).with_name("fake_vllm.py")
KEY = "sk-bench-0123456789"


@dataclass
class Home:
    """A data folder, a fake vllm in it, and the settings that allow it."""

    folder: Path
    settings: Settings

    def goes_wrong(self, **how: object) -> None:
        """What the fake does wrong from its next start on."""
        (self.folder / "bin" / "fake.json").write_text(json.dumps(how))

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.settings)

    def left(self) -> list[str]:
        """Command lines of living processes that have to do with this home."""
        found = []
        for pid in all_lines():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if str(self.folder) in words:
                found.append(words)
        return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Launching is on, the command is the fake, and nothing of it is left at the end."""
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{FAKE.read_text()}")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFIXWATCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PREFIXWATCH_BENCH_LAUNCH", "true")
    monkeypatch.setenv("PREFIXWATCH_BENCH_VLLM", str(program))
    monkeypatch.setenv("PREFIXWATCH_BENCH_API_KEY", KEY)
    monkeypatch.setattr(runner, "SETTLE_PAUSE_S", 0.01)
    monkeypatch.setattr(runner, "AFTER_DEATH_S", 0.2)
    monkeypatch.setattr(server, "GRACE_S", 0.3)
    monkeypatch.setattr(watch, "GLANCE_S", 0.02)
    made = Home(tmp_path, load_settings())
    made.goes_wrong()
    yield made
    for state in made.jobs.all():
        made.jobs.cancel(state.job_id)
    until(lambda: made.left() == [])


@pytest.fixture
def plan() -> Plan:
    """C/D once, small."""
    pair = Pair("C", "D", repetition_case(256, 32, output=4, prompts=6))
    return Plan("small", (pair,), model="m", tokenizer="t", concurrency=(2,), start_limit_s=20)


@pytest.fixture
def serving(home: Home) -> Iterator[Callable[..., str]]:
    """Starts a fake server that goes on running, as given ones do; answers its address."""
    started = []

    def start(*, caching: bool) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        flag = "--enable-prefix-caching" if caching else "--no-enable-prefix-caching"
        command = [home.settings.bench_vllm, "serve", "m", "--port", str(port), flag]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        url = f"http://127.0.0.1:{port}"
        with Endpoint(url, home.settings) as endpoint:
            until(endpoint.healthy)
        return url

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def two_pairs(plan: Plan) -> Plan:
    """A/B and C/D: four runs."""
    return replace(
        plan,
        pairs=(Pair("A", "B", random_case(0, 64, output=4, prompts=6)), *plan.pairs),
        serve=Serve(),
    )


def until(true: Callable[[], bool], *, most_s: float = 10.0) -> None:
    """Wait for something that is to become true."""
    end = time.monotonic() + most_s
    while not true():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.02)
