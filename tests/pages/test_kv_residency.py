"""The KV residency page: four states of silence, and numbers that say how many they are of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.records import stable_id
from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import (
    MINUTES,
    T0,
    WRITTEN,
    Filled,
    Tables,
    WrittenEngine,
    at,
    put,
    source_row,
    together,
)
from tests.pages.shown import charts, marks_on, ran, table, tables, text, tiles, titles

PAGE = "kv_residency"
IDLE = "kv_block_idle_before_evict_seconds"
GAP = "kv_block_reuse_gap_seconds"
LIFETIME = "kv_block_lifetime_seconds"
COARSE = {600.0: 30.0, 1200.0: 15.0, 1800.0: 15.0, inf: 40.0}
"""Cumulative 30, 45, 60, 100."""
FALLING = {0.1: 0.0, 0.2: 45.2, 0.3: -35.9, inf: 0.0}
"""Cumulative 0, 45.2, 9.3, 9.3."""
NONE = {600.0: 0.0, inf: 0.0}
Put = Callable[..., None]


@pytest.fixture
def put_real(real_home: Path) -> Put:
    return lambda tables: put(real_home, tables)


@dataclass(frozen=True)
class BlockEngine(WrittenEngine):
    """An engine with histograms of sampled blocks: what fell into each bucket in one minute."""

    held: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    configured: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> Tables:
        found = super().tables
        engine_id = stable_id("engine", self.cluster, self.namespace, self.pod)
        place = {"engine_id": engine_id, "target_id": stable_id("target", self.pod)}
        found["bucket_cells"] = []
        for instrument, buckets in self.held.items():
            self._histogram(found, place, instrument, buckets)
        for row in found["exports"]:
            if row["instrument"] in self.held:
                row |= {"state": "exported", "exported_name": f"vllm:{row['instrument']}"}
        found["configurations"] = [
            {**place, "name": name, "value": value, "seen_at": at(T0)}
            for name, value in self.configured.items()
        ]
        return found

    def _histogram(
        self,
        found: Tables,
        place: dict[str, Any],
        instrument: str,
        buckets: Mapping[float, float],
    ) -> None:
        count = self._series(found, place, f"{instrument}_count", None)
        for minute in range(T0, T0 + MINUTES * 60, 60):
            total = sum(buckets.values()) if minute == T0 else 0.0
            found["counter_cells"].append(self._cell(count, minute, total))
        for edge, n in buckets.items():
            series = self._series(found, place, instrument, edge)
            if n:
                cell = {"series_id": series, "minute": at(T0), "increase": n, "duplicate": False}
                found["bucket_cells"].append(cell)

    def _series(
        self, found: Tables, place: dict[str, Any], instrument: str, le: float | None
    ) -> int:
        key = stable_id("series", place["engine_id"], instrument, le)
        name = f"vllm:{instrument}"
        row = {"series_id": key, "instrument": instrument, "le": le, "exported_name": name}
        found["series"].append(row | place)
        return key


def blocks(pod: str, **held: Mapping[float, float]) -> BlockEngine:
    """A sound engine whose histograms hold this; what is not given is empty."""
    names = {"idle": IDLE, "gap": GAP, "lifetime": LIFETIME}
    given = {names[key]: buckets for key, buckets in held.items()}
    empty = dict.fromkeys((IDLE, GAP, LIFETIME), NONE)
    sound = WrittenEngine.sound(pod)
    return BlockEngine(pod, per_minute=sound.per_minute, held=empty | given)


def opened(put_real: Put, open_page: Open, *engines: WrittenEngine) -> AppTest:
    put_real(together(*engines))
    return open_page(PAGE, WRITTEN)


def quantiles(app: AppTest) -> list[dict[str, str]]:
    return table(app, say("col.quantile"), say("col.sampled"))


def test_the_demo_shows_all_it_has(open_demo: Open) -> None:
    """Three histograms, a heat map with changes, engines with their states, and what is off."""
    app = open_demo(PAGE)
    assert titles(app) == [
        say(f"kv.{key}") for key in ("summary", "idle", "gap", "lifetime", "over_time", "engines")
    ] + [say("table.changes_title"), say("kv.match"), say("kv.turns")]
    states = {row["Engine"]: row["State"] for row in table(app, "Engine", "State")}
    assert states["llama-4-scout-2"] == say("residency.flag_off")
    assert set(states.values()) == {say("residency.measured"), say("residency.flag_off")}
    assert say("kv.state_flag_off", names="llama-4-scout-2") in text(app)
    assert say("kv.rate_unknown") in text(app)
    changes = {row["Change"] for row in table(app, say("col.mark"), say("col.change"))}
    assert f"{say('lever.cache_reset')} · qwen3-32b-3" in changes
    heat = charts(app)[3]
    assert len(marks_on(heat)) == len({r["Time"] for r in table(app, say("col.mark"))})
    assert len(charts(app)) == 5
    assert say("kv.else") not in text(app)


def test_a_cold_canary_is_on_and_has_no_evictions(open_demo: Open, filled: Filled) -> None:
    """Before its cache is full an engine is on and silent: neither off nor 0."""
    app = open_demo(PAGE, pod="qwen3-32b-3", **filled.window(275, 279))
    assert tiles(app)["Idle before eviction, median"].value == say("reason.no_evictions")
    assert say("kv.state_no_evictions", names="qwen3-32b-3") in text(app)


def test_the_worked_lifetime(put_real: Put, open_page: Open) -> None:
    """Cumulative 30, 45, 60, 100: p50 in (20 min, 30 min], p95 beyond it with 40 %."""
    app = opened(put_real, open_page, blocks("a", idle=NONE | {600.0: 100.0}, lifetime=COARSE))
    tile = tiles(app)["Lifetime, median"]
    assert tile.value == "20 min – 30 min"
    (rows,) = (r for r in tables(app) if r[0].get("Bucket") == "20 min – 30 min")
    found = {row["Quantile"]: row for row in rows}
    assert found["p95"]["Bucket"] == "> 1800 s"
    assert found["p50"]["Sampling, 95 %"] == "> 600 s"
    assert say("kv.beyond", part="40.0 %", edge="1800 s") in text(app)
    assert "n = 100 sampled evictions, 1 engine." in text(app)


def test_falling_counts_are_a_contract_error(put_real: Put, open_page: Open) -> None:
    """Cumulative 0, 45.2, 9.3: no quantile, a named engine, and nothing repaired."""
    app = opened(put_real, open_page, blocks("a", idle=FALLING))
    assert tiles(app)["Idle before eviction, median"].value == say("reason.contract_error")
    assert tiles(app)["Idle before eviction, median"].bad
    (error,) = app.error
    assert "Contract error on a" in error.value
    assert quantiles(app) == []


def test_a_broken_engine_is_left_out_of_the_others(put_real: Put, open_page: Open) -> None:
    """One engine's falling counts take nothing from the other's quantiles."""
    app = opened(
        put_real, open_page, blocks("a", idle=FALLING), blocks("b", idle={0.1: 9.0, inf: 1.0})
    )
    assert tiles(app)["Idle before eviction, median"].value == "0 ms – 100 ms"
    assert "n = 10 sampled evictions, 1 engine." in text(app)
    assert "Contract error on a" in app.error[0].value


def test_no_increase_is_no_sampled_eviction(put_real: Put, open_page: Open) -> None:
    """On and quiet: the words, what to do, and no 0 s."""
    app = opened(put_real, open_page, blocks("a"))
    for name in ("Idle before eviction", "Lifetime", "Reuse gap"):
        assert tiles(app)[f"{name}, median"].value == say("reason.no_evictions")
        assert tiles(app)[f"{name}, median"].hatched
    assert tiles(app)["Sampled evictions"].value == "0 events"
    assert say("kv.state_no_evictions", names="a") in text(app)
    assert say("kv.else") in text(app)


def test_evictions_without_reuse_have_no_gap(put_real: Put, open_page: Open) -> None:
    """Blocks went, and none was hit twice: a reason of its own, not a gap of 0."""
    app = opened(put_real, open_page, blocks("a", idle={1.0: 5.0, inf: 0.0}))
    assert tiles(app)["Reuse gap, median"].value == say("reason.no_reuse")


def test_thirty_seven_stay_thirty_seven(put_real: Put, open_page: Open) -> None:
    """A known rate of 0.01 scales nothing up, and 37 values leave p95 without an upper limit."""
    held = {1.0: 30.0, 5.0: 7.0, inf: 0.0}
    engine = replace(
        blocks("a", idle=held, lifetime=held), configured={"kv_cache_metrics_sample": "0.01"}
    )
    app = opened(put_real, open_page, engine)
    assert tiles(app)["Sampled evictions"].value == "37 events"
    assert "n = 37 sampled evictions" in text(app)
    assert say("kv.rate_labels", rates="0.01") in text(app)
    assert "3,700" not in text(app)
    assert "3.7 k" not in text(app)
    assert {row["Quantile"]: row["Sampling, 95 %"] for row in quantiles(app)} == {
        "p50": "0 ms – 1 s",
        "p90": "0 ms – 5 s",
        "p95": "> 1 s",
        "p99": "> 1 s",
    }


def test_a_rate_from_the_settings_is_shown(
    put_real: Put, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PREFIXWATCH_KV_SAMPLE_RATE says what no engine exports."""
    monkeypatch.setenv("PREFIXWATCH_KV_SAMPLE_RATE", "0.25")
    app = opened(put_real, open_page, blocks("a"))
    assert say("kv.rate_setting", rate="0.25") in text(app)


def test_too_few_values_have_no_interval(put_real: Put, open_page: Open) -> None:
    """Below six values the median has a bucket and no sampling interval."""
    app = opened(put_real, open_page, blocks("a", idle={1.0: 5.0, inf: 0.0}))
    assert quantiles(app)[0] == {
        "Quantile": "p50",
        "Bucket": "0 ms – 1 s",
        "Sampling, 95 %": say("kv.no_interval", n=5),
    }


def test_other_edges_are_not_added_up(put_real: Put, open_page: Open) -> None:
    """Engines whose buckets differ are named as left out; the larger group is shown."""
    app = opened(
        put_real,
        open_page,
        blocks("a", idle={1.0: 50.0, inf: 0.0}),
        blocks("b", idle={1.0: 0.0, 2.0: 7.0, inf: 0.0}),
    )
    assert "n = 50 sampled evictions, 1 engine." in text(app)
    assert say("kv.left_out", names="b") in text(app).replace("\\", "")
    medians = {row["Engine"]: row["Idle p50"] for row in table(app, "Engine", "Idle p50")}
    assert medians == {"a": "0 ms – 1 s", "b": "1 s – 2 s"}


def test_more_than_three_gaps_a_block_cannot_be(put_real: Put, open_page: Open) -> None:
    """A block reports three gaps at most: more is said, with the engine's name."""
    app = opened(
        put_real,
        open_page,
        blocks("a", idle={1.0: 5.0, inf: 0.0}, gap={1.0: 16.0, inf: 0.0}),
        blocks("b", idle={1.0: 5.0, inf: 0.0}, gap={1.0: 15.0, inf: 0.0}),
    )
    (error,) = app.error
    assert "Contract error on a\\: " in error.value
    assert "three reuse gaps" in error.value


def test_four_silences_are_four_words(put_real: Put, open_page: Open) -> None:
    """Flag off, no series, caching off and no eviction stand side by side, each with its step."""
    off = replace(blocks("c"), configured={"enable_prefix_caching": "False"})
    silent = WrittenEngine("d", renamed={})
    app = opened(put_real, open_page, WrittenEngine.sound("a"), blocks("b"), off, silent)
    states = {row["Engine"]: row["State"] for row in table(app, "Engine", "State")}
    assert states == {
        "a": say("residency.flag_off"),
        "b": say("residency.no_evictions"),
        "c": say("residency.caching_off"),
        "d": say("residency.stats_off"),
    }
    for name, state in {"a": "flag_off", "b": "no_evictions", "c": "caching_off"}.items():
        assert say(f"kv.state_{state}", names=name) in text(app)
    assert say("kv.state_stats_off", names="d") in text(app)


def test_all_engines_without_the_flag_say_so(put_real: Put, open_page: Open) -> None:
    """No number anywhere, the flag to set, and what else can be done."""
    app = opened(put_real, open_page, WrittenEngine.sound("a"), WrittenEngine.sound("b"))
    assert {tile.value for tile in tiles(app).values()} == {say("reason.flag_off")}
    assert say("kv.state_flag_off", names="a, b") in text(app)
    assert say("kv.else") in text(app)


def test_no_engine_at_all_names_the_flag_of_stats(put_real: Put, open_page: Open) -> None:
    """A server without any series is no engine: the page says which flag hides it."""
    engine = WrittenEngine.sound("a").tables
    put_real(engine | source_row("following", checked=T0, read_to=at(T0)))
    app = open_page(PAGE, WRITTEN | {"pod": "b"})
    assert say("kv.no_engine") in [info.value for info in app.info]


def test_a_cache_that_holds_nothing_yet_blames_no_flag(real_home: Path, open_page: Open) -> None:
    """Before anything was read, the page says what will happen and nothing else."""
    app = open_page(PAGE)
    assert [info.value for info in app.info] == [say("notice.empty")]


def test_match_units_are_exact(put_real: Put, open_page: Open) -> None:
    """Block size, unit and number of blocks of each engine, and possible hits to the token."""
    large = {"block_size": "1024", "num_gpu_blocks": "500", "prefix_match_unit": "None"}
    unit = {"block_size": "1024", "num_gpu_blocks": "500", "prefix_match_unit": "512"}
    app = opened(
        put_real,
        open_page,
        replace(blocks("a"), configured=large),
        replace(blocks("b"), configured=unit),
        blocks("c"),
    )
    rows = {row["Engine"]: row for row in table(app, "Engine", "Block size")}
    prompts = [say("col.possible", n=n) for n in ("1,024", "1,025", "2,047", "4,096")]
    assert [rows["a"][p] for p in prompts] == ["0", "1024", "1024", "3072"]
    assert [rows["b"][p] for p in prompts] == ["512", "1024", "1536", "3584"]
    assert {rows["c"][p] for p in prompts} == {say("cell.unknown")}
    assert (rows["a"]["Blocks"], rows["a"]["Match unit"]) == ("500", say("cell.as_block"))
    assert rows["c"]["Blocks"] == say("cell.unknown")


def test_turn_gaps_stand_alone(open_demo: Open) -> None:
    """Turn gaps have n and their unknown ones, and no text sets them beside an idle time."""
    app = open_demo(PAGE)
    (line,) = [c.value for c in app.caption if "unknown:" in c.value]
    assert line.startswith("n = ")
    assert say("idle.first_turn") in line
    for words in (line, say("kv.turns_off"), say("kv.turns")):
        assert "evict" not in words
        assert "block" not in words
    figure = charts(app)[-1]
    assert len(figure.layout.shapes) == 0
    assert {trace.name for trace in figure.data} <= {"", None}


def test_no_requests_leave_turns_unknown(put_real: Put, open_page: Open) -> None:
    """Without turns the panel says what they need."""
    app = ran(opened(put_real, open_page, blocks("a")))
    assert say("kv.turns_off") in text(app)
