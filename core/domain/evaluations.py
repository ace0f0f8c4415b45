"""Scores as evaluation records.

Langfuse has no fields for an evaluator's version, its errors, repeats or the
probability that a request was chosen. They come from a configured mapping by score
name; without one these defaults hold: the evaluator is the score's name, its
version, status, repeat and probability lie in the score's metadata under
`evaluator_version`, `status`, `repeat` and `inclusion_probability`.

A record is `ok` with a value, or `error` when its status says so or its value is of
no kind that can be read: an error is missing data, never a 0. A request without a
record is `missing`, or `not_sampled` when its evaluator samples with a known
probability. `STATISTICS_STATUS` maps every pair to the status that statistics use.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.config import EvaluatorSettings
from core.domain.completion import INCOMPLETE, State


class Level(StrEnum):
    """What a score is about; one level is never copied to another."""

    OBSERVATION = "observation"
    TRACE = "trace"
    SESSION = "session"
    OTHER = "other"


class RecordStatus(StrEnum):
    """Whether an evaluation gave a value."""

    OK = "ok"
    ERROR = "error"


class StatisticsStatus(StrEnum):
    """Status of an eligible request in the statistics."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    EVALUATOR_ERROR = "evaluator_error"
    MISSING = "missing"
    NOT_SAMPLED = "not_sampled"


NO_RECORD, UNSAMPLED = "no_record", "not_sampled"
STATISTICS_STATUS: dict[tuple[State, str], StatisticsStatus] = {
    (state, record): StatisticsStatus.INCOMPLETE if state in INCOMPLETE else status
    for state in State
    for record, status in (
        (RecordStatus.OK.value, StatisticsStatus.OK),
        (RecordStatus.ERROR.value, StatisticsStatus.EVALUATOR_ERROR),
        (NO_RECORD, StatisticsStatus.MISSING),
        (UNSAMPLED, StatisticsStatus.NOT_SAMPLED),
    )
}
"""Incomplete comes first: a score on an incomplete answer is reported apart."""


@dataclass(frozen=True)
class Evaluation:
    """What one score says, by the mapping of its name."""

    status: RecordStatus
    evaluator: str
    evaluator_version: str | None
    value: float | None
    label: str | None
    repeat: int | None
    inclusion_probability: float | None
    broken: tuple[tuple[str, str, object], ...] = ()


class Evaluators:
    """The configured mapping of score names; others follow the defaults."""

    def __init__(self, configured: Iterable[EvaluatorSettings] = ()) -> None:
        self.configured = {one.score: one for one in configured}

    def of(self, name: str) -> EvaluatorSettings:
        """The mapping of a score name."""
        return self.configured.get(name) or EvaluatorSettings(score=name)

    @property
    def metadata_keys(self) -> frozenset[str]:
        """Every metadata key of scores that may be read: the allow-list."""
        found = [*self.configured.values(), EvaluatorSettings(score="")]
        return frozenset(
            key
            for one in found
            for key in (
                one.evaluator_key,
                one.version_key,
                one.status_key,
                one.repeat_key,
                one.probability_key,
            )
        )

    def evaluation(
        self,
        name: str,
        *,
        data_type: str,
        value: object,
        metadata: Mapping[str, object],
        config_id: str | None,
    ) -> Evaluation:
        """Read one score.

        >>> Evaluators().evaluation("judge", data_type="NUMERIC", value=0.5, config_id=None,
        ...     metadata={"evaluator_version": 2, "repeat": 1}).evaluator_version
        '2'
        """
        mapping = self.of(name)
        number, label = _value(data_type, value)
        failed = _failed(metadata.get(mapping.status_key), mapping) or _failed(label, mapping)
        readable = number is not None or label is not None
        version = _text(metadata.get(mapping.version_key))
        if version is None:
            version = (config_id or None) if mapping.version_from_config else mapping.version
        repeat = metadata.get(mapping.repeat_key)
        probability, broken = _probability(metadata.get(mapping.probability_key), mapping)
        return Evaluation(
            status=RecordStatus.ERROR if failed or not readable else RecordStatus.OK,
            evaluator=_text(metadata.get(mapping.evaluator_key)) or mapping.evaluator or name,
            evaluator_version=version,
            value=None if failed else number,
            label=None if failed else label,
            repeat=_whole(repeat),
            inclusion_probability=probability,
            broken=broken,
        )


LONGEST_LABEL = 100
TRUTH = {"True": True, "true": True, "False": False, "false": False}
LARGEST_WHOLE = 10**9


def _failed(said: object, mapping: EvaluatorSettings) -> bool:
    """Whether a status or a category is one of the errors, in whatever case."""
    text = str(said) if isinstance(said, bool) else _text(said)
    labels = {label.casefold() for label in mapping.error_labels}
    return text is not None and text.casefold() in labels


def _value(data_type: str, value: object) -> tuple[float | None, str | None]:
    """A number or a category; free texts and corrections are answers and are not kept."""
    if data_type == "CATEGORICAL":
        good = isinstance(value, str) and 0 < len(value) <= LONGEST_LABEL
        return None, value if good and isinstance(value, str) else None
    if data_type == "BOOLEAN":
        truth = TRUTH.get(value) if isinstance(value, str) else value
        good = isinstance(truth, bool | int | float) and truth in (0, 1)
        return float(truth) if good and isinstance(truth, bool | int | float) else None, None
    if data_type == "NUMERIC" and not isinstance(value, str):
        return _number(value), None
    return None, None


def _probability(
    found: object, mapping: EvaluatorSettings
) -> tuple[float | None, tuple[tuple[str, str, object], ...]]:
    """A known probability, or none: it is never taken for 1."""
    if found is None:
        return mapping.probability, ()
    number = _number(found)
    if number is None or not 0 < number <= 1:
        return None, (("probability_outside", mapping.probability_key, found),)
    return number, ()


def _number(value: object) -> float | None:
    """A finite number, or a text of one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    if number is None or number != int(number) or abs(number) > LARGEST_WHOLE:
        return None
    return int(number)


def _text(value: object) -> str | None:
    """A short name out of metadata; anything longer is a text and is not kept."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value) if isinstance(value, str | int | float) else ""
    return text if 0 < len(text) <= LONGEST_LABEL else None
