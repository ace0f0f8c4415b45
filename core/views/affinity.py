"""Follow-up turns by the engine that was asked, in sums and over time."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from math import ceil, floor

from core.cache.store import Row, Store
from core.domain.affinity import (
    BLOCK_TOKENS,
    LOOK_BACK_S,
    FollowUps,
    Place,
    cached_share,
    delivered_share,
    same_engine_share,
)
from core.domain.reading import Reading, Reason, Reported
from core.domain.scope import Window
from core.views.fleet import Fleet
from core.views.lines import Line, or_absent
from core.views.requests import request_params


@dataclass(frozen=True)
class PlaceRow:
    """Follow-up turns of one place, as the table shows them."""

    sums: FollowUps
    cached_share: Reading
    idle_gap: Reading
    offered: Reading
    delivered: Reading


@dataclass(frozen=True)
class Affinity:
    """Follow-up turns of a window."""

    places: tuple[PlaceRow, ...]
    same_share: Reading
    share_line: tuple[Reading, ...]
    turns: Mapping[Place, Line]
    """Turns per chart bin; None where there are none."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The tiles: the share, and what was delivered on the same engine."""
        return (self.same_share, self.of(Place.SAME).delivered)

    def of(self, place: Place) -> PlaceRow:
        """The row of one place."""
        return next(row for row in self.places if row.sums.place is place)

    def count(self, name: str) -> int:
        """A count of turns over all places."""
        return sum(getattr(row.sums, name) for row in self.places)


def load_affinity(store: Store, fleet: Fleet, window: Window) -> Affinity:
    """Read the follow-up turns of a window: what it costs follows the sessions in it."""
    rows = _rows(store, fleet, window)
    whole = {row.place: row for row in rows if row.bin is None}
    in_bins: dict[int, dict[str, int]] = {}
    for row in rows:
        if row.bin is not None:
            in_bins.setdefault(int(row.bin), {})[row.place] = row.turns
    quiet = fleet.no_requests()
    turns = {place: row.turns for place, row in whole.items()}
    return Affinity(
        places=tuple(_place(place, whole.get(place), quiet) for place in Place),
        same_share=_share(fleet, turns, quiet),
        share_line=tuple(
            _share(fleet, in_bins.get(b, {}), fleet.no_requests(b)) for b in fleet.bins
        ),
        turns={p: tuple(in_bins.get(b, {}).get(p) for b in fleet.bins) for p in Place},
    )


def _rows(store: Store, fleet: Fleet, window: Window) -> list[Row]:
    params = request_params(fleet.scope, window)
    reach = store.read("follow_up_reach", params)[0]
    if reach.from_s is None:
        return []
    stretch = {
        "from": datetime.fromtimestamp(max(floor(reach.from_s), window.start - LOOK_BACK_S), UTC),
        "until": datetime.fromtimestamp(ceil(reach.until_s) + 1, UTC),
    }
    return store.read("follow_ups", params | stretch | {"block_tokens": BLOCK_TOKENS})


def _share(fleet: Fleet, turns: Mapping[str, int], quiet: Reason) -> Reading:
    known, unknown = (turns.get(Place.SAME), turns.get(Place.ANOTHER)), turns.get(Place.UNKNOWN)
    no_engines = fleet.prometheus is None and not fleet.engines
    same, another = (0 if n is None else n for n in known)
    return same_engine_share(
        same,
        another,
        0 if unknown is None else unknown,
        absent=Reason.NOT_CONNECTED if no_engines else Reason.NOT_ATTRIBUTED,
        quiet=quiet,
    )


def _place(place: Place, row: Row | None, quiet: Reason) -> PlaceRow:
    sums = _nothing(place) if row is None else _sums(place, row)
    absent = Reason.NOT_MEASURED if sums.turns else quiet
    seen = Reported(sums.gaps, sums.turns) if sums.turns else None
    return PlaceRow(
        sums=sums,
        cached_share=cached_share(sums, quiet=quiet),
        idle_gap=or_absent("follow_up_idle_gap", sums.gap_median_s, absent, seen),
        offered=or_absent("offered_tokens", sums.offered_tokens, absent),
        delivered=delivered_share(sums, quiet=quiet),
    )


def _sums(place: Place, row: Row) -> FollowUps:
    names = [field.name for field in fields(FollowUps) if field.name != "place"]
    return FollowUps(place=place, **{name: getattr(row, name) for name in names})


def _nothing(place: Place) -> FollowUps:
    """No turn of this place: counts of none, and no sums."""
    sums = ("input_tokens", "cached_tokens", "gap_median_s", "offered_tokens", "above_tokens")
    empty = dict.fromkeys((*sums, "delivered_tokens"))
    counts = {f.name: 0 for f in fields(FollowUps) if f.name not in (*empty, "place")}
    return FollowUps(place=place, **counts, **empty)  # type: ignore[arg-type]
