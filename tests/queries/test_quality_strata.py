"""Groups of requests in SQL: the same as the rules in the domain, case by case."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.domain.quality import Dimension, Estimand
from core.domain.strata import CachedStratum, bin_index, cached_stratum
from core.views.fleet import load_fleet
from core.views.quality import Question, asked_of
from core.views.quality_rows import quality_rows
from core.views.quality_sums import Bins, session_sums
from tests.queries.written_quality import END, SCOPE, Row, Written, later, request, verdict

EDGES = (
    *((0, 10), (1, 10), (5, 10), (6, 10), (9, 10), (10, 10), (0, 1), (1, 1), (0, 0)),
    *((4503599627370496, 9007199254740992), (4503599627370497, 9007199254740992)),
    *((899999999999999, 1000000000000000), (900000000000000, 1000000000000000)),
    *((900000000000001, 1000000000000000), (None, 10), (None, None), (11, 10), (-1, 10)),
)
"""Cached and total tokens on the edges, beyond what a division could tell apart."""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.store.close()


def counted(i: int, cached: int | None, total: int | None) -> Row:
    """A request as the normaliser would leave it, with a task type of its own."""
    status = "measured" if cached is not None and total is not None else "unknown"
    if cached_stratum(cached, total) is CachedStratum.CONTRACT_VIOLATION:
        status = "violation"
    name = f"r{i:04d}"
    usage = {"cached_input": cached, "total_input": total, "usage_status": status}
    return request(name, task_type=name, **usage)


def test_strata_of_cached_ratio_follow_the_domain(cache: Written) -> None:
    """Edges and random whole tokens: SQL and the rule name the same stratum, none by division."""
    rng = np.random.default_rng(7)
    drawn = [(int(rng.integers(0, t + 1)), int(t)) for t in rng.integers(1, 40, 400)]
    cases = [*EDGES, *drawn]
    cache.put(
        observations=[counted(i, *case) for i, case in enumerate(cases)],
        scores=[verdict("r0000", 1.0)],
    )
    found = cache.groups(Dimension.CACHED_RATIO)
    assert found == {f"r{i:04d}": cached_stratum(*case) for i, case in enumerate(cases)}
    assert set(found.values()) == set(CachedStratum)


def test_the_edges_themselves(cache: Written) -> None:
    """Half belongs below, nine tenths below, all of it to the last, and is counted as exact."""
    cases = [(500, 1000), (501, 1000), (900, 1000), (901, 1000), (1000, 1000)]
    cache.put(
        observations=[counted(i, *case) for i, case in enumerate(cases)],
        scores=[verdict("r0000", 1.0)],
    )
    rows = cache.rows()
    assert {value: row.tally.requests for value, row in rows.items()} == {
        "0": 0,
        "(0,0.5]": 1,
        "(0.5,0.9]": 2,
        "(0.9,1]": 2,
        "unknown": 0,
    }
    assert rows["(0.9,1]"].tally.exact_one == 1
    assert sum(row.tally.exact_one for row in rows.values()) == 1


def test_five_rows_are_there_when_empty(cache: Written) -> None:
    """With one request, the other rows have no rate and no 0 %."""
    cache.scored((request("a", cached_input=0), 1.0))
    rows = cache.rows()
    assert list(rows) == ["0", "(0,0.5]", "(0.5,0.9]", "(0.9,1]", "unknown"]
    for value, row in rows.items():
        if value != "0":
            assert row.tally.requests == 0
            assert row.passes.estimate is row.incomplete.estimate is row.tally.cached_tokens is None


def test_unknown_and_broken_usage_is_no_zero(cache: Written) -> None:
    """Unknown usage has a row of its own, a violation one beside it, and neither tokens."""
    cache.put(
        observations=[counted(0, None, 1000), counted(1, 2000, 1000), counted(2, 0, 1000)],
        scores=[verdict("r0000", 1.0)],
    )
    rows = cache.rows()
    assert [rows[v].tally.requests for v in ("unknown", "contract_violation", "0")] == [1, 1, 1]
    assert rows["unknown"].tally.cached_tokens is rows["contract_violation"].tally.cached_tokens
    assert rows["unknown"].tally.cached_tokens is None
    assert rows["0"].tally.cached_tokens == 0


def test_bins_follow_the_domain(cache: Written) -> None:
    """Input lengths below, on and above every edge lie in the bin that the rule names."""
    edges = Bins().input_tokens
    lengths = [n for edge in edges for n in (int(edge) - 1, int(edge), int(edge) + 1)] + [1]
    cache.put(
        observations=[
            *(counted(i, 0, n) for i, n in enumerate(lengths)),
            counted(len(lengths), None, None),
        ],
        scores=[verdict("r0000", 1.0)],
    )
    found = cache.groups(Dimension.INPUT_LENGTH)
    expected = {f"r{i:04d}": str(bin_index(n, edges)) for i, n in enumerate(lengths)}
    assert found == expected | {f"r{len(lengths):04d}": "unknown"}


def test_a_first_turn_has_no_gap_and_a_later_one_a_bin(cache: Written) -> None:
    """Idle gaps on an edge lie above it; a turn that overlaps has no known gap."""
    starts = {"first": 0.0, "on_edge": 14.0, "short": 27.0, "overlap": 29.0}
    cache.put(
        observations=[request(name, task_type=name, start=later(s)) for name, s in starts.items()],
        scores=[verdict("first", 1.0)],
    )
    edges = Bins().idle_gap_s
    assert cache.groups(Dimension.IDLE_GAP) == {
        "first": "first_turn",
        "on_edge": str(bin_index(10.0, edges)),
        "short": str(bin_index(9.0, edges)),
        "overlap": "unknown",
    }
    assert cache.groups(Dimension.TURN_POSITION) == {
        "first": "0",
        "on_edge": str(bin_index(2.0, Bins().turn_position)),
        "short": str(bin_index(3.0, Bins().turn_position)),
        "overlap": str(bin_index(4.0, Bins().turn_position)),
    }


def test_every_dimension_has_an_answer(cache: Written) -> None:
    """No way of grouping loses a request."""
    cache.scored((request("a", arm="A", task_type="qa"), 1.0), (request("b", session=None), 0.0))
    fleet = load_fleet(cache.store, SCOPE, float(END))
    for by in Dimension:
        asked = asked_of(Question(by=by), cache.series)
        sums = session_sums(cache.store, fleet, asked)
        rows, total = quality_rows(sums, asked, Estimand.CONTENT)
        assert sum(row.tally.requests for row in rows) == total.tally.requests == 2
