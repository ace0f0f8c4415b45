"""Krippendorff's alpha: agreement of any number of ratings of each unit, some missing."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from core.domain.records import Floats, Ints


class Metric(StrEnum):
    """How far apart two values are."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


def value_counts(units: Sequence[Sequence[float]]) -> tuple[Floats, Ints]:
    """Distinct values, and how often each unit got each of them.

    Parameters
    ----------
    units : sequence of sequence of float
        The ratings that each unit has; a missing one is left out.

    Returns
    -------
    float array, shape (V,), and int array, shape (units, V)

    >>> value_counts([[1.0, 0.0], [1.0, 1.0]])[1].tolist()
    [[1, 1], [0, 2]]
    """
    values = np.unique(np.array([value for unit in units for value in unit], dtype=float))
    counts = np.zeros((len(units), values.size), dtype=np.int64)
    for row, unit in zip(counts, units, strict=True):
        np.add.at(row, np.searchsorted(values, np.asarray(unit, dtype=float)), 1)
    return values, counts


def coincidences(counts: Ints) -> Floats:
    """Matrix of pairs of values inside units; units with fewer than two values say nothing.

    Parameters
    ----------
    counts : int array, shape (units, V)
        How often each unit got each value.

    Returns
    -------
    float array, shape (V, V)
        Symmetric; it adds up to the number of values that can be paired.

    >>> coincidences(np.array([[1, 1], [0, 2], [1, 0]])).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    kept = counts[counts.sum(axis=1) >= 2].astype(np.float64)
    per_unit = kept / (kept.sum(axis=1, keepdims=True) - 1)
    pairs: Floats = per_unit.T @ kept - np.diag(per_unit.sum(axis=0))
    return pairs


def krippendorff_alpha(
    pairs: Floats, values: Floats, *, metric: Metric = Metric.NOMINAL
) -> float | None:
    """One minus observed over expected disagreement.

    Parameters
    ----------
    pairs : float array, shape (V, V)
        From `coincidences`; matrices of several parts add up.
    values : float array, shape (V,)
        The values, rising; not negative for `Metric.RATIO`.

    Unknown when
    ------------
    There is no pair, or all values are equal: no disagreement could be expected (None).

    Source
    ------
    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    >>> values, counts = value_counts([[0, 1], [1, 1], [0, 0], [0, 0]])
    >>> round(krippendorff_alpha(coincidences(counts), values), 4)
    0.5333
    """
    totals = pairs.sum(axis=0)
    n = float(totals.sum())
    apart = _distance(values, totals, metric)
    expected = float(totals @ apart @ totals)
    if not (n > 1 and expected > 0):
        return None
    return 1 - (n - 1) * float((pairs * apart).sum()) / expected


def _distance(values: Floats, totals: Floats, metric: Metric) -> Floats:
    """Squared distance of every two values."""
    one, other = values[:, None], values[None, :]
    if metric is Metric.NOMINAL:
        unequal: Floats = (one != other).astype(np.float64)
        return unequal
    apart: Floats = one - other
    if metric is Metric.ORDINAL:
        middle = np.cumsum(totals) - totals / 2
        apart = middle[:, None] - middle[None, :]
    elif metric is Metric.RATIO:
        both = one + other
        apart = np.divide(apart, both, out=np.zeros_like(both), where=both > 0)
    squared: Floats = apart**2
    return squared
