"""The rule of preemption windows as cache queries take it."""

from dataclasses import dataclass

from core.domain.windows import Rule
from core.views.engine_windows import LATE_S, LONGEST_S


@dataclass(frozen=True)
class WindowRule:
    """Numbers behind windows and exposure.

    `read_to` is until when samples are there (None: nobody says), `tolerance_s` by how
    much requests are widened on both sides.
    """

    rule: Rule
    read_to: float | None
    tolerance_s: float

    @property
    def windows(self) -> dict[str, object]:
        """Parameters of the windows' state."""
        return {
            "window_s": self.rule.window_s,
            "fewest": self.rule.fewest,
            "coverage": self.rule.coverage,
            "gap_intervals": self.rule.gap_intervals,
            "read_to": self.read_to,
            "late": float(LATE_S),
        }

    @property
    def overlap(self) -> dict[str, object]:
        """Parameters of which windows a request overlaps."""
        return {
            "window_s": self.rule.window_s,
            "tolerance": self.tolerance_s,
            "longest": float(LONGEST_S),
        }
