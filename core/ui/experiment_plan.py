"""The plan of an experiment as a card, and all versions of it."""

import streamlit as st

from core.catalogue import METRICS
from core.domain.experiments.arms import Arm, ByTime
from core.domain.experiments.plan import ExperimentPlan
from core.domain.quality import Estimand
from core.domain.statistics.gate import confidence_of
from core.messages import say
from core.ui.experiments import moment
from core.ui.frame import grid, heading
from core.ui.tables import Cell, Column, table
from core.views.experiment_sizes import sample_plan_of
from core.views.experiment_words import lever_guide
from core.views.experiments import ExperimentView

HASH_DIGITS = 12


def plan_card(one: ExperimentView) -> None:
    """Everything that was fixed beforehand, in two columns."""
    heading(say("plan.card"))
    left, right = grid("plan_card", 1, 1)
    with left:
        _table("plan_what", [*_what(one), *_gate(one.plan)])
    with right:
        _table("plan_how", _how(one))


def _table(key: str, rows: list[list[Cell]]) -> None:
    table(key, [Column(say("plan.part")), Column(say("plan.planned"), wide=True)], rows, whole=True)


def _what(one: ExperimentView) -> list[list[Cell]]:
    plan = one.plan
    guide = lever_guide(plan.lever, plan.arms.dimension)
    return [
        [say("plan.title"), plan.title],
        [say("plan.lever"), say(f"lever.{plan.lever}")],
        [say("plan.path"), plan.path],
        [say("plan.guide"), guide.path],
        [say("plan.watch"), guide.watch],
        [say("plan.comparison"), say(f"comparison.{plan.comparison}")],
        [say("plan.arms"), _arms(one)],
        [say("plan.labels"), _labels(plan)],
        [say("plan.unit"), say(f"unit.{plan.unit}")],
    ]


def _arms(one: ExperimentView) -> str:
    split = one.plan.arms.split
    if isinstance(split, ByTime):
        return say(
            "plan.arms_time",
            base_from=moment(one, split.base.start),
            base_to=moment(one, split.base.end),
            new_from=moment(one, split.new.start),
            new_to=moment(one, split.new.end),
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


def _gate(plan: ExperimentPlan) -> list[list[Cell]]:
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
        [say("plan.primary"), f"{primary.name} · {primary.evaluator} · {version} · {direction}"],
        [say("plan.estimand"), say(f"estimand.{plan.estimand}")],
        [say("plan.margin"), margin],
        [say("plan.alpha"), level],
        [say("plan.efficiency_metric"), _metric(plan.efficiency_metric)],
        [say("plan.minimum"), say("plan.minimum_words", clusters=plan.minimum_clusters,
                                  coverage=f"{plan.minimum_coverage * 100:.4g} %")],
        [say("plan.sample"), _sample(plan)],
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


def _how(one: ExperimentView) -> list[list[Cell]]:
    plan, version = one.plan, one.version
    looks = ", ".join(
        f"{look.fraction:.0%}" + ("" if look.at is None else f" ({moment(one, look.at)})")
        for look in plan.looks
    )
    revisions = ", ".join(f"{name} {value}" for name, value in plan.revisions)
    return [
        [say("plan.looks"), f"{looks} · {say(f'spending.{plan.spending}')}"],
        [say("plan.period"), f"{moment(one, plan.period.start)} – {moment(one, plan.period.end)}"],
        [say("plan.load_cycle"), plan.load_cycle or say("plan.not_said")],
        [say("plan.promote_rules"), " · ".join(plan.promote_rules)],
        [say("plan.stop_rules"), " · ".join(plan.stop_rules)],
        [say("plan.rollback_rules"), " · ".join(plan.rollback_rules)],
        [say("plan.previous_settings"), plan.previous_settings],
        [say("plan.restore_procedure"), plan.restore_procedure],
        [say("plan.revisions"), revisions or say("plan.not_said")],
        [say("plan.author"), plan.author],
        [say("plan.version"), f"{version.number} · {version.plan_hash}"],
        [say("plan.registered"), _registered(one)],
    ]


def _registered(one: ExperimentView) -> str:
    version = one.version
    return f"{version.registered_by} · {moment(one, version.registered_at)}"


def versions_panel(one: ExperimentView) -> None:
    """Every version of the plan, with what was known when it was registered, and its text."""
    heading(say("plan.versions"))
    columns = [
        Column(say("plan.version")),
        Column(say("plan.registered")),
        Column(say("col.by")),
        Column(say("plan.hash")),
        Column(say("plan.marks"), wide=True),
    ]
    pairs = zip(one.log.history.versions, one.marks, strict=True)
    rows: list[list[Cell]] = []
    for version, mark in pairs:
        flags = []
        if mark.registered_after_data:
            arms = ", ".join(say(f"of.{arm}") for arm in mark.seen_arms)
            flags.append(say("marks.after_data", arms=arms))
        if mark.edited_after_data:
            flags.append(say("marks.edited"))
        rows.append(
            [
                version.number,
                moment(one, version.registered_at),
                version.registered_by,
                version.plan_hash[:HASH_DIGITS],
                " · ".join(flags) if flags else say("marks.none"),
            ]
        )
    rows += [
        [broken.number, None, None, broken.plan_hash[:HASH_DIGITS], broken.fault]
        for broken in one.log.history.broken
    ]
    table("plan_versions", columns, rows)
    for version in one.log.history.versions:
        with st.expander(say("plan.text", n=version.number)):
            body = version.plan.model_dump_json(indent=2)
            st.code(body, language="json", wrap_lines=True)
            st.download_button(
                say("plan.download"),
                version.plan.to_json(),
                file_name=f"{version.plan.experiment}-v{version.number}.json",
                mime="application/json",
                key=f"plan_json_{version.number}",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
            )
