"""A plan is strictly read, bounded, and named by a hash of what it says."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.domain.experiments.arms import Arm, Arms, ByAttribute, ByTime, Dimension, Period
from core.domain.experiments.comparison import CANNOT_EXCLUDE, Comparison, NotExcluded
from core.domain.experiments.levers_guide import CHECKS, LEVERS, QualityCheck
from core.domain.experiments.plan import (
    DataType,
    ExperimentPlan,
    PerArm,
    PlannedLook,
    Series,
    Unit,
)
from core.domain.experiments.texts import is_hidden
from core.domain.levers import LeverKind
from core.domain.quality import Estimand
from core.errors import EntryError
from tests.domain.experiments.plans import AFTER, BEFORE, DAY, IN_TIME, LOOKS, PERIOD, START, plan

NUMERIC = Series(name="s", evaluator="judge", data_type=DataType.NUMERIC)
HOSTILE = (
    "<script>alert(1)</script>",
    "'; drop table experiment_plans; --",
    "{x} $y %s",
    "模型 🦆",
)


def test_a_plan_comes_back_from_its_json() -> None:
    """What was written is read again as the same plan, with the same hash."""
    for one in (plan(), plan(**IN_TIME)):
        again = ExperimentPlan.from_json(one.to_json())
        assert again == one
        assert again.plan_hash == one.plan_hash
        assert re.fullmatch("[0-9a-f]{64}", one.plan_hash)


def shuffled(value: Any, draw: Any) -> Any:
    if isinstance(value, dict):
        names = draw(st.permutations(sorted(value)))
        return {name: shuffled(value[name], draw) for name in names}
    return [shuffled(one, draw) for one in value] if isinstance(value, list) else value


@given(st.data())
def test_the_hash_depends_on_content_alone(data: st.DataObject) -> None:
    """Order of names, blanks and escapes of the JSON do not change the hash."""
    one = plan(title="模型 first")
    order = shuffled(json.loads(one.to_json()), data.draw)
    indent, ascii_only = data.draw(st.sampled_from([None, 2])), data.draw(st.booleans())
    text = json.dumps(order, indent=indent, ensure_ascii=ascii_only)
    assert ExperimentPlan.from_json(text).plan_hash == one.plan_hash


@pytest.mark.parametrize("form", ["0.02", "2e-2", "0.0200", "20.0E-3"])
def test_a_number_has_one_form(form: str) -> None:
    """However a number was written, the plan is the same."""
    text = plan().to_json().replace('"margin":0.02', f'"margin":{form}')
    assert ExperimentPlan.from_json(text).plan_hash == plan().plan_hash


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_there_is_one_zero(zero: float) -> None:
    """A margin of 0, 0.0 or -0.0 is one margin."""
    assert '"margin":0.0' in plan(margin=zero).to_json()


def test_the_order_of_revisions_is_no_content() -> None:
    """Revisions are a mapping: their order does not change the hash, a value does."""
    one, other = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    assert plan(revisions=one).plan_hash == plan(revisions=other).plan_hash
    assert plan(revisions=one).plan_hash != plan(revisions=one | {"b": "3"}).plan_hash


def test_any_change_is_another_hash() -> None:
    """An edited plan cannot pass for the old one."""
    changed = (
        {"margin": 0.03},
        {"alpha": 0.05},
        {"promote_rules": ("none",)},
        {"period": Period(start=START, end=START + 15 * DAY)},
        {"looks": LOOKS[1:]},
    )
    hashes = {plan(**one).plan_hash for one in changed}
    assert len(hashes | {plan().plan_hash}) == len(changed) + 1


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"margin": -0.01}, "margin: .*greater than or equal to 0"),
        ({"margin": 1.0}, "margin: .*a proportion"),
        ({"margin": float("nan")}, "margin: .*finite"),
        ({"margin": float("inf")}, "margin: .*finite"),
        ({"margin": "0.02"}, "margin: .*number"),
        ({"margin": True}, "margin: .*number"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 0.2}, "alpha"),
        ({"ratio": 0.0}, "ratio"),
        ({"minimum_clusters": 1}, "minimum_clusters"),
        ({"minimum_coverage": 1.1}, "minimum_coverage"),
        ({"lever": LeverKind.OTHER}, "lever: other is none of the eight"),
        ({"lever": LeverKind.RESTART}, "lever: restart is none of the eight"),
        ({"experiment": "Not a slug"}, "experiment"),
        ({"experiment": "a\n"}, "experiment"),
        ({"efficiency_metric": "x; drop"}, "efficiency_metric"),
        ({"looks": ()}, "looks"),
        ({"looks": LOOKS[::-1]}, "looks: .*must rise"),
        ({"looks": LOOKS[:2]}, "looks: the last one"),
        ({"looks": (LOOKS[0], LOOKS[0], LOOKS[2])}, "looks: .*must rise"),
        ({"planned_clusters": None}, "looks: several need"),
        ({"promote_rules": ()}, "promote_rules"),
        ({"rollback_rules": ("x",) * 21}, "rollback_rules"),
        ({"title": "x" * 501}, "title: .*500"),
        ({"path": "x" * 4001}, "path: .*4000"),
        ({"title": "   "}, "title"),
        ({"author": ""}, "author"),
        ({"title": "a\u202eb"}, r"title: .*U\+202E"),
        ({"title": "a\x00b"}, r"title: .*U\+0000"),
        ({"title": "a\nb"}, r"title: .*U\+000A"),
        ({"restore_procedure": "a\x1bb"}, r"restore_procedure: .*U\+001B"),
        ({"title": "\ud800"}, "title"),
        ({"revisions": {"": "1"}}, "revisions"),
        ({"revisions": {"a": 1}}, "revisions: must map names"),
        ({"revisions": (("a", "1"), ("a", "2"))}, "revisions: names a value twice"),
        ({"revisions": {str(n): "1" for n in range(51)}}, "revisions: holds more than 50"),
        ({"unit": Unit.TASK}, "unit: randomised_canary assigns by session"),
        ({"comparison": Comparison.BEFORE_AFTER}, "arms: before_after cannot split"),
        (IN_TIME | {"comparison": Comparison.SEPARATE_POOLS}, "arms: separate_pools cannot"),
        (IN_TIME | {"period": BEFORE}, "arms: their periods must lie"),
        (IN_TIME | {"arms": Arms(split=ByTime(base=AFTER, new=BEFORE))}, "baseline's period"),
        ({"primary": NUMERIC}, "primary: .*pass_at"),
        ({"estimand": Estimand.MEAN, "primary": NUMERIC.model_copy(update={"pass_at": 1.0})}, "pa"),
        ({"higher_is_better": False}, "estimand: composite"),
        ({"unheard_of": 1}, "unheard_of"),
    ],
)
def test_a_plan_that_cannot_hold_is_refused(changed: dict[str, Any], fault: str) -> None:
    """What is wrong is named by its field, in words."""
    with pytest.raises(EntryError, match=fault):
        plan(**changed)


def test_every_fault_is_named_at_once() -> None:
    """Somebody who fills in a form learns of all faults, not one after the other."""
    with pytest.raises(EntryError) as raised:
        plan(margin=-1.0, alpha=0.9, title="")
    assert all(name in raised.value.detail for name in ("margin", "alpha", "title"))


def test_values_are_not_repeated_in_an_error() -> None:
    """A text that was refused does not come back on the screen."""
    with pytest.raises(EntryError) as raised:
        plan(title="<img src=x>\x00")
    assert "<img" not in str(raised.value)


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_and_sql_are_only_text(text: str) -> None:
    """Strings that can be seen are kept as they are: they are data."""
    one = plan(title=text, restore_procedure=f"{text}\n{text}", revisions={text: text})
    assert ExperimentPlan.from_json(one.to_json()).title == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "1", '{"margin":0.02}', "[" * 100_000),
        plan().to_json().replace('"margin":0.02', '"margin":NaN'),
        plan().to_json().replace('"margin":0.02', '"margin":"0.02"'),
        plan().to_json().replace('"margin":0.02', '"margin":0.02,"margin":0.5'),
        plan().to_json().replace('"form":1', '"form":2'),
        plan().to_json().replace('"by":"attribute"', '"by":"magic"'),
        plan().to_json()[:-1] + ',"extra":1}',
    ],
)
def test_json_that_is_no_plan_is_refused(text: str) -> None:
    """Broken, doubled, foreign or unknown content is an error in words, never a plan."""
    with pytest.raises(EntryError):
        ExperimentPlan.from_json(text)


@given(st.text(max_size=40))
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    """No input of any kind ends in another error, and what is kept is what was given."""
    try:
        title = plan(title=text).title
    except EntryError:
        assert not text.strip() or any(map(is_hidden, text))
    else:
        assert title == text.strip()


def test_a_plan_does_not_change() -> None:
    """No field can be set, and no part of it either."""
    with pytest.raises(ValidationError):
        plan().margin = 0.5  # type: ignore[misc]
    assert hash(plan()) == hash(plan())


def test_arms_say_what_belongs_to_them() -> None:
    """An arm has its value, its labels and its period."""
    pools = Arms(
        split=ByAttribute(dimension=Dimension.NAMESPACE, base="blue", new="green"), cluster="east"
    )
    assert [pools.label_of(arm, "namespace") for arm in Arm] == ["green", "blue"]
    assert [pools.label_of(arm, "cluster") for arm in Arm] == ["east", "east"]
    assert [pools.label_of(arm, "model") for arm in Arm] == [None, None]
    assert [plan().period_of(arm) for arm in Arm] == [PERIOD, PERIOD]
    assert [plan(**IN_TIME).period_of(arm) for arm in Arm] == [AFTER, BEFORE]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Period.checked(start=START, end=START),
        lambda: Period.checked(start=START, end=START - 1),
        lambda: Period.checked(start=1, end=START),
        lambda: Period.checked(start=START, end=float(START + 1)),
        lambda: ByAttribute.checked(dimension=Dimension.ARM, base="a", new="a"),
        lambda: ByAttribute.checked(dimension=Dimension.ARM, base="", new="a"),
        lambda: ByTime.checked(base=BEFORE, new=PERIOD),
        lambda: Arms.checked(
            split=ByAttribute(dimension=Dimension.MODEL, base="a", new="b"), model="a"
        ),
        lambda: PlannedLook.checked(fraction=0.0),
        lambda: PlannedLook.checked(fraction=1.1),
        lambda: PerArm.checked(new=0, base=1),
    ],
)
def test_parts_that_cannot_be_are_refused(make: Any) -> None:
    """Periods in order, arms that differ, looks within the information, whole counts."""
    with pytest.raises(EntryError):
        make()


def test_categories_need_passing_ones_and_have_no_mean() -> None:
    """A pass rate of categories says which of them pass."""
    labels = Series(name="s", evaluator="e", data_type=DataType.CATEGORICAL, pass_labels=("good",))
    assert plan(primary=labels).primary.pass_labels == ("good",)
    with pytest.raises(EntryError, match="categories have no mean"):
        plan(primary=labels, estimand=Estimand.MEAN)
    with pytest.raises(EntryError, match="pass_labels"):
        plan(primary=labels.model_copy(update={"pass_labels": ()}))


def test_the_guide_knows_all_eight_levers() -> None:
    """Eight levers, each with its check; what the model reads or computes with needs a verdict."""
    assert len(LEVERS) == 8
    assert CHECKS.keys() == set(LEVERS)
    needed = {lever for lever, check in CHECKS.items() if check is QualityCheck.REQUIRED}
    assert needed == {LeverKind.PROMPT_ORDER, LeverKind.KV_DTYPE, LeverKind.CONTEXT_TRIMMING}
    models = Arms(split=ByAttribute(dimension=Dimension.MODEL, base="a", new="b"))
    assert plan(lever=LeverKind.REPLICAS).quality is QualityCheck.BASIC
    assert plan(lever=LeverKind.REPLICAS, arms=models).quality is QualityCheck.REQUIRED


def test_no_comparison_excludes_everything() -> None:
    """Every kind says what it cannot exclude, and shared engines are named for a canary."""
    assert CANNOT_EXCLUDE.keys() == set(Comparison)
    assert all(CANNOT_EXCLUDE.values())
    assert {one for several in CANNOT_EXCLUDE.values() for one in several} == set(NotExcluded)
    assert NotExcluded.SHARED_ENGINES in CANNOT_EXCLUDE[Comparison.RANDOMISED_CANARY]
    assert NotExcluded.POOL_RESOURCES in CANNOT_EXCLUDE[Comparison.SEPARATE_POOLS]
    assert NotExcluded.NOT_RANDOMISED in CANNOT_EXCLUDE[Comparison.BEFORE_AFTER]
