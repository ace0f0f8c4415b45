"""Kinds of changes the lever log holds."""

from enum import StrEnum


class LeverKind(StrEnum):
    """The eight levers of prefix-cache tuning, what the collector finds, and other."""

    AFFINITY_ROUTING = "affinity_routing"
    REPLICAS = "replicas"
    MEMORY_CONCURRENCY = "memory_concurrency"
    KV_DTYPE = "kv_dtype"
    SCALING_STABILITY = "scaling_stability"
    PROMPT_ORDER = "prompt_order"
    MATCH_UNIT_BLOCKS = "match_unit_blocks"
    CONTEXT_TRIMMING = "context_trimming"
    OTHER = "other"
    CONFIGURATION = "configuration"
    RESTART = "restart"
    ENGINE_APPEARED = "engine_appeared"
    ENGINE_LEFT = "engine_left"
    CACHE_RESET = "cache_reset"


ENTERED = tuple(LeverKind)[:9]
"""Kinds a person may enter."""


def label_changes(before: dict[str, str], after: dict[str, str]) -> str:
    """What changed between two label sets, in one line.

    >>> label_changes({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"})
    'b 2 → 3, c (absent) → 4'
    """
    names = sorted(name for name in before | after if before.get(name) != after.get(name))
    return ", ".join(
        f"{name} {before.get(name, '(absent)')} → {after.get(name, '(absent)')}" for name in names
    )
