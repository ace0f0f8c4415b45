"""Request: what one id means, and everything known about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.reading import Reading
from core.domain.scope import Scope
from core.domain.windows import WINDOW_S, Rule
from core.views.fleet import Fleet, SourceState, load_fleet, query_params
from core.views.one_request import OneRequest, cached_ratio, one_request

MOST_ROWS = 200
MOST_RECENT = 20
REQUEST_SOURCE = "langfuse"


@dataclass(frozen=True)
class RequestLine:
    """One request in a list."""

    observation_id: str
    session_id: str | None
    turn_index: int | None
    start_at: float
    end_at: float | None
    model: str | None
    cached_ratio: Reading
    state: str


@dataclass(frozen=True)
class TurnLine:
    """One turn in a list; its index counts from 0."""

    session_id: str
    turn_id: str
    turn_index: int
    start_at: float
    end_at: float | None
    start_gap_s: float | None
    idle_gap_s: float | None
    idle_gap_reason: str | None
    observations: int


@dataclass(frozen=True)
class Several:
    """What an id means that several requests share.

    `type` is that of the observation an id names, where that is no request.
    """

    type: str | None
    found: int
    turns: tuple[TurnLine, ...]
    requests: tuple[RequestLine, ...]

    @property
    def capped(self) -> bool:
        """Whether a list is cut."""
        return MOST_ROWS in (len(self.turns), len(self.requests))


@dataclass(frozen=True)
class Held:
    """From when to when the cache holds requests; None where it holds none."""

    requests: int
    first_at: float | None
    last_at: float | None


@dataclass(frozen=True)
class RequestView:
    """Everything the Request page shows. Without an id it is the list of recent requests."""

    fleet: Fleet
    sources: tuple[SourceState, ...]
    connected: bool
    held: Held
    matched: str | None
    elsewhere: tuple[str, ...]
    one: OneRequest | None
    several: Several | None
    recent: tuple[RequestLine, ...]

    @property
    def requests(self) -> SourceState | None:
        """How the request source stands."""
        return next((s for s in self.sources if s.source == REQUEST_SOURCE), None)

    @property
    def found(self) -> bool:
        """Whether the cache knows the id."""
        return self.one is not None or self.several is not None


def build(
    store: Store, scope: Scope, now: float, wanted: str = "", window_s: int = WINDOW_S
) -> RequestView:
    """Read what an id names; `now` is seconds since the epoch, `window_s` the length of
    preemption windows.
    """
    fleet = load_fleet(store, scope, now)
    sources = tuple(SourceState(*row) for row in store.read("source_states", {}))
    rows = store.read("id_matches", {"id": wanted, "most": MOST_ROWS}) if wanted else []
    chosen = _one_of(rows)
    engines_known = fleet.prometheus is not None or bool(store.read("scope_choices", {}))
    one = None
    if chosen is not None:
        one = one_request(
            store,
            chosen.observation_key,
            chosen.start_at,
            engines_known=engines_known,
            now=now,
            rule=Rule(window_s),
        )
    return RequestView(
        fleet=fleet,
        sources=sources,
        connected=any(one.source == REQUEST_SOURCE for one in sources),
        held=_held(store) if not rows else Held(0, None, None),
        matched=rows[0].matched if rows else None,
        elsewhere=_elsewhere(rows, chosen),
        one=one,
        several=_several(store, wanted, rows) if rows and one is None else None,
        recent=_recent(store, scope, fleet) if not wanted else (),
    )


def _one_of(rows: Sequence[Row]) -> Row | None:
    """The one request that an id names: its last attempt, where there are several.

    An id of a trace or a session with one request in it names that request too. An id
    that several logical requests share names none of them; of one observation id in
    several traces the newest is meant.
    """
    asked = [row for row in rows if row.rank == rows[0].rank and row.type == "GENERATION"]
    if not asked:
        return None
    if rows[0].matched == "observation" or len({row.logical_id for row in asked}) == 1:
        return asked[0]
    return None


def _elsewhere(rows: Sequence[Row], chosen: Row | None) -> tuple[str, ...]:
    """Other traces in which the same observation id stands."""
    named = [row for row in rows if row.matched == "observation"]
    if chosen is None:
        return ()
    return tuple(sorted({row.trace_id for row in named if row.trace_id != chosen.trace_id}))


def _several(store: Store, wanted: str, rows: Sequence[Row]) -> Several:
    """Turns and requests of the id, or of the trace of an observation that is no request."""
    name = rows[0].trace_id if rows[0].matched == "observation" else wanted
    params = {"id": name, "most": MOST_ROWS}
    return Several(
        type=rows[0].type if rows[0].matched == "observation" else None,
        found=rows[0].found,
        turns=tuple(TurnLine(*row) for row in store.read("turns_of_id", params)),
        requests=tuple(_line(row) for row in store.read("requests_of_id", params)),
    )


def _recent(store: Store, scope: Scope, fleet: Fleet) -> tuple[RequestLine, ...]:
    params = query_params(scope, fleet.window) | {"most": MOST_RECENT}
    return tuple(_line(row) for row in store.read("recent_requests", params))


def _line(row: Row) -> RequestLine:
    return RequestLine(
        observation_id=row.observation_id,
        session_id=row.session_id,
        turn_index=row.turn_index,
        start_at=row.start_at,
        end_at=row.end_at,
        model=row.model,
        cached_ratio=cached_ratio(row),
        state=row.state,
    )


def _held(store: Store) -> Held:
    rows = store.read("cached_requests", {})
    return Held(
        requests=sum(row.requests for row in rows),
        first_at=min((row.first_at for row in rows), default=None),
        last_at=max((row.last_at for row in rows), default=None),
    )
