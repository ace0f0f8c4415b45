"""Gaps: every bin in which an engine was there and not seen, and no other."""

import itertools

from hypothesis import assume, given
from hypothesis import strategies as st

from core.domain.coverage import (
    OBSERVED_SHARE,
    SETTLING_S,
    Gap,
    Life,
    find_gaps,
    horizon,
    names_of,
    since,
)
from core.domain.records import EngineLabels

BIN_S = 60
TIMES = st.integers(-2, 12).map(lambda k: k * 30.0)


@st.composite
def lives(draw: st.DrawFn) -> list[Life]:
    found = []
    for number in range(draw(st.integers(0, 3))):
        first, last = draw(TIMES), draw(st.none() | TIMES)
        gone = None if last is None else max(first, last)
        found.append(Life(number, f"engine-{number}", first, gone))
    return found


COVERED = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 4).map(lambda k: k * BIN_S)),
    st.sampled_from([0.0, 15.0, 29.0, 30.0, 45.0, 60.0, 75.0]),
)
BINS = [k * BIN_S for k in range(5)]


@given(lives(), COVERED, st.integers(0, 59), st.integers(200, 330))
def test_gaps_are_the_bins_nobody_knows(
    fleet: list[Life], covered: dict[tuple[int, int], float], start: int, until: int
) -> None:
    """Bin by bin, a gap names exactly the engines that were there and hardly observed."""
    gaps = find_gaps(BINS, BIN_S, fleet, covered, start=start, until=until)
    assert gaps == sorted(gaps, key=lambda gap: gap.start)
    assert all(one.end <= other.start for one, other in itertools.pairwise(gaps))
    assert all(start <= gap.start < gap.end <= until for gap in gaps)
    for begin in BINS:
        low, high = max(begin, start), min(begin + BIN_S, until)
        if high <= low:
            continue
        there = {life: life.expected_s(low, high) for life in fleet}
        missing = tuple(
            life.name
            for life, expected in there.items()
            if expected > 0
            and covered.get((life.engine_id, begin), 0.0) < OBSERVED_SHARE * expected
        )
        holding = [gap for gap in gaps if gap.start <= low and high <= gap.end]
        nobody = not any(there.values())
        assert len(holding) == (1 if missing or nobody else 0)
        assert not any(gap.start < high and low < gap.end for gap in gaps if gap not in holding)
        for gap in holding:
            assert gap.missing == missing


@given(lives(), COVERED)
def test_one_bin_says_whether_everyone_was_missing(
    fleet: list[Life], covered: dict[tuple[int, int], float]
) -> None:
    """Within one bin, everyone means that no engine that was there was observed."""
    for begin in BINS:
        for gap in find_gaps([begin], BIN_S, fleet, covered, start=0, until=300):
            there = [life for life in fleet if life.expected_s(begin, begin + BIN_S) > 0]
            assert gap.everyone == (len(gap.missing) == len(there))


def test_an_observed_minute_is_not_painted_as_everyone_missing() -> None:
    """A stretch in which another engine was observed is never called unobserved."""
    fleet = [Life(1, "silent", 0.0), Life(2, "seen", 0.0, gone_at=60.0)]
    gaps = find_gaps([0, 60], 60, fleet, {(2, 0): 60.0}, start=0, until=120)
    assert gaps == [
        Gap(0, 60, ("silent",), everyone=False),
        Gap(60, 120, ("silent",), everyone=True),
    ]


@given(lives(), TIMES, TIMES, TIMES)
def test_expected_time_adds_up(fleet: list[Life], a: float, b: float, c: float) -> None:
    """Over two neighbouring stretches an engine is expected as long as over both."""
    low, middle, high = sorted((a, b, c))
    for life in fleet:
        parts = life.expected_s(low, middle) + life.expected_s(middle, high)
        assert parts == life.expected_s(low, high)
        assert 0 <= life.expected_s(low, high) <= high - low


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.none() | st.integers(0, 10**6))
def test_what_settles_is_no_gap(end: int, now: int, read_to: int | None) -> None:
    """Nothing later than now is expected; a collector that is behind hides no gap."""
    assume(read_to is None or read_to <= now)
    newest = horizon(float(end), now=float(now), read_to=read_to)
    assert newest <= min(end, now)
    if read_to is None or now - read_to > SETTLING_S:
        assert newest == min(end, now)
    else:
        assert newest == min(end, read_to)


WORDS = st.none() | st.sampled_from(["a", "b", "c"])
ENGINES = st.builds(EngineLabels, WORDS, WORDS, WORDS, WORDS, WORDS)


@given(st.lists(ENGINES, max_size=8, unique=True))
def test_every_engine_has_a_name_of_its_own(engines: list[EngineLabels]) -> None:
    """Names tell engines apart, whichever of their labels differs or is missing."""
    names = names_of(engines)
    assert len(set(names)) == len(engines)
    for engine, name in zip(engines, names, strict=True):
        assert (engine.pod or "(no pod label)") in name


@given(st.lists(ENGINES, max_size=8, unique_by=lambda engine: engine.pod))
def test_a_pod_of_its_own_is_name_enough(engines: list[EngineLabels]) -> None:
    """Nothing stands beside the pod where no other engine has it."""
    assert names_of(engines) == [engine.pod or "(no pod label)" for engine in engines]


def test_an_engine_of_the_first_scrape_may_have_been_there_before() -> None:
    """Time before reading began is unobserved, that before a later engine is none of its own."""
    first, later = (
        Life(n, "a", since(at, read_from=3000.0)) for n, at in enumerate((3010.0, 3300.0))
    )
    assert first.expected_s(0, 3600) == 3600
    assert later.expected_s(0, 3600) == 300
    assert find_gaps([0], 3600, [first, later], {(1, 0): 290.0}, start=0, until=3600) == [
        Gap(0, 3600, ("a",), everyone=False)
    ]
