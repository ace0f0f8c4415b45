"""The ends of logs, as they may be shown: few lines, no secret, no control characters."""

import re
from pathlib import Path

from core.config import Settings

BYTES = 32_768
LINES = 20
LINE = 400
MASK = "********"
_NOISE = re.compile(
    r"nanobind|^ - (leaked |\.\.\. skipped remainder)|resource_tracker: There appear"
)
"""What libraries say of themselves whenever a vLLM program ends, after its own last words."""
_FRAME = re.compile(
    r"(\([\w-]+ pid=\d+\) )?(ERROR [\d :-]+\[[^]]*\] )?"
    r"(  |Traceback \(|The above exception was|During handling of the above)"
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def tail(path: Path, settings: Settings, *, lines: int = LINES) -> str:
    """Last lines of a log; of a progress bar its last state. Empty where there is no file."""
    return last_lines(masked(_end(path), settings), lines=lines)


def last_lines(text: str, *, lines: int = LINES) -> str:
    r"""The last lines that say something.

    >>> last_lines("0%\r50%\r100%\n\nReady\n", lines=2)
    '100%\nReady'
    """
    return "\n".join(_said(text)[-lines:])


def last_words(*paths: Path, settings: Settings) -> str:
    """Last lines of failed programs without the frames of tracebacks.

    An engine's own reason stands above the frames of the process that waited for it.
    """
    text = "\n".join(masked(_end(path), settings) for path in paths)
    return "\n".join([line for line in _said(text) if not _FRAME.match(line)][-LINES:])


def _end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - BYTES, 0))
            return file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _said(text: str) -> list[str]:
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    clean = [_CONTROL.sub("", line).rstrip()[:LINE] for line in shown]
    return [line for line in clean if line and not _NOISE.search(line)]


def masked(text: str, settings: Settings) -> str:
    """The text without the API key and the secrets of Prometheus."""
    secrets = (settings.bench_api_key, settings.prometheus_token, settings.prometheus_password)
    for secret in secrets:
        if secret is not None and secret.get_secret_value():
            text = text.replace(secret.get_secret_value(), MASK)
    return text


def scrub_all(folder: Path, settings: Settings) -> None:
    """Take the API key out of everything that the programs of a run printed."""
    for pattern in ("*.stdout", "*.stderr", "*.log"):
        for path in folder.glob(pattern):
            scrub(path, settings)


def scrub(path: Path, settings: Settings) -> None:
    """Take the API key out of a file that a program wrote."""
    key = settings.bench_api_key
    if key is None or not path.exists():
        return
    content, secret = path.read_bytes(), key.get_secret_value().encode()
    if secret in content:
        path.write_bytes(content.replace(secret, MASK.encode()))
