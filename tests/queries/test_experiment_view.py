"""One experiment out of a written cache: every verdict, every hold, worked by hand."""

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest

from core.domain.experiments.arms import Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.decision import Decision
from core.domain.experiments.look_record import LookReason
from core.domain.experiments.plan import DataType, PerArm, PlannedLook, Series, Unit
from core.domain.observed import Observed
from core.domain.quality import Estimand
from core.domain.statistics.choice import Design
from core.domain.statistics.difference import Method
from core.domain.statistics.gate import Verdict, judge
from core.domain.statistics.sums import Interval
from core.errors import EntryError
from core.experiments import decide, record_look
from core.views import experiments
from core.views.experiments import ExperimentView, build_experiment
from tests.domain.experiments.plans import AFTER, BEFORE, DAY, IN_TIME, PERIOD, START, plan
from tests.pages.homes import WrittenEngine, at
from tests.queries.written_experiments import MIDDLE, Arm, Trial, every, lever, reasons

END = PERIOD.end + 1.0
ONE_LOOK: dict[str, Any] = {
    "looks": (PlannedLook(fraction=1.0),),
    "planned_clusters": None,
    "load_cycle": None,
}


def rate(percent: int) -> Any:
    """Single passes and fails spread over sessions: so many of each hundred pass."""
    return lambda session, request: (session * 37 + request * 61) % 100 < percent


def sides(new: int = 95, base: int = 95, **more: Any) -> tuple[Arm, Arm]:
    """Both arms of the usual plan, 100 sessions of 5 requests each."""
    both = {"sessions": 100, "step": 600.0} | more
    return Arm("control", passes=rate(base), **both), Arm("compact", passes=rate(new), **both)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (Interval(-0.008, 0.004), Verdict.NON_INFERIOR),
        (Interval(-0.04, 0.01), Verdict.INCONCLUSIVE),
        (Interval(-0.05, -0.03), Verdict.REGRESSION),
        (Interval(-0.02, 0.01), Verdict.INCONCLUSIVE),
    ],
)
def test_the_gate_of_the_guide(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, interval: Interval, verdict: Verdict
) -> None:
    """The guide's intervals get its verdicts, and a limit of exactly minus the margin no pass."""
    real = experiments.gate_figures

    def given(arms: Any, *, confidence: float) -> Any:
        figures = real(arms, confidence=confidence)
        return replace(figures, difference=replace(figures.difference, interval=interval))

    monkeypatch.setattr(experiments, "gate_figures", given)
    view = trial.registered(plan(**ONE_LOOK)).arms(*sides()).seen(END)
    assert (view.verdict, view.told, view.holds) == (verdict, verdict, ())
    assert judge(interval, 0.02).verdict is verdict


def test_sessions_of_equal_requests_are_inconclusive(trial: Trial) -> None:
    """20 sessions of 50 equal requests, 17 pass in both arms: 4 points are far from shown."""
    trial.registered(plan(**ONE_LOOK, margin=0.04))
    trial.arms(
        Arm("control", 20, 50, passes=every(17, of=20)),
        Arm("compact", 20, 50, passes=every(17, of=20)),
    )
    view = trial.seen(END)
    assert view.verdict is Verdict.INCONCLUSIVE
    assert view.holds == ()
    assert view.figures.difference.estimate == 0
    interval = view.figures.difference.interval
    assert interval is not None
    naive = 1.96 * (2 * 0.85 * 0.15 / 1000) ** 0.5
    assert naive < 0.04 < -interval.lower


@pytest.mark.parametrize(("new", "verdict"), [(95, "non_inferior"), (70, "regression")])
def test_what_the_data_say(trial: Trial, new: int, verdict: str) -> None:
    """Equal arms pass a margin of six points, and 25 points less are a regression."""
    view = trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides(new)).seen(END)
    assert view.verdict == verdict
    assert view.figures.design is Design.SEPARATE
    assert view.figures.difference.method is Method.HULL
    assert view.figures.new.tally.requests == view.figures.base.tally.requests == 500
    assert bool(view.failing) is (verdict == "regression")
    assert all(one.observation_id.startswith("compact-") for one in view.failing)
    assert (Observed.ARM_LOWER in view.observed) is (verdict == "regression")


def test_too_few_sessions_hold(trial: Trial) -> None:
    """With 19 sessions in an arm nothing is decided, and what the interval says is kept."""
    trial.registered(plan(**ONE_LOOK, margin=0.9))
    trial.arms(Arm("control"), Arm("compact", sessions=19))
    view = trial.seen(END)
    assert view.verdict is Verdict.HOLD
    assert view.told is Verdict.NON_INFERIOR
    found = next(line for line in view.holds if line.reason == "too_few_clusters")
    assert (found.of, found.value, found.limit) == ("new", 19, 20)


def test_a_plan_after_its_data_is_marked(trial: Trial) -> None:
    """Registered after the first request: marked in its version, in the holds, and held."""
    trial.arms(*sides()).registered(plan(**ONE_LOOK), when=START + DAY)
    view = trial.seen(END)
    assert view.mark.registered_after_data
    assert view.verdict is Verdict.HOLD
    assert reasons(view.holds) == ["registered_after_data"]
    assert view.mark.first_data_at == START + 600


def test_an_edited_plan_keeps_its_old_version(trial: Trial) -> None:
    """Both versions stay with their hashes, and the second says what was seen before it."""
    trial.registered(plan(**ONE_LOOK)).arms(*sides())
    trial.registered(plan(**ONE_LOOK, margin=0.5), when=START + DAY)
    view = trial.seen(END)
    first, second = view.log.history.versions
    assert (first.plan.margin, second.plan.margin) == (0.02, 0.5)
    assert first.plan_hash != second.plan_hash
    assert [mark.edited_after_data for mark in view.marks] == [False, True]
    assert view.plan.margin == 0.5
    assert view.verdict is Verdict.HOLD


def test_between_looks_there_is_no_verdict(trial: Trial) -> None:
    """An estimate at the plan's own level; a look taken now is stored, without a verdict."""
    trial.registered(plan(planned_clusters=PerArm(new=2000, base=2000))).arms(*sides())
    view = trial.seen()
    assert (view.standing.due, view.due, view.verdict) == (None, None, None)
    assert view.figures.difference.estimate is not None
    assert view.figures.confidence == pytest.approx(0.95)
    after = trial.looked(MIDDLE)
    (look,) = after.log.looks.taken
    assert (look.record.number, look.record.verdict) == (None, None)
    assert look.record.reason is LookReason.OPERATIONAL
    assert "look_not_planned" in reasons(look.record.holds)
    assert after.verdict is None
    assert after.log.verdict is None


def test_between_looks_nothing_is_called_a_regression(trial: Trial) -> None:
    """An interval below the margin at no planned look: no verdict, and no failing requests."""
    trial.registered(plan(planned_clusters=PerArm(new=2000, base=2000))).arms(*sides(new=40))
    view = trial.seen()
    interval = view.figures.difference.interval
    assert interval is not None
    assert interval.upper < -view.plan.margin
    assert (view.verdict, view.told, view.failing, view.observed) == (None, None, (), ())


def test_the_last_look_waits_for_its_data(trial: Trial) -> None:
    """The clock alone ends no period: what was not read by then may still change the figures."""
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides())
    early = trial.seen(END, read=False)
    assert (early.standing.due, early.verdict, early.unread) == (None, None, True)
    late = trial.seen(END)
    assert (late.standing.due, late.verdict, late.unread) == (1, Verdict.NON_INFERIOR, False)


def test_an_edited_plan_starts_without_a_verdict(trial: Trial) -> None:
    """What a look said of an old version is not listed as what the new one has."""
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides())
    assert trial.looked(END).log.verdict is Verdict.NON_INFERIOR
    trial.registered(plan(**ONE_LOOK, margin=0.01), when=END + 5)
    log = trial.seen(END + 10).log
    assert len(log.looks.taken) == 1
    assert log.verdict is None


def test_a_planned_look_is_taken_once(trial: Trial) -> None:
    """The look that is due decides at its own level; after it the page waits for the next."""
    trial.registered(plan(planned_clusters=PerArm(new=200, base=200))).arms(*sides())
    view = trial.seen()
    assert view.standing.due == 1
    assert view.figures.confidence > 0.99
    assert view.due is not None
    after = trial.looked(MIDDLE)
    (look,) = after.log.looks.taken
    assert (look.record.number, look.record.taken_by) == (1, "Jun")
    assert look.record.verdict == view.verdict == after.verdict
    assert look.record.watermark == MIDDLE
    assert after.standing.due is None
    assert after.figures.confidence == pytest.approx(0.95)


def test_recording_twice_adds_one(trial: Trial) -> None:
    """A double click on a look leaves one."""
    view = trial.registered(plan(**ONE_LOOK)).arms(*sides()).seen(END)
    for _ in range(2):
        record_look(trial.inbox, view.look("Jun"), at=END)
    trial.merge()
    assert len(trial.seen(END).log.looks.taken) == 1


def test_another_change_holds(trial: Trial) -> None:
    """A second logged change inside the period holds, before a look and after one."""
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides())
    trial.put(lever(START + 60, "prompt_order", 1))
    assert trial.looked(END).verdict is Verdict.NON_INFERIOR
    trial.put(lever(START + DAY, "kv_dtype", 2, what="fp8 everywhere"))
    view = trial.seen(END + 2)
    assert view.verdict is Verdict.HOLD
    assert view.told is Verdict.NON_INFERIOR
    assert reasons(view.holds) == ["another_change"]
    assert view.holds[0].detail == "kv_dtype: fp8 everywhere"
    assert [change.reason for change in view.changes] == ["own_change", "another_change"]


def test_figures_that_move_replace_no_look(trial: Trial) -> None:
    """Requests that come later without scores leave the recorded verdict, and would hold now."""
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(*sides())
    assert trial.looked(END).verdict is Verdict.NON_INFERIOR
    late = Arm("compact", 100, passes=lambda *_: None, name="late", start=START + 601.0, step=600)
    for row in (tables := late.tables)["observations"]:
        row |= {"observation_id": f"late-{row['observation_id']}", "trace_id": "late"}
        row |= {"observation_key": row["digest"], "logical_id": f"late-{row['digest']}"}
    view = trial.put(tables).seen(END + 2)
    assert view.verdict is Verdict.NON_INFERIOR
    assert "coverage_below_minimum" in reasons(view.would_hold)
    assert view.since == ()


def test_a_change_elsewhere_does_not_hold(trial: Trial) -> None:
    """A change outside the period, or on engines that serve neither arm, is listed only."""
    arms = Arms(
        split=ByAttribute(dimension=Dimension.ARM, base="control", new="compact"), namespace="prod"
    )
    other = WrittenEngine.sound("x", namespace="lab").tables
    engine_id = other["engines"][0]["engine_id"]
    trial.registered(plan(**ONE_LOOK, margin=0.06, arms=arms))
    trial.arms(*sides(more={"namespace": "prod"})).put(other)
    trial.put(lever(START + DAY, "kv_dtype", 1, engine_id=engine_id))
    trial.put(lever(END + 5, "kv_dtype", 2))
    view = trial.seen(END + 10)
    assert view.verdict is Verdict.NON_INFERIOR
    assert [change.reason for change in view.changes] == [None]


def test_promoting_past_the_gate_is_an_override(trial: Trial) -> None:
    """On an inconclusive verdict it takes a name and a reason, and stays marked."""
    trial.registered(plan(**ONE_LOOK, margin=0.001)).arms(*sides())
    view = trial.looked(END)
    assert view.verdict is Verdict.INCONCLUSIVE

    def promote(reason: str | None) -> None:
        decide(
            trial.inbox,
            Decision.PROMOTE,
            version=view.version,
            look=view.last_look,
            holds=view.since,
            by_whom="Lee",
            reason=reason,
            at=END + 60,
        )

    with pytest.raises(EntryError):
        promote(None)
    for _ in range(2):
        promote("the customer waits")
    trial.merge()
    (made,) = trial.seen(END + 90).log.decisions
    assert (made.override, made.verdict, made.decided_by) == (True, "inconclusive", "Lee")
    assert made.reason == "the customer waits"


def test_arms_by_time(trial: Trial) -> None:
    """Each arm is read from its own period; a session in both is counted; engines are separable."""
    trial.registered(plan(**ONE_LOOK | IN_TIME, margin=0.06))
    early = Arm("b", 100, passes=rate(95), start=BEFORE.start + 600.0, step=600.0, by="pod")
    late = Arm("n", 100, passes=rate(95), start=AFTER.start + 600.0, step=600.0, by="pod")
    trial.arms(early, late)
    view = trial.seen(END)
    assert view.verdict is Verdict.NON_INFERIOR, view.holds
    assert (view.figures.base.tally.requests, view.figures.new.tally.requests) == (500, 500)
    rows = {row.metric: row for row in view.efficiency}
    assert rows["engine_hit_ratio"].base is not None
    assert rows["gateway_cached_share"].base is not None
    assert rows["gateway_cached_share"].base.value == 0.8
    half = trial.seen(AFTER.start - 60.0)
    assert half.figures.new.tally.requests == 0
    assert half.verdict is None


def test_a_period_that_ends_cuts_its_arm(trial: Trial) -> None:
    """Requests after an arm's period belong to no arm."""
    short = Period(start=BEFORE.start, end=BEFORE.start + DAY)
    arms = Arms(split=ByTime(base=short, new=AFTER))
    trial.registered(plan(**ONE_LOOK | IN_TIME | {"arms": arms}))
    trial.arms(Arm("b", 40, start=short.end - 300.0, step=60.0, by="pod"))
    assert trial.seen(END).figures.base.tally.requests == 5


PAIRED: dict[str, Any] = {"comparison": Comparison.PAIRED_DATA_SET, "unit": Unit.TASK}


@pytest.mark.parametrize(("requests", "method"), [(1, Method.TANGO), (3, Method.PAIRED)])
def test_paired_tasks(trial: Trial, requests: int, method: Method) -> None:
    """The same tasks in both arms are paired by their session, and sharing them is no fault."""
    trial.registered(plan(**ONE_LOOK | PAIRED, margin=0.2))
    base, new = (
        Arm(value, 60, requests, passes=rate(percent), name="task", step=300.0)
        for value, percent in (("control", 90), ("compact", 88))
    )
    view = trial.arms(base, new).seen(END)
    assert view.figures.difference.method is method
    assert view.figures.difference.paired_clusters == 60
    assert view.holds == ()
    assert view.figures.joint is None


def test_sessions_in_both_arms_hold(trial: Trial) -> None:
    """A session that is in both arms broke the assignment; one sum over all stands beside."""
    trial.registered(plan(**ONE_LOOK, margin=0.9))
    trial.arms(Arm("control", passes=rate(90), name="s"), Arm("compact", passes=rate(80), name="s"))
    view = trial.seen(END)
    assert "session_in_both_arms" in reasons(view.holds)
    assert view.figures.joint is not None
    assert view.figures.joint.interval is not None


def test_other_evaluator_versions_hold(trial: Trial) -> None:
    """An arm that another version of the evaluator scored is named with what was planned."""
    base, new = sides()
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(base, replace(new, version="v3"))
    view = trial.seen(END)
    assert view.verdict is Verdict.HOLD
    line = next(one for one in view.holds if one.reason == "evaluator_version_mismatch")
    assert line.detail == "judge v3 (500), planned v2"


def test_missing_scores_have_bounds(trial: Trial) -> None:
    """The worst and best that missing scores can do, and the rate at which they tip."""

    def some(session: int, request: int) -> bool | None:
        return None if (session + request) % 20 == 0 else rate(95)(session, request)

    base, new = sides()
    view = (
        trial.registered(plan(**ONE_LOOK, margin=0.06))
        .arms(base, replace(new, passes=some))
        .seen(END)
    )
    missing, counts = view.figures.missing, view.figures.new.tally.counts
    assert counts.missing == 25
    assert missing is not None
    assert missing.bounds is not None
    assert missing.bounds.upper - missing.bounds.lower == pytest.approx(0.05)
    assert missing.interval is not None
    assert view.figures.difference.interval is not None
    assert missing.interval.lower < view.figures.difference.interval.lower


def test_incomplete_answers_beside_content_quality(trial: Trial) -> None:
    """Where incomplete answers are not fails, more of them in the new arm hold the gate."""
    base, new = sides()
    tables = new.tables
    for place, row in enumerate(tables["observations"]):
        if place % 5 == 0:
            row["state"] = "error"
    trial.registered(plan(**ONE_LOOK, margin=0.06, estimand=Estimand.CONTENT))
    view = trial.arms(base).put(tables).seen(END)
    assert "incomplete_rate_worse" in reasons(view.holds)
    rows = {row.metric: row for row in view.efficiency}
    assert rows["incomplete_rate"].delta == pytest.approx(0.2)


def test_lower_is_better(trial: Trial) -> None:
    """Where a pass is the bad outcome, more of them are a loss, and a fail did not fail."""
    trial.registered(
        plan(**ONE_LOOK, margin=0.06, estimand=Estimand.CONTENT, higher_is_better=False)
    )
    view = trial.arms(*sides(new=30, base=5)).seen(END)
    assert view.verdict is Verdict.REGRESSION
    assert view.figures.difference.estimate == pytest.approx(-0.25)
    assert {one.passed for one in view.failing} <= {1.0}


def test_means_use_the_robust_interval(trial: Trial) -> None:
    """A mean score has no known worst for what is missing, and no hull."""
    series = Series(
        name="answer_ok", evaluator="judge", evaluator_version="v2", data_type=DataType.BOOLEAN
    )
    trial.registered(plan(**ONE_LOOK, margin=0.06, estimand=Estimand.MEAN, primary=series))
    view = trial.arms(*sides()).seen(END)
    assert view.figures.difference.method is Method.CR2
    assert view.figures.missing is None


def test_without_sessions_records_count_only_where_planned(trial: Trial) -> None:
    """No session ids: independence is assumed and held, unless the plan said so before."""
    base, new = sides(more={"session_id": None})
    trial.registered(plan(**ONE_LOOK, margin=0.06)).arms(base, new)
    view = trial.seen(END)
    assert view.figures.design is Design.NO_CLUSTERS
    assert view.figures.difference.independence_assumed
    assert "unknown_cluster_share" in reasons(view.holds)
    trial.registered(plan(**ONE_LOOK, margin=0.06, experiment="alone", requests_stand_alone=True))
    assert "unknown_cluster_share" not in reasons(trial.seen(END, "alone").holds)


def test_an_uneven_split_is_found(trial: Trial) -> None:
    """Session counts far from the planned ratio hold; of periods nobody drew any."""
    trial.registered(plan(**ONE_LOOK, margin=0.06))
    base, new = sides()
    view = trial.arms(base, replace(new, sessions=40)).seen(END)
    assert "sample_ratio_mismatch" in reasons(view.holds)


def test_efficiency_has_intervals_by_session(trial: Trial) -> None:
    """Shares and times differ with an interval; what shared engines count has no arms."""
    base, new = sides()
    tables = new.tables
    for place, row in enumerate(tables["observations"]):
        row["cached_input"] = 900 + place % 7
        row["first_token_at"] = row["start_at"] + timedelta(seconds=0.5 + place % 3 / 10)
    view = trial.registered(plan(**ONE_LOOK, margin=0.001)).arms(base).put(tables).seen(END)
    rows = {row.metric: row for row in view.efficiency}
    share = rows["gateway_cached_share"]
    assert share.delta == pytest.approx(0.103, abs=1e-3)
    assert share.interval is not None
    assert 0 < share.interval.lower < share.interval.upper
    first = rows["arm_first_token_s"]
    assert first.new is not None
    assert first.new.value == pytest.approx(0.6, abs=1e-3)
    assert first.interval is not None
    assert not view.first_token_unchanged
    median = rows["arm_first_token_p50"].new
    assert median is not None
    assert median.low is not None
    assert median.high is not None
    assert median.low <= 0.6 <= median.high
    assert (rows["engine_hit_ratio"].base, rows["engine_hit_ratio"].new) == (None, None)
    assert rows["arm_request_rate"].beside
    assert view.verdict is Verdict.INCONCLUSIVE
    assert view.observed == (Observed.HIT_UP_QUALITY_OPEN,)


def test_an_unchanged_first_token_is_said(trial: Trial) -> None:
    """Where the interval of the difference holds 0, or there is none, no change is shown."""
    view = trial.registered(plan(**ONE_LOOK)).arms(*sides()).seen(END)
    assert view.first_token_unchanged


def test_labels_are_the_plans(trial: Trial) -> None:
    """Requests outside the plan's labels are in neither arm."""
    arms = Arms(
        split=ByAttribute(dimension=Dimension.ARM, base="control", new="compact"), model="large"
    )
    trial.registered(plan(**ONE_LOOK, arms=arms)).arms(*sides())
    view = trial.seen(END)
    assert view.figures.new.tally.requests == 0
    assert view.verdict is Verdict.HOLD
    assert "no_evaluated_records" in reasons(view.holds)


def test_before_its_period_there_is_nothing(trial: Trial) -> None:
    """A plan whose period is to come has no figures, no hold is a pass, and no look is due."""
    view = trial.registered(plan()).seen(START - 60)
    assert view.verdict is None
    assert view.standing.due is None
    assert view.figures.difference.estimate is None
    assert all(row.delta is None for row in view.efficiency)


def test_nothing_stored_is_none(trial: Trial) -> None:
    """An experiment that nobody registered is not there."""
    assert build_experiment(trial.store, "nobody", END) is None


def test_a_changed_text_is_no_plan(trial: Trial) -> None:
    """A stored text that is not the one registered is shown as broken, and decides nothing."""
    row = {
        "plan_key": 1,
        "experiment": "forged",
        "version": 1,
        "plan_hash": "0" * 64,
        "registered_at": at(START),
        "registered_by": "Eve",
        "body": plan(experiment="forged").to_json(),
    }
    trial.put({"experiment_plans": [row]})
    assert build_experiment(trial.store, "forged", END) is None
    (log,) = experiments.experiment_logs(trial.store)
    assert log.history.broken[0].fault


def test_the_view_is_the_same_whenever_it_is_built(trial: Trial) -> None:
    """The same store and moment give the same view: a report and a page agree."""
    trial.registered(plan(**ONE_LOOK)).arms(*sides())

    def figures(view: ExperimentView) -> tuple[object, ...]:
        return (view.verdict, asdict(view.figures.look), view.efficiency, view.holds)

    assert figures(trial.seen(END)) == figures(trial.seen(END))
