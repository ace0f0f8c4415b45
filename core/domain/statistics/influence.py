"""Variance of any smooth statistic from what each cluster adds to it.

The influence of a cluster is the derivative of the statistic by the cluster's multiplier.
Ratios, differences, standardised differences and rank correlations all end here.
"""

import numpy as np

from core.domain.records import Floats

ROUNDING = 1e-12
"""A difference this small, relative to what it is the difference of, is rounding."""


def settled(difference: Floats, *, of: Floats) -> Floats:
    """Differences with those that are rounding set to exactly nothing.

    Clusters of equal rates must have no variance at all, or the rule for no variance is
    missed by 1e-17.

    >>> settled(np.array([1e-17, 0.5]), of=np.array([1.0, 1.0])).tolist()
    [0.0, 0.5]
    """
    return np.where(np.abs(difference) <= ROUNDING * of, 0.0, difference)


def variance_of_influence(*arms: Floats) -> float | None:
    """Variance of a statistic by linearisation: clusters drawn with replacement in each arm.

    Parameters
    ----------
    *arms : float array, shape (G_a,)
        Influence of each cluster of an arm. Clusters that occur in both arms go into one
        array that holds the sum of what each adds to the statistic.

    Returns
    -------
    float or None
        Sum over arms of G/(G-1) times the squared deviations from the arm's mean.

    Unknown when an arm has fewer than two clusters, or an influence is not finite.

    Source
    ------
    Demnati and Rao, Survey Methodology 30 (2004) 17-26; Binder, Int Stat Rev 51 (1983).

    >>> variance_of_influence(np.array([-0.5, 0.5]), np.array([0.25, -0.25]))
    1.25
    """
    total = 0.0
    for influence in arms:
        clusters = influence.size
        if clusters < 2:
            return None
        deviation = influence - influence.sum() / clusters
        total += clusters / (clusters - 1) * float(deviation @ deviation)
    return total if np.isfinite(total) else None
