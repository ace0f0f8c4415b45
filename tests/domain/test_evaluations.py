"""What a score says: errors are missing data, probabilities are known or not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import EvaluatorSettings
from core.domain.completion import INCOMPLETE, State
from core.domain.evaluations import (
    NO_RECORD,
    STATISTICS_STATUS,
    UNSAMPLED,
    Evaluation,
    Evaluators,
    RecordStatus,
    StatisticsStatus,
)

MAPPED = EvaluatorSettings(
    score="judge",
    evaluator="qwen-judge",
    version="7",
    version_key="prompt/revision",
    status_key="outcome",
    error_labels=("unparsable", "true"),
    repeat_key="run",
    probability=0.25,
    probability_key="p",
)


def evaluation(
    value: object = 0.5, data_type: str = "NUMERIC", config: str | None = None, **metadata: Any
) -> Evaluation:
    return Evaluators().evaluation(
        "judge", data_type=data_type, value=value, metadata=metadata, config_id=config
    )


def mapped(value: object = 0.5, settings: EvaluatorSettings = MAPPED, **more: Any) -> Evaluation:
    asked = {"data_type": "NUMERIC", "config_id": None, "metadata": {}} | more
    return Evaluators([settings]).evaluation("judge", value=value, **asked)


def test_defaults_hold_without_a_mapping() -> None:
    """The evaluator is the score's name; version, repeat and probability lie in metadata."""
    found = evaluation(evaluator_version=2, repeat="3", inclusion_probability=0.5)
    assert (found.status, found.value, found.evaluator) == ("ok", 0.5, "judge")
    assert (found.evaluator_version, found.repeat, found.inclusion_probability) == ("2", 3, 0.5)
    bare = evaluation(config="cfg-1")
    assert (bare.evaluator_version, bare.repeat, bare.inclusion_probability) == (None, None, None)


def test_a_mapping_says_who_judged() -> None:
    """Evaluator, version, repeat and probability by the mapping; metadata comes first."""
    found = mapped()
    assert (found.evaluator, found.evaluator_version) == ("qwen-judge", "7")
    assert found.inclusion_probability == 0.25
    found = mapped(metadata={"prompt/revision": "r2", "run": 1, "p": "0.5", "evaluator": "other"})
    assert (found.evaluator, found.evaluator_version, found.repeat) == ("other", "r2", 1)
    assert found.inclusion_probability == 0.5
    assert Evaluators([MAPPED]).metadata_keys >= {"outcome", "status", "p", "run"}


@pytest.mark.parametrize(("config", "version"), [("cfg-1", "cfg-1"), ("", None), (None, None)])
def test_a_config_can_be_the_version(config: str | None, version: str | None) -> None:
    """configId stands for the version where the mapping says so; an empty one is none."""
    settings = EvaluatorSettings(score="judge", version="7", version_from_config=True)
    assert mapped(settings=settings, config_id=config).evaluator_version == version
    told = mapped(settings=settings, config_id=config, metadata={"evaluator_version": "m"})
    assert told.evaluator_version == "m"


@pytest.mark.parametrize("said", ["error", "ERROR", "Failed", "evaluator_error"])
def test_an_evaluators_error_is_no_score(said: str) -> None:
    """A status of error takes the value away: never a 0, never a pass."""
    found = evaluation(0, status=said)
    assert (found.status, found.value, found.label) == ("error", None, None)
    found = evaluation(said, "CATEGORICAL")
    assert (found.status, found.value, found.label) == ("error", None, None)


@pytest.mark.parametrize("said", ["unparsable", "Unparsable", True])
def test_own_error_labels_count(said: object) -> None:
    """The mapping names the labels of errors, in whatever case; a flag may be one."""
    assert mapped(0, metadata={"outcome": said}).status is RecordStatus.ERROR
    assert mapped(0, metadata={"status": "error"}).status is RecordStatus.OK


@pytest.mark.parametrize("p", [0, -1, 2, "x", "nan", "inf", True, [], 10**400])
def test_a_probability_outside_is_unknown_and_named(p: object) -> None:
    """0, −1, 2 and words are violations; the probability is then unknown, never 1."""
    for found, key in ((evaluation(inclusion_probability=p), "inclusion_probability"),
                       (mapped(metadata={"p": p}), "p")):  # fmt: skip
        assert found.inclusion_probability is None
        assert found.broken == (("probability_outside", key, p),)
        assert found.value == 0.5


@pytest.mark.parametrize("repeat", ["nan", "inf", "1e300", 10**400, 1.5, True, "x", None, [], {}])
def test_a_repeat_that_is_no_number_is_unknown(repeat: object) -> None:
    """Odd repeats stop nothing."""
    assert evaluation(repeat=repeat).repeat is None
    assert evaluation(repeat=2.0).repeat == 2


@pytest.mark.parametrize(
    ("data_type", "value", "number", "label"),
    [
        ("NUMERIC", 0, 0.0, None),
        ("NUMERIC", -3.5, -3.5, None),
        ("NUMERIC", True, None, None),
        ("NUMERIC", "0.5", None, None),
        ("NUMERIC", None, None, None),
        ("NUMERIC", 10**400, None, None),
        ("NUMERIC", float("nan"), None, None),
        ("BOOLEAN", True, 1.0, None),
        ("BOOLEAN", False, 0.0, None),
        ("BOOLEAN", 1, 1.0, None),
        ("BOOLEAN", 0.0, 0.0, None),
        ("BOOLEAN", "True", 1.0, None),
        ("BOOLEAN", "False", 0.0, None),
        ("BOOLEAN", 2, None, None),
        ("BOOLEAN", 0.5, None, None),
        ("BOOLEAN", "yes", None, None),
        ("BOOLEAN", None, None, None),
        ("BOOLEAN", [], None, None),
        ("CATEGORICAL", "good", None, "good"),
        ("CATEGORICAL", "", None, None),
        ("CATEGORICAL", 0, None, None),
        ("CATEGORICAL", "x" * 101, None, None),
        ("TEXT", "an answer", None, None),
        ("CORRECTION", "an answer", None, None),
        ("SOMETHING", 1, None, None),
    ],
)
def test_a_value_is_a_number_a_category_or_an_error(
    data_type: str, value: object, number: float | None, label: str | None
) -> None:
    """What cannot be read is an error, which is missing data."""
    found = evaluation(value, data_type)
    assert (found.value, found.label) == (number, label)
    assert (found.status is RecordStatus.OK) == (number is not None or label is not None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(JSON, st.sampled_from(["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT"]), JSON, JSON, JSON)
def test_any_json_is_a_value_or_an_error(
    value: object, data_type: str, status: object, repeat: object, probability: object
) -> None:
    """No value raises; a probability is within (0, 1] or unknown; an error has no value."""
    found = evaluation(
        value, data_type, status=status, repeat=repeat, inclusion_probability=probability
    )
    p = found.inclusion_probability
    assert p is None or 0 < p <= 1
    if found.status is RecordStatus.ERROR:
        assert (found.value, found.label) == (None, None)


def test_every_state_and_record_has_one_status() -> None:
    """Incomplete first, whatever the record; an error is never ok; unknown states are whole."""
    records = {"ok", "error", NO_RECORD, UNSAMPLED}
    assert set(STATISTICS_STATUS) == {(state, record) for state in State for record in records}
    told = {
        "ok": StatisticsStatus.OK,
        "error": StatisticsStatus.EVALUATOR_ERROR,
        "no_record": StatisticsStatus.MISSING,
        "not_sampled": StatisticsStatus.NOT_SAMPLED,
    }
    for (state, record), status in STATISTICS_STATUS.items():
        incomplete = state in {State.ERROR, State.CANCELLED, State.UNFINISHED}
        assert status == (StatisticsStatus.INCOMPLETE if incomplete else told[record])
    assert {State.ERROR, State.CANCELLED, State.UNFINISHED} == INCOMPLETE
    assert set(STATISTICS_STATUS.values()) == set(StatisticsStatus)
