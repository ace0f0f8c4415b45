"""Preemption windows of real servers: ours, against raw samples and against Prometheus."""

from itertools import pairwise

import pytest
import requests

from core.domain.scope import Scope
from core.named_queries import render_promql
from core.views import preemption
from core.views.strip import Lane
from tests.collect.test_recording import (  # noqa: F401 - fixtures
    END,
    HOLE,
    NOW,
    PRESSURE,
    START,
    Replay,
    Sample,
    prometheus_url,
    replay,
)

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("prometheus")]

EVENTS = "vllm:num_preemptions_total"
INTERVAL_S = 2.0
SIZES = (60, 300)
EARLIER = (1_796_040_030, 1_796_040_180)
PRESSED = {"vllm-0": EARLIER, "vllm-1": PRESSURE}
"""When more was asked of each than its KV cache holds."""
State = tuple[str, str | None]


def lanes(replay: Replay, window_s: int) -> dict[str, Lane]:  # noqa: F811
    """Our windows of every engine over the whole recording."""
    view = preemption.build(replay.store, Scope(start=START, end=END), NOW, window_s)
    return {lane.name: lane for lane in view.lanes}


def by_hand(samples: list[Sample], start: int, end: int) -> str:
    """State of one window from its raw samples, by the rule as it is written down."""
    for (before, low), (at, high) in pairwise(samples):
        step = high if high < low else high - low
        if start <= at < end and step > 0 and at - before <= 2.05 * INTERVAL_S:
            return "1"
    mine = [at for at, _ in samples if start <= at < end]
    apart = [
        at - before for (before, _), (at, _) in pairwise(samples) if at >= start and before < end
    ]
    enough = len(mine) >= 2 and len(mine) * INTERVAL_S >= 0.9 * (end - start)
    return "0" if enough and max(apart) <= 2.05 * INTERVAL_S else "unknown"


@pytest.mark.parametrize("window_s", SIZES)
def test_windows_equal_those_of_raw_samples(replay: Replay, window_s: int) -> None:  # noqa: F811
    """Every window of every engine, from samples asked for with plain HTTP."""
    ours, compared = lanes(replay, window_s), 0
    for labels, samples in replay.raw(EVENTS).items():
        lane = ours[dict(labels)["pod"]]
        for cell in lane.cells:
            told = "1" if cell.ones else "0" if cell.zeros else "unknown"
            expected = by_hand(samples, cell.start, cell.end)
            assert told == expected, (lane.name, cell)
            compared += 1
    assert compared > 20


def test_the_hole_of_a_restart_is_unknown(replay: Replay) -> None:  # noqa: F811
    """vllm-0 was down: every minute that the hole touches is unknown, the next whole one is not."""
    cells = {cell.start: cell for cell in lanes(replay, 60)["vllm-0"].cells}
    touched = range(HOLE[0] // 60 * 60, HOLE[1] + 1, 60)
    assert all(cells[start].unknowns for start in touched)
    assert cells[touched[-1] + 60].zeros
    assert {str(cells[start].why) for start in touched} <= {"no_series", "gap", "coverage"}


@pytest.mark.parametrize("pod", PRESSED)
def test_pressure_is_1(replay: Replay, pod: str) -> None:  # noqa: F811
    """More prompts than the cache holds: windows of 1 then, and none before the first time."""
    cells = lanes(replay, 60)[pod].cells
    ones = [cell.start for cell in cells if cell.ones]
    assert ones
    begin, end = PRESSED[pod]
    assert begin - 60 <= min(ones) <= end
    assert sum(c.events for c in cells if c.events is not None) == replay.increase(
        EVENTS, START, END, pod=pod
    )


def asked(url: str, query: str, at: float) -> dict[str, float]:
    """Answer of Prometheus by pod."""
    answer = requests.get(
        f"{url}/api/v1/query", params={"query": query, "time": str(at)}, timeout=30
    )
    assert answer.ok, answer.text
    return {one["metric"]["pod"]: float(one["value"][1]) for one in answer.json()["data"]["result"]}


def test_the_query_behind_the_mark_agrees(replay: Replay) -> None:  # noqa: F811
    """At the end of each window Prometheus says 1 where we do, and nothing where none was read.

    A 0 of Prometheus may be unknown here: it does not ask whether scrapes were missing.
    """
    query = render_promql("preempt_window", matchers={"cluster": "lab-a"}, preempt_window="300s")
    states = set()
    for name, lane in lanes(replay, 300).items():
        for cell in lane.cells:
            told = asked(replay.url, query, cell.end - 0.001).get(name)
            state = "1" if cell.ones else "0" if cell.zeros else "unknown"
            states.add((state, told))
            if state == "1":
                assert told == 1
            elif state == "0":
                assert told == 0
            else:
                assert told != 1 or cell.why == "gap"
    assert {("1", 1.0), ("0", 0.0)} <= states


def test_preemptions_per_request_agree(replay: Replay) -> None:  # noqa: F811
    """Mean and two or more, within what Prometheus extrapolates; the old server has neither."""
    start, end = (t // 60 * 60 for t in EARLIER)
    view = preemption.build(replay.store, Scope(start=start, end=end), NOW)
    lines = {line.name: line for line in view.preempted.engines}
    assert view.preempted.silent == ("vllm-1",)
    matchers, window = {"cluster": "lab-a"}, f"{end - start}s"
    means, twice = (
        asked(replay.url, render_promql(name, matchers=matchers, window=window), end)
        for name in ("mean_request_preemptions", "requests_preempted_twice")
    )
    pressed = lines["vllm-0"]
    assert pressed.mean.value == pytest.approx(means["vllm-0"], rel=0.02)
    assert pressed.two_or_more is not None
    assert pressed.two_or_more.value == pytest.approx(twice["vllm-0"], rel=0.02, abs=0.5)
    assert means["vllm-0"] > 0
    assert "vllm-1" not in means


def test_bounds_hold_on_a_real_histogram(replay: Replay) -> None:  # noqa: F811
    """Finished requests, their sum and buckets are plain increases, and the bounds contain them."""
    view = preemption.build(replay.store, Scope(start=START, end=END), NOW)
    line = next(line for line in view.preempted.engines if line.name == "vllm-0")
    name = "vllm:request_num_preemptions"
    total = replay.increase(f"{name}_sum", START, END, pod="vllm-0")
    finished = replay.increase(f"{name}_count", START, END, pod="vllm-0")
    first = replay.increase(f"{name}_bucket", START, END, pod="vllm-0", le="1.0")
    assert (line.mean.numerator, line.mean.denominator) == (total, finished)
    assert line.two_or_more is not None
    assert line.two_or_more.value == finished - first
    assert line.exactly_one is not None
    assert 0 <= line.exactly_one.low <= line.exactly_one.high <= first
