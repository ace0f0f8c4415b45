"""`make calibration`: do intervals of a difference hold what they say, on simulated sessions.

For every regime and number of sessions, 2,000 data sets without a difference and 2,000
with one of exactly minus the margin go through the functions the gate calls. Prints how
often the interval holds the truth, how often it wrongly shows non-inferiority (wanted: at
most 0.025), and how often the interval that takes records as independent holds the truth.
Ends non-zero when a limit is broken; so that the limits can be trusted, the independent
interval has to break its own.
"""

import sys
import time
from typing import NamedTuple

import numpy as np

from core.domain.statistics.choice import Design, difference_interval
from core.domain.statistics.difference import Difference
from core.domain.statistics.independent import square_and_add
from core.domain.statistics.proportion import wilson
from core.domain.statistics.quantiles import normal
from core.domain.statistics.sums import Interval
from tests.domain.statistics.regimes import REGIMES, Regime, arm

DATA_SETS, SESSIONS, MARGIN, SEED = 2000, (20, 40, 100), 0.02, 20_270_101
LEAST_COVERAGE, MOST_FALSE = 0.935, 0.025 + 0.012
EXACT = (0.93, 0.97)
INDEPENDENT_FAILS_BELOW = 0.90


class Cell(NamedTuple):
    """What came out of one regime and number of sessions."""

    regime: str
    sessions: int
    coverage: float
    false_non_inferior: float
    independent_coverage: float


def differences(
    regime: Regime, sessions: int, *, loss: float, data_sets: int, seed: int
) -> list[Difference]:
    """Intervals of so many data sets in which the new arm is worse by `loss`."""
    rng = np.random.default_rng([seed, ord(regime.name), sessions, round(loss * 1000)])
    new = arm(regime, (data_sets, sessions), loss=loss, rng=rng)
    base = arm(regime, (data_sets, sessions * regime.base_times), loss=0.0, rng=rng)
    return [
        difference_interval(new.of(row), base.of(row), design=Design.SEPARATE)
        for row in range(data_sets)
    ]


def held(intervals: list[Interval | None], truth: float) -> float:
    """Share of the intervals that hold the truth; an undefined one does not."""
    return float(np.mean([i is not None and i.lower <= truth <= i.upper for i in intervals]))


def as_independent(found: Difference) -> Interval | None:
    """Newcombe's interval with Kish's size: sessions forgotten, weights kept."""
    limits = [
        (one.estimate, wilson(one.estimate, one.kish_n, c=normal()))
        for one in (found.new, found.base)
        if one.estimate is not None and one.kish_n is not None
    ]
    return square_and_add(*limits) if len(limits) == 2 else None


def cell(regime: Regime, sessions: int, *, data_sets: int = DATA_SETS, seed: int = SEED) -> Cell:
    """Run one cell of the table."""
    same = differences(regime, sessions, loss=0.0, data_sets=data_sets, seed=seed)
    worse = differences(regime, sessions, loss=MARGIN, data_sets=data_sets, seed=seed)
    passed = [one.interval is not None and one.interval.lower > -MARGIN for one in worse]
    return Cell(
        regime.name,
        sessions,
        held([one.interval for one in same], 0.0),
        float(np.mean(passed)),
        held([as_independent(one) for one in same], 0.0),
    )


def broken(found: Cell) -> list[str]:
    """Limits this cell does not keep."""
    where = f"{found.regime} at {found.sessions}"
    said = []
    if found.regime in "BDFIK":
        if found.coverage < LEAST_COVERAGE:
            said.append(f"{where}: coverage {found.coverage:.4f} below {LEAST_COVERAGE}")
        if found.false_non_inferior > MOST_FALSE:
            said.append(f"{where}: false {found.false_non_inferior:.4f} above {MOST_FALSE}")
    if found.regime in "BH" and found.sessions == 100 and not _within(found.coverage, EXACT):
        said.append(f"{where}: coverage {found.coverage:.4f} outside {EXACT}")
    if found.regime == "D" and found.independent_coverage >= INDEPENDENT_FAILS_BELOW:
        said.append(f"{where}: the independent interval was not caught")
    return said


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def main() -> int:
    """Print the table; 1 when a limit is broken."""
    begun, failures = time.process_time(), []
    print(f"{DATA_SETS} data sets a cell, margin {MARGIN}, seed {SEED}")
    print("| regime | sessions | coverage | false non-inferior | records as independent |")
    print("|---|---|---|---|---|")
    for regime in REGIMES.values():
        for sessions in SESSIONS:
            found = cell(regime, sessions)
            failures += broken(found)
            print(
                f"| {regime.name} {regime.says} | {sessions} | {found.coverage:.4f} "
                f"| {found.false_non_inferior:.4f} | {found.independent_coverage:.4f} |",
                flush=True,
            )
    print(f"{time.process_time() - begun:.0f} s CPU")
    print("\n".join(failures) or "every limit kept")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
