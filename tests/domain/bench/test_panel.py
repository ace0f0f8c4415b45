"""The panel of a pair says what its evidence supports: hits from counters, speed from repeats."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.domain.bench.checklist import Look, Unset
from core.domain.bench.comparison import Basis, Overhead, Speed
from core.domain.bench.conclusion import Conclusion
from core.domain.bench.judge import judge
from core.domain.bench.panel import (
    Judged,
    Panel,
    RunPair,
    configurations_with_hits,
    panel,
    two_by_two,
)
from core.domain.bench.prompts import Unmade
from core.domain.bench.result import Requests, Summary
from core.domain.reading import Reason
from tests.domain.bench.recorded import PLAN, recorded


def judged(version: str, tag: str, *, repeat: int = 1, ttft_ms: float | None = None) -> Judged:
    """A recorded run, perhaps with another median TTFT."""
    run, evidence = recorded(version, tag)
    run = replace(run, repeat=repeat)
    if ttft_ms is not None:
        assert evidence.result is not None
        summary = Summary(ttft_ms, ttft_ms, {})
        evidence = replace(evidence, result=replace(evidence.result, ttft=summary))
    return Judged(run, evidence, judge(PLAN, run, evidence))


def pairs_of(off: str, on: str, ratios: Iterable[float], version: str = "0.32.0") -> list[RunPair]:
    """Repeats of a recorded pair with given ratios of median TTFT."""
    runs = [
        side
        for n, ratio in enumerate(ratios, 1)
        for side in (
            judged(version, off, repeat=n, ttft_ms=100 * ratio),
            judged(version, on, repeat=n, ttft_ms=100.0),
        )
    ]
    return list(two_by_two(runs))


def shown(pairs: list[RunPair], **more: Any) -> Panel:
    proven = configurations_with_hits(pairs_of("C_c8", "D_c8", [1.0]))
    return panel(pairs, **{"proven": proven, "rng": np.random.default_rng(1)} | more)


def changed(pair: RunPair, **counters: float | None) -> RunPair:
    """The pair with other counters at the end of its ON run; judged again."""
    evidence = pair.on.evidence
    assert evidence.after is not None
    engines = {e: replace(c, **counters) for e, c in evidence.after.engines.items()}
    evidence = replace(evidence, after=replace(evidence.after, engines=engines))
    on = Judged(pair.on.run, evidence, judge(PLAN, pair.on.run, evidence))
    return replace(pair, on=on)


def without_hits(pairs: list[RunPair]) -> list[RunPair]:
    """Lookups that all missed."""
    before = pairs[0].on.evidence.before
    assert before is not None
    (engine,) = before.engines.values()
    return [
        changed(p, hits_tokens=engine.hits_tokens, cached_tokens=engine.cached_tokens)
        for p in pairs
    ]


RATIOS = (1.92, 1.88, 1.97, 1.85, 1.95)


def test_the_panel_of_the_recorded_pure_pair() -> None:
    """Hits, tokens, ratio and prefill time of D at concurrency 8; C asks nothing."""
    seen = shown(list(two_by_two([judged("0.32.0", "C_c8"), judged("0.32.0", "D_c8")])))
    assert (seen.asked, seen.compared, seen.hit_observed) == (1, 1, True)
    assert (seen.queries_off.value, seen.queries_on.value) == (0.0, 63_456.0)
    assert (seen.hits_tokens.value, seen.cached_tokens.value) == (59_392.0, 59_392.0)
    assert seen.hit_ratio.value == pytest.approx(59_392 / 63_456)
    assert seen.prefill_on_s.value == pytest.approx(0.7702910900000006 / 30)
    assert seen.prefill_off_s.value is not None
    assert seen.ceilings.linear == pytest.approx(2112 / 64)
    assert seen.conclusion is Conclusion.HITS_NO_SPEED_VERDICT
    assert seen.ttft_ms.on is not None
    assert seen.ttft_ms.on.value == pytest.approx(214.9057)
    assert (seen.first_ms.on, seen.later_ms.on) == (None, None)


def test_repeats_give_an_interval_and_a_verdict() -> None:
    """Five pairs: geometric mean and t interval on log ratios, and sums over all of them."""
    seen = shown(pairs_of("C_c8", "D_c8", RATIOS))
    assert seen.ttft_ratio is not None
    assert seen.ttft_ratio.value == pytest.approx(1.913490581)
    assert seen.ttft_ratio.interval == pytest.approx((1.8531226497, 1.9758250778))
    assert seen.ttft_ratio.basis is Basis.RUNS
    assert (seen.speed, seen.conclusion) == (Speed.FASTER, Conclusion.HITS_FASTER)
    assert seen.hits_tokens.value == 5 * 59_392
    assert seen.hit_ratio.value == pytest.approx(59_392 / 63_456)
    assert seen.above_ceiling is False
    assert seen.checklist == ()


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_repeats_give_no_speed_verdict(n: int) -> None:
    """However large the ratio."""
    seen = shown(pairs_of("C_c8", "D_c8", RATIOS[:n]))
    assert (seen.speed, seen.conclusion) == (None, Conclusion.HITS_NO_SPEED_VERDICT)


def test_better_without_hits_went_another_path() -> None:
    """TTFT is no proof of hits."""
    seen = shown(without_hits(pairs_of("C_c8", "D_c8", RATIOS)))
    assert seen.hit_observed is False
    assert seen.conclusion is Conclusion.OTHER_PATH
    assert Conclusion.OTHER_PATH == "improved_by_another_path"


def test_no_hits_and_no_gain_opens_the_checklist() -> None:
    """With what the counters, the configuration and the plan tell."""
    seen = shown(without_hits(pairs_of("C_c8", "D_c8", (1.0, 1.02, 0.98))))
    assert seen.conclusion is Conclusion.NO_HITS
    assert [entry.look for entry in seen.checklist] == [
        Look.HITS,
        Look.CACHED_TOKENS,
        Look.CACHED_BLOCKS,
        Look.KV_CAPACITY,
        Look.MATCH_UNIT,
        Look.SHARED_PREFIX,
    ]
    values = {entry.look: entry.values for entry in seen.checklist}
    assert values[Look.HITS] == {"hits_tokens": 0.0, "low": 45_056, "high": 59_392}
    assert values[Look.KV_CAPACITY]["kv_cache_size_tokens"] == 65_536
    assert values[Look.KV_CAPACITY]["working_set_tokens"] == 2048 + 8 * (64 + 16)
    assert values[Look.MATCH_UNIT] == {"configured": Unset.NOT_SET, "effective": 32}
    assert values[Look.SHARED_PREFIX] == {
        "planned_tokens": 2048,
        "shared_tokens": None,
        "prompts": Unmade.NOT_MADE,
    }


def test_slower_adds_log_and_files() -> None:
    """Hits with a slower ON: blocks are derived, and the server's own lines stand beside."""
    seen = shown(pairs_of("C_c8", "D_c8", (0.8, 0.82, 0.78)))
    assert seen.conclusion is Conclusion.HITS_SLOWER
    values = {entry.look: entry.values for entry in seen.checklist}
    assert values[Look.CACHED_BLOCKS]["derived_blocks"] == 59_392 / 32
    assert "Prefix cache hit rate" in str(values[Look.SERVER_LOG]["prefix_lines"])
    assert values[Look.SERVER_LOG]["kv_cache"] == "EngineCore: 65536 tokens"
    assert values[Look.RESULT_FILES] == {"off": "C_c8", "on": "D_c8"}


def test_no_difference_is_not_told_apart() -> None:
    """Hits, and an interval around one: the checklist opens."""
    seen = shown(pairs_of("C_c8", "D_c8", (0.9, 1.1, 1.0)))
    assert (seen.speed, seen.conclusion) == (
        Speed.NOT_TOLD_APART,
        Conclusion.HITS_NOT_TOLD_APART,
    )
    assert seen.checklist


def test_a_workload_waits_for_the_cache_alone() -> None:
    """F's sentence needs D's hits on the same configuration, of the same version."""
    workload = pairs_of("E_c8", "F_c8", (1.5, 1.52, 1.48))
    other = configurations_with_hits(pairs_of("C_c8", "D_c8", [1.0], "0.26.0"))
    assert len(other) == 1
    for proven in (frozenset(), other):
        assert shown(workload, proven=proven).conclusion is Conclusion.WAITS_FOR_CACHE_ALONE
    assert shown(workload).conclusion is Conclusion.HITS_FASTER


def test_only_the_cache_alone_proves_a_configuration() -> None:
    """Neither F's own hits nor a D without any."""
    assert configurations_with_hits(pairs_of("E_c8", "F_c8", [1.0])) == frozenset()
    none = without_hits(pairs_of("C_c8", "D_c8", [1.0]))
    assert configurations_with_hits(none) == frozenset()


@pytest.mark.parametrize(
    ("ratios", "found", "conclusion"),
    [
        ((1.0, 1.01, 0.99), Overhead.WITHIN_LIMITS, Conclusion.OVERHEAD_WITHIN_LIMITS),
        ((0.8, 0.81, 0.79), Overhead.BEYOND_LIMITS, Conclusion.OVERHEAD_BEYOND_LIMITS),
        ((1.4, 1.41, 1.39), Overhead.BEYOND_LIMITS, Conclusion.OTHER_PATH),
        ((0.8, 1.2, 1.0), Overhead.OPEN, Conclusion.OVERHEAD_OPEN),
        ((1.4,), None, Conclusion.OVERHEAD_NO_SPEED_VERDICT),
    ],
)
def test_nothing_shared_is_judged_by_equivalence(
    ratios: tuple[float, ...], found: Overhead | None, conclusion: Conclusion
) -> None:
    """A/B: inside limits, beyond or open; a gain there has another path than hits."""
    seen = shown(pairs_of("A_c8", "B_c8", ratios))
    assert seen.hit_observed is False
    assert (seen.overhead, seen.conclusion) == (found, conclusion)


def test_above_the_ceiling_is_said() -> None:
    """F twice as fast and more: more than its prefill work allows."""
    assert shown(pairs_of("E_c8", "F_c8", (2.5, 2.6, 2.4))).above_ceiling is True
    assert shown(pairs_of("E_c8", "F_c8", (1.5, 1.6, 1.4))).above_ceiling is False


def test_a_failed_side_gives_no_figure() -> None:
    """Nothing of an invalid run is compared, and nothing is zero."""
    (pair,) = pairs_of("C_c8", "D_c8", [1.5])
    evidence = replace(pair.off.evidence, exit_code=1)
    off = Judged(pair.off.run, evidence, judge(PLAN, pair.off.run, evidence))
    seen = shown([replace(pair, off=off)])
    assert (seen.asked, seen.compared) == (1, 0)
    assert seen.conclusion is Conclusion.NO_VALID_PAIR
    assert (seen.hit_observed, seen.ttft_ratio, seen.above_ceiling) == (None, None, None)
    assert (seen.ttft_ms.off, seen.ttft_ms.on) == (None, None)
    assert seen.hits_tokens.reason is Reason.NOT_MEASURED
    assert seen.prefill_off_s.reason is Reason.NOT_MEASURED


def test_two_servers_are_not_a_pair() -> None:
    """Both valid, of two versions: no comparison."""
    off, on = judged("0.26.0", "C_c8"), judged("0.32.0", "D_c8")
    assert off.verdict.is_valid
    assert on.verdict.is_valid
    seen = shown(list(two_by_two([off, on])))
    assert (seen.compared, seen.conclusion) == (0, Conclusion.NOT_A_PAIR)


def test_a_run_without_its_other_side_is_no_pair() -> None:
    """Nor are runs of other repeats or concurrency."""
    runs = [judged("0.32.0", "C_c8"), judged("0.32.0", "D_c8", repeat=2), judged("0.32.0", "D_c4")]
    assert two_by_two(runs) == ()


def test_details_give_an_interval_within_the_run_and_cold_apart() -> None:
    """One pair: labelled as within-run; the first C requests beside the later ones."""
    (pair,) = pairs_of("C_c8", "D_c8", [1.9])
    draw = np.random.default_rng(3)
    details = [
        Requests(
            tuple(range(30)),
            tuple([cold] * 8 + draw.lognormal(np.log(later), 0.1, 22).tolist()),
            (2112,) * 30,
            (16,) * 30,
            (True,) * 30,
        )
        for cold, later in ((0.3, 0.2), (0.28, 0.1))
    ]
    sides = []
    for side, requests in zip((pair.off, pair.on), details, strict=True):
        assert side.evidence.result is not None
        result = replace(side.evidence.result, requests=requests)
        sides.append(replace(side, evidence=replace(side.evidence, result=result)))
    seen = shown([RunPair(sides[0], sides[1], pair.check)])
    assert seen.ttft_ratio is not None
    assert seen.ttft_ratio.basis is Basis.WITHIN_RUN
    assert seen.ttft_ratio.interval is not None
    assert seen.ttft_ms.off is not None
    assert seen.ttft_ms.off.basis is Basis.WITHIN_RUN
    assert seen.speed is None
    assert seen.first_ms.on is not None
    assert seen.later_ms.on is not None
    assert seen.first_ms.on.value == pytest.approx(280)
    assert seen.later_ms.on.value == pytest.approx(100, rel=0.1)


def test_an_unknown_match_unit_leaves_hits_unknown() -> None:
    """Nobody can tell a hit from chance without it."""
    (pair,) = pairs_of("C_c8", "D_c8", [1.5])
    sides = []
    for side in (pair.off, pair.on):
        assert side.evidence.after is not None
        configs = {
            e: {k: v for k, v in labels.items() if k != "block_size"}
            for e, labels in side.evidence.after.configs.items()
        }
        after = replace(side.evidence.after, configs=configs)
        before = replace(side.evidence.before, configs=configs)
        evidence = replace(side.evidence, before=before, after=after)
        sides.append(Judged(side.run, evidence, judge(PLAN, side.run, evidence)))
    seen = shown([RunPair(sides[0], sides[1], pair.check)])
    assert seen.compared == 1
    assert (seen.hit_observed, seen.conclusion) == (None, Conclusion.HITS_UNKNOWN)
