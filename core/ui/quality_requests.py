"""Below the strata: the requests of a group, coarser scores, and who agrees with whom."""

from core import format as fmt
from core.domain.statistics.proportion import Estimate
from core.messages import named, say
from core.report.words import series_words
from core.ui.frame import heading, time_axis, view
from core.ui.lookup import request_link
from core.ui.quality import chosen_cell
from core.ui.quality_choices import asked
from core.ui.request import lines
from core.ui.tables import Cell, Column, ranged, table
from core.views.agreement import Agreement
from core.views.coarse_scores import CoarseScore
from core.views.quality import MOST_REQUESTS, Answer, CellRequests, QualityView, cell_requests


def requests_panel(shown: QualityView, answer: Answer) -> None:
    """Requests of the group that was clicked or chosen, failed ones first."""
    value = chosen_cell(shown, answer)
    if value is not None:
        _requests(shown, value)


def _requests(shown: QualityView, value: str) -> None:
    found: CellRequests = view(cell_requests, asked(), value)
    zone = time_axis(shown.fleet).zone
    columns = [
        Column(say("col.time")),
        Column(say("col.observation")),
        Column(say("col.verdict")),
        Column(say("col.score"), numeric=True),
        Column(say("col.state")),
        Column(say("col.model")),
        Column(say("col.task_type")),
        Column(say("col.template")),
        Column(say("col.arm")),
        Column(say("col.cached_tokens"), numeric=True),
        Column(say("col.input_tokens"), numeric=True),
        Column(say("col.session")),
    ]
    rows: list[list[Cell]] = [
        [
            fmt.clock(r.start_at, zone, day=True),
            request_link(r.observation_id),
            _verdict(r.status, r.passed),
            None if r.value is None else fmt.score(r.value),
            named("completion.", r.state),
            r.model,
            r.task_type,
            r.template_version,
            r.arm,
            None if r.cached_input is None else fmt.quantity(r.cached_input),
            None if r.total_input is None else fmt.quantity(r.total_input),
            say("request.no_session") if r.session_id is None else request_link(r.session_id),
        ]
        for r in found.requests
    ]
    table("quality_requests", columns, rows, empty=say("quality.no_requests"))
    if found.found > len(found.requests):
        lines([say("quality.capped", n=found.found, most=MOST_REQUESTS)])


def _verdict(status: str, passed: float | None) -> str:
    if status != "ok" or passed is None:
        return say(f"status.{status}")
    if passed in (0.0, 1.0):
        return say("verdict.pass" if passed else "verdict.fail")
    return say("verdict.split", share=f"{passed * 100:.0f} %")


def agreement_panel(shown: QualityView) -> None:
    """Each evaluator against references and against its own repeats, by version."""
    heading(say("quality.agreement"), "evaluator_agreement", "repeat_agreement")
    columns = [
        Column(say("col.evaluator"), wide=True),
        Column(say("col.against"), wide=True),
        Column(say("col.requests"), numeric=True),
        Column(say("col.agreement"), numeric=True),
        Column(say("col.flips"), numeric=True),
        Column(say("col.kappa"), numeric=True),
        Column(say("col.ac_one"), numeric=True),
        Column(say("col.both_pass"), numeric=True),
        Column(say("col.only_first"), numeric=True),
        Column(say("col.only_second"), numeric=True),
        Column(say("col.both_fail"), numeric=True),
        Column(say("col.true_margin"), numeric=True),
    ]
    rows = [_agreement(one) for one in shown.agreements]
    table("quality_agreement", columns, rows, empty=say("quality.no_agreement"))
    lines([say("agreement.note")])


def _agreement(one: Agreement) -> list[Cell]:
    against = say("agreement.itself")
    if one.reference is not None:
        against = series_words(one.reference)
    return [
        series_words(one.series),
        against,
        one.requests,
        _rate(one.agreeing),
        say("table.none") if one.flips is None else _rate(one.flips),
        _coefficient(one.kappa, one.intervals.kappa),
        _coefficient(one.ac1, one.intervals.ac1),
        *one.table,
        _true_margin(one),
    ]


def _rate(found: Estimate) -> Cell:
    return None if found.estimate is None else ranged(found.estimate, found.interval, ratio=True)


def _coefficient(value: float | None, interval: tuple[float, float] | None) -> Cell:
    return None if value is None else ranged(value, interval, ratio=False)


def _true_margin(one: Agreement) -> Cell:
    """What a loss on the evaluator's scale stands for, if the reference is taken for the truth."""
    if one.reference is None:
        return say("table.none")
    if not one.known:
        return None
    if one.true_margin is None:
        return say("agreement.chance")
    if one.true_margin > 1:
        return say("agreement.beyond")
    return f"{one.true_margin * 100:.1f} pp"


def coarse_panel(shown: QualityView) -> None:
    """Scores about whole turns and sessions, which no request carries."""
    heading(say("quality.coarse"), "coarse_pass_rate")
    columns = [
        Column(say("col.score")),
        Column(say("col.level_of")),
        Column(say("col.mean"), numeric=True),
        Column(say("col.evaluated"), numeric=True),
        Column(say("col.evaluator_errors"), numeric=True),
        Column(say("col.sessions"), numeric=True),
        Column(say("col.notes"), wide=True),
    ]
    rows = [_coarse(one) for one in shown.coarse]
    table("quality_coarse", columns, rows, empty=say("quality.no_coarse"))
    lines([say("quality.coarse_note")])


def _coarse(one: CoarseScore) -> list[Cell]:
    found = one.estimate
    ratio = one.series.data_type == "BOOLEAN"
    said = [
        say(key, n=n)
        for key, n in (
            ("flag.sessionless", one.sessionless),
            ("flag.weightless", one.weightless),
            ("flag.conflicts", one.conflicts),
            ("flag.categories", one.categories),
        )
        if n
    ]
    return [
        series_words(one.series),
        say(f"level.{one.series.level}"),
        None if found.estimate is None else ranged(found.estimate, found.interval, ratio=ratio),
        one.scored + one.categories,
        one.errors,
        found.clusters,
        "; ".join(said) or say("table.none"),
    ]
