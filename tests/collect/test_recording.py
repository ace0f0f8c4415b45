"""A real Prometheus with what real vLLM servers gave it: our sums against plain ones.

The same samples are fetched a second time, without any of our code, and
differenced in pure Python.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import requests

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.follow import PrometheusCollector
from core.collect.state import State, StateFile
from core.config import Settings
from core.domain.scope import Scope
from core.named_queries import prometheus_queries, render_promql
from core.sources.prometheus import PrometheusSource
from core.views import hit_ratio, live
from tests.collect.replayed import served

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("prometheus")]

RECORDING = Path(__file__).parent.parent / "recordings" / "prometheus" / "tsdb.tar.gz"
START, END = 1_796_039_400, 1_796_041_560
"""2026-11-30, 11:50 to 12:26 UTC."""
NOW = float(END)
HOLE = (1_796_040_252, 1_796_040_410)
"""vllm-0 was down."""
PRESSURE = (1_796_040_660, 1_796_040_740)
QUERIES = "vllm:prefix_cache_queries_total"
HITS = "vllm:prefix_cache_hits_total"
PROMPT = "vllm:prompt_tokens_total"
CACHED = "vllm:prompt_tokens_cached_total"
BUCKETS = "vllm:time_to_first_token_seconds_bucket"

Sample = tuple[float, float]


@dataclass(frozen=True)
class Replay:
    """A running Prometheus, and a cache filled from it."""

    url: str
    store: Store

    def page(self, start: int, end: int, pod: str | None = None) -> hit_ratio.HitRatioView:
        return hit_ratio.build(self.store, Scope(pod=pod, start=start, end=end), NOW)

    def raw(self, name: str, **labels: str) -> dict[tuple[tuple[str, str], ...], list[Sample]]:
        """Every stored sample of a metric, asked with plain HTTP."""
        matchers = ",".join(f'{label}="{value}"' for label, value in labels.items())
        answer = requests.get(
            f"{self.url}/api/v1/query",
            params={"query": f"{name}{{{matchers}}}[{END - START}s]", "time": str(END)},
            timeout=30,
        ).json()
        return {
            tuple(sorted(series["metric"].items())): [
                (at, float(value)) for at, value in series["values"]
            ]
            for series in answer["data"]["result"]
        }

    def increase(self, name: str, start: int, end: int, **labels: str) -> float | None:
        """Plain increase: every step whose later sample lies in the whole minutes asked for.

        None without any such step.
        """
        found = [_steps(samples, start, end) for samples in self.raw(name, **labels).values()]
        steps = [step for series in found for step in series]
        return sum(steps) if steps else None


def _steps(samples: list[Sample], start: int, end: int) -> list[float]:
    return [
        value if value < before else value - before
        for (_, before), (at, value) in pairwise(samples)
        if start // 60 * 60 <= at < math.ceil(end / 60) * 60
    ]


@pytest.fixture(scope="session")
def prometheus_url(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prometheus that serves the recording."""
    with served(prometheus, RECORDING, tmp_path_factory.mktemp("prometheus")) as url:
        yield url


@pytest.fixture(scope="session")
def replay(prometheus_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """The recording, collected and merged once."""
    home = tmp_path_factory.mktemp("replay")
    settings = Settings(_env_file=None, prometheus_url=prometheus_url, data_dir=home)
    inbox = Inbox(home / "inbox")
    source = PrometheusSource(settings)
    collector = PrometheusCollector(settings, source, inbox, StateFile(home / "state", State))
    collector.collect_range(START, END)
    source.close()
    store = Store(home / "cache.duckdb")
    store.merge_waiting(inbox)
    yield Replay(prometheus_url, store)
    store.close()


WINDOWS = {
    "all": (START, END),
    "first load": (1_796_039_700, 1_796_040_000),
    "around the hole": (1_796_040_120, 1_796_040_720),
    "pressure": PRESSURE,
    "one minute": (1_796_041_020, 1_796_041_080),
}


@pytest.mark.parametrize("pod", [None, "vllm-0", "vllm-1", "vllm-bench-0"])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_ratios_equal_plain_sums(replay: Replay, window: tuple[int, int], pod: str | None) -> None:
    """Numerator and denominator of every ratio are those differenced by hand."""
    labels = {} if pod is None else {"pod": pod}
    hits, queries, prompt, cached = (
        replay.increase(name, *window, **labels) for name in (HITS, QUERIES, PROMPT, CACHED)
    )
    view = replay.page(*window, pod=pod)
    checks = {reading.metric: reading for reading in view.checks}
    expected = {
        "engine_hit_ratio": (view.ratios[0], hits, queries),
        "lookup_inflation": (checks["lookup_inflation"], queries, prompt),
        "cached_prompt_ratio": (checks["cached_prompt_ratio"], cached, prompt),
    }
    for metric, (reading, top, bottom) in expected.items():
        assert (reading.numerator, reading.denominator) == (top, bottom), metric
        assert reading.value == (pytest.approx(top / bottom) if bottom else None), metric


def test_there_was_something_to_compare(replay: Replay) -> None:
    """The windows above hold traffic, a restart and engines of both kinds."""
    assert replay.increase(QUERIES, *WINDOWS["all"]) > 1_000_000
    assert replay.increase(HITS, *WINDOWS["around the hole"], pod="vllm-0") > 0
    assert len(replay.raw(QUERIES)) == 4


def test_the_restart_is_marked_where_the_counter_fell(replay: Replay) -> None:
    """One change, at the first sample after the fall."""
    (samples,) = replay.raw(QUERIES, pod="vllm-0").values()
    (fell,) = [at for (_, a), (at, b) in pairwise(samples) if b < a]
    changes = replay.page(START, END).fleet.changes
    restarts = [change for change in changes if change.kind == "restart"]
    assert [(change.engine, change.at) for change in restarts] == [
        ("vllm-0", pytest.approx(fell, abs=0.001))
    ]
    assert HOLE[1] <= fell < HOLE[1] + 4


def test_the_hole_is_a_hole(replay: Replay) -> None:
    """No cell between 12:05 and 12:06, a named gap there, and neither a zero nor a line."""
    five_past = 1_796_040_300
    with replay.store._cursor() as cursor:
        cells = cursor.execute(
            "select count(*) filter (where pod = 'vllm-0'), count(*) from engine_counters"
            " where span_s = 60 and epoch(minute) = ?",
            [five_past],
        ).fetchone()
    assert cells is not None
    assert cells[0] == 0 < cells[1]
    fleet = replay.page(START, END).fleet
    gaps = [gap for gap in fleet.gaps if gap.start <= five_past < gap.end]
    assert [gap.missing for gap in gaps] == [("vllm-0",)]
    alone = replay.page(START, END, pod="vllm-0")
    bin_of = alone.fleet.bins.index(five_past)
    assert alone.engine_line[bin_of].value is None
    page = live.build(replay.store, Scope(pod="vllm-0", start=START, end=END), NOW)
    for line in (page.kv_usage_max, page.kv_usage_mean, page.preemptions, page.running):
        assert line[bin_of] is None
        assert any(value is not None for value in line)


def test_what_was_seen_across_gaps_is_told_apart(replay: Replay) -> None:
    """The hole is the largest gap; no seconds are covered between scrapes far apart."""
    (samples,) = replay.raw(QUERIES, pod="vllm-0").values()
    apart = [later - sooner for (sooner, _), (later, _) in pairwise(samples)]
    with replay.store._cursor() as cursor:
        found = cursor.execute(
            "select max(largest_gap_s), sum(covered_s), sum(samples)::int"
            " from engine_counters where span_s = 60 and pod = 'vllm-0'"
            " and instrument = 'prefix_cache_queries'"
        ).fetchone()
    two_scrapes_s = 4.1
    near = sum(seconds for seconds in apart if seconds <= two_scrapes_s)
    assert found == (pytest.approx(max(apart)), pytest.approx(near), len(samples))
    assert max(apart) == pytest.approx(HOLE[1] - HOLE[0], abs=6)


def test_inflated_lookups_of_the_old_version(replay: Replay) -> None:
    """vLLM 0.26 under pressure: 14 lookups a prompt token, 3.2 % cached, named on Live."""
    view = replay.page(*PRESSURE, pod="vllm-1")
    checks = {reading.metric: reading.value for reading in view.checks}
    assert checks["lookup_inflation"] is not None
    assert 13.9 <= checks["lookup_inflation"] <= 14.1
    assert checks["cached_prompt_ratio"] == pytest.approx(0.032, abs=0.001)
    assert view.ratios[0].value == pytest.approx(0.008, abs=0.001)
    page = live.build(replay.store, Scope(start=PRESSURE[0], end=PRESSURE[1]), NOW)
    assert [row.name for row in page.inflated] == ["vllm-1"]
    assert page.inflated[0].cached_prompt_ratio.value == pytest.approx(0.032, abs=0.001)


def test_caching_off_is_not_zero(replay: Replay) -> None:
    """The server without prefix caching has counters that never move: no ratio, not 0 %."""
    view = replay.page(START, END, pod="vllm-bench-1")
    assert view.ratios[0].value is None
    assert view.ratios[0].reason is not None
    assert view.tokens[0].value == 0


@pytest.mark.parametrize("pod", ["vllm-0", "vllm-1"])
def test_first_token_buckets_equal_plain_ones(replay: Replay, pod: str) -> None:
    """Every bucket's own count is the difference of plain increases of neighbouring edges."""
    edges = {
        float(dict(labels)["le"]): sum(_steps(samples, START, END))
        for labels, samples in replay.raw(BUCKETS, pod=pod).items()
    }
    below, expected = 0.0, {}
    for edge, cumulative in sorted(edges.items()):
        if cumulative != below:
            expected[edge] = cumulative - below
        below = cumulative
    assert len(expected) > 3
    with replay.store._cursor() as cursor:
        found = cursor.execute(
            "select le, sum(increase) from engine_buckets where span_s = 60 and pod = ?"
            " and instrument = 'time_to_first_token_seconds' group by le",
            [pod],
        ).fetchall()
    assert {edge: n for edge, n in found if n} == expected


def test_the_info_series_changed_nothing(replay: Replay) -> None:
    """A restart with the same flags is no change of configuration."""
    kinds = {change.kind for change in replay.page(START, END).fleet.changes}
    assert "configuration" not in kinds


OFFERED = sorted(
    name
    for name, query in prometheus_queries().items()
    if not query.where.startswith(("prometheus/collect.promql", "prometheus/gateway.promql"))
)


@pytest.mark.parametrize("name", OFFERED)
def test_queries_offered_for_checking_are_accepted(prometheus_url: str, name: str) -> None:
    """What a page offers to paste into Prometheus runs there, and finds something."""
    matchers = {"cluster": "lab-a", "model_name": "tiny-llama"}
    query = render_promql(name, matchers=matchers, window="5m", preempt_window="5m")
    answer = requests.get(
        f"{prometheus_url}/api/v1/query", params={"query": query, "time": "1796040900"}, timeout=30
    )
    assert answer.ok, answer.text
    assert answer.json()["data"]["result"], query


@pytest.mark.parametrize("text", ['a"b', "back\\slash", "{x}", "two\nlines", "모델", "a'b"])
def test_escaped_matchers_are_accepted(prometheus_url: str, text: str) -> None:
    """Any label value makes a valid query that finds nothing else."""
    query = render_promql("hit_ratio", matchers={"pod": text}, window="5m")
    answer = requests.get(
        f"{prometheus_url}/api/v1/query", params={"query": query, "time": "1796040900"}, timeout=30
    )
    assert answer.ok, answer.text
    assert answer.json()["data"]["result"] == []
