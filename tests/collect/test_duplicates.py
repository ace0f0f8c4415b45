"""One engine scraped under two addresses counts once; two engines count twice."""

import numpy as np
import pytest

from core.domain.records import Floats
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import HITS, QUERIES, T0, Rig, engine, scrapes, target

FIRST = engine(job="kubernetes-pods", instance="10.0.0.1:8000")
SECOND = engine(job="vllm", instance="vllm.svc:8000")
OFFSET = 7
"""Seconds between the scrapes of the two jobs."""
LENGTH = 1200
LATER = scrapes(72, start=T0 + 120) + OFFSET
"""Scrapes of the second address, which is met after the first is known."""
SLICES = pytest.mark.parametrize("slices", [[60, 1140], [60]])


def lookups(times: Floats) -> Floats:
    """Lookups of one busy process at any time."""
    return np.floor(1000 + 40 * (times - T0))


def restarted(times: Floats) -> Floats:
    """Lookups of one process that began again at zero after ten minutes."""
    return np.where(times < T0 + 600, lookups(times), np.floor(40 * (times - T0 - 600)))


def show(fake: FakePrometheus, labels: dict[str, str], times: Floats, values: Floats) -> None:
    fake.add("up", times, np.ones(times.size), **target(labels))
    fake.add(QUERIES, times, values, **labels)
    fake.add(HITS, times, np.floor(values / 2), **labels)


def both(fake: FakePrometheus, *, seen: Floats | None = None) -> None:
    """Show one process at both addresses; `seen` are the scrapes of the first."""
    first = scrapes(80) if seen is None else seen
    show(fake, FIRST, first, lookups(first))
    show(fake, SECOND, LATER, lookups(LATER))


def once(seconds: int) -> tuple[int, int]:
    """Lookups of so many seconds, up to the last scrape of the first address or of either."""
    return 40 * (seconds - 15), 40 * (seconds - 15 + OFFSET)


def duplicates(rig: Rig) -> dict[str, str | None]:
    return dict(rig.sql("select job, duplicate_of from targets order by job"))


@SLICES
def test_one_engine_under_two_jobs_counts_once(rig: Rig, slices: list[int]) -> None:
    """The second address is flagged with the name of the first, and nothing is added up."""
    both(rig.fake)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert duplicates(rig) == {"kubernetes-pods": None, "vllm": "kubernetes-pods 10.0.0.1:8000"}
    view = rig.hit_ratio(T0, T0 + LENGTH)
    assert view.ratios[0].denominator in once(LENGTH)
    assert view.ratios[0].coverage is not None
    assert view.ratios[0].coverage.engines == 1
    assert len(view.fleet.engines) == 1


@SLICES
def test_two_replicas_of_the_scraper_count_once(rig: Rig, slices: list[int]) -> None:
    """A highly available pair read without deduplication shows every engine twice."""
    for name, times in (("a", scrapes(80)), ("b", scrapes(80) + OFFSET)):
        show(rig.fake, engine(prometheus_replica=name), times, lookups(times))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.value("select count(duplicate_of) from targets") == 1
    assert rig.total("prefix_cache_queries") in once(LENGTH)
    assert len(rig.hit_ratio(T0, T0 + LENGTH).fleet.engines) == 1


def test_the_second_address_is_kept(rig: Rig) -> None:
    """Its cells are stored and flagged, not thrown away."""
    both(rig.fake)
    rig.collect(T0, T0 + LENGTH, slices=[60])
    kept = rig.value("select sum(samples)::int from counter_cells where duplicate")
    assert kept == 2 * LATER.size


@SLICES
def test_a_restart_of_one_engine_keeps_it_one(rig: Rig, slices: list[int]) -> None:
    """Both addresses fall together, so they are still one engine."""
    show(rig.fake, FIRST, scrapes(80), restarted(scrapes(80)))
    show(rig.fake, SECOND, LATER, restarted(LATER))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert duplicates(rig)["vllm"] == "kubernetes-pods 10.0.0.1:8000"
    # up to the last scrape before the restart, which begins at 0, and from there on
    assert rig.total("prefix_cache_queries") in [2 * half for half in once(600)]
    assert rig.hit_ratio(T0, T0 + LENGTH).ratios[0].restarted == 1


def test_a_restart_seen_twice_is_one_change(rig: Rig) -> None:
    """The lever log holds one restart of one engine, not one an address."""
    show(rig.fake, FIRST, scrapes(80), restarted(scrapes(80)))
    show(rig.fake, SECOND, LATER, restarted(LATER))
    rig.collect(T0, T0 + LENGTH, slices=[60, 1140])
    assert [kind for kind, _, _ in rig.levers()] == ["restart"]


@pytest.mark.parametrize(("slices", "factor"), [([LENGTH], 1.01), ([LENGTH], 0.5), ([60], 0.5)])
def test_two_engines_with_the_same_labels_both_count(
    rig: Rig, slices: list[int], factor: float
) -> None:
    """Without a pod label two engines look alike; their counters tell them apart."""
    bare = {"job": "vllm", "model_name": "m", "engine": "0"}
    a, b = bare | {"instance": "10.0.0.1:8000"}, bare | {"instance": "10.0.0.2:8000"}
    times = scrapes(80)
    show(rig.fake, a, times, lookups(times))
    show(rig.fake, b, times + OFFSET, np.floor(factor * lookups(times + OFFSET)))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.value("select count(duplicate_of) from targets") == 0
    first, second = lookups(times), np.floor(factor * lookups(times + OFFSET))
    expected = first[-1] - first[0] + second[-1] - second[0]
    assert rig.total("prefix_cache_queries") == expected


def test_an_idle_duplicate_is_found_when_it_works(rig: Rig) -> None:
    """Zeros tell nothing; as soon as there is traffic the two are seen to be one."""

    def quiet_first(times: Floats) -> Floats:
        return np.maximum(0, np.floor(40 * (times - T0 - 600)))

    show(rig.fake, FIRST, scrapes(80), quiet_first(scrapes(80)))
    show(rig.fake, SECOND, scrapes(80) + OFFSET, quiet_first(scrapes(80) + OFFSET))
    rig.collect(T0, T0 + LENGTH, slices=[300])
    assert rig.value("select count(duplicate_of) from targets") == 1
    assert rig.total("prefix_cache_queries") in once(600)


@SLICES
def test_when_the_first_address_vanishes_the_second_counts(rig: Rig, slices: list[int]) -> None:
    """From the next minute on nothing is lost."""
    both(rig.fake, seen=scrapes(42))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    after = T0 + 660
    view = rig.hit_ratio(after, T0 + LENGTH)
    last_before = scrapes(80)[43] + OFFSET
    expected = lookups(scrapes(80)[-1:] + OFFSET)[0] - lookups(np.array([last_before]))[0]
    assert view.ratios[0].denominator == expected
    assert [gap for gap in view.fleet.gaps if gap.start >= after] == []


def test_the_minute_of_vanishing_is_not_lost(rig: Rig) -> None:
    """What one process did is counted once in all, also in the minute the first address goes."""
    both(rig.fake, seen=scrapes(42))
    rig.collect(T0, T0 + LENGTH, slices=[60, 1140])
    last = lookups(scrapes(80)[-1:] + OFFSET)[0]
    assert rig.total("prefix_cache_queries") == last - lookups(scrapes(1))[0]


def test_a_hole_at_the_first_address_counts_once(rig: Rig) -> None:
    """What the second address shows meanwhile is not counted again when the first is back."""
    times = scrapes(80)
    both(rig.fake, seen=times[(times < T0 + 300) | (times >= T0 + 600)])
    rig.collect(T0, T0 + LENGTH, slices=[60, 1140])
    assert rig.total("prefix_cache_queries") in once(LENGTH)


@pytest.mark.parametrize("slices", [[LENGTH], [60]])
def test_a_duplicate_that_appears_late_adds_nothing(rig: Rig, slices: list[int]) -> None:
    """A second job configured later changes no number."""
    late = scrapes(40, start=T0 + 600) + OFFSET
    show(rig.fake, FIRST, scrapes(80), lookups(scrapes(80)))
    show(rig.fake, SECOND, late, lookups(late))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.value("select count(duplicate_of) from targets") == 1
    assert rig.total("prefix_cache_queries") in once(LENGTH)
    assert rig.levers() == []


def test_a_duplicate_is_told_live(rig: Rig) -> None:
    """Followed in short steps, both addresses together count once."""
    both(rig.fake)
    rig.fake.now = T0 + 100
    collector = rig.collector()
    rig.catch_up(collector)
    for _ in range(20):
        rig.fake.now += 15
        rig.catch_up(collector)
    assert duplicates(rig)["vllm"] == "kubernetes-pods 10.0.0.1:8000"
    assert rig.total("prefix_cache_queries") in once(405)
