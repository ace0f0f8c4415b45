"""What is looked at before a plan is registered: recent data in the plan's own labels."""

from collections.abc import Sequence

from core.cache.store import Store
from core.config import EvaluatorSettings
from core.domain.experiments.checks import Finding, RecentData, registration_findings
from core.domain.experiments.plan import ExperimentPlan
from core.domain.scope import Scope, Window
from core.views.experiment_arms import arm_params, dimension_of, first_data, plan_series
from core.views.fleet import load_fleet
from core.views.quality_sums import Asked, session_sums

RECENT_S = 7 * 86_400
"""How far back recent data reach."""


def findings(
    store: Store,
    plan: ExperimentPlan,
    now: float,
    *,
    evaluators: Sequence[EvaluatorSettings] = (),
) -> tuple[Finding, ...]:
    """Everything found about a plan that would be registered now."""
    return registration_findings(plan, recent_data(store, plan, now, evaluators), at=now)


def recent_data(
    store: Store, plan: ExperimentPlan, now: float, evaluators: Sequence[EvaluatorSettings]
) -> RecentData:
    """Counts of the requests of the last days, whatever their arm."""
    window = Window(int(now) - RECENT_S, int(now) + 1)
    params = arm_params(plan, window)
    rows = store.read("arm_requests", params)
    scores = store.read("arm_evaluators", params | {"score": plan.primary.name})
    arms = plan.arms
    scope = Scope(
        cluster=arms.cluster,
        namespace=arms.namespace,
        model=arms.model,
        start=window.start,
        end=window.end,
    )
    fleet = load_fleet(store, scope, now)
    asked = Asked(plan_series(store, plan, window, evaluators), dimension_of(plan))
    sums = session_sums(store, fleet, asked, window=window)
    counts = sums.tally(sums.everything).counts
    named = [row.evaluator_version for row in scores if row.evaluator == plan.primary.evaluator]
    return RecentData(
        requests=sum(row.requests for row in rows),
        with_attribute=sum(row.requests for row in rows if row.value is not None),
        with_session=sum(row.requests - row.without_session for row in rows),
        due=counts.expected,
        evaluated=counts.ok,
        evaluator_versions=tuple(sorted(set(named), key=str)),
        first_data=first_data(store, plan, now),
    )
