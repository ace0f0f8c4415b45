"""Every page in every state a reader may meet it in: a number or a word, never a traceback."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core import runtime
from core.messages import say
from tests.pages.conftest import NOBODY, Open
from tests.pages.homes import (
    MINUTES,
    T0,
    WRITTEN,
    Filled,
    WrittenEngine,
    at,
    put,
    source_row,
    together,
)
from tests.pages.shown import charts, marks_on, ran, table, tables, text, tiles, titles

PAGES = ("live", "hit_ratio", "cached_prefill", "preemption", "data_health")
NUMBERS = ("live", "hit_ratio")
EVERY = (*PAGES, "request", "kv_residency", "quality", "experiments", "review")
DRAWN = (*PAGES, "quality")
SOME = ("live", "request", "review")
"""For what the frame of all pages says; one state is looked at on every page."""
SCOPE_BAR = ("cluster", "namespace", "model", "pod", "engine", "arm", "range", "compare")
Put = Callable[..., None]

TITLES = {
    "live": [
        *("chart.hit_ratio", "chart.prefill", "table.changes_title", "table.engines_title"),
        *("chart.kv", "chart.pressure", "chart.ttft"),
    ],
    "hit_ratio": [
        *("hit.definitions", "hit.reconcile", "hit.proxy", "hit.counters"),
        *("chart.hit_ratio", "chart.inflation", "chart.heat"),
        *("table.by_model", "table.by_engine", "table.changes_title"),
    ],
    "cached_prefill": [
        *("prefill.headline", "chart.prefill", "prefill.engines"),
        *("prefill.accounts", "prefill.differences", "prefill.beside"),
        *("chart.ttft", "chart.throughput", "chart.queue"),
        *("prefill.uncached", "prefill.follow_ups", "table.changes_title"),
    ],
    "preemption": [
        *("preempt.strip", "preempt.pressure", "chart.kv", "preempt.exposure"),
        *("preempt.quality", "preempt.engines", "preempt.histogram", "table.changes_title"),
    ],
    "data_health": [
        *("health.sources", "health.findings", "health.collector", "health.engines"),
        *("health.coverage", "health.names", "health.senders", "health.violations"),
        *("health.evaluators", "health.log", "health.cache"),
    ],
    "review": [
        *("review.changes", "review.efficiency", "review.quality", "review.decisions"),
        *("review.coverage", "review.violations", "health.sources", "review.exploration"),
        *("review.revisions", "review.limits", "review.about"),
    ],
    "request": ["request.recent"],
    "experiments": ["experiments.all"],
    "quality": [
        *("quality.strata", "quality.coverage", "quality.contrast", "quality.association"),
        *("quality.observed", "quality.requests", "quality.agreement", "quality.coarse"),
    ],
    "kv_residency": [
        *("kv.summary", "kv.idle", "kv.gap", "kv.lifetime", "kv.over_time", "kv.engines"),
        *("table.changes_title", "kv.match", "kv.turns"),
    ],
}
TILES = {
    "live": [
        *("Engine hit ratio", "Gateway cached share", "Cached prefill", "KV usage, maximum"),
        *("Preemptions", "Waiting requests", "TTFT p95"),
    ],
    "hit_ratio": [
        *("Engine hit ratio", "Gateway cached share", "Mean request cached ratio"),
        "Gateway cached share, proxy counters",
        *("Lookups per prompt token", "Cached share of prompt tokens", "External hit ratio"),
        *("Looked-up tokens", "Hit tokens", "Prompt tokens"),
    ],
    "cached_prefill": [
        *("Cached prefill share", "External KV share"),
        *("Cached prefill", "External KV prefill", "Computed prefill"),
        *("Prompt tokens per second", "Generated tokens per second"),
        *("TTFT p50", "TTFT p95", "Waiting requests"),
        *("Follow-ups on the same engine", "Own history delivered (estimate)"),
    ],
    "preemption": [],
    "data_health": [],
    "quality": [],
}
CHARTS = {
    "live": 5,
    "hit_ratio": 4,
    "cached_prefill": 5,
    "preemption": 3,
    "data_health": 0,
    "quality": 2,
}
OLD_NUMBER = {
    "live": ("Engine hit ratio", "50.0 %"),
    "hit_ratio": ("Engine hit ratio", "50.0 %"),
    "cached_prefill": ("Prompt tokens per second", "16.7 tokens/s"),
}
"""A tile of each page with numbers, on one sound engine."""

hold = """
import sys, duckdb
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def promised(page: str) -> list[str]:
    """Headings of a page on the demo, in order."""
    return [say(key, by="cached ratio") for key in TITLES[page]]


@pytest.mark.parametrize("page", DRAWN)
def test_a_page_shows_all_it_promises(open_demo: Open, page: str) -> None:
    """Banner, scope bar, freshness, headings, tiles and charts are all there on the demo."""
    app = open_demo(page)
    assert not app.error
    assert say("demo.banner") in text(app)
    assert {f"scope_{name}" for name in SCOPE_BAR} <= {box.key for box in app.selectbox}
    assert "of 9 engines fresh" in text(app)
    assert titles(app) == promised(page)
    assert list(tiles(app)) == TILES[page]
    assert len(charts(app)) == CHARTS[page]
    assert all(tables(app))


def test_tiles_say_of_what_they_are(open_demo: Open) -> None:
    """A ratio stands over its two sums and their coverage; what is not connected says so."""
    shown = tiles(open_demo("live"))
    ratio = shown["Engine hit ratio"]
    assert not ratio.hatched
    assert ratio.value.endswith(" %")
    assert "hit tokens / " in ratio.words
    assert "9 of 9 engines" in ratio.words
    assert "of the window observed" in ratio.words
    gateway = shown["Gateway cached share"]
    assert not gateway.hatched
    assert "cached input tokens / " in gateway.words
    assert "requests reported it" in gateway.words


def test_the_demo_story_is_told(open_demo: Open) -> None:
    """Routing changes, a restart, inflated lookups and the worst engine are there by name."""
    app = open_demo("live")
    changes = table(app, say("col.mark"), say("col.change"))
    assert [row["Mark"] for row in changes] == [chr(ord("A") + i) for i in range(len(changes))][
        ::-1
    ]
    told = {row["Change"] for row in changes}
    assert f"{say('lever.affinity_routing')} · {say('scope.all')}" in told
    assert f"{say('lever.restart')} · llama-4-scout-1" in told
    (inflated,) = [w.value.replace("\\", "") for w in app.warning if "inflated" in w.value]
    assert "qwen3-32b-2" in inflated
    ratios = [
        float(row["Hit ratio"].removesuffix(" %"))
        for row in table(app, "Engine", "KV max")
        if row["Hit ratio"].endswith("%")
    ]
    assert len(ratios) == 9
    assert ratios == sorted(ratios)


def test_changes_and_gaps_are_on_every_time_chart(open_demo: Open) -> None:
    """A lever, a restart and a gap are drawn alike on each chart over time."""
    app = open_demo("live")
    moments = {row["Time"] for row in table(app, say("col.mark"), say("col.change"))}
    assert len(moments) > 2
    for figure in charts(app):
        assert {mark[11:19] for mark in marks_on(figure)} == moments
        assert say("legend.unknown") in {trace.name for trace in figure.data}


@pytest.mark.parametrize("page", DRAWN)
def test_no_cell_is_blank(open_demo: Open, page: str) -> None:
    """Unknown is a word in every cell of every table."""
    cells = [
        (heading, cell)
        for rows in tables(open_demo(page))
        for row in rows
        for heading, cell in row.items()
    ]
    assert cells
    assert [heading for heading, cell in cells if not cell] == []


def test_the_demo_exports_every_metric_under_its_own_name(open_demo: Open) -> None:
    """Where all is well, Data health says `this one` in every row of names."""
    rows = table(open_demo("data_health"), "Name seen")
    assert [row["Name seen"] for row in rows] == [say("names.same")] * len(rows)


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_cache_says_what_to_expect(real_home: Path, open_page: Open, page: str) -> None:
    """With a Prometheus configured and nothing read yet, each page says what will happen."""
    app = open_page(page)
    assert say("demo.banner") not in text(app)
    assert say("freshness.none") in text(app)
    assert not tiles(app)
    if page == "data_health":
        assert say("health.cache_empty") in text(app)
        assert say("collector.off", source=say("source.prometheus")) in text(app)
    else:
        assert [info.value for info in app.info] == [say("notice.empty")]


@pytest.mark.parametrize("page", PAGES)
def test_a_scope_without_engines_says_so(open_demo: Open, page: str) -> None:
    """A filter that matches nothing is named as the cause, and stays in the bar to be cleared."""
    app = open_demo(page, model="no-such-model")
    assert app.selectbox(key="scope_model").value == "no-such-model"
    assert not tiles(app)
    if page != "data_health":
        assert [info.value for info in app.info] == [say("notice.empty_scope")]
    else:
        assert table(app, "Engine", "Observed") == []
        assert table(app, "Engine", "Scraped at")


@pytest.mark.parametrize("page", PAGES)
def test_a_dead_source_leaves_old_numbers_with_the_next_step(
    put_real: Put, open_page: Open, page: str
) -> None:
    """Prometheus down: title, detail and next step above numbers that say their age."""
    down = {
        "title": "The source cannot be reached",
        "detail": f"{NOBODY}: connection refused",
        "next_step": "Check the address and that the server runs.",
    }
    put_real(WrittenEngine.sound("a").tables | source_row("unavailable", checked=T0, **down))
    app = open_page(page, WRITTEN)
    (warning,) = app.warning
    said = warning.value.replace("\\", "")
    assert all(words in said for words in down.values())
    assert "the newest sample is" in said
    if page == "data_health":
        row = table(app, "Source", "State")[0]
        assert row["State"] == say("state.unavailable")
        assert row["Next step"] == down["next_step"]
    elif page == "preemption":
        assert table(app, "Engine", "Events")[0]["Events"] == "10"
    else:
        tile, value = OLD_NUMBER[page]
        assert tiles(app)[tile].value == value


@pytest.mark.parametrize("page", NUMBERS)
def test_without_a_prometheus_nobody_waits_for_one(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """Only Langfuse is configured and nothing read yet: the page says what it waits for."""
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_SECRET_KEY", "sk")
    app = open_page(page)
    assert [info.value for info in app.info] == [say("notice.empty_requests")]


@pytest.mark.parametrize("page", SOME)
def test_a_silent_collector_is_noticed(
    put_real: Put, open_page: Open, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """A collector that should report and does not is told with the time since it last did."""
    monkeypatch.setenv("PREFIXWATCH_COLLECTOR", "true")
    monkeypatch.setattr(runtime.Supervisor, "run", lambda _: None)
    put_real(
        WrittenEngine.sound("a").tables
        | source_row("following", checked=time.time() - 3660, read_to=at(T0))
    )
    app = open_page(page, WRITTEN)
    (warning,) = app.warning
    assert "Prometheus" in warning.value
    assert "has not reported for 6" in warning.value
    assert say("page.data_health") in warning.value


@pytest.mark.parametrize("page", SOME)
def test_history_being_read_shows_how_far(put_real: Put, open_page: Open, page: str) -> None:
    """While the past is read, a bar says how much is done and how long it will take."""
    put_real(
        WrittenEngine.sound("a").tables
        | source_row(
            "backfilling",
            checked=time.time(),
            read_to=at(T0),
            backfill_from=at(T0 - 86400),
            progress=0.42,
            left_s=300.0,
        )
    )
    (bar,) = open_page(page, WRITTEN).progress
    assert bar.value == 42
    assert bar.text == say(
        "notice.backfill",
        source=say("source.prometheus"),
        progress="42 %",
        rows="",
        left=say("notice.left", left="5 min"),
    )


BROKEN = WrittenEngine(
    "bad", per_minute={"prefix_cache_queries": 10.0, "prefix_cache_hits": 20.0}, model="other"
)


@pytest.mark.parametrize("page", NUMBERS)
def test_hits_above_lookups_are_a_contract_error(put_real: Put, open_page: Open, page: str) -> None:
    """Impossible sums are marked as such, and never shown as a ratio above or at 100 %."""
    put_real(BROKEN.tables)
    app = open_page(page, WRITTEN)
    tile = tiles(app)["Engine hit ratio"]
    assert tile.value == say("reason.contract_error")
    assert tile.bad
    assert "200 hit tokens / 100 looked-up tokens" in tile.words
    assert [error.value.replace("\\", "") for error in app.error] == [
        say("notice.broken", names="bad")
    ]


@pytest.mark.parametrize("page", NUMBERS)
def test_a_broken_engine_does_not_spoil_the_fleet(
    put_real: Put, open_page: Open, page: str
) -> None:
    """The fleet's ratio is that of the sound engines; the other is named and listed first."""
    put_real(together(WrittenEngine.sound("good"), BROKEN))
    app = open_page(page, WRITTEN)
    tile = tiles(app)["Engine hit ratio"]
    assert tile.value == "50.0 %"
    assert "1 of 2 engines" in tile.words
    assert len(app.error) == 1
    rows = {
        row.get("Engine", row.get("Name")): row
        for found in tables(app)
        for row in found
        if "Hit ratio" in row
    }
    assert rows["bad"]["Hit ratio"] == say("reason.contract_error")
    assert rows["good"]["Hit ratio"] == "50.0 %"
    if page == "live":
        assert next(iter(rows)) == "bad"


def test_tokens_add_up_to_the_ratio_beside_them(put_real: Put, open_page: Open) -> None:
    """What is left out of the ratio is left out of the sums shown below it."""
    put_real(together(WrittenEngine.sound("good"), BROKEN))
    shown = tiles(open_page("hit_ratio", WRITTEN))
    assert "5 k hit tokens / 10 k looked-up tokens" in shown["Engine hit ratio"].words
    assert shown["Hit tokens"].value == "5 k tokens"
    assert shown["Looked-up tokens"].value == "10 k tokens"


@pytest.mark.parametrize("page", NUMBERS)
def test_the_line_agrees_with_the_ratio_above_it(put_real: Put, open_page: Open, page: str) -> None:
    """What is left out of the ratio is left out of the chart over time."""
    put_real(together(WrittenEngine.sound("good"), BROKEN))
    app = open_page(page, WRITTEN)
    assert tiles(app)["Engine hit ratio"].value == "50.0 %"
    assert {float(y) for y in charts(app)[0].data[0].y} == {50.0}


@pytest.mark.parametrize("page", NUMBERS)
def test_old_names_are_called_renamed(put_real: Put, open_page: Open, page: str) -> None:
    """A server that exports under an old name is told so, not shown as calm."""
    old = {
        "prefix_cache_queries": "vllm:gpu_prefix_cache_queries_total",
        "prefix_cache_hits": "vllm:gpu_prefix_cache_hits_total",
    }
    put_real(WrittenEngine("old", per_minute={"prompt_tokens": 1000.0}, renamed=old).tables)
    tile = tiles(open_page(page, WRITTEN))["Engine hit ratio"]
    assert tile.value == say("reason.renamed")
    assert tile.hatched
    assert say("why.renamed") in tile.words


def test_old_names_are_listed_on_data_health(put_real: Put, open_page: Open) -> None:
    """The old name itself is shown, and counted apart from absent ones."""
    old = {"prefix_cache_queries": "vllm:gpu_prefix_cache_queries_total"}
    put_real(WrittenEngine("old", per_minute={"prompt_tokens": 1.0}, renamed=old).tables)
    rows = {
        row["Metric of vLLM"]: row for row in table(open_page("data_health", WRITTEN), "Name seen")
    }
    queries = rows["vllm:prefix_cache_queries_total"]
    assert queries["Name seen"] == "vllm:gpu_prefix_cache_queries_total"
    assert (queries["Exported"], queries["Old name only"], queries["Not exported"]) == (
        *("0", "1", "0"),
    )
    assert rows["vllm:prompt_tokens_total"]["Name seen"] == say("names.same")
    assert rows["vllm:kv_cache_usage_perc"]["Not exported"] == "1"


@pytest.mark.parametrize("page", NUMBERS)
def test_an_absent_metric_is_not_exported(put_real: Put, open_page: Open, page: str) -> None:
    """A metric that no engine exports has that word, in tiles and cells, and is never 0."""
    put_real(WrittenEngine("new", per_minute={"num_preemptions": 0.0}).tables)
    app = open_page(page, WRITTEN)
    shown = tiles(app)
    assert shown["Engine hit ratio"].value == say("reason.not_exported")
    if page == "live":
        assert shown["Preemptions"].value == "0 events"
        assert shown["KV usage, maximum"].value == say("reason.not_exported")
        (row,) = table(app, "Engine", "KV max")
        assert row["Hit ratio"] == row["KV max"] == say("reason.not_exported")
        assert row["Preemptions"] == "0"


def test_one_engine_that_exports_less_says_so(put_real: Put, open_page: Open) -> None:
    """An engine without a metric that its neighbour exports has no scrapes too few."""
    put_real(together(WrittenEngine.sound("full"), BROKEN))
    rows = {row["Engine"]: row for row in table(open_page("live", WRITTEN), "Engine", "KV max")}
    assert rows["full"]["Preemptions"] == "10"
    assert rows["bad"]["Preemptions"] == say("reason.not_exported")


def test_engines_of_one_pod_name_are_told_apart(put_real: Put, open_page: Open) -> None:
    """The same pod name in two clusters is two engines, each with a name and a row of its own."""
    put_real(
        together(
            WrittenEngine.sound("vllm-0", cluster="east"),
            WrittenEngine.sound("vllm-0", cluster="west"),
        )
    )
    app = open_page("hit_ratio", WRITTEN)
    names = [row["Name"] for row in tables(app)[1]]
    assert len(names) == len(set(names)) == 2
    assert len(charts(app)[-1].data[0].z) == 2


def test_no_traffic_is_not_zero(put_real: Put, open_page: Open) -> None:
    """Counters that stand still give no ratio, and the chart says the same."""
    quiet = {"prefix_cache_queries": 0.0, "prefix_cache_hits": 0.0, "prompt_tokens": 0.0}
    put_real(WrittenEngine("quiet", per_minute=quiet).tables)
    app = open_page("hit_ratio", WRITTEN)
    assert tiles(app)["Engine hit ratio"].value == say("reason.no_traffic")
    assert tiles(app)["Looked-up tokens"].value == "0 tokens"
    ratio = charts(app)[0]
    assert list(ratio.data[0].y) == [None] * MINUTES
    assert say("legend.quiet") in {trace.name for trace in ratio.data}


def test_single_scrapes_give_no_number(put_real: Put, open_page: Open) -> None:
    """One scrape has no neighbour: unknown with that reason, and hatched over the whole chart."""
    put_real(
        WrittenEngine("lone", per_minute={"prefix_cache_queries": 9.0}, scrapes=1).tables
        | {"exports": WrittenEngine.sound("lone").tables["exports"]}
    )
    app = open_page("hit_ratio", WRITTEN)
    assert tiles(app)["Engine hit ratio"].value == say("reason.too_few_scrapes")
    assert say("legend.unknown") in {trace.name for trace in charts(app)[0].data}


@pytest.mark.parametrize("page", NUMBERS)
def test_a_comparison_shows_points(open_demo: Open, page: str) -> None:
    """Against the period before, a ratio changes by percentage points and says against what."""
    words = tiles(open_demo(page, compare="previous"))["Engine hit ratio"].words
    assert f"pp {say('compare.against', period=say('compare.previous'))}" in words
    assert " pp " not in tiles(open_demo(page))["Engine hit ratio"].words


def test_a_comparison_without_a_past_shows_none(put_real: Put, open_page: Open) -> None:
    """No change is shown against a period that nobody observed."""
    put_real(WrittenEngine.sound("a").tables)
    tile = tiles(open_page("live", WRITTEN | {"compare": "week"}))["Engine hit ratio"]
    assert tile.value == "50.0 %"
    assert "pp" not in tile.words


@pytest.mark.parametrize("page", SOME)
def test_a_held_cache_names_its_holder(
    demo_home: Path, filled: Filled, open_page: Open, page: str
) -> None:
    """A cache that another process holds: its PID and what to do, and the page after it ended."""
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(demo_home / "cache.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        app = open_page(page, filled.window())
        (error,) = app.error
        said = error.value.replace("\\", "")
        assert str(holder.pid) in said
        assert "Another process owns the cache file" in said
        assert "PREFIXWATCH_DATA_DIR" in said
    finally:
        holder.communicate()
    ran(next(b for b in app.button if b.label == say("error.retry")).click().run())
    assert not app.error
    assert titles(app) == promised(page)


@pytest.mark.parametrize("page", EVERY)
def test_a_bad_setting_is_named(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """A setting that cannot be used is named with the rule it breaks, without its secrets."""
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", "ftp://user:hush@prometheus")
    (error,) = open_page(page).error
    said = error.value.replace("\\", "")
    assert "PREFIXWATCH_PROMETHEUS_URL must start with http:// or https://" in said
    assert "hush" not in said


def test_duplicates_missing_labels_and_skew_are_found(put_real: Put, open_page: Open) -> None:
    """Data health names doubled targets, missing labels and clocks that disagree."""
    tables = WrittenEngine.sound("a").tables
    tables["targets"].append(
        tables["targets"][0]
        | {"target_id": 7, "instance": "10.0.0.9:8000", "duplicate_of": "vllm 10.0.0.1:8000"}
    )
    tables["engines"][0]["namespace"] = None
    put_real(tables | source_row("following", checked=T0, clock_skew_s=-75.0))
    app = open_page("data_health", WRITTEN)
    assert [warning.value for warning in app.warning] == [
        say("health.duplicates", n=1),
        say("health.labels", names="namespace"),
        say("notice.skew", skew="75 s"),
    ]
    rows = table(app, "Engine", "Duplicate of")
    assert [row["Duplicate of"] for row in rows] == ["none", "vllm 10.0.0.1:8000"]
    assert {row["Namespace"] for row in rows} == {say("cell.unknown")}


def test_what_went_wrong_is_listed_newest_first(put_real: Put, open_page: Open) -> None:
    """Entries of the log come with level, detail and next step."""
    put_real(
        {
            "source_log": [
                {
                    "log_id": i,
                    "source": "prometheus",
                    "noted_at": at(T0 + i),
                    "level": "error",
                    "title": f"fault {i}",
                    "detail": "what was seen",
                    "next_step": "look there" if i else None,
                }
                for i in range(3)
            ]
        }
    )
    rows = table(open_page("data_health", WRITTEN), "Level", "What")
    assert [row["What"] for row in rows] == ["fault 2", "fault 1", "fault 0"]
    assert [row["Next step"] for row in rows] == ["look there", "look there", "none"]


def test_a_gone_engine_is_no_fresh_one(real_home: Path, open_page: Open) -> None:
    """An engine that left is told as gone, and does not count among those expected."""
    left = WrittenEngine.sound("left").tables
    left["targets"][0]["gone_at"] = at(T0 + 300)
    put(real_home, left)
    app = open_page("data_health", WRITTEN)
    assert "0 of 0 engines fresh" in text(app)
    assert table(app, "Engine", "Scrape")[0]["Scrape"].startswith("gone since")


@pytest.mark.parametrize("page", EVERY)
def test_a_cache_that_cannot_be_written_is_said(
    real_home: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """When merging fails, every page says that batches wait, and why."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.cache.store.Store.merge_waiting", full)
    running = runtime.running()
    deadline = time.monotonic() + 20
    while running.merge_trouble is None and time.monotonic() < deadline:
        time.sleep(0.05)
    app = open_page(page)
    assert any("No space left on device" in error.value for error in app.error)
    monkeypatch.undo()
    while running.merge_trouble is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running.merge_trouble is None
