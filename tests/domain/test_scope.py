"""Scope: what stands in a link is what is shown, and a bad link harms nothing."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.domain.scope import (
    BINS_S,
    LABELS,
    MOST_BINS,
    RANGES,
    URL_NAMES,
    Compare,
    Scope,
    Window,
    from_query,
    to_query,
)

MINUTE_S = 60
NOW = 1_790_000_017.25
TEXT = st.none() | st.text(min_size=1)
MINUTES = st.integers(950_000_000 // MINUTE_S, 4_000_000_000 // MINUTE_S).map(
    lambda m: m * MINUTE_S
)
"""Within the years that a link may name."""
LENGTHS = st.integers(1, 400 * 1440).map(lambda minutes: minutes * MINUTE_S)
PERIODS = st.tuples(MINUTES, LENGTHS).map(lambda p: (p[0], p[0] + p[1]))


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    labels = {name: draw(TEXT) for name in (*LABELS, "arm")}
    compare = draw(st.sampled_from(Compare))
    if draw(st.booleans()):
        start, end = draw(PERIODS)
        return Scope(**labels, start=start, end=end, compare=compare)
    return Scope(**labels, range=draw(st.sampled_from(list(RANGES))), compare=compare)


def through_a_link(query: dict[str, str]) -> dict[str, str]:
    return dict(parse_qsl(urlencode(query), keep_blank_values=True))


@given(scopes())
def test_a_link_restores_the_scope(scope: Scope) -> None:
    """Every scope, with any text in its labels, comes back from its own URL unharmed."""
    assert from_query(through_a_link(to_query(scope))) == (scope, [])


@given(scopes())
def test_a_link_is_short(scope: Scope) -> None:
    """Only known names stand in a URL, and nothing that equals the default."""
    assert set(to_query(scope)) <= set(URL_NAMES)
    assert to_query(Scope()) == {}


@given(st.dictionaries(st.sampled_from(URL_NAMES) | st.text(), st.text(), max_size=8))
@example({"range": "1h; drop table engines", "from": "yesterday", "compare": "always"})
@example({"from": "2026-09-01T00:00Z"})
@example({"from": "2026-09-01T00:00Z", "to": "2026-09-01T00:00Z"})
@example({"from": "2026-09-02T00:00Z", "to": "2026-09-01T00:00Z"})
def test_a_bad_parameter_is_named_and_harmless(query: dict[str, str]) -> None:
    """What cannot be read is named and left at its default; the rest is taken."""
    scope, wrong = from_query(query)
    assert set(wrong) <= {"range", "from/to", "compare"}
    for name in (*LABELS, "arm"):
        assert getattr(scope, name) == (query.get(name) or None)
    if "range" in query:
        assert ("range" in wrong) == (query["range"] not in RANGES)
    if "from/to" in wrong:
        assert (scope.start, scope.end) == (None, None)
    if "compare" in wrong:
        assert scope.compare is Compare.NONE
    assert scope.window(NOW).length_s > 0
    assert from_query(to_query(scope)) == (scope, [])


@pytest.mark.parametrize(
    "value", ["2026-09-01T00:00", "2026-09-01T00:00Z", "2026-09-01T02:00+02:00", "2026-09-01"]
)
def test_a_time_without_a_zone_is_utc(value: str) -> None:
    """Every way to write one instant is one instant; without a zone it is UTC."""
    scope, wrong = from_query({"from": value, "to": "2026-09-01T01:00Z"})
    assert (scope.start, scope.end, wrong) == (1_788_220_800, 1_788_224_400, [])


@given(PERIODS, st.integers(1, 59))
@example((1_788_220_800, 1_788_220_860), 30)
def test_a_link_with_seconds_keeps_its_window(period: tuple[int, int], seconds: int) -> None:
    """A period that is not on whole minutes shows the same window from its rewritten link."""
    start, end = (datetime.fromtimestamp(t + seconds, UTC).isoformat() for t in period)
    scope, wrong = from_query({"from": start, "to": end})
    assert wrong == []
    again, wrong = from_query(to_query(scope))
    assert wrong == []
    assert again.window(NOW) == scope.window(NOW)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-09-01T00:00Z", "9999-12-31T23:59:30Z"),
        ("0001-01-01T00:00Z", "2026-09-01T00:00Z"),
        ("0001-01-01T00:00+14:00", "2026-09-01T00:00Z"),
    ],
)
def test_a_period_no_server_can_hold_is_named(start: str, end: str) -> None:
    """Years that no calendar code, or no memory, can hold are named and not looked at."""
    scope, wrong = from_query({"from": start, "to": end})
    assert wrong == ["from/to"]
    assert scope == Scope()


@given(st.sampled_from(list(RANGES)), st.integers(0, 4 * 10**12).map(lambda ms: ms / 1000))
def test_a_range_ends_with_the_cell_of_now(chosen: str, now: float) -> None:
    """The window is whole cells, holds the newest sample, and exceeds its range by cells only."""
    window = Scope(range=chosen).window(now)
    assert window.start % window.cell_s == window.end % window.cell_s == 0
    assert now <= window.end < now + window.cell_s
    assert RANGES[chosen] <= window.length_s
    assert window.length_s <= RANGES[chosen] + (window.cell_s if window.cell_s > MINUTE_S else 0)


@given(st.integers(0, 4 * 10**9), st.integers(1, 10**7))
def test_a_period_snaps_outwards(start: int, length: int) -> None:
    """Whole cells around what was asked for: all of it, and less than a cell more."""
    window = Scope(start=start, end=start + length).window(NOW)
    assert window.start % window.cell_s == window.end % window.cell_s == 0
    assert start - window.cell_s < window.start <= start
    assert start + length <= window.end < start + length + window.cell_s


@given(PERIODS)
def test_cells_fill_bins(period: tuple[int, int]) -> None:
    """A bin is a whole number of cells, so that no cell lies in two bins."""
    window = Scope(start=period[0], end=period[1]).window(NOW)
    assert window.bin_s % window.cell_s == 0


@given(MINUTES, st.integers(1, BINS_S[-1] * MOST_BINS // MINUTE_S))
def test_bins_are_the_finest_that_fit(start: int, minutes: int) -> None:
    """At most MOST_BINS bins cover a window of any length, and a finer width would not."""
    window = Window(start, start + minutes * MINUTE_S)
    assert window.bin_s in BINS_S
    assert window.length_s <= MOST_BINS * window.bin_s
    finer = [width for width in BINS_S if width < window.bin_s]
    assert all(window.length_s > MOST_BINS * width for width in finer)


def test_bins_stay_few_for_any_link() -> None:
    """A link cannot ask for more bins than a chart, or a browser, can take."""
    scope, _ = from_query({"from": "1970-01-01T00:00Z", "to": "2070-01-01T00:00Z"})
    window = scope.window(NOW)
    assert window.length_s <= MOST_BINS * window.bin_s


@given(PERIODS, st.sampled_from(Compare))
def test_an_earlier_period_is_as_long(period: tuple[int, int], compare: Compare) -> None:
    """What is compared with has the same length; the period before only touches."""
    window = Window(*period)
    earlier = window.earlier(compare)
    assert (earlier is None) == (compare is Compare.NONE)
    if earlier is not None:
        assert earlier.length_s == window.length_s
        assert earlier.start < window.start
    if compare is Compare.PREVIOUS:
        assert earlier is not None
        assert earlier.end == window.start


@given(scopes())
def test_label_filters_are_query_parameters(scope: Scope) -> None:
    """Each label goes to the query under its own name, None for all."""
    assert scope.labels() == {name: getattr(scope, name) for name in LABELS}
