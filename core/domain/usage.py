"""Usage buckets of one request: whose tokens are whose, and what is not known.

Token buckets are a contract per exporter. Langfuse's own contract is exclusive:
every input token lies in one bucket, so the total input is their sum. OpenAI's is
inclusive: `prompt_tokens` holds the cached ones too. A row's `total` is the judge
between them. Nothing here repairs a number: what breaks a contract is named, and
what was not reported stays unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.domain.exporters import Contract, Exporter, Zero

PLAIN = ("input", "input_tokens", "prompt_tokens")
CACHED = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
CACHED_INCLUSIVE = ("prompt_tokens_details.cached_tokens", "cached_tokens")
"""OpenAI's names: always a part of `prompt_tokens`, never a bucket beside it."""
CACHE_WRITE = (
    "input_cache_creation",
    "input_cache_creation_5m",
    "input_cache_creation_1h",
    "cache_creation_input_tokens",
    "input_cache_write",
    "cache_creation",
)
OUTPUT = ("output", "output_tokens", "completion_tokens")
TOTAL = ("total_tokens", "total")
"""The exporter's own total first: Langfuse adds `total` up from all keys it does not know."""
LARGEST_COUNT = 10**12
"""Tokens; a larger number is no count of one request's."""
INCLUSIVE_PARTS = ("prompt_tokens_details.", "completion_tokens_details.")


class Status(StrEnum):
    """What is known about the cached tokens of a request."""

    MEASURED = "measured"
    UNKNOWN = "unknown"
    VIOLATION = "violation"
    NONE = "none"


class Why(StrEnum):
    """Why a request has no cached count although it breaks no contract."""

    NO_USAGE = "no_usage"
    NO_INPUT = "no_input"
    EMPTY_INPUT = "empty_input"
    NOT_REPORTED = "not_reported"
    ZERO_UNPROVEN = "zero_unproven"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class Broken:
    """One rule that a row broke, with the field and the value as seen."""

    rule: str
    field: str
    raw: object


@dataclass(frozen=True)
class Usage:
    """Normalised usage of one request, in tokens; None is unknown, never zero."""

    status: Status
    why: Why | None
    contract: str
    total_input: int | None = None
    cached_input: int | None = None
    cache_write_input: int | None = None
    other_input: int | None = None
    output: int | None = None
    total: int | None = None
    broken: tuple[Broken, ...] = ()


@dataclass(frozen=True)
class _Buckets:
    """Buckets of a row by what they are; a part without any key is None."""

    plain: int | None
    cached: int | None
    cached_inclusive: int | None
    cache_write: int | None
    other: int | None
    output: int | None
    total: int | None

    @property
    def exclusive_input(self) -> int:
        """Every input bucket, each once."""
        return _sum((self.plain, self.cached, self.cache_write, self.other))


@dataclass(frozen=True)
class _Settled:
    """What the raw usage object in the metadata says: it tells a zero from nothing."""

    seen: bool
    prompt: int | None
    cached: int | None
    estimate: bool


def normalise(
    raw: Mapping[str, object], exporter: Exporter, *, usage_object: object = None
) -> Usage:
    """Normalise the usage of one request.

    Parameters
    ----------
    raw : mapping of bucket to value
        `usageDetails` as received; values may be anything.
    exporter : Exporter
        Which contract the sender keeps, and what its zero means.
    usage_object : mapping or anything else
        The provider's own usage where the exporter passes it on whole.

    Unknown when
    ------------
    No usage, no input bucket, no input token, the cached count is absent or null,
    the exporter writes 0 also for absent and nothing proves the 0, or the numbers
    are a proxy's estimate.

    >>> from core.domain.exporters import EXPORTERS
    >>> sdk = EXPORTERS["langfuse_sdk"]
    >>> normalise({"input": 176, "input_cached_tokens": 1024, "output": 80}, sdk).total_input
    1200
    >>> normalise({"input": 1000}, sdk).why
    <Why.NOT_REPORTED: 'not_reported'>
    """
    given = {key: value for key, value in _flat(raw) if value is not None}
    if exporter.contract is Contract.TWO_BUCKETS:
        return _two_buckets(given, *exporter.two_buckets)
    if not given:
        return Usage(Status.NONE, Why.NO_USAGE, exporter.contract)
    broken = tuple(_not_counts(given))
    if broken:
        return Usage(Status.VIOLATION, None, exporter.contract, broken=broken)
    return _judged(_buckets(given), exporter, _settled(usage_object))


def _judged(buckets: _Buckets, exporter: Exporter, settled: _Settled) -> Usage:
    contract, total_input, broken = _total_input(buckets, exporter)
    cached, why = None, None
    if broken is None:
        cached, why, broken = _cached(buckets, exporter, settled, total_input)
    status = Status.MEASURED if why is None else Status.UNKNOWN
    return Usage(
        Status.VIOLATION if broken is not None else status,
        why,
        contract,
        total_input=total_input if broken is None else None,
        cached_input=cached,
        cache_write_input=buckets.cache_write,
        other_input=buckets.other,
        output=buckets.output,
        total=buckets.total,
        broken=() if broken is None else (broken,),
    )


def _total_input(b: _Buckets, exporter: Exporter) -> tuple[str, int | None, Broken | None]:
    """The contract a row keeps and its total input; `total` decides where it is given."""
    if b.plain is None:
        return exporter.contract, None, None
    output = _sum((b.output,))
    parts = b.exclusive_input
    overlaps = b.plain + output == b.total and b.cached is not None and b.cached <= b.plain
    if exporter.contract is Contract.INCLUSIVE or b.cached_inclusive is not None:
        if b.total in (None, b.plain + output) or (
            exporter.contract is Contract.INCLUSIVE and b.total == parts + output
        ):
            return Contract.INCLUSIVE, b.plain, None
    elif b.total in (None, parts + output):
        return Contract.EXCLUSIVE, parts, None
    elif overlaps:
        return Contract.EXCLUSIVE, None, Broken("overlap", "input", b.plain)
    return exporter.contract, None, Broken("total_mismatch", "total", b.total)


def _cached(
    b: _Buckets, exporter: Exporter, settled: _Settled, total_input: int | None
) -> tuple[int | None, Why | None, Broken | None]:
    """The measured cached count, why there is none, or what it breaks."""
    cached = b.cached if b.cached is not None else b.cached_inclusive
    if (why := _unmeasured(cached, exporter, settled, total_input)) is not None:
        return None, why, None
    if cached is None:
        cached = settled.cached
    if settled.cached is not None and settled.cached != cached:
        return None, None, Broken("usage_object_differs", "cached_tokens", settled.cached)
    if cached is not None and total_input is not None and cached > total_input:
        return None, None, Broken("cached_above_input", "cached_tokens", cached)
    return cached, None, None


def _unmeasured(
    cached: int | None, exporter: Exporter, settled: _Settled, total_input: int | None
) -> Why | None:
    if total_input is None:
        return Why.NO_INPUT
    if settled.estimate:
        return Why.ESTIMATE
    if cached is None:
        told = settled.cached is not None and settled.prompt == total_input
        return None if told else Why.NOT_REPORTED
    if cached == 0 and exporter.zero is Zero.UNPROVEN and settled.cached is None:
        return Why.NOT_REPORTED if settled.seen else Why.ZERO_UNPROVEN
    return Why.EMPTY_INPUT if total_input == 0 and cached == 0 else None


def _two_buckets(given: Mapping[str, object], uncached_key: str, cached_key: str) -> Usage:
    """Exactly two declared buckets: cached beside uncached.

    >>> _two_buckets({"uncached": 200, "cached": 800}, "uncached", "cached").total_input
    1000
    """
    contract = Contract.TWO_BUCKETS
    if uncached_key not in given or cached_key not in given:
        why = Why.NOT_REPORTED if given else Why.NO_USAGE
        return Usage(Status.UNKNOWN if given else Status.NONE, why, contract)
    pair = {key: given[key] for key in (uncached_key, cached_key)}
    broken = tuple(
        Broken("not_a_count", key, value) for key, value in pair.items() if not _is_count(value)
    )
    if broken:
        return Usage(Status.VIOLATION, None, contract, broken=broken)
    cached, uncached = _count(pair[cached_key]), _count(pair[uncached_key])
    total_input = cached + uncached
    output, total = (_first(given, names) for names in (OUTPUT, TOTAL))
    if total_input == 0:
        return Usage(Status.UNKNOWN, Why.EMPTY_INPUT, contract, 0, None, output=output, total=total)
    return Usage(Status.MEASURED, None, contract, total_input, cached, output=output, total=total)


def _settled(usage_object: object) -> _Settled:
    if not isinstance(usage_object, Mapping) or not usage_object:
        return _Settled(seen=False, prompt=None, cached=None, estimate=False)
    details = usage_object.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    prompt = usage_object.get("prompt_tokens")
    return _Settled(
        seen=True,
        prompt=_count(prompt) if _is_count(prompt) else None,
        cached=_count(cached) if _is_count(cached) else None,
        estimate="cache_read_input_tokens" in usage_object,
    )


def _flat(raw: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Buckets, with OpenAI's details one level down joined by a dot."""
    for key, value in raw.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{part}", inner) for part, inner in value.items())
        else:
            yield key, value


def _not_counts(given: Mapping[str, object]) -> Iterable[Broken]:
    for key, value in given.items():
        if _is_bucket(key) and not _is_count(value):
            yield Broken("not_a_count", key, value)
    plain = [key for key in PLAIN if key in given]
    if len(plain) > 1:
        yield Broken("two_input_buckets", plain[1], given[plain[1]])


def _buckets(given: Mapping[str, object]) -> _Buckets:
    known = {*PLAIN, *CACHED, *CACHED_INCLUSIVE, *CACHE_WRITE}
    other = [key for key in given if key.startswith("input_") and key not in known]
    output = [key for key in given if key in OUTPUT or key.startswith("output_")]
    return _Buckets(
        plain=_total(given, PLAIN),
        cached=_total(given, CACHED),
        cached_inclusive=_total(given, CACHED_INCLUSIVE),
        cache_write=_total(given, CACHE_WRITE),
        other=_total(given, other),
        output=_total(given, output),
        total=_first(given, TOTAL),
    )


def _is_bucket(key: str) -> bool:
    named = (*PLAIN, *CACHED, *CACHED_INCLUSIVE, *CACHE_WRITE, *OUTPUT, *TOTAL)
    return key in named or (
        key.startswith(("input_", "output_")) and not key.startswith(INCLUSIVE_PARTS)
    )


def _is_count(value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return 0 <= value <= LARGEST_COUNT


def _count(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no count")
    return value


def _total(given: Mapping[str, object], keys: Iterable[str]) -> int | None:
    """Sum of the buckets that are there; None when none is."""
    found = [_count(given[key]) for key in keys if key in given]
    return sum(found) if found else None


def _first(given: Mapping[str, object], keys: Iterable[str]) -> int | None:
    return next((_count(given[k]) for k in keys if k in given and _is_count(given[k])), None)


def _sum(parts: Iterable[int | None]) -> int:
    """Sum of the parts a row has: a bucket it does not have holds none of its tokens."""
    return sum(part for part in parts if part is not None)
