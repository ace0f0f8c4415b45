"""Langfuse's read API, answered in this process from the simulated gateway.

It answers like a version 4 server in `events_only` mode: the v2 observations and
v3 scores. What is not simulated is refused; whoever asks may read everything.
"""

import time
from collections.abc import Callable

import httpx
import msgspec
import numpy as np
from pydantic import SecretStr

from core.config import Settings
from core.demo import asked
from core.demo.asked import EARLIEST, LATEST, RefusedError
from core.demo.evaluators import stored as score_stored
from core.demo.gateway import Gateway, gateway_of, stored
from core.demo.identity import hexes
from core.demo.observations import (
    DEFAULT_GROUPS,
    ENVIRONMENT,
    PROJECT,
    iso,
    observation_rows,
    trace_ids,
)
from core.demo.quality import Evaluator
from core.demo.scores import of_traces, score_rows
from core.demo.selection import Selection, same_key
from core.demo.shelf import Records
from core.demo.source import DEMO_URL, fleet_epoch
from core.domain.records import Bools
from core.sources.langfuse import LangfuseSource

VERSION = "4.16.0"
MOST_OBSERVATIONS, MOST_SCORES = 1000, 100
_JSON = {"content-type": "application/json; charset=utf-8"}
_GONE = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)
_LEGACY = ("observations", "traces", "sessions", "scores", "v2/scores", "metrics")


def demo_requests(
    settings: Settings, *, clock: Callable[[], float] = time.time
) -> httpx.BaseTransport:
    """Return a transport whose answers come from the simulated gateway of the demo's fleet."""
    epoch = fleet_epoch(settings, clock())
    return SimulatedLangfuse(gateway_of(settings.demo_seed, epoch), clock)


def demo_langfuse(settings: Settings, *, clock: Callable[[], float] = time.time) -> LangfuseSource:
    """Return a Langfuse client whose answers come from the simulated gateway."""
    given = {
        "langfuse_url": DEMO_URL,
        "langfuse_public_key": "demo",
        "langfuse_secret_key": SecretStr("demo"),
    }
    return LangfuseSource(
        settings.model_copy(update=given), transport=demo_requests(settings, clock=clock)
    )


class SimulatedLangfuse(httpx.BaseTransport):
    """Answers requests of a client instead of the network."""

    def __init__(self, gateway: Gateway, clock: Callable[[], float]) -> None:
        self._gateway = gateway
        self._clock = clock
        self._paths: dict[str, Callable[[httpx.QueryParams], object]] = {
            "health": lambda _: {"status": "OK", "version": VERSION},
            "projects": lambda _: {"data": [_PROJECT]},
            "v2/observations": self._observations,
            "v3/scores": self._scores,
        }

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        try:
            status, body = 200, self._answer(request)
        except RefusedError as refused:
            status, body = refused.status, refused.body
        return httpx.Response(status, headers=_JSON, content=msgspec.json.encode(body))

    def _answer(self, request: httpx.Request) -> object:
        path = request.url.path.removeprefix("/api/public/")
        if path.startswith(_LEGACY):
            raise RefusedError(404, {"message": _GONE})
        if path not in self._paths:
            raise RefusedError(404, {"message": "Not found", "error": "LangfuseNotFoundError"})
        if request.method != "GET":
            body = {"message": "Method not allowed", "error": "MethodNotAllowedError"}
            raise RefusedError(405, dict(body))
        return self._paths[path](request.url.params)

    def _observations(self, params: httpx.QueryParams) -> object:
        limit = asked.limit_of(params, most=MOST_OBSERVATIONS)
        selection = Selection(
            self._gateway.identity,
            trace=params.get("traceId"),
            session=params.get("sessionId"),
            kind=asked.type_of(params),
            filters=asked.filters_of(params),
        )
        now = self._now(params)
        start = asked.instant_ms(params, "fromStartTime", EARLIEST)
        found = self._gateway.rows.page(
            limit + 1,
            lambda rows: selection.covers(rows) & stored(rows, now),
            start_ms=start,
            end_ms=asked.instant_ms(params, "toStartTime", LATEST),
            after=asked.after(params, "lastStartTimeTo"),
        )
        if found is None or limit == 0:
            return {"data": [], "meta": {}}
        rows = observation_rows(
            found[:limit],
            self._gateway.identity,
            asked.groups_of(params, DEFAULT_GROUPS),
            params.get("expandMetadata", "").split(","),
        )
        return {"data": rows, "meta": self._observations_meta(found, limit)}

    def _observations_meta(self, found: Records, limit: int) -> dict[str, object]:
        if found.size <= limit:
            return {}
        last = found[limit - 1 : limit]
        (trace,) = trace_ids(self._gateway.identity, last["trace"])
        cursor = asked.observations_cursor(iso(last["time"])[0], trace, _hex(last))
        return {"cursor": cursor}

    def _scores(self, params: httpx.QueryParams) -> object:
        asked.check_scores(params)
        limit = asked.limit_of(params, most=MOST_SCORES)
        now = self._now(params)
        found = self._gateway.scores.page(
            limit + 1,
            lambda records: self._scores_wanted(records, params) & score_stored(records, now),
            start_ms=asked.instant_ms(params, "fromTimestamp", EARLIEST),
            end_ms=asked.instant_ms(params, "toTimestamp", LATEST),
            after=asked.after(params, "lastTimestamp"),
        )
        meta: dict[str, object] = {"limit": limit}
        if found is None or limit == 0:
            return {"data": [], "meta": meta}
        if found.size > limit:
            last = found[limit - 1 : limit]
            meta["cursor"] = asked.scores_cursor(iso(last["time"])[0], _hex(last))
        groups = asked.groups_of(params, ("core",))
        identity, epoch = self._gateway.identity, self._gateway.epoch
        return {"data": score_rows(found[:limit], identity, epoch, groups), "meta": meta}

    def _scores_wanted(self, records: Records, params: httpx.QueryParams) -> Bools:
        identity = self._gateway.identity
        places = Selection(identity, trace=params.get("traceId"), session=params.get("sessionId"))
        wanted = places.covers(records)
        if "traceId" in params:
            wanted &= of_traces(records)
        if "sessionId" in params:
            wanted &= ~of_traces(records)
        if "observationId" in params:
            wanted &= same_key(records["about"], params["observationId"])
        if "name" in params:
            names = [one for one in Evaluator if one.score_name == params["name"]]
            wanted &= np.isin(records["evaluator"], names)
        return wanted

    def _now(self, params: httpx.QueryParams) -> float:
        """Return the time, with everything made until then; an environment it has not is empty."""
        now = self._clock()
        self._gateway.make_until(now)
        environments = params.get_list("environment")
        return now if not environments or ENVIRONMENT in environments else EARLIEST


_PROJECT = {
    "id": PROJECT,
    "name": PROJECT,
    "organization": {"id": "demo", "name": "demo"},
    "metadata": {},
}


def _hex(last: Records) -> str:
    return hexes(last["key"])[0]
