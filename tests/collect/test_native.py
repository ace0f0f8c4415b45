"""Native histograms are said to be unsupported, never shown as calm."""

from pathlib import Path

import numpy as np

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.advance import Slice, advance
from core.collect.state import State
from core.config import Settings
from core.domain.reading import Reason
from core.domain.records import RawSeries
from core.domain.scope import Scope
from core.views import data_health, live
from tests.collect.rig import QUERIES, T0, TTFT, scrapes

ENGINE = {
    "cluster": "c",
    "namespace": "n",
    "pod": "a",
    "engine": "0",
    "model_name": "m",
    "job": "vllm",
    "instance": "a:8000",
}


def test_a_native_histogram_is_named(tmp_path: Path) -> None:
    """The tile says native histogram, and Data health counts the engine that has one."""
    times = scrapes(8)
    counter = RawSeries(ENGINE | {"__name__": QUERIES}, times, 10.0 * np.arange(8))
    nothing = np.zeros(0)
    native = RawSeries(ENGINE | {"__name__": TTFT}, nothing, nothing, native_histogram=True)
    read = Slice(T0, T0 + 120, [counter, native], [])
    state = State(settled=T0, backfill_from=T0)
    done = advance(state, read, settle_to=T0 + 120, settings=Settings())
    inbox, store = Inbox(tmp_path / "inbox"), Store(tmp_path / "cache.duckdb")
    inbox.write("prometheus", done.tables)
    store.merge_waiting(inbox)
    scope = Scope(start=T0, end=T0 + 120)
    view = live.build(store, scope, T0 + 120.0)
    assert view.reading("ttft_p95").reason is Reason.NATIVE_HISTOGRAM
    health = data_health.build(store, scope, T0 + 120.0)
    (row,) = [e for e in health.exports if e.instrument == "time_to_first_token_seconds"]
    assert (row.native_histogram, row.exported, row.not_exported) == (1, 0, 0)
    store.close()
