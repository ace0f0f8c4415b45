"""A collector, its inbox and a cache in one folder, fed by a fake Prometheus."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.follow import PrometheusCollector
from core.collect.state import State, StateFile
from core.config import Settings
from core.domain.records import Floats
from core.domain.scope import Scope
from core.sources.prometheus import PrometheusSource
from core.views import hit_ratio, live
from tests.collect.fake_prometheus import FakePrometheus

T0 = 1_790_000_040
"""A whole minute, long after the lookback of the first slice."""
EVERY = 15
QUERIES = "vllm:prefix_cache_queries_total"
HITS = "vllm:prefix_cache_hits_total"
PROMPT = "vllm:prompt_tokens_total"
KV_USAGE = "vllm:kv_cache_usage_perc"
TTFT = "vllm:time_to_first_token_seconds"
CONFIG = "vllm:cache_config_info"
URL = "http://prometheus.test"
MINUTES = tuple(
    # names of our own, so that a test says `minute_counters` for cells without hours
    f"create or replace temp view minute_{kind} as select * from engine_{kind} where span_s = 60"  # noqa: S608
    for kind in ("counters", "gauges", "buckets")
)
CELLS = ("counter_cells", "bucket_cells", "gauge_cells")
FOUND = ("engines", "targets", "series", "exports", "levers")


def scrapes(n: int, *, start: float = T0, every: float = EVERY) -> Floats:
    """Times of n scrapes."""
    return start + every * np.arange(n, dtype=float)


def engine(pod: str = "vllm-0", **more: str) -> dict[str, str]:
    """Labels of an engine's series at one address."""
    instance = {"instance": f"{pod}:8000"}
    labels = {"job": "vllm", "cluster": "c", "namespace": "n", "pod": pod}
    return labels | instance | {"model_name": "m", "engine": "0"} | more


def target(labels: dict[str, str]) -> dict[str, str]:
    """The part of an engine's labels that its `up` has too."""
    return {k: v for k, v in labels.items() if k not in ("model_name", "engine")}


class Sliced(PrometheusCollector):
    """Reads slices of given lengths, the last length again and again."""

    lengths: Iterator[int]

    def _slice_s(self, _: object) -> int:
        return next(self.lengths)


class Rig:
    """Everything between a fake Prometheus and the views, in one folder."""

    def __init__(self, folder: Path, fake: FakePrometheus, **settings: object) -> None:
        self.fake = fake
        self.settings = Settings(
            _env_file=None,
            prometheus_url=URL,
            data_dir=folder,
            **settings,  # type: ignore[arg-type]
        )
        self.inbox = Inbox(self.settings.home / "inbox")
        self.state_file = StateFile(self.settings.home / "prometheus.state", State)
        self._store: Store | None = None

    def collector(
        self, *, slices: Iterable[int] = (), clock: Callable[[], float] | None = None
    ) -> PrometheusCollector:
        """A collector as a new process would make it."""
        source = PrometheusSource(self.settings, adapter=self.fake)
        kind = Sliced if slices else PrometheusCollector
        made = kind(
            self.settings,
            source,
            self.inbox,
            self.state_file,
            clock=clock or (lambda: self.fake.now),
        )
        if isinstance(made, Sliced):
            given = list(slices)
            made.lengths = chain(given, repeat(given[-1]))
        return made

    def collect(self, start: float, end: float, *, slices: Iterable[int] = ()) -> None:
        """Read one period."""
        self.collector(slices=slices).collect_range(start, end)

    def catch_up(self, collector: PrometheusCollector | None = None, *, most: int = 200) -> int:
        """Step until nothing is left; returns how many steps that took."""
        collector = collector or self.collector()
        for n in range(1, most + 1):
            if not collector.step():
                return n
        raise AssertionError("the collector never catches up")

    @property
    def store(self) -> Store:
        """The cache, with everything merged that waits."""
        if self._store is None:
            self._store = Store(self.settings.home / "cache.duckdb")
        self._store.merge_waiting(self.inbox)
        assert not self.inbox.rejected.exists(), "a batch was rejected"
        return self._store

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the cache; `minute_counters` and so on are the views without hours."""
        with self.store._cursor() as cursor:
            for view in MINUTES:
                cursor.execute(view)
            return cursor.execute(query).fetchall()

    def value(self, query: str) -> Any:
        """The one value a query gives."""
        ((value,),) = self.sql(query)
        return value

    def tables(self, names: Sequence[str] = (*CELLS, *FOUND)) -> dict[str, list[tuple[Any, ...]]]:
        """Contents of tables in one order, for comparing; when exports were checked is left out."""
        left_out = {"exports": "exclude (checked_at)"}
        return {
            name: self.sql(
                " ".join(["select *", left_out.get(name, ""), "from", name, "order by all"])
            )
            for name in names
        }

    def total(self, instrument: str) -> float | None:
        """What the views count of one counter, all time: the same in minutes and in hours."""
        query = "select span_s, sum(increase) from engine_counters where instrument = ? group by 1"
        with self.store._cursor() as cursor:
            totals = dict(cursor.execute(query, [instrument]).fetchall())
        assert totals.get(60) == totals.get(3600)
        return totals.get(60)

    def levers(self) -> list[tuple[str, float, str]]:
        """Changes found: kind, time after T0, what."""
        return [
            (kind, at - T0, what)
            for kind, at, what in self.sql(
                "select kind, epoch(happened_at), what from levers order by happened_at, kind, what"
            )
        ]

    def hit_ratio(self, start: float, end: float) -> hit_ratio.HitRatioView:
        """The Hit ratio page of a window."""
        return hit_ratio.build(self.store, Scope(start=int(start), end=int(end)), self.fake.now)

    def live(self, start: float, end: float) -> live.LiveView:
        """The Live page of a window."""
        return live.build(self.store, Scope(start=int(start), end=int(end)), self.fake.now)

    def close(self) -> None:
        """Give the cache back."""
        if self._store is not None:
            self._store.close()
