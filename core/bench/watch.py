"""Whether a job is to end before its time: by a file, or by a signal to its runner."""

import signal
import time
from pathlib import Path

GLANCE_S = 0.1


class CancelledError(Exception):
    """Somebody wants the job to end; no error."""


class Watch:
    """Looked at in every wait of a runner."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "cancel"
        self._signal: str | None = None

    def listen(self) -> None:
        """Take TERM and INT to this process as a wish to end; main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._noted)

    def pause(self) -> None:
        """Wait a moment.

        Raises
        ------
        CancelledError
            The job is to end.
        """
        self.check()
        time.sleep(GLANCE_S)

    def check(self) -> None:
        """Raise CancelledError when the job is to end."""
        if self._signal is not None:
            raise CancelledError(f"the runner was sent {self._signal}")
        if self._file.exists():
            raise CancelledError("cancelled")

    def _noted(self, number: int, _frame: object) -> None:
        self._signal = signal.Signals(number).name
