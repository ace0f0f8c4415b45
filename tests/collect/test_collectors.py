"""Which collector a home gets."""

from pathlib import Path

from core.cache.inbox import Inbox
from core.collect.collectors import langfuse
from core.config import Settings
from core.demo import evaluators_of
from core.domain.evaluations import Evaluators


def test_the_demos_scores_are_read_by_what_the_demo_declares(tmp_path: Path) -> None:
    """What is scored always has probability 1 there, and the judge's own word comes first."""
    settings = Settings(prometheus_url=None, data_dir=tmp_path)
    with langfuse(settings, Inbox(settings.home / "inbox")) as collector:
        declared = collector.settings.evaluators
    assert declared == evaluators_of(settings) != ()
    read = Evaluators(declared).evaluation
    asked = {"data_type": "NUMERIC", "value": 1, "config_id": None}
    assert read("answer_present", metadata={}, **asked).inclusion_probability == 1
    sampled = read("judge_helpfulness", metadata={"inclusion_probability": 0.1}, **asked)
    assert sampled.inclusion_probability == 0.1
    assert read("judge_helpfulness", metadata={}, **asked).inclusion_probability is None
