"""Usage buckets of one request: whose tokens are whose, and what is not known.

Token buckets are a contract per exporter. Langfuse's own contract is exclusive:
every input token lies in one bucket, so the total input is their sum. OpenAI's is
inclusive: `prompt_tokens` holds the cached ones too. A row's `total` is the judge
between them. Nothing here repairs a number: what breaks a contract is named, and
what was not reported stays unknown.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from core.domain.exporters import Contract, Exporter, Zero

PLAIN = ("input", "input_tokens", "prompt_tokens")
CACHED = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
CACHED_INCLUSIVE = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "cached_tokens",
)
"""OpenAI's names: always a part of the prompt, never a bucket beside it."""
CACHE_WRITE = (
    "input_cache_creation",
    "cache_creation_input_tokens",
    "input_cache_write",
    "cache_creation",
)
CACHE_WRITE_BY_LIFE = ("input_cache_creation_5m", "input_cache_creation_1h")
OUTPUT = ("output", "output_tokens", "completion_tokens")
TOTAL = ("total_tokens", "total")
"""The exporter's own total first: Langfuse adds `total` up from all keys it does not know."""
INCLUSIVE_PARTS = (
    "prompt_tokens_details.",
    "completion_tokens_details.",
    "input_tokens_details.",
    "output_tokens_details.",
)
"""Parts of a bucket that is counted already."""
_ALIAS_OF = {
    **dict.fromkeys(PLAIN, "two_input_buckets"),
    **dict.fromkeys((*CACHED, *CACHED_INCLUSIVE), "two_cached_buckets"),
    **dict.fromkeys(CACHE_WRITE, "two_cache_write_buckets"),
    **dict.fromkeys(OUTPUT, "two_output_buckets"),
}
"""Names of one and the same bucket, and the rule that two of them in a row break."""
LARGEST_COUNT = 10**12
"""Tokens; a larger number is no count of one request's, and sums of smaller ones fit."""


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


class Broken(NamedTuple):
    """One rule that a row broke, with the field and the value as seen."""

    rule: str
    field: str
    raw: object


class Usage(NamedTuple):
    """Normalised usage of one request, in tokens; None is unknown, never zero."""

    status: Status
    why: Why | None
    contract: Contract
    total_input: int | None = None
    cached_input: int | None = None
    cache_write_input: int | None = None
    other_input: int | None = None
    output: int | None = None
    total: int | None = None
    broken: tuple[Broken, ...] = ()


class _Buckets(NamedTuple):
    """Buckets of a row by what they are; a part without any key is None."""

    plain: int | None = None
    cached: int | None = None
    cached_inclusive: int | None = None
    cache_write: int | None = None
    other: int | None = None
    answer: int | None = None
    """The output bucket itself, without reasoning and the like beside or inside it."""
    output: int | None = None
    total: int | None = None
    everything: int | None = None
    """All that was given but a total: what a server adds up that knows none of the keys."""

    @property
    def exclusive_input(self) -> int:
        """Every input bucket, each once."""
        return _sum((self.plain, self.cached, self.cache_write, self.other))


class _Settled(NamedTuple):
    """What the raw usage object in the metadata says: it tells a zero from nothing."""

    seen: bool = False
    prompt: int | None = None
    cached: int | None = None
    estimate: bool = False
    broken: Broken | None = None


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
    settled = _settled(usage_object)
    given, broken = _given(raw, exporter)
    if exporter.contract is Contract.TWO_BUCKETS:
        return _two_buckets(given, exporter, settled)
    if not given:
        return Usage(Status.NONE, Why.NO_USAGE, exporter.contract)
    broken += tuple(_breaks(given))
    if broken:
        return Usage(Status.VIOLATION, None, exporter.contract, broken=broken)
    buckets = _buckets(given)
    return _judged(buckets, exporter, settled, _total_input(buckets, exporter))


def _judged(
    buckets: _Buckets,
    exporter: Exporter,
    settled: _Settled,
    verdict: tuple[Contract, int | None, Broken | None],
) -> Usage:
    """What is known of buckets whose total input is known, or breaks a rule."""
    contract, total_input, broken = verdict
    cached, why = None, None
    if settled.estimate:
        why, broken = Why.ESTIMATE, None
    elif broken is None:
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
        output=buckets.answer if contract is Contract.INCLUSIVE else buckets.output,
        total=buckets.total,
        broken=() if broken is None else (broken,),
    )


def _total_input(b: _Buckets, exporter: Exporter) -> tuple[Contract, int | None, Broken | None]:
    """The contract a row keeps and its total input; `total` decides where it is given.

    Of a declared inclusive exporter a server may have added up overlapping buckets.
    """
    if b.plain is None:
        return exporter.contract, None, None
    parts, output, answer = b.exclusive_input, _sum((b.output,)), _sum((b.answer,))
    declared = exporter.contract is Contract.INCLUSIVE
    if declared or b.cached_inclusive is not None:
        if b.total in (None, b.plain + answer) or (declared and b.total == b.everything):
            return Contract.INCLUSIVE, b.plain, None
    elif b.total in (None, parts + output):
        return Contract.EXCLUSIVE, parts, None
    elif b.plain + output == b.total and b.cached is not None and b.cached <= b.plain:
        return Contract.EXCLUSIVE, None, Broken("overlap", "input", b.plain)
    return exporter.contract, None, Broken("total_mismatch", "total", b.total)


def _cached(
    b: _Buckets, exporter: Exporter, settled: _Settled, total_input: int | None
) -> tuple[int | None, Why | None, Broken | None]:
    """The measured cached count, why there is none, or what it breaks."""
    reported = b.cached if b.cached is not None else b.cached_inclusive
    told = settled.cached if settled.prompt == total_input else None
    cached = reported if reported is not None else told
    if settled.broken is not None:
        return None, None, settled.broken
    if (why := _unmeasured(cached, exporter, settled, total_input)) is not None:
        return None, why, None
    if settled.cached not in (None, cached):
        return None, None, Broken("usage_object_differs", "cached_tokens", settled.cached)
    if settled.cached is not None and settled.prompt not in (None, total_input):
        return None, None, Broken("usage_object_differs", "prompt_tokens", settled.prompt)
    if cached is not None and total_input is not None and cached > total_input:
        return None, None, Broken("cached_above_input", "cached_tokens", cached)
    return cached, None, None


def _unmeasured(
    cached: int | None, exporter: Exporter, settled: _Settled, total_input: int | None
) -> Why | None:
    if total_input is None:
        return Why.NO_INPUT
    if cached is None:
        return Why.NOT_REPORTED
    if cached == 0 and exporter.zero is Zero.UNPROVEN and settled.cached is None:
        return Why.NOT_REPORTED if settled.seen else Why.ZERO_UNPROVEN
    return Why.EMPTY_INPUT if total_input == 0 and cached == 0 else None


def _two_buckets(given: Mapping[str, object], exporter: Exporter, settled: _Settled) -> Usage:
    """Exactly two declared buckets: cached beside uncached, and both or nothing is known."""
    contract = Contract.TWO_BUCKETS
    uncached_key, cached_key = exporter.two_buckets
    if settled.estimate:
        return Usage(Status.UNKNOWN, Why.ESTIMATE, contract)
    if not given:
        return Usage(Status.NONE, Why.NO_USAGE, contract)
    if uncached_key not in given or cached_key not in given:
        return Usage(Status.UNKNOWN, Why.NOT_REPORTED, contract)
    uncached, cached = given[uncached_key], given[cached_key]
    if not _is_count(uncached) or not _is_count(cached):
        broken = tuple(
            Broken("not_a_count", key, given[key])
            for key in exporter.two_buckets
            if not _is_count(given[key])
        )
        return Usage(Status.VIOLATION, None, contract, broken=broken)
    output = _first(given, OUTPUT)
    buckets = _Buckets(
        plain=uncached,
        cached=cached,
        answer=output,
        output=output,
        total=_first(given, TOTAL),
    )
    return _judged(buckets, exporter, settled, (contract, buckets.exclusive_input, None))


def _settled(usage_object: object) -> _Settled:
    """Read a raw usage object.

    Beside OpenAI's details a proxy writes `cache_read_input_tokens` where it counted
    itself, and then 0: it cannot know of hits. A number of hits is the provider's own.
    """
    if not isinstance(usage_object, dict) or not usage_object:
        return _Settled()
    details = usage_object.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt = usage_object.get("prompt_tokens")
    broken = None
    for name, value in (("prompt_tokens", prompt), ("cached_tokens", cached)):
        if value is not None and not _is_count(value):
            broken = Broken("not_a_count", f"usage_object.{name}", value)
    hits = usage_object.get("cache_read_input_tokens", "absent")
    return _Settled(
        seen=True,
        prompt=prompt if _is_count(prompt) else None,
        cached=cached if _is_count(cached) else None,
        estimate=hits != "absent" and not (_is_count(hits) and hits > 0),
        broken=broken,
    )


def _given(
    raw: Mapping[str, object], exporter: Exporter
) -> tuple[dict[str, object], tuple[Broken, ...]]:
    """Buckets that have a value, with OpenAI's details one level down joined by a dot."""
    if dict not in map(type, raw.values()):
        return {key: value for key, value in raw.items() if value is not None}, ()
    given: dict[str, object] = {}
    twice: list[Broken] = []
    for key, value in raw.items():
        if isinstance(value, dict) and _part(key) is None and key not in exporter.two_buckets:
            pairs = [(f"{key}.{part}", inner) for part, inner in value.items()]
        else:
            pairs = [(key, value)]
        for name, one in pairs:
            if one is not None:
                if name in given:
                    twice.append(Broken("named_twice", name, one))
                given[name] = one
    return given, tuple(twice)


def _breaks(given: Mapping[str, object]) -> Iterable[Broken]:
    """Values that are no counts, and buckets under two names."""
    rules: set[str] = set()
    for key, value in given.items():
        if not _is_count(value) and _part(key) is not None:
            yield Broken("not_a_count", key, value)
        rule = _ALIAS_OF.get(key)
        if rule in rules:
            yield Broken(rule, key, value)
        elif rule is not None:
            rules.add(rule)


def _buckets(given: Mapping[str, object]) -> _Buckets:
    sums: dict[str, int] = {}
    everything = 0
    for key, value in given.items():
        part = _part(key)
        if part == "total" or not _is_count(value):
            continue
        everything += value
        if part is not None:
            sums[part] = sums[part] + value if part in sums else value
    answer, beside = sums.pop("answer", None), sums.pop("output", None)
    output = answer if beside is None else _sum((answer, beside))
    total = _first(given, TOTAL)
    return _Buckets(**sums, answer=answer, output=output, total=total, everything=everything)


_PARTS = {
    **dict.fromkeys(PLAIN, "plain"),
    **dict.fromkeys(CACHED, "cached"),
    **dict.fromkeys(CACHED_INCLUSIVE, "cached_inclusive"),
    **dict.fromkeys((*CACHE_WRITE, *CACHE_WRITE_BY_LIFE), "cache_write"),
    **dict.fromkeys(OUTPUT, "answer"),
    **dict.fromkeys(TOTAL, "total"),
}


@lru_cache(maxsize=1024)
def _part(key: str) -> str | None:
    """What a bucket is; None for a key that holds no tokens of its own.

    >>> _part("input_audio_tokens"), _part("output_tokens_details.reasoning_tokens")
    ('other', None)
    """
    if key in _PARTS:
        return _PARTS[key]
    if f"{key}.".startswith(INCLUSIVE_PARTS):
        return None
    if key.startswith("input_"):
        return "other"
    return "output" if key.startswith("output_") else None


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def _first(given: Mapping[str, object], keys: Iterable[str]) -> int | None:
    return next((v for k in keys if _is_count(v := given.get(k))), None)


def _sum(parts: Iterable[int | None]) -> int:
    """Sum of the parts a row has: a bucket it does not have holds none of its tokens."""
    return sum(part for part in parts if part is not None)
