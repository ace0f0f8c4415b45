"""Plans as forms hold them: there and back without a change, and every fault by its name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.experiments.arms import Arms, ByAttribute, Dimension
from core.domain.experiments.checks import Check
from core.domain.experiments.plan import Assumptions, PlannedLook
from core.domain.quality import Estimand
from core.domain.statistics.sequential import Spending
from core.errors import EntryError
from core.views.experiment_checks import findings
from core.views.experiment_draft import blank, entered, plan_of
from core.views.experiment_sizes import sample_plan, sample_plan_of
from tests.domain.experiments.plans import DAY, IN_TIME, PERIOD, START, plan
from tests.queries.test_experiment_view import ONE_LOOK, rate, sides
from tests.queries.written_experiments import Arm, Trial

ASSUMED = Assumptions(
    p_base=0.95, p_new=0.95, icc=0.1, mean_session_size=5.0, cv_session_size=1.0, power=0.9
)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        IN_TIME,
        {"assumptions": ASSUMED, "planned_se": 0.01, "planned_clusters": None},
        {"estimand": Estimand.MEAN, "higher_is_better": False, "requests_stand_alone": True},
        {"looks": (PlannedLook(fraction=0.5, at=START + DAY), PlannedLook(fraction=1.0))},
        {
            "arms": Arms(
                split=ByAttribute(dimension=Dimension.MODEL, base="a", new="b"), cluster="east"
            )
        },
    ],
)
def test_a_form_holds_a_whole_plan(changed: dict[str, Any]) -> None:
    """A plan put into the form and read back is the same, hash and all."""
    one = plan(**changed)
    assert plan_of(entered(one)) == one


@given(
    margin=st.floats(0, 0.99),
    ratio=st.floats(0.01, 900),
    fraction=st.floats(0.001, 0.999),
    spending=st.sampled_from(list(Spending)),
    title=st.text(st.characters(min_codepoint=33, max_codepoint=0x1FF), min_size=1).filter(
        lambda text: text.strip() == text and text.isprintable()
    ),
)
def test_no_number_or_text_is_rounded(
    margin: float, ratio: float, fraction: float, spending: Spending, title: str
) -> None:
    """Whatever the plan holds, the form gives it back unrounded."""
    looks = (PlannedLook(fraction=fraction), PlannedLook(fraction=1.0))
    one = plan(margin=margin, ratio=ratio, looks=looks, spending=spending, title=title)
    assert plan_of(entered(one)) == one


def test_every_fault_is_named_at_once() -> None:
    """An empty form names all that is missing, in its parts and in the plan itself."""
    with pytest.raises(EntryError) as refused:
        plan_of(blank(START))
    faults = {fault.partition(":")[0] for fault in refused.value.detail.split("; ")}
    assert {"arms.base", "arms.new", "primary.name", "title", "promote_rules"} <= faults
    assert "arms" not in faults


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("looks", "half, 1", "looks"),
        ("period_to", None, "period.period_to"),
        ("clusters_new", None, "planned_clusters.new"),
        ("revisions", "template", "revisions"),
    ],
)
def test_a_fault_has_its_field(field: str, value: object, named: str) -> None:
    """What cannot be used is named by its own field."""
    with pytest.raises(EntryError) as refused:
        plan_of(entered(plan()) | {field: value})
    assert refused.value.detail.startswith(named)


def test_sizes_are_those_of_the_planning_formulas() -> None:
    """The reference case: 2,545 records and 968 sessions of an arm, at full coverage."""
    found = sample_plan(ASSUMED, margin=0.02, alpha=0.025, ratio=1.0, coverage=1.0)
    assert found.base is not None
    assert found.effect == pytest.approx(1.9)
    assert found.base.clusters == pytest.approx(2545 * 1.9 / 5, abs=1.5)
    assert found.base == found.new
    never = ASSUMED.model_copy(update={"p_new": 0.9})
    assert sample_plan(never, margin=0.02, alpha=0.025, ratio=1.0, coverage=1.0).base is None


def test_a_plan_without_assumptions_asks_for_nothing() -> None:
    """No number is made up for a plan that assumes none, or is about a mean."""
    assert sample_plan_of(plan()) is None
    assert sample_plan_of(plan(assumptions=ASSUMED, estimand=Estimand.MEAN)) is None
    assert sample_plan_of(plan(assumptions=ASSUMED)) is not None


def test_checks_see_the_plans_own_labels(trial: Trial) -> None:
    """Attribute, coverage, evaluator versions and sessions of recent requests, and data seen."""
    base, new = sides()
    trial.arms(base, new)
    found = {one.check: one for one in findings(trial.store, plan(**ONE_LOOK), START + 2 * DAY)}
    sound = {"MAPPING_SOUND", "COVERAGE_SOUND", "EVALUATOR_SOUND", "SESSIONS_SOUND", "DATA_SEEN"}
    assert {Check[name] for name in sound} <= set(found)
    assert found[Check.DATA_SEEN].value == START + 600


def test_checks_of_poor_data(trial: Trial) -> None:
    """Without attribute, session and version: each is a finding of its own."""

    def few(session: int, request: int) -> bool | None:
        return None if session % 2 else rate(90)(session, request)

    bare = Arm("x", passes=few, more={"arm": None, "session_id": None}, version=None)
    trial.arms(bare)
    found = {one.check for one in findings(trial.store, plan(), START + DAY)}
    assert {
        Check.MAPPING_MISSING,
        Check.SESSIONS_MISSING,
        Check.EVALUATOR_UNVERSIONED,
    } <= found


def test_a_day_is_never_called_enough(trial: Trial) -> None:
    """A period of a day is a warning, whatever its plan says about it."""
    day = PERIOD.model_copy(update={"end": START + DAY})
    found = findings(trial.store, plan(period=day), START - DAY)
    cycle = [one for one in found if one.check.startswith("cycle")]
    assert cycle
    assert all("sound" not in one.severity for one in cycle)
