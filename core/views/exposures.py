"""Requests by what they were exposed to, their scores, and the requests over one window."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.scope import Scope, Window
from core.domain.windows import Preempt, Rule
from core.views.engine_windows import LONGEST_S, scrape_intervals, tolerance_of
from core.views.fleet import Fleet, load_fleet
from core.views.requests import request_params
from core.views.window_rule import WindowRule

STATES = (Preempt.ONE, Preempt.ZERO, Preempt.UNKNOWN)
MOST_REQUESTS = 200
BOOLEAN = "BOOLEAN"


@dataclass(frozen=True)
class ExposureRow:
    """Requests of one exposure: how they ended, and how long they took."""

    exposure: Preempt
    requests: int
    engine_level: int
    pod_level: int
    pool_level: int
    incomplete: Reading
    cancelled: int
    timeouts: int
    other_errors: int
    unfinished: int
    ttft_p50: Reading
    ttft_p95: Reading
    first_tokens: int
    whole_latencies: int
    latency_p50: Reading
    latency_p95: Reading
    ended: int
    sessions: int


@dataclass(frozen=True)
class ScoreRow:
    """One score of the complete requests of one exposure."""

    name: str
    evaluator: str
    evaluator_version: str | None
    exposure: Preempt
    value: Reading
    requests: int
    sessions: int
    evaluator_errors: int


@dataclass(frozen=True)
class OverlapLine:
    """One request over a window."""

    observation_id: str
    session_id: str | None
    start_at: float
    end_at: float | None
    model: str | None
    attribution: str
    state: str
    error_kind: str | None


@dataclass(frozen=True)
class Overlap:
    """Requests over one window of one engine; `found` counts those that are not shown too."""

    found: int
    requests: tuple[OverlapLine, ...]


def exposures(store: Store, fleet: Fleet, rule: WindowRule) -> tuple[ExposureRow, ...]:
    """Always three rows: 1, 0 and unknown."""
    found = {row.exposure: row for row in store.read("requests_by_exposure", _params(fleet, rule))}
    absent = fleet.no_requests()
    return tuple(
        _row(state, found[state]) if state in found else _empty(state, absent) for state in STATES
    )


def scores(store: Store, fleet: Fleet, rule: WindowRule) -> tuple[ScoreRow, ...]:
    """Three rows for every score, evaluator and version that any complete request has."""
    found: dict[tuple[str, str, str | None, str], dict[str, Row]] = {}
    for row in store.read("scores_by_exposure", _params(fleet, rule)):
        key = (row.name, row.evaluator, row.evaluator_version, row.data_type)
        found.setdefault(key, {})[row.exposure] = row
    return tuple(
        _score(key, state, rows.get(state)) for key, rows in found.items() for state in STATES
    )


def overlapping(
    store: Store, scope: Scope, now: float, engine_id: int, start: int, end: int, window_s: int
) -> Overlap:
    """Requests that overlap the whole windows from `start` to `end` of one engine."""
    fleet = load_fleet(store, scope, now)
    interval = max(scrape_intervals(store, fleet).values(), default=None)
    rule = WindowRule(Rule(window_s), None, tolerance_of(fleet, interval))
    reach = int(rule.tolerance_s) + 1
    params = request_params(scope, Window(start - LONGEST_S - reach, end + reach)) | rule.overlap
    params |= {"engine_id": engine_id, "window_at": start, "window_end": end, "most": MOST_REQUESTS}
    rows = store.read("requests_over_window", params)
    return Overlap(rows[0].found if rows else 0, tuple(_line(row) for row in rows))


def _params(fleet: Fleet, rule: WindowRule) -> dict[str, object]:
    return request_params(fleet.scope, fleet.window) | rule.windows | rule.overlap


def _row(state: Preempt, row: Row) -> ExposureRow:
    return ExposureRow(
        exposure=state,
        requests=row.requests,
        engine_level=row.engine_level,
        pod_level=row.pod_level,
        pool_level=row.pool_level,
        incomplete=ratio_of_sums("incomplete_rate", row.incomplete, row.requests),
        cancelled=row.cancelled,
        timeouts=row.timeouts,
        other_errors=row.other_errors,
        unfinished=row.unfinished,
        ttft_p50=_seconds("request_ttft", row.ttft_p50, Reason.NOT_MEASURED),
        ttft_p95=_seconds("request_ttft", row.ttft_p95, Reason.NOT_MEASURED),
        first_tokens=row.first_tokens,
        whole_latencies=row.whole_latencies,
        latency_p50=_seconds("request_latency", row.latency_p50, Reason.NOT_MEASURED),
        latency_p95=_seconds("request_latency", row.latency_p95, Reason.NOT_MEASURED),
        ended=row.ended,
        sessions=row.sessions,
    )


def _empty(state: Preempt, absent: Reason) -> ExposureRow:
    """The row of an exposure that no request has."""
    ttft, latency = (Reading(m, None, absent) for m in ("request_ttft", "request_latency"))
    return ExposureRow(
        exposure=state,
        incomplete=Reading("incomplete_rate", None, absent),
        ttft_p50=ttft,
        ttft_p95=ttft,
        latency_p50=latency,
        latency_p95=latency,
        **dict.fromkeys(
            (
                *("requests", "engine_level", "pod_level", "pool_level", "cancelled", "timeouts"),
                *("other_errors", "unfinished", "first_tokens", "whole_latencies", "ended"),
                "sessions",
            ),
            0,
        ),
    )


def _seconds(metric: str, value: float | None, absent: Reason) -> Reading:
    return Reading(metric, None, absent) if value is None else Reading(metric, value)


def _score(key: Sequence[str | None], state: Preempt, row: Row | None) -> ScoreRow:
    name, evaluator, version, data_type = key
    metric = "pass_rate" if data_type == BOOLEAN else "score_mean"
    value = (
        Reading(metric, None, Reason.NOT_MEASURED)
        if row is None or not row.requests
        else ratio_of_sums(metric, row.value_sum, row.requests, at_most_one=data_type == BOOLEAN)
    )
    return ScoreRow(
        name=str(name),
        evaluator=str(evaluator),
        evaluator_version=version,
        exposure=state,
        value=value,
        requests=0 if row is None else row.requests,
        sessions=0 if row is None else row.sessions,
        evaluator_errors=0 if row is None else row.evaluator_errors,
    )


def _line(row: Row) -> OverlapLine:
    return OverlapLine(
        observation_id=row.observation_id,
        session_id=row.session_id,
        start_at=row.start_at,
        end_at=row.end_at,
        model=row.model,
        attribution=row.attribution,
        state=row.state,
        error_kind=row.error_kind,
    )
