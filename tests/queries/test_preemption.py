"""The Preemption page's numbers on a small cache written by hand."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cache.store import Store
from core.domain.reading import Reason
from core.domain.scope import Scope
from core.domain.windows import Preempt
from core.views import preemption
from core.views.exposures import MOST_REQUESTS, overlapping
from core.views.preemption import PreemptionView
from tests.pages.homes import at
from tests.pages.written_requests import observation, score
from tests.queries.written_engines import T0, Counted, Written, steady

SCOPE = Scope(start=T0, end=T0 + 900)
NOW = float(T0 + 3600)
BUSY = Counted("busy", steady(-10, 40, events={6: 2.0}))
"""Windows 0, 1, 0: two events in the seventh minute."""
CALM = Counted("calm", steady(-10, 40))
HOLED = Counted("holed", steady(-10, 40, without=(6, 7)), model="large")
"""Windows 0, unknown, 0."""
Opened = Callable[..., Store]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens a cache with the three engines and some rows of the request side."""
    stores: list[Store] = []

    def make(
        *requests: dict[str, Any], engines: tuple[Counted, ...] = (BUSY, CALM, HOLED), **more: Any
    ) -> Store:
        written = Written(tmp_path / str(len(stores)))
        for engine in engines:
            written.add(engine.tables)
        skews = {"prometheus": 0.2, "langfuse": -0.4}
        states = [
            {"source": s, "state": "following", "checked_at": at(NOW), "clock_skew_s": skew}
            | {"read_to": at(NOW)}
            for s, skew in skews.items()
        ]
        written.add({"observations": list(requests), "sources": states, **more})
        stores.append(written.opened())
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def request(name: str, after: float, lasts: float | None = 10.0, **more: Any) -> dict[str, Any]:
    """A request that starts so many seconds after T0."""
    start = T0 + after
    times = {"end_at": None if lasts is None else start + lasts, "first_token_at": start + 1.0}
    return observation(name, start=start, **(times | more))


def built(store: Store, scope: Scope = SCOPE, window_s: int = 300) -> PreemptionView:
    return preemption.build(store, scope, NOW, window_s)


def counts(view: PreemptionView) -> dict[str, int]:
    return {str(row.exposure): row.requests for row in view.exposures}


def test_windows_by_hand(opened: Opened) -> None:
    """One engine with an event, one without, one with a hole: 1, 0 and unknown where they lie."""
    view = built(opened())
    told = {lane.name: [str(cell.state) for cell in lane.cells] for lane in view.lanes}
    assert told == {
        "busy": ["0", "1", "0"],
        "calm": ["0", "0", "0"],
        "holed": ["0", "unknown", "0"],
    }
    (cell,) = [c for lane in view.lanes if lane.name == "holed" for c in lane.cells if c.unknowns]
    assert (cell.why, cell.samples, cell.expected, cell.covered) == ("coverage", 12, 20.0, 0.6)
    rows = {row.name: (row.ones, row.zeros, row.unknowns) for row in view.engines}
    assert rows == {"busy": (1, 2, 0), "holed": (0, 2, 1), "calm": (0, 3, 0)}
    assert next(iter(rows)) == "busy"


@pytest.mark.parametrize(
    ("after", "lasts", "place", "expected"),
    [
        (320.0, 10.0, {"pod": "busy"}, "1"),
        (320.0, 10.0, {"pod": "calm"}, "0"),
        (320.0, 10.0, {"pod": "holed"}, "unknown"),
        (100.0, 10.0, {"pod": "busy"}, "0"),
        (100.0, 400.0, {"pod": "busy"}, "1"),
        (100.0, 400.0, {"pod": "holed"}, "unknown"),
        (270.0, 10.0, {"pod": "busy"}, "0"),
        (270.0, 15.0, {"pod": "busy"}, "1"),
        (320.0, 10.0, {"model": "small"}, "1"),
        (100.0, 10.0, {"model": "small"}, "0"),
        (320.0, 10.0, {"model": "large"}, "unknown"),
        (320.0, 10.0, {"model": "other"}, "unknown"),
        (320.0, 10.0, {"model": None}, "unknown"),
        (100.0, None, {"pod": "busy"}, "unknown"),
        (320.0, None, {"pod": "busy"}, "1"),
    ],
)
def test_exposure_by_hand(
    opened: Opened, after: float, lasts: float | None, place: dict[str, Any], expected: str
) -> None:
    """By engine and by model; over two windows; without an end; widened by 16 s."""
    view = built(opened(request("r", after, lasts, **place)))
    assert {state for state, n in counts(view).items() if n} == {expected}
    row = view.exposed(Preempt(expected))
    assert (row.engine_level, row.pool_level) == (("pod" in place), ("pod" not in place))


def test_the_tolerance_is_a_second_and_one_scrape(opened: Opened) -> None:
    """Clocks that differ by 0.6 s together count as one second; scrapes come every 15 s."""
    assert built(opened()).rule.tolerance_s == 16.0


def test_a_pod_of_several_cores_counts_all_of_them(opened: Opened) -> None:
    """Where only the pod is known, one core that preempted is enough; the level is counted."""
    cores = (
        Counted("two", steady(-10, 40, events={6: 1.0}), engine="0"),
        Counted("two", steady(-10, 40), engine="1"),
    )
    store = opened(request("r", 320.0, pod="two"), request("s", 10.0, pod="two"), engines=cores)
    view = built(store)
    assert counts(view) == {"1": 1, "0": 1, "unknown": 0}
    assert [row.pod_level for row in view.exposures] == [1, 1, 0]


def test_there_are_always_three_rows(opened: Opened) -> None:
    """Also without any request, in the same order."""
    view = built(opened())
    assert [str(row.exposure) for row in view.exposures] == ["1", "0", "unknown"]
    assert {row.incomplete.reason for row in view.exposures} == {Reason.NO_TRAFFIC}
    assert view.requests == 0


def test_how_requests_ended_by_hand(opened: Opened) -> None:
    """Incomplete is error, cancelled and without an end; kinds of errors are told apart."""
    ends = [
        {},
        {"state": "truncated"},
        {"state": "cancelled"},
        {"state": "error", "error_kind": "timeout"},
        {"state": "error", "error_kind": "connection"},
        {"state": "error", "error_kind": None},
        {"state": "unknown"},
        {"state": "unfinished", "end_at": None},
    ]
    rows = [request(f"r{i}", 320.0, pod="busy", **more) for i, more in enumerate(ends)]
    row = built(opened(*rows)).exposed(Preempt.ONE)
    assert (row.requests, row.incomplete.numerator) == (8, 5)
    assert row.incomplete.value == 5 / 8
    told = (row.cancelled, row.timeouts, row.other_errors, row.unfinished, row.ended)
    assert told == (1, 1, 2, 1, 2)


def test_first_tokens_that_are_none_are_left_out(opened: Opened) -> None:
    """A call not streamed (its first token is its end) has no TTFT, and is counted."""
    streamed = [
        request(f"s{i}", 320.0, 20.0, pod="busy", first_token_at=T0 + 320.0 + i) for i in (1, 2, 3)
    ]
    whole = request("whole", 320.0, 20.0, pod="busy", first_token_at=T0 + 340.0)
    none = request("none", 320.0, 30.0, pod="busy", first_token_at=None)
    early = request("early", 320.0, 20.0, pod="busy", first_token_at=T0 + 319.0)
    row = built(opened(*streamed, whole, none, early)).exposed(Preempt.ONE)
    assert (row.first_tokens, row.whole_latencies) == (3, 2)
    assert (row.ttft_p50.value, row.ttft_p95.value) == (2.0, pytest.approx(2.9))
    assert (row.latency_p50.value, row.ended) == (20.0, 6)


def test_scores_stand_apart_by_evaluator_and_version(opened: Opened) -> None:
    """Repeats are averaged, errors are missing, other levels and deleted scores are left out."""
    rows = [
        request("a", 320.0, pod="busy", session_id="s1"),
        request("b", 320.0, pod="busy", session_id="s1"),
        request("c", 320.0, pod="calm", session_id="s2"),
        request("broken", 320.0, pod="busy", state="error"),
    ]
    scores = [
        score("help", "observation", of="a", value=0.2),
        score("help", "observation", of="a", value=0.4) | {"score_id": "again", "repeat": 2},
        score("help", "observation", of="b", value=0.9),
        score("help", "observation", of="c", value=None, status="error"),
        score("help", "observation", of="broken", value=0.0),
        score("help", "trace", of="trace-a", value=0.0),
        score("help", "observation", of="c", value=0.0, deleted_at=at(T0)) | {"score_id": "gone"},
        score("good", "observation", of="a", value=1.0, data_type="BOOLEAN"),
        score("good", "observation", of="b", value=0.0, data_type="BOOLEAN"),
        score("good", "observation", of="b", data_type="BOOLEAN", evaluator_version="v3")
        | {"score_id": "newer", "value": 1.0},
    ]
    view = built(opened(*rows, scores=scores))
    found = {(r.name, r.evaluator_version, str(r.exposure)): r for r in view.scores}
    assert len(view.scores) == 9
    helped = found["help", "v2", "1"]
    assert helped.value.metric == "score_mean"
    assert helped.value.value == pytest.approx((0.3 + 0.9) / 2)
    assert (helped.requests, helped.sessions) == (2, 1)
    failed = found["help", "v2", "0"]
    assert (failed.value.value, failed.requests, failed.evaluator_errors) == (None, 0, 1)
    assert found["good", "v2", "1"].value.metric == "pass_rate"
    assert found["good", "v2", "1"].value.value == 0.5
    assert found["good", "v3", "1"].value.value == 1.0
    assert found["good", "v3", "unknown"].requests == 0


def test_requests_over_a_window(opened: Opened) -> None:
    """Those that overlap it and may have run on the engine, also from before the page's window."""
    rows = [
        request("over", 320.0, pod="busy"),
        request("long", -400.0, 900.0, pod="busy"),
        request("pool", 320.0, model="small"),
        request("before", 10.0, pod="busy"),
        request("after", 700.0, pod="busy"),
        request("elsewhere", 320.0, pod="calm"),
        request("other", 320.0, model="large"),
    ]
    store = opened(*rows)
    found = overlapping(store, SCOPE, NOW, BUSY.engine_id, T0 + 300, T0 + 600, 300)
    assert [one.observation_id for one in found.requests] == ["long", "over", "pool"]
    assert [one.attribution for one in found.requests] == ["engine", "engine", "pool"]
    assert found.found == 3


def test_long_lists_are_capped(opened: Opened) -> None:
    """At most 200 rows, and how many there are."""
    rows = [request(f"r{i}", 320.0, pod="busy") for i in range(MOST_REQUESTS + 5)]
    found = overlapping(opened(*rows), SCOPE, NOW, BUSY.engine_id, T0 + 300, T0 + 600, 300)
    assert (found.found, len(found.requests)) == (MOST_REQUESTS + 5, MOST_REQUESTS)


def test_a_scope_narrows_both_sides(opened: Opened) -> None:
    """A model filter leaves its engines and its requests."""
    store = opened(request("a", 320.0, pod="busy"), request("b", 320.0, model="large"))
    view = built(store, Scope(model="large", start=T0, end=T0 + 900))
    assert [lane.name for lane in view.lanes] == ["holed"]
    assert counts(view) == {"1": 0, "0": 0, "unknown": 1}


def test_another_length_of_window(opened: Opened) -> None:
    """Windows of a minute: the event's own minute is 1, and a request beside it is 0."""
    store = opened(request("a", 320.0, 2.0, pod="busy"), request("b", 370.0, 2.0, pod="busy"))
    view = built(store, window_s=60)
    (busy,) = [lane for lane in view.lanes if lane.name == "busy"]
    assert [cell.start - T0 for cell in busy.cells if cell.ones] == [360]
    assert counts(view) == {"1": 1, "0": 1, "unknown": 0}


def test_a_window_too_short_for_its_scrapes_is_said(opened: Opened) -> None:
    """One that cannot hold three scrapes is mostly unknown, and the page can say so."""
    slow = Counted("slow", (), interval_s=30.0)
    assert built(opened(engines=(slow,)), window_s=60).short
    assert not built(opened(engines=(slow,)), window_s=120).short


def test_a_long_range_joins_windows(opened: Opened) -> None:
    """Of a day, several windows share a cell: 1 if any is, and the counts stay."""
    view = built(opened(), Scope(start=T0 - 86_400 + 900, end=T0 + 900))
    (busy,) = [lane for lane in view.lanes if lane.name == "busy"]
    assert len(busy.cells) <= 145
    assert sum(cell.ones for cell in busy.cells) == 1
    assert sum(cell.windows for cell in busy.cells) == 288
    (one,) = [cell for cell in busy.cells if cell.ones]
    assert one.state is Preempt.ONE


def test_without_engines_everything_is_unknown(opened: Opened) -> None:
    """Requests alone: no lanes, and no exposure but unknown."""
    view = built(opened(request("a", 320.0, pod="busy"), engines=()))
    assert view.lanes == ()
    assert counts(view) == {"1": 0, "0": 0, "unknown": 1}
