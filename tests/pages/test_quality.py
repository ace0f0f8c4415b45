"""The Quality page in its own states: what is missing is said, what is chosen is in the link."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import T0, WRITTEN, WrittenEngine, put, source_row
from tests.pages.shown import bodies, chart_specs, charts, ran, table, tables, text, titles
from tests.pages.test_harmless import HOSTILE, TAGS, Tags
from tests.pages.written_requests import START, langfuse_row, observation, score
from tests.queries.written_quality import reversal

Put = Callable[..., None]
Row = dict[str, object]
STRATA = (say("col.incomplete"), say("col.evaluated"))
REQUESTS = (say("col.observation"), say("col.verdict"))


def verdict(of: str, passed: float | None, /, **more: object) -> Row:
    """A boolean score of one request by a keyword check; None: its evaluator failed."""
    status = "error" if passed is None else "ok"
    given = {"data_type": "BOOLEAN", "value": passed, "status": status, "evaluator": "found"}
    return score("found", "observation", of=of, **(given | {"evaluator_version": "1"} | more))


def graded(**more: object) -> dict[str, list[Row]]:
    """Four requests of four sessions: two pass, one fails, one has no record."""
    names = ("a", "b", "c", "d")
    cached = (200, 800, 800, 950)
    observations = [
        observation(name, session_id=f"s-{name}", cached_input=n, **more)
        for name, n in zip(names, cached, strict=True)
    ]
    scores = [verdict("a", 1.0), verdict("b", 1.0), verdict("c", 0.0)]
    return {"sources": [langfuse_row()], "observations": observations, "scores": scores}


@pytest.fixture
def put_langfuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Rows for an app that reads a Langfuse alone."""
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_SECRET_KEY", "sk")
    return lambda tables: put(tmp_path / "data" / "real", tables)


def strata(app: AppTest) -> dict[str, dict[str, str]]:
    """The table of groups, by group."""
    return {next(iter(row.values())): row for row in table(app, *STRATA)}


def test_without_a_request_source_it_says_how_to_connect_one(
    put_real: Put, open_page: Open
) -> None:
    """Engines alone give no quality: what would be here, why it is not, what to set."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("quality", WRITTEN)
    assert [info.value.replace("\\", "") for info in app.info] == [say("quality.not_connected")]
    assert titles(app) == [say("quality.coarse")]


def test_requests_without_a_score_say_so(put_langfuse: Put, open_page: Open) -> None:
    """Nobody scored anything: not 0 %, and what an evaluator has to do."""
    put_langfuse({"sources": [langfuse_row()], "observations": [observation("a")]})
    app = open_page("quality", WRITTEN)
    assert [info.value.replace("\\", "") for info in app.info] == [say("quality.no_scores")]
    assert charts(app) == []


@pytest.mark.usefixtures("put_langfuse")
def test_a_source_that_was_not_read_yet_is_awaited(open_page: Open) -> None:
    """Langfuse is configured and nothing read: the page says what will happen."""
    app = open_page("quality")
    assert say("notice.empty_requests") in [info.value.replace("\\", "") for info in app.info]


def test_langfuse_alone_fills_the_page(put_langfuse: Put, open_page: Open) -> None:
    """Five strata by their own words; the empty ones have a word, no number, and no 0 %."""
    put_langfuse(graded())
    app = open_page("quality", WRITTEN)
    shown = strata(app)
    assert list(shown) == [
        *(say(f"group.cached_ratio.{one}") for one in ("0", "(0,0.5]", "(0.5,0.9]", "(0.9,1]")),
        say("group.cached_ratio.unknown"),
        say("quality.all"),
    ]
    rate, none = say("col.pass_rate"), say("reason.no_traffic")
    assert shown[say("group.cached_ratio.0")][rate] == none
    assert shown[say("group.cached_ratio.0")][say("col.missing")] == none
    assert shown[say("group.cached_ratio.(0,0.5]")][rate] == "100.0 %"
    assert shown[say("group.cached_ratio.(0.9,1]")][rate] == say("reason.not_measured")
    assert shown[say("quality.all")][rate].startswith("66.7 % ")
    assert shown[say("quality.all")][say("col.missing")] == "25.0 %"
    assert say("quality.bounds", worst="50.0 %", best="75.0 %") in text(app)
    assert say("undefined.too_few_clusters") in text(app)


def test_a_dead_source_leaves_old_scores(put_langfuse: Put, open_page: Open) -> None:
    """Langfuse down: the next step stands above what was read before."""
    down = {"title": "It cannot be reached", "detail": "refused", "next_step": "Check it."}
    put_langfuse(graded() | {"sources": [langfuse_row(state="unavailable", **down)]})
    app = open_page("quality", WRITTEN)
    (warning,) = app.warning
    assert down["next_step"] in warning.value.replace("\\", "")
    assert strata(app)[say("quality.all")][say("col.requests")] == "4"


def test_what_a_score_measures_is_said(put_langfuse: Put, open_page: Open) -> None:
    """The kind by its well-known name, and what it is not."""
    given = graded()
    given["scores"] = [verdict("a", 1.0) | {"name": "contains_expected"}]
    put_langfuse(given)
    said = text(open_page("quality", WRITTEN))
    assert "This score is a keyword check: it says whether the answer contains expected" in said
    assert "It is not correctness" in said


def test_categories_without_pass_labels_say_what_to_set(put_langfuse: Put, open_page: Open) -> None:
    """No empty chart and no rate: which setting is lacking, and how many have a category."""
    given = graded()
    kind = {"data_type": "CATEGORICAL", "value": None, "label": "good"}
    about_session = score("grade", "session", of="s-a", **kind)
    given["scores"] = [*(one | kind for one in given["scores"]), about_session]
    put_langfuse(given)
    app = open_page("quality", WRITTEN)
    assert say("quality.no_pass_labels") in text(app)
    assert charts(app) == []
    total = strata(app)[say("quality.all")]
    assert (total[say("col.mean")], total[say("col.evaluated")]) == (
        say("quality.no_pass_mark"),
        "3",
    )
    (row,) = table(app, say("col.level_of"), say("col.evaluated"))
    assert (row[say("col.evaluated")], row[say("col.evaluator_errors")]) == ("1", "0")
    assert row[say("col.notes")] == say("flag.categories", n=1)


def test_without_sessions_independence_is_said(put_langfuse: Put, open_page: Open) -> None:
    """No session id anywhere: a sentence says what was assumed, and no session is counted."""
    given = graded()
    for row in given["observations"]:
        row["session_id"] = None
    put_langfuse(given)
    app = open_page("quality", WRITTEN)
    assert say("quality.independence") in text(app)
    (row,) = table(app, say("col.session_unknown"))
    assert (row[say("col.sessions")], row[say("col.session_unknown")]) == ("0", "100 %")


def test_a_link_restores_every_choice(put_langfuse: Put, open_page: Open) -> None:
    """Score, estimand, groups, filters and cell of a link are what is shown."""
    put_langfuse(graded(task_type="qa"))
    link = WRITTEN | {
        "estimand": "composite",
        "by": "task_type",
        "across": "model",
        "task": "qa",
        "cell": "qa",
    }
    app = open_page("quality", link)
    for name in ("estimand", "by", "across", "task", "cell"):
        assert app.selectbox(key=f"choice_{name}").value == link[name]
    assert app.query_params == link
    assert {row[REQUESTS[0]] for row in table(app, *REQUESTS)} == {"a", "b", "c", "d"}
    assert next(row[REQUESTS[1]] for row in table(app, *REQUESTS)) == say("verdict.fail")


def test_another_grouping_forgets_the_cell(put_langfuse: Put, open_page: Open) -> None:
    """A group of one dimension means nothing in another: it leaves the link."""
    put_langfuse(graded())
    app = open_page("quality", WRITTEN | {"cell": "(0.5,0.9]", "new": "(0.9,1]"})
    assert {row[REQUESTS[0]] for row in table(app, *REQUESTS)} == {"b", "c"}
    ran(app.selectbox(key="choice_by").select("arm").run())
    assert app.query_params == WRITTEN | {"by": "arm"}
    assert not app.warning


def test_what_a_link_asks_for_and_is_not_there_is_said(put_langfuse: Put, open_page: Open) -> None:
    """An unknown score or cell is named, and the usual one shown."""
    put_langfuse(graded())
    app = open_page("quality", WRITTEN | {"cell": "gone", "score": "gone"})
    assert sum("gone" in warning.value for warning in app.warning) == 2
    assert strata(app)


def test_a_comparison_is_ignored(put_langfuse: Put, open_page: Open) -> None:
    """Another period is no arm: the page shows the same with it."""
    put_langfuse(graded())
    plain = tables(open_page("quality", WRITTEN))
    assert tables(open_page("quality", WRITTEN | {"compare": "previous"})) == plain


def test_names_from_outside_are_harmless(put_langfuse: Put, open_page: Open) -> None:
    """Hostile score, version, evaluator, task type, template and arm stay text everywhere."""
    hostile = {"task_type": HOSTILE, "template_version": HOSTILE, "arm": HOSTILE, "model": HOSTILE}
    given = graded(**hostile)
    names = {"name": HOSTILE, "evaluator": HOSTILE, "evaluator_version": HOSTILE}
    given["scores"] = [verdict(of, 1.0) | names for of in "abcd"]
    given["scores"].append(score(HOSTILE, "session", of="s-a", evaluator=HOSTILE))
    put_langfuse(given)
    for by in ("arm", "task_type"):
        app = open_page("quality", WRITTEN | {"by": by, "across": "model", "cell": HOSTILE})
        assert any("&lt;script&gt;" in body for body in bodies(app))
        for body in bodies(app):
            assert Tags(body).tags <= TAGS
        assert any("&lt;script" in spec for spec in chart_specs(app))
        assert not [s for s in chart_specs(app) if "<script" in s or "\\u003cscript" in s]
        assert {row[REQUESTS[0]] for row in table(app, *REQUESTS)} == {"a", "b", "c", "d"}


def test_scores_by_preemption_meet_engines(put_real: Put, open_page: Open) -> None:
    """Engines and requests together: exposure rows 1, 0 and unknown, with what exposure is not."""
    engine = WrittenEngine("a", per_minute={"num_preemptions": 1.0})
    followed = source_row("following", checked=T0 + 900)["sources"]
    given = graded(pod="a", end_at=START + 2)
    put_real(engine.tables | given | {"sources": [*followed, langfuse_row()]})
    app = open_page("quality", WRITTEN | {"by": "preempt_window"})
    rows = strata(app)
    assert list(rows)[:3] == [say(f"group.preempt_window.{one}") for one in ("1", "0", "unknown")]
    assert rows[say("group.preempt_window.1")][say("col.requests")] == "4"
    assert say("quality.exposure") in text(app)


def test_a_reversal_is_told(put_langfuse: Put, open_page: Open) -> None:
    """Worse over all and better in each task type: crude beside standardised, and a sentence."""
    found = reversal()
    put_langfuse(
        {
            "sources": [langfuse_row()],
            "observations": [one for one, _ in found],
            "scores": [verdict(str(one["observation_id"]), passed) for one, passed in found],
        }
    )
    app = open_page("quality", WRITTEN)
    rows = {row[say("col.comparison")]: row for row in table(app, say("col.q"))}
    assert rows[say("contrast.crude")][say("col.difference")].startswith("−30.83 pp ")
    adjusted = rows[say("contrast.standardised", across="task type")]
    assert adjusted[say("col.difference")].startswith("+7.50 pp ")
    assert say("contrast.sign_change", across="task type") in text(app)
    (seen,) = table(app, say("col.next_check"))
    assert seen[say("col.observation_seen")] == say("observed.ratio_with_score")


def test_the_demo_weighs_judges_against_people(open_demo: Open) -> None:
    """Judges come first, and a margin on their scale stands for a larger one."""
    app = open_demo("quality")
    first = table(app, say("col.true_margin"))[0]
    assert "judge_helpfulness" in first[say("col.evaluator")]
    assert first[say("col.true_margin")].endswith(" pp")
    assert float(first[say("col.true_margin")].removesuffix(" pp")) > 2
    assert say("association.notice") in text(app)
