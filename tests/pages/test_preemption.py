"""The Preemption page in its own states: one side alone, a chosen window, words that warn."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core import runtime
from core.config import load_settings
from core.errors import ConfigError
from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import MINUTES, T0, WRITTEN, WrittenEngine, at, put, source_row, window
from tests.pages.shown import charts, ran, table, text, titles
from tests.pages.written_requests import langfuse_row, observation, score

Put = Callable[..., None]
BOTH = window(T0 - 240, T0 + MINUTES * 60)
"""Whole windows around what is written by hand."""
EXPOSURE = (say("col.exposure"), say("col.incomplete"))


def sources(*, langfuse: bool = True) -> dict[str, list[dict[str, object]]]:
    """How the sources stand."""
    rows = source_row("following", checked=T0 + 900, read_to=at(T0 + 900), clock_skew_s=0.5)
    return {"sources": [*rows["sources"], *([langfuse_row()] if langfuse else [])]}


def busy(pod: str = "a", **more: float) -> WrittenEngine:
    """An engine with one event a minute."""
    return WrittenEngine(pod, per_minute={"num_preemptions": 1.0, **more})


def test_engines_alone_show_windows_and_say_what_is_missing(put_real: Put, open_page: Open) -> None:
    """Without requests the strip is there, and where they would be stands how to connect them."""
    put_real(busy().tables | sources(langfuse=False))
    app = open_page("preemption", BOTH)
    assert len(charts(app)) == 3
    assert table(app, *EXPOSURE) == []
    assert say("preempt.requests_off") in text(app)
    assert app.selectbox(key="scope_model")
    assert "preempt_engine" not in {box.key for box in app.selectbox}
    (row,) = table(app, say("col.engine"), say("col.one"))
    assert (row[say("col.events")], row[say("col.one")]) == ("10", "3")


def test_requests_alone_are_all_unknown_and_say_why(
    tmp_path: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without engines every exposure is unknown; three rows stand there all the same."""
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_SECRET_KEY", "sk")
    put(
        tmp_path / "data" / "real",
        {"observations": [observation("r1", pod="a")], "sources": [langfuse_row()]},
    )
    app = open_page("preemption", BOTH)
    assert charts(app) == []
    rows = {row[say("col.exposure")]: row for row in table(app, *EXPOSURE)}
    assert list(rows) == ["1", "0", "unknown"]
    assert [row[say("col.requests")] for row in rows.values()] == ["0", "0", "1"]
    assert say("preempt.no_engines") in text(app)


def test_the_page_says_what_exposure_is_not(put_real: Put, open_page: Open) -> None:
    """Retrospective, association, levels, left-out rows, clocks and interval are told."""
    rows = [observation("r1", pod="a"), observation("r2", first_token_at=T0 + 134.0)]
    put_real(busy().tables | sources() | {"observations": rows})
    app = open_page("preemption", BOTH)
    said = text(app)
    assert say("preempt.what") in said
    assert say("preempt.retrospective") in said
    assert say("preempt.levels", n="2", engine="1", pod="0", pool="1") in said
    assert say("preempt.left_out", n="1") in said
    assert (
        say(
            "preempt.clocks",
            interval="15 s",
            engines="500 ms",
            requests="400 ms",
            tolerance="16 s",
        )
        in said
    )
    shown = {row[say("col.exposure")]: row for row in table(app, *EXPOSURE)}
    assert shown["1"][say("col.requests")] == "2"
    assert shown["0"][say("col.incomplete")] == say("reason.no_traffic")


def test_a_chosen_window_lists_its_requests_as_links(put_real: Put, open_page: Open) -> None:
    """Engine, then window: the newest of 1 comes first; each request leads to its own page."""
    rows = [observation("r1", pod="a"), observation("r2", pod="a", start=T0 + 500.0)]
    put_real(busy().tables | sources() | {"observations": rows})
    app = open_page("preemption", BOTH)
    engine = app.selectbox(key="preempt_engine")
    assert engine.value is None
    ran(engine.select_index(0).run())
    (row,) = table(app, say("col.observation"), say("col.attribution"))
    assert row[say("col.observation")] == "r2"
    ran(app.selectbox(key="preempt_window").select_index(1).run())
    (row,) = table(app, say("col.observation"), say("col.attribution"))
    assert row[say("col.observation")] == "r1"
    (link,) = [h.value for h in app.html if "request?id=r1" in h.value]
    assert 'target="_self"' in link


def test_scores_stand_apart_with_no_interval_yet(put_real: Put, open_page: Open) -> None:
    """Three rows a score, with n and sessions, and the sentence that no interval is given."""
    put_real(
        busy().tables
        | sources()
        | {
            "observations": [observation("r1", pod="a")],
            "scores": [score("help", "observation", of="r1")],
        }
    )
    app = open_page("preemption", BOTH)
    rows = table(app, say("col.score_value"))
    assert [row[say("col.exposure")] for row in rows] == ["1", "0", "unknown"]
    assert rows[0][say("col.score_value")] == "0.75"
    assert (rows[0][say("col.scored")], rows[0][say("col.sessions")]) == ("1", "1")
    assert rows[1][say("col.score_value")] == say("reason.not_measured")
    assert say("preempt.quality_note") in text(app)


def test_an_engine_without_the_counter_is_unknown(put_real: Put, open_page: Open) -> None:
    """No counter: its windows are unknown, and the page names the metric."""
    put_real(WrittenEngine("a", per_minute={"prompt_tokens": 1.0}).tables | sources())
    app = open_page("preemption", BOTH)
    assert say("preempt.no_counter") in text(app)
    (row,) = table(app, say("col.engine"), say("col.one"))
    assert (row[say("col.one")], row[say("col.zero")]) == ("0", "0")
    assert row[say("col.events")] == say("reason.not_exported")
    assert say("preempt.silent", names="a") in text(app)


def test_the_histogram_by_engine_where_it_is_exported(put_real: Put, open_page: Open) -> None:
    """An old engine says not exported beside a new one; the sum's line is of the new one."""
    new = WrittenEngine(
        "new", per_minute={"num_preemptions": 1.0, "request_num_preemptions": 2.0}
    ).tables
    parts = {"_count": 2.0, "_sum": 1.0}
    (series,) = [s for s in new["series"] if s["instrument"] == "request_num_preemptions"]
    cells = [c for c in new["counter_cells"] if c["series_id"] == series["series_id"]]
    new["series"].remove(series)
    new["counter_cells"] = [c for c in new["counter_cells"] if c not in cells]
    for i, (part, increase) in enumerate(parts.items()):
        ids = {"series_id": series["series_id"] + 1 + i}
        new["series"].append(series | ids | {"instrument": series["instrument"] + part})
        new["counter_cells"] += [c | ids | {"increase": increase} for c in cells]
    for i, edge in enumerate((1.0, 2.0, float("inf"))):
        ids = {"series_id": series["series_id"] + 10 + i}
        new["series"].append(series | ids | {"le": edge})
        if edge == 1.0:
            new["bucket_cells"] = [
                {**ids, "minute": c["minute"], "increase": 2.0, "duplicate": False} for c in cells
            ]
    put_real({k: [*v, *busy("old").tables.get(k, [])] for k, v in new.items()} | sources())
    rows = {
        row[say("col.engine")]: row
        for row in table(open_page("preemption", BOTH), say("col.two_or_more"))
    }
    assert rows["new"][say("col.finished")] == "20"
    assert rows["new"][say("col.mean_preemptions")] == "0.5"
    assert rows["new"][say("col.two_or_more")] == "0"
    assert rows["new"][say("col.exactly_one")] == "10"
    assert rows["old"][say("col.mean_preemptions")] == say("reason.not_exported")
    assert rows[say("preempt.all")][say("col.finished")] == "20"


def test_the_length_of_a_window_is_a_setting(
    put_real: Put, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows of two minutes on this page and on the Request page."""
    monkeypatch.setenv("PREFIXWATCH_PREEMPT_WINDOW_S", "120")
    put_real(busy().tables | sources() | {"observations": [observation("r1", pod="a")]})
    app = open_page("preemption", WRITTEN)
    (row,) = table(app, say("col.engine"), say("col.one"))
    assert row[say("col.one")] == "5"
    note = say("preempt.strip_note", window="2 min", windows=say("preempt.one_window"))
    assert note in text(app)
    app = open_page("request", WRITTEN | {"id": "r1"})
    assert say("exposure.rule", window="2 min", tolerance="16 s") in text(app)


@pytest.mark.parametrize("value", ["0", "90", "-300", "59", "7200", "five", "300.5"])
def test_a_length_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Whole minutes, at least one and at most an hour; anything else is named."""
    monkeypatch.setenv("PREFIXWATCH_PREEMPT_WINDOW_S", value)
    with pytest.raises(ConfigError, match="preempt_window_s"):
        load_settings()


def test_a_window_too_short_for_its_scrapes_warns(
    put_real: Put, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scrapes every 30 s and windows of a minute: the setting to change is named."""
    monkeypatch.setenv("PREFIXWATCH_PREEMPT_WINDOW_S", "60")
    tables = busy().tables
    tables["targets"][0]["scrape_interval_s"] = 30.0
    put_real(tables | sources())
    app = open_page("preemption", BOTH)
    assert any("PREFIXWATCH_PREEMPT_WINDOW_S" in warning.value for warning in app.warning)
    assert runtime.running().settings.preempt_window_s == 60
    assert titles(app)[0] == say("preempt.strip")
