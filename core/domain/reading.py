"""A number, or the reason why there is none.

`Reading` is what every tile, cell and export shows. It holds no meaning of the
metric itself (that is `core.catalogue`) and no way to compute it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a reading has no value. None of these is zero."""

    NO_TRAFFIC = "no_traffic"
    NOT_EXPORTED = "not_exported"
    RENAMED = "renamed"
    NATIVE_HISTOGRAM = "native_histogram"
    TOO_FEW_SCRAPES = "too_few_scrapes"
    CACHING_OFF = "caching_off"
    NO_ENGINE = "no_engine"
    NOT_CONNECTED = "not_connected"
    NOT_READ = "not_read"
    NOT_MEASURED = "not_measured"
    POD_ONLY = "pod_only"
    NOT_ATTRIBUTED = "not_attributed"
    CONTRACT_ERROR = "contract_error"
    FLAG_OFF = "flag_off"
    NO_EVICTIONS = "no_evictions"
    NO_REUSE = "no_reuse"


QUIET_REASONS = (
    Reason.NO_TRAFFIC,
    Reason.CACHING_OFF,
    Reason.NO_EVICTIONS,
    Reason.NO_REUSE,
)
"""Observed, and nothing to divide by: known silence, not a hole."""


@dataclass(frozen=True)
class Coverage:
    """How much of the asked window was really observed.

    Parameters
    ----------
    observed_s, expected_s : float
        Engine-seconds between neighbouring scrapes, and engine-seconds asked for.
    engines, engines_expected : int
        Engines that gave the value, and engines alive in the window.
    samples : int
        Scrapes behind the value.

    Notes
    -----
    A pair of scrapes belongs wholly to the minute of its later one, so
    `observed_s` may exceed `expected_s` by up to one scrape interval per engine.
    """

    observed_s: float
    expected_s: float
    engines: int
    engines_expected: int
    samples: int

    @property
    def share(self) -> float | None:
        """Observed over expected; None when nothing was expected.

        >>> Coverage(90.0, 120.0, 1, 1, 6).share
        0.75
        """
        return self.observed_s / self.expected_s if self.expected_s > 0 else None


@dataclass(frozen=True)
class Reported:
    """How many requests carried what was asked for, of how many that were seen."""

    reported: int
    requests: int

    @property
    def share(self) -> float | None:
        """Reported over seen; None when nothing was seen.

        >>> Reported(1, 4).share
        0.25
        """
        return self.reported / self.requests if self.requests > 0 else None


@dataclass(frozen=True)
class Reading:
    """One value of one catalogue metric, or unknown with its reason.

    Parameters
    ----------
    metric : str
        Key in `core.catalogue`; the unit and the words come from there.
    value : float or None
        None exactly when `reason` is set.
    numerator, denominator : float or None
        The sums behind a ratio, in the unit of the metric's terms.
    low, high : float or None
        Interval the value is known to lie in, where only that is known
        (bucket edges); `high` may be infinite, and `value` is then its lower end.
    restarted : int
        Counter resets inside the window.

    Raises
    ------
    ValueError
        When value and reason are both present or both absent.
    """

    metric: str
    value: float | None = None
    reason: Reason | None = None
    numerator: float | None = None
    denominator: float | None = None
    coverage: Coverage | Reported | None = None
    low: float | None = None
    high: float | None = None
    restarted: int = 0

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(
                f"{self.metric}: a reading has a value or a reason, "
                f"got value={self.value!r} and reason={self.reason!r}"
            )

    @property
    def known(self) -> bool:
        """Whether there is a number to show."""
        return self.value is not None
