"""One experiment: which, its verdict in words, the gate's picture and what stands beside it."""

from collections.abc import Sequence

import streamlit as st

from core import charts, runtime
from core import format as fmt
from core.charts import Dot
from core.demo import evaluators_of
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.look_record import TakenLook
from core.domain.quality import Estimand
from core.domain.statistics.gate import Verdict, alpha_of
from core.domain.statistics.missing import IntervalTippingPoint, Tips
from core.messages import named, say
from core.ui.choices import choice
from core.ui.frame import chart, heading, info, time_axis
from core.ui.request import lines
from core.ui.style import escaped, plain
from core.ui.tables import Cell, Column, table
from core.views.experiment_gate import ArmQuality
from core.views.experiment_log import ExperimentLog
from core.views.experiment_words import evidence_words, not_excluded
from core.views.experiments import ExperimentsView, ExperimentView, Question

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


def experiment_asked() -> Question:
    """Which experiment the URL names, and how scores are read."""
    return Question(
        experiment=st.query_params.get("experiment"),
        evaluators=evaluators_of(runtime.running().settings),
    )


def experiment_bar(view: ExperimentsView) -> ExperimentView | None:
    """All experiments, and the box to choose one; None, with the reason, where none is shown."""
    if not view.logs:
        info(say("experiments.empty"))
        return None
    names = {log.experiment: _title(log) for log in view.logs}
    choice("experiment", say("experiments.which"), list(names), words=names.__getitem__)
    if view.log is not None and view.one is None:
        fault = "; ".join(one.fault for one in view.log.history.broken)
        st.error(plain(say("experiments.broken", fault=fault)))
    return view.one


def _title(log: ExperimentLog) -> str:
    newest = log.history.newest
    verdict = verdict_words(log.verdict)
    if newest is None:
        return log.experiment
    return say("experiments.entry", title=newest.plan.title, name=log.experiment, verdict=verdict)


def verdict_words(verdict: Verdict | str | None) -> str:
    """A verdict in words; that there is none yet, in words too."""
    return say("outcome.none") if verdict is None else named("outcome.", verdict)


def verdict_panel(one: ExperimentView) -> None:
    """The verdict that stands, large; why it holds; and what this comparison cannot exclude."""
    kind = "none" if one.verdict is None else one.verdict.value
    st.html(
        f'<div class="pw-verdict {kind}"><div class="v">{escaped(verdict_words(one.verdict))}'
        f'</div><div class="t">{escaped(_standing_words(one))}</div></div>'
    )
    if one.verdict is Verdict.HOLD and one.told is not None:
        st.warning(plain(say("gate.told", verdict=verdict_words(one.told))))
    for words in _warnings(one):
        st.warning(plain(words))
    if one.holds:
        heading(say("experiments.holds"))
        lines([evidence_line(one, line) for line in one.holds], "pw-list")
    if one.would_hold:
        heading(say("experiments.would_hold"))
        lines([evidence_line(one, line) for line in one.would_hold], "pw-list")
    asked = say(f"lever_quality.{one.plan.quality}")
    lines([asked, *not_excluded(one.plan.comparison)])


def _standing_words(one: ExperimentView) -> str:
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
        at=moment(one, last.taken_at),
        by=last.record.taken_by,
    )
    if one.verdict is Verdict.HOLD and last.record.verdict is not Verdict.HOLD:
        before = verdict_words(last.record.verdict)
        words += " " + say("standing.since", verdict=before)
    return words


def _warnings(one: ExperimentView) -> list[str]:
    said = []
    if one.fleet.requests is not None and one.fleet.requests.state == "backfilling":
        said.append(say("experiments.reading"))
    if one.mark.registered_after_data:
        said.append(say("marks.after_data_long"))
    if one.mark.edited_after_data:
        said.append(say("marks.edited_long", n=len(one.log.history.versions)))
    if one.standing.missed:
        said.append(say("standing.missed", n=", ".join(map(str, one.standing.missed))))
    return said


def moment(one: ExperimentView, at: float) -> str:
    """A moment in the reader's zone, with its day."""
    return fmt.clock(at, time_axis(one.fleet).zone, day=True)


def evidence_line(one: ExperimentView, line: EvidenceLine) -> str:
    """A reason to hold or a note, with its figures, its moment and what the data call it."""
    parts = [evidence_words(line)]
    if line.of is not None:
        parts[0] += f" ({named('of.', line.of)})"
    value, limit = (_figure(one, line.reason, n) for n in (line.value, line.limit))
    if limit is not None:
        seen = say("cell.unknown") if value is None else value
        parts.append(say("experiments.against", value=seen, limit=limit))
    elif value is not None:
        parts.append(value)
    if line.at is not None and line.reason not in TIMES:
        parts.append(moment(one, line.at))
    return " · ".join([*parts, *([line.detail] if line.detail else [])])


def _figure(one: ExperimentView, reason: str, value: float | None) -> str | None:
    if value is None:
        return None
    if reason in TIMES:
        return moment(one, value)
    return f"{value * 100:.1f} %" if reason in SHARES else f"{value:.4g}"


def gate_panel(one: ExperimentView) -> None:
    """The interval against minus the margin and 0, looks before it, and the arms below."""
    heading(say("experiments.gate"), "quality_difference")
    ratio = one.plan.estimand is not Estimand.MEAN
    figure = charts.gate(
        _dots(one, ratio=ratio),
        say("axis.gate_pp" if ratio else "axis.gate"),
        margin=one.plan.margin,
        names=(say("gate.margin"), say("contrast.none")),
        tick_format="+.1%" if ratio else "+.2f",
    )
    chart("experiment_gate", figure)
    _arms_table(one, ratio=ratio)
    lines(_gate_notes(one, ratio=ratio))


def _dots(one: ExperimentView, *, ratio: bool) -> list[Dot]:
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


def _arms_table(one: ExperimentView, *, ratio: bool) -> None:
    figures = one.figures
    columns = [
        Column(say("col.figure"), wide=True),
        Column(say("experiments.base"), numeric=True),
        Column(say("experiments.new"), numeric=True),
    ]

    def row(name: str, of: Sequence[Cell]) -> list[Cell]:
        return [name, *of]

    arms = (figures.base, figures.new)
    rows = [
        row(say(f"axis.{one.plan.estimand}"), [_estimate(a, ratio=ratio) for a in arms]),
        row(say("col.requests"), [a.tally.requests for a in arms]),
        row(say("experiments.clusters"), [a.estimate.clusters for a in arms]),
        row(say("col.scored"), [a.tally.counts.ok for a in arms]),
        row(say("experiments.coverage"), [_share(a.tally.counts.coverage) for a in arms]),
        row(say("experiments.unscored"), [a.tally.counts.missing for a in arms]),
        row(say("experiments.errors"), [a.tally.counts.evaluator_error for a in arms]),
        row(say("experiments.incomplete"), [_share(a.tally.counts.incomplete_rate) for a in arms]),
        row(say("experiments.conflicts"), [a.tally.conflicts for a in arms]),
    ]
    table("experiment_arms", columns, rows)


def _estimate(arm: ArmQuality, *, ratio: bool) -> Cell:
    found = arm.estimate
    if found.estimate is None:
        return None
    return fmt.estimate(found.estimate, found.interval, ratio=ratio)


def _share(value: float | None) -> Cell:
    return None if value is None else f"{value * 100:.1f} %"


def _gate_notes(one: ExperimentView, *, ratio: bool) -> list[str]:
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
        margin = _points(one.plan.margin, ratio=ratio)
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


def _points(value: float, *, ratio: bool) -> str:
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
        low, high = (_points(n, ratio=ratio) for n in (missing.bounds.lower, missing.bounds.upper))
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
    said = [say("power.margin", margin=_points(found.margin, ratio=ratio), power=power)]
    if found.clusters_new is not None and found.clusters_base is not None:
        said.append(say("power.clusters", new=found.clusters_new, base=found.clusters_base))
    return said


def _complete_note(one: ExperimentView) -> list[str]:
    found = one.figures.complete
    if found.estimate is None:
        return []
    words = fmt.points(found.estimate, found.interval, ratio=True)
    limit = _points(one.figures.complete_margin, ratio=True)
    return [say("gate.complete", words=words, limit=limit)]
