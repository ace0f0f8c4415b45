"""Estimates and variances of resampled clusters, by matrix products of their sums."""

from typing import NamedTuple

import numpy as np

from core.domain.records import Floats, Ints
from core.domain.statistics.influence import ROUNDING
from core.domain.statistics.sums import ClusterSums


class Replicates(NamedTuple):
    """One place a resample: estimate, and linearised variance (exactly 0 for none)."""

    estimates: Floats
    variances: Floats


class Arms:
    """One group, two arms with clusters of their own, or two arms over the same tasks."""

    def __init__(
        self, new: ClusterSums, base: ClusterSums | None = None, *, paired: bool = False
    ) -> None:
        sides = [new] if base is None else [new, base]
        if paired:
            here = np.any([one.w > 0 for one in sides], axis=0)
            sides = [one.where(here) for one in sides]
        else:
            sides = [one.present for one in sides]
        self.sides = sides
        self.paired = paired

    @property
    def sizes(self) -> list[int]:
        """Clusters of each set that is drawn from."""
        sizes = [one.w.size for one in self.sides]
        return sizes[:1] if self.paired else sizes

    @property
    def places(self) -> int:
        """Clusters of all sets."""
        return sum(self.sizes)

    def replicates(self, *counts: Ints) -> Replicates:
        """Estimates and variances of resamples; those in which an arm has no weight left out.

        Parameters
        ----------
        *counts : int array, shape (B, G) each
            How often each cluster was drawn, one array for each of `sizes`.
        """
        drawn = [one.astype(np.float64) for one in counts]
        ways = [drawn[0 if self.paired else i] for i in range(len(self.sides))]
        totals = [k @ one.w for k, one in zip(ways, self.sides, strict=True)]
        kept = np.all([total > 0 for total in totals], axis=0)
        ways = [k[kept] for k in ways]
        totals = [total[kept] for total in totals]
        rates = [
            (k @ one.y) / total for k, one, total in zip(ways, self.sides, totals, strict=True)
        ]
        estimates = rates[0] - rates[1] if len(rates) == 2 else rates[0]
        return Replicates(estimates, self._variances(ways, totals, rates))

    def variance(self) -> float:
        """Linearised variance of the data themselves."""
        once = [np.ones((1, size), dtype=np.int64) for size in self.sizes]
        return float(self.replicates(*once).variances[0])

    def jackknife(self) -> Floats:
        """Influence of every cluster by leaving it out; signs reversed for the base."""
        found = []
        for sign, one in zip((1, -1), self.sides, strict=False):
            left = one.w.sum() - one.w
            if float(left.min()) <= 0:
                return np.zeros(0)
            without = (one.y.sum() - one.y) / left
            share = (without.size - 1) / without.size
            found.append(sign * share * (without.mean() - without))
        return np.asarray(sum(found) if self.paired else np.concatenate(found))

    def _variances(self, ways: list[Floats], totals: list[Floats], rates: list[Floats]) -> Floats:
        """Quadratic forms of drawn products, so that no B x G array of residuals is made."""
        variance = np.zeros(totals[0].size)
        scale = np.zeros(totals[0].size)
        for k, one, total, rate in zip(ways, self.sides, totals, rates, strict=True):
            spread = one.w.size / (one.w.size - 1) / total**2
            squares = k @ (one.y * one.y)
            mixed, weights = k @ (one.y * one.w), k @ (one.w * one.w)
            variance += spread * (squares - 2 * rate * mixed + rate**2 * weights)
            scale += spread * (squares + rate**2 * weights)
        if self.paired and len(self.sides) == 2:
            one, other = self.sides
            products = [ways[0] @ (a * b) for a in (one.y, one.w) for b in (other.y, other.w)]
            shared = products[0] - rates[1] * products[1]
            shared -= rates[0] * (products[2] - rates[1] * products[3])
            spread = one.w.size / (one.w.size - 1) / (totals[0] * totals[1])
            variance -= 2 * spread * shared
        return np.where(variance <= ROUNDING * scale, 0.0, variance)
