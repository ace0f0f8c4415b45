"""Programs that are started, recognised again and ended; nothing is left behind.

A process is known by pid and birth: a pid that was given to another is not ours.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from core.bench import lifeline
from core.bench.lifeline import all_lines, below, line_of
from core.errors import BenchRefusedError

GLANCE_S = 0.02
GRACE_S = 5.0
"""From TERM to KILL."""


@dataclass(frozen=True)
class Mark:
    """One process of this machine since it was switched on: its pid and when it was born."""

    pid: int
    born: str


def mark_of(pid: int) -> Mark | None:
    """Who has this pid now; None where nobody lives there."""
    line = line_of(pid)
    if line is None or not line.alive:
        return None
    return Mark(pid, f"{_boot()}:{line.born}")


def is_alive(mark: Mark) -> bool:
    """Whether the very process still runs."""
    return mark_of(mark.pid) == mark


def own_mark() -> Mark:
    """The running process itself.

    Raises
    ------
    BenchRefusedError
        The system has no /proc to tell processes by.
    """
    if not Path("/proc/self/stat").exists():
        raise BenchRefusedError("processes are told apart by /proc, which this system lacks")
    mark = mark_of(os.getpid())
    assert mark is not None, "a running process is alive"  # noqa: S101
    return mark


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit status, negative for a signal, and whether we ended it."""

    status: int
    stopped: bool
    ended_at: float


class Held:
    """A program that lives no longer than this process, nor anything it starts."""

    def __init__(self, process: "subprocess.Popen[bytes]", exit_file: Path) -> None:
        self._process = process
        self._exit_file = exit_file
        self.mark = mark_of(process.pid)

    @property
    def ended(self) -> Ended | None:
        """How it ended; None while it runs."""
        if self._process.poll() is None:
            return None
        try:
            return msgspec.json.decode(self._exit_file.read_bytes(), type=Ended)
        except (FileNotFoundError, msgspec.DecodeError):
            # The keeper was killed before it could say.
            return Ended(self._process.returncode, stopped=False, ended_at=time.time())

    def stop(self) -> Ended:
        """End it and all it started, by TERM and then KILL."""
        assert self._process.stdin is not None  # noqa: S101 - made with a pipe
        self._process.stdin.close()
        self._process.wait()
        if self.mark is not None:
            stop_left(self.mark)
        ended = self.ended
        assert ended is not None  # noqa: S101 - waited for above
        return ended


def hold(
    command: Sequence[str],
    folder: Path,
    *,
    name: str,
    environment: Mapping[str, str],
    merged: bool = False,
    grace_s: float = GRACE_S,
) -> Held:
    """Start a program whose files lie in a folder under its name.

    `name`.stdout and .stderr (one `name`.log if merged), .process.json with its mark,
    .exit.json when it has ended.
    """
    exit_file = folder / f"{name}.exit.json"
    keeper = [sys.executable, "-I", "-S", str(Path(lifeline.__file__).resolve())]
    keeper += [str(exit_file), str(grace_s), "--", *command]
    with contextlib.ExitStack() as files:
        output = files.enter_context(
            (folder / f"{name}.{'log' if merged else 'stdout'}").open("wb")
        )
        errors = output if merged else files.enter_context((folder / f"{name}.stderr").open("wb"))
        process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
            keeper,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    held = Held(process, exit_file)
    if held.mark is not None:
        write_json(folder / f"{name}.process.json", held.mark)
    return held


def recorded(folder: Path) -> list[Mark]:
    """Marks of the programs that were started with files in a folder."""
    marks = []
    for path in folder.glob("*.process.json"):
        with contextlib.suppress(msgspec.DecodeError):
            marks.append(msgspec.json.decode(path.read_bytes(), type=Mark))
    return marks


def stop_left(mark: Mark, *, grace_s: float = 2.0) -> int:
    """End what is left of a started program; how many processes that were.

    TERM for all, then KILL; its keeper last, for while it lives it is the ancestor of all.
    """
    left = members = _left_of(mark)
    patience = time.monotonic() + grace_s
    _send(members, signal.SIGTERM)
    while left:
        if time.monotonic() > patience:
            _send((left - {mark.pid}) or left, signal.SIGKILL)
        time.sleep(GLANCE_S)
        left = _left_of(mark)
    return len(members)


def _left_of(mark: Mark) -> set[int]:
    """Living members of the session that the marked process began, and its descendants.

    A session's number is not given again while one member lives.
    """
    boot, _, born = mark.born.rpartition(":")
    leader = mark_of(mark.pid)
    if boot != _boot() or (leader is not None and leader != mark):
        return set()
    lines = all_lines().items()
    session = {pid for pid, x in lines if x.session == mark.pid and x.born >= int(born)}
    return session if leader is None else session | below(mark.pid)


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def write_json(path: Path, value: object) -> None:
    """A small file that is whole, and on disk, when it appears."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1))


def write_whole(path: Path, content: bytes) -> None:
    """A file that appears at once, whole."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
