"""Everything the cache holds about one request: attempts, turn, usage, engine, scores."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.unknowns import Facts, Unknown, is_whole_latency, unknowns
from core.domain.usage import Status
from core.domain.windows import Preempt, Rule
from core.views.engine_windows import EngineWindows, Place, engine_windows

MOST_ATTEMPTS = 50
MOST_OBSERVATIONS = 200
MOST_BARS = 24
MOST_SCORES = 200
DAY_S = 86_400
"""Attempts and observations are looked for within a day of the request."""
BUCKET = re.compile(r'("(?:[^"\\]|\\.)*"): ("(?:[^"\\]|\\.)*"|[^,}]*)')


@dataclass(frozen=True)
class Request:
    """One row of requests, as cached; times in seconds since the epoch."""

    observation_id: str
    trace_id: str
    project_id: str | None
    environment: str | None
    name: str | None
    session_id: str | None
    turn_id: str
    exporter: str
    logical_id: str
    gateway_request_id: str | None
    response_id: str | None
    client_request_id: str | None
    start_at: float
    end_at: float | None
    first_token_at: float | None
    first_start_at: float
    last_start_at: float
    model: str | None
    requested_model: str | None
    address: str | None
    cluster: str | None
    namespace: str | None
    pod: str | None
    engine: str | None
    engine_id: int | None
    attribution: str
    arm: str | None
    task_type: str | None
    template_version: str | None
    tokenizer_revision: str | None
    engine_revision: str | None
    state: str
    state_basis: str
    error_kind: str | None
    choices: int | None
    usage_status: str
    usage_reason: str | None
    contract: str
    cached_scope: str
    total_input: int | None
    cached_input: int | None
    cache_write_input: int | None
    other_input: int | None
    output: int | None
    total: int | None
    raw_usage: str | None
    revisions: int
    updated_at: float

    @property
    def whole_latency(self) -> bool:
        """Whether its first token is only its end."""
        return is_whole_latency(self.start_at, self.first_token_at, self.end_at)


@dataclass(frozen=True)
class Attempt:
    """One attempt seen of the logical request."""

    observation_id: str
    number: int | None
    start_at: float
    end_at: float | None
    state: str
    state_basis: str
    error_kind: str | None
    where: str | None
    attribution: str
    cached_ratio: Reading
    output: int | None


@dataclass(frozen=True)
class Turn:
    """The turn a request belongs to; its index counts from 0."""

    turn_index: int
    turns: int
    start_at: float
    end_at: float | None
    start_gap_s: float | None
    idle_gap_s: float | None
    idle_gap_reason: str | None
    observations: int


@dataclass(frozen=True)
class Broken:
    """One rule that the row broke."""

    rule: str
    field: str | None
    raw_value: str | None


@dataclass(frozen=True)
class Score:
    """One score, at its own level."""

    level: str
    name: str
    evaluator: str
    evaluator_version: str | None
    status: str
    value: float | None
    label: str | None
    repeat: int | None
    inclusion_probability: float | None
    scored_at: float
    deleted_at: float | None


@dataclass(frozen=True)
class Bar:
    """One observation on the time line; `attempt` counts the attempts from 1."""

    attempt: int | None
    type: str
    name: str | None
    shown: bool
    start_at: float
    first_token_at: float | None
    end_at: float | None
    state: str


@dataclass(frozen=True)
class OneRequest:
    """Everything the page shows of one request."""

    request: Request
    attempts: tuple[Attempt, ...]
    turn: Turn | None
    buckets: tuple[tuple[str, str], ...]
    cached_ratio: Reading
    all_cached: bool
    broken: tuple[Broken, ...]
    scores: tuple[Score, ...]
    bars: tuple[Bar, ...]
    hidden: int
    engine: EngineWindows | None
    unknown: tuple[Unknown, ...]


def one_request(
    store: Store, key: int, start_at: float, *, engines_known: bool, now: float, rule: Rule
) -> OneRequest | None:
    """Read one request by its key and start; `engines_known`: whether any engine is connected."""
    rows = store.read("request_by_key", {"key": key} | _around(start_at, 1))
    if not rows:
        return None
    request = Request(*rows[0])
    ids = {
        "observation_id": request.observation_id,
        "trace_id": request.trace_id,
        "session_id": request.session_id,
    }
    day = _around(start_at, DAY_S)
    tried = store.read("attempts", day | {"logical_id": request.logical_id, "most": MOST_ATTEMPTS})
    near = store.read(
        "trace_observations", day | {"trace_id": request.trace_id, "most": MOST_OBSERVATIONS}
    )
    bars, hidden = _bars(key, tried, near)
    ratio = cached_ratio(request)
    engine = _engine(store, request, now, rule) if engines_known else None
    return OneRequest(
        request=request,
        attempts=tuple(_attempt(row) for row in tried),
        turn=_turn(store, request),
        buckets=raw_buckets(request.raw_usage),
        cached_ratio=ratio,
        all_cached=ratio.known and ratio.numerator == ratio.denominator,
        broken=tuple(Broken(*row) for row in store.read("violations_of_request", ids)),
        scores=tuple(
            Score(*row) for row in store.read("scores_of_request", ids | {"most": MOST_SCORES})
        ),
        bars=bars,
        hidden=hidden,
        engine=engine,
        unknown=unknowns(_facts(request, engine)),
    )


def _around(start_at: float, reach_s: int) -> dict[str, datetime]:
    """A period around a start, as queries take it."""
    low, high = start_at - reach_s, start_at + reach_s
    return {"start": datetime.fromtimestamp(low, UTC), "end": datetime.fromtimestamp(high, UTC)}


def cached_ratio(row: Row | Request) -> Reading:
    """Cached share of one request's input, or why there is none."""
    broken = row.usage_status == Status.VIOLATION
    return ratio_of_sums(
        "cached_ratio",
        row.cached_input,
        row.total_input,
        absent=Reason.CONTRACT_ERROR if broken else Reason.NOT_MEASURED,
        quiet=Reason.NOT_MEASURED,
    )


def raw_buckets(raw_usage: str | None) -> tuple[tuple[str, str], ...]:
    """Buckets as received, each with its value as it stood there.

    >>> raw_buckets('{"input": 10, "x": text of 99 characters, "y": "1"}')
    (('input', '10'), ('x', 'text of 99 characters'), ('y', '"1"'))
    """
    if raw_usage is None:
        return ()
    found = BUCKET.findall(raw_usage)
    return tuple((_unquoted(key), value.strip()) for key, value in found)


def _unquoted(key: str) -> str:
    try:
        return str(json.loads(key))
    except ValueError:
        return key


def where_it_ran(row: Row | Request) -> str | None:
    """Place of a request in one line, as far as it is known."""
    if row.pod is not None:
        core = f" #{row.engine}" if row.engine is not None else ""
        return f"{row.pod}{core}"
    return str(row.address) if row.address is not None else None


def _attempt(row: Row) -> Attempt:
    return Attempt(
        observation_id=row.observation_id,
        number=row.attempt,
        start_at=row.start_at,
        end_at=row.end_at,
        state=row.state,
        state_basis=row.state_basis,
        error_kind=row.error_kind,
        where=where_it_ran(row),
        attribution=row.attribution,
        cached_ratio=cached_ratio(row),
        output=row.output,
    )


def _turn(store: Store, request: Request) -> Turn | None:
    if request.session_id is None:
        return None
    ids = {"session_id": request.session_id, "turn_id": request.turn_id}
    return next((Turn(*row) for row in store.read("turn", ids)), None)


def _engine(store: Store, request: Request, now: float, rule: Rule) -> EngineWindows:
    place = Place(
        attribution=request.attribution,
        engine_id=request.engine_id,
        cluster=request.cluster,
        namespace=request.namespace,
        model=request.model,
        pod=request.pod,
        engine=request.engine,
    )
    return engine_windows(store, place, request.start_at, request.end_at, now=now, rule=rule)


def _bars(key: int, tried: Sequence[Row], near: Sequence[Row]) -> tuple[tuple[Bar, ...], int]:
    """Attempts and the other observations of the trace by start, and how many are left out.

    Attempts are kept first.
    """
    attempts = [
        _bar(row, key, attempt=i, type_="GENERATION", name=None) for i, row in enumerate(tried, 1)
    ]
    known = {row.observation_key for row in tried}
    others = [
        _bar(row, key, attempt=None, type_=row.type, name=row.name)
        for row in near
        if row.observation_key not in known
    ]
    unread = near[0].found - len(near) if near else 0
    kept = [*attempts, *others][:MOST_BARS]
    hidden = len(attempts) + len(others) + unread - len(kept)
    return tuple(sorted(kept, key=lambda bar: bar.start_at)), hidden


def _bar(row: Row, key: int, *, attempt: int | None, type_: str, name: str | None) -> Bar:
    first, end = row.first_token_at, row.end_at
    inside = first is not None and end is not None and row.start_at <= first < end
    return Bar(
        attempt=attempt,
        type=type_,
        name=name,
        shown=row.observation_key == key,
        start_at=row.start_at,
        first_token_at=first if inside else None,
        end_at=end,
        state=row.state,
    )


def _facts(request: Request, engine: EngineWindows | None) -> Facts:
    return Facts(
        exporter=request.exporter,
        attribution=request.attribution if engine is None else engine.attribution,
        engines_connected=engine is not None,
        usage_status=request.usage_status,
        cached_scope=request.cached_scope,
        choices=request.choices,
        start_at=request.start_at,
        end_at=request.end_at,
        first_token_at=request.first_token_at,
        session_id=request.session_id,
        exposure=Preempt.UNKNOWN if engine is None else engine.exposure,
    )
