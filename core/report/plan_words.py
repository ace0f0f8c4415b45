"""The plan of an experiment, part by part: the same on the page's card and in files."""

from core.catalogue import METRICS
from core.domain.experiments.arms import Arm, ByTime
from core.domain.experiments.plan import ExperimentPlan
from core.domain.quality import Estimand
from core.domain.statistics.gate import confidence_of
from core.messages import say
from core.report.gate_words import Clock
from core.views.experiment_sizes import sample_plan_of
from core.views.experiment_words import lever_guide
from core.views.experiments import ExperimentView


def plan_what(one: ExperimentView, clock: Clock) -> list[tuple[str, str]]:
    """What is changed, by which path, and what to watch."""
    plan = one.plan
    guide = lever_guide(plan.lever, plan.arms.dimension)
    return [
        (say("plan.title"), plan.title),
        (say("plan.lever"), say(f"lever.{plan.lever}")),
        (say("plan.path"), plan.path),
        (say("plan.guide"), guide.path),
        (say("plan.watch"), guide.watch),
        (say("plan.comparison"), say(f"comparison.{plan.comparison}")),
        (say("plan.arms"), _arms(one, clock)),
        (say("plan.labels"), _labels(plan)),
        (say("plan.unit"), say(f"unit.{plan.unit}")),
    ]


def _arms(one: ExperimentView, clock: Clock) -> str:
    split = one.plan.arms.split
    if isinstance(split, ByTime):
        return say(
            "plan.arms_time",
            base_from=clock(split.base.start),
            base_to=clock(split.base.end),
            new_from=clock(split.new.start),
            new_to=clock(split.new.end),
        )
    values = {arm.value: one.plan.arms.value_of(arm) for arm in Arm}
    return say("plan.arms_attribute", dimension=say(f"dimension.{split.dimension}"), **values)


def _labels(plan: ExperimentPlan) -> str:
    found = [
        f"{say(f'dimension.{name}')} {value}"
        for name in ("cluster", "namespace", "model")
        if (value := getattr(plan.arms, name)) is not None
    ]
    return " · ".join(found) if found else say("scope.all")


def plan_gate(plan: ExperimentPlan) -> list[tuple[str, str]]:
    """What decides: score, estimand, margin, level and sample."""
    primary, ratio = plan.primary, plan.estimand is not Estimand.MEAN
    version = primary.evaluator_version or say("quality.no_version")
    margin = f"{plan.margin * 100:.4g} pp" if ratio else f"{plan.margin:.4g}"
    level = say(
        "plan.level_words",
        alpha=f"{plan.alpha:.4g}",
        confidence=f"{confidence_of(plan.alpha) * 100:.4g} %",
    )
    direction = say("plan.higher" if plan.higher_is_better else "plan.lower")
    return [
        (say("plan.primary"), f"{primary.name} · {primary.evaluator} · {version} · {direction}"),
        (say("plan.estimand"), say(f"estimand.{plan.estimand}")),
        (say("plan.margin"), margin),
        (say("plan.alpha"), level),
        (say("plan.efficiency_metric"), _metric(plan.efficiency_metric)),
        (say("plan.minimum"), say("plan.minimum_words", clusters=plan.minimum_clusters,
                                  coverage=f"{plan.minimum_coverage * 100:.4g} %")),
        (say("plan.sample"), _sample(plan)),
    ]  # fmt: skip


def _metric(key: str) -> str:
    return METRICS[key].label if key in METRICS else key


def _sample(plan: ExperimentPlan) -> str:
    said = []
    if plan.planned_clusters is not None:
        clusters = plan.planned_clusters
        said.append(say("plan.sample_clusters", base=clusters.base, new=clusters.new))
    if plan.planned_se is not None:
        said.append(say("plan.sample_se", se=f"{plan.planned_se:.4g}"))
    asked = sample_plan_of(plan)
    if asked is not None and asked.base is not None and asked.new is not None:
        said.append(say("plan.sample_asked", base=asked.base.clusters, new=asked.new.clusters))
    return " ".join(said) if said else say("plan.sample_none")


def plan_how(one: ExperimentView, clock: Clock) -> list[tuple[str, str]]:
    """How it is run and ended: looks, period, rules, restore procedure, revisions."""
    plan, version = one.plan, one.version
    looks = ", ".join(
        f"{look.fraction:.0%}" + ("" if look.at is None else f" ({clock(look.at)})")
        for look in plan.looks
    )
    revisions = ", ".join(f"{name} {value}" for name, value in plan.revisions)
    return [
        (say("plan.looks"), f"{looks} · {say(f'spending.{plan.spending}')}"),
        (say("plan.period"), f"{clock(plan.period.start)} – {clock(plan.period.end)}"),
        (say("plan.load_cycle"), plan.load_cycle or say("plan.not_said")),
        (say("plan.promote_rules"), " · ".join(plan.promote_rules)),
        (say("plan.stop_rules"), " · ".join(plan.stop_rules)),
        (say("plan.rollback_rules"), " · ".join(plan.rollback_rules)),
        (say("plan.previous_settings"), plan.previous_settings),
        (say("plan.restore_procedure"), plan.restore_procedure),
        (say("plan.revisions"), revisions or say("plan.not_said")),
        (say("plan.author"), plan.author),
        (say("plan.version"), f"{version.number} · {version.plan_hash}"),
        (say("plan.registered"), _registered(one, clock)),
    ]


def _registered(one: ExperimentView, clock: Clock) -> str:
    version = one.version
    return f"{version.registered_by} · {clock(version.registered_at)}"
