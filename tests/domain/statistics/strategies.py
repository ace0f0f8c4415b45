"""Records of clusters for property tests."""

from typing import NamedTuple

from hypothesis import strategies as st

from core.domain.statistics.sums import ClusterSums, of_records


class Records(NamedTuple):
    """Scores, cluster ids and weights, one place a record."""

    y: list[float]
    clusters: list[object]
    w: list[float]

    @property
    def sums(self) -> ClusterSums:
        return of_records(self.y, self.clusters, w=self.w)

    def shuffled(self, order: list[int]) -> "Records":
        return Records(*([values[i] for i in order] for values in self))

    def scaled(self, factor: float) -> "Records":
        return self._replace(w=[factor * w for w in self.w])

    def twice(self, clusters: list[object] | None = None) -> "Records":
        other = self.clusters if clusters is None else clusters
        return Records(self.y * 2, [*self.clusters, *other], self.w * 2)


def records(
    *, least_clusters: int = 2, scores: tuple[float, ...] = (0.0, 1.0)
) -> st.SearchStrategy:
    """Records of two to a dozen clusters, with weights of designed sampling."""
    one = st.tuples(st.sampled_from(scores), st.sampled_from((1.0, 2.0, 4.0, 1 / 0.3)))
    cluster = st.lists(one, min_size=1, max_size=6)
    return st.lists(cluster, min_size=least_clusters, max_size=12).map(_flat)


def _flat(clusters: list[list[tuple[float, float]]]) -> Records:
    rows = [(y, g, w) for g, members in enumerate(clusters) for y, w in members]
    y, ids, w = (list(column) for column in zip(*rows, strict=True))
    return Records(y, ids, w)
