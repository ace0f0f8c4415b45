"""Four ways to compare two arms, and what each of them cannot exclude."""

from enum import StrEnum


class Comparison(StrEnum):
    """How requests come to be in one arm or the other."""

    RANDOMISED_CANARY = "randomised_canary"
    PAIRED_DATA_SET = "paired_data_set"
    SEPARATE_POOLS = "separate_pools"
    BEFORE_AFTER = "before_after"


class NotExcluded(StrEnum):
    """What may stand behind a difference, or hide one, beside the change itself."""

    SHARED_ENGINES = "shared_engines"
    POOL_RESOURCES = "pool_resources"
    NOT_RANDOMISED = "not_randomised"
    TIME_AND_LOAD = "time_and_load"
    RUN_ORDER = "run_order"
    DATA_SET_ONLY = "data_set_only"
    OTHER_CONDITIONS = "other_conditions"


CANNOT_EXCLUDE: dict[Comparison, tuple[NotExcluded, ...]] = {
    Comparison.RANDOMISED_CANARY: (
        NotExcluded.SHARED_ENGINES,
        NotExcluded.OTHER_CONDITIONS,
    ),
    Comparison.PAIRED_DATA_SET: (
        NotExcluded.SHARED_ENGINES,
        NotExcluded.RUN_ORDER,
        NotExcluded.DATA_SET_ONLY,
        NotExcluded.OTHER_CONDITIONS,
    ),
    Comparison.SEPARATE_POOLS: (
        NotExcluded.POOL_RESOURCES,
        NotExcluded.NOT_RANDOMISED,
        NotExcluded.OTHER_CONDITIONS,
    ),
    Comparison.BEFORE_AFTER: (
        NotExcluded.NOT_RANDOMISED,
        NotExcluded.TIME_AND_LOAD,
        NotExcluded.OTHER_CONDITIONS,
    ),
}
"""Said beside every verdict of that kind, most telling first."""
