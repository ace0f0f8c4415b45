"""The review of one experiment as a document: verdict, efficiency beside the gate, records."""

from collections.abc import Iterator

from core.domain.statistics.gate import Verdict
from core.messages import named, say
from core.report import cells
from core.report.about import APP_VERSION, limits, sources, stamp, trouble
from core.report.arm_efficiency import efficiency_notes, efficiency_rows
from core.report.cells import moment
from core.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Intervals,
    Lines,
    Mark,
    Tone,
    blocks_of,
    table,
)
from core.report.experiment_records import decisions, logged_changes, looks, versions
from core.report.gate_words import (
    ARMS_TITLES,
    arm_rows,
    evidence_line,
    gate_dots,
    gate_notes,
    is_rate,
    standing_words,
    verdict_words,
    warnings,
)
from core.report.plan_words import plan_gate, plan_how, plan_what
from core.report.rule_words import RULE_TITLES, WIDE, are_shown, rule_notes, rule_rows
from core.report.words import series_words
from core.views.experiment_words import not_excluded
from core.views.experiments import ExperimentView
from core.views.review import ExperimentReview


def experiment_document(view: ExperimentReview, *, made_at: float) -> Document:
    """Everything a review of one experiment says; `made_at` is seconds since the epoch."""
    one = view.one
    parts = (
        trouble(view.sources),
        verdict(one),
        efficiency(one),
        gate(one),
        rules(one),
        regression(one),
        observed(one),
        decisions(one),
        looks(one),
        logged_changes(one),
        plan(one),
        versions(one),
        revisions(view),
        sources(view.sources),
        limits(),
    )
    return Document(
        title=say("review.experiment_document", title=one.plan.title),
        subtitle=say(
            "review.experiment_subtitle",
            name=one.plan.experiment,
            version=one.version.number,
            start=moment(one.plan.period.start),
            end=moment(one.plan.period.end),
        ),
        blocks=blocks_of(parts),
        about=tuple(_about(view)),
        made=say("review.made", at=moment(made_at)),
        name=f"prefixwatch-experiment-{one.plan.experiment}-{stamp(one.plan.period.start)}",
    )


def verdict(one: ExperimentView) -> Iterator[Block]:
    """The verdict that stands, why it holds, and what this comparison cannot exclude."""
    yield Heading(say("review.verdict_is", verdict=verdict_words(one.verdict)))
    tone = Tone.BAD if one.verdict is Verdict.REGRESSION else Tone.PLAIN
    yield Lines((standing_words(one, moment),), tone)
    told = [say("gate.told", verdict=verdict_words(one.told))] if _is_told(one) else []
    if said := (*told, *warnings(one)):
        yield Lines(said, Tone.WARNING)
    if one.holds:
        yield Heading(say("experiments.holds"), level=3)
        yield Lines(tuple(evidence_line(line, moment) for line in one.holds))
    if one.would_hold:
        yield Heading(say("experiments.would_hold"), level=3)
        yield Lines(tuple(evidence_line(line, moment) for line in one.would_hold))
    asked = say(f"lever_quality.{one.plan.quality}")
    yield Lines((asked, *not_excluded(one.plan.comparison)))


def _is_told(one: ExperimentView) -> bool:
    return one.verdict is Verdict.HOLD and one.told is not None


def efficiency(one: ExperimentView) -> Iterator[Block]:
    """Both arms, results first."""
    metrics = tuple(row.metric for row in one.efficiency)
    yield Heading(say("experiments.efficiency"), metrics=metrics)
    columns = [
        Column(say("col.figure"), wide=True),
        Column(say("experiments.base"), numeric=True),
        Column(say("experiments.new"), numeric=True),
        Column(say("experiments.delta"), numeric=True),
    ]
    yield table("efficiency", "", columns, efficiency_rows(one), empty=say("table.none"))
    yield Lines(tuple(efficiency_notes(one)))


def gate(one: ExperimentView) -> Iterator[Block]:
    """The interval against minus the margin and no difference, and the arms below."""
    ratio = is_rate(one.plan)
    yield Heading(say("experiments.gate"), metrics=("quality_difference",))
    yield Intervals(
        key="gate",
        title=say("review.gate_chart"),
        axis=say("axis.gate_pp" if ratio else "axis.gate"),
        dots=tuple(gate_dots(one)),
        span=None,
        signed=True,
        ratio=ratio,
        marks=(Mark(-one.plan.margin, say("gate.margin")), Mark(0.0, say("contrast.none"))),
    )
    columns = [Column(title, numeric=n > 0, wide=n == 0) for n, title in enumerate(ARMS_TITLES)]
    yield table("arms", "", columns, arm_rows(one), empty=say("table.none"))
    yield Lines(tuple(gate_notes(one)))


def rules(one: ExperimentView) -> Iterator[Block]:
    """Stop and rollback rules with what is known of each, and the way back."""
    if not are_shown(one):
        return
    yield Heading(say("plan_rules.title"))
    columns = [Column(title, wide=n in WIDE) for n, title in enumerate(RULE_TITLES)]
    yield table("rules", "", columns, rule_rows(one), empty=say("table.none"))
    yield Lines(tuple(rule_notes(one)))


def regression(one: ExperimentView) -> Iterator[Block]:
    """On a regression: requests to reproduce it from."""
    if not one.says_regression:
        return
    yield Heading(say("regression.title"))
    columns = [
        Column(say("col.time_utc")),
        Column(say("col.observation")),
        Column(say("col.verdict")),
        Column(say("col.state")),
        Column(say("col.task_type")),
        Column(say("col.template")),
        Column(say("col.session")),
    ]
    rows = [
        [
            cells.time(failed.start_at),
            Cell(failed.observation_id),
            Cell(say("verdict.fail") if failed.status == "ok" else named("status.", failed.status)),
            Cell(named("completion.", failed.state)),
            cells.words(failed.task_type),
            cells.words(failed.template_version),
            cells.maybe(failed.session_id),
        ]
        for failed in one.failing
    ]
    yield table("failing", "", columns, rows, empty=say("regression.none"))


def observed(one: ExperimentView) -> Iterator[Block]:
    """The guide's observations that this verdict and these hits show."""
    if not one.observed:
        return
    yield Heading(say("quality.observed"))
    columns = [
        Column(say("col.observation_seen"), wide=True),
        Column(say("col.explanations"), wide=True),
        Column(say("col.next_check"), wide=True),
    ]
    rows = [
        [say(f"observed.{row}"), say(f"explained.{row}"), say(f"next.{row}")]
        for row in one.observed
    ]
    yield table("observed", "", columns, rows, empty=say("table.none"))


def plan(one: ExperimentView) -> Iterator[Block]:
    """Everything that was fixed beforehand, rules and restore procedure among it."""
    yield Heading(say("plan.card"))
    columns = [Column(say("plan.part")), Column(say("plan.planned"), wide=True)]
    rows = [*plan_what(one, moment), *plan_gate(one.plan), *plan_how(one, moment)]
    yield table("plan", "", columns, rows, empty=say("table.none"))


def revisions(view: ExperimentReview) -> Iterator[Block]:
    """What the requests of each arm name."""
    yield Heading(say("review.revisions"))
    columns = [
        Column(say("review.arm")),
        Column(say("col.kind")),
        Column(say("review.revision"), wide=True),
        Column(say("col.requests"), numeric=True),
        Column(say("review.first_utc")),
        Column(say("review.last_utc")),
    ]
    rows = [
        [
            Cell(say(f"of.{one.arm}")),
            Cell(say(f"review.revision.{one.name}")),
            cells.unknown(say("review.not_named")) if one.revision is None else Cell(one.revision),
            cells.count(one.requests),
            cells.time(one.first_at),
            cells.time(one.last_at),
        ]
        for one in view.revisions
    ]
    yield table("revisions", "", columns, rows, empty=say("review.no_requests"))


def _about(view: ExperimentReview) -> Iterator[tuple[str, str]]:
    one = view.one
    watermark = one.watermark
    yield say("review.verdict"), verdict_words(one.verdict)
    if _is_told(one):
        yield say("looks.alone"), verdict_words(one.told)
    yield (
        say("review.as_of_requests"),
        say("cell.unknown") if watermark is None else moment(watermark),
    )
    newest = one.fleet.newest_sample_at
    yield say("review.as_of_engines"), say("cell.unknown") if newest is None else moment(newest)
    for version in one.log.history.versions:
        label = say("review.plan_of", experiment=one.plan.experiment, n=version.number)
        yield label, version.plan_hash
    yield say("review.evaluators"), series_words(one.series)
    yield say("review.app_version"), APP_VERSION
    yield say("review.schema"), str(view.schema)
