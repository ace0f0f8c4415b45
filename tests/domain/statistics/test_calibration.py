"""On simulated sessions the interval holds the truth; the whole table is `make calibration`."""

from tests.domain.statistics.regimes import REGIMES
from tests.perf.calibration import Cell, broken, cell


def test_the_interval_holds_the_truth_and_the_simulation_can_tell() -> None:
    """200 data sets of uneven sessions: 0.90 and more, and less with sessions forgotten."""
    found = cell(REGIMES["D"], 40, data_sets=200)
    assert found.coverage >= 0.90
    assert found.independent_coverage < 0.90
    assert found.independent_coverage < found.coverage - 0.04


def test_broken_limits_are_named() -> None:
    """The command fails on low coverage, false verdicts, and a blind simulation."""
    assert broken(Cell("D", 40, 0.95, 0.02, 0.85)) == []
    assert len(broken(Cell("D", 40, 0.93, 0.04, 0.95))) == 3
    assert len(broken(Cell("H", 100, 0.98, 0.5, 0.95))) == 1
    assert broken(Cell("X", 100, 0.5, 0.5, 0.5)) == []
