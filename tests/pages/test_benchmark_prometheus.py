"""What a table of runs says of Prometheus."""

from dataclasses import replace

import pytest

from core.domain.bench.judge import judge
from core.domain.bench.result import Counters, Scraped, ScrapeState
from core.ui.benchmark_prometheus import prometheus_words
from core.views.benchmarks import RunLine
from tests.domain.bench.recorded import PLAN, recorded

RUN, EVIDENCE = recorded("0.32.0", "D_c8")


def words(scraped: Scraped | None) -> str:
    evidence = replace(EVIDENCE, prometheus=scraped)
    verdict = judge(PLAN, RUN, evidence)
    return prometheus_words(RunLine(RUN, "done", None, verdict, None, scraped))


def own() -> Counters:
    counted = EVIDENCE.increase()
    assert counted is not None
    return counted


def test_what_agrees_and_what_differs_is_said() -> None:
    """Equal counters in one clause; another one with both numbers."""
    seen = Scraped(ScrapeState.SEEN, own(), resets=0)
    assert words(seen).endswith("all 4 counters equal the engine's own")
    hits = own().hits_tokens
    assert hits is not None
    shown = words(replace(seen, counters=replace(own(), hits_tokens=hits + 1000)))
    assert f"hit tokens in Prometheus: {hits + 1000:,.0f}, engine's own: {hits:,.0f};" in shown
    assert "cached" not in shown
    assert ": unknown, engine's own" in words(
        replace(seen, counters=replace(own(), hits_tokens=None))
    )


@pytest.mark.parametrize(
    ("scraped", "shown"),
    [
        (None, "not asked"),
        (Scraped(ScrapeState.NOT_CONFIGURED), "not configured"),
        (Scraped(ScrapeState.NOT_SCRAPED), "no target has the address of this server"),
        (Scraped(ScrapeState.UNANSWERED, detail="refused"), "it did not answer: refused"),
    ],
)
def test_what_is_unknown_has_its_reason(scraped: Scraped | None, shown: str) -> None:
    """No number stands where Prometheus says none."""
    assert words(scraped) == shown
