"""A sound plan, and the same with one thing changed."""

from typing import Any

from core.domain.experiments.arms import Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.plan import (
    DataType,
    ExperimentPlan,
    PerArm,
    PlannedLook,
    Series,
    Unit,
)
from core.domain.levers import LeverKind
from core.domain.quality import Estimand

DAY = 86_400
START = 1_790_000_000
PERIOD = Period(start=START, end=START + 14 * DAY)
ARMS = Arms(split=ByAttribute(dimension=Dimension.ARM, base="control", new="compact"))
SERIES = Series(
    name="answer_ok", evaluator="judge", evaluator_version="v2", data_type=DataType.BOOLEAN
)
LOOKS = tuple(PlannedLook(fraction=t) for t in (0.3, 0.7, 1.0))
FIELDS: dict[str, Any] = {
    "experiment": "compact-prompt",
    "title": "Shared part of the prompt first",
    "lever": LeverKind.PROMPT_ORDER,
    "path": "more tokens in the shared prefix, so more of the prompt is found in the cache",
    "comparison": Comparison.RANDOMISED_CANARY,
    "arms": ARMS,
    "unit": Unit.SESSION,
    "primary": SERIES,
    "estimand": Estimand.COMPOSITE,
    "margin": 0.02,
    "planned_clusters": PerArm(new=400, base=400),
    "looks": LOOKS,
    "period": PERIOD,
    "load_cycle": "two whole weeks, weekends included",
    "efficiency_metric": "engine_hit_ratio",
    "promote_rules": ("non-inferior at the last look",),
    "stop_rules": ("regression at any look",),
    "rollback_rules": ("two users in an hour report answers cut short",),
    "previous_settings": "template v1",
    "restore_procedure": "set TEMPLATE=v1 and roll the gateway",
    "revisions": {"template": "v2", "engine": "0.32.0"},
    "author": "Mina",
}
BEFORE, AFTER = (Period(start=START + d * DAY, end=START + (d + 7) * DAY) for d in (0, 7))
IN_TIME: dict[str, Any] = {
    "comparison": Comparison.BEFORE_AFTER,
    "unit": Unit.PERIOD,
    "arms": Arms(split=ByTime(base=BEFORE, new=AFTER)),
}


def plan(**changed: Any) -> ExperimentPlan:
    """A sound plan with some fields changed."""
    return ExperimentPlan.checked(**FIELDS | changed)
