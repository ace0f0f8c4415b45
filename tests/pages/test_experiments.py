"""The Experiments page: what it says in every state, and what a person enters there."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import runtime
from core.domain.experiments.arms import Arms, ByAttribute, Dimension
from core.domain.experiments.plan import ExperimentPlan, PerArm
from core.domain.experiments.rules import Side
from core.messages import say
from tests.domain.experiments.plans import DAY, PERIOD, START, plan
from tests.pages.conftest import Open
from tests.pages.homes import at, source_row
from tests.pages.shown import bodies, chart_specs, charts, ran, table, text, titles
from tests.pages.test_harmless import HOSTILE, TAGS, Tags
from tests.pages.written_requests import langfuse_row
from tests.queries.test_experiment_view import ONE_LOOK, sides
from tests.queries.written_experiments import NAME, Arm, Trial, lever

ASKED = {"experiment": NAME}
ALLOWED = TAGS | {"b"}
Written = Callable[[Trial], object]


@pytest.fixture
def write(real_home: Path) -> Callable[[Written], None]:
    """Put an experiment into the cache of the app, before it starts."""

    def writes(written: Written) -> None:
        trial = Trial(real_home)
        trial.put({"sources": [langfuse_row(read_to=at(time.time()))]})
        written(trial)
        trial.store.close()

    return writes


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app that merges nothing by itself."""
    monkeypatch.setattr(runtime.Runtime, "_merge_forever", lambda _: None)


def merge() -> None:
    """What the app does twice a second."""
    owner = runtime.running()
    owner.store.merge_waiting(owner.inbox)


def press(app: AppTest, key: str, **values: object) -> AppTest:
    """Press a button by its words."""
    found = next(b for b in app.button if b.label == say(key, **values))
    return ran(found.click().run())


def enter(app: AppTest, key: str, value: str) -> None:
    """Fill in a text field by its key."""
    fields = [*app.text_input, *app.text_area]
    next(f for f in fields if f.key == key).input(value)


def verdict(app: AppTest) -> str:
    """The large words of the verdict."""
    return next(body for body in bodies(app) if "pw-verdict" in body)


def states(app: AppTest) -> dict[str, str]:
    """State of each rule of the plan that the page shows."""
    rows = table(app, say("plan_rules.rule"), say("plan_rules.state"))
    return {row[say("plan_rules.rule")]: row[say("plan_rules.state")] for row in rows}


def passing(trial: Trial) -> None:
    """An experiment whose last look is due, with equal arms."""
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides())


def test_an_empty_page_says_how_to_start(real_home: Path, open_page: Open) -> None:
    """Without a plan: what would be here, and the form to make one."""
    del real_home
    app = open_page("experiments")
    assert say("experiments.empty") in [one.value.replace("\\", "") for one in app.info]
    assert say("plan.make") in [one.label for one in app.expander]
    assert titles(app) == [say("experiments.all")]


def test_a_page_shows_all_it_promises(write: Any, open_page: Open) -> None:
    """Verdict in words, efficiency beside the gate, plan, versions, looks, decisions, levers."""
    write(lambda trial: (passing(trial), trial.put(lever(START + 60, "prompt_order", 1))))
    app = open_page("experiments", ASKED)
    assert say("outcome.non_inferior") in verdict(app)
    assert say("standing.due", n=1, all=1) in verdict(app)
    shown = [
        *("experiments.efficiency", "experiments.gate", "looks.take", "decisions.take"),
        *("looks.title", "decisions.title", "plan.card", "plan.versions", "experiments.changes"),
        *("experiments.notes", "experiments.all"),
    ]
    assert titles(app) == [say(key) for key in shown]
    rows = {row["Figure"]: row for row in table(app, "Figure", "New minus baseline")}
    assert rows["Gateway cached share"]["Baseline"] == "80.0 %"
    assert rows[say("experiments.planned_metric", name="Engine hit ratio")]["New"] == say(
        "experiments.shared"
    )
    assert say("efficiency.unchanged") in text(app)
    assert say("cannot_exclude.shared_engines") in text(app)
    (figure,) = charts(app)
    assert {shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1} == {0.0, -0.06}
    assert table(app, say("plan.part"), say("plan.planned"))


def test_between_looks_the_page_has_no_verdict(write: Any, open_page: Open) -> None:
    """An estimate, and in words that this is not a decision look."""
    far = PerArm(new=10**6, base=10**6)
    period = PERIOD.model_copy(update={"end": START + 2000 * DAY})
    write(lambda trial: trial.registered(plan(planned_clusters=far, period=period)).arms(*sides()))
    app = open_page("experiments", ASKED)
    assert say("outcome.none") in verdict(app)
    assert say("gate.not_decision") in text(app)
    assert say("looks.record_unplanned") in [b.label for b in app.button]


def test_holds_and_marks_are_in_words(write: Any, open_page: Open) -> None:
    """A late plan, edited, with few sessions: every reason and both marks are there."""

    def late(trial: Trial) -> None:
        trial.arms(Arm("control"), Arm("compact", sessions=19))
        trial.registered(plan(**ONE_LOOK), when=START + DAY)
        trial.registered(plan(**ONE_LOOK, margin=0.9), when=START + 2 * DAY)

    write(late)
    app = open_page("experiments", ASKED)
    assert say("outcome.hold") in verdict(app)
    said = text(app).replace("\\", "")
    assert say("gate.told", verdict=say("outcome.non_inferior")) in said
    assert say("marks.after_data_long") in said
    assert say("marks.edited_long", n=2) in said
    assert say("evidence.too_few_clusters") in said
    assert say("experiments.against", value="19", limit="20") in said
    versions = table(app, say("plan.version"), say("plan.marks"))
    assert [row[say("plan.version")] for row in versions] == ["1", "2"]
    (listed,) = table(app, say("experiments.last_verdict"))
    assert say("marks.late") in listed[say("plan.registered")]
    assert say("marks.edited") in versions[1][say("plan.marks")]


def test_a_regression_shows_rules_and_evidence(write: Any, open_page: Open) -> None:
    """The plan's stop and rollback rules, failing requests of the new arm, and the Quality page."""
    write(lambda trial: trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides(new=60)))
    app = open_page("experiments", ASKED)
    assert say("outcome.regression") in verdict(app)
    (stop,), (back,) = plan().stop_rules, plan().rollback_rules
    assert states(app) == {stop: say("rule_state.met"), back: say("rule_state.person")}
    assert say("plan_rules.restore", how=plan().restore_procedure) in text(app)
    assert not app.warning
    failing = table(app, say("col.observation"), say("col.session"))
    assert failing
    assert all(row[say("col.observation")].startswith("compact-") for row in failing)
    links = "".join(bodies(app))
    assert 'href="quality?' in links
    assert "arm=compact" in links
    assert 'href="request?id=compact-' in links


def test_a_met_rule_stands_above_everything(write: Any, open_page: Open) -> None:
    """Without a regression: the rules by their states, and the met one first, with the way back."""
    met, other = (
        "gateway cached share, difference, below -5 pp",
        "incomplete rate, new arm, above 1 %",
    )
    base, new = sides()
    worse = replace(new, more={"cached_input": 700})

    def written(trial: Trial) -> None:
        one = plan(**ONE_LOOK, margin=0.06, stop_rules=(met, other))
        trial.registered(one).arms(base, worse)

    write(written)
    app = open_page("experiments", ASKED)
    assert say("outcome.non_inferior") in verdict(app)
    assert states(app) == {
        met: say("rule_state.met"),
        other: say("rule_state.not_met"),
        plan().rollback_rules[0]: say("rule_state.person"),
    }
    (warning,) = (one.value.replace("\\", "") for one in app.warning)
    assert f"{met}: −10.00 pp" in warning
    assert plan().restore_procedure in warning
    assert say("regression.title") not in titles(app)


def test_a_plan_without_measured_rules_shows_none(write: Any, open_page: Open) -> None:
    """What an old plan says in its own words is in the plan, and judged nowhere."""
    write(passing)
    app = open_page("experiments", ASKED)
    assert states(app) == {}
    assert say("plan_rules.title") not in titles(app)


def build_rule(app: AppTest, target: str, threshold: float | None, **chosen: str) -> None:
    """Fill in the fields of a rule and press one of their buttons."""
    for name, value in chosen.items():
        app.selectbox(key=f"rule_{name}").select(value)
    next(n for n in app.number_input if n.key == "rule_threshold").set_value(threshold)
    press(app, f"plan_rules.{target}")


def field(app: AppTest, name: str) -> str:
    """What a text of the plan's form holds."""
    return str(next(f for f in app.text_area if f.key == f"plan_field_{name}").value)


def test_a_measured_rule_is_written_by_its_fields(real_home: Path, open_page: Open) -> None:
    """The line is added below what was typed, once, to the rules of the button pressed."""
    del real_home
    app = open_page("experiments")
    enter(app, "plan_field_stop_rules", "reports from users")
    build_rule(app, "to_stop", 2.0, side=Side.DIFFERENCE)
    build_rule(app, "to_stop", 2.0)
    line = "incomplete rate, difference, above 2 pp"
    assert field(app, "stop_rules") == f"reports from users\n{line}"
    build_rule(
        app, "to_rollback", 0.45, figure="arm_first_token_p95", side=Side.NEW, direction="below"
    )
    assert field(app, "rollback_rules") == "time to first token p95, new arm, below 0.45 s"
    assert field(app, "stop_rules") == f"reports from users\n{line}"


def test_a_rule_without_a_sound_threshold_is_not_written(real_home: Path, open_page: Open) -> None:
    """What is missing or out of range is said, and no line is added."""
    del real_home
    app = open_page("experiments")
    build_rule(app, "to_stop", None)
    assert any(say("plan_rules.no_threshold") in one.value for one in app.markdown)
    build_rule(app, "to_stop", 120.0, side=Side.NEW)
    assert any("100" in one.value for one in app.markdown if ":material/error:" in one.value)
    assert field(app, "stop_rules") == ""


def test_a_check_says_who_judges_each_rule(write: Any, open_page: Open) -> None:
    """Measured, by the verdict, for a person; and a line that is nearly in the form."""
    write(lambda trial: trial.arms(*sides()))
    stop = ("incomplete rate, difference, above 2 pp", "regression")
    rollback = ("reports from users", "incomplete rate two points up")
    app = paste(open_page("experiments"), plan(stop_rules=stop, rollback_rules=rollback))
    rows = table(app, say("plan.severity"), say("plan.finding"))
    found = {row[say("plan.finding")]: row for row in rows}
    kinds = ("rule_measured", "rule_of_verdict", "rule_of_person", "rule_misread")
    for kind, rule in zip(kinds, (*stop, *rollback), strict=True):
        assert found[say(f"check.{kind}")][say("plan.of")].startswith(rule)
    assert found[say("check.rule_misread")][say("plan.severity")] == say("severity.warning")


def test_no_requests_yet(write: Any, open_page: Open) -> None:
    """A plan whose arms have no request: unknown in words, held, never a zero difference."""
    write(lambda trial: trial.registered(plan(**ONE_LOOK)))
    app = open_page("experiments", ASKED)
    assert say("outcome.hold") in verdict(app)
    assert say("evidence.no_evaluated_records") in text(app)
    rows = table(app, "Figure", "New minus baseline")
    nothing = {say("experiments.no_delta"), say("experiments.not_separable")}
    assert {row["New minus baseline"] for row in rows} == nothing
    assert rows[0]["New"] == say("reason.no_traffic")


def test_a_source_that_is_down(write: Any, open_page: Open) -> None:
    """The page works on, and says which source fails."""
    down = source_row("failing", checked=START, title="No answer", detail="x", next_step="y")
    write(lambda trial: (passing(trial), trial.put(down)))
    app = open_page("experiments", ASKED)
    assert say("outcome.non_inferior") in verdict(app)
    assert any("No answer" in warning.value for warning in app.warning)


def test_half_read_data_say_so(write: Any, open_page: Open) -> None:
    """While history is still being read, no look should be taken, and the page says it."""
    half = {"sources": [langfuse_row(state="backfilling", progress=0.4)]}
    write(lambda trial: (passing(trial), trial.put(half)))
    app = open_page("experiments", ASKED)
    assert say("experiments.reading") in [one.value.replace("\\", "") for one in app.warning]


def test_an_experiment_that_is_not_there(write: Any, open_page: Open) -> None:
    """A link to an experiment nobody registered says so."""
    write(passing)
    app = open_page("experiments", {"experiment": "elsewhere"})
    assert any("elsewhere" in warning.value for warning in app.warning)


def hostile(trial: Trial) -> None:
    """Every text a person or a sender can write is hostile."""
    arms = Arms(split=ByAttribute(dimension=Dimension.ARM, base=f"a{HOSTILE}", new=f"b{HOSTILE}"))
    made = plan(
        **ONE_LOOK,
        arms=arms,
        title=HOSTILE,
        path=HOSTILE,
        promote_rules=(HOSTILE,),
        stop_rules=(HOSTILE,),
        rollback_rules=(HOSTILE,),
        previous_settings=HOSTILE,
        restore_procedure=HOSTILE,
        author=HOSTILE,
        revisions={HOSTILE: HOSTILE},
    )
    trial.registered(made)
    trial.arms(
        Arm(f"a{HOSTILE}", passes=lambda *_: True), Arm(f"b{HOSTILE}", passes=lambda *_: False)
    )
    trial.put(lever(START + 60, "kv_dtype", 1, what=HOSTILE, by_whom=HOSTILE, link=HOSTILE))


def test_hostile_texts_stay_text(write: Any, open_page: Open) -> None:
    """Titles, arms, rules and names are text in every table, notice, list and chart."""
    write(hostile)
    app = open_page("experiments", ASKED)
    assert say("outcome.hold") in verdict(app)
    for body in bodies(app):
        found = Tags(body)
        assert found.tags <= ALLOWED, body
        assert found.attributes <= {"class", "style", "href", "target", "rel"}
    assert not any("<script" in spec for spec in chart_specs(app))
    notices = [e.value for kind in (app.error, app.warning, app.info, app.caption) for e in kind]
    assert not any("<script" in notice.replace("\\<", "") for notice in notices)
    assert text(app).count("<script>alert(1)</script>") > 10


@pytest.mark.usefixtures("by_hand")
def test_a_look_is_recorded_by_name(write: Any, open_page: Open) -> None:
    """The button needs a name, writes through the inbox, and the log shows what was known."""
    write(passing)
    app = open_page("experiments", ASKED)
    press(app, "looks.record", n=1)
    assert any("taken_by" in error.value.replace("\\", "") for error in app.error)
    enter(app, "look_by", "Jun")
    press(app, "looks.record", n=1)
    assert [one.value.replace("\\", "") for one in app.success] == [say("looks.recorded")]
    assert table(app, say("looks.number"), say("looks.level")) == []
    merge()
    ran(app.run())
    (row,) = table(app, say("looks.number"), say("looks.level"))
    assert row[say("looks.number")] == say("looks.of", n=1, all=1)
    assert row[say("col.verdict")] == say("outcome.non_inferior")
    assert say("looks.record_unplanned") in [b.label for b in app.button]
    assert "Jun" in verdict(app)


@pytest.mark.usefixtures("by_hand")
def test_an_override_needs_a_reason_and_says_so(write: Any, open_page: Open) -> None:
    """To promote without a look is refused without a reason, and marked with one."""
    write(passing)
    app = open_page("experiments", ASKED)
    app.selectbox(key="decision_what").select("promote")
    enter(app, "decision_by", "Lee")
    press(app, "decisions.record")
    assert any("override" in error.value for error in app.error)
    enter(app, "decision_reason", "the customer waits")
    press(app, "decisions.record")
    assert [one.value.replace("\\", "") for one in app.success] == [say("decisions.overridden")]
    merge()
    ran(app.run())
    (row,) = table(app, say("decisions.decision"), say("decisions.override"))
    assert row[say("decisions.override")] == say("decisions.overrides")
    assert row[say("col.by")] == "Lee"


def paste(app: AppTest, made: ExperimentPlan) -> AppTest:
    """Put a plan into the JSON field and check it."""
    enter(app, "plan_text", made.to_json())
    button = [b for b in app.button if b.label == say("plan.check")][-1]
    return ran(button.click().run())


@pytest.mark.usefixtures("by_hand")
def test_a_pasted_plan_is_checked_and_registered(write: Any, open_page: Open) -> None:
    """What was found stands before the button; registered twice it is one version."""
    write(lambda trial: trial.arms(*sides()))
    app = paste(open_page("experiments"), plan(**ONE_LOOK))
    found = table(app, say("plan.severity"), say("plan.finding"))
    assert say("check.data_seen") in [row[say("plan.finding")] for row in found]
    enter(app, "plan_by", "Mina")
    press(app, "plan.register")
    assert app.success
    merge()
    paste(app, plan(**ONE_LOOK))
    enter(app, "plan_by", "Mina")
    press(app, "plan.register")
    merge()
    ran(app.run())
    versions = table(app, say("plan.version"), say("plan.marks"))
    assert [row[say("plan.version")] for row in versions] == ["1"]
    assert say("marks.after_data", arms="new arm, baseline") in versions[0][say("plan.marks")]


def test_faults_stand_beside_their_fields(real_home: Path, open_page: Open) -> None:
    """A form that cannot be used names each field and its fault, and offers no button."""
    del real_home
    app = open_page("experiments")
    next(f for f in app.text_input if f.key == "plan_field_experiment").input("Not A Slug")
    button = next(b for b in app.button if b.label == say("plan.check"))
    ran(button.click().run())
    shown = [one.value for one in app.markdown if ":material/error:" in one.value]
    wanted = ("experiment", "title", "author", "base", "new", "score_name", "evaluator")
    rules = ("promote_rules", "stop_rules", "rollback_rules")
    texts = ("path", "previous_settings", "restore_procedure")
    assert len(shown) == len({*wanted, *rules, *texts})
    assert any("match pattern" in fault for fault in shown)
    assert not app.error
    assert say("plan.register") not in [b.label for b in app.button]


@pytest.mark.usefixtures("by_hand")
def test_a_new_version_begins_from_the_old(write: Any, open_page: Open) -> None:
    """The form takes over the newest version; what is changed there is the next one."""
    write(passing)
    app = open_page("experiments", ASKED)
    press(app, "plan.edit", title=plan().title, n=2)
    next(n for n in app.number_input if n.key == "plan_field_margin").set_value(0.05)
    button = next(b for b in app.button if b.label == say("plan.check"))
    ran(button.click().run())
    enter(app, "plan_by", "Mina")
    press(app, "plan.register")
    merge()
    ran(app.run())
    versions = table(app, say("plan.version"), say("plan.marks"))
    assert [row[say("plan.version")] for row in versions] == ["1", "2"]
    (listed,) = table(app, say("experiments.last_verdict"))
    assert say("marks.late") in listed[say("plan.registered")]


def test_the_calculator_says_how_many(real_home: Path, open_page: Open) -> None:
    """Sessions of both arms from what is assumed, and that no number is enough where so."""
    del real_home
    app = open_page("experiments")
    rows = table(app, say("sizes.arm"), say("col.sessions"))
    assert [row[say("sizes.arm")] for row in rows] == ["Baseline", "New"]
    next(n for n in app.number_input if n.key == "sizes_p_new").set_value(0.8)
    ran(app.run())
    assert say("sizes.never") in [one.value for one in app.warning]
