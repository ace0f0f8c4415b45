"""Benchmarks over time: one point per job, pair, concurrency and hash algorithm."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from core.cache.store import Row, Store
from core.domain.bench.comparison import Estimate, over_runs, ratio_of_medians
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.views.fleet import LeverMark

RECORDED = "recorded"
"""Jobs that came with the program: no change of the lever log concerns them."""
FILE_DATE = "%Y%m%d-%H%M%S"


@dataclass(frozen=True)
class HistoryPoint:
    """What the valid pairs of runs of one job say of one pair and concurrency.

    Parameters
    ----------
    by_file : bool
        `at` is the date of a result file, which has no zone: taken as UTC. Where that is no
        date either, it is when the job was taken in.
    config : str or None
        Digest of what the server was set to, caching aside; two points with the same one had
        servers alike.
    """

    job_id: str
    at: float
    by_file: bool
    origin: str
    model: str
    pair: str
    concurrency: int
    hash_algorithm: str | None
    compared: int
    off_ms: Estimate
    on_ms: Estimate
    ratio: Estimate
    hit_ratio: Reading
    version: str | None
    config: str | None


@dataclass(frozen=True)
class History:
    """Points, oldest first, and the changes of the lever log from the first of ours to now."""

    points: tuple[HistoryPoint, ...]
    changes: tuple[LeverMark, ...]
    start: float
    end: float


def load_history(store: Store, model: str | None, now: float) -> History:
    """Every job's valid pairs of runs, of one model or all."""
    rows = store.read("bench_history", {"of_model": model})
    points = sorted(_points(rows), key=lambda point: point.at)
    if not points:
        return History((), (), now, now)
    own = [point.at for point in points if point.origin != RECORDED]
    start, end = points[0].at, max(points[-1].at, now)
    period = {
        "from": datetime.fromtimestamp(own[0] if own else end, UTC),
        "until": datetime.fromtimestamp(end, UTC),
    }
    found = store.read("bench_levers", period)
    return History(tuple(points), tuple(_mark(row) for row in found), start, end)


def _points(rows: Iterable[Row]) -> Iterable[HistoryPoint]:
    def what(row: Row) -> tuple[str, str, int, str]:
        return row.job_id, row.pair, row.concurrency, str(row.hash_algorithm)

    for _, group in groupby(sorted(rows, key=what), key=what):
        point = _point(list(group))
        if point is not None:
            yield point


def _point(rows: Sequence[Row]) -> HistoryPoint | None:
    """Runs OFF and ON of the same repeat on servers alike; None without such a pair."""
    off = {(row.repeat, row.seed): row for row in rows if not row.caching}
    on = {(row.repeat, row.seed): row for row in rows if row.caching}
    pairs = [(off[key], on[key]) for key in sorted(off.keys() & on.keys())]
    pairs = [(a, b) for a, b in pairs if _alike(a, b)]
    medians = [ratio_of_medians(_times(a), _times(b)) for a, b in pairs]
    known = [found for found in medians if found is not None]
    off_ms = over_runs([found.median_off for found in known])
    on_ms = over_runs([found.median_on for found in known])
    ratio = over_runs([found.ratio for found in known])
    if off_ms is None or on_ms is None or ratio is None:
        return None
    newest = pairs[-1][1]
    at, by_file = _measured_at(newest)
    return HistoryPoint(
        newest.job_id,
        at,
        by_file,
        newest.origin,
        newest.model,
        newest.pair,
        newest.concurrency,
        newest.hash_algorithm,
        len(known),
        off_ms,
        on_ms,
        ratio,
        _hit_ratio([b for _, b in pairs]),
        newest.server_version,
        newest.config_digest,
    )


def _alike(off: Row, on: Row) -> bool:
    """No difference of servers or prompt lengths in what is known, as for the job's own panel."""
    told = ((off.config_digest, on.config_digest), (off.prompt_tokens, on.prompt_tokens))
    return all(None in both or both[0] == both[1] for both in told)


def _times(row: Row) -> list[float]:
    return [] if row.ttft_median_ms is None else [row.ttft_median_ms]


def _hit_ratio(on: Sequence[Row]) -> Reading:
    hits = [row.hits_tokens for row in on]
    prompt = [row.prompt_tokens for row in on]
    return ratio_of_sums(
        "bench_hit_ratio",
        None if None in hits else sum(hits),
        None if None in prompt else sum(prompt),
        absent=Reason.NOT_EXPORTED,
    )


def _measured_at(row: Row) -> tuple[float, bool]:
    """When a run began: as its runner saw it, else the file's date, else the import."""
    if row.started_at is not None:
        return row.started_at, False
    try:
        told = datetime.strptime(str(row.file_date), FILE_DATE).replace(tzinfo=UTC)
    except ValueError:
        return row.created_at, True
    return told.timestamp(), True


def _mark(row: Row) -> LeverMark:
    engine = row.pod if row.pod is not None else row.model_name
    return LeverMark(row.happened_at, row.kind, row.origin, row.what, engine, row.by_whom, row.link)
