"""A real Prometheus with what LiteLLM proxies gave it: a second count of the cached share."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest
import requests

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.follow import PrometheusCollector
from core.collect.state import State, StateFile
from core.config import Settings
from core.domain.reading import Reason
from core.domain.scope import Scope
from core.named_queries import prometheus_queries, render_promql
from core.sources.prometheus import PrometheusSource
from core.views.fleet import load_fleet
from core.views.gateway_counters import GatewayCounters, load_gateway_counters
from tests.collect.replayed import served
from tests.collect.rig import Sliced

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("prometheus")]

RECORDING = Path(__file__).parent.parent / "recordings" / "gateway" / "tsdb.tar.gz"
START, END = 1_796_042_400, 1_796_043_480
CLASSIC, OTEL = (1_796_042_567, 1_796_042_789), (1_796_042_954, 1_796_043_148)
INPUT = "litellm_input_tokens_metric_total"
PROMPT = "vllm:prompt_tokens_total"
ENGINE_TABLES = ("engines", "targets", "series", "exports", "levers", "configurations")
Window = tuple[int, int]
Samples = list[tuple[float, float]]


@dataclass(frozen=True)
class Replay:
    """A running Prometheus, and a cache filled from it."""

    url: str
    store: Store

    def counters(self, window: Window, **labels: str) -> GatewayCounters:
        """What the view says of a window, in whole minutes."""
        scope = Scope(start=window[0], end=window[1], **labels)  # type: ignore[arg-type]
        return load_gateway_counters(self.store, load_fleet(self.store, scope, float(END)))

    def cells(self, view: str, instrument: str, window: Window) -> float:
        """Sum of the minute cells that touch a window."""
        query = (
            f"select sum(increase) from {view} where span_s = 60 and instrument = ?"  # noqa: S608
            " and epoch(minute) >= ? and epoch(minute) < ?"
        )
        with self.store._cursor() as cursor:
            found = cursor.execute(query, [instrument, *minutes(window)]).fetchone()
        assert found is not None
        return float(found[0])

    def raw(self, name: str) -> list[Samples]:
        """Every stored sample of a metric, asked with plain HTTP."""
        answer = requests.get(
            f"{self.url}/api/v1/query",
            params={"query": f"{name}[{END - START}s]", "time": str(END)},
            timeout=30,
        ).json()
        return [
            [(at, float(value)) for at, value in series["values"]]
            for series in answer["data"]["result"]
        ]

    def plain(self, name: str, start: float, end: float) -> float:
        """Increases between neighbours whose later sample lies in [start, end)."""
        return sum(
            value if value < before else value - before
            for samples in self.raw(name)
            for (_, before), (at, value) in pairwise(samples)
            if start <= at < end
        )


def minutes(window: Window) -> Window:
    return window[0] // 60 * 60, ceil(window[1] / 60) * 60


def collected(url: str, home: Path, *, slice_s: int | None = None) -> Store:
    settings = Settings(_env_file=None, prometheus_url=url, data_dir=home)
    inbox, state = Inbox(home / "inbox"), StateFile(home / "state", State)
    source = PrometheusSource(settings)
    if slice_s is None:
        PrometheusCollector(settings, source, inbox, state).collect_range(START, END)
    else:
        sliced = Sliced(settings, source, inbox, state)
        sliced.lengths = iter([slice_s] * (END - START))
        sliced.collect_range(START, END)
    source.close()
    store = Store(home / "cache.duckdb")
    store.merge_waiting(inbox)
    assert not inbox.rejected.exists()
    return store


@pytest.fixture(scope="module")
def url(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prometheus that serves the recording."""
    with served(prometheus, RECORDING, tmp_path_factory.mktemp("prometheus")) as address:
        yield address


@pytest.fixture(scope="module")
def replay(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """The recording, collected and merged once."""
    store = collected(url, tmp_path_factory.mktemp("replay"))
    yield Replay(url, store)
    store.close()


@pytest.mark.parametrize(
    ("window", "tokens", "cached"), [(CLASSIC, 67_190, 49_952), (OTEL, 56_591, 41_056)]
)
def test_the_share_is_what_the_proxy_counted(
    replay: Replay, window: Window, tokens: int, cached: int
) -> None:
    """Input and cached tokens of a run are exact: births and a hidden restart lose nothing."""
    share = replay.counters(window).share
    assert (share.numerator, share.denominator) == (cached, tokens)
    assert share.value == pytest.approx(cached / tokens)


def test_the_classic_share_is_743(replay: Replay) -> None:
    """The figure on the page: 74.3 %, ten points below the engines' own."""
    assert f"{replay.counters(CLASSIC).share.value:.1%}" == "74.3%"


@pytest.mark.parametrize("window", [CLASSIC, OTEL])
def test_whole_minutes_add_nothing(replay: Replay, window: Window) -> None:
    """In the seconds between the window and its whole minutes no proxy counted anything."""
    start, end = minutes(window)
    assert replay.plain(INPUT, start, window[0]) == replay.plain(INPUT, window[1], end) == 0
    births = [samples[0][0] for samples in replay.raw(INPUT)]
    assert not [at for at in births if start <= at < window[0] or window[1] <= at < end]


def test_first_values_are_counted(replay: Replay) -> None:
    """Without the first value of born series 5,711 tokens would be lost."""
    births = [samples[0] for samples in replay.raw(INPUT)]
    first = sum(value for at, value in births if CLASSIC[0] <= at < CLASSIC[1])
    assert first == 5_711
    between = replay.plain(INPUT, *CLASSIC)
    assert between == 67_190 - 5_711
    assert replay.cells("gateway_counters", "gateway_input_tokens", CLASSIC) == between + first


def test_a_restart_past_the_old_value_is_seen(replay: Replay) -> None:
    """A series that was gone from a good scrape began anew, also where it did not fall."""
    hidden = [
        before
        for samples in replay.raw(INPUT)
        for (sooner, before), (at, value) in pairwise(samples)
        if at - sooner > 60 and value >= before
    ]
    assert hidden == [832]
    births = sum(s[0][1] for s in replay.raw(INPUT) if OTEL[0] <= s[0][0] < OTEL[1])
    assert replay.plain(INPUT, *OTEL) + births == 56_591 - 832
    assert replay.counters(OTEL).share.restarted > 0


@pytest.mark.parametrize(
    ("window", "prompt", "cached"), [(CLASSIC, 74_469, 62_912), (OTEL, 62_058, 52_672)]
)
def test_engines_count_as_before(replay: Replay, window: Window, prompt: int, cached: int) -> None:
    """Our engine cells of a run are its totals and what the minutes' other seconds held."""
    start, end = minutes(window)
    for instrument, total in {"prompt_tokens": prompt, "prompt_tokens_cached": cached}.items():
        name = f"vllm:{instrument}_total"
        beside = replay.plain(name, start, window[0]) + replay.plain(name, window[1], end)
        assert replay.cells("engine_counters", instrument, window) - beside == total
    assert replay.plain(PROMPT, minutes(CLASSIC)[0], CLASSIC[0]) == 4


def test_proxies_are_no_engines(replay: Replay) -> None:
    """No table, view or change of engines knows a proxy, its address or its instruments."""
    with replay.store._cursor() as cursor:
        for table in ENGINE_TABLES:
            rows = cursor.execute(f"from {table}").fetchall()
            told = " ".join(map(str, rows)).lower()
            assert "litellm" not in told, table
            assert "gateway" not in told, table
            assert ":4010" not in told, table
        assert cursor.execute("select count(*) from engines").fetchall() == [(3,)]
        mixed = "select count(*) from series join gateway_series using (series_id)"
        assert cursor.execute(mixed).fetchall() == [(0,)]
    fleet = load_fleet(replay.store, Scope(start=START, end=END), float(END))
    assert sorted(engine.name for engine in fleet.engines) == ["vllm-0", "vllm-1", "vllm-2"]


def test_nobody_is_named(replay: Replay) -> None:
    """Users, teams and keys of the proxy's labels are in no column of the cache."""
    with replay.store._cursor() as cursor:
        tables = cursor.execute("select table_name from duckdb_tables()").fetchall()
        everything = [str(row) for (t,) in tables for row in cursor.execute(f"from {t}").fetchall()]
    assert len(everything) > 100
    assert not [row for row in everything if "default_user_id" in row or "master_key" in row]


def test_deployments_stand_alone(replay: Replay) -> None:
    """One row a deployment; one that never counted a cached token has no share, not 0 %."""
    found = replay.counters(CLASSIC)
    rows = {row.deployment: row for row in found.deployments}
    assert len(rows) == len(found.deployments) == 7
    assert sum(row.input_tokens for row in rows.values() if row.input_tokens) == 67_190
    assert (rows["vllm-0"].cached_tokens, rows["vllm-0"].input_tokens) == (22_144, 27_803)
    assert rows["vllm-0"].requested_models == "tiny-chat"
    assert rows["vllm-0-openai"].provider == "openai"
    assert rows["vllm-2"].share.reason is Reason.NOT_EXPORTED
    assert rows["vllm-2"].share.denominator == 3_176
    assert found.without_cached == ("vllm-2", "vllm-2-backup")


def test_bins_add_up(replay: Replay) -> None:
    """The line holds the same tokens as the total; bins without a scrape hold none."""
    found = replay.counters((START, END))
    tokens = [one.denominator for one in found.line if one.denominator is not None]
    assert sum(tokens) == found.share.denominator
    assert found.line[0].reason is Reason.TOO_FEW_SCRAPES


def test_a_scope_cuts_as_far_as_proxies_know(replay: Replay) -> None:
    """Cluster, namespace and model are filtered; pod and engine are named as not known."""
    assert replay.counters(CLASSIC, model="tiny-llama", cluster="lab").share.denominator == 67_190
    narrow = replay.counters(CLASSIC, pod="vllm-0")
    assert narrow.share.denominator == 67_190
    assert narrow.wider_than_scope == ("pod",)
    elsewhere = replay.counters(CLASSIC, namespace="other")
    assert (elsewhere.seen, elsewhere.share.reason) == (False, Reason.NOT_EXPORTED)


def test_slices_change_nothing(
    replay: Replay, url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Read minute by minute, the cells of proxies are those of one slice, hours included."""
    query = (
        "select instrument, proxy, deployment, span_s, minute, increase, samples, resets,"
        " round(covered_s, 3) from gateway_counters order by all"
    )
    store = collected(url, tmp_path_factory.mktemp("sliced"), slice_s=60)
    with store._cursor() as one, replay.store._cursor() as other:
        found, expected = one.execute(query).fetchall(), other.execute(query).fetchall()
    store.close()
    assert len(found) > 100
    assert found == expected
    spans = {span: sum(row[5] for row in found if row[3] == span and row[5]) for span in (60, 3600)}
    assert spans[60] == spans[3600]


@pytest.mark.parametrize(
    "name",
    [n for n, q in prometheus_queries().items() if q.where.startswith("prometheus/gateway")],
)
def test_queries_offered_for_checking_are_accepted(url: str, name: str) -> None:
    """What a page offers to paste into Prometheus runs there, and finds something."""
    query = render_promql(name, matchers={"cluster": "lab", "model": "tiny-llama"}, window="5m")
    answer = requests.get(
        f"{url}/api/v1/query", params={"query": query, "time": str(CLASSIC[1])}, timeout=30
    )
    assert answer.ok, answer.text
    assert answer.json()["data"]["result"], query
