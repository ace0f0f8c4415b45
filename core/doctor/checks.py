"""Checks that do not stop each other, and questions that are asked once.

A question that failed is not asked again: every check that needs its answer says
the same reason. All questions of one examination share a time limit.
"""

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from core.doctor.findings import Finding, Topic
from core.errors import DashboardError

Answer = TypeVar("Answer")
Patient = TypeVar("Patient")

MOST_S = 120.0
"""No question is begun later than this; one that runs ends by its source's own timeout."""


class Unanswered(Exception):
    """A check cannot tell; the reason, and what to do about it."""

    def __init__(self, reason: str, next_step: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.next_step = next_step


class TimeLimit:
    """Until when questions may be begun."""

    def __init__(self, most_s: float = MOST_S) -> None:
        self.most_s = most_s
        self._until = time.monotonic() + most_s

    def hold(self) -> None:
        """Refuse a question that would begin too late."""
        if time.monotonic() > self._until:
            raise Unanswered(f"not asked: the examination had taken {self.most_s:.0f} s")


class Once(Generic[Answer]):
    """A question that is asked when it is first needed, and never again.

    `after` is a question that must have been answered: a server that is not there
    is not asked ten times.
    """

    def __init__(
        self, limit: TimeLimit, ask: Callable[[], Answer], *, after: "Once[Any] | None" = None
    ) -> None:
        self._limit = limit
        self._ask = ask
        self._after = after
        self._answers: list[Answer] = []
        self._error: DashboardError | Unanswered | None = None

    def get(self) -> Answer:
        """The answer, or the error it failed with, again."""
        if self._error is not None:
            raise self._error
        if not self._answers:
            try:
                self._go_on()
                self._limit.hold()
                self._answers.append(self._ask())
            except (DashboardError, Unanswered) as error:
                self._error = error
                raise
        return self._answers[0]

    def _go_on(self) -> None:
        if self._after is not None:
            try:
                self._after.get()
            except DashboardError as error:
                raise Unanswered(f"not asked, as an earlier question failed: {error}") from error


@dataclass(frozen=True)
class Check(Generic[Patient]):
    """One thing to look at."""

    topic: Topic
    look: Callable[[Topic, Patient], Iterable[Finding]]


def run_checks(checks: Sequence[Check[Patient]], patient: Patient) -> list[Finding]:
    """Findings of every check; one that fails is unknown, and the others go on."""
    return [finding for check in checks for finding in _findings(check, patient)]


def not_connected(checks: Sequence[Check[Patient]], reason: str, next_step: str) -> list[Finding]:
    """Every check of a source that is not configured, unknown for one reason."""
    return [check.topic.unknown(reason, next_step) for check in checks]


def _findings(check: Check[Patient], patient: Patient) -> list[Finding]:
    try:
        return list(check.look(check.topic, patient))
    except Unanswered as error:
        return [check.topic.unknown(error.reason, error.next_step)]
    except DashboardError as error:
        return [check.topic.unknown(str(error), error.next_step or None)]
    except Exception as error:  # noqa: BLE001 - an odd answer must not keep other findings back
        return [check.topic.unknown(f"the check itself failed: {_where(error)}", _REPORT_IT)]


_REPORT_IT = "Please report this line."


def _where(error: Exception) -> str:
    """Kind and place of an error; its words may quote what a server sent."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
