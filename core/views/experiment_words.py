"""Words for the terms of an experiment: levers, comparisons, evidence and checks.

The page and the report say them the same way.
"""

from dataclasses import dataclass

from core.domain.experiments.arms import Dimension
from core.domain.experiments.checks import Check
from core.domain.experiments.comparison import CANNOT_EXCLUDE, Comparison
from core.domain.experiments.evidence import EvidenceLine
from core.domain.experiments.levers_guide import quality_check
from core.domain.levers import LeverKind
from core.messages import named, say


@dataclass(frozen=True)
class LeverGuide:
    """What to know before one lever is pulled: its path, what to watch, what of quality."""

    path: str
    watch: str
    quality: str


def lever_guide(lever: LeverKind, dimension: Dimension | None = None) -> LeverGuide:
    """Guidance for one of the eight levers, given what tells the arms apart (None: time)."""
    return LeverGuide(
        path=say(f"lever_path.{lever}"),
        watch=say(f"lever_watch.{lever}"),
        quality=say(f"lever_quality.{quality_check(lever, dimension)}"),
    )


def not_excluded(comparison: Comparison) -> tuple[str, ...]:
    """Sentences that stand beside every verdict of a comparison."""
    return tuple(say(f"cannot_exclude.{one}") for one in CANNOT_EXCLUDE[comparison])


def evidence_words(line: EvidenceLine) -> str:
    """What a reason to hold, or a note, says; one of a newer version stands for itself."""
    return named("evidence.", line.reason)


def check_words(check: Check) -> str:
    """What a check before registration found."""
    return say(f"check.{check}")
