"""What the demo's owner would have declared of its evaluators."""

from core.config import EvaluatorSettings, Settings
from core.demo.quality import EXPECTED_RATE, JSON_RATE, JUDGE_PASS_AT, Evaluator

ON_ALL = 1.0
"""Probability of what is scored whenever its evaluator runs."""

DEMO_EVALUATORS = (
    EvaluatorSettings(
        score=Evaluator.ANSWER_PRESENT.score_name,
        version="1",
        probability=ON_ALL,
        kind="presence",
        measures="The answer holds any text at all.",
    ),
    EvaluatorSettings(
        score=Evaluator.CONTAINS_EXPECTED.score_name,
        version="1",
        probability=ON_ALL,
        kind="keyword",
        task_types=tuple(EXPECTED_RATE),
        calls="last_of_turn",
        measures="The answer holds the words that its task expects.",
    ),
    EvaluatorSettings(
        score=Evaluator.JSON_VALID.score_name,
        version="1",
        probability=ON_ALL,
        kind="rule",
        task_types=tuple(JSON_RATE),
        calls="last_of_turn",
        measures="The answer can be read as JSON and follows the schema that was asked for.",
    ),
    EvaluatorSettings(
        score=Evaluator.JUDGE_HELPFULNESS.score_name,
        kind="judge",
        pass_at=JUDGE_PASS_AT,
        calls="last_of_turn",
        measures="How helpful a small model finds the answer, from 0 to 1.",
    ),
    EvaluatorSettings(
        score=Evaluator.HUMAN_REVIEW.score_name,
        kind="human",
        calls="last_of_turn",
        measures="A person, following a written guide, finds the answer helpful.",
    ),
    EvaluatorSettings(
        score=Evaluator.SESSION_OK.score_name,
        version="1",
        probability=ON_ALL,
        kind="human",
        measures="The user marked the whole session as solved when it ended.",
    ),
    EvaluatorSettings(
        score=Evaluator.TRACE_FORMAT_OK.score_name,
        version="1",
        probability=ON_ALL,
        kind="rule",
        measures="The last answer of a turn with tools follows the format rules.",
    ),
)


def evaluators_of(settings: Settings) -> tuple[EvaluatorSettings, ...]:
    """Return what is declared of the evaluators: in the demo its own, beside what is configured."""
    if not settings.demo:
        return settings.evaluators
    configured = {one.score for one in settings.evaluators}
    own = (one for one in DEMO_EVALUATORS if one.score not in configured)
    return (*settings.evaluators, *own)
