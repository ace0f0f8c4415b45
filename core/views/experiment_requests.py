"""Requests of the new arm that failed: where to begin to reproduce a regression."""

from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.experiments.arms import Arm
from core.domain.experiments.plan import ExperimentPlan
from core.views.experiment_arms import dimension_of, windows
from core.views.fleet import Fleet
from core.views.quality_sums import Asked, Series, quality_params

MOST = 20
INCOMPLETE, SCORED = "incomplete", "ok"


@dataclass(frozen=True)
class FailingRequest:
    """One failed request: scored as a fail, or incomplete where that counts."""

    observation_id: str
    session_id: str | None
    start_at: float
    status: str
    state: str
    passed: float | None
    task_type: str | None
    template_version: str | None
    model: str | None


def failing_requests(
    store: Store, fleet: Fleet, plan: ExperimentPlan, series: Series, now: float
) -> tuple[FailingRequest, ...]:
    """The newest failed requests of the new arm, at most `MOST`."""
    asked = Asked(series, dimension_of(plan))
    _, window = next((arms, window) for arms, window in windows(plan, now) if Arm.NEW in arms)
    params = quality_params(store, fleet, asked, window=window)
    params |= {
        "by_value": plan.arms.value_of(Arm.NEW),
        "across_value": None,
        "most": MOST,
    }
    rows = store.read("quality_requests", params)
    return tuple(_request(row) for row in rows if _failed(row, plan))


def _failed(row: Row, plan: ExperimentPlan) -> bool:
    if row.status == INCOMPLETE:
        return True
    if row.status != SCORED or row.passed is None:
        return False
    worst: bool = row.passed < 1 if plan.higher_is_better else row.passed > 0
    return worst


def _request(row: Row) -> FailingRequest:
    return FailingRequest(
        observation_id=row.observation_id,
        session_id=row.session_id,
        start_at=row.start_at,
        status=row.status,
        state=row.state,
        passed=row.passed,
        task_type=row.task_type,
        template_version=row.template_version,
        model=row.model,
    )
