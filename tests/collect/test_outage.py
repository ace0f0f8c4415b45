"""A silence of the scraper itself is nobody's departure."""

import numpy as np
import pytest

from tests.collect.conftest import RigOf
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import T0

LENGTH = 3600
QUERIES = "vllm:prefix_cache_queries_total"
STEP_S = 15


def _target(pod: str) -> dict[str, str]:
    return {
        "cluster": "c",
        "namespace": "n",
        "pod": pod,
        "job": "vllm",
        "instance": f"{pod}:8000",
    }


def _show(fake: FakePrometheus, pod: str, times: np.ndarray) -> None:
    labels = _target(pod)
    fake.add("up", times, np.ones(times.size), **labels)
    fake.add(QUERIES, times, times - T0, **labels, model_name="m", engine="0")


@pytest.mark.parametrize("slices", [[LENGTH], [240], [60, 300]])
def test_an_outage_of_prometheus_is_no_departure(rig_of: RigOf, slices: list[int]) -> None:
    """Twenty minutes without any scrape hatch the chart and log no change."""
    times = T0 + np.arange(0.0, LENGTH, STEP_S)
    there = (times < T0 + 1200) | (times >= T0 + 2400)
    fake = FakePrometheus(now=T0 + LENGTH)
    _show(fake, "a", times[there])
    _show(fake, "b", times[there] + 4)
    rig = rig_of(fake)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == []
    assert rig.value("select count(gone_at) from targets") == 0


@pytest.mark.parametrize("slices", [[LENGTH], [240], [60, 300]])
def test_one_that_stays_away_after_the_outage_has_left(rig_of: RigOf, slices: list[int]) -> None:
    """Five minutes after scraping resumed, who is still missing is gone."""
    times = T0 + np.arange(0.0, LENGTH, STEP_S)
    fake = FakePrometheus(now=T0 + LENGTH)
    _show(fake, "a", times[(times < T0 + 1200) | (times >= T0 + 2400)])
    _show(fake, "b", times[times < T0 + 1200])
    rig = rig_of(fake)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert rig.levers() == [("engine_left", 1185, "no longer scraped")]
