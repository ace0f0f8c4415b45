"""A cache of one's own with requests and scores written by hand, and the Quality view of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.config import EvaluatorSettings
from core.domain.quality import Dimension
from core.domain.scope import Scope
from core.views.fleet import load_fleet
from core.views.quality import Answer, QualityView, Question, asked_of, build, chosen_series
from core.views.quality_rows import QualityRow
from core.views.quality_sums import Series, quality_params, score_series
from tests.pages.homes import MINUTES, T0
from tests.pages.written_requests import START, langfuse_row, observation, score

END = T0 + MINUTES * 60
SCOPE = Scope(start=T0, end=END)
KEYWORD = EvaluatorSettings(score="expected", kind="keyword", probability=1.0)
Row = dict[str, Any]


def request(name: str, /, *, session: str | None = "s", **more: Any) -> Row:
    """One complete request of a session, one turn a request."""
    return observation(name, session_id=session, **more)


def verdict(of: str, passed: float | None, /, **more: Any) -> Row:
    """A boolean score of one request by a keyword check; None: the evaluator failed."""
    given = {
        "score_id": f"{more.get('evaluator_version', '1')}-{more.pop('n', 0)}-{of}",
        "data_type": "BOOLEAN",
        "value": passed,
        "status": "error" if passed is None else "ok",
        "evaluator": "expected",
        "evaluator_version": "1",
        "inclusion_probability": 1.0,
    }
    name = more.pop("name", "expected")
    return score(name, "observation", of=of, **(given | more))


class Written:
    """A cache of one's own."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "cache.duckdb")
        self.inbox = Inbox(folder / "inbox")
        self.put(sources=[langfuse_row()])

    def put(self, **tables: Sequence[Row]) -> None:
        """Leave rows in the inbox and merge them."""
        self.inbox.write("test", {name: rows(name, list(found)) for name, found in tables.items()})
        assert self.store.merge_waiting(self.inbox) == 1

    def scored(self, *found: tuple[Row, float | None]) -> None:
        """Requests, each with its verdict."""
        self.put(
            observations=[one for one, _ in found],
            scores=[verdict(one["observation_id"], passed) for one, passed in found],
        )

    def view(self, *evaluators: EvaluatorSettings, **asked: Any) -> QualityView:
        """The page for all that was written."""
        question = Question(evaluators=evaluators or (KEYWORD,), **asked)
        return build(self.store, SCOPE, float(END), question)

    def answer(self, *evaluators: EvaluatorSettings, **asked: Any) -> Answer:
        """Its answer, which must be there."""
        found = self.view(*evaluators, **asked).answer
        assert found is not None
        return found

    def total(self, *evaluators: EvaluatorSettings, **asked: Any) -> QualityRow:
        """The row of all requests."""
        return self.answer(*evaluators, **asked).total

    def rows(self, *evaluators: EvaluatorSettings, **asked: Any) -> dict[str, QualityRow]:
        """Rows by group."""
        return {row.value: row for row in self.answer(*evaluators, **asked).rows}

    def groups(self, by: Dimension) -> dict[str, str]:
        """Group of each request, by its task type, of which each has one of its own."""
        fleet = load_fleet(self.store, SCOPE, float(END))
        asked = asked_of(Question(by=by, across=Dimension.TASK_TYPE), self.series)
        params = quality_params(self.store, fleet, asked)
        found = self.store.columns("quality_sums", params).to_pylist()
        return {row["across_value"]: row["by_value"] for row in found}

    @property
    def series(self) -> Series:
        """The usual series of what was written."""
        fleet = load_fleet(self.store, SCOPE, float(END))
        found = chosen_series(score_series(self.store, fleet.window, (KEYWORD,)), None)
        assert found is not None
        return found


def reversal() -> list[tuple[Row, float | None]]:
    """High ratios pass more often in either task type, and less often over all."""
    counts = {
        ("easy", 950): (40, 38),
        ("easy", 400): (200, 180),
        ("hard", 950): (200, 80),
        ("hard", 400): (40, 12),
    }
    found: list[tuple[Row, float | None]] = []
    for (task, cached), (n, passes) in counts.items():
        for i in range(n):
            name = f"{task}-{cached}-{i}"
            one = request(name, session=name, task_type=task, cached_input=cached)
            found.append((one, float(i < passes)))
    return found


def later(n: float) -> float:
    """A start some seconds after that of an ordinary request."""
    return START + n
