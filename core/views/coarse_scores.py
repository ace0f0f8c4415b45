"""Scores about whole turns and whole sessions: shown as they are, copied to no request."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.cache.store import Store
from core.domain.statistics.proportion import Estimate, mean, proportion
from core.domain.statistics.sums import ClusterSums
from core.views.quality_sums import Series, floats, places


@dataclass(frozen=True)
class CoarseScore:
    """One series about turns or sessions, each of which is in one of the counts.

    Only `scored` are in the estimate, and of those not `sessionless` ones. Categories have no
    mean; errors have no valid record.
    """

    series: Series
    scored: int
    categories: int
    errors: int
    weightless: int
    conflicts: int
    sessionless: int
    estimate: Estimate


def coarse_scores(
    store: Store, series: Sequence[Series], params: dict[str, object]
) -> tuple[CoarseScore, ...]:
    """One row per series of a coarser level with records in the window."""
    found = store.columns("coarse_scores", params)
    session = places(found["session"])
    columns = {name: floats(found[name]) for name in (*COUNTED, "values", "weight", "squares")}
    keys = list(zip(*(found[n].to_pylist() for n in KEY), strict=True))
    rows = []
    for one in series:
        key = (one.level, one.name, one.evaluator, one.evaluator_version, one.data_type)
        here = np.array([k == key for k in keys], dtype=np.bool_)
        if one.level not in LEVELS or not here.any():
            continue
        known = here & (session >= 0) & (columns["scored"] > 0)
        sums = ClusterSums(
            y=columns["values"][known],
            w=columns["weight"][known],
            s=columns["squares"][known],
            n=columns["scored"][known].astype(np.int64),
        )
        rows.append(
            CoarseScore(
                series=one,
                **{name: int(columns[name][here].sum()) for name in COUNTED},
                sessionless=int(columns["scored"][here & (session < 0)].sum()),
                estimate=proportion(sums) if one.data_type == "BOOLEAN" else mean(sums),
            )
        )
    return tuple(rows)


COUNTED = ("scored", "categories", "errors", "weightless", "conflicts")
KEY = ("level", "name", "evaluator", "evaluator_version", "data_type")
LEVELS = ("trace", "session")
