"""Probability that a test statistic crosses a boundary at one of several looks.

The statistic of look k is a standard normal Z_k; Z_i and Z_j have the correlation
sqrt(t_i / t_j), t the information at each look. On the scale S = Z sqrt(t) the steps
between looks are independent, so the density of "not crossed yet" is carried from look to
look by one integral each (Armitage, McPherson, Rowe 1969).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, pi, sqrt

import numpy as np
from scipy.special import ndtr

from core.domain.records import Floats

FURTHEST_Z = 9.0
"""Beyond so many standard deviations nothing is left to integrate (1e-19)."""
FEWEST_NODES, MOST_NODES = 64, 1200
NODES_PER_STEP = 4
"""Nodes in one standard deviation of the step between two looks."""


@lru_cache(maxsize=32)
def _nodes(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return x, w


@dataclass(frozen=True)
class Uncrossed:
    """Density of S over the paths that crossed no boundary so far.

    Parameters
    ----------
    at : float
        Information of the last look; 0 before the first.
    points, mass : float array, shape (n,)
        Places of S, and the probability that each stands for.
    """

    at: float
    points: Floats
    mass: Floats

    def beyond(self, t: float, z: float, *, two_sided: bool = False) -> float:
        """Probability to cross z first at the look of information t."""
        step = sqrt(t - self.at)
        above = float(self.mass @ ndtr((self.points - z * sqrt(t)) / step))
        if not two_sided:
            return above
        return above + float(self.mass @ ndtr((-z * sqrt(t) - self.points) / step))

    def carried(self, t: float, z: float, *, two_sided: bool = False) -> "Uncrossed":
        """The density after a look of information t at which z was not crossed."""
        step, scale = sqrt(t - self.at), sqrt(t)
        low = -min(z, FURTHEST_Z) if two_sided else -FURTHEST_Z
        half = (min(z, FURTHEST_Z) - low) / 2
        wanted = ceil(2 * half * scale / step * NODES_PER_STEP)
        x, w = _nodes(min(max(wanted, FEWEST_NODES), MOST_NODES))
        points = (low + half + half * x) * scale
        kernel = np.exp(-0.5 * ((points[:, None] - self.points[None, :]) / step) ** 2)
        density = kernel @ self.mass / (step * sqrt(2 * pi))
        return Uncrossed(t, points, density * w * half * scale)


START = Uncrossed(0.0, np.zeros(1), np.ones(1))


def crossing_probability(
    bounds: Sequence[float], information: Sequence[float], *, two_sided: bool = False
) -> float:
    """Probability to cross at any look when the true difference is 0.

    Parameters
    ----------
    bounds : sequence of float
        Boundary of Z at each look.
    information : sequence of float
        Information at each look in any unit, positive and rising.
    two_sided : bool
        Whether the mirrored boundary counts as well.

    >>> round(crossing_probability([1.96, 1.96], [1, 2]), 4)
    0.0416
    """
    state, total = START, 0.0
    for z, t in zip(bounds, information, strict=True):
        total += state.beyond(t, z, two_sided=two_sided)
        state = state.carried(t, z, two_sided=two_sided)
    return total
