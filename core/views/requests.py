"""Sums of the request side, read once for a window and divided last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason, Reported
from core.domain.reconciliation import GatewayGroup
from core.domain.scope import Scope, Window
from core.views.fleet import Engine, Fleet, query_params

MEASURED = "measured"
Where = Callable[[Row], bool]


def request_params(scope: Scope, window: Window) -> dict[str, object]:
    """Parameters of queries over requests: those of the engines, and the arm."""
    return query_params(scope, window) | {"arm": scope.arm}


@dataclass(frozen=True)
class RequestSums:
    """Requests that the gateway recorded in a window, by status and place."""

    fleet: Fleet
    rows: tuple[Row, ...]
    pod_only: bool = False
    """The requests name a pod that several engines share, and none of them."""

    def where(self, condition: Where) -> "RequestSums":
        """Those requests for which something holds."""
        return RequestSums(self.fleet, tuple(row for row in self.rows if condition(row)))

    def share(self) -> Reading:
        """Cached over total input tokens of the requests with a measured count."""
        mine = self.rows
        measured = [row for row in mine if row.usage_status == MEASURED]
        return ratio_of_sums(
            "gateway_cached_share",
            sum(row.cached_tokens for row in measured) if measured else None,
            sum(row.input_tokens for row in measured) if measured else None,
            coverage=_reported(measured, mine),
            absent=self._absent(mine),
        )

    def mean_ratio(self) -> Reading:
        """Mean over requests of cached over total input."""
        mine = self.rows
        measured = [row for row in mine if row.usage_status == MEASURED]
        return ratio_of_sums(
            "request_cached_ratio",
            sum(row.ratio_sum for row in measured) if measured else None,
            sum(row.requests for row in measured) if measured else None,
            coverage=_reported(measured, mine),
            absent=self._absent(mine),
        )

    def tokens(self, metric: str) -> Reading:
        """Input tokens of all requests that carry usage."""
        mine = self.rows
        known = [row for row in mine if row.input_tokens is not None]
        if not known:
            return Reading(metric, None, self._absent(mine), coverage=_reported(known, mine))
        return Reading(metric, sum(r.input_tokens for r in known), coverage=_reported(known, mine))

    def groups(self) -> tuple[GatewayGroup, ...]:
        """What the reconciliation needs of each status."""
        return tuple(
            GatewayGroup(
                row.usage_status,
                row.usage_reason,
                row.requests,
                row.input_tokens,
                row.cached_tokens,
                row.choice_tokens,
                row.choice_requests,
            )
            for row in self.rows
        )

    def count(self, where: Where) -> int:
        """Attempts for which something holds."""
        return sum(row.requests for row in self.rows if where(row))

    def of_engine(self, engine: Engine) -> "RequestSums":
        """Requests attributed to one engine; where only the pod is known, that is told."""
        mine = tuple(row for row in self.rows if row.engine_id == engine.engine_id)
        shared = engine.pod is not None and any(
            row.engine_id is None and row.pod == engine.pod for row in self.rows
        )
        return RequestSums(self.fleet, mine, pod_only=shared and not mine)

    def _absent(self, mine: Sequence[Row]) -> Reason:
        if self.fleet.requests is None:
            return Reason.NOT_CONNECTED
        if self.pod_only:
            return Reason.POD_ONLY
        return Reason.NOT_MEASURED if mine else self.fleet.no_requests()


def _reported(those: Sequence[Row], of: Sequence[Row]) -> Reported | None:
    """How many of some requests carry it; nothing to say where there are none."""
    if not of:
        return None
    return Reported(sum(row.requests for row in those), sum(row.requests for row in of))


def request_sums(store: Store, fleet: Fleet, window: Window | None = None) -> RequestSums:
    """Sums of the fleet's window, or of another window (a comparison)."""
    params = request_params(fleet.scope, window or fleet.window)
    return RequestSums(fleet, tuple(store.read("gateway_usage", params)))


def share_line(store: Store, fleet: Fleet) -> tuple[Reading, ...]:
    """The gateway cached share per chart bin."""
    params = request_params(fleet.scope, fleet.window)
    found = {int(row.bin): row for row in store.read("gateway_usage_over_time", params)}
    return tuple(_share_of(found.get(b), fleet.no_requests(b)) for b in fleet.bins)


def _share_of(row: Row | None, absent: Reason) -> Reading:
    if row is None:
        return Reading("gateway_cached_share", None, absent)
    return ratio_of_sums(
        "gateway_cached_share",
        row.cached_tokens,
        row.input_tokens,
        coverage=Reported(row.measured, row.requests),
        absent=Reason.NOT_MEASURED,
    )
