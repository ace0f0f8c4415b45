"""Sums per session of a plan's arms, straight from the simulated rows.

What a reader of the cache must come to, without sources, inbox and SQL: for looks that the
demo's people took before the fleet was first seen, and for tests. Boolean scores of single
answers that are always sampled, as the demo's plans use them. What was cached is not looked at,
and a turn that the end of the period cuts has no last answer here.
"""

from dataclasses import dataclass

import numpy as np

from core.demo.arrivals import Kind
from core.demo.declared import DEMO_EVALUATORS
from core.demo.evaluators import SCORE
from core.demo.evaluators import stored as score_stored
from core.demo.fleet import FLEET
from core.demo.gateway import Gateway, stored
from core.demo.identity import Identity
from core.demo.people import TASK_TYPES, TEMPLATES, in_arm_b, named, tasks
from core.demo.quality import Evaluator
from core.demo.rows import ROW
from core.demo.shelf import Records
from core.domain.experiments.arms import Arm, ByTime, Dimension
from core.domain.experiments.plan import ExperimentPlan
from core.domain.quality import COUNTED, SessionSums
from core.domain.records import Bools, Floats, Ints

ARMS = tuple(Arm)
_NAMES = np.array([engine.model.name for engine in FLEET])
_NAMESPACES = np.array([engine.model.namespace for engine in FLEET])


@dataclass(frozen=True)
class _Answers:
    """Requests of both arms: place of the arm in `ARMS`, session or -1, and how they ended."""

    arm: Ints
    session: Ints
    incomplete: Bools
    scored: Bools
    passed: Bools


def graded_sums(gateway: Gateway, plan: ExperimentPlan, *, now: float) -> SessionSums:
    """Sums per session and arm of the requests that are there by now; `by` is the arm."""
    answers = _answers(gateway, plan, now)
    keys, group = np.unique(np.stack([answers.arm, answers.session]), axis=1, return_inverse=True)

    def summed(chosen: Bools) -> Floats:
        return np.bincount(group.ravel(), chosen, keys.shape[1]).astype(np.float64)

    scored = summed(answers.scored & ~answers.incomplete)
    passes = summed(answers.passed & ~answers.incomplete)
    nothing = np.zeros_like(scored)
    known = {
        "requests": summed(np.ones_like(answers.scored)),
        "incomplete": summed(answers.incomplete),
        "scored": scored,
        "missing": summed(~answers.incomplete & ~answers.scored),
        "pass_known": scored,
        "value_known": scored,
        "passes": passes,
        "values": passes,
        "scored_incomplete": summed(answers.scored & answers.incomplete),
        "cached_tokens": nothing * np.nan,
        "weight": scored,
        "squares": scored,
    }
    return SessionSums(
        by_names=tuple(arm.value for arm in ARMS),
        across_names=("all",),
        by=keys[0],
        across=np.zeros_like(keys[0]),
        session=_numbered(keys[1]),
        columns={**dict.fromkeys(COUNTED, nothing), **known},
    )


def _numbered(session: Ints) -> Ints:
    """Sessions counted from 0, -1 for requests without one."""
    found = np.unique(session[session >= 0])
    return np.where(session < 0, -1, found.searchsorted(session))


def _answers(gateway: Gateway, plan: ExperimentPlan, now: float) -> _Answers:
    gateway.make_until(now)
    evaluator = Evaluator[plan.primary.name.upper()]
    period = plan.period
    parts = gateway.rows.between(period.start * 1000, period.end * 1000)
    found = np.concatenate([np.zeros(0, ROW), *parts])
    rows = found[(found["kind"] < Kind.FAILED) & stored(found, now)]
    rows = rows[_meant(rows, evaluator, gateway.identity) & _in_scope(rows, plan)]
    arm = _arm(rows, plan, gateway.identity)
    rows, arm = rows[arm >= 0], arm[arm >= 0]
    scored, passed = _scores(gateway, evaluator, rows, now)
    sends = named(gateway.identity, rows["session"])
    return _Answers(
        arm=arm,
        session=np.where(sends, rows["session"], -1),
        incomplete=rows["kind"] == Kind.CANCELLED,
        scored=scored,
        passed=passed,
    )


def _meant(rows: Records, evaluator: Evaluator, identity: Identity) -> Bools:
    """Which requests the score is declared for."""
    (said,) = (one for one in DEMO_EVALUATORS if one.score == evaluator.score_name)
    meant = np.array([not said.task_types or task in said.task_types for task in TASK_TYPES])
    asked = meant[tasks(identity, rows["session"], rows["place"])]
    chosen: Bools = asked & (rows["last"] | (said.calls != "last_of_turn"))
    return chosen


def _in_scope(rows: Records, plan: ExperimentPlan) -> Bools:
    place, arms = rows["place"], plan.arms
    inside = np.ones(rows.size, np.bool_)
    if arms.namespace is not None:
        inside &= _NAMESPACES[place] == arms.namespace
    if arms.model is not None:
        inside &= _NAMES[place] == arms.model
    return inside


def _arm(rows: Records, plan: ExperimentPlan, identity: Identity) -> Ints:
    """Place in `ARMS` of each request's arm; -1: in none."""
    if isinstance(plan.arms.split, ByTime):
        at = rows["time"]
        within = [
            (at >= period.start * 1000) & (at < period.end * 1000)
            for period in map(plan.period_of, ARMS)
        ]
    else:
        dimension = plan.arms.split.dimension
        names = {"A": "A", "B": "B"} if dimension is Dimension.ARM else TEMPLATES
        value = np.where(in_arm_b(identity, rows["session"]), names["B"], names["A"])
        within = [value == plan.arms.value_of(arm) for arm in ARMS]
    return np.select(within, range(len(ARMS)), -1).astype(np.int64)


def _scores(
    gateway: Gateway, evaluator: Evaluator, rows: Records, now: float
) -> tuple[Bools, Bools]:
    """Whether each request has its score by now, and passed."""
    parts = gateway.scores.between(rows["time"].min(initial=round(now * 1000)), now * 1000)
    scores = np.concatenate([np.zeros(0, SCORE), *parts])
    scores = scores[(scores["evaluator"] == evaluator) & score_stored(scores, now)]
    passes = scores["about"][scores["value"] > 0]
    return np.isin(rows["key"], scores["about"]), np.isin(rows["key"], passes)
