"""A collector killed at any write and started again leaves the table of one quiet run."""

import random
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest

from core.collect.requests.follow import LangfuseCollector
from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse, iso, observation, score
from tests.collect.requests.rig import MODES, T0, Rig, path_of, project

MOMENTS = ("before the batch", "before the state", "after the state")


class KilledError(BaseException):
    """Stands for kill -9: nothing in the collector may catch it."""


def hard_project(mode: str) -> FakeLangfuse:
    """Three starts of one id, changes, odd rows, a made-up root, scores, in short pages."""
    made = project(14, every_s=97, scores=9)
    rows = made["observations"]
    for n in range(3):
        rows.append(observation(900, T0 - 3000 - 500 * n, updatedAt=iso(T0 - 100 + n)))
    rows.append(observation(901, T0 - 500) | {"usageDetails": {"input": -3, "total": 7}})
    rows.append(observation(902, T0 - 700) | {"level": 5})
    rows.append(observation(903, T0 - 800, id="t-trace-0003", traceId="trace-0003", type="SPAN"))
    made["scores"].append(score(950, T0 - 900, metadata={"inclusion_probability": 7}))
    version = "3.100.0" if mode == "old" else "4.16.0"
    return FakeLangfuse(mode=mode, version=version, most=4, **made)


class Dying:
    """An inbox or a state file whose writing is the moment of death."""

    def __init__(self, real: Any, *, done_first: bool) -> None:
        self._real, self._done_first = real, done_first
        self.load = getattr(real, "load", None)

    def write(self, *given: Any) -> None:
        if self._done_first:
            self._real.write(*given)
        raise KilledError

    def save(self, *given: Any) -> None:
        if self._done_first:
            self._real.save(*given)
        raise KilledError


def mortal(rig: Rig, moment: str) -> LangfuseCollector:
    """A collector that dies at a moment of its first whole wave."""
    collector: Any = rig.collector()
    if moment == "before the batch":
        collector.inbox = Dying(rig.inbox, done_first=False)
    else:
        collector.state_file = Dying(rig.state_file, done_first=moment == "after the state")
    return collector


def waves(rig: Rig) -> Iterator[bool]:
    """Kill one collector after the other, at each moment of each wave; True while it dies."""
    for moment in cycle(MOMENTS):
        rig.clock.now += 0.25
        try:
            more = mortal(rig, moment).step()
        except KilledError:
            yield True
        else:
            yield more


@pytest.mark.parametrize("mode", MODES)
def test_a_kill_at_every_single_write_changes_nothing(
    langfuse_rig_of: RequestRigOf, mode: str
) -> None:
    """Before each batch, between batch and state, and after each state: the same tables."""
    quiet, killed = (langfuse_rig_of(hard_project(mode)) for _ in range(2))
    quiet.catch_up()
    kills = 0
    for _ in zip(range(240), waves(killed), strict=False):
        kills += 1
        state = killed.state_file.load()
        if state is not None and kills % 3 == 0 and all(k.idle for k in state.kinds.values()):
            break
    assert kills >= 9
    killed.catch_up()
    expected = quiet.tables()
    assert [len(expected[name]) for name in ("observations", "scores")] == [17, 10]
    assert len(expected["violations"]) == 3
    assert killed.tables() == expected


@pytest.mark.parametrize("seed", range(4))
def test_kills_inside_requests_change_nothing(langfuse_rig_of: RequestRigOf, seed: int) -> None:
    """Whichever request a kill hits, the next collector ends with the same tables."""
    rng, mode = random.Random(seed), MODES[seed]  # noqa: S311
    quiet, killed = (langfuse_rig_of(hard_project(mode)) for _ in range(2))
    quiet.catch_up()
    assert isinstance(killed.server, FakeLangfuse)
    left = [0]

    def fault(_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KilledError

    killed.server.fault = fault
    for _ in range(12):
        left[0] = rng.randint(1, 25)
        try:
            killed.catch_up()
        except KilledError:
            continue
    killed.server.fault = None
    killed.catch_up()
    assert killed.tables() == quiet.tables()


@pytest.mark.parametrize("mode", ["events_only", "old"])
def test_a_killed_scan_goes_on_at_its_last_whole_page(
    langfuse_rig_of: RequestRigOf, mode: str
) -> None:
    """What was read and noted is not read again: only the wave that was under way is."""
    version = "3.100.0" if mode == "old" else "4.16.0"
    rows = project(40, every_s=60, end=T0 - 1500, scores=0)
    server = FakeLangfuse(mode=mode, version=version, most=3, **rows)
    rig = langfuse_rig_of(server, langfuse_parallel=2)
    collector = rig.collector()
    for _ in range(6):
        assert collector.step()
    before = _pages(server, mode)
    server.asked.clear()
    rig.catch_up(rig.collector())
    after = _pages(server, mode)
    assert len(before) > 4
    assert not [page for page in before if page in after]
    assert len(rig.ids()) == 40
    assert any("cursor" in page or "page=" in page for page in before)


def _pages(server: FakeLangfuse, mode: str) -> list[str]:
    path = "/observations" if mode == "old" else "/v2/observations"
    windowed = [r for r in server.asked if path_of(r) == path and "fromStartTime" in r.url.params]
    return [str(request.url.params) for request in windowed]


def test_a_damaged_state_begins_again_and_doubles_nothing(
    langfuse_rig_of: RequestRigOf,
) -> None:
    """A state file that cannot be read costs a second reading, not a second row."""
    rig = langfuse_rig_of(hard_project("dual"))
    rig.catch_up()
    first = rig.tables()
    rig.state_file.path.write_bytes(b"\x00half")
    rig.catch_up()
    assert rig.tables() == first
