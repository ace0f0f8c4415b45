"""What was recorded of an experiment: looks, decisions, changes; and where to reproduce."""

from datetime import tzinfo

from core import format as fmt
from core.domain.experiments.arms import Arm, Dimension
from core.domain.experiments.look_record import TakenLook
from core.domain.scope import iso_minute
from core.messages import named, say
from core.report.gate_words import evidence_line, is_rate, verdict_words
from core.ui.experiment_plan import HASH_DIGITS
from core.ui.experiments import clock, moment
from core.ui.frame import heading, time_axis
from core.ui.lookup import request_link
from core.ui.request import lines
from core.ui.tables import Cell, Column, Link, PageLink, table
from core.views.experiment_arms import plan_scope, so_far
from core.views.experiment_log import ExperimentLog
from core.views.experiments import ExperimentsView, ExperimentView


def experiments_table(view: ExperimentsView) -> None:
    """All experiments with the verdict of their last planned look and their last decision."""
    heading(say("experiments.all"))
    zone = time_axis(view.fleet).zone
    columns = [
        Column(say("experiments.which"), wide=True),
        Column(say("plan.lever")),
        Column(say("plan.version")),
        Column(say("plan.registered")),
        Column(say("experiments.last_verdict")),
        Column(say("decisions.decision")),
    ]
    rows = [_experiment(log, zone, late=log.experiment in view.late) for log in view.logs]
    table("experiments", columns, rows, empty=say("experiments.none"))


def _experiment(log: ExperimentLog, zone: tzinfo, *, late: bool) -> list[Cell]:
    newest, made = log.history.newest, log.decisions[-1:]
    title = log.experiment if newest is None else f"{newest.plan.title} · {log.experiment}"
    decisions = [named("decision.", one.decision) for one in made]
    registered = None if newest is None else fmt.clock(newest.registered_at, zone, day=True)
    if late:
        registered = f"{registered} · {say('marks.late')}"
    return [
        PageLink(title, "experiments", {"experiment": log.experiment}),
        None if newest is None else say(f"lever.{newest.plan.lever}"),
        None if newest is None else newest.number,
        registered,
        verdict_words(log.verdict),
        *(decisions or [say("table.none")]),
    ]


def looks_log(one: ExperimentView) -> None:
    """Every look, planned or not, as it was recorded."""
    heading(say("looks.title"))
    columns = [
        Column(say("col.time")),
        Column(say("looks.number")),
        Column(say("col.by")),
        Column(say("col.verdict")),
        Column(say("looks.interval"), numeric=True),
        Column(say("looks.alone")),
        Column(say("looks.level"), numeric=True),
        Column(say("looks.information"), numeric=True),
        Column(say("experiments.clusters"), numeric=True),
        Column(say("experiments.holds"), wide=True),
        Column(say("looks.reason")),
        Column(say("looks.watermark")),
        Column(say("plan.hash")),
    ]
    rows = [_look(one, look) for look in one.log.looks.taken[::-1]]
    rows += [
        [moment(one, broken.taken_at), broken.fault, *[None] * (len(columns) - 2)]
        for broken in one.log.looks.broken
    ]
    table("experiment_looks", columns, rows, empty=say("looks.none"))


def _look(one: ExperimentView, look: TakenLook) -> list[Cell]:
    record = look.record
    number = (
        say("looks.not_planned")
        if record.number is None
        else say("looks.of", n=record.number, all=_looks_of(one, record.plan_hash))
    )
    return [
        moment(one, look.taken_at),
        number,
        record.taken_by,
        say("looks.no_verdict") if record.verdict is None else verdict_words(record.verdict),
        _interval(one, look),
        say("table.none") if record.verdict is None else verdict_words(record.interval_verdict),
        say("looks.nothing_spent") if record.level is None else f"{record.level:.3g}",
        _information(look),
        f"{record.clusters_base} / {record.clusters_new}",
        "; ".join(evidence_line(line, clock(one)) for line in record.holds) or say("table.none"),
        say(f"look_reason.{record.reason}"),
        None if record.watermark is None else moment(one, record.watermark),
        record.plan_hash[:HASH_DIGITS],
    ]


def _looks_of(one: ExperimentView, plan_hash: str) -> str:
    version = one.log.history.by_hash(plan_hash)
    return say("cell.unknown") if version is None else str(len(version.plan.looks))


def _interval(one: ExperimentView, look: TakenLook) -> Cell:
    record, version = look.record, one.log.history.by_hash(look.record.plan_hash)
    if record.estimate is None or version is None:
        return None
    interval = None
    if record.lower is not None and record.upper is not None:
        interval = (record.lower, record.upper)
    return fmt.points(record.estimate, interval, ratio=is_rate(version.plan))


def _information(look: TakenLook) -> Cell:
    record = look.record
    planned = "" if record.information_planned is None else f" / {record.information_planned:.0%}"
    if record.information is None:
        return None
    return f"{record.information:.0%}{planned}"


def decisions_log(one: ExperimentView) -> None:
    """Every decision with who made it, and whether it went past the gate."""
    heading(say("decisions.title"))
    columns = [
        Column(say("col.time")),
        Column(say("decisions.decision")),
        Column(say("col.by")),
        Column(say("col.verdict")),
        Column(say("decisions.override")),
        Column(say("decisions.reason"), wide=True),
        Column(say("plan.hash")),
    ]
    rows: list[list[Cell]] = [
        [
            moment(one, made.decided_at),
            named("decision.", made.decision),
            made.decided_by,
            verdict_words(made.verdict),
            say("decisions.overrides" if made.override else "decisions.follows"),
            made.reason or say("table.none"),
            say("table.none") if made.plan_hash is None else made.plan_hash[:HASH_DIGITS],
        ]
        for made in one.log.decisions[::-1]
    ]
    table("experiment_decisions", columns, rows, empty=say("decisions.none"))


def changes_log(one: ExperimentView) -> None:
    """The lever log from registration on, with what each entry is to the experiment."""
    heading(say("experiments.changes"))
    columns = [
        Column(say("col.time")),
        Column(say("col.change")),
        Column(say("col.what"), wide=True),
        Column(say("col.by")),
        Column(say("experiments.meaning"), wide=True),
    ]
    rows: list[list[Cell]] = [
        [
            moment(one, change.at),
            named("lever.", change.kind),
            Link(change.what, change.link),
            say("table.found") if change.origin == "found" else change.by_whom,
            say("experiments.elsewhere")
            if change.reason is None
            else say(f"evidence.{change.reason}"),
        ]
        for change in one.changes[::-1]
    ]
    table("experiment_changes", columns, rows, empty=say("experiments.no_changes"))
    notes = [
        evidence_line(note, clock(one)) for note in one.evidence.notes if note.lever_id is None
    ]
    if notes:
        heading(say("experiments.notes"))
        lines(notes, "pw-list")


def regression_panel(one: ExperimentView) -> None:
    """On a regression: requests to reproduce it from."""
    if not one.says_regression:
        return
    heading(say("regression.title"))
    columns = [
        Column(say("col.time")),
        Column(say("col.observation")),
        Column(say("col.verdict")),
        Column(say("col.state")),
        Column(say("col.task_type")),
        Column(say("col.template")),
        Column(say("col.session")),
    ]
    rows: list[list[Cell]] = [
        [
            moment(one, failed.start_at),
            request_link(failed.observation_id),
            say("verdict.fail") if failed.status == "ok" else named("status.", failed.status),
            named("completion.", failed.state),
            failed.task_type,
            failed.template_version,
            say("request.no_session")
            if failed.session_id is None
            else request_link(failed.session_id),
        ]
        for failed in one.failing
    ]
    table("experiment_failing", columns, rows, empty=say("regression.none"))
    table(
        "experiment_quality",
        [Column(say("regression.where"), wide=True)],
        [[quality_link(one)]],
    )


def quality_link(one: ExperimentView) -> PageLink:
    """The Quality page on the new arm: its labels, its time, its score."""
    plan = one.plan
    scope, window = plan_scope(plan, one.now, Arm.NEW), so_far(plan, one.now, Arm.NEW)
    query = {
        "score": one.series.key,
        "estimand": plan.estimand.value,
        "by": "task_type",
        "from": iso_minute(window.start),
        "to": iso_minute(max(window.end, window.start + 60)),
    }
    labels = {name: getattr(scope, name) for name in ("cluster", "namespace", "model")}
    query |= {name: value for name, value in labels.items() if value is not None}
    value = plan.arms.value_of(Arm.NEW)
    if value is not None and plan.arms.dimension is Dimension.ARM:
        query["arm"] = value
    if value is not None and plan.arms.dimension is Dimension.TEMPLATE_VERSION:
        query["template"] = value
    return PageLink(say("regression.quality"), "quality", query)


def observed_table(one: ExperimentView) -> None:
    """The guide's observation rows that this verdict and these hits show."""
    if not one.observed:
        return
    heading(say("quality.observed"))
    columns = [
        Column(say("col.observation_seen"), wide=True),
        Column(say("col.explanations"), wide=True),
        Column(say("col.next_check"), wide=True),
    ]
    table(
        "experiment_observed",
        columns,
        [
            [say(f"observed.{row}"), say(f"explained.{row}"), say(f"next.{row}")]
            for row in one.observed
        ],
    )
