"""What every method starts from: four additive sums per cluster.

A cluster (a session, or a task of a paired design) is the unit of independence. Sums of
two parts of a cluster add up to the sums of the whole, so SQL makes them and everything
after costs clusters, not records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.domain.records import Bools, Floats, Ints


class Interval(NamedTuple):
    """Limits of an interval, unrounded; a difference is not limited to [-1, 1]."""

    lower: float
    upper: float


@dataclass(frozen=True)
class ClusterSums:
    """Sums of the evaluated records of one group, one place per cluster.

    Two groups over the same clusters have the same places; a cluster without a record in
    a group has n = 0 and zero sums there, and `present` leaves it out.

    Parameters
    ----------
    y : float array, shape (G,)
        Sum of w_i y_i, y_i the score of a record (pass 1, fail 0).
    w, s : float array, shape (G,)
        Sums of the weights w_i, and of their squares.
    n : int array, shape (G,)
        Records.
    """

    y: Floats
    w: Floats
    s: Floats
    n: Ints

    @property
    def clusters(self) -> int:
        """Clusters with a record: G."""
        return int(np.count_nonzero(self.n))

    @property
    def records(self) -> int:
        """Records of all clusters."""
        return int(self.n.sum())

    @property
    def weight(self) -> float:
        """Sum of the weights of all records."""
        return float(self.w.sum())

    @property
    def estimate(self) -> float | None:
        """Ratio of sums: weighted mean of the records; None without weight.

        >>> of_records([1, 1, 0, 1], clusters=["a", "a", "b", "b"]).estimate
        0.75
        """
        return float(self.y.sum()) / self.weight if self.weight > 0 else None

    @property
    def present(self) -> "ClusterSums":
        """Only the clusters that carry weight."""
        here = self.w > 0
        return self if bool(here.all()) else self.where(here)

    def where(self, chosen: Bools | Ints) -> "ClusterSums":
        """Some of the clusters, or places of them in another order."""
        return ClusterSums(self.y[chosen], self.w[chosen], self.s[chosen], self.n[chosen])

    def __add__(self, other: "ClusterSums") -> "ClusterSums":
        """Sums of both over the same clusters, place by place."""
        return ClusterSums(self.y + other.y, self.w + other.w, self.s + other.s, self.n + other.n)

    def __neg__(self) -> "ClusterSums":
        """The same records with every pass a fail: y replaced by 1 - y."""
        return ClusterSums(self.w - self.y, self.w, self.s, self.n)


def of_records(
    y: Sequence[float],
    clusters: Sequence[object],
    *,
    w: Sequence[float] | None = None,
) -> ClusterSums:
    """Sums of single records: what SQL makes of them, for tests and small data.

    Raises
    ------
    ValueError
        If a score is not a finite number, or a weight negative or not finite.
    """
    score = np.asarray(y, dtype=float)
    weight = np.ones(score.size) if w is None else np.asarray(w, dtype=float)
    if not np.isfinite(score).all() or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("scores must be finite, and weights finite and not negative")
    place: dict[object, int] = {}
    index = np.array([place.setdefault(one, len(place)) for one in clusters], dtype=np.int64)

    def per_cluster(values: Floats) -> Floats:
        return np.bincount(index, values, len(place)).astype(np.float64)

    return ClusterSums(
        per_cluster(weight * score),
        per_cluster(weight),
        per_cluster(weight**2),
        np.bincount(index, minlength=len(place)).astype(np.int64),
    )
