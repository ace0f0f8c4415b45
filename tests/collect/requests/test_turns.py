"""Turns by hand: starts, gaps and why a gap is unknown; the same in any order of arrival."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse, iso, observation
from tests.collect.requests.rig import T0, Rig

QUERY = (
    "select turn_id, turn_index, start_gap_s, idle_gap_s, idle_gap_reason, observations "
    "from turns order by session_id, turn_index"
)


def span(trace: str, at: float, length: float | None, **more: Any) -> dict[str, Any]:
    """An observation of a trace, in seconds after T0."""
    end = iso(T0 + at + length) if length is not None else None
    made = {"id": f"{trace}-{at}", "traceId": trace, "sessionId": "s", "endTime": end}
    return observation(0, T0 + at) | made | more


CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "three turns": (
        [span("a", 0, 2), span("b", 10, 5), span("c", 40, 1)],
        [
            ("a", 0, None, None, "first_turn", 1),
            ("b", 1, 10, 8, None, 1),
            ("c", 2, 30, 25, None, 1),
        ],
    ),
    "branches, a retry and a tool are one turn": (
        [
            span("a", 0, 9),
            span("a", 1, 3),
            span("a", 1.5, 6, type="SPAN"),
            span("a", 2, 0, type="EVENT"),
            span("b", 12, 1),
        ],
        [("a", 0, None, None, "first_turn", 4), ("b", 1, 12, 3, None, 1)],
    ),
    "the previous one overlaps": (
        [span("a", 0, 20), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 1), ("b", 1, 10, None, "previous_overlaps", 1)],
    ),
    "the previous one ends as this one begins": (
        [span("a", 0, 10), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 1), ("b", 1, 10, 0, None, 1)],
    ),
    "the previous one is unfinished": (
        [span("a", 0, None), span("a", 1, 1), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 2), ("b", 1, 10, None, "previous_unfinished", 1)],
    ),
    "a generation that ends as it starts has no end": (
        [span("a", 0, 0), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 1), ("b", 1, 10, None, "previous_unfinished", 1)],
    ),
    "an event without an end is a point": (
        [span("a", 0, 3), span("a", 4, None, type="EVENT"), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 2), ("b", 1, 10, 6, None, 1)],
    ),
    "a made-up root has no time of its own": (
        [span("a", -99, None, id="t-a", type="SPAN"), span("a", 0, 3), span("b", 10, 1)],
        [("a", 0, None, None, "first_turn", 1), ("b", 1, 10, 7, None, 1)],
    ),
    "two that start together are ordered by id": (
        [span("b", 0, 1), span("a", 0, 1)],
        [("a", 0, None, None, "first_turn", 1), ("b", 1, 0, None, "previous_overlaps", 1)],
    ),
    "the turn id of the exporter counts": (
        [
            span(
                trace,
                at,
                1,
                metadata={
                    "scope.name": "litellm",
                    "attributes.langfuse.trace.id": turn,
                },
            )
            for trace, at, turn in (("x", 0, "one"), ("y", 5, "one"), ("z", 9, "two"))
        ],
        [("one", 0, None, None, "first_turn", 2), ("two", 1, 9, 3, None, 1)],
    ),
    "no session, no turn": ([span("a", 0, 1, sessionId=""), span("b", 1, 1, sessionId=None)], []),
}


@pytest.mark.parametrize("name", CASES)
def test_turns_by_hand(site: Rig, name: str) -> None:
    """Each case of the rules, worked out by hand."""
    rows, expected = CASES[name]
    site.feed(rows)
    assert site.sql(QUERY) == expected


def test_a_late_first_turn_shifts_the_others(site: Rig) -> None:
    """A turn that arrives last and began first is turn 0; the others and their gaps follow."""
    site.feed([span("b", 10, 2), span("c", 20, 1)])
    assert [row[:2] for row in site.sql(QUERY)] == [("b", 0), ("c", 1)]
    site.feed([span("a", 0, 4)])
    assert site.sql(QUERY) == [
        ("a", 0, None, None, "first_turn", 1),
        ("b", 1, 10, 6, None, 1),
        ("c", 2, 10, 8, None, 1),
    ]


def test_a_turn_that_goes_on_closes_the_gap(site: Rig) -> None:
    """A later observation of an earlier turn moves its end, and the next one's gap."""
    site.feed([span("a", 0, 1), span("b", 10, 1)])
    site.feed([span("a", 2, 5)])
    assert site.sql(QUERY)[1] == ("b", 1, 10, 3, None, 1)


def test_an_observation_that_changes_its_session_takes_its_turn_along(site: Rig) -> None:
    """No turn is left in the session it came from, and that session's indexes close up."""
    site.feed([span("a", 0, 1), span("b", 10, 1)])
    site.feed([span("a", 0, 1, sessionId="other", updatedAt=iso(T0 + 999))])
    told = site.sql("select session_id, turn_id, turn_index, idle_gap_reason from turns order by 1")
    assert told == [("other", "a", 0, "first_turn"), ("s", "b", 0, "first_turn")]


def test_a_session_that_is_known_later_makes_the_turn_then(site: Rig) -> None:
    """A row without a session makes none; its newer version does."""
    site.feed([span("a", 0, 1, sessionId=None)])
    assert site.sql(QUERY) == []
    site.feed([span("a", 0, 1, updatedAt=iso(T0 + 99))])
    assert len(site.sql(QUERY)) == 1


ROWS = st.lists(
    st.builds(
        lambda trace, at, length, session, version, synthetic: span(
            f"t{trace}",
            float(at),
            length,
            id=f"t-t{trace}" if synthetic else f"{trace}-{at % 3}",
            sessionId=session,
            updatedAt=iso(T0 + 1000 + version),
        ),
        st.integers(0, 3),
        st.integers(0, 9),
        st.sampled_from([None, 0, 1, 4]),
        st.sampled_from(["s1", "s2", None]),
        st.integers(0, 99),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: (row["id"], row["traceId"], row["updatedAt"]),
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, data=st.data())
def test_the_order_of_batches_does_not_matter(
    langfuse_rig_of: RequestRigOf, rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    """One batch, or two in either order: the same turns and the same newest rows."""
    cut = data.draw(st.integers(0, len(rows)))
    told = []
    for batches in ([rows], [rows[:cut], rows[cut:]], [rows[cut:], rows[:cut]]):
        rig = langfuse_rig_of(FakeLangfuse())
        for batch in batches:
            rig.feed(batch)
        told.append(
            (
                rig.sql("select * from turns order by all"),
                rig.sql("select * exclude (revisions) from observations order by all"),
            )
        )
        rig.close()
    assert told[0] == told[1] == told[2]
