"""Prometheus' counters beside the engine's own: they agree, are noted, or are unknown."""

from dataclasses import fields, replace

import numpy as np
import pytest

from core.domain.bench.judge import PROMETHEUS, Note, Row, Rule, judge
from core.domain.bench.result import Counters, Scraped, ScrapeState
from core.domain.bench.scraped import by_target
from core.domain.records import RawSeries
from tests.domain.bench.recorded import PLAN, recorded

RUN, EVIDENCE = recorded("0.32.0", "D_c8")
OWN = EVIDENCE.increase()
FIELDS = {"prompt": "prompt_tokens", "hits": "hits_tokens"}


def own(**more: float) -> Counters:
    """What the engine counted, with some counters further on."""
    assert OWN is not None
    return replace(OWN, **{name: getattr(OWN, name) + by for name, by in more.items()})


def rows(scraped: Scraped | None) -> dict[Rule, Row]:
    """The rows of Prometheus; whatever they say, the verdict is the same."""
    verdict = judge(PLAN, RUN, replace(EVIDENCE, prometheus=scraped))
    assert verdict.verdict is judge(PLAN, RUN, EVIDENCE).verdict
    return {row.rule: row for row in verdict.rows if row.rule.startswith("prometheus")}


def test_equal_counters_agree() -> None:
    """Each counter is a row with the same number twice, and no note."""
    found = rows(Scraped(ScrapeState.SEEN, own(), resets=0))
    assert set(found) == set(PROMETHEUS.values())
    assert all(row.expected == row.seen and row.note is None for row in found.values())


@pytest.mark.parametrize(
    ("by", "resets", "note"),
    [
        (64.0, 0, Note.PROMETHEUS_MORE),
        (-64.0, 0, Note.PROMETHEUS_LESS),
        (-64.0, 1, Note.PROMETHEUS_RESTART),
    ],
)
def test_a_difference_is_a_note_with_both_numbers(by: float, resets: int, note: Note) -> None:
    """More, less, or across a restart: never a failure by itself."""
    found = rows(Scraped(ScrapeState.SEEN, own(prompt_tokens=by), resets=resets))
    row = found[Rule.PROMETHEUS_INPUT]
    assert OWN is not None
    assert OWN.prompt_tokens is not None
    assert (row.expected, row.seen) == (OWN.prompt_tokens, OWN.prompt_tokens + by)
    assert (row.note, row.verdict) == (note, None)
    assert found[Rule.PROMETHEUS_HITS].note is None


def test_a_counter_of_one_side_is_unknown() -> None:
    """What Prometheus did not store, or the engine's scrapes do not give, agrees with nothing."""
    found = rows(Scraped(ScrapeState.SEEN, replace(own(), cached_tokens=None), resets=0))
    row = found[Rule.PROMETHEUS_CACHED]
    assert (row.seen, row.note) == (None, Note.PROMETHEUS_UNKNOWN)
    blind = replace(EVIDENCE, before=None, prometheus=Scraped(ScrapeState.SEEN, own(), resets=0))
    noted = [row for row in judge(PLAN, RUN, blind).rows if row.rule in PROMETHEUS.values()]
    assert {(row.expected, row.note) for row in noted} == {(None, Note.PROMETHEUS_UNKNOWN)}


@pytest.mark.parametrize("state", [s for s in ScrapeState if s not in {"seen", "other_traffic"}])
def test_without_counters_the_state_is_the_reason(state: ScrapeState) -> None:
    """One row says why; where no Prometheus is configured there is nothing to note."""
    (row,) = rows(Scraped(state)).values()
    assert (row.seen, row.verdict) == (state, None)
    assert (row.note is None) is (state is ScrapeState.NOT_CONFIGURED)


def test_who_asked_nobody_says_nothing() -> None:
    """An import has no row of Prometheus."""
    assert rows(None) == {}


def series(name: str, values: list[float], *, engine: str = "0", first: int = 0) -> RawSeries:
    times = 15.0 * np.arange(first, first + len(values))
    labels = {"__name__": name, "instance": "a:1", "engine": engine}
    return RawSeries(labels, times, np.array(values))


UP = RawSeries({"__name__": "up", "instance": "a:1"}, 15.0 * np.arange(6), np.ones(6))


def counters(*found: RawSeries) -> Counters | None:
    (one,) = by_target([UP, *found], 20.0, 55.0, fields=FIELDS)
    assert one.counters is None or (one.from_at, one.to_at) == (15.0, 60.0)
    return one.counters


def test_engines_are_summed_and_a_restart_counts_all_of_an_engine_anew() -> None:
    """A counter that outgrew its old value is anew where another of its engine fell."""
    found = counters(
        series("prompt", [5, 5, 9, 9, 9, 9]),
        series("prompt", [50, 50, 70, 2, 4, 4], engine="1"),
        series("hits", [0, 0, 1, 2, 3, 3], engine="1"),
    )
    assert found == Counters(prompt_tokens=4.0 + 20 + 2 + 2, hits_tokens=1.0 + 2 + 1)


def test_a_series_that_is_cut_makes_its_counter_unknown() -> None:
    """One engine of two is no sum; neither is one with a value that is no number."""
    whole, born = series("prompt", [5] * 6), series("prompt", [5] * 4, engine="1", first=2)
    found = counters(whole, born, series("hits", [1, 1, 2, 3, 3, 3]))
    assert found == Counters(hits_tokens=2.0)
    broken = series("prompt", [5, 5, float("nan"), 5, 5, 5], engine="1")
    assert counters(whole, broken, series("hits", [1] * 6)) == Counters(hits_tokens=0.0)
    assert counters(broken) is None


def test_counters_of_another_label_are_another_targets() -> None:
    """Of two targets with one address each has its own counters."""
    other = {"__name__": "up", "instance": "a:1", "cluster": "b"}
    ups = [replace(UP, labels={**UP.labels, "cluster": "a"}), replace(UP, labels=other)]
    one = series("prompt", [1, 1, 2, 3, 4, 4])
    one = replace(one, labels={**one.labels, "cluster": "b"})
    a, b = by_target([*ups, one], 20.0, 55.0, fields=FIELDS)
    assert (a.state, a.counters) == (ScrapeState.TOO_FEW, None)
    assert b.counters == Counters(prompt_tokens=3.0)
    assert {field.name for field in fields(Counters)} >= set(PROMETHEUS)
