"""Gauges: means over scrapes, added up over engines."""

from collections.abc import Iterable


def mean_of_samples(sums: Iterable[tuple[float, int]]) -> float | None:
    """Mean over all scrapes of all engines; None without any.

    Parameters
    ----------
    sums : iterable of (sum of values, number of scrapes)

    >>> mean_of_samples([(0.8, 2), (0.4, 1)])
    0.4000000000000001
    """
    pairs = list(sums)
    samples = sum(n for _, n in pairs)
    return sum(value for value, _ in pairs) / samples if samples else None


def sum_of_means(sums: Iterable[tuple[float, int]]) -> float | None:
    """Each engine's mean over its scrapes, added up; None without any.

    >>> sum_of_means([(6.0, 3), (8.0, 2)])
    6.0
    """
    means = [value / n for value, n in sums if n]
    return sum(means) if means else None


def rate_per_s(amount: float | None, observed_s: float | None) -> float | None:
    """Amount per observed second; None when nothing was observed.

    >>> rate_per_s(30.0, 60.0), rate_per_s(30.0, 0.0)
    (0.5, None)
    """
    if amount is None or not observed_s:
        return None
    return amount / observed_s


def rate_per_min(amount: float | None, observed_s: float | None) -> float | None:
    """Amount per observed minute; None when nothing was observed.

    >>> rate_per_min(30.0, 120.0), rate_per_min(None, 60.0)
    (15.0, None)
    """
    rate = rate_per_s(amount, observed_s)
    return None if rate is None else rate * 60
