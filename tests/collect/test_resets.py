"""Cache resets: each call told once, at its scrape, for the engines at its address."""

import numpy as np
import pytest

from core.domain.records import Floats
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import QUERIES, T0, Rig, engine, scrapes, target

A, B = engine("a"), engine("b")
LENGTH = 3600
ALL = scrapes(LENGTH // 15)
SLICES = pytest.mark.parametrize("slices", [[LENGTH], [420], [60, 300]])


def show(fake: FakePrometheus, labels: dict[str, str], times: Floats = ALL) -> None:
    """Show a working engine at these scrapes."""
    fake.add("up", times, np.ones(times.size), **target(labels))
    fake.add(QUERIES, times, 100 * (times - T0), **labels)


def calls(
    fake: FakePrometheus, labels: dict[str, str], *steps: tuple[float, float], **more: str
) -> None:
    """Count calls: from each time after T0 on, the value there; NaN is no series."""
    values = np.full(ALL.size, np.nan)
    for since, value in steps:
        values[since <= ALL - T0] = value
    there = ~np.isnan(values)
    own = {"handler": "/reset_prefix_cache", "method": "POST", "status": "2xx"} | more
    fake.add("http_requests_total", ALL[there], values[there], **target(labels), **own)


def resets(rig: Rig) -> list[tuple[float, str]]:
    return [(at, what) for kind, at, what in rig.levers() if kind == "cache_reset"]


@SLICES
def test_a_rise_is_a_reset(rig: Rig, slices: list[int]) -> None:
    """Each rise is one change at its scrape; several calls between two scrapes say so."""
    show(rig.fake, A)
    calls(rig.fake, A, (0, 2), (600, 3), (1500, 6))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert resets(rig) == [(600, "asked for"), (1500, "asked for 3 times between two scrapes")]
    assert {m.engine for m in rig.hit_ratio(T0, T0 + LENGTH).fleet.changes} == {"a"}


@SLICES
def test_a_first_sight_is_no_reset(rig: Rig, slices: list[int]) -> None:
    """A counter that is there from the first scrape on tells of no call."""
    show(rig.fake, A)
    calls(rig.fake, A, (0, 5))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert resets(rig) == []


@SLICES
def test_a_birth_after_a_good_scrape_is_a_reset(rig: Rig, slices: list[int]) -> None:
    """The first call makes the series: the scrape before succeeded without it."""
    show(rig.fake, A)
    calls(rig.fake, A, (900, 1))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert resets(rig) == [(900, "asked for")]


def test_what_was_not_read_before_is_no_birth(rig: Rig) -> None:
    """A collector that begins to read the counter does not take its age for a call."""
    show(rig.fake, A)
    rig.fake.now = T0 + 1200
    collector = rig.collector()
    rig.catch_up(collector)
    state = rig.state_file.load()
    assert state is not None
    state.resets_since = None
    rig.state_file.save(state)
    calls(rig.fake, A, (0, 4), (1800, 5))
    rig.fake.now = T0 + 3000
    rig.catch_up(rig.collector())
    assert resets(rig) == [(1800, "asked for")]


@SLICES
def test_a_restart_is_no_reset(rig: Rig, slices: list[int]) -> None:
    """A server that began anew lost its series; the next call makes it again, at any value."""
    show(rig.fake, A)
    calls(rig.fake, A, (0, 1), (1200, np.nan), (2400, 1), (2700, np.nan))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert resets(rig) == [(2400, "asked for")]


@SLICES
def test_a_fall_tells_what_came_after_it(rig: Rig, slices: list[int]) -> None:
    """After a fall the counter holds the calls since the restart, and no more."""
    show(rig.fake, A)
    calls(rig.fake, A, (0, 7), (1200, 0), (1800, 1))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert resets(rig) == [(1800, "asked for")]


def test_every_engine_at_the_address_has_it(rig: Rig) -> None:
    """The series names no engine: all cores behind its address were asked, and no other."""
    show(rig.fake, A)
    rig.fake.add(QUERIES, ALL, 50 * (ALL - T0), **(A | {"engine": "1"}))
    show(rig.fake, B)
    calls(rig.fake, A, (0, 1), (600, 2))
    rig.collect(T0, T0 + LENGTH)
    assert resets(rig) == [(600, "asked for")] * 2
    marks = rig.hit_ratio(T0, T0 + LENGTH).fleet.changes
    assert {m.engine for m in marks} == {"a #0", "a #1"}


def test_refused_calls_and_other_handlers_are_nothing(rig: Rig) -> None:
    """A call that was refused did nothing, and other paths are not even asked for."""
    show(rig.fake, A)
    calls(rig.fake, A, (0, 1), (600, 2), status="4xx")
    calls(rig.fake, A, (0, 1), (600, 2), handler="/metrics")
    rig.collect(T0, T0 + LENGTH)
    assert resets(rig) == []
    asked = [query for query in rig.fake.asked if "http_requests_total" in query]
    assert asked
    assert all('handler="/reset_prefix_cache",job=~"vllm"' in query for query in asked)


def test_nobody_asks_where_no_engine_is(rig: Rig) -> None:
    """Without an engine there is no job to ask for."""
    rig.collect(T0, T0 + LENGTH)
    assert not [query for query in rig.fake.asked if "http_requests_total" in query]


def test_live_and_later_tell_the_same(rig: Rig) -> None:
    """What was followed live and what is read again later have the same changes and ids."""
    show(rig.fake, A)
    calls(rig.fake, A, (600, 1), (1200, 2))
    rig.fake.now = T0 + 1100
    collector = rig.collector()
    rig.catch_up(collector)
    for _ in range(14):
        rig.fake.now += 20
        rig.catch_up(collector)
    followed = rig.tables(("levers",))
    assert len(followed["levers"]) == 2
    rig.collect(T0, T0 + 1380)
    assert rig.tables(("levers",)) == followed
