"""What a server is set to, from its cache_config_info, and whether two differ in caching alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from core.domain.bench.result import RunEvidence, Snapshot

CACHING = "enable_prefix_caching"
DERIVED = frozenset(
    {
        "num_gpu_blocks",
        "kv_cache_size_tokens",
        "kv_cache_max_concurrency",
        "kv_cache_memory_bytes",
        "hash_block_size",
        "mamba_block_size",
        "mamba_cache_mode",
        "mamba_page_size_padded",
        "enable_mamba_shared_prefix_checkpoint",
    }
)
"""Labels that a server works out at its start, from free memory or from the caching flag."""
_PLACE = {"--host", "--port", "--base-url", "--result-dir", "--result-filename"}
_FLAGS = {"--enable-prefix-caching", "--no-enable-prefix-caching"}

Configuration = tuple[str | None, tuple[tuple[str, str], ...]]
"""Version, and the labels that are set and not derived, caching aside."""


class Part(StrEnum):
    """Where the two runs of a pair can differ."""

    BENCH_ARGUMENTS = "bench_arguments"
    SERVE_ARGUMENTS = "serve_arguments"
    VERSION = "version"
    CONFIGURATION = "configuration"
    PROMPTS = "prompts"


class Difference(NamedTuple):
    """A part, and what each side has there."""

    part: Part
    off: str
    on: str


@dataclass(frozen=True)
class PairCheck:
    """Whether two runs differ in caching alone.

    Parameters
    ----------
    differences : tuple
        Any makes them no pair.
    derived : tuple
        Differences in derived labels: shown, and no fault.
    unknown : tuple of Part
        What one side does not tell.
    """

    differences: tuple[Difference, ...]
    derived: tuple[Difference, ...]
    unknown: tuple[Part, ...]

    @property
    def is_pair(self) -> bool:
        """No difference was found in what is known."""
        return not self.differences


def cache_config(snapshot: Snapshot | None) -> Mapping[str, str] | None:
    """Labels that all engines of a server share; None where none is exported.

    >>> cache_config(Snapshot({}, {"0": {"a": "1", "b": "2"}, "1": {"a": "1", "b": "3"}}))
    {'a': '1'}
    """
    if snapshot is None or not snapshot.configs:
        return None
    first, *rest = snapshot.configs.values()
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in rest)}


def caching_flag(snapshot: Snapshot | None) -> bool | None:
    """Whether a server says that it caches; None where it does not say, or engines differ."""
    said = (cache_config(snapshot) or {}).get(CACHING)
    return {"True": True, "False": False}.get(str(said))


def match_unit(snapshot: Snapshot | None) -> int | None:
    """Tokens of which a hit is a multiple: the match unit where one is set, else the block.

    >>> match_unit(Snapshot({}, {"0": {"prefix_match_unit": "None", "block_size": "32"}}))
    32
    """
    config = cache_config(snapshot) or {}
    for name in ("prefix_match_unit", "cache_hit_alignment_tokens", "block_size"):
        if (unit := whole(config.get(name))) is not None and unit > 0:
            return unit
    return None


def whole(text: str | None) -> int | None:
    """A label as a whole number; None for another one."""
    return int(text) if text is not None and text.isdecimal() else None


def configuration(evidence: RunEvidence) -> Configuration | None:
    """What tells whether two runs had the same server, caching aside; None where unknown."""
    config = cache_config(evidence.after)
    if config is None:
        return None
    kept = {k: v for k, v in config.items() if k not in DERIVED and k != CACHING}
    return version_of(evidence), tuple(sorted(kept.items()))


def version_of(evidence: RunEvidence) -> str | None:
    """The server's version: as it answers, else as its log says."""
    if evidence.version is not None:
        return evidence.version
    return evidence.log.version if evidence.log is not None else None


def check_pair(off: RunEvidence, on: RunEvidence) -> PairCheck:
    """Compare commands, version, configuration and prompts of an OFF and an ON run."""
    told: dict[Part, tuple[object | None, object | None]] = {
        Part.BENCH_ARGUMENTS: (_bench(off), _bench(on)),
        Part.SERVE_ARGUMENTS: (serve_arguments(off), serve_arguments(on)),
        Part.VERSION: (version_of(off), version_of(on)),
        Part.PROMPTS: (_prompts(off), _prompts(on)),
    }
    found = [
        Difference(part, str(a), str(b))
        for part, (a, b) in told.items()
        if a is not None and b is not None and a != b
    ]
    unknown = [part for part, sides in told.items() if None in sides]
    labels = _labels(off, on)
    if labels is None:
        return PairCheck(tuple(found), (), (*unknown, Part.CONFIGURATION))
    set_ones = [d for name, d in labels.items() if name not in DERIVED]
    derived = [d for name, d in labels.items() if name in DERIVED]
    return PairCheck((*found, *set_ones), tuple(derived), tuple(unknown))


def _labels(off: RunEvidence, on: RunEvidence) -> dict[str, Difference] | None:
    these, those = cache_config(off.after), cache_config(on.after)
    if these is None or those is None:
        return None
    return {
        name: Difference(
            Part.CONFIGURATION, f"{name}={these.get(name)}", f"{name}={those.get(name)}"
        )
        for name in sorted((these.keys() | those.keys()) - {CACHING})
        if these.get(name) != those.get(name)
    }


def _bench(evidence: RunEvidence) -> tuple[str, ...] | None:
    return _without(evidence.bench_arguments, _PLACE)


def serve_arguments(evidence: RunEvidence) -> tuple[str, ...] | None:
    """How a server was started, port and caching flag aside; None where nobody here did."""
    kept = _without(evidence.serve_arguments, {"--port"})
    return None if kept is None else tuple(word for word in kept if word not in _FLAGS)


def _without(arguments: tuple[str, ...] | None, names: set[str]) -> tuple[str, ...] | None:
    if arguments is None:
        return None
    before = ("", *arguments)
    return tuple(
        word
        for word, last in zip(arguments, before, strict=False)
        if word not in names and last not in names
    )


def _prompts(evidence: RunEvidence) -> tuple[object, ...] | None:
    result = evidence.result
    if result is None:
        return None
    return result.num_prompts, result.max_concurrency, result.total_input_tokens
