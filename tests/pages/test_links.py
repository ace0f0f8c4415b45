"""The scope in the URL: a link shows what it was copied from, and harms nothing."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.scope import MOST_BINS
from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import T0, Filled, WrittenEngine, window
from tests.pages.shown import charts, plain, ran, table, text, tiles

PAGES = (
    *("live", "hit_ratio", "cached_prefill", "kv_residency", "preemption", "quality"),
    "data_health",
)


def models(app: AppTest) -> set[str]:
    """Models in the table of engines on the Hit ratio page."""
    return {row["Model"] for row in table(app, "Name", "Model")}


def test_a_link_restores_every_part(open_demo: Open, filled: Filled) -> None:
    """Labels, period and comparison of a link are what the widgets and the numbers show."""
    link = {
        "cluster": "demo-seoul",
        "namespace": "chat",
        "model": "qwen3-32b",
        "pod": "qwen3-32b-1",
        "engine": "0",
        "compare": "previous",
    }
    app = open_demo("hit_ratio", **link)
    for name, value in link.items():
        assert app.selectbox(key=f"scope_{name}").value == value
    assert app.selectbox(key="scope_range").value == "fixed"
    assert (
        app.datetime_input(key="scope_from").value.strftime("%Y-%m-%dT%H:%MZ")
        == (filled.window()["from"])
    )
    assert [row["Name"] for row in table(app, "Name", "Restarts")] == ["qwen3-32b"]
    assert "1 of 1 engines" in tiles(app)["Engine hit ratio"].words
    assert app.query_params == filled.window() | link


def test_a_choice_is_written_to_the_url(open_demo: Open, filled: Filled) -> None:
    """Choosing a model narrows the page and writes the link; `all` takes it out again."""
    app = open_demo("hit_ratio")
    assert len(models(app)) == 3
    ran(app.selectbox(key="scope_model").select("gpt-oss-120b").run())
    assert app.query_params == filled.window() | {"model": "gpt-oss-120b"}
    assert models(app) == {"gpt-oss-120b"}
    ran(app.selectbox(key="scope_model").select("").run())
    assert app.query_params == filled.window()
    assert len(models(app)) == 3


def test_choices_fit_each_other(open_demo: Open) -> None:
    """The bar offers only what exists under the labels already chosen."""
    app = open_demo("live", namespace="agents")
    assert app.selectbox(key="scope_model").options == ["all", "gpt-oss-120b", "llama-4-scout"]
    assert "qwen3-32b-0" not in app.selectbox(key="scope_pod").options


def test_a_range_replaces_a_fixed_period_and_back(open_demo: Open) -> None:
    """A range ends the fixed period; `fixed period` freezes what the range shows now."""
    app = open_demo("live")
    ran(app.selectbox(key="scope_range").select("3h").run())
    assert app.query_params == {"range": "3h"}
    assert len(app.datetime_input) == 1
    ran(app.selectbox(key="scope_range").select("fixed").run())
    assert set(app.query_params) == {"from", "to"}
    assert app.datetime_input(key="scope_to").value is not None


def test_a_fixed_period_can_be_moved(open_demo: Open, filled: Filled) -> None:
    """Another start is written to the URL; one after the end changes nothing."""
    app = open_demo("live")
    start = app.datetime_input(key="scope_from")
    end = app.datetime_input(key="scope_to").value
    ran(start.set_value(end.replace(minute=0) - (end - start.value) / 2).run())
    moved = dict(app.query_params)
    assert moved["to"] == filled.window()["to"]
    assert moved["from"] > filled.window()["from"]
    ran(app.datetime_input(key="scope_from").set_value(end.replace(year=end.year + 1)).run())
    assert app.query_params == moved


def test_the_scope_survives_a_page_link(open_demo: Open, filled: Filled) -> None:
    """A page link drops the parameters; the session puts the last ones back into the URL."""
    app = open_demo("live", model="gpt-oss-120b")
    app.query_params.clear()
    ran(app.switch_page("pages/hit_ratio.py").run())
    assert app.query_params == filled.window() | {"model": "gpt-oss-120b"}
    assert models(app) == {"gpt-oss-120b"}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"range": "2h"}, "range"),
        ({"compare": "yesterday"}, "compare"),
        ({"from": "monday", "to": "2026-09-21T14:14Z"}, "from/to"),
        ({"from": "2026-09-21T14:14Z"}, "from/to"),
        ({"from": "2026-09-21T14:14Z", "to": "2026-09-21T14:14Z"}, "from/to"),
        ({"range": "'; drop table engines; --", "compare": "<b>"}, "range, compare"),
    ],
)
def test_what_cannot_be_read_is_named(
    real_home: object, open_page: Open, query: dict[str, str], named: str
) -> None:
    """A bad part of a link is named, and the page shows the default instead."""
    app = open_page("live", query)
    assert say("scope.wrong", names=named) in [warning.value for warning in app.warning]
    assert app.selectbox(key="scope_range").value == "1h"
    assert not app.error


def test_unknown_parameters_change_nothing(open_demo: Open) -> None:
    """Parameters that are none of ours are ignored."""
    app = open_demo("live", theme="dark", embed="true", utm_source="mail")
    assert not app.error
    assert "of 9 engines fresh" in text(app)


HOSTILE = "'; drop table engines; -- \"{}[]$1 ${x} {{x}} <img src=x onerror=alert(1)>"


@pytest.mark.parametrize("page", PAGES)
def test_a_hostile_label_in_a_link_is_only_text(open_demo: Open, page: str) -> None:
    """A label from a link reaches queries and the page as a value, whatever it holds."""
    app = open_demo(page, pod=HOSTILE)
    assert app.selectbox(key="scope_pod").value == HOSTILE
    assert not any("<img" in html.value for html in app.html)
    assert len(open_demo(page, pod="qwen3-32b-0").error) == 0


def test_a_period_in_another_zone_is_the_same_period(open_page: Open, demo_home: object) -> None:
    """An offset in the link is honoured; the bar and the URL go on in UTC."""
    app = open_page("live", {"from": "2026-09-21T23:14+09:00", "to": "2026-09-21T23:24+09:00"})
    assert app.datetime_input(key="scope_from").value.strftime("%H:%M") == "14:14"
    assert window(T0, T0 + 600) == {"from": "2026-09-21T14:14Z", "to": "2026-09-21T14:24Z"}


@pytest.mark.parametrize(
    "query",
    [
        {"from": "9999-12-31T23:00Z", "to": "9999-12-31T23:59:30Z"},
        {"from": "0001-01-01T00:00+14:00", "to": "0001-01-02T00:00Z"},
        {"from": "0001-01-02T00:00Z", "to": "0001-01-03T00:00Z"},
    ],
)
def test_the_ends_of_the_calendar_are_no_traceback(
    open_page: Open, demo_home: object, query: dict[str, str]
) -> None:
    """A period at the edge of what a date can hold is refused or empty, not a crash."""
    app = open_page("live", query)
    assert app.warning or app.info


def test_a_very_long_period_costs_no_more(put_real: Callable[..., None], open_page: Open) -> None:
    """However long the period of a link, a chart has a few hundred bins, or it is refused."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("hit_ratio", {"from": "2026-01-01T00:00Z", "to": "2030-01-01T00:00Z"})
    assert all(len(figure.data[0].x) <= 2 * MOST_BINS for figure in charts(app))


def test_a_reader_sees_their_own_zone(open_demo: Open) -> None:
    """Times are in the browser's zone, named once; the URL stays in UTC."""
    app = open_demo("live")
    assert "(UTC), whole minutes" in text(app)
    app.context["timezone"] = "Asia/Seoul"
    ran(app.run())
    assert "(Asia/Seoul), whole minutes" in text(app)
    app.context["timezone"] = "Not/AZone"
    ran(app.run())
    assert "(UTC), whole minutes" in text(app)
    assert plain("<b>a</b>&amp;") == "a &"
