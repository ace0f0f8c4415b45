"""Gateway cached share by the proxies' own counters: over the scope, in time, by deployment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.scope import Window
from core.messages import say
from core.views.fleet import Fleet, query_params

METRIC = "gateway_counter_share"
NO_LABEL = ("pod", "engine")
"""Labels of a scope that a proxy's counters do not have."""


@dataclass(frozen=True)
class DeploymentRow:
    """One deployment of the proxies in scope.

    `share` is unknown where no cached token was ever counted: the engine may have
    hit nothing, or not report it. `samples` and `covered_s` are sums over proxies.
    """

    deployment: str | None
    model_name: str | None
    requested_models: str
    provider: str | None
    cluster: str | None
    namespace: str | None
    share: Reading
    input_tokens: float | None
    cached_tokens: float | None
    samples: int | None
    covered_s: float | None


@dataclass(frozen=True)
class GatewayCounters:
    """What the proxies in scope counted.

    Parameters
    ----------
    seen : bool
        Whether a proxy ever showed a counter of this scope, in or out of the window.
    without_cached : tuple of str
        Deployments that have input and never counted a cached token: in the share
        they are part of the denominator alone.
    wider_than_scope : tuple of str
        Labels of the scope that proxies do not know: the share is not cut to them.
    """

    share: Reading
    line: tuple[Reading, ...]
    deployments: tuple[DeploymentRow, ...]
    seen: bool
    without_cached: tuple[str, ...]
    wider_than_scope: tuple[str, ...]


def load_gateway_counters(
    store: Store, fleet: Fleet, window: Window | None = None
) -> GatewayCounters:
    """Read the proxies' counters for the fleet's scope and window, or another window."""
    params = query_params(fleet.scope, window or fleet.window)
    found = store.read("gateway_counters_by_deployment", params)
    seen = bool(store.read("gateway_proxies", params))
    absent = Reason.TOO_FEW_SCRAPES if seen else Reason.NOT_EXPORTED
    if fleet.prometheus is None:
        absent = Reason.NOT_CONNECTED
    deployments = tuple(_deployment(row, absent) for row in found)
    return GatewayCounters(
        share=_share(found, absent),
        line=_line(fleet, store.read("gateway_counters_over_time", params)),
        deployments=deployments,
        seen=seen,
        without_cached=tuple(
            row.deployment or say("table.no_deployment")
            for row in deployments
            if row.input_tokens and row.cached_tokens is None
        ),
        wider_than_scope=tuple(name for name in NO_LABEL if getattr(fleet.scope, name) is not None),
    )


def _deployment(row: Row, absent: Reason) -> DeploymentRow:
    return DeploymentRow(
        deployment=row.deployment,
        model_name=row.model_name,
        requested_models=row.requested_models,
        provider=row.provider,
        cluster=row.cluster,
        namespace=row.namespace,
        share=_share([row], absent),
        input_tokens=row.input_tokens,
        cached_tokens=row.cached_tokens,
        samples=row.samples,
        covered_s=row.covered_s,
    )


def _share(rows: Sequence[Row], absent: Reason) -> Reading:
    """Cached over input, sums first.

    Input that rises beside no cached count at all is not 0 %: nobody reported one.
    """
    cached = _known(row.cached_tokens for row in rows)
    tokens = _known(row.input_tokens for row in rows)
    if tokens and cached is None:
        absent = Reason.NOT_EXPORTED
    return ratio_of_sums(
        METRIC,
        cached,
        tokens,
        restarted=sum(row.resets for row in rows if row.resets is not None),
        absent=Reason.NO_TRAFFIC if tokens == 0 else absent,
    )


def _known(amounts: Any) -> float | None:
    """Sum of what is known; None when nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _line(fleet: Fleet, rows: Sequence[Row]) -> tuple[Reading, ...]:
    found = {int(row.bin): [row] for row in rows}
    return tuple(_share(found.get(b, []), Reason.TOO_FEW_SCRAPES) for b in fleet.bins)
