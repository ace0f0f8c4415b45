"""Rules of a plan against the rows of its experiment, by hand and out of a written cache."""

from pathlib import Path
from typing import Any

import pytest

from core.domain.experiments.rules import FIGURES, RuleState
from core.domain.reading import Reading, Reason
from core.domain.statistics.gate import Verdict
from core.views.experiment_efficiency import EfficiencyRow
from core.views.experiment_rules import Action, judged_rules
from tests.domain.experiments.plans import plan
from tests.queries.test_experiment_view import END, ONE_LOOK, sides
from tests.queries.written_experiments import Trial

MET, NOT_MET, UNKNOWN, PERSON = RuleState
P95 = "arm_first_token_p95"


def bucket(low: float, high: float) -> Reading:
    return Reading(P95, low, low=low, high=high)


def state(rule: str, *rows: EfficiencyRow, verdict: Verdict | None = None) -> RuleState:
    """State of the one stop rule of a plan."""
    return judged_rules(plan(stop_rules=(rule,)), verdict, rows)[0].state


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("time to first token p95, new arm, above 5 s", MET),
        ("time to first token p95, new arm, above 5.3 s", UNKNOWN),
        ("time to first token p95, new arm, above 5.4 s", NOT_MET),
        ("time to first token p95, difference, above 0.9 s", MET),
        ("time to first token p95, difference, above 1.1 s", UNKNOWN),
        ("time to first token p95, difference, below 0.9 s", NOT_MET),
    ],
)
def test_a_quantile_is_known_by_its_buckets(rule: str, expected: RuleState) -> None:
    """A difference of two lies between the differences of their edges, and no nearer."""
    row = EfficiencyRow(P95, bucket(4.1, 4.2), bucket(5.2, 5.4))
    assert state(rule, row) is expected


@pytest.mark.parametrize(
    "row",
    [
        EfficiencyRow("incomplete_rate", None, None),
        EfficiencyRow(
            "incomplete_rate",
            Reading("incomplete_rate", 0.5),
            Reading("incomplete_rate", None, Reason.NO_TRAFFIC),
        ),
        EfficiencyRow(
            "incomplete_rate", Reading("incomplete_rate", 0.5), Reading("incomplete_rate", 0.5)
        ),
        EfficiencyRow(
            "kv_usage_mean", Reading("kv_usage_mean", 0.5), Reading("kv_usage_mean", 0.5)
        ),
    ],
)
def test_no_difference_is_not_no_rise(row: EfficiencyRow) -> None:
    """Without arms, a request, a difference or the row itself, a rule cannot be known."""
    assert state("incomplete rate, difference, above 2 pp", row) is UNKNOWN
    assert state("incomplete rate, difference, below 2 pp", row) is UNKNOWN


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.REGRESSION, MET),
        (Verdict.NON_INFERIOR, NOT_MET),
        (Verdict.HOLD, UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_regression_alone_is_of_the_verdict(verdict: Verdict | None, expected: RuleState) -> None:
    """A rule that says only that is judged by the verdict; one that says more, by a person."""
    assert state("Regression at any look.", verdict=verdict) is expected
    assert state("regression of p95", verdict=verdict) is PERSON


@pytest.fixture
def trial(tmp_path: Path) -> Any:
    made = Trial(tmp_path)
    yield made
    made.store.close()


def test_rules_read_the_rows_that_the_page_shows(trial: Trial) -> None:
    """Every figure that a rule can name is a row; states come from it in the order of the plan."""
    stop = (
        "time to first token mean, new arm, above 0.9 s",
        "time to first token mean, new arm, above 1 s",
    )
    rollback = ("engine hit ratio, new arm, below 30 %", "reports from users", "regression")
    view = trial.registered(plan(**ONE_LOOK, stop_rules=stop, rollback_rules=rollback, margin=0.06))
    one = view.arms(*sides()).seen(END)
    assert set(FIGURES) == {row.metric for row in one.efficiency}
    assert [rule.state for rule in one.rules] == [MET, NOT_MET, UNKNOWN, PERSON, NOT_MET]
    assert [rule.action for rule in one.rules] == [Action.STOP] * 2 + [Action.ROLLBACK] * 3
    assert [rule.text for rule in one.rules] == [*stop, *rollback]
    assert [rule.seen for rule in one.rules] == [(1.0, 1.0), (1.0, 1.0), None, None, None]


def test_before_the_first_request_no_rule_is_met(trial: Trial) -> None:
    """Nothing seen is neither below nor above anything."""
    rules = [f"{figure.name}, difference, below 1 {figure.unit}" for figure in FIGURES.values()]
    rules = [rule.replace("%", "pp") for rule in rules]
    one = trial.registered(plan(**ONE_LOOK, stop_rules=tuple(rules))).seen(END)
    assert {rule.state for rule in one.rules if rule.measured} == {UNKNOWN}
    assert sum(rule.measured is not None for rule in one.rules) == len(FIGURES)
