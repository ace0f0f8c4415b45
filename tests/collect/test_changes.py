"""Changes the collector finds by itself: each once, at its time, whatever the slices."""

import numpy as np
import pytest

from core.domain.records import Floats
from tests.collect.conftest import RigOf
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import CONFIG, QUERIES, T0, Rig, engine, scrapes, target

A, B = engine("a"), engine("b")
LENGTH = 3600
ALL = scrapes(LENGTH // 15)
SLICES = pytest.mark.parametrize("slices", [[LENGTH], [420]])


def show(fake: FakePrometheus, labels: dict[str, str], times: Floats = ALL) -> None:
    """Show a working engine at these scrapes."""
    fake.add("up", times, np.ones(times.size), **target(labels))
    fake.add(QUERIES, times, 100 * (times - T0), **labels)


def between(start: float, end: float) -> Floats:
    return ALL[(T0 + start <= ALL) & (T0 + end > ALL)]


def configured(fake: FakePrometheus, labels: dict[str, str], *spans: tuple[Floats, str]) -> None:
    """Show cache_config_info with a block number per span of scrapes."""
    info = {k: v for k, v in labels.items() if k != "model_name"}
    for blocks in dict.fromkeys(blocks for _, blocks in spans):
        times = np.concatenate([t for t, shown in spans if shown == blocks])
        fake.add(CONFIG, times, np.ones(times.size), **info, num_gpu_blocks=blocks)


# --- configuration --------------------------------------------------------------------


@SLICES
def test_a_changed_configuration_is_one_change(rig: Rig, slices: list[int]) -> None:
    """A label of cache_config_info that differs is told once, with both values and its engine."""
    show(rig.fake, A)
    configured(rig.fake, A, (between(0, 1200), "100"), (between(1200, LENGTH), "200"))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [("configuration", 1200, "num_gpu_blocks 100 → 200")]
    (mark,) = rig.hit_ratio(T0, T0 + LENGTH).fleet.changes
    assert mark.engine == "a"


@SLICES
def test_a_change_and_back_is_two_changes(rig: Rig, slices: list[int]) -> None:
    """A, B, A again: the label set that comes back is seen, also inside one slice."""
    show(rig.fake, A)
    spans = (between(0, 1200), "100"), (between(1200, 1260), "200"), (between(1260, 3600), "100")
    configured(rig.fake, A, *spans)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [
        ("configuration", 1200, "num_gpu_blocks 100 → 200"),
        ("configuration", 1260, "num_gpu_blocks 200 → 100"),
    ]


def test_live_and_later_tell_the_same(rig: Rig) -> None:
    """What was followed live and what is read again later have the same changes and ids."""
    show(rig.fake, A)
    configured(rig.fake, A, (between(0, 1200), "100"), (between(1200, LENGTH), "200"))
    rig.fake.now = T0 + 1100
    collector = rig.collector()
    rig.catch_up(collector)
    for _ in range(14):
        rig.fake.now += 20
        rig.catch_up(collector)
    live = rig.tables(("levers",))
    assert len(live["levers"]) == 1
    rig.collect(T0, T0 + 1380)
    assert rig.tables(("levers",)) == live


def test_a_configuration_changed_in_a_restart_is_told(rig: Rig) -> None:
    """Before and after a time without scrapes the labels are still compared."""
    seen = np.concatenate([between(0, 1200), between(1500, LENGTH)])
    rig.fake.add("up", ALL, np.isin(ALL, seen), **target(A))
    rig.fake.add(QUERIES, seen, np.where(seen < T0 + 1400, 1e6, 0) + seen - T0, **A)
    configured(rig.fake, A, (between(0, 1200), "100"), (between(1500, LENGTH), "200"))
    rig.collect(T0, T0 + LENGTH, slices=[240])
    assert rig.levers() == [
        ("configuration", 1500, "num_gpu_blocks 100 → 200"),
        ("restart", 1500, "counters began again at zero"),
    ]


def test_each_rank_has_its_own_configuration(rig: Rig) -> None:
    """Two engines of one server whose labels always differed have changed nothing."""
    ranks = [engine("a", engine=rank) for rank in ("0", "1")]
    for labels, blocks in zip(ranks, ("100", "200"), strict=True):
        rig.fake.add(QUERIES, ALL, ALL - T0, **labels)
        configured(rig.fake, labels, (ALL, blocks))
    rig.collect(T0, T0 + LENGTH, slices=[420])
    assert rig.levers() == []


# --- engines that come and go ---------------------------------------------------------


@SLICES
def test_the_start_of_the_record_is_no_arrival(rig: Rig, slices: list[int]) -> None:
    """Engines that are there from the beginning did not appear."""
    show(rig.fake, A)
    show(rig.fake, B, ALL + 7)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == []


@SLICES
def test_an_engine_appears(rig: Rig, slices: list[int]) -> None:
    """A new engine beside an old one is told once, at its first scrape."""
    show(rig.fake, A)
    show(rig.fake, B, between(1200, LENGTH))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [("engine_appeared", 1200, "first scrape")]


@SLICES
def test_an_engine_leaves(rig: Rig, slices: list[int]) -> None:
    """An engine that is scraped no more is told once, at its last scrape, and is gone."""
    show(rig.fake, A)
    show(rig.fake, B, between(0, 1200))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [("engine_left", 1185, "no longer scraped")]
    gone = dict(rig.sql("select job || instance, epoch(gone_at) from targets"))
    assert gone == {"vllma:8000": None, "vllmb:8000": T0 + 1185}
    names = [e.name for e in rig.hit_ratio(T0 + 1800, T0 + 2400).fleet.engines]
    assert names == ["a"]


def test_a_failing_engine_has_not_left(rig: Rig) -> None:
    """As long as its target is scraped, however long in vain, it is there and down."""
    show(rig.fake, A)
    rig.fake.add("up", ALL, ALL < T0 + 600, **target(B))
    rig.fake.add(QUERIES, between(0, 600), between(0, 600) - T0, **B)
    rig.collect(T0, T0 + LENGTH, slices=[420])
    assert rig.levers() == []
    assert rig.sql("select instance, up, gone_at from targets order by instance") == [
        ("a:8000", True, None),
        ("b:8000", False, None),
    ]


@SLICES
def test_an_engine_comes_back(rig: Rig, slices: list[int]) -> None:
    """Left and back again are two changes, and it is not gone any more."""
    show(rig.fake, A)
    show(rig.fake, B, np.concatenate([between(0, 1200), between(2400, LENGTH)]))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [
        ("engine_left", 1185, "no longer scraped"),
        ("engine_appeared", 2400, "first scrape"),
    ]
    assert rig.value("select count(gone_at) from targets") == 0


@SLICES
def test_an_engine_moves(rig: Rig, slices: list[int]) -> None:
    """The same labels at another address are one engine that began again there."""
    show(rig.fake, A)
    show(rig.fake, B, between(0, 1200))
    show(rig.fake, B | {"instance": "10.0.0.9:8000"}, between(1260, LENGTH))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [("restart", 1260, "runs at 10.0.0.9:8000 now")]
    assert len(rig.hit_ratio(T0, T0 + LENGTH).fleet.engines) == 2


def test_an_engine_that_moved_can_leave(rig: Rig) -> None:
    """That its first address is gone does not hide that it leaves the second one."""
    show(rig.fake, A)
    show(rig.fake, B, between(0, 600))
    show(rig.fake, B | {"instance": "10.0.0.9:8000"}, between(660, 1800))
    rig.collect(T0, T0 + LENGTH, slices=[420])
    assert rig.levers() == [
        ("restart", 660, "runs at 10.0.0.9:8000 now"),
        ("engine_left", 1785, "no longer scraped"),
    ]


def test_ids_are_stable(rig: Rig) -> None:
    """Reading the same slices again adds no change."""
    show(rig.fake, A)
    show(rig.fake, B, np.concatenate([between(0, 1200), between(2400, LENGTH)]))
    configured(rig.fake, A, (between(0, 1200), "100"), (between(1200, LENGTH), "200"))
    rig.collect(T0, T0 + LENGTH, slices=[420])
    before = rig.tables()
    assert len(before["levers"]) == 3
    rig.collect(T0, T0 + LENGTH, slices=[420])
    assert rig.tables() == before


# --- an old period read again ---------------------------------------------------------


@pytest.fixture
def recent(fake: FakePrometheus, rig_of: RigOf) -> Rig:
    """A collector that goes back ten minutes from the end of the hour."""
    fake.now = T0 + LENGTH - 5
    return rig_of(fake, backfill_days=600 / 86_400)


def test_an_older_period_read_later_has_its_engines(recent: Rig) -> None:
    """After reading an old period on demand and following on, that period still has engines."""
    rig = recent
    show(rig.fake, A)
    collector = rig.collector()
    rig.catch_up(collector)
    rig.collect(T0, T0 + 600)
    assert len(rig.hit_ratio(T0, T0 + 600).fleet.engines) == 1
    rig.catch_up(collector)
    view = rig.hit_ratio(T0, T0 + 600)
    assert len(view.fleet.engines) == 1
    assert view.tokens[0].value == 100 * 585


def test_an_older_period_does_not_rename_today(recent: Rig) -> None:
    """What an old server exported in an old period is not what the engine exports now."""
    rig = recent
    rig.fake.add("up", ALL, np.ones(ALL.size), **target(A))
    old = between(0, 1200)
    rig.fake.add("vllm:gpu_prefix_cache_queries_total", old, old - T0, **A)
    rig.fake.add(QUERIES, between(1200, LENGTH), between(1200, LENGTH) - T0, **A)
    collector = rig.collector()
    rig.catch_up(collector)
    rig.collect(T0, T0 + 600)
    rig.catch_up(collector)
    state = "select state from exports where instrument = 'prefix_cache_queries'"
    assert rig.value(state) == "exported"


def test_an_older_period_does_not_age_the_source(recent: Rig) -> None:
    """The cache still knows until when the source was read."""
    rig = recent
    show(rig.fake, A)
    rig.catch_up()
    newest = rig.value("select read_to from sources")
    rig.collect(T0, T0 + 600)
    assert rig.value("select read_to from sources") == newest
