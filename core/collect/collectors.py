"""Which collectors there are, and how each is put together for real or for the demo."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Protocol

from core.cache.inbox import Inbox
from core.cache.orders import Orders
from core.collect import follow
from core.collect.batch import lever_rows
from core.collect.requests.batch import SOURCE as LANGFUSE
from core.collect.requests.follow import LangfuseCollector
from core.collect.requests.scan import RequestState
from core.collect.state import State, StateFile
from core.config import Settings
from core.demo import (
    HISTORY_S,
    demo_changes,
    demo_langfuse,
    demo_source,
    evaluators_of,
    fleet_epoch,
)
from core.sources.langfuse import LangfuseSource
from core.sources.prometheus import PrometheusSource


class Collector(Protocol):
    """What the command line runs."""

    settings: Settings

    def step(self) -> bool:
        """Read a little; True when there is more to read at once."""

    def urgent(self) -> bool:
        """Whether somebody waits for the next step."""

    def wait_s(self) -> float:
        """Seconds until the source may be asked again; 0 when it may now."""

    def collect_range(self, start: float, end: float) -> None:
        """Read one closed period."""


class DemoCollector(follow.PrometheusCollector):
    """Also enters the simulated fleet's routing changes, as a person would."""

    def step(self) -> bool:
        """Read one slice, and enter what the fleet's people would have entered."""
        now = time.time()
        changes = demo_changes(fleet_epoch(self.settings, now), now)
        if len(changes) > self._entered:
            self.inbox.write("demo", {"levers": lever_rows(changes)})
            self._entered = len(changes)
        return super().step()

    _entered = 0


@contextmanager
def prometheus(settings: Settings, inbox: Inbox) -> Iterator[Collector]:
    """The collector of engines; one at a time.

    Raises
    ------
    CollectorBusyError
        Another process reads this source.
    """
    state = StateFile(settings.home / "collectors" / f"{follow.SOURCE}.state", State)
    with state.locked():
        if settings.demo:
            yield DemoCollector(_as_demo(settings), demo_source(settings), inbox, state)
        else:
            yield follow.PrometheusCollector(settings, PrometheusSource(settings), inbox, state)


@contextmanager
def langfuse(settings: Settings, inbox: Inbox) -> Iterator[Collector]:
    """The collector of requests; one at a time.

    Raises
    ------
    CollectorBusyError
        Another process reads this source.
    """
    state = StateFile(settings.home / "collectors" / f"{LANGFUSE}.state", RequestState)
    orders = Orders(settings.home / "orders")
    with state.locked():
        if settings.demo:
            settings, source = _as_demo(settings), demo_langfuse(settings)
        else:
            source = LangfuseSource(settings)
        yield LangfuseCollector(settings, source, inbox, state, orders=orders)


BUILDERS: dict[str, Callable[[Settings, Inbox], AbstractContextManager[Collector]]] = {
    follow.SOURCE: prometheus,
    LANGFUSE: langfuse,
}


def _as_demo(settings: Settings) -> Settings:
    days = timedelta(seconds=HISTORY_S) / timedelta(days=1)
    own = {"backfill_days": days, "evaluators": evaluators_of(settings)}
    return settings.model_copy(update=own)
