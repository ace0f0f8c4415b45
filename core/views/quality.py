"""Quality: pass rates and scores by stratum, what they differ by, and who agrees with whom."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from core.cache.store import Reader, Store
from core.catalogue import kind_of
from core.config import EvaluatorSettings
from core.domain.observed import Observed, above_zero, below_zero
from core.domain.quality import CONFOUNDERS, Dimension, Estimand, SessionSums
from core.domain.scope import Scope
from core.domain.statistics.missing import Bounds
from core.domain.windows import WINDOW_S
from core.views.agreement import Agreement, agreements
from core.views.coarse_scores import CoarseScore, coarse_scores
from core.views.fleet import Fleet, load_fleet
from core.views.quality_association import Factor, FactorAssociation, factor_association
from core.views.quality_contrast import Contrast, contrast, usual_pair
from core.views.quality_rows import CrossedRow, QualityRow, crossed_rows, quality_rows
from core.views.quality_sums import (
    Asked,
    Series,
    quality_params,
    score_series,
    sums_of,
)
from core.views.requests import request_params

MOST_REQUESTS = 200


@dataclass(frozen=True)
class Question:
    """What the page was asked; None or a group that is not there: the usual one."""

    series: str | None = None
    estimand: Estimand = Estimand.CONTENT
    by: Dimension = Dimension.CACHED_RATIO
    across: Dimension = Dimension.TASK_TYPE
    only: tuple[tuple[Dimension, str], ...] = ()
    new: str | None = None
    base: str | None = None
    evaluators: tuple[EvaluatorSettings, ...] = ()
    window_s: int = WINDOW_S


@dataclass(frozen=True)
class Answer:
    """The requests of one series: rows by group, and what they differ by."""

    asked: Asked
    estimand: Estimand
    rows: tuple[QualityRow, ...]
    total: QualityRow
    bounds: Bounds | None
    """Of all requests, if every missing score were a fail, or a pass; None where unknown."""
    contrast: Contrast | None
    incomplete: Contrast | None
    """The same two groups, by the rate of incomplete requests, which is known of all."""
    association: FactorAssociation
    observed: tuple[Observed, ...]


@dataclass(frozen=True)
class QualityView:
    """Everything the Quality page shows, but for the requests of one cell."""

    fleet: Fleet
    requests_connected: bool
    series: tuple[Series, ...]
    task_types: tuple[str, ...]
    template_versions: tuple[str, ...]
    answer: Answer | None
    coarse: tuple[CoarseScore, ...]
    agreements: tuple[Agreement, ...]


@dataclass(frozen=True)
class ScoredRequest:
    """One request of a group: what it was, how it ended, and what the evaluator said."""

    observation_id: str
    session_id: str | None
    start_at: float
    model: str | None
    task_type: str
    template_version: str
    arm: str | None
    total_input: int | None
    cached_input: int | None
    state: str
    status: str
    passed: float | None
    value: float | None


@dataclass(frozen=True)
class CellRequests:
    """Requests of one group; `found` counts those that are not shown too."""

    found: int
    requests: tuple[ScoredRequest, ...] = ()


def build(store: Store, scope: Scope, now: float, question: Question) -> QualityView:
    """Read the cache for one scope and question; `now` is seconds since the epoch."""
    fleet = load_fleet(store, scope, now)
    every = score_series(store, fleet.window, question.evaluators)
    series = tuple(one for one in every if one.level == "observation")
    params = request_params(scope, fleet.window)
    choices = store.read("quality_choices", params)
    chosen = chosen_series(series, question.series)
    return QualityView(
        fleet=fleet,
        requests_connected=fleet.requests is not None,
        series=series,
        task_types=_known(row.task_type for row in choices),
        template_versions=_known(row.template_version for row in choices),
        answer=None if chosen is None else _answer(store, fleet, question, chosen),
        coarse=coarse_scores(store, every, params),
        agreements=agreements(store, params, series),
    )


def chosen_series(series: Sequence[Series], key: str | None) -> Series | None:
    """The series of a key, else one that says pass or fail of more than an answer's form.

    Of several, the one with most records.
    """
    named = next((one for one in series if one.key == key), None)
    ordered = sorted(series, key=_telling, reverse=True)
    return named if named is not None else next(iter(ordered), None)


FORM_KINDS = ("presence", "rule")
"""Kinds of scores that look at the form of an answer alone."""


def _telling(series: Series) -> tuple[bool, bool, int]:
    kind = kind_of(series.name, series.mapping.kind, series.source)
    return series.gradable, kind not in FORM_KINDS, series.records


def possible_estimand(series: Series, wanted: Estimand) -> Estimand:
    """The estimand asked for, or the one that this series allows."""
    if not series.gradable:
        return Estimand.MEAN
    return Estimand.CONTENT if wanted is Estimand.MEAN and not series.rated else wanted


def confounders(by: Dimension) -> tuple[Dimension, ...]:
    """What a table of one dimension may be standardised over, the usual one first.

    >>> confounders(Dimension.TASK_TYPE)[0].value
    'model'
    """
    return tuple(one for one in CONFOUNDERS if one is not by)


def asked_of(question: Question, series: Series) -> Asked:
    """The question to the cache: a table is not standardised over its own dimension."""
    others = confounders(question.by)
    across = question.across if question.across in others else others[0]
    return Asked(series, question.by, across, question.only, window_s=question.window_s)


def cell_requests(
    store: Store, scope: Scope, now: float, question: Question, value: str
) -> CellRequests:
    """The requests of one group of the table, those that failed first."""
    fleet = load_fleet(store, scope, now)
    series = score_series(store, fleet.window, question.evaluators)
    chosen = chosen_series([s for s in series if s.level == "observation"], question.series)
    if chosen is None:
        return CellRequests(0)
    params = quality_params(store, fleet, asked_of(question, chosen))
    params |= {"by_value": value, "across_value": None, "most": MOST_REQUESTS}
    rows = store.read("quality_requests", params)
    names = [one.name for one in fields(ScoredRequest)]
    listed = (ScoredRequest(*(getattr(row, name) for name in names)) for row in rows)
    return CellRequests(rows[0].found if rows else 0, tuple(listed))


def crossed(store: Store, scope: Scope, now: float, question: Question) -> tuple[CrossedRow, ...]:
    """The table crossed with the dimension it is standardised over."""
    fleet = load_fleet(store, scope, now)
    every = score_series(store, fleet.window, question.evaluators)
    series = chosen_series([s for s in every if s.level == "observation"], question.series)
    if series is None:
        return ()
    asked = asked_of(question, series)
    with store.reader() as reader:
        asked, sums = _sums(reader, quality_params(store, fleet, asked), asked)
    return crossed_rows(sums, asked, possible_estimand(series, question.estimand))


def _sums(reader: Reader, params: Mapping[str, object], asked: Asked) -> tuple[Asked, SessionSums]:
    """Sums of what is asked; where no request has a session, each stands alone."""
    sums = sums_of(reader.columns("quality_sums", params))
    tally = sums.tally(sums.everything)
    if tally.sessionless == tally.requests:
        asked = replace(asked, alone=True)
        sums = sums_of(reader.columns("quality_sums", {**params, "alone": True}))
    return asked, sums


def _answer(store: Store, fleet: Fleet, question: Question, series: Series) -> Answer:
    asked, estimand = asked_of(question, series), possible_estimand(series, question.estimand)
    params = quality_params(store, fleet, asked)
    factor = Factor.IDLE_GAP if question.by is Dimension.IDLE_GAP else Factor.CACHED_RATIO
    with store.reader() as reader:
        asked, sums = _sums(reader, params, asked)
        association = factor_association(reader, params, asked, factor)
    rows, total = quality_rows(sums, asked, estimand)
    found = _contrasts(question, asked, estimand, sums, rows)
    return Answer(
        asked=asked,
        estimand=estimand,
        rows=rows,
        total=total,
        bounds=sums.bounds(estimand, sums.everything),
        contrast=found[0],
        incomplete=found[1],
        association=association,
        observed=tuple(_observed(asked, rows, *found, association)),
    )


def _contrasts(
    question: Question,
    asked: Asked,
    estimand: Estimand,
    sums: SessionSums,
    rows: Sequence[QualityRow],
) -> tuple[Contrast | None, Contrast | None]:
    """The two groups that are compared, by their scores and by how many were incomplete."""
    if not asked.series.estimable:
        return None, None
    usual = usual_pair(asked.by, {row.value: row.tally.counts.ok for row in rows})
    there = {row.value for row in rows}
    new, base = (
        wanted if wanted in there else None if usual is None else usual[place]
        for place, wanted in enumerate((question.new, question.base))
    )
    if new is None or base is None or new == base:
        return None, None
    scores = contrast(
        sums,
        asked,
        lambda chosen: sums.sums(estimand, chosen),
        new=new,
        base=base,
        unbounded=estimand is Estimand.MEAN,
    )
    return scores, contrast(sums, asked, sums.incomplete, new=new, base=base)


def _observed(
    asked: Asked,
    rows: Sequence[QualityRow],
    scores: Contrast | None,
    incomplete: Contrast | None,
    association: FactorAssociation,
) -> Iterator[Observed]:
    """Which of the guide's observations the intervals of this page show.

    What they say of an order of groups holds whichever of the two was taken from the other.
    """
    overall = association.overall.interval
    if association.factor is Factor.CACHED_RATIO and (below_zero(overall) or above_zero(overall)):
        yield Observed.RATIO_WITH_SCORE
    if scores is None or incomplete is None:
        return
    compared = [row.value for row in rows if row.value in (scores.new, scores.base)]
    ordered = usual_pair(asked.by, dict.fromkeys(compared, 1))
    if ordered is None:
        return
    forward = ordered == (scores.new, scores.base)
    below, above = (below_zero, above_zero) if forward else (above_zero, below_zero)
    lower = below(scores.crude.interval)
    if asked.by is Dimension.IDLE_GAP and lower:
        yield Observed.LONG_GAP_LOW_SCORE
    if asked.by is Dimension.PREEMPT_WINDOW and (lower or above(incomplete.crude.interval)):
        yield Observed.PREEMPTION_WITH_WORSE
    if asked.by is Dimension.ARM and (lower or above(scores.crude.interval)):
        yield Observed.ARM_LOWER


def _known(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value is not None}))
