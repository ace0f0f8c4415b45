"""Where uncached input tokens remain, by template version, task type and model."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.ratios import ratio_of_sums, total
from core.domain.reading import Reading, Reason, Reported
from core.views.fleet import Fleet
from core.views.requests import request_params

MOST = 40
"""Groups shown; the others are summed in one row."""


@dataclass(frozen=True)
class UncachedRow:
    """Requests of one group; `others` counts the groups of the last row, which sums many."""

    template_version: str | None
    task_type: str | None
    model: str | None
    others: int | None
    requests: int
    uncached: Reading
    share: Reading
    cached_share: Reading
    reported: Reported


@dataclass(frozen=True)
class Uncached:
    """All groups, most uncached tokens first, and what is in none of their sums."""

    rows: tuple[UncachedRow, ...]
    tokens: Reading
    reported: Reported
    unmeasured_tokens: int | None


def load_uncached(store: Store, fleet: Fleet) -> Uncached:
    """Read the groups of the fleet's window."""
    params = request_params(fleet.scope, fleet.window)
    found = store.read("uncached_by_group", params | {"most": MOST})
    reported = Reported(sum(r.measured for r in found), sum(r.requests for r in found))
    absent = _absent(fleet, reported.requests)
    tokens = total("uncached_tokens", (_uncached(r) for r in found), absent=absent)
    beside = [r.unmeasured_tokens for r in found if r.unmeasured_tokens is not None]
    return Uncached(
        rows=tuple(_row(fleet, row, tokens.value) for row in found),
        tokens=Reading("uncached_tokens", tokens.value, tokens.reason, coverage=_some(reported)),
        reported=reported,
        unmeasured_tokens=sum(beside) if beside else None,
    )


def _some(reported: Reported) -> Reported | None:
    return reported if reported.requests else None


def _absent(fleet: Fleet, requests: int) -> Reason:
    return Reason.NOT_MEASURED if requests else fleet.no_requests()


def _uncached(row: Row) -> int | None:
    return None if row.input_tokens is None else int(row.input_tokens - row.cached_tokens)


def _row(fleet: Fleet, row: Row, of: float | None) -> UncachedRow:
    absent = _absent(fleet, row.requests)
    mine: Sequence[int | None] = [_uncached(row)]
    return UncachedRow(
        template_version=row.template_version,
        task_type=row.task_type,
        model=row.model,
        others=row.groups if row.rank > MOST else None,
        requests=row.requests,
        uncached=total("uncached_tokens", mine, absent=absent),
        share=ratio_of_sums("uncached_share", mine[0], of, absent=absent),
        cached_share=ratio_of_sums(
            "gateway_cached_share", row.cached_tokens, row.input_tokens, absent=absent
        ),
        reported=Reported(row.measured, row.requests),
    )
