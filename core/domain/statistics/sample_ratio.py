"""Whether as many sessions came to each arm as the plan says: if not, something chose them."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import chdtrc

from core.domain.statistics.holds import DEFAULT, Limits


@dataclass(frozen=True)
class SampleRatio:
    """Chi-square of session counts against a planned ratio."""

    chi2: float
    p: float

    def is_mismatch(self, *, limits: Limits = DEFAULT) -> bool:
        """Whether the counts can hardly come from the planned ratio."""
        return self.p < limits.sample_ratio_p


def sample_ratio(sessions: Sequence[int], planned: Sequence[float]) -> SampleRatio | None:
    """Hold the session counts of the arms against the planned ratio.

    Parameters
    ----------
    sessions : sequence of int
        Sessions of each arm, assigned whether evaluated or not.
    planned : sequence of float
        Planned ratio in any unit, one part per arm.

    Unknown when
    ------------
    There is no session, fewer than two arms, or a part of the ratio is not positive (None).

    Source
    ------
    Pearson's chi-square with one degree of freedom less than arms.

    >>> sample_ratio([820, 9400], [1, 9]).is_mismatch()
    True
    """
    total, parts = sum(sessions), sum(planned)
    if total <= 0 or len(sessions) < 2 or len(sessions) != len(planned) or min(planned) <= 0:
        return None
    expected = [total * part / parts for part in planned]
    chi2 = sum((o - e) ** 2 / e for o, e in zip(sessions, expected, strict=True))
    return SampleRatio(chi2, float(chdtrc(len(sessions) - 1, chi2)))
