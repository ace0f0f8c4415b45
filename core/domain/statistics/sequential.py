"""Looks at a running comparison: boundaries that were planned, and what other looks cost.

A planned look may decide at its own level; the sum of what all looks spend is the level of
the plan. Anything in between, a refreshed dashboard too, is no decision look.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import e, log, log1p, sqrt

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from core.domain.statistics.crossing import FURTHEST_Z, START, Uncrossed, crossing_probability

ALPHA = 0.025
SMALLEST_SPENDING = 1e-15
"""Less than this at one look is nothing: its boundary would be beyond 8 standard errors."""
SMALLEST_STEP = 1e-4
"""A look that adds less information than this share of the plan shows nothing new."""
FEWEST_OF_SEQUENCE = 100
"""Clusters from which on a confidence sequence holds approximately."""


class Spending(StrEnum):
    """How the level is spent over the information."""

    OBRIEN_FLEMING = "obrien_fleming"
    POCOCK = "pocock"


def spent(t: float, *, alpha: float = ALPHA, spending: Spending = Spending.OBRIEN_FLEMING) -> float:
    """One-sided alpha spent up to an information fraction.

    Parameters
    ----------
    t : float
        Information fraction, positive; all is spent from 1 on.

    Source
    ------
    Lan, DeMets, Biometrika 70 (1983).

    >>> round(spent(0.5), 7)
    0.0015253
    >>> spent(1.2)
    0.025
    """
    if t >= 1:
        return alpha
    if spending is Spending.POCOCK:
        return alpha * log1p((e - 1) * t)
    return 2 * float(ndtr(ndtri(alpha / 2) / sqrt(t)))


@dataclass(frozen=True)
class Boundary:
    """Boundary of one look.

    Parameters
    ----------
    fraction : float
        Information fraction of the look.
    spent : float
        One-sided alpha spent up to and with it.
    z : float or None
        Critical value; None where there is nothing to spend or nothing new, so that the
        look cannot decide.
    """

    fraction: float
    spent: float
    z: float | None

    @property
    def level(self) -> float | None:
        """One-sided level of the look."""
        return None if self.z is None else float(ndtr(-self.z))

    @property
    def confidence(self) -> float | None:
        """Two-sided confidence of the interval whose lower limit decides at this look."""
        return None if self.level is None else 1 - 2 * self.level


def boundaries(
    fractions: Sequence[float],
    *,
    alpha: float = ALPHA,
    spending: Spending = Spending.OBRIEN_FLEMING,
    ended: bool = False,
) -> tuple[Boundary, ...]:
    """Boundaries of the looks that were made, or are planned.

    Parameters
    ----------
    fractions : sequence of float
        Information fractions, positive and rising. A look with too few clusters is left
        out: it decides nothing and spends nothing.
    ended : bool
        The last look is the end of the plan and spends the rest, also where its fraction
        is below 1; a fraction of 1 or more always does. Boundaries before it stay.

    Raises
    ------
    ValueError
        If the fractions are not positive and rising.

    Source
    ------
    Lan, DeMets, Biometrika 70 (1983), by recursive integration.

    >>> [round(look.z, 3) for look in boundaries([0.3, 0.7, 1.0])]
    [3.929, 2.439, 2.0]
    >>> [round(look.z, 3) for look in boundaries([0.3, 0.7, 0.9], ended=True)]
    [3.929, 2.439, 1.986]
    """
    if any(not b > a for a, b in zip([0.0, *fractions], fractions, strict=False)):
        raise ValueError(f"information fractions must be positive and rise, got {fractions!r}")
    state, before, found = START, 0.0, []
    for place, t in enumerate(fractions, start=1):
        last = ended and place == len(fractions)
        now = alpha if last else spent(t, alpha=alpha, spending=spending)
        z = None
        if now - before > SMALLEST_SPENDING and t - state.at >= SMALLEST_STEP:
            z = _bound(state, t, now - before)
            state, before = state.carried(t, z), now
        found.append(Boundary(t, before, z))
    return tuple(found)


def _bound(state: Uncrossed, t: float, share: float) -> float:
    return float(brentq(lambda z: state.beyond(t, z) - share, -FURTHEST_Z, FURTHEST_Z))


def information_fraction(se: float, *, se_planned: float) -> float | None:
    """Information at a look over the planned one, from standard errors.

    Where no standard error was planned, clusters over planned clusters stand for it.

    Unknown when
    ------------
    A standard error is not positive (None).

    >>> information_fraction(0.02, se_planned=0.01)
    0.25
    """
    return (se_planned / se) ** 2 if se > 0 and se_planned > 0 else None


def repeated_looks_error(looks: int, *, z: float) -> float:
    """One-sided error of looking several times at equal steps as if each were the only one.

    >>> round(repeated_looks_error(5, z=1.959964), 4)
    0.0709
    """
    return crossing_probability([z] * looks, range(1, looks + 1))


def classical_constant(
    looks: int, *, alpha: float = 0.05, shape: Spending = Spending.OBRIEN_FLEMING
) -> float:
    """Two-sided constant c of equally spaced looks: bounds c (Pocock) or c·sqrt(K/k).

    Source
    ------
    Jennison, Turnbull, Group Sequential Methods (2000), tables 2.1 and 2.3.

    >>> round(classical_constant(5), 3), round(classical_constant(5, shape=Spending.POCOCK), 3)
    (2.04, 2.413)
    """
    information = range(1, looks + 1)

    def excess(c: float) -> float:
        falls = shape is Spending.OBRIEN_FLEMING
        bounds = [c * sqrt(looks / k) if falls else c for k in information]
        return crossing_probability(bounds, information, two_sided=True) - alpha

    return float(brentq(excess, 0.1, 8, xtol=1e-9))


@dataclass(frozen=True)
class ConfidenceSequence:
    """Half-width that holds at every n at once, with the tuning that it used."""

    rho: float
    half_width: float


def confidence_sequence(
    n: int, sigma: float, *, tightest_at: int, alpha: float = 0.05
) -> ConfidenceSequence | None:
    """Two-sided half-width for monitoring without planned looks.

    Parameters
    ----------
    n : int
        Clusters, as independent units.
    sigma : float
        Standard deviation of their influence, so that sigma/sqrt(n) is a standard error.
    tightest_at : int
        The n at which the sequence is tightest.

    Unknown when
    ------------
    There are fewer than `FEWEST_OF_SEQUENCE` clusters, or the deviation is not positive
    (None).

    Source
    ------
    Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, Annals of Statistics 52 (2024).

    >>> round(confidence_sequence(2000, 0.4, tightest_at=5000).half_width, 6)
    0.02794
    """
    if n < FEWEST_OF_SEQUENCE or not sigma > 0:
        return None
    rho = sqrt((-2 * log(alpha) + log(-2 * log(alpha) + 1)) / tightest_at)
    grown = n * rho**2 + 1
    half = sigma * sqrt(2 * grown / (n * rho) ** 2 * log(sqrt(grown) / alpha))
    return ConfidenceSequence(rho, half)
