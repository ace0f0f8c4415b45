"""What each of the eight levers asks of an experiment; its words are in `core.messages`.

No lever is called neutral: one that means to keep the model's input as it is still gets
the basic contract and regression checks, on the same gate.
"""

from enum import StrEnum

from core.domain.experiments.arms import Dimension
from core.domain.levers import LeverKind

LEVERS = tuple(LeverKind)[:8]
"""Kinds of change that an experiment may be about, one at a time."""


class QualityCheck(StrEnum):
    """What is asked of quality before a change is promoted."""

    REQUIRED = "required"
    BASIC = "basic"


CHECKS: dict[LeverKind, QualityCheck] = {
    LeverKind.AFFINITY_ROUTING: QualityCheck.BASIC,
    LeverKind.REPLICAS: QualityCheck.BASIC,
    LeverKind.MEMORY_CONCURRENCY: QualityCheck.BASIC,
    LeverKind.KV_DTYPE: QualityCheck.REQUIRED,
    LeverKind.SCALING_STABILITY: QualityCheck.BASIC,
    LeverKind.PROMPT_ORDER: QualityCheck.REQUIRED,
    LeverKind.MATCH_UNIT_BLOCKS: QualityCheck.BASIC,
    LeverKind.CONTEXT_TRIMMING: QualityCheck.REQUIRED,
}
"""By lever. The match unit moves the boundary of reuse and leaves the input as it is."""
CHANGES_THE_INPUT = (Dimension.TEMPLATE_VERSION, Dimension.MODEL)
"""Arms told apart by these differ in what is asked or who answers, whatever the lever."""


def quality_check(lever: LeverKind, dimension: Dimension | None = None) -> QualityCheck:
    """What a lever asks of quality, given what tells its arms apart.

    Parameters
    ----------
    lever : LeverKind
        One of `LEVERS`.
    dimension : Dimension or None
        Attribute by which requests belong to an arm; None: by time.

    Raises
    ------
    KeyError
        If the kind is none of the eight levers.

    >>> str(quality_check(LeverKind.REPLICAS)), str(quality_check(LeverKind.KV_DTYPE))
    ('basic', 'required')
    >>> str(quality_check(LeverKind.REPLICAS, Dimension.MODEL))
    'required'
    """
    return QualityCheck.REQUIRED if dimension in CHANGES_THE_INPUT else CHECKS[lever]
