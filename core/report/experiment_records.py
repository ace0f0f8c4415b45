"""What was recorded of an experiment: decisions, looks, changes, versions of its plan."""

from collections.abc import Iterator

from core.domain.experiments.look_record import TakenLook
from core.messages import named, say
from core.report import cells
from core.report.cells import moment
from core.report.document import Block, Cell, Column, Heading, Kind, Lines, Tone, table
from core.report.gate_words import evidence_line, is_rate, verdict_words
from core.report.records import estimate, marks, short_hash, verdict
from core.views.experiment_log import StoredDecision
from core.views.experiments import Change, ExperimentView


def decisions(one: ExperimentView) -> Iterator[Block]:
    """Every decision, newest first, and whether it went past the gate."""
    yield Heading(say("decisions.title"))
    if any(made.override for made in one.log.decisions):
        yield Lines((say("review.overrides", names=one.plan.experiment),), Tone.WARNING)
    columns = [
        Column(say("col.time_utc")),
        Column(say("decisions.decision")),
        Column(say("col.by")),
        Column(say("review.verdict_then")),
        Column(say("decisions.override")),
        Column(say("decisions.reason"), wide=True),
        Column(say("plan.hash")),
    ]
    rows = [_decision(made) for made in one.log.decisions[::-1]]
    yield table("decisions", "", columns, rows, empty=say("decisions.none"))


def _decision(made: StoredDecision) -> list[Cell]:
    past = Cell(say("decisions.overrides"), Kind.BAD)
    return [
        cells.time(made.decided_at),
        Cell(named("decision.", made.decision)),
        cells.words(made.decided_by),
        verdict(made.verdict),
        past if made.override else Cell(say("decisions.follows")),
        cells.maybe(made.reason),
        cells.unknown() if made.plan_hash is None else Cell(short_hash(made.plan_hash)),
    ]


def looks(one: ExperimentView) -> Iterator[Block]:
    """Every look, planned or not, as it was recorded, newest first."""
    yield Heading(say("looks.title"))
    columns = [
        Column(say("col.time_utc")),
        Column(say("looks.number")),
        Column(say("col.by")),
        Column(say("review.verdict")),
        Column(say("looks.interval"), numeric=True),
        Column(say("looks.alone")),
        Column(say("looks.level"), numeric=True),
        Column(say("experiments.clusters"), numeric=True),
        Column(say("experiments.holds"), wide=True),
        Column(say("looks.reason")),
        Column(say("plan.hash")),
    ]
    rows = [_look(one, look) for look in one.log.looks.taken[::-1]]
    for broken in one.log.looks.broken:
        words = Cell(say("review.unreadable", fault=broken.fault), Kind.BAD)
        rest = [cells.unknown()] * (len(columns) - 2)
        rows.append([cells.time(broken.taken_at), words, *rest])
    yield table("looks", "", columns, rows, empty=say("looks.none"))


def _look(one: ExperimentView, look: TakenLook) -> list[Cell]:
    record = look.record
    planned = record.number is not None
    return [
        cells.time(look.taken_at),
        Cell(str(record.number) if planned else say("looks.not_planned")),
        Cell(record.taken_by),
        verdict(record.verdict),
        estimate(look, ratio=_is_rate(one, record.plan_hash)),
        Cell(verdict_words(record.interval_verdict) if planned else say("table.none")),
        Cell(say("looks.nothing_spent") if record.level is None else f"{record.level:.3g}"),
        Cell(f"{record.clusters_base} / {record.clusters_new}"),
        Cell("; ".join(evidence_line(line, moment) for line in record.holds) or say("table.none")),
        Cell(say(f"look_reason.{record.reason}")),
        Cell(short_hash(record.plan_hash)),
    ]


def _is_rate(one: ExperimentView, plan_hash: str) -> bool | None:
    """Whether a version of the plan is about a pass rate; None: it cannot be read."""
    version = one.log.history.by_hash(plan_hash)
    return None if version is None else is_rate(version.plan)


def logged_changes(one: ExperimentView) -> Iterator[Block]:
    """The lever log from registration on, newest first, with what each entry is to this."""
    yield Heading(say("experiments.changes"))
    columns = [
        Column(say("col.time_utc")),
        Column(say("col.change")),
        Column(say("col.what"), wide=True),
        Column(say("col.by")),
        Column(say("experiments.meaning"), wide=True),
        Column(say("col.link"), wide=True),
    ]
    rows = [_change(change) for change in one.changes[::-1]]
    yield table("changes", "", columns, rows, empty=say("experiments.no_changes"))
    notes = [evidence_line(note, moment) for note in one.evidence.notes if note.lever_id is None]
    if notes:
        yield Heading(say("experiments.notes"), level=3)
        yield Lines(tuple(notes))


def _change(change: Change) -> list[Cell]:
    found = change.origin == "found"
    meaning = say("experiments.elsewhere")
    if change.reason is not None:
        meaning = say(f"evidence.{change.reason}")
    return [
        cells.time(change.at),
        Cell(named("lever.", change.kind)),
        cells.words(change.what),
        Cell(say("table.found")) if found else cells.words(change.by_whom),
        Cell(meaning),
        cells.maybe(change.link),
    ]


def versions(one: ExperimentView) -> Iterator[Block]:
    """Every version of the plan, with what was known when it was registered."""
    yield Heading(say("plan.versions"))
    columns = [
        Column(say("plan.version"), numeric=True),
        Column(say("plan.registered")),
        Column(say("col.by")),
        Column(say("plan.hash")),
        Column(say("plan.marks"), wide=True),
    ]
    rows: list[list[Cell]] = [
        [
            Cell(str(version.number), exact=version.number),
            cells.time(version.registered_at),
            Cell(version.registered_by),
            Cell(short_hash(version.plan_hash)),
            marks(mark),
        ]
        for version, mark in zip(one.log.history.versions, one.marks, strict=True)
    ]
    for broken in one.log.history.broken:
        fault = Cell(say("review.unreadable", fault=broken.fault), Kind.BAD)
        number = Cell(str(broken.number), exact=broken.number)
        unknown = [cells.unknown(), cells.unknown()]
        rows.append([number, *unknown, Cell(short_hash(broken.plan_hash)), fault])
    yield table("versions", "", columns, rows, empty=say("table.none"))
