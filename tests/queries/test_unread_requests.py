"""No request in a window: silence where it was read, not read where it was not."""

from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.domain.reading import Reason
from core.domain.scope import Scope
from core.views.fleet import load_fleet
from core.views.requests import request_sums, share_line
from tests.pages.homes import T0, at
from tests.pages.written_requests import langfuse_row

START, END = T0, T0 + 3600
SCOPE = Scope(start=START, end=END)
MIDDLE = (START + END) // 2


def opened(folder: Path, **source: Any) -> Store:
    store = Store(folder / "cache.duckdb")
    inbox = Inbox(folder / "inbox")
    inbox.write("test", {"sources": rows("sources", [langfuse_row() | source])})
    store.merge_waiting(inbox)
    return store


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"read_to": None}, Reason.NOT_READ),
        ({"read_to": at(START)}, Reason.NOT_READ),
        ({"read_to": at(END)}, Reason.NO_TRAFFIC),
        ({"read_to": at(END), "backfill_from": at(END)}, Reason.NOT_READ),
        ({"read_to": at(END), "progress": 0.5}, Reason.NOT_READ),
        ({"read_to": at(END), "progress": 1.0}, Reason.NO_TRAFFIC),
    ],
)
def test_silence_is_only_known_of_what_was_read(
    tmp_path: Path, source: dict[str, Any], reason: Reason
) -> None:
    """A source that was not read for a window does not make it quiet."""
    store = opened(tmp_path, **source)
    assert request_sums(store, load_fleet(store, SCOPE, float(END))).share().reason is reason
    store.close()


def test_each_bin_is_quiet_or_not_read_by_itself(tmp_path: Path) -> None:
    """A line is quiet up to where the source was read, and unknown after that."""
    store = opened(tmp_path, read_to=at(MIDDLE))
    fleet = load_fleet(store, SCOPE, float(END))
    line = dict(zip(fleet.bins, share_line(store, fleet), strict=True))
    assert {r.reason for b, r in line.items() if b < MIDDLE} == {Reason.NO_TRAFFIC}
    assert {r.reason for b, r in line.items() if b >= MIDDLE} == {Reason.NOT_READ}
    store.close()
