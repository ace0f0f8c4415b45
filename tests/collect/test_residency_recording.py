"""Sampled KV blocks of real vLLM servers: our histograms against plain differences.

The samples are fetched a second time, without any of our code, and differenced and
sorted in pure Python.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import ceil, inf, isnan
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
from core.named_queries import render_promql
from core.sources.prometheus import PrometheusSource
from core.views.block_histograms import INSTRUMENTS, QUANTILES, Distribution, Residency
from core.views.kv_residency import KvResidencyView, build
from tests.collect.replayed import served

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("prometheus")]

RECORDINGS = Path(__file__).parent.parent / "recordings"
START, END = 1_796_039_400, 1_796_041_560
GATEWAY = (1_796_042_400, 1_796_043_480)
WINDOWS = {
    "all": (START, END),
    "first load": (1_796_039_700, 1_796_040_000),
    "around the restart": (1_796_040_120, 1_796_040_720),
    "pressure": (1_796_040_660, 1_796_040_780),
}
PODS = ("vllm-0", "vllm-1", "vllm-bench-0")
QUIET = (1_796_041_200, 1_796_041_320)
"""No request reached vllm-bench-0."""
STEADY = (1_796_040_660, 1_796_040_780)
Window = tuple[int, int]


class Replay:
    """A running Prometheus, and a cache filled from it."""

    def __init__(self, url: str, home: Path, window: Window) -> None:
        self.url, self.window = url, window
        settings = Settings(_env_file=None, prometheus_url=url, data_dir=home)
        inbox, source = Inbox(home / "inbox"), PrometheusSource(settings)
        state = StateFile(home / "state", State)
        PrometheusCollector(settings, source, inbox, state).collect_range(*window)
        source.close()
        self.store = Store(home / "cache.duckdb")
        self.store.merge_waiting(inbox)

    def page(self, window: Window, pod: str | None = None) -> KvResidencyView:
        return build(self.store, Scope(pod=pod, start=window[0], end=window[1]), float(window[1]))

    def ask(self, query: str, at: int) -> list[dict]:
        params = {"query": query, "time": str(at)}
        answer = requests.get(f"{self.url}/api/v1/query", params=params, timeout=30)
        assert answer.ok, answer.text
        return answer.json()["data"]["result"]

    def buckets(self, instrument: str, window: Window, pod: str) -> dict[float, float]:
        """What fell into each bucket alone: steps of raw samples, cumulative ones taken apart."""
        start, end = self.window
        name = f'vllm:{instrument}_bucket{{pod="{pod}"}}[{end - start}s]'
        up_to: dict[float, float] = defaultdict(float)
        for series in self.ask(name, end):
            samples = [(at, float(value)) for at, value in series["values"]]
            for (_, before), (at, value) in pairwise(samples):
                if window[0] // 60 * 60 <= at < ceil(window[1] / 60) * 60:
                    step = value if value < before else value - before
                    up_to[float(series["metric"]["le"])] += step
        alone, below = {}, 0.0
        for edge, total in sorted(up_to.items()):
            alone[edge], below = total - below, total
        return alone


@pytest.fixture(scope="module")
def replay(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    folder = tmp_path_factory.mktemp("prometheus")
    with served(prometheus, RECORDINGS / "prometheus" / "tsdb.tar.gz", folder) as url:
        found = Replay(url, tmp_path_factory.mktemp("replay"), (START, END))
        yield found
        found.store.close()


@pytest.fixture(scope="module")
def gateway(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    folder = tmp_path_factory.mktemp("prometheus")
    with served(prometheus, RECORDINGS / "gateway" / "tsdb.tar.gz", folder) as url:
        found = Replay(url, tmp_path_factory.mktemp("gateway"), GATEWAY)
        yield found
        found.store.close()


def of(view: KvResidencyView, metric: str) -> Distribution:
    return next(one for one in view.distributions if one.metric == metric)


def bucket_of_rank(buckets: dict[float, float], q: float) -> tuple[float, float]:
    """Edges of the bucket that holds the value of rank q * n, by laying all values out."""
    laid_out = [edge for edge, count in sorted(buckets.items()) for _ in range(round(count))]
    upper = laid_out[max(1, ceil(q * len(laid_out))) - 1]
    edges = [0.0, *sorted(buckets)]
    return edges[edges.index(upper) - 1], upper


@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize("metric", INSTRUMENTS)
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_distributions_equal_plain_ones(
    replay: Replay, window: Window, metric: str, pod: str
) -> None:
    """Every bucket, n and the bucket of every quantile are those worked out by hand."""
    plain = replay.buckets(INSTRUMENTS[metric], window, pod)
    found = of(replay.page(window, pod), metric)
    assert found.n == round(sum(plain.values()))
    if not found.n:
        assert found.reason is not None
        return
    assert dict(found.buckets) == plain
    for one in found.quantiles:
        assert (one.bucket.low, one.bucket.high) == bucket_of_rank(plain, one.q), one.q
    assert [one.q for one in found.quantiles] == list(QUANTILES)


def test_the_fleet_is_the_sum_of_its_engines(replay: Replay) -> None:
    """All servers have the same edges: their buckets add up, and nobody is left out."""
    for metric, instrument in INSTRUMENTS.items():
        whole = of(replay.page((START, END)), metric)
        each = [replay.buckets(instrument, (START, END), pod) for pod in PODS]
        assert dict(whole.buckets) == {e: sum(one[e] for one in each) for e in each[0]}
        assert (whole.left_out, whole.broken) == ((), ())
    assert replay.page((START, END)).too_many_gaps == ()


def test_there_was_something_to_compare(replay: Replay) -> None:
    """Tens of thousands of blocks, some of them hit twice, and none beyond the last edge."""
    view = replay.page((START, END))
    assert view.idle.n == view.lifetime.n > 60_000
    assert 1_000 < view.reuse_gap.n < 3 * view.idle.n
    assert view.evictions.value == view.idle.n


def test_caching_off_is_a_state_of_its_own(replay: Replay) -> None:
    """The server without prefix caching has the series, always 0: no quantile, and not 0 s."""
    view = replay.page((START, END), "vllm-bench-1")
    assert view.states == {Residency.CACHING_OFF: ("vllm-bench-1",)}
    assert {one.reason for one in view.distributions} == {Reason.CACHING_OFF}
    assert not view.measured


def test_the_flag_off_is_a_state_of_its_own(gateway: Replay) -> None:
    """Servers without --kv-cache-metrics export the rest: the flag is named, not a 0."""
    view = gateway.page(GATEWAY)
    assert view.states == {Residency.FLAG_OFF: ("vllm-0", "vllm-1", "vllm-2")}
    assert {one.reason for one in view.distributions} == {Reason.FLAG_OFF}
    assert view.evictions.reason is Reason.FLAG_OFF


def test_an_idle_window_has_no_evictions(replay: Replay) -> None:
    """Observed and quiet: no sampled evictions in this window, which is no idle time of 0."""
    view = replay.page(QUIET, "vllm-bench-0")
    assert view.states == {Residency.NO_EVICTIONS: ("vllm-bench-0",)}
    assert {one.reason for one in view.distributions} == {Reason.NO_EVICTIONS}
    assert view.evictions.value == 0


def test_the_restart_and_the_resets_are_marked(replay: Replay) -> None:
    """vllm-0 restarted once; vllm-bench-0 was asked to reset 15 times, at 13 scrapes."""
    view = replay.page((START, END))
    assert view.restarts == 1
    resets = [mark for mark in view.fleet.changes if mark.kind == "cache_reset"]
    assert {mark.engine for mark in resets} == {"vllm-bench-0"}
    query = 'http_requests_total{handler="/reset_prefix_cache"}'
    (series,) = replay.ask(f"{query}[{END - START}s]", END)
    samples = [(at, float(value)) for at, value in series["values"]]
    rises = [samples[0][0], *(at for (_, a), (at, b) in pairwise(samples) if b > a)]
    assert [mark.at for mark in resets] == pytest.approx(rises, abs=0.001)
    assert view.resets == len(rises) == 13
    assert samples[-1][1] == 15


def test_blocks_of_the_recorded_servers(replay: Replay) -> None:
    """Block size and number come from cache_config_info; the rate is in no label."""
    view = replay.page((START, END))
    found = {one.name: one for one in view.match_units}
    assert {one.block_size for one in found.values()} == {32}
    assert found["vllm-0"].blocks == 300
    assert found["vllm-bench-0"].blocks == 2048
    assert found["vllm-0"].possible == (992, 1024, 2016, 4064)
    assert view.sample_rates == ()


@pytest.mark.parametrize("pod", ["vllm-0", "vllm-1"])
def test_prometheus_gives_the_same_within_its_extrapolation(replay: Replay, pod: str) -> None:
    """The count offered for checking is near ours, and its medians lie in our buckets."""
    view = replay.page(STEADY, pod)
    window = f"{STEADY[1] - STEADY[0]}s"
    names = {
        "block_idle_s": "block_idle_quantile",
        "block_reuse_gap_s": "block_reuse_gap_quantile",
        "block_lifetime_s": "block_lifetime_quantile",
    }
    count = render_promql("sampled_evictions", matchers={"pod": pod}, window=window)
    (answer,) = replay.ask(count, STEADY[1])
    assert view.evictions.value
    assert float(answer["value"][1]) == pytest.approx(view.evictions.value, rel=0.05)
    for metric, name in names.items():
        query = render_promql(name, matchers={"pod": pod}, window=window)
        (answer,) = replay.ask(query, STEADY[1])
        value, median = float(answer["value"][1]), of(view, metric).quantiles[0].bucket
        if median.low is None or median.high is None:
            assert isnan(value), metric
            assert median.reason is Reason.NO_REUSE
        else:
            assert median.low <= value <= median.high < inf, metric
