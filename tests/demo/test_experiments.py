"""The demo's experiments: known differences are found, and each verdict is there once."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.collectors import DemoCollector
from core.collect.follow import SOURCE
from core.collect.notes import utc
from core.collect.requests.batch import Batch, Readers
from core.collect.state import State, StateFile
from core.config import Settings
from core.demo import (
    DECISIONS,
    HISTORY_S,
    KNOWN,
    LOOKS,
    Evaluator,
    demo_log,
    demo_look,
    demo_plans,
    demo_source,
    evaluators_of,
)
from core.demo.arrivals import Kind
from core.demo.experiments import AFFINITY_PLAN, SCHEMA_PLAN, Registered
from core.demo.fleet import FLEET, demo_changes
from core.demo.gateway import Gateway
from core.demo.graded import graded_sums
from core.demo.looks import statistics_holds
from core.demo.observations import observation_rows
from core.demo.scores import score_rows
from core.demo_people import enter_plans
from core.domain.experiments.arms import Arm
from core.domain.experiments.changes import LoggedChange, judge_changes, own_change
from core.domain.experiments.rules import MeasuredRule, RuleState
from core.domain.experiments.versions import PlanVersion
from core.domain.levers import LeverKind
from core.domain.quality import Dimension, SessionSums
from core.domain.scope import Scope, Window
from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import Difference
from core.domain.statistics.gate import Verdict, confidence_of, judge
from core.views.experiments import build_experiment
from core.views.fleet import load_fleet
from core.views.quality_sums import Asked, score_series, session_sums
from tests.demo.reading import EPOCH, NOW

SEEDS = (3, 8)
FROM_ROWS = [plan.plan.experiment for plan in demo_plans(EPOCH)]
BY_ARM = [one for one in FROM_ROWS if one != AFFINITY_PLAN]
LATE_S = 840
"""After the end of a period; by then its scores are there."""
GROUPS = ("basic", "time", "model", "usage", "metadata", "prompt", "metrics", "trace_context")
EXPANDED = ("usage_object", "hidden_params")


def registered(experiment: str, epoch: int = EPOCH) -> Registered:
    return next(one for one in demo_plans(epoch) if one.plan.experiment == experiment)


def version_of(one: Registered) -> PlanVersion:
    return PlanVersion(1, one.plan, one.plan.plan_hash, one.at, one.by)


def compared(one: Registered, sums: SessionSums, names: dict[Arm, str]) -> Difference:
    plan = one.plan
    new, base = (
        sums.sums(plan.estimand, sums.group(by=names[arm])).present for arm in (Arm.NEW, Arm.BASE)
    )
    return difference_interval(
        new, base, design=Design.SEPARATE, confidence=confidence_of(plan.alpha)
    )


def covers(found: Difference, value: float) -> bool:
    return found.interval is not None and found.interval.lower <= value <= found.interval.upper


def logged(epoch: int) -> list[LoggedChange]:
    """What people entered, and what the collector finds at the fleet's episodes."""
    routing = [(one.at, one.kind, one.what, None) for one in demo_changes(epoch, epoch + HISTORY_S)]
    entered = [(one.at, one.kind, one.what, None) for one in demo_log(epoch)]
    found = [
        (epoch + episode.start_s + cycle * 10_800 + 150, kind, kind.value, engine)
        for cycle in range(2)
        for engine in FLEET
        for episode, kinds in (
            (engine.restart, (LeverKind.RESTART, LeverKind.CONFIGURATION)),
            (engine.reset, (LeverKind.CACHE_RESET,)),
        )
        if episode.length_s
        for kind in kinds
    ]
    return [
        LoggedChange(
            number,
            float(at),
            LeverKind(kind),
            what,
            namespace=None if engine is None else engine.model.namespace,
            model=None if engine is None else engine.model.name,
        )
        for number, (at, kind, what, engine) in enumerate([*routing, *entered, *found])
    ]


def test_one_experiment_of_each_verdict() -> None:
    """Four plans, four verdicts, registered before their period, which lies in the history."""
    plans = demo_plans(EPOCH)
    assert {one.plan.experiment for one in plans} == set(KNOWN)
    assert {one.verdict for one in KNOWN.values()} == set(Verdict)
    for one in plans:
        assert one.at < one.plan.period.start < one.plan.period.end < EPOCH + HISTORY_S
    assert max(one.minute for one in (*LOOKS, *DECISIONS)) * 60 < HISTORY_S
    assert KNOWN[SCHEMA_PLAN].delta < -registered(SCHEMA_PLAN).plan.margin


def test_every_plan_has_a_rule_that_is_measured() -> None:
    """Each shows what the data judge, and a rule that is left to a person or the gate."""
    for one in demo_plans(EPOCH):
        rules = (*one.plan.stop_rules, *one.plan.rollback_rules)
        measured = [MeasuredRule.read(rule) for rule in rules]
        assert any(measured), one.plan.experiment
        assert None in measured, one.plan.experiment


@pytest.mark.parametrize("experiment", FROM_ROWS)
def test_what_the_lever_log_says(experiment: str) -> None:
    """Each experiment finds its own change; only the one that is to hold meets others."""
    one = registered(experiment)
    own = own_change(one.plan, logged(EPOCH), registered_at=one.at)
    holds = judge_changes(one.plan, logged(EPOCH), registered_at=one.at).holds
    assert own is not None
    assert own.at < one.plan.period.end
    said = [line.detail or "" for line in holds]
    if experiment == AFFINITY_PLAN:
        assert own.at == one.plan.period_of(Arm.NEW).start
        assert [line.split(":")[0] for line in said] == ["cache_reset", "memory_concurrency"]
    else:
        assert said == []


@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts_of_several_fleets(seed: int) -> None:
    """With other seeds, at other times of day, verdicts stay and intervals cover the truth."""
    epoch = EPOCH + seed * 5 * 3600
    gateway = Gateway(seed=seed, epoch=epoch)
    for experiment in BY_ARM:
        one = registered(experiment, epoch)
        sums = graded_sums(gateway, one.plan, now=one.plan.period.end + LATE_S)
        found = compared(one, sums, {arm: arm.value for arm in Arm})
        holds = statistics_holds(version_of(one), sums, found)
        assert holds == (), experiment
        assert judge(found.interval, one.plan.margin).verdict is KNOWN[experiment].verdict
        assert covers(found, KNOWN[experiment].delta), experiment


def test_looks_of_the_demos_people(gateway: Gateway) -> None:
    """A final look says the expected verdict; one before is planned and has a wider boundary."""
    versions = {one.plan.experiment: version_of(one) for one in demo_plans(EPOCH)}
    for one in LOOKS:
        at = EPOCH + one.minute * 60
        version = versions[one.experiment]
        record = demo_look(gateway, version, (), by=one.by, at=at)
        assert record.taken_by == one.by
        if at >= version.plan.period.end:
            assert record.final
            assert record.verdict is KNOWN[one.experiment].verdict
        else:
            assert (record.number, record.final) == (1, False)
            assert record.boundary is not None
            assert record.boundary > 2
        assert record.estimate is not None
    assert {one.experiment for one in LOOKS} == {one.experiment for one in DECISIONS}


@pytest.fixture(scope="module")
def store(
    settings: Settings, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A cache with the rows of the agents' experiment as the real readers make them."""
    home = tmp_path_factory.mktemp("experiments")
    inbox, known = Inbox(home / "inbox"), registered(SCHEMA_PLAN).plan.period
    engines = DemoCollector(
        settings,
        demo_source(settings, clock=lambda: NOW),
        inbox,
        StateFile(home / f"{SOURCE}.state", State),
        clock=lambda: NOW,
    )
    engines.collect_range(known.start, known.start + 120)
    enter_plans(inbox, epoch=EPOCH)
    inbox.write("langfuse", _read(settings, gateway, known.start, known.end).tables(utc(NOW)))
    made = Store(home / "cache.duckdb")
    assert made.merge_waiting(inbox) > 1
    yield made
    made.close()


def _read(settings: Settings, gateway: Gateway, start: int, end: int) -> Batch:
    """Calls of the agents, and the one score that decides, as Langfuse tells them."""
    agents = [place for place, one in enumerate(FLEET) if one.model.namespace == "agents"]
    rows = np.concatenate(list(gateway.rows.between(start * 1000, end * 1000)))
    rows = rows[(rows["kind"] <= Kind.FAILED) & np.isin(rows["place"], agents)]
    scores = np.concatenate(list(gateway.scores.between(start * 1000, (end + LATE_S) * 1000)))
    scores = scores[scores["evaluator"] == Evaluator.JSON_VALID]
    declared = settings.model_copy(update={"evaluators": evaluators_of(settings)})
    batch, identity = Batch(Readers(declared)), gateway.identity
    for part in np.array_split(rows, 10):
        batch.add_observations(_raw(observation_rows(part, identity, GROUPS, EXPANDED)))
    groups = ("details", "subject")
    batch.add_scores(_raw(score_rows(scores, identity, gateway.epoch, groups)), seen_at=NOW)
    return batch


def _raw(rows: list[dict[str, object]]) -> Iterator[msgspec.Raw]:
    return (msgspec.Raw(msgspec.json.encode(row)) for row in rows)


def test_the_pipeline_finds_the_known_verdict(
    store: Store, gateway: Gateway, settings: Settings
) -> None:
    """Out of the cache come the sums of the simulated rows, and with them the regression."""
    one = registered(SCHEMA_PLAN)
    plan, period = one.plan, one.plan.period
    window = Window(period.start, period.end)
    scope = Scope(
        cluster=plan.arms.cluster,
        namespace=plan.arms.namespace,
        start=period.start,
        end=period.end,
    )
    (series,) = score_series(store, window, evaluators_of(settings))
    assert (series.name, series.evaluator, series.evaluator_version, series.data_type) == (
        plan.primary.name,
        plan.primary.evaluator,
        plan.primary.evaluator_version,
        plan.primary.data_type.value,
    )
    assert not series.sampled
    sums = session_sums(store, load_fleet(store, scope, NOW), Asked(series, Dimension.ARM))
    known = graded_sums(gateway, plan, now=period.end + LATE_S)
    for arm in Arm:
        read = sums.tally(sums.group(by=plan.arms.value_of(arm)))
        made = known.tally(known.group(by=arm.value))
        assert read.requests > 1000
        same = ("ok", "incomplete", "evaluator_error", "not_sampled")
        assert [getattr(read.counts, n) for n in same] == [getattr(made.counts, n) for n in same]
        assert read.scored_incomplete == made.scored_incomplete
        # A reader takes the last call before the end of the period for that of a turn it cuts.
        assert 0 <= read.counts.missing - made.counts.missing < 40
        assert 0 <= read.sessionless - made.sessionless < 5
    found = compared(one, sums, {arm: str(plan.arms.value_of(arm)) for arm in Arm})
    same = compared(one, known, {arm: arm.value for arm in Arm})
    assert found.interval == pytest.approx(same.interval)
    assert judge(found.interval, plan.margin).verdict is Verdict.REGRESSION
    assert covers(found, KNOWN[SCHEMA_PLAN].delta)


def test_the_rules_of_the_regression_say_what_is_true(store: Store, settings: Settings) -> None:
    """Arm B finds more in the cache by far less than ten points, and breaks off no more often."""
    now = registered(SCHEMA_PLAN).plan.period.end + LATE_S
    one = build_experiment(store, SCHEMA_PLAN, now, evaluators=evaluators_of(settings))
    assert one is not None
    states = {rule.text: rule.state for rule in one.rules if rule.measured}
    assert states == {
        "incomplete rate, difference, above 2 pp": RuleState.NOT_MET,
        "gateway cached share, difference, below 10 pp": RuleState.MET,
    }
    share = next(row for row in one.efficiency if row.metric == "gateway_cached_share")
    assert share.interval is not None
    assert 0 < share.interval.lower < share.interval.upper < 0.1
