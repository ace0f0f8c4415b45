"""The programs that a run starts: their argument lists and environments."""

import os
import shutil
import subprocess
from pathlib import Path

from core.config import Settings
from core.domain.bench.commands import Command

ROOT = Path(__file__).resolve().parents[2]
OURS = ("PREFIXWATCH_", "LANGFUSE_")
PATIENCE_S = 60.0
"""For a Python to start and import one small package."""
CLIENT_KEY, SERVER_KEY = "OPENAI_API_KEY", "VLLM_API_KEY"


def argument_list(command: Command, settings: Settings) -> list[str]:
    """The command with the `vllm` that is configured."""
    return [settings.bench_vllm, *command.arguments[1:]]


def environment_of(command: Command, settings: Settings) -> dict[str, str]:
    """What a started program may know: not our secrets, and of API keys the benchmark's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(OURS) and name not in {CLIENT_KEY, SERVER_KEY}
    }
    paths = [p for p in kept.pop("PYTHONPATH", "").split(os.pathsep) if p not in {"", str(ROOT)}]
    if paths:
        kept["PYTHONPATH"] = os.pathsep.join(paths)
    if settings.bench_api_key is not None:
        key = settings.bench_api_key.get_secret_value()
        kept |= {CLIENT_KEY: key, SERVER_KEY: key}
    return kept | command.environment


def own_environment(settings: Settings) -> dict[str, str]:
    """For a runner: all of ours, with the data folder wherever it is started."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PREFIXWATCH_DATA_DIR": str(settings.data_dir.resolve()),
        "PYTHONPATH": os.pathsep.join(paths),
    }


def interpreter(settings: Settings) -> str | None:
    """The Python that the configured `vllm` runs on; None where that cannot be told."""
    found = shutil.which(settings.bench_vllm)
    if found is None:
        return None
    try:
        with Path(found).open("rb") as file:
            first = file.readline(512).decode("utf-8", errors="replace")
    except OSError:
        return None
    words = first.removeprefix("#!").split()
    if not first.startswith("#!") or not words or "python" not in Path(words[0]).name:
        return None
    return words[0]


def has_xxhash(settings: Settings) -> bool | None:
    """Whether the Python that `vllm` runs on has xxhash; None where that cannot be told."""
    python = interpreter(settings)
    if python is None:
        return None
    try:
        looked = subprocess.run(  # noqa: S603 - an argument list, no shell
            [python, "-c", "import xxhash"],
            env=environment_of(Command([], {}), settings),
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return looked.returncode == 0
