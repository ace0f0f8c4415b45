"""The keeper of one started program: when whoever holds its pipe is gone, so is the program.

Run as a file of its own, with nothing but the standard library:

    python -I -S lifeline.py EXIT_FILE GRACE_S -- PROGRAM ARGUMENT…

The other end of its standard input is held by the runner. When that closes, be it by a
wish or by `kill -9`, every process below is sent TERM, then KILL. Being a subreaper it
stays the ancestor of all of them, also of those that began a session of their own. Should
the keeper itself be killed, the kernel kills the program. Linux only.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CANNOT_START = 127
GLANCE_S = 0.02
PROC = Path("/proc")


class Line(NamedTuple):
    """What /proc says of a process: its state, family and birth in clock ticks since boot."""

    state: str
    parent: int
    session: int
    born: int

    @property
    def alive(self) -> bool:
        """Whether it runs: a zombie only waits for somebody to read its status."""
        return self.state not in "ZX"


def line_of(pid: int) -> Line | None:
    """One process, None where there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return Line(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))


def all_lines() -> dict[int, Line]:
    """Every process of this machine that is alive."""
    lines = {int(p.name): line_of(int(p.name)) for p in PROC.iterdir() if p.name.isdigit()}
    return {pid: line for pid, line in lines.items() if line is not None and line.alive}


def below(ancestor: int) -> set[int]:
    """Living processes that descend from one."""
    lines = all_lines()
    found: set[int] = set()
    more = {ancestor}
    while more:
        more = {pid for pid, line in lines.items() if line.parent in more} - found
        found |= more
    return found


def main(argv: list[str]) -> int:
    """Start the program, wait for its end or the pipe's, leave nothing below."""
    exit_file, grace, mark, *command = argv
    if mark != "--" or not command:
        raise SystemExit(2)
    keeper = Keeper(command)
    stopped = keeper.wait()
    keeper.end_all(float(grace))
    _leave(Path(exit_file), keeper.status, stopped=stopped)
    return keeper.status if keeper.status >= 0 else 128 - keeper.status


class Keeper:
    """The program and everything it started."""

    def __init__(self, command: list[str]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.status = CANNOT_START
        self._pid: int | None = None
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, self._noted)
        self._told = False
        try:
            # Only this thread exists, so running Python between fork and exec is safe.
            process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
                command,
                stdin=subprocess.DEVNULL,
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),  # noqa: PLW1509
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            sys.stderr.write(f"cannot be started: {error}\n")
            return
        self._pid = process.pid
        process.returncode = 0  # its status is read here, not by Popen

    def wait(self) -> bool:
        """Until the program ends (False) or is to be stopped (True)."""
        while self._pid is not None:
            ready, _, _ = select.select([0, self._wake], [], [])
            if self._wake in ready:
                os.read(self._wake, 4096)
            self._reap()
            if self._pid is not None and (self._told or (0 in ready and not os.read(0, 4096))):
                return True
        return False

    def end_all(self, grace_s: float) -> None:
        """TERM to all below, KILL to whoever is still there after the grace."""
        patience = time.monotonic() + grace_s
        _signal_all(below(os.getpid()), signal.SIGTERM)
        while left := below(os.getpid()):
            if time.monotonic() > patience:
                _signal_all(left, signal.SIGKILL)
            self._reap()
            time.sleep(GLANCE_S)
        self._reap()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self._pid, self.status = None, os.waitstatus_to_exitcode(status)

    def _noted(self, number: int, _frame: object) -> None:
        self._told = self._told or number != signal.SIGCHLD


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _leave(path: Path, status: int, *, stopped: bool) -> None:
    aside = path.with_name(f".{path.name}")
    aside.write_text(
        json.dumps({"status": status, "stopped": stopped, "ended_at": time.time()}),
        encoding="utf-8",
    )
    aside.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
