"""However a period is cut into slices, every sample counts once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.records import Floats
from tests.collect.conftest import RigOf
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import (
    CELLS,
    CONFIG,
    HITS,
    KV_USAGE,
    QUERIES,
    T0,
    TTFT,
    Rig,
    engine,
    scrapes,
    target,
)

WEEK_S = 7 * 86_400
WEEK_SAMPLES = 40_321
"""Seven days at 15 s, both ends included."""
A, B = engine("a"), engine("b")


def traffic(n: int) -> tuple[Floats, Floats]:
    """Lookups and hits of n scrapes."""
    rng = np.random.default_rng(11)
    queries = rng.integers(0, 5_000, n)
    return 1e6 + np.cumsum(queries), 4e5 + np.cumsum(queries * 3 // 4)


def week(*, left_open: bool) -> FakePrometheus:
    fake = FakePrometheus(now=T0 + WEEK_S + 30, left_open=left_open)
    times = scrapes(WEEK_SAMPLES)
    queries, hits = traffic(WEEK_SAMPLES)
    fake.add("up", times, np.ones(WEEK_SAMPLES), **target(A))
    fake.add(QUERIES, times, queries, **A)
    fake.add(HITS, times, hits, **A)
    return fake


def assert_counted_once(rig: Rig) -> None:
    queries, hits = traffic(WEEK_SAMPLES)
    found = rig.sql(
        "select instrument, sum(samples)::int, sum(increase), sum(resets)::int, sum(covered_s)"
        " from minute_counters group by instrument order by instrument"
    )
    assert found == [
        ("prefix_cache_hits", WEEK_SAMPLES, hits[-1] - hits[0], 0, WEEK_S),
        ("prefix_cache_queries", WEEK_SAMPLES, queries[-1] - queries[0], 0, WEEK_S),
    ]
    assert (
        rig.value("select count(*) - count(distinct (series_id, minute)) from counter_cells") == 0
    )


@pytest.mark.parametrize(("slices", "left_open"), [([], False), ([], True), ([36_000], True)])
def test_a_week_read_again_counts_every_sample_once(
    rig_of: RigOf, slices: list[int], *, left_open: bool
) -> None:
    """A period read in slices has each of 40,321 samples once, in Prometheus 2 and 3."""
    rig = rig_of(week(left_open=left_open))
    rig.collect(T0, T0 + WEEK_S + 1, slices=slices)
    assert_counted_once(rig)


@pytest.mark.parametrize("left_open", [False, True])
def test_a_week_caught_up_counts_every_sample_once(rig_of: RigOf, *, left_open: bool) -> None:
    """So does a collector that starts a week behind, and running it again adds nothing."""
    rig = rig_of(week(left_open=left_open), backfill_days=7)
    assert rig.catch_up() > 3
    assert_counted_once(rig)
    before = rig.tables()
    assert rig.catch_up() == 1
    assert rig.tables() == before


def test_following_live_ends_where_a_backfill_ends(rig_of: RigOf) -> None:
    """Steps every 25 s over ten minutes give the cells that one later reading gives."""
    fake = lively(now=T0 + 1600)
    live = rig_of(fake, backfill_days=0.01)
    collector = live.collector()
    for _ in range(24):
        fake.now += 25
        live.catch_up(collector)
    later = rig_of(fake)
    later.collect(live.state_file.load().backfill_from, fake.now)  # type: ignore[union-attr]
    assert live.tables(CELLS) == later.tables(CELLS)


# --- the same, whatever the slices ----------------------------------------------------


LIVELY_S = 2400
SCRAPES = LIVELY_S // 15


def lively(now: float) -> FakePrometheus:
    """40 minutes of two engines: failed scrapes, a restart, a change, a hole, a birth."""
    fake = FakePrometheus(now=now)
    times = scrapes(SCRAPES)
    queries, hits = traffic(SCRAPES)
    restarted = times >= T0 + 840
    before = times < T0 + 600
    there = before | restarted
    fake.add("up", times, there, **target(A))
    fall_queries, fall_hits = queries[56] - 10, hits[56]
    fake.add(
        QUERIES, times[there], np.where(restarted, queries - fall_queries, queries)[there], **A
    )
    fake.add(HITS, times[there], np.where(restarted, hits - fall_hits, hits)[there], **A)
    info = {k: v for k, v in A.items() if k != "model_name"}
    for seen, blocks in ((before, "100"), (restarted, "200")):
        fake.add(CONFIG, times[seen], np.ones(seen.sum()), **info, num_gpu_blocks=blocks)

    seen = (times < T0 + 1500) | (times >= T0 + 1890)
    n = int(seen.sum())
    rng = np.random.default_rng(5)
    fake.add("up", times[seen] + 7, np.ones(n), **target(B))
    fake.add(QUERIES, times[seen] + 7, queries[seen], **B)
    fake.add(HITS, times[135:] + 7, hits[135:] - hits[135], **B)
    fake.add(KV_USAGE, times[seen] + 7, rng.random(n), **B)
    counts = np.cumsum(np.cumsum(rng.integers(0, 3, (3, SCRAPES)), axis=1), axis=0)
    for le, values in zip(("0.5", "1.0", "+Inf"), counts, strict=True):
        fake.add(f"{TTFT}_bucket", times[seen] + 7, values[seen], **B, le=le)
    fake.add(f"{TTFT}_count", times[seen] + 7, counts[-1][seen], **B)
    return fake


@pytest.fixture(scope="module")
def in_one_slice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """The lively period read as a whole."""
    rig = Rig(tmp_path_factory.mktemp("whole"), lively(now=T0 + 7200))
    rig.collect(T0, T0 + LIVELY_S, slices=[LIVELY_S])
    yield rig
    rig.close()


LENGTHS = st.lists(st.sampled_from([120, 300, 540, 900]), min_size=2, max_size=9)


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lengths=LENGTHS)
def test_sums_do_not_depend_on_slices(in_one_slice: Rig, rig_of: RigOf, lengths: list[int]) -> None:
    """Increase, samples, resets and gauges of every minute are the same however it is cut."""
    rig = rig_of(lively(now=T0 + 7200))
    rig.collect(T0, T0 + LIVELY_S, slices=lengths)
    query = (
        "select series_id, minute, increase, samples, resets, largest_gap_s, first_at, last_at,"
        " duplicate from counter_cells order by all"
    )
    assert rig.sql(query) == in_one_slice.sql(query)
    names = ("bucket_cells", "gauge_cells", "series", "engines")
    assert rig.tables(names) == in_one_slice.tables(names)


@pytest.mark.parametrize("length", [60, 300])
def test_coverage_does_not_depend_on_slices(in_one_slice: Rig, rig_of: RigOf, length: int) -> None:
    """Covered seconds and what was seen across gaps are the same, too."""
    rig = rig_of(lively(now=T0 + 7200))
    rig.collect(T0, T0 + LIVELY_S, slices=[length])
    query = "select series_id, minute, covered_s, gap_increase from counter_cells order by all"
    assert rig.sql(query) == in_one_slice.sql(query)


@pytest.mark.parametrize("length", [120, 900])
def test_changes_do_not_depend_on_slices(in_one_slice: Rig, rig_of: RigOf, length: int) -> None:
    """The same changes are found at the same times, with the same ids."""
    rig = rig_of(lively(now=T0 + 7200))
    rig.collect(T0, T0 + LIVELY_S, slices=[length])
    assert rig.tables(("levers",)) == in_one_slice.tables(("levers",))
    assert [kind for kind, _, _ in rig.levers()] == [
        "configuration",
        "restart",
        "engine_left",
        "engine_appeared",
    ]


@pytest.mark.parametrize("length", [60, 600])
def test_a_birth_adds_no_sample(rig_of: RigOf, length: int) -> None:
    """The scrape before a series was born lends its time, and is no sample of the series."""
    fake = FakePrometheus(now=T0 + 3600)
    fake.add("up", scrapes(40), np.ones(40), **target(A))
    fake.add("vllm:num_requests_running", scrapes(40), np.ones(40), **A)
    fake.add(QUERIES, scrapes(36)[20:], 10.0 * np.arange(16) + 10, **A)
    rig = rig_of(fake)
    rig.collect(T0, T0 + 600, slices=[length])
    assert rig.total("prefix_cache_queries") == 160
    assert rig.sql(
        "select sum(samples)::int, epoch(min(first_at))::int, count(*) from minute_counters"
    ) == [(16, T0 + 300, 4)]


# --- killed between the two writes ----------------------------------------------------


@pytest.mark.parametrize("killed_at", [1, 2, 4])
def test_a_kill_between_batch_and_state_repeats_nothing(
    rig_of: RigOf, tmp_path: Path, killed_at: int
) -> None:
    """The batch is there, the state is the older one: reading on gives the same tables."""
    whole = rig_of(lively(now=T0 + 2400 + 20), backfill_days=0.1)
    whole.catch_up()
    killed = rig_of(lively(now=T0 + 2400 + 20), backfill_days=0.1)
    collector = killed.collector()
    for _ in range(killed_at - 1):
        collector.step()
    kept = tmp_path / "kept"
    if killed.state_file.path.exists():
        shutil.copy(killed.state_file.path, kept)
    collector.step()
    if kept.exists():
        shutil.copy(kept, killed.state_file.path)
    else:
        killed.state_file.path.unlink()
    killed.catch_up()
    assert killed.tables() == whole.tables()


def test_a_damaged_state_begins_anew(rig_of: RigOf) -> None:
    """A state file that cannot be read costs work, and changes no number."""
    rig = rig_of(lively(now=T0 + 2400 + 20), backfill_days=0.1)
    rig.catch_up()
    before = rig.tables(CELLS)
    rig.state_file.path.write_bytes(b"\x00garbage")
    rig.catch_up()
    assert rig.tables(CELLS) == before
