"""Two-sided critical values: what an interval of a confidence multiplies its error with."""

from scipy.special import ndtri, stdtrit

CONFIDENCE = 0.95


def normal(confidence: float = CONFIDENCE) -> float:
    """Quantile of the standard normal that leaves half of the rest above it.

    >>> round(normal(0.95), 6)
    1.959964
    """
    return -float(ndtri(_tail(confidence)))


def student(df: float, *, confidence: float = CONFIDENCE) -> float:
    """Quantile of Student's t, for degrees of freedom that need not be whole.

    >>> round(student(7), 6)
    2.364624
    """
    return -float(stdtrit(df, _tail(confidence)))


def _tail(confidence: float) -> float:
    """Half of what is left over: exact where 1 minus it would round to 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    return (1 - confidence) / 2
