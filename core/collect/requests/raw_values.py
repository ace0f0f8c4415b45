"""What of a value that breaks a contract, or of raw usage, may be kept."""

from collections.abc import Mapping
from itertools import islice

import msgspec

LONGEST_RAW_VALUE = 32
MOST_BUCKETS = 40
"""Of a row with more, the first are kept."""
LONGEST_KEY = 64


def raw_value(value: object) -> str:
    """A value as it may be kept: numbers and short words whole, of the rest its kind.

    >>> raw_value(1.0), raw_value("800"), raw_value("x" * 99), raw_value(10**99)
    ('1.0', '"800"', 'text of 99 characters', 'number of 100 digits')
    """
    kept = _kept(value)
    return kept if kept is not value and isinstance(kept, str) else _json(kept)


def _kept(value: object) -> object:
    if type(value) is int:
        long = abs(value) >= 10**LONGEST_RAW_VALUE
        return f"number of {len(str(abs(value)))} digits" if long else value
    if isinstance(value, str):
        short = len(value) <= LONGEST_RAW_VALUE
        return value if short else f"text of {len(value)} characters"
    if value is None or isinstance(value, bool | float):
        return value
    return type(value).__name__


def raw_usage(usage: Mapping[str, object] | None) -> str | None:
    """Usage as it came, as JSON: of many buckets the first, of texts their length."""
    if not usage:
        return None
    first = islice(usage.items(), MOST_BUCKETS)
    return _json({key[:LONGEST_KEY]: _kept(value) for key, value in first})


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
