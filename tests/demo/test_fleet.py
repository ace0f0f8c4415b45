"""The simulated fleet, asked through the ordinary Prometheus client."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from core.catalogue import ENGINE_INSTRUMENTS, Kind
from core.collect.slices import ENGINE_NAMES, NAMES
from core.config import Settings
from core.demo import demo_changes, demo_source, fleet_epoch
from core.demo.fleet import (
    AFFINITY,
    CANARY_TRAFFIC,
    CYCLE_S,
    FLEET,
    JOB,
    KV_PRESSURE,
    RESTART,
    SCRAPE_GAP,
    SCRAPE_S,
)
from core.demo.simulate import KEPT_CYCLES, Simulation
from core.demo.source import HISTORY_S
from core.domain.levers import ENTERED
from core.domain.records import RawSeries
from core.errors import SourceStatus
from core.sources.prometheus import PrometheusSource

NOW = 1_790_000_017.25
EPOCH = int((NOW - HISTORY_S) // 60) * 60
QUERIES = "vllm:prefix_cache_queries_total"
HITS = "vllm:prefix_cache_hits_total"
PROMPT = "vllm:prompt_tokens_total"
CACHED = "vllm:prompt_tokens_cached_total"
BY_SOURCE = "vllm:prompt_tokens_by_source_total"
WAITING = "vllm:num_requests_waiting"
FIRST_TOKEN = "vllm:time_to_first_token_seconds"  # noqa: S105 - a metric
GPT_OSS_ADDRESS = "10.42.20.13:8000"

SourceOf = Callable[..., PrometheusSource]


@pytest.fixture
def source_of(tmp_path: Path) -> SourceOf:
    def make(*, seed: int = 7, now: float = NOW, home: str = "a") -> PrometheusSource:
        settings = Settings(prometheus_url=None, data_dir=tmp_path / home, demo_seed=seed)
        return demo_source(settings, clock=lambda: now)

    return make


@pytest.fixture
def source(source_of: SourceOf) -> PrometheusSource:
    return source_of()


def read(
    source: PrometheusSource,
    /,
    *names: str,
    start: float = EPOCH,
    end: float = NOW,
    **matchers: str,
) -> list[RawSeries]:
    return source.raw_samples(names, int(start), int(end), matchers=matchers)


def one(source: PrometheusSource, name: str, **labels: str) -> RawSeries:
    (series,) = source.raw_samples([name], EPOCH, int(NOW), matchers=labels)
    return series


def same(left: list[RawSeries], right: list[RawSeries]) -> bool:
    return [_plain(series) for series in left] == [_plain(series) for series in right]


def _plain(series: RawSeries) -> tuple[dict[str, str], list[float], list[float]]:
    return series.labels, series.times.tolist(), series.values.tolist()


def during(series: RawSeries, start_s: float, end_s: float, *, cycle: int = 0) -> RawSeries:
    """Samples between two offsets of a cycle."""
    since = series.times - EPOCH - cycle * CYCLE_S
    inside = (since >= start_s) & (since < end_s)
    return RawSeries(series.labels, series.times[inside], series.values[inside])


def increase(series: RawSeries) -> float:
    return float(series.values[-1] - series.values[0])


def ratio_during(source: PrometheusSource, pod: str, start_s: float, end_s: float) -> float:
    hits = during(one(source, HITS, pod=pod), start_s, end_s)
    return increase(hits) / increase(during(one(source, QUERIES, pod=pod), start_s, end_s))


def engine_key(series: RawSeries) -> tuple[str, str]:
    return series.labels["pod"], series.labels["engine"]


def by_engine(found: list[RawSeries]) -> dict[tuple[str, str], np.ndarray]:
    return {engine_key(series): series.values for series in found}


def test_same_seed_and_epoch_give_the_same_samples(source_of: SourceOf) -> None:
    """Two fleets of one seed and epoch are one fleet; another seed is another one."""
    first = read(source_of(), QUERIES, WAITING)
    assert same(first, read(source_of(home="b"), QUERIES, WAITING))
    assert not same(first, read(source_of(home="c", seed=8), QUERIES, WAITING))


def test_an_instant_never_changes(source: PrometheusSource, source_of: SourceOf) -> None:
    """The same window asked twice, or later, or in parts, holds identical samples."""
    whole = read(source, PROMPT)
    assert same(whole, read(source, PROMPT))
    later = source_of(now=NOW + 3 * CYCLE_S)
    assert same(whole, read(later, PROMPT))
    middle = EPOCH + CYCLE_S + 61
    parts = zip(read(source, PROMPT, end=middle), read(source, PROMPT, start=middle), strict=True)
    rejoined = [
        RawSeries(a.labels, np.append(a.times, b.times), np.append(a.values, b.values))
        for a, b in parts
    ]
    assert same(whole, rejoined)


def exporting(name: str) -> set[tuple[str, str]]:
    """Engines that export an instrument: two are new in 0.32, three need a flag."""
    newer = name in ("request_num_preemptions", "prompt_tokens_cached_by_source")
    return {
        (engine.pod, engine.engine)
        for engine in FLEET
        if (engine.vllm == "0.32.0" or not newer)
        and (engine.kv_metrics or not name.startswith("kv_block_"))
    }


def test_every_instrument_is_exported_where_it_can_be(source: PrometheusSource) -> None:
    """Nothing of the catalogue is missing, and names are those of the real server."""
    found = read(source, *ENGINE_NAMES)
    for key, instrument in ENGINE_INSTRUMENTS.items():
        suffix = "" if instrument.kind is not Kind.HISTOGRAM else "_count"
        suffix = "_bucket" if suffix and instrument.buckets else suffix
        name = instrument.names[0] + suffix
        engines = {engine_key(s) for s in found if s.labels["__name__"] == name}
        assert engines == exporting(key), name
    assert {len(exporting(key)) for key in ENGINE_INSTRUMENTS} == {len(FLEET), len(FLEET) - 1}
    assert all("model_name" in s.labels or "block_size" in s.labels for s in found)


def test_the_envelope_is_what_the_client_decodes(source: PrometheusSource) -> None:
    """Clock, samples and targets come through the client without a warning."""
    assert source.server_time() == pytest.approx(NOW, abs=1e-3)
    ups = source.target_up([JOB], EPOCH, int(NOW))
    assert len(ups) == len({engine.instance for engine in FLEET})
    assert {series.labels["job"] for series in ups} == {JOB}
    assert source.target_up(["node"], EPOCH, int(NOW)) == []
    assert source.take_warnings() == []


def test_unknown_queries_are_refused(source: PrometheusSource) -> None:
    """What the simulation does not know is an error, as from a real server."""
    with pytest.raises(SourceStatus, match="HTTP 400 bad_data"):
        source._ask("sum(rate(up[5m]))")


def test_names_matchers_and_window_are_honoured(source: PrometheusSource) -> None:
    """Only the asked names, labels and seconds are answered, and nothing of the future."""
    start, end = EPOCH + 600, EPOCH + 720
    found = read(source, HITS, PROMPT, start=start, end=end, pod="qwen3-32b-0", model_name="x")
    assert found == []
    found = read(source, HITS, PROMPT, start=start, end=end, pod="qwen3-32b-0")
    assert {series.labels["__name__"] for series in found} == {HITS, PROMPT}
    assert all(series.times.size == 120 / SCRAPE_S for series in found)
    assert all(series.times.min() >= start and series.times.max() < end for series in found)
    newest = max(s.times[-1] for s in read(source, PROMPT, start=NOW - 60, end=NOW + 600))
    assert NOW - SCRAPE_S < newest <= NOW
    assert read(source, PROMPT, start=EPOCH - 600, end=EPOCH) == []


def test_ranges_are_closed_at_both_ends() -> None:
    """A sample exactly at either end of a window is in it, as in Prometheus 2."""
    simulation = Simulation(seed=7, epoch=EPOCH)
    (whole,) = simulation.samples(_is_up_of_gpt_oss, EPOCH, EPOCH + 100)
    (cut,) = simulation.samples(_is_up_of_gpt_oss, whole.times[1], whole.times[3])
    assert cut.times.tolist() == whole.times[1:4].tolist()


def _is_up_of_gpt_oss(labels: Mapping[str, str]) -> bool:
    return labels["__name__"] == "up" and labels["instance"] == GPT_OSS_ADDRESS


def test_counters_agree_with_each_other(source: PrometheusSource) -> None:
    """At every scrape sources sum to prompt tokens, and cached ones are part of them."""
    prompt, cached = by_engine(read(source, PROMPT)), by_engine(read(source, CACHED))
    local = by_engine(read(source, BY_SOURCE, source="local_cache_hit"))
    external = by_engine(read(source, BY_SOURCE, source="external_kv_transfer"))
    computed = by_engine(read(source, BY_SOURCE, source="local_compute"))
    queries, hits = by_engine(read(source, QUERIES)), by_engine(read(source, HITS))
    for key, total in prompt.items():
        assert (local[key] + external[key] + computed[key] == total).all()
        assert (cached[key] == local[key] + external[key]).all()
        assert (hits[key] <= queries[key]).all()
        assert (hits[key] % 16 == 0).all()
        if key[0] != "qwen3-32b-2":
            assert (queries[key] == total).all()
            assert (hits[key] == local[key]).all()


def test_only_scout_uses_an_external_cache(source: PrometheusSource) -> None:
    """External counters exist everywhere and move only where there is a connector."""
    queries = by_engine(read(source, "vllm:external_prefix_cache_queries_total"))
    hits = by_engine(read(source, "vllm:external_prefix_cache_hits_total"))
    assert {key for key, values in queries.items() if values.any()} == {
        (f"llama-4-scout-{i}", "0") for i in range(3)
    }
    assert all((hits[key] <= queries[key]).all() for key in queries)


def test_histograms_are_whole(source: PrometheusSource) -> None:
    """Buckets rise with their edge and end at the count; edges are written as by the server."""
    found = read(source, f"{FIRST_TOKEN}_bucket", pod="qwen3-32b-0")
    edges = [series.labels["le"] for series in found]
    assert edges[:3] == ["0.001", "0.005", "0.01"]
    assert edges[-4:] == ["160.0", "640.0", "2560.0", "+Inf"]
    stacked = np.array([series.values for series in found])
    assert (np.diff(stacked, axis=0) >= 0).all()
    count = one(source, f"{FIRST_TOKEN}_count", pod="qwen3-32b-0").values
    total = one(source, f"{FIRST_TOKEN}_sum", pod="qwen3-32b-0").values
    assert (stacked[-1] == count).all()
    assert 0.1 < total[-1] / count[-1] < 1.0


def test_affinity_lifts_the_hit_ratio(source: PrometheusSource) -> None:
    """Spread traffic hits about 45 %, and sessions on their own engine about 78 %."""
    off = AFFINITY.start_s + AFFINITY.length_s - CYCLE_S
    before = ratio_during(source, "qwen3-32b-0", off + 600, AFFINITY.start_s)
    after = ratio_during(source, "qwen3-32b-0", AFFINITY.start_s + 600, CYCLE_S)
    assert before == pytest.approx(0.45, abs=0.03)
    assert after == pytest.approx(0.78, abs=0.03)


def test_a_restart_begins_at_zero_with_a_cold_cache(source: PrometheusSource) -> None:
    """The pod is down, its counters fall, its cache warms up and its configuration differs."""
    back = RESTART.start_s + RESTART.length_s
    (up,) = (
        s for s in source.target_up([JOB], EPOCH, int(NOW)) if s.labels["pod"] == "llama-4-scout-1"
    )
    down = during(up, RESTART.start_s, back)
    assert down.times.size == RESTART.length_s / SCRAPE_S
    assert not down.values.any()
    assert during(up, back, CYCLE_S).values.all()
    prompt = one(source, PROMPT, pod="llama-4-scout-1")
    assert during(prompt, RESTART.start_s, back).times.size == 0
    assert np.count_nonzero(np.diff(prompt.values) < 0) == 2
    cold = ratio_during(source, "llama-4-scout-1", back, back + 120)
    warm = ratio_during(source, "llama-4-scout-1", back + 720, CYCLE_S)
    assert cold < 0.3
    assert warm > 0.55
    shown = read(source, "vllm:cache_config_info", pod="llama-4-scout-1")
    assert [s.labels["gpu_memory_utilization"] for s in shown] == ["0.9", "0.92"]
    assert len({s.labels["num_gpu_blocks"] for s in shown}) == 2


def test_pressure_is_an_episode(source: PrometheusSource) -> None:
    """KV room, queue, preemptions and time to first token are bad then, and only then."""
    start, end = KV_PRESSURE.start_s, KV_PRESSURE.start_s + KV_PRESSURE.length_s
    usage = one(source, "vllm:kv_cache_usage_perc", pod="qwen3-32b-2")
    assert during(usage, start, end).values.min() >= 0.97
    assert during(usage, 0, start).values.max() < 0.97
    waiting = one(source, f"{WAITING}_by_reason", pod="qwen3-32b-2", reason="capacity")
    assert 5 < during(waiting, start, end).values.max() <= 20
    assert not during(waiting, 0, start).values.any()
    preempted = one(source, "vllm:num_preemptions_total", pod="qwen3-32b-2")
    assert increase(during(preempted, 0, start)) == 0 < increase(during(preempted, start, end))
    slow, count = (
        increase(during(one(source, f"{FIRST_TOKEN}_{part}", pod="qwen3-32b-2"), start, end))
        for part in ("sum", "count")
    )
    assert slow / count > 2


def test_lookups_are_inflated_only_in_the_episode(source: PrometheusSource) -> None:
    """The old engine counts lookups again under KV pressure; otherwise each once."""
    queries, prompt = (one(source, name, pod="qwen3-32b-2") for name in (QUERIES, PROMPT))
    again = np.diff(queries.values) - np.diff(prompt.values)
    pressed = KV_PRESSURE.covers(queries.times[1:] - EPOCH)
    assert not again[~pressed].any()
    assert again[pressed].sum() > 2 * np.diff(prompt.values)[pressed].sum()


def test_a_scrape_gap_hides_what_goes_on(source: PrometheusSource) -> None:
    """Nothing of the target is scraped, not even `up`, and the counters go on rising."""
    start, end = SCRAPE_GAP.start_s, SCRAPE_GAP.start_s + SCRAPE_GAP.length_s
    found = read(source, *NAMES, instance=GPT_OSS_ADDRESS)
    found += [
        s
        for s in source.target_up([JOB], EPOCH, int(NOW))
        if s.labels["instance"] == GPT_OSS_ADDRESS
    ]
    assert all(during(series, start, end).times.size == 0 for series in found)
    for prompt in read(source, PROMPT, instance=GPT_OSS_ADDRESS):
        gap = int(np.argmax(np.diff(prompt.times)))
        usual = np.median(np.diff(prompt.values))
        assert np.diff(prompt.values)[gap] > 10 * usual
        assert (np.diff(prompt.values) >= 0).all()


def test_an_engine_without_traffic_stands_still(source: PrometheusSource) -> None:
    """The canary is scraped all the time and works for half an hour of a cycle."""
    prompt = one(source, PROMPT, pod="qwen3-32b-3")
    start, end = CANARY_TRAFFIC.start_s, CANARY_TRAFFIC.start_s + CANARY_TRAFFIC.length_s
    assert increase(during(prompt, start, end)) > 0
    assert increase(during(prompt, end, CYCLE_S)) == 0
    assert during(prompt, end, CYCLE_S).times.size == (CYCLE_S - end) / SCRAPE_S


def test_old_cycles_are_forgotten() -> None:
    """A fleet that runs for days keeps about a day of samples."""
    simulation = Simulation(seed=7, epoch=EPOCH)
    late = EPOCH + (KEPT_CYCLES + 2) * CYCLE_S
    found = simulation.samples(_is_up_of_gpt_oss, EPOCH, late)
    assert found[0].times[0] - EPOCH > CYCLE_S


def test_routing_changes_have_stable_ids() -> None:
    """A later look tells the same changes again, and those that came since."""
    early, late = demo_changes(EPOCH, NOW), demo_changes(EPOCH, NOW + CYCLE_S)
    assert [change.what for change in early] == [
        f"session affinity {state}" for state in ("off", "on", "off", "on")
    ]
    assert late[: len(early)] == early
    assert len({change.lever_id for change in late}) == len(late) == 6
    assert all(change.kind in ENTERED and EPOCH <= change.at <= NOW for change in early)
    assert demo_changes(EPOCH, EPOCH - 5) == []


def test_the_epoch_is_remembered_for_a_day(tmp_path: Path) -> None:
    """A restart within a day continues the fleet; after it, or with a bad file, one begins."""
    settings = Settings(prometheus_url=None, data_dir=tmp_path)
    assert fleet_epoch(settings, NOW) == fleet_epoch(settings, NOW + 3600) == EPOCH
    assert fleet_epoch(settings, NOW + 86_400) > EPOCH
    (settings.home / "demo-epoch").write_text("not a number")
    assert fleet_epoch(settings, NOW) == EPOCH
