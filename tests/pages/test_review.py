"""The Review page: which period it shows, that it is the document, and what it hands out."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.experiments.plan import ExperimentPlan
from core.messages import say
from tests.domain.experiments.plans import plan
from tests.pages.conftest import Open
from tests.pages.homes import WRITTEN, WrittenEngine
from tests.pages.shown import bodies, chart_specs, ran, table, tables, text, titles
from tests.pages.test_harmless import TAGS, Tags
from tests.queries.test_experiment_view import ONE_LOOK, sides
from tests.queries.written_experiments import NAME, Trial
from tests.report.written import FORMULA, HOSTILE, hostile_tables

Put = Callable[..., None]


def chosen(app: AppTest) -> dict[str, str]:
    """What the boxes of the review show."""
    return {str(box.key): str(box.value) for box in app.selectbox if "choice_" in str(box.key)}


def choose(app: AppTest, name: str, value: str) -> AppTest:
    """Pick an option of one of them."""
    return ran(app.selectbox(key=f"choice_{name}").select(value).run())


def test_a_review_is_of_a_week_unless_the_scope_says_more(put_real: Put, open_page: Open) -> None:
    """Without a range the last 7 days against those before; a range in the link is taken."""
    put_real(WrittenEngine.sound("a").tables)
    assert chosen(open_page("review"))["choice_period"] == "7d"
    assert "whole hours" in text(open_page("review"))
    app = open_page("review", WRITTEN | {"compare": "week"})
    assert chosen(app) == {
        "choice_experiment": "",
        "choice_period": "scope",
        "choice_against": "week",
    }
    assert "50.0 %" in {row["This period"] for row in table(app, "Metric", "This period")}


def test_choices_are_in_the_link(put_real: Put, open_page: Open) -> None:
    """Another period and comparison are written into the URL, and shown."""
    put_real(WrittenEngine.sound("a").tables)
    app = choose(open_page("review"), "period", "1d")
    app = choose(app, "against", "week")
    assert app.query_params["period"] == "1d"
    assert app.query_params["against"] == "week"
    assert say("compare.week") in text(app)


def test_files_are_handed_out(put_real: Put, open_page: Open) -> None:
    """One button a format, beside the CSV button of every table."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("review", WRITTEN)
    labels = [button.label for button in app.download_button]
    assert labels[:3] == [say(f"review.download.{form}") for form in ("html", "md", "csv")]
    assert labels[3:] == [say("table.csv")] * len(tables(app))


def test_unknown_is_hatched_and_no_number(put_real: Put, open_page: Open) -> None:
    """What nobody saw before is hatched with its reason, and its change is none."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("review", WRITTEN)
    row = next(r for r in table(app, "Metric", "Before") if r["Metric"] == "Engine hit ratio")
    assert row["Before"] == say("reason.too_few_scrapes")
    assert row["Difference"] == say("review.no_change")
    body = next(b for b in bodies(app) if "Engine hit ratio" in b)
    assert f'<span class="pw-hatch">{say("review.no_change")}</span>' in body


def test_everything_from_outside_is_escaped(put_real: Put, open_page: Open) -> None:
    """Names, changes, errors and scores of bad intent are text, on the page and in its charts."""
    put_real(hostile_tables())
    app = open_page("review", WRITTEN)
    html = bodies(app)
    assert any("&lt;script&gt;" in body for body in html)
    for body in html:
        assert Tags(body).tags <= TAGS
        assert Tags(body).attributes <= {"class", "style", "title", "href", "target", "rel"}
    shown = {cell for rows in tables(app) for row in rows for cell in row.values()}
    assert HOSTILE in shown
    assert FORMULA in shown
    specs = chart_specs(app)
    assert any("&lt;script" in spec for spec in specs)
    assert not [spec for spec in specs if "<script" in spec or "\\u003cscript" in spec]


@pytest.fixture
def registered(real_home: Path) -> ExperimentPlan:
    """An experiment in the cache of the app, before it starts."""
    trial = Trial(real_home)
    one = plan(**ONE_LOOK, title=HOSTILE, margin=0.06)
    trial.registered(one).arms(*sides())
    trial.store.close()
    return one


def test_an_experiment_is_chosen_and_shown(registered: ExperimentPlan, open_page: Open) -> None:
    """Chosen in the box it is in the link; gate, looks, plan and restore procedure are shown."""
    app = choose(open_page("review", {"period": "1d"}), "experiment", NAME)
    assert app.query_params["experiment"] == NAME
    expected = ("experiments.efficiency", "experiments.gate", "decisions.title", "looks.title")
    assert titles(app)[1:5] == [say(key) for key in expected]
    parts = {row[say("plan.part")]: row for row in table(app, say("plan.part"))}
    restore = parts[say("plan.restore_procedure")]
    assert restore[say("plan.planned")] == registered.restore_procedure
    assert say("review.experiment_document", title=HOSTILE) in text(app)
    assert len(chart_specs(app)) == 1


def test_an_experiment_that_is_not_there_is_said(put_real: Put, open_page: Open) -> None:
    """A link to an unknown experiment names it and shows no document in its place."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("review", {"experiment": "nope"})
    said = [one.value.replace("\\", "") for one in app.info]
    assert said == [say("review.no_experiment", name="nope")]
    assert not app.download_button
