"""Windows and exposure in SQL: the same as in Python, on random cells and random requests."""

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.cache.store import Store
from core.domain.coverage import Life
from core.domain.windows import (
    Preempt,
    PreemptCell,
    PreemptWindow,
    Rule,
    exposure,
    joined,
    preempt_windows,
)
from core.views.window_rule import WindowRule
from tests.pages.written_requests import observation
from tests.queries.written_engines import INTERVAL_S, T0, Counted, Written

PERIOD_S = 3600
EARLY_S = 140
"""The period begins in the middle of a window."""
TOLERANCE_S = 16.0
LEVELS = ("engine", "pod", "pool", "nowhere")


def random_cells(rng: random.Random) -> tuple[PreemptCell, ...]:
    """An hour and a half of scrapes with holes, late ones, restarts and events of all kinds."""
    cells = []
    lossy, calm = rng.choice([0.0, 0.05, 0.3, 0.9]), rng.choice([12, 200, 200])
    for minute in range(T0 - 1800, T0 + PERIOD_S + 1200, 60):
        if rng.random() < lossy:
            continue
        samples = rng.choice([4] * calm + [3, 1])
        first = minute + rng.choice([0.0] * calm + [14.0])
        gap = rng.choice([15.0] * calm + [30.0, 45.0, 200.0, None])
        events = rng.choice([0.0] * calm + [1.0, 3.0, None])
        across = rng.choice([0.0, events]) if gap is not None and gap > 31 else 0.0
        paired = gap is not None and events is not None
        cells.append(
            PreemptCell(
                minute,
                events if paired else None,
                across if paired else None,
                samples,
                gap,
                first,
                first + 15.0 * (samples - 1),
            )
        )
    return tuple(cells)


def random_engines(rng: random.Random) -> list[Counted]:
    """Engines of two models and a pod with two engine cores; some come late, some leave."""
    return [
        Counted(
            pod,
            random_cells(rng),
            model=model,
            engine=core,
            interval_s=rng.choice([INTERVAL_S, INTERVAL_S, INTERVAL_S, 60.0, None]),
            first_at=rng.choice([T0 - 86_400.0, T0 + rng.uniform(0, PERIOD_S)]),
            gone_at=rng.choice([None, None, T0 + rng.uniform(0, PERIOD_S)]),
        )
        for pod, model, core in (
            *(("a", "small", "0"), ("b", "small", "0"), ("c", "large", "0")),
            *(("two", "large", "0"), ("two", "large", "1")),
        )
    ]


def windows_of(engine: Counted, rule: Rule, read_to: float | None) -> list[PreemptWindow]:
    """What Python says of one engine, while it was there."""
    life = Life(engine.engine_id, engine.pod, engine.first_at, engine.gone_at)
    found = preempt_windows(
        engine.cells,
        start=T0 - 1200,
        end=T0 + PERIOD_S + 6 * 3600,
        interval_s=engine.interval_s,
        read_to=read_to,
        rule=rule,
    )
    return [one for one in found if life.was_there(one.start, one.end)]


def params(rule: WindowRule) -> dict[str, object]:
    return {
        **dict.fromkeys(("cluster", "namespace", "model", "pod", "engine", "arm")),
        "start": datetime.fromtimestamp(T0 - EARLY_S, UTC),
        "end": datetime.fromtimestamp(T0 + PERIOD_S, UTC),
        "bin_s": rule.rule.window_s,
        **rule.windows,
        **rule.overlap,
    }


CASES = [
    (seed, size, read_to)
    for seed in range(8)
    for size, read_to in ((300, None), (300, T0 + 2000.0), (60, None), (900, T0 + 9e4))
]


@pytest.mark.parametrize(("seed", "size", "read_to"), CASES)
def test_windows_in_sql_are_those_of_python(
    tmp_path: Path, seed: int, size: int, read_to: float | None
) -> None:
    """State, reason and stretch of every window of every engine, on random cells."""
    rng = random.Random(seed)  # noqa: S311 - a test's own
    engines, written = random_engines(rng), Written(tmp_path)
    for engine in engines:
        written.add(engine.tables)
    rule = WindowRule(Rule(size), read_to, TOLERANCE_S)
    store = written.opened()
    rows = store.read("preemption_strip", params(rule))
    store.close()
    found = {
        (row.engine_id, row.first_window): (
            next(s for s, n in (("1", row.ones), ("0", row.zeros), ("unknown", row.unknowns)) if n),
            row.why,
        )
        for row in rows
    }
    begin, end = (T0 - EARLY_S) // size * size, T0 + PERIOD_S
    expected = {
        (engine.engine_id, one.start): (str(one.state), one.why)
        for engine in engines
        for one in windows_of(engine, rule.rule, read_to)
        if begin <= one.start < end
    }
    assert found == expected
    assert len({state for state, _ in found.values()}) > 1


def random_request(
    rng: random.Random, n: int
) -> tuple[dict[str, object], str, float, float | None]:
    """A request, at which level its engine is known, and its times."""
    start = T0 + rng.choice([rng.uniform(-EARLY_S, PERIOD_S - 1), rng.uniform(-EARLY_S, 0)])
    end = rng.choice([None, *(start + rng.choice([0.0, 2.0, 60.0, 700.0, 30_000.0]),) * 5])
    level = rng.choice(LEVELS)
    place = {
        "engine": {"pod": rng.choice("abc"), "model": None},
        "pod": {"pod": "two", "model": "large"},
        "pool": {"model": rng.choice(["small", "large"])},
        "nowhere": {"model": None},
    }[level]
    row = observation(f"r{n}", start=start, end_at=end, first_token_at=None, **place)
    return row, level, start, end


def meant(engines: list[Counted], row: dict[str, object], level: str) -> list[Counted]:
    """Engines that a request may have run on."""
    if level == "nowhere":
        return []
    if level == "pool":
        return [one for one in engines if one.model == row["model"]]
    return [one for one in engines if one.pod == row["pod"]]


def together(several: list[list[PreemptWindow]]) -> list[PreemptWindow]:
    """One window of all engines that were there, for each stretch."""
    alike: dict[tuple[int, int], list[Preempt]] = {}
    for one in (window for windows in several for window in windows):
        alike.setdefault((one.start, one.end), []).append(one.state)
    return [PreemptWindow(*times, joined(states)) for times, states in alike.items()]


@pytest.mark.parametrize("seed", range(12))
def test_exposure_in_sql_is_that_of_python(tmp_path: Path, seed: int) -> None:
    """Of every request at every level, with and without an end, short and for hours."""
    rng = random.Random(1000 + seed)  # noqa: S311 - a test's own
    engines, written = random_engines(rng), Written(tmp_path)
    for engine in engines:
        written.add(engine.tables)
    asked = [random_request(rng, n) for n in range(120)]
    written.add({"observations": [row for row, *_ in asked]})
    rule = WindowRule(Rule(), rng.choice([None, T0 + 2400.0]), TOLERANCE_S)
    store = written.opened()
    found = exposed(store, rule)
    store.close()
    windows = {e.engine_id: windows_of(e, rule.rule, rule.read_to) for e in engines}
    for row, level, start, end in asked:
        mine = together([windows[e.engine_id] for e in meant(engines, row, level)])
        expected = exposure(mine, start, end, tolerance=TOLERANCE_S)
        told = "pool" if level == "nowhere" else level
        assert found[row["observation_id"]] == (str(expected), told), (row, level)
    assert len(found) == len(asked)


def exposed(store: Store, rule: WindowRule) -> dict[str, tuple[str, str]]:
    """Exposure and level of every request."""
    names = (
        *("start", "end", "window_s", "fewest", "coverage", "gap_intervals", "read_to", "late"),
        *("tolerance", "longest"),
    )
    given = {name: params(rule)[name] for name in names}
    with store._cursor() as cursor:
        rows = cursor.execute(
            "select observation_id, exposure, attribution from exposed_requests("  # noqa: S608
            + ", ".join(f"${name}" for name in names)
            + ")",
            given,
        ).fetchall()
    assert len(rows) == len({row[0] for row in rows})
    return {observation_id: (state, level) for observation_id, state, level in rows}
