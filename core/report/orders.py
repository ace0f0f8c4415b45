"""Orders for a file: how the command line asks the running app, which alone has the cache.

The command line leaves an order in a folder and waits; the app takes it, builds the
review, and leaves the answer beside it. Files are written aside and renamed when whole.
"""

import logging
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.cache.store import Store
from core.config import Settings
from core.domain.scope import from_query
from core.errors import DashboardError, ReportError
from core.report.make import Format, Made, document_of, written

log = logging.getLogger(__name__)
KEEP_S = 3600.0
"""Older orders and answers have nobody who waits for them."""


@dataclass(frozen=True)
class ReportOrder:
    """A file that somebody waits for; `query` is its scope as a URL has it."""

    order_id: str
    query: dict[str, str]
    format: Format
    experiment: str | None = None


@dataclass(frozen=True)
class ReportAnswer:
    """The file, or why there is none."""

    name: str | None = None
    data: bytes | None = None
    title: str | None = None
    detail: str | None = None
    next_step: str | None = None


class ReportOrders:
    """Orders and answers under one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(
        self, query: dict[str, str], form: Format, *, experiment: str | None = None
    ) -> ReportOrder:
        """Leave one order; its file is whole when it appears."""
        order = ReportOrder(uuid.uuid4().hex, query, form, experiment)
        self._leave(f"{order.order_id}.order", msgspec.json.encode(order))
        return order

    def waiting(self) -> list[ReportOrder]:
        """Orders nobody has answered, oldest first; old files, and those that are none, go."""
        if not self.folder.exists():
            return []
        self._sweep()
        found = [self._read(path) for path in sorted(self.folder.glob("*.order"), key=_age)]
        return [order for order in found if order is not None]

    def answer(self, order: ReportOrder, answer: ReportAnswer) -> None:
        """Leave the answer, then take the order away."""
        self._leave(f"{order.order_id}.answer", msgspec.json.encode(answer))
        (self.folder / f"{order.order_id}.order").unlink(missing_ok=True)

    def answered(self, order: ReportOrder) -> ReportAnswer | None:
        """Take the answer; None while there is none."""
        path = self.folder / f"{order.order_id}.answer"
        try:
            answer = msgspec.json.decode(path.read_bytes(), type=ReportAnswer)
        except FileNotFoundError:
            return None
        path.unlink(missing_ok=True)
        return answer

    def withdraw(self, order: ReportOrder) -> None:
        """Take back an order, and an answer that came too late."""
        for ending in ("order", "answer"):
            (self.folder / f"{order.order_id}.{ending}").unlink(missing_ok=True)

    def _leave(self, name: str, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{name}-{os.getpid()}"
        aside.write_bytes(data)
        aside.replace(self.folder / name)

    def _read(self, path: Path) -> ReportOrder | None:
        try:
            order = msgspec.json.decode(path.read_bytes(), type=ReportOrder)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError:
            order = None
        if order is None or order.order_id != path.stem:
            path.unlink(missing_ok=True)
            return None
        return order

    def _sweep(self) -> None:
        limit = time.time() - KEEP_S
        for path in self.folder.iterdir():
            if _age(path) < limit:
                path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """When a file was written; one that is gone is not old."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def answer_waiting(orders: ReportOrders, store: Store, settings: Settings) -> int:
    """Answer all orders that wait; returns how many. What fails is told to who asked."""
    waiting = orders.waiting()
    for order in waiting:
        orders.answer(order, _answer(order, store, settings))
    return len(waiting)


def _answer(order: ReportOrder, store: Store, settings: Settings) -> ReportAnswer:
    try:
        made = _made(order, store, settings)
    except DashboardError as error:
        return ReportAnswer(title=error.title, detail=error.detail, next_step=error.next_step)
    except Exception as error:
        log.exception("a review that was ordered could not be made")
        return ReportAnswer(
            title=DashboardError.title,
            detail=f"{type(error).__name__}: {error}"[:300],
            next_step="The log of the app has more.",
        )
    return ReportAnswer(made.name, made.data)


def _made(order: ReportOrder, store: Store, settings: Settings) -> Made:
    scope, wrong = from_query(order.query)
    if wrong:
        raise ReportError(
            f"the app cannot read {', '.join(wrong)} of what was ordered",
            next_step="Run the command line of the version that the app has.",
        )
    document = document_of(store, settings, scope, experiment=order.experiment, now=time.time())
    return written(document, order.format)
