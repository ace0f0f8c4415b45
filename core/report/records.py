"""Sections of a review about people's records: plans, looks and decisions of the period."""

from collections.abc import Iterator

from core import format as fmt
from core.domain.experiments.look_record import TakenLook
from core.domain.experiments.versions import Marks
from core.domain.statistics.sums import Interval
from core.messages import say
from core.report import cells
from core.report.cells import moment
from core.report.document import Block, Cell, Column, Heading, Kind, Lines, Tone, table
from core.report.gate_words import evidence_line, is_rate, points
from core.views.review import PeriodReview
from core.views.review_records import DecisionEntry, LookEntry, PlanEntry

HASH_SHOWN = 12


def records(view: PeriodReview) -> Iterator[Block]:
    """Decisions first: they are what a meeting asks for."""
    yield Heading(say("review.decisions"))
    overrides = [one for one in view.records.decisions if one.override]
    if overrides:
        names = ", ".join(one.experiment for one in overrides)
        yield Lines((say("review.overrides", names=names),), Tone.WARNING)
    yield _decisions(view)
    yield Heading(say("review.looks"), level=3)
    yield _looks(view)
    yield Heading(say("review.plans"), level=3)
    yield _plans(view)
    yield Lines((say("review.records_note"),))


def _decisions(view: PeriodReview) -> Block:
    columns = [
        Column(say("col.time_utc")),
        Column(say("review.experiment")),
        Column(say("review.decision")),
        Column(say("review.verdict_then")),
        Column(say("review.override")),
        Column(say("review.reason_given"), wide=True),
        Column(say("col.by")),
        Column(say("review.plan_hash")),
    ]
    rows = [_decision(one) for one in view.records.decisions]
    return table("decisions", "", columns, rows, empty=say("review.undecided"))


def _decision(one: DecisionEntry) -> list[Cell]:
    return [
        cells.time(one.decided_at),
        Cell(one.experiment),
        Cell(say(f"decision.{one.decision}")),
        verdict(one.verdict),
        Cell(say("review.is_override"), Kind.BAD) if one.override else Cell(say("table.none")),
        cells.maybe(one.reason),
        cells.words(one.decided_by),
        cells.unknown() if one.plan_hash is None else Cell(short_hash(one.plan_hash)),
    ]


def verdict(value: str | None) -> Cell:
    """A verdict in words; a look that was not planned has none."""
    if value is None:
        return Cell(say("review.no_verdict"))
    return Cell(say(f"outcome.{value}"), Kind.BAD if value == "regression" else Kind.KNOWN)


def short_hash(plan_hash: str) -> str:
    """The beginning of a hash: enough to tell versions apart; the foot has them whole."""
    return plan_hash[:HASH_SHOWN]


def _looks(view: PeriodReview) -> Block:
    columns = [
        Column(say("col.time_utc")),
        Column(say("review.experiment")),
        Column(say("review.look"), numeric=True),
        Column(say("review.verdict")),
        Column(say("col.difference"), numeric=True),
        Column(say("review.holds"), wide=True),
        Column(say("col.by")),
    ]
    rows = [_look(one) for one in view.records.looks]
    return table("looks", "", columns, rows, empty=say("review.no_looks"))


def _look(one: LookEntry) -> list[Cell]:
    head = [cells.time(one.taken_at), Cell(one.experiment)]
    if one.taken is None:
        words = say("review.unreadable", fault=one.fault)
        return [*head, *[cells.unknown()] * 3, Cell(words, Kind.BAD), cells.unknown()]
    record = one.taken.record
    number = say("review.unplanned") if record.number is None else str(record.number)
    return [
        *head,
        Cell(number),
        verdict(record.verdict),
        estimate(one.taken, ratio=None if one.plan is None else is_rate(one.plan)),
        Cell("; ".join(evidence_line(line, moment) for line in record.holds) or say("table.none")),
        Cell(record.taken_by),
    ]


def estimate(look: TakenLook, *, ratio: bool | None) -> Cell:
    """New minus baseline with the interval of a look; ratio None: nobody knows its unit."""
    record = look.record
    if record.estimate is None or ratio is None:
        return cells.unknown()
    interval = None
    if record.lower is not None and record.upper is not None:
        interval = Interval(record.lower, record.upper)
    return Cell(fmt.points(record.estimate, interval, ratio=ratio), exact=record.estimate)


def _plans(view: PeriodReview) -> Block:
    columns = [
        Column(say("col.time_utc")),
        Column(say("review.experiment")),
        Column(say("review.version"), numeric=True),
        Column(say("review.title"), wide=True),
        Column(say("review.lever")),
        Column(say("review.margin"), numeric=True),
        Column(say("plan.marks"), wide=True),
        Column(say("col.by")),
        Column(say("review.plan_hash")),
    ]
    rows = [_plan(one) for one in view.records.plans]
    return table("plans", "", columns, rows, empty=say("review.no_plans"))


def _plan(one: PlanEntry) -> list[Cell]:
    head = [cells.time(one.registered_at), Cell(one.experiment), _version(one)]
    if one.version is None:
        words = say("review.unreadable", fault=one.fault)
        tail = [cells.unknown()] * 4
        return [*head, Cell(words, Kind.BAD), *tail, Cell(short_hash(one.plan_hash))]
    plan = one.version.plan
    rate = is_rate(plan)
    return [
        *head,
        Cell(plan.title),
        Cell(say(f"lever.{plan.lever}")),
        Cell(points(plan.margin, ratio=rate), exact=plan.margin),
        cells.unknown() if one.marks is None else marks(one.marks),
        Cell(one.version.registered_by),
        Cell(short_hash(one.plan_hash)),
    ]


def marks(found: Marks) -> Cell:
    """What was known when a version of a plan was registered."""
    said = []
    if found.registered_after_data:
        arms = ", ".join(say(f"of.{arm}") for arm in found.seen_arms)
        said.append(say("marks.after_data", arms=arms))
    if found.edited_after_data:
        said.append(say("marks.edited"))
    return Cell(" · ".join(said), Kind.BAD) if said else Cell(say("marks.none"))


def _version(one: PlanEntry) -> Cell:
    if one.number == 1:
        return Cell("1", exact=1)
    return Cell(say("review.edited", n=one.number), exact=one.number)
