"""An experiment in words: its verdict, why it holds, the gate and the arms below it.

The page and the report say them the same way; a page gives its reader's clock.
"""

from collections.abc import Callable, Sequence

from core import format as fmt
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import TakenLook
from core.domain.experiments.plan import ExperimentPlan
from core.domain.quality import Estimand
from core.domain.statistics.gate import Verdict, alpha_of
from core.domain.statistics.missing import IntervalTippingPoint, Tips
from core.messages import named, say
from core.report.cells import count, unknown
from core.report.document import Cell, Dot
from core.report.rule_words import met_words
from core.views.experiment_gate import ArmQuality
from core.views.experiment_words import evidence_words
from core.views.experiments import ExperimentView

Clock = Callable[[float], str]
"""How a moment is written."""
SHARES = frozenset(
    {
        "coverage_below_minimum",
        "coverage_imbalance",
        "unknown_cluster_share",
        "session_in_both_arms",
        "dominant_cluster",
        "unknown_probability",
        "incomplete_rate_worse",
        "revision_changed",
        "revision_mixed",
        "revision_rare",
        "revision_unknown",
        "look_spends_nothing",
    }
)
"""Reasons whose figures are shares."""
TIMES = frozenset({"registered_after_data", "plan_missing"})
"""Reasons whose figures are moments."""
ARMS_TITLES = (say("col.figure"), say("experiments.base"), say("experiments.new"))


def is_rate(plan: ExperimentPlan) -> bool:
    """Whether the plan is about a pass rate, and not a mean."""
    return plan.estimand is not Estimand.MEAN


def verdict_words(verdict: Verdict | str | None) -> str:
    """A verdict in words; that there is none yet, in words too."""
    return say("outcome.none") if verdict is None else named("outcome.", verdict)


def standing_words(one: ExperimentView, clock: Clock) -> str:
    """At which look the verdict stands, and what comes next."""
    all_looks, stands = len(one.plan.looks), one.standing
    if stands.due is not None:
        return say("standing.due", n=stands.due, all=all_looks)
    last = one.last_look
    if last is None:
        return say("standing.before", n=stands.next, all=all_looks)
    words = say(
        "standing.taken",
        n=last.record.number,
        all=all_looks,
        at=clock(last.taken_at),
        by=last.record.taken_by,
    )
    if one.verdict is Verdict.HOLD and last.record.verdict is not Verdict.HOLD:
        before = verdict_words(last.record.verdict)
        words += " " + say("standing.since", verdict=before)
    return words


def warnings(one: ExperimentView) -> list[str]:
    """What a reader must know of the plan before its verdict."""
    said = met_words(one)
    if one.fleet.requests is not None and one.fleet.requests.state == "backfilling":
        said.append(say("experiments.reading"))
    if one.unread:
        said.append(say("experiments.unread"))
    if one.mark.registered_after_data:
        said.append(say("marks.after_data_long"))
    if one.mark.edited_after_data:
        said.append(say("marks.edited_long", n=len(one.log.history.versions)))
    if one.standing.missed:
        said.append(say("standing.missed", n=", ".join(map(str, one.standing.missed))))
    return said


def evidence_line(line: EvidenceLine, clock: Clock) -> str:
    """A reason to hold or a note, with its figures, its moment and what the data call it."""
    parts = [evidence_words(line)]
    if line.of is not None:
        parts[0] += f" ({named('of.', line.of)})"
    value, limit = (_figure(line.reason, n, clock) for n in (line.value, line.limit))
    if limit is not None:
        seen = say("cell.unknown") if value is None else value
        parts.append(say("experiments.against", value=seen, limit=limit))
    elif value is not None:
        parts.append(value)
    if line.at is not None and line.reason not in TIMES:
        parts.append(clock(line.at))
    return " · ".join([*parts, *([line.detail] if line.detail else [])])


def _figure(reason: str, value: float | None, clock: Clock) -> str | None:
    if value is None:
        return None
    if reason in TIMES:
        return clock(value)
    return f"{value * 100:.1f} %" if reason in SHARES else f"{value:.4g}"


def gate_dots(one: ExperimentView) -> list[Dot]:
    """The interval now, what missing scores could make of it, and planned looks before."""
    ratio = is_rate(one.plan)
    found, due = one.figures.difference, one.standing.due
    name = say("gate.now") if due is None else say("gate.due", n=due)
    note = say(f"undefined.{found.reason}") if found.reason else say("undefined.too_few_clusters")
    shown = [_dot(name, found.estimate, found.interval, note, ratio=ratio, faint=due is None)]
    missing = one.figures.missing
    if missing is not None and missing.interval is not None:
        shown.append(
            _dot(say("gate.worst"), found.estimate, missing.interval, "", ratio=ratio, faint=True)
        )
    joint = one.figures.joint
    if joint is not None:
        shown.append(
            _dot(say("gate.joint"), joint.estimate, joint.interval, "", ratio=ratio, faint=True)
        )
    return [*shown, *(_look_dot(look, ratio=ratio) for look in _looks(one))]


def _looks(one: ExperimentView) -> list[TakenLook]:
    """Planned looks at this version, newest first."""
    mine = [look for look in one.log.looks.taken if look.record.number is not None]
    return [look for look in mine[::-1] if look.record.plan_hash == one.version.plan_hash]


def _look_dot(look: TakenLook, *, ratio: bool) -> Dot:
    record = look.record
    interval = None
    if record.lower is not None and record.upper is not None:
        interval = (record.lower, record.upper)
    name = say("gate.look", n=record.number)
    return _dot(name, record.estimate, interval, say("cell.unknown"), ratio=ratio, faint=False)


def _dot(
    name: str,
    value: float | None,
    interval: tuple[float, float] | None,
    note: str,
    *,
    ratio: bool,
    faint: bool,
) -> Dot:
    if value is None or interval is None:
        return Dot(name, None, None, None, note)
    return Dot(name, value, *interval, fmt.points(value, interval, ratio=ratio), faint=faint)


def arm_rows(one: ExperimentView) -> list[list[Cell]]:
    """Both arms: estimate, counts, coverage and what is missing."""
    ratio, figures = is_rate(one.plan), one.figures
    arms = (figures.base, figures.new)

    def row(name: str, of: Sequence[Cell]) -> list[Cell]:
        return [Cell(name), *of]

    return [
        row(say(f"axis.{one.plan.estimand}"), [_estimate(a, ratio=ratio) for a in arms]),
        row(say("col.requests"), [count(a.tally.requests) for a in arms]),
        row(say("experiments.clusters"), [count(a.estimate.clusters) for a in arms]),
        row(say("col.scored"), [count(a.tally.counts.ok) for a in arms]),
        row(say("experiments.coverage"), [_share(a.tally.counts.coverage) for a in arms]),
        row(say("experiments.unscored"), [count(a.tally.counts.missing) for a in arms]),
        row(say("experiments.errors"), [count(a.tally.counts.evaluator_error) for a in arms]),
        row(say("experiments.incomplete"), [_share(a.tally.counts.incomplete_rate) for a in arms]),
        row(say("experiments.conflicts"), [count(a.tally.conflicts) for a in arms]),
    ]


def _estimate(arm: ArmQuality, *, ratio: bool) -> Cell:
    found = arm.estimate
    if found.estimate is None:
        return unknown()
    return Cell(fmt.estimate(found.estimate, found.interval, ratio=ratio), exact=found.estimate)


def _share(value: float | None) -> Cell:
    return unknown() if value is None else Cell(f"{value * 100:.1f} %", exact=value)


def gate_notes(one: ExperimentView) -> list[str]:
    """What the interval is, what stands beside it, and what missing scores could do."""
    ratio = is_rate(one.plan)
    figures, found = one.figures, one.figures.difference
    level = say(
        "gate.level",
        confidence=f"{figures.confidence * 100:.4g} %",
        alpha=f"{alpha_of(figures.confidence):.4g}",
        method=say(f"method.{found.method}"),
    )
    said = [level if one.standing.due else f"{level} {say('gate.not_decision')}"]
    if found.estimate is not None:
        difference = fmt.points(found.estimate, found.interval, ratio=ratio)
        margin = points(one.plan.margin, ratio=ratio)
        said.append(say("gate.difference", difference=difference, margin=margin))
        said += _on_the_line(one, ratio=ratio)
    said += [say(f"flag.{flag}") for flag in one.flags]
    said += [*_missing_notes(one, ratio=ratio), *_power_notes(one, ratio=ratio)]
    if not one.plan.higher_is_better:
        said.append(say("gate.turned"))
    if found.independence_assumed:
        said.append(say("gate.independence"))
    if one.plan.estimand is not Estimand.COMPOSITE:
        said += _complete_note(one)
    return said


def points(value: float, *, ratio: bool) -> str:
    """A margin or a bound in points of a rate, or in the unit of a score."""
    words = f"{value * 100:.4g} pp" if ratio else f"{value:.4g}"
    return words.replace("-", "−")


def _on_the_line(one: ExperimentView, *, ratio: bool) -> list[str]:
    """More digits where the limit and minus the margin look alike."""
    interval, margin = one.figures.difference.interval, one.plan.margin
    if interval is None or f"{interval.lower * 100:.2f}" != f"{-margin * 100:.2f}":
        return []
    exact = f"{interval.lower * 100:.6f} pp" if ratio else f"{interval.lower:.8f}"
    return [say("gate.exact", lower=exact)]


def _missing_notes(one: ExperimentView, *, ratio: bool) -> list[str]:
    missing = one.figures.missing
    if missing is None:
        return [say("missing.unknown")]
    said = []
    if missing.bounds is not None and missing.interval is not None:
        low, high = (points(n, ratio=ratio) for n in (missing.bounds.lower, missing.bounds.upper))
        said.append(say("missing.bounds", low=low, high=high))
    if missing.tips is not None and 0 <= missing.tips.rate <= 1:
        rate, gap = (f"{n * 100:.1f}".replace("-", "−") for n in missing.tips)
        said.append(say("missing.tips", rate=rate, gap=gap))
    tips = missing.interval_tips
    if tips is not None:
        said.append(_tips_words(tips))
    return said


def _tips_words(tips: IntervalTippingPoint) -> str:
    if tips.tips is Tips.NEVER_BREAKS:
        return say("missing.never_breaks")
    if tips.tips is Tips.NEVER_SAVES or tips.rate is None:
        return say("missing.never_saves")
    return say("missing.limit_at", rate=f"{tips.rate * 100:.1f}")


def _power_notes(one: ExperimentView, *, ratio: bool) -> list[str]:
    found = one.figures.detectable
    if found.margin is None:
        return []
    power = f"{found.power * 100:.0f} %"
    said = [say("power.margin", margin=points(found.margin, ratio=ratio), power=power)]
    if found.clusters_new is not None and found.clusters_base is not None:
        said.append(say("power.clusters", new=found.clusters_new, base=found.clusters_base))
    return said


def _complete_note(one: ExperimentView) -> list[str]:
    found = one.figures.complete
    if found.estimate is None:
        return []
    words = fmt.points(found.estimate, found.interval, ratio=True)
    limit = points(one.figures.complete_margin, ratio=True)
    return [say("gate.complete", words=words, limit=limit)]
