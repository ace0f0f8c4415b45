"""Limit of a score interval: where its test begins to reject, found by halving."""

from collections.abc import Callable

HALVINGS = 60


def score_limit(rejects: Callable[[float], bool], *, outside: float, inside: float) -> float:
    """Difference between one end that is rejected and a point that is not.

    Only strict rejections are asked for between the two ends, so a statistic that is 0/0
    at either end does no harm.

    >>> round(score_limit(lambda difference: difference < -0.25, outside=-1, inside=0), 9)
    -0.25
    """
    for _ in range(HALVINGS):
        middle = (outside + inside) / 2
        if rejects(middle):
            outside = middle
        else:
            inside = middle
    return (outside + inside) / 2
