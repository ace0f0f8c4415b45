"""A plan as a form holds it: one plain value a field, to and from an `ExperimentPlan`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from core.domain.experiments.arms import Arm, Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.levers_guide import LEVERS
from core.domain.experiments.plan import (
    ALPHA,
    FEWEST_CLUSTERS,
    LEAST_COVERAGE,
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
from core.domain.statistics.planning import POWER
from core.domain.statistics.sequential import Spending
from core.errors import EntryError

Entered = dict[str, Any]
DAY_S = 86_400
ATTRIBUTE, TIME = "attribute", "time"
LABELS = ("cluster", "namespace", "model")
ASSUMED = ("p_base", "p_new", "icc", "mean_session_size", "cv_session_size", "power")
RULES = ("promote_rules", "stop_rules", "rollback_rules")
TEXTS = ("experiment", "title", "path", "previous_settings", "restore_procedure", "author")
NUMBERS = ("margin", "alpha", "ratio", "minimum_coverage")


def blank(now: float, series: Series | None = None) -> Entered:
    """Sensible values to begin with: two weeks from the next hour on, three looks."""
    start = (int(now) // 3600 + 1) * 3600
    return (
        dict.fromkeys((*TEXTS, *LABELS, "base", "new", "load_cycle", "revisions"), "")
        | dict.fromkeys(RULES, "")
        | dict.fromkeys(("base_from", "base_to", "new_from", "new_to"))
        | {
            "lever": LEVERS[0],
            "comparison": Comparison.RANDOMISED_CANARY,
            "unit": Unit.SESSION,
            "split": ATTRIBUTE,
            "dimension": Dimension.ARM,
            "estimand": Estimand.COMPOSITE,
            "higher_is_better": True,
            "margin": 0.02,
            "alpha": ALPHA,
            "ratio": 1.0,
            "minimum_clusters": FEWEST_CLUSTERS,
            "minimum_coverage": LEAST_COVERAGE,
            "clusters_new": 400,
            "clusters_base": 400,
            "planned_se": None,
            "looks": "0.5, 1",
            "spending": Spending.OBRIEN_FLEMING,
            "period_from": moment(start),
            "period_to": moment(start + 14 * DAY_S),
            "requests_stand_alone": False,
            "efficiency_metric": "gateway_cached_share",
            "power": POWER,
            **dict.fromkeys(ASSUMED[:-1]),
        }
        | _score(series)
    )


def entered(plan: ExperimentPlan) -> Entered:
    """The form of a plan, to make another version of it."""
    split, assumed, planned = plan.arms.split, plan.assumptions, plan.planned_clusters
    by_time = isinstance(split, ByTime)
    return (
        {name: getattr(plan, name) for name in (*TEXTS, *NUMBERS)}
        | {name: getattr(plan.arms, name) or "" for name in LABELS}
        | {name: "\n".join(getattr(plan, name)) for name in RULES}
        | {name: None if assumed is None else getattr(assumed, name) for name in ASSUMED}
        | {
            name: getattr(plan, name)
            for name in ("lever", "comparison", "unit", "estimand", "higher_is_better")
        }
        | {
            "split": TIME if by_time else ATTRIBUTE,
            "dimension": plan.arms.dimension or Dimension.ARM,
            "base": plan.arms.value_of(Arm.BASE) or "",
            "new": plan.arms.value_of(Arm.NEW) or "",
            **_times("base", plan.period_of(Arm.BASE) if by_time else None),
            **_times("new", plan.period_of(Arm.NEW) if by_time else None),
            **_times("period", plan.period),
            "minimum_clusters": plan.minimum_clusters,
            "clusters_new": None if planned is None else planned.new,
            "clusters_base": None if planned is None else planned.base,
            "planned_se": plan.planned_se,
            "looks": ", ".join(_look_text(look) for look in plan.looks),
            "spending": plan.spending,
            "load_cycle": plan.load_cycle or "",
            "requests_stand_alone": plan.requests_stand_alone,
            "efficiency_metric": plan.efficiency_metric,
            "revisions": "\n".join(f"{name}={value}" for name, value in plan.revisions),
        }
        | _score(plan.primary)
    )


def plan_of(form: Mapping[str, Any]) -> ExperimentPlan:
    """The plan that a form holds.

    Raises
    ------
    EntryError
        With every field that cannot be used, and why.
    """
    parts, faults = _parts(form)
    try:
        plan = ExperimentPlan.checked(
            **{name: form[name] for name in (*TEXTS, *NUMBERS)},
            **{name: _lines(form[name]) for name in RULES},
            **parts,
            lever=LeverKind(form["lever"]),
            comparison=Comparison(form["comparison"]),
            unit=Unit(form["unit"]),
            estimand=Estimand(form["estimand"]),
            higher_is_better=form["higher_is_better"],
            minimum_clusters=form["minimum_clusters"],
            planned_se=form["planned_se"],
            spending=Spending(form["spending"]),
            load_cycle=form["load_cycle"] or None,
            requests_stand_alone=form["requests_stand_alone"],
            efficiency_metric=form["efficiency_metric"],
            revisions=_revisions(form["revisions"]),
        )
    except EntryError as error:
        others = (one for one in error.detail.split("; ") if _root(one) not in faults)
        raise EntryError("; ".join([*faults.values(), *others])) from error
    if faults:
        raise EntryError("; ".join(faults.values()))
    return plan


def _parts(form: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Parts of a plan that can be made, and the faults of those that cannot."""
    makers: dict[str, Callable[[], Any]] = {
        "arms": lambda: _arms(form),
        "primary": lambda: _series(form),
        "planned_clusters": lambda: _planned(form),
        "assumptions": lambda: _assumptions(form),
        "looks": lambda: _looks(form["looks"]),
        "period": lambda: _period(form, "period"),
    }
    made: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except EntryError as error:
            made[name] = None
            each = error.detail.split("; ")
            faults[name] = "; ".join(
                f"{name}.{one}" if ": " in one else f"{name}: {one}" for one in each
            )
    return made, faults


def _root(fault: str) -> str:
    """First name of the path of a fault."""
    return fault.partition(":")[0].partition(".")[0]


def moment(seconds: float) -> datetime:
    """A time of a form: UTC, without saying so."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _score(series: Series | None) -> Entered:
    if series is None:
        return {
            "score_name": "",
            "evaluator": "",
            "evaluator_version": "",
            "data_type": DataType.BOOLEAN,
            "pass_at": None,
            "pass_labels": "",
        }
    return {
        "score_name": series.name,
        "evaluator": series.evaluator,
        "evaluator_version": series.evaluator_version or "",
        "data_type": series.data_type,
        "pass_at": series.pass_at,
        "pass_labels": "\n".join(series.pass_labels),
    }


def _times(name: str, period: Period | None) -> Entered:
    if period is None:
        return {f"{name}_from": None, f"{name}_to": None}
    return {f"{name}_from": moment(period.start), f"{name}_to": moment(period.end)}


def _series(form: Mapping[str, Any]) -> Series:
    return Series.checked(
        name=form["score_name"],
        evaluator=form["evaluator"],
        evaluator_version=form["evaluator_version"] or None,
        data_type=DataType(form["data_type"]),
        pass_at=form["pass_at"],
        pass_labels=_lines(form["pass_labels"]),
    )


def _arms(form: Mapping[str, Any]) -> Arms:
    labels = {name: form[name] or None for name in LABELS}
    if form["split"] == TIME:
        split: ByTime | ByAttribute = ByTime.checked(
            base=_period(form, "base"), new=_period(form, "new")
        )
    else:
        split = ByAttribute.checked(
            dimension=Dimension(form["dimension"]), base=form["base"], new=form["new"]
        )
    return Arms.checked(split=split, **labels)


def _period(form: Mapping[str, Any], name: str) -> Period:
    start, end = form[f"{name}_from"], form[f"{name}_to"]
    if start is None or end is None:
        missing = f"{name}_from" if start is None else f"{name}_to"
        raise EntryError(f"{missing}: a moment is needed")
    return Period.checked(start=_seconds(start), end=_seconds(end))


def _seconds(at: datetime) -> int:
    return int(at.replace(tzinfo=UTC).timestamp())


def _planned(form: Mapping[str, Any]) -> PerArm | None:
    new, base = form["clusters_new"], form["clusters_base"]
    return None if new is None and base is None else PerArm.checked(new=new, base=base)


def _assumptions(form: Mapping[str, Any]) -> Assumptions | None:
    found = {name: form[name] for name in ASSUMED}
    if all(found[name] is None for name in ASSUMED[:-1]):
        return None
    return Assumptions.checked(**found)


def _looks(text: str) -> tuple[PlannedLook, ...]:
    """Fractions with commas between them; a date may follow one behind an @."""
    return tuple(_look(part) for part in text.split(",") if part.strip())


def _look(part: str) -> PlannedLook:
    fraction, _, date = part.strip().partition("@")
    try:
        at = _seconds(datetime.fromisoformat(date.strip())) if date else None
        return PlannedLook.checked(fraction=float(fraction), at=at)
    except ValueError as error:
        raise EntryError(f"looks: {part.strip()[:50]!r} is no fraction") from error


def _look_text(look: PlannedLook) -> str:
    if look.at is None:
        return repr(look.fraction)
    return f"{look.fraction!r}@{moment(look.at).isoformat(timespec='seconds')}"


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _revisions(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in _lines(text)]
    return {name.strip(): value.strip() for name, _, value in pairs}
