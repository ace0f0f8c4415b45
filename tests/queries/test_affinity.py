"""Follow-up turns on a small written cache: every place and every offer worked by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.domain.affinity import Place, offered_tokens
from core.domain.reading import Reason
from core.domain.scope import Scope
from core.views.affinity import Affinity, load_affinity
from core.views.fleet import load_fleet
from tests.pages.homes import MINUTES, T0, WrittenEngine, at, together
from tests.pages.written_prefill import turns
from tests.pages.written_requests import langfuse_row, observation

END = T0 + MINUTES * 60
ENGINES = together(WrittenEngine.sound("a"), WrittenEngine.sound("b"))


class Cache:
    """A cache of one's own, and the follow-up turns in it."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "cache.duckdb")
        self.inbox = Inbox(folder / "inbox")
        self.put(ENGINES | {"sources": [langfuse_row()]})

    def put(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        self.inbox.write("test", {name: rows(name, found) for name, found in tables.items()})
        self.store.merge_waiting(self.inbox)

    def observed(self, *tables: dict[str, list[dict[str, Any]]]) -> None:
        self.put({"observations": [row for table in tables for row in table["observations"]]})

    def found(self, **scope: Any) -> Affinity:
        asked = Scope(**{"start": T0, "end": END} | scope)
        fleet = load_fleet(self.store, asked, float(END))
        return load_affinity(self.store, fleet, fleet.window)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path)
    yield made
    made.store.close()


def block_size(pod: str, tokens: str) -> dict[str, list[dict[str, Any]]]:
    """What an engine's configuration says about its blocks."""
    target = WrittenEngine.sound(pod).tables["targets"][0]
    place = {key: target[key] for key in ("engine_id", "target_id")}
    return {"configurations": [place | {"name": "block_size", "value": tokens, "seen_at": at(T0)}]}


def counts(found: Affinity) -> dict[str, int]:
    return {row.sums.place.value: row.sums.turns for row in found.places}


def test_three_turns_over_a_a_b(cache: Cache) -> None:
    """The second turn stays, the third moves; tokens, gaps and offers are those by hand."""
    cache.observed(turns("s", "a", "a", "b"))
    found = cache.found()
    assert counts(found) == {"same": 1, "another": 1, "unknown": 0}
    assert (found.same_share.value, found.same_share.denominator) == (0.5, 2)
    same, another = found.of(Place.SAME), found.of(Place.ANOTHER)
    assert (same.sums.input_tokens, same.sums.cached_tokens) == (1200, 800)
    assert same.cached_share.value == pytest.approx(800 / 1200)
    # history 1000 + 50, 65 blocks of 16; then 1200 + 50, 78 blocks
    assert (same.sums.offered_tokens, another.sums.offered_tokens) == (1040, 1248)
    assert same.delivered.value == pytest.approx(800 / 1040)
    assert another.delivered.value == pytest.approx(800 / 1248)
    assert [row.sums.gap_median_s for row in (same, another)] == [30.0, 30.0]
    assert found.count("assumed_blocks") == 2
    unknown = found.of(Place.UNKNOWN)
    assert (unknown.sums.turns, unknown.cached_share.reason) == (0, Reason.NO_TRAFFIC)


def test_blocks_are_those_of_the_engine_that_is_asked(cache: Cache) -> None:
    """A known block size is used, and one that no number names is not."""
    cache.put(block_size("a", "128"))
    cache.put(block_size("b", "None"))
    cache.observed(turns("s", "a", "a", "b"))
    found = cache.found()
    assert found.of(Place.SAME).sums.offered_tokens == 1024
    assert found.of(Place.ANOTHER).sums.offered_tokens == 1248
    assert found.count("assumed_blocks") == 1


def test_a_prompt_shorter_than_its_history_offers_less_than_itself(cache: Cache) -> None:
    """Of a prompt of 640 tokens at least one is computed, so at most 624 are offered."""
    cache.observed(turns("s", "a", "a", total_input=640, cached_input=624))
    assert cache.found().of(Place.SAME).sums.offered_tokens == 624


def test_more_cached_than_offered_is_counted_apart(cache: Cache) -> None:
    """Turns above their offer, and by how much; the share goes above 100 %."""
    cache.observed(turns("s", "a", "a", cached_input=1100), turns("t", "a", "a", cached_input=400))
    same = cache.found().of(Place.SAME)
    assert (same.sums.above, same.sums.above_tokens) == (1, 60)
    assert same.delivered.value == pytest.approx(1500 / 2080)
    cache.observed(turns("t", "a", "a", cached_input=1190, updated_at=T0 + 500.0))
    assert cache.found().of(Place.SAME).delivered.value == pytest.approx(2290 / 2080)


def test_the_last_request_of_a_turn_and_the_first_of_the_next_are_compared(cache: Cache) -> None:
    """Inside a turn a tool may move the session: where it ended is where its history lies."""
    tool = observation(
        "tool",
        start=T0 + 70.0,
        trace_id="trace-s-0",
        session_id="s",
        pod="b",
        total_input=1100,
        output=100,
    )
    cache.observed(turns("s", "a", "b"), {"observations": [tool]})
    found = cache.found()
    assert counts(found) == {"same": 1, "another": 0, "unknown": 0}
    assert found.of(Place.SAME).sums.offered_tokens == 1184  # of 1199 at most, not of 1050


def test_the_first_request_that_names_an_engine_stands_for_the_turn(cache: Cache) -> None:
    """A failed attempt without an engine before it changes nothing."""
    failed = observation(
        "failed",
        start=T0 + 93.0,
        trace_id="trace-s-1",
        session_id="s",
        usage_status="none",
        total_input=None,
        cached_input=None,
        output=None,
    )
    cache.observed(turns("s", "a", "a"), {"observations": [failed]})
    same = cache.found().of(Place.SAME).sums
    assert (same.turns, same.measured, same.input_tokens) == (1, 1, 1200)


def test_unknown_says_why(cache: Cache) -> None:
    """Pool level, pod level and a turn before without any request are three reasons."""
    cores = [WrittenEngine.sound("shared").tables["engines"][0] | {"engine_id": i} for i in (7, 8)]
    cores[1] |= {"engine": "1"}
    span = observation("span", start=T0 + 60.0, session_id="u", type="SPAN", trace_id="before")
    cache.put({"engines": cores})
    cache.observed(
        turns("s", None, "a"),
        turns("t", "shared", "shared"),
        {"observations": [span]},
        turns("u", "a", first=T0 + 100.0),
    )
    found = cache.found()
    assert counts(found) == {"same": 0, "another": 0, "unknown": 3}
    assert [found.count(n) for n in ("pool_level", "pod_level", "no_request")] == [1, 1, 1]
    assert found.same_share.reason is Reason.NOT_ATTRIBUTED
    assert found.of(Place.UNKNOWN).sums.input_tokens == 3400


def test_what_makes_no_offer_is_counted(cache: Cache) -> None:
    """A turn before that still runs, another model, and a proxy's estimate offer nothing known."""
    late = turns("over", "a", "a")
    late["observations"][0]["end_at"] = at(T0 + 120.0)
    other = turns("other", "a", "b")
    other["observations"][1]["model"] = "large"
    broken = turns("broken", "a", "a")
    broken["observations"][0] |= {"usage_status": "unknown", "usage_reason": "estimate"}
    cache.observed(late, other, broken)
    found = cache.found()
    assert counts(found) == {"same": 2, "another": 1, "unknown": 0}
    assert (found.count("overlapping"), found.count("other_model")) == (1, 1)
    assert found.count("offers") == 0
    assert found.of(Place.SAME).offered.reason is Reason.NOT_MEASURED
    same = found.of(Place.SAME).sums
    assert (same.gaps, same.turns - same.gaps) == (1, 1)


def test_an_unmeasured_turn_is_in_no_sum_of_tokens(cache: Cache) -> None:
    """It counts as a turn with a place; its own usage still is the next turn's history."""
    found = turns("s", "a", "a", "a")
    found["observations"][1] |= {
        "usage_status": "unknown",
        "usage_reason": "not_reported",
        "cached_input": None,
    }
    cache.observed(found)
    same = cache.found().of(Place.SAME).sums
    assert (same.turns, same.measured, same.input_tokens, same.offers) == (2, 1, 1400, 1)
    assert same.offered_tokens == 1248


@pytest.mark.parametrize(("hours", "place"), [(23, Place.SAME), (72, Place.UNKNOWN)])
def test_a_turn_before_the_window_is_found_for_a_day(
    cache: Cache, hours: int, place: Place
) -> None:
    """A session that paused keeps its history; one that paused for days is told as such."""
    old = turns("s", "a", first=T0 - hours * 3600.0)
    new = turns("s", "x", "a", first=T0 + 60.0)["observations"][1:]
    cache.observed(old, {"observations": new})
    found = cache.found()
    row = found.of(place).sums
    assert (row.turns, found.count("turns")) == (1, 1)
    assert (row.offered_tokens, row.long_ago) == ((1040, 0) if hours < 24 else (None, 1))
    assert row.gap_median_s == hours * 3600 + 90


def test_the_scope_is_that_of_the_turn_itself(cache: Cache) -> None:
    """Pod and arm select by the request that asked, not by the turn before."""
    cache.observed(turns("s", "a", "a", "b", arm="x"), turns("t", "a", "a", arm="y"))
    assert counts(cache.found(pod="b")) == {"same": 0, "another": 1, "unknown": 0}
    assert counts(cache.found(arm="y")) == {"same": 1, "another": 0, "unknown": 0}
    assert counts(cache.found(arm="x", pod="a")) == {"same": 1, "another": 0, "unknown": 0}


def test_over_time_adds_up_to_the_whole(cache: Cache) -> None:
    """Each turn lies in the bin of its start; bins without one hold no share."""
    cache.observed(turns("s", "a", "a", "b"), turns("t", "b", "b", first=T0 + 400.0))
    found = cache.found()
    for place in Place:
        known = [n for n in found.turns[place] if n is not None]
        assert sum(known) == found.of(place).sums.turns
    known = {i: r.value for i, r in enumerate(found.share_line) if r.known}
    assert known == {1: 1.0, 2: 0.0, 7: 1.0}
    assert found.share_line[0].reason is Reason.NO_TRAFFIC


def test_no_follow_up_is_no_traffic(cache: Cache) -> None:
    """First turns alone give words in every cell."""
    cache.observed(turns("s", "a"), turns("t", "b"))
    found = cache.found()
    assert counts(found) == {"same": 0, "another": 0, "unknown": 0}
    assert found.same_share.reason is Reason.NO_TRAFFIC


def test_the_query_keeps_the_rule_of_the_domain(cache: Cache) -> None:
    """Offers summed in SQL are those of `offered_tokens`, turn by turn."""
    rng = np.random.default_rng(7)
    expected, tables = 0, []
    cache.put(block_size("a", "32"))
    for session in range(60):
        before, now = (int(n) for n in rng.integers(1, 3000, 2))
        pair = turns(str(session), "a", "a", cached_input=0)
        pair["observations"][0] |= {"total_input": before, "output": int(rng.integers(0, 90))}
        pair["observations"][1] |= {"total_input": now}
        history = before + pair["observations"][0]["output"]
        offered = offered_tokens(history, now, block_tokens=32)
        assert offered is not None
        expected += offered
        tables.append(pair)
    cache.observed(*tables)
    assert cache.found().of(Place.SAME).sums.offered_tokens == expected
