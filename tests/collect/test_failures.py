"""A failing Prometheus is recorded, loses nothing, and is read on when it is back."""

from collections.abc import Callable

import numpy as np
import pytest
import requests

from core.domain.records import Floats
from tests.collect.conftest import RigOf
from tests.collect.fake_prometheus import Answer, FakePrometheus, api_error
from tests.collect.rig import QUERIES, T0, Rig, engine, scrapes, target

A = engine("a")
N = 400
TIMES = scrapes(N)


def lookups(times: Floats) -> Floats:
    return 10 * (times - T0)


@pytest.fixture
def rig(fake: FakePrometheus, rig_of: RigOf) -> Rig:
    """A collector that finds an hour of one engine's lookups."""
    fake.add("up", TIMES, np.ones(N), **target(A))
    fake.add(QUERIES, TIMES, lookups(TIMES), **A)
    return rig_of(fake, backfill_days=0.05)


def counted(rig: Rig) -> float:
    """Tokens between the first and the newest scrape."""
    newest = TIMES[rig.fake.now > TIMES][-1]
    return float(10 * (newest - T0))


def _raises(error: Exception) -> Callable[[], Answer]:
    def fail() -> Answer:
        raise error

    return fail


def _answers(status: int, body: bytes) -> Callable[[], Answer]:
    return lambda: (status, body)


FAILURES = {
    "refused": ("unavailable", _raises(requests.ConnectionError("Connection refused"))),
    "slow": ("timeout", _raises(requests.ReadTimeout("Read timed out."))),
    "401": ("status", _answers(401, b"Unauthorized")),
    "429": ("status", _answers(429, b"slow down")),
    "503": ("status", _answers(503, api_error("unavailable", "starting"))),
    "400": ("status", _answers(400, api_error("bad_data", "parse error"))),
    "error with 200": ("status", _answers(200, api_error("execution", "store is down"))),
    "login page": ("contract", _answers(200, b"<html>Sign in</html>")),
    "truncated": ("contract", _answers(200, b'{"status":"success","data":{"resul')),
    "empty": ("contract", _answers(200, b"")),
}
FAILING = pytest.mark.parametrize(("state", "fail"), FAILURES.values(), ids=FAILURES.keys())


@FAILING
def test_a_failure_is_recorded_and_nothing_is_lost(
    rig: Rig, state: str, fail: Callable[[], Answer]
) -> None:
    """State, reason, next step and the mark read to are kept; afterwards every sample is there."""
    collector = rig.collector()
    rig.catch_up(collector)
    (read_to,) = rig.sql("select read_to from sources")[0]
    settled = rig.state_file.path.read_bytes()

    rig.fake.now += 10
    rig.fake.refuse = lambda _query, _seconds: fail()
    assert collector.step() is False
    ((found, title, detail, step, kept),) = rig.sql(
        "select state, title, detail, next_step, read_to from sources"
    )
    assert found == state
    assert title
    assert detail
    assert step
    assert 0 <= (read_to - kept).total_seconds() <= 120
    assert rig.sql("select level, title, detail, next_step from source_log") == [
        ("error", title, detail, step)
    ]
    assert rig.state_file.path.read_bytes() == settled

    rig.fake.refuse = lambda _query, _seconds: None
    rig.fake.now += 600
    rig.catch_up(collector)
    assert rig.sql("select state, title from sources") == [("following", None)]
    assert rig.total("prefix_cache_queries") == counted(rig)


@FAILING
def test_a_first_start_without_a_source_waits(
    rig: Rig, state: str, fail: Callable[[], Answer]
) -> None:
    """Nothing was ever read: that is said, and the first good step reads everything."""
    rig.fake.refuse = lambda _query, _seconds: fail()
    collector = rig.collector()
    assert collector.step() is False
    assert collector.step() is False
    assert rig.sql("select state, read_to, progress from sources") == [(state, None, None)]
    assert rig.value("select count(*) from source_log") == 1
    rig.fake.refuse = lambda _query, _seconds: None
    rig.catch_up(collector)
    assert rig.total("prefix_cache_queries") == counted(rig)


def test_only_the_samples_fail(rig: Rig) -> None:
    """A server whose clock answers and whose samples do not is failing as well."""
    rig.catch_up()
    fail = FAILURES["503"][1]
    rig.fake.refuse = lambda _query, seconds: fail() if seconds else None
    assert rig.collector().step() is False
    assert rig.value("select state from sources") == "status"


# --- slices that are too heavy --------------------------------------------------------


def too_heavy() -> Answer:
    return 422, api_error("execution", "query processing would load too many samples into memory")


HEAVY = pytest.mark.parametrize(
    "fail", [too_heavy, _raises(requests.ReadTimeout("Read timed out."))], ids=["422", "slow"]
)


@HEAVY
def test_a_heavy_slice_is_halved(rig: Rig, fail: Callable[[], Answer]) -> None:
    """Too much at once is asked for in smaller parts until it fits, without a failure."""
    rig.fake.refuse = lambda _query, seconds: fail() if seconds > 300 else None
    rig.catch_up()
    assert rig.total("prefix_cache_queries") == counted(rig)
    assert rig.value("select sum(samples)::int from counter_cells") == 240
    assert rig.sql("select state, detail from sources") == [("following", None)]


@HEAVY
def test_a_minute_that_is_too_heavy_is_reported(rig: Rig, fail: Callable[[], Answer]) -> None:
    """When the smallest slice does not fit, the collector says so and does not ask for ever."""
    rig.catch_up()
    rig.fake.now += 1200
    rig.fake.refuse = lambda _query, seconds: fail() if seconds else None
    rig.catch_up(most=20)
    assert rig.value("select state from sources") in ("status", "timeout")


@HEAVY
def test_the_newest_minute_that_is_too_heavy_is_reported(
    rig: Rig, fail: Callable[[], Answer]
) -> None:
    """The same at the live edge, where the slice is the unsettled end and cannot shrink."""
    collector = rig.collector()
    rig.catch_up(collector)
    rig.fake.now += 10
    rig.fake.refuse = lambda _query, seconds: fail() if seconds else None
    rig.catch_up(collector, most=20)
    assert rig.value("select state from sources") in ("status", "timeout")


def test_a_lookback_that_is_too_heavy_does_not_keep_it_from_starting(rig: Rig) -> None:
    """The first reading may be cut smaller, too."""
    rig.fake.refuse = lambda _query, seconds: too_heavy() if seconds > 120 else None
    rig.catch_up()
    assert rig.value("select state from sources") == "following"


# --- clocks ---------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [600, -600])
def test_the_clock_of_the_server_decides(rig: Rig, ahead: int) -> None:
    """Ten minutes of skew either way is measured, and reading follows the server."""
    collector = rig.collector(clock=lambda: rig.fake.now - ahead)
    rig.catch_up(collector)
    (skew, state, read_to) = rig.sql("select clock_skew_s, state, epoch(read_to) from sources")[0]
    assert skew == pytest.approx(ahead)
    assert (state, read_to) == ("following", rig.fake.now)
    assert rig.total("prefix_cache_queries") == counted(rig)


def test_a_server_clock_set_back_is_waited_for(rig: Rig) -> None:
    """A server whose clock was ten minutes ahead and is corrected is no failing server."""
    collector = rig.collector()
    rig.catch_up(collector)
    rig.fake.now -= 600
    collector.step()
    assert rig.value("select count(*) from source_log") == 0
    rig.fake.now += 1200
    rig.catch_up(collector)
    assert rig.total("prefix_cache_queries") == counted(rig)


# --- warnings -------------------------------------------------------------------------


def test_a_warning_of_the_server_is_logged(rig: Rig) -> None:
    """A partial answer is read, and the page can say that it was partial."""
    rig.fake.warnings = ["PromQL: store 10.0.0.5 is unreachable"]
    rig.collect(T0, T0 + 60)
    assert rig.sql("select distinct level, detail from source_log") == [
        ("warning", "PromQL: store 10.0.0.5 is unreachable")
    ]
    assert rig.value("select sum(samples)::int from counter_cells") == 4
