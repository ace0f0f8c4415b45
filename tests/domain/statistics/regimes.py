"""Simulated data whose truth is known: sessions of correlated passes and fails.

A session draws its own pass probability from a Beta distribution of a given mean and
intra-session correlation, then answers each request with it. The new arm loses a margin
by turning passes into fails at random.
"""

from dataclasses import dataclass

import numpy as np

from core.domain.records import Bools, Floats, Ints
from core.domain.statistics.sums import ClusterSums

FIXED_SIZE = 5
UNEVEN_SHAPE, UNEVEN_MEAN = 0.7, 4.0
HARD_SHARE, HARD_LOSS, EASY_GAIN, EASY_SAMPLED = 0.2, 0.12, 0.03, 0.25


@dataclass(frozen=True)
class Regime:
    """How the data of one column of the calibration come about."""

    name: str
    says: str
    rate: float = 0.95
    correlation: float = 0.1
    uneven: bool = True
    weighted: bool = False
    base_times: int = 1


REGIMES = {
    one.name: one
    for one in (
        Regime("A", "5 each, ICC 0, p .95", correlation=0.0, uneven=False),
        Regime("B", "5 each, ICC .1, p .95", uneven=False),
        Regime("C", "5 each, ICC .3, p .95", correlation=0.3, uneven=False),
        Regime("D", "uneven, ICC .1, p .95"),
        Regime("F", "uneven, ICC .1, p .95, weights", weighted=True),
        Regime("H", "uneven, ICC .1, p .80", rate=0.80),
        Regime("I", "uneven, ICC .1, p .99", rate=0.99),
        Regime("K", "uneven, ICC .1, p .95, base x5", base_times=5),
        Regime("X", "uneven, ICC .2, p .97, base x9", rate=0.97, correlation=0.2, base_times=9),
    )
}


@dataclass(frozen=True)
class Arm:
    """Sums of many simulated data sets, one row a data set, one column a session."""

    y: Floats
    w: Floats
    s: Floats
    n: Ints

    def of(self, row: int) -> ClusterSums:
        """One data set."""
        return ClusterSums(self.y[row], self.w[row], self.s[row], self.n[row])


def arm(regime: Regime, shape: tuple[int, int], *, loss: float, rng: np.random.Generator) -> Arm:
    """Simulate one arm of so many data sets and sessions; `loss` is taken off its rate."""
    kept = 1 - loss / regime.rate
    sizes = _sizes(regime, shape, rng)
    if regime.weighted:
        return _weighted(regime, sizes, kept, rng)
    passes = rng.binomial(sizes, _rates(regime, shape, rng) * kept).astype(float)
    whole = sizes.astype(float)
    return Arm(passes, whole, whole, sizes)


def _sizes(regime: Regime, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
    if not regime.uneven:
        return np.full(shape, FIXED_SIZE)
    return 1 + rng.poisson(rng.gamma(UNEVEN_SHAPE, UNEVEN_MEAN / UNEVEN_SHAPE, shape))


def _rates(regime: Regime, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    if regime.correlation == 0:
        return np.full(shape, regime.rate)
    spread = 1 / regime.correlation - 1
    return rng.beta(regime.rate * spread, (1 - regime.rate) * spread, shape)


def _weighted(regime: Regime, sizes: Ints, kept: float, rng: np.random.Generator) -> Arm:
    """Sizes count judged requests: hard ones are all judged, of the easy ones one in four.

    A draw that the session shares ties some of its requests together.
    """
    session = np.repeat(np.arange(sizes.size), sizes.ravel())
    requests = session.size
    easy_judged = (1 - HARD_SHARE) * EASY_SAMPLED
    hard: Bools = rng.random(requests) < HARD_SHARE / (HARD_SHARE + easy_judged)
    rate = np.where(hard, regime.rate - HARD_LOSS, regime.rate + EASY_GAIN)
    shared = rng.random(requests) < np.sqrt(regime.correlation)
    draw = np.where(shared, rng.random(sizes.size)[session], rng.random(requests))
    passed = (draw < rate) & (rng.random(requests) < kept)
    weight = np.where(hard, 1.0, 1 / EASY_SAMPLED)

    def per_session(values: Floats) -> Floats:
        return np.bincount(session, values, sizes.size).reshape(sizes.shape)

    return Arm(per_session(weight * passed), per_session(weight), per_session(weight**2), sizes)
