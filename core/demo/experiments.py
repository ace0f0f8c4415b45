"""Four experiments on the simulated fleet, one of each verdict, and what is true of them.

Each is registered before its period, and each period lies between two changes of routing
and before the fleet is first seen. An arm is what it is from the fleet's epoch on: arm B
differs by the effects in `quality` and by nothing else that a score could show.

| minutes | experiment | what is true | verdict |
|---|---|---|---|
| 45–219 | affinity, before and after | no difference, but two changes beside its own | hold |
| 46–130 | trimmed context, scout | 1.5 points lost; too few sessions for 2 | inconclusive |
| 224–311 | order of the prompt, chat | no difference, 2 points allowed | non-inferior |
| 224–311 | order of the tool schemas, agents | 8 points lost, 2 allowed | regression |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.demo.arrivals import CANCELLED_SHARE
from core.demo.fleet import AFFINITY, CLUSTER, MINUTE_S, QWEN, SCOUT
from core.demo.quality import ARM_B_EFFECT, SESSION_CORRELATION, Evaluator
from core.domain.experiments.arms import Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.plan import (
    Assumptions,
    DataType,
    ExperimentPlan,
    PerArm,
    PlannedLook,
    Series,
    Unit,
)
from core.domain.levers import LeverKind
from core.domain.quality import Estimand
from core.domain.statistics.gate import Verdict
from core.domain.statistics.planning import arm_size, design_effect, records_needed

AFFINITY_PLAN = "chat-session-affinity"
TRIMMING_PLAN = "scout-context-trimming"
PROMPT_PLAN = "chat-prompt-order"
SCHEMA_PLAN = "agents-tool-schemas"
SENA, DANIEL, MINSEO, JIWOO = "Sena Kim", "Daniel Ortiz", "Minseo Park", "Jiwoo Han"

COMPLETE = 1 - CANCELLED_SHARE
"""Share of the turns' last answers that are complete: the others count as fails in both arms."""
STRICTER_ALPHA = 0.005
"""One-sided level where a wrong promotion is dear; it also keeps the lucky verdicts rare."""


@dataclass(frozen=True)
class Known:
    """What is true of an experiment: new minus baseline, and the verdict that follows.

    The verdict is what nearly every fleet gives; chance gives a few another one.
    """

    delta: float
    verdict: Verdict


KNOWN = {
    AFFINITY_PLAN: Known(0.0, Verdict.HOLD),
    TRIMMING_PLAN: Known(
        ARM_B_EFFECT[Evaluator.CONTAINS_EXPECTED] * COMPLETE, Verdict.INCONCLUSIVE
    ),
    PROMPT_PLAN: Known(0.0, Verdict.NON_INFERIOR),
    SCHEMA_PLAN: Known(ARM_B_EFFECT[Evaluator.JSON_VALID] * COMPLETE, Verdict.REGRESSION),
}
"""By experiment; differences of the composite pass rate."""


@dataclass(frozen=True)
class Registered:
    """A plan, when it was registered, seconds since the epoch, and who did."""

    plan: ExperimentPlan
    at: float
    by: str


@dataclass(frozen=True)
class LogEntry:
    """A change that people of the fleet entered by hand because of an experiment."""

    kind: LeverKind
    what: str
    by: str
    at: float


def demo_plans(epoch: int) -> tuple[Registered, ...]:
    """The registered plans of a fleet that began at an epoch, in the order of registration."""
    made: tuple[tuple[Callable[[int], ExperimentPlan], int], ...] = (
        (_affinity, 20),
        (_trimming, 40),
        (_prompt_order, 220),
        (_tool_schemas, 222),
    )
    found = [(plan(epoch), minute) for plan, minute in made]
    return tuple(Registered(plan, epoch + minute * MINUTE_S, plan.author) for plan, minute in found)


def demo_log(epoch: int) -> tuple[LogEntry, ...]:
    """What else people entered in the lever log: each plan's own change, and one too many.

    Own changes lie outside of every experiment's period, where no other one meets them.
    """

    def entered(minute: float, kind: LeverKind, what: str, by: str) -> LogEntry:
        return LogEntry(kind, what, by, epoch + minute * MINUTE_S)

    return (
        entered(
            43,
            LeverKind.CONTEXT_TRIMMING,
            "llama-4-scout, arm B: tool results older than three turns left out; frozen until "
            f"the end of {TRIMMING_PLAN}",
            DANIEL,
        ),
        entered(
            183,
            LeverKind.MEMORY_CONCURRENCY,
            "qwen3-32b-1: max_num_seqs 256 → 384 after a page at night",
            JIWOO,
        ),
        entered(
            221,
            LeverKind.PROMPT_ORDER,
            f"chat, arm B: template v4, fixed part first; frozen until the end of {PROMPT_PLAN}",
            MINSEO,
        ),
        entered(
            223,
            LeverKind.PROMPT_ORDER,
            "agents, arm B: tool schemas in one order before the conversation; frozen until the "
            f"end of {SCHEMA_PLAN}",
            DANIEL,
        ),
    )


def _period(epoch: int, first: int, last: int) -> Period:
    return Period(start=epoch + first * MINUTE_S, end=epoch + last * MINUTE_S)


def _score(evaluator: Evaluator) -> Series:
    name = evaluator.score_name
    return Series(name=name, evaluator=name, evaluator_version="1", data_type=DataType.BOOLEAN)


def _assumed(rate: float, *, size: float, power: float = 0.9) -> Assumptions:
    """Without a true loss, and with sessions as uneven as geometric ones."""
    return Assumptions(
        p_base=rate,
        p_new=rate,
        icc=SESSION_CORRELATION,
        mean_session_size=size,
        cv_session_size=0.9,
        power=power,
    )


def _sample(assumed: Assumptions, *, margin: float, alpha: float) -> dict[str, Any]:
    """Sample plan: as many sessions as the calculator asks for; fields of a plan."""
    records = records_needed(
        assumed.p_new, assumed.p_base, margin=margin, alpha=alpha, power=assumed.power
    )
    effect = design_effect(
        assumed.mean_session_size, cv_size=assumed.cv_session_size, icc=assumed.icc
    )
    if records is None:
        raise ValueError("no number of records shows what is planned")
    size = arm_size(records, effect=effect, mean_size=assumed.mean_session_size)
    if size is None:
        raise ValueError("a session without a record shows nothing")
    return {
        "margin": margin,
        "alpha": alpha,
        "assumptions": assumed,
        "planned_clusters": PerArm(new=size.clusters, base=size.clusters),
    }


def _canary(arms: Arms, epoch: int, first: int, last: int) -> dict[str, Any]:
    """Fields of sessions drawn into two arms for some minutes."""
    return {
        "comparison": Comparison.RANDOMISED_CANARY,
        "unit": Unit.SESSION,
        "arms": arms,
        "estimand": Estimand.COMPOSITE,
        "period": _period(epoch, first, last),
        "load_cycle": (
            f"These {last - first} minutes lie between two changes of routing and hold two "
            "ripples of the load, not a day of it. Enough for a demo; a real plan takes whole "
            "weeks."
        ),
    }


ARM_B = ByAttribute(dimension=Dimension.ARM, base="A", new="B")
_ENGINES = {"engine": "vLLM 0.32.0"}


def _affinity(epoch: int) -> ExperimentPlan:
    on = AFFINITY.start_s // MINUTE_S
    return ExperimentPlan.checked(
        experiment=AFFINITY_PLAN,
        title="Session affinity for chat: follow-up turns on the engine of the turn before",
        lever=LeverKind.AFFINITY_ROUTING,
        path="A follow-up turn meets the blocks of its own history, so more of its prompt is "
        "found in the cache. Watch: uneven load of engines, queues on the popular one.",
        comparison=Comparison.BEFORE_AFTER,
        unit=Unit.PERIOD,
        arms=Arms(
            split=ByTime(base=_period(epoch, 45, on), new=_period(epoch, on, 219)),
            cluster=CLUSTER,
            namespace=QWEN.namespace,
        ),
        primary=_score(Evaluator.ANSWER_PRESENT),
        estimand=Estimand.COMPOSITE,
        margin=0.02,
        looks=(PlannedLook(fraction=1.0),),
        period=_period(epoch, 45, 219),
        load_cycle="Each arm is the 87 minutes on one side of the switch: the load of the hours "
        "differs, and neither side is a day. A second switch a week later is planned.",
        efficiency_metric="engine_hit_ratio",
        promote_rules=(
            "non-inferior at the end, and the engines' hit ratio up by 10 points",
            "no engine with twice the queue of another",
        ),
        stop_rules=("time to first token p95, new arm, above 5 s",),
        rollback_rules=("regression", "an engine out of KV room twice in an hour"),
        previous_settings="gateway.routing=least_busy",
        restore_procedure="Set gateway.routing=least_busy and reload the gateway; engines keep "
        "running. Old sessions lose their engine at their next turn.",
        revisions={**_ENGINES, "model": QWEN.name, "gateway.routing": "session_affinity"},
        author=SENA,
    )


def _trimming(epoch: int) -> ExperimentPlan:
    assumed = _assumed(0.48, size=3.5)
    return ExperimentPlan.checked(
        experiment=TRIMMING_PLAN,
        title="Leave out tool results older than three turns",
        lever=LeverKind.CONTEXT_TRIMMING,
        path="Shorter prompts leave less to compute. The part that is cut out moves what comes "
        "after it, so less of a prompt may be found in the cache.",
        primary=_score(Evaluator.CONTAINS_EXPECTED),
        **_canary(Arms(split=ARM_B, cluster=CLUSTER, model=SCOUT.name), epoch, 46, 130),
        **_sample(assumed, margin=0.02, alpha=STRICTER_ALPHA),
        looks=(PlannedLook(fraction=1.0),),
        efficiency_metric="gateway_input_tokens",
        promote_rules=("non-inferior at the end", "input tokens down by a tenth"),
        stop_rules=("an agent asks again for a result it was given, more than once in ten turns",),
        rollback_rules=("regression", "incomplete rate, difference, above 2 pp"),
        previous_settings="agents.history=whole",
        restore_procedure="Set agents.history=whole in the agents' configuration and roll it out; "
        "sessions that are running end as they began.",
        revisions={**_ENGINES, "model": SCOUT.name, "agents.history": "tool_results:3"},
        author=DANIEL,
    )


def _prompt_order(epoch: int) -> ExperimentPlan:
    templates = ByAttribute(dimension=Dimension.TEMPLATE_VERSION, base="v3", new="v4")
    assumed = _assumed(0.97, size=5.7, power=0.99)
    return ExperimentPlan.checked(
        experiment=PROMPT_PLAN,
        title="Template v4: what all chats share comes first, date and user name last",
        lever=LeverKind.PROMPT_ORDER,
        path="Blocks are reused up to the first token that differs. With the fixed part first, "
        "the shared prefix grows from 300 to 1,900 tokens. Watch: instructions far from the "
        "question may be followed less.",
        primary=_score(Evaluator.ANSWER_PRESENT),
        **_canary(
            Arms(split=templates, cluster=CLUSTER, namespace=QWEN.namespace), epoch, 224, 311
        ),
        **_sample(assumed, margin=0.02, alpha=0.025),
        looks=(PlannedLook(fraction=0.25), PlannedLook(fraction=1.0)),
        efficiency_metric="gateway_cached_share",
        promote_rules=("non-inferior without a hold", "cached share of v4 not below that of v3"),
        stop_rules=("regression at any planned look",),
        rollback_rules=("incomplete rate, difference, above 2 pp", "reports from users"),
        previous_settings="template v3 for all chats",
        restore_procedure="Set chat.template=v3 at the gateway and reload it; no engine restarts. "
        "Check on the Hit ratio page that v4 is gone.",
        revisions={
            **_ENGINES,
            "model": QWEN.name,
            "template": "v4",
            "template, baseline": "v3",
            "tokenizer": "9216db5",
        },
        author=MINSEO,
    )


def _tool_schemas(epoch: int) -> ExperimentPlan:
    assumed = _assumed(0.92, size=3.5)
    return ExperimentPlan.checked(
        experiment=SCHEMA_PLAN,
        title="Tool schemas in one fixed order, before the conversation",
        lever=LeverKind.PROMPT_ORDER,
        path="Schemas serialised alike everywhere are one shared prefix. Watch: models trained "
        "on schemas next to the question may call tools with broken JSON.",
        primary=_score(Evaluator.JSON_VALID),
        **_canary(Arms(split=ARM_B, cluster=CLUSTER, namespace=SCOUT.namespace), epoch, 224, 311),
        **_sample(assumed, margin=0.02, alpha=0.025),
        looks=(PlannedLook(fraction=1.0),),
        efficiency_metric="gateway_cached_share",
        promote_rules=("non-inferior without a hold",),
        stop_rules=(
            "regression at any planned look",
            "incomplete rate, difference, above 2 pp",
            "tool errors above 5 % for half an hour",
        ),
        rollback_rules=(
            "regression",
            "gateway cached share, difference, below 10 pp",
            "JSON of arm B broken twice as often as in arm A",
        ),
        previous_settings="agents.tool_schemas=as_registered, after the conversation",
        restore_procedure="Set agents.tool_schemas=as_registered and roll the agents out; then "
        "repeat the failed tool calls from their traces.",
        revisions={**_ENGINES, "agents.tool_schemas": "sorted, first"},
        author=DANIEL,
    )
