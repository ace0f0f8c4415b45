"""The validation panel of a pair at one concurrency: hits, prefill, latencies, one conclusion.

Only valid runs that differ in caching alone are compared. Speed is judged over at least three
such pairs; hits are told from counters and never from a latency.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from core.domain.bench.checklist import Entry, checklist
from core.domain.bench.comparison import (
    Basis,
    Estimate,
    Overhead,
    Speed,
    over_runs,
    overhead,
    ratio_of_medians,
    speed,
    within_run_interval,
    within_run_median_interval,
)
from core.domain.bench.conclusion import (
    Conclusion,
    Kind,
    conclude,
    is_slower,
    needs_checklist,
)
from core.domain.bench.configuration import (
    Configuration,
    PairCheck,
    check_pair,
    configuration,
    match_unit,
)
from core.domain.bench.expectation import Ceilings, ceilings
from core.domain.bench.judge import RunVerdict, hit_tokens, is_collision
from core.domain.bench.plan import Dataset, Pair, Run
from core.domain.bench.result import BenchResult, RunEvidence
from core.domain.ratios import ratio_of_sums, total
from core.domain.reading import Reading, Reason
from core.domain.statistics.sums import Interval


@dataclass(frozen=True)
class Judged:
    """A run with its evidence and verdict."""

    run: Run
    evidence: RunEvidence
    verdict: RunVerdict


@dataclass(frozen=True)
class RunPair:
    """OFF and ON of one repeat."""

    off: Judged
    on: Judged
    check: PairCheck

    @property
    def counts(self) -> bool:
        """Whether both are valid and differ in caching alone."""
        return self.off.verdict.is_valid and self.on.verdict.is_valid and self.check.is_pair


@dataclass(frozen=True)
class Sides:
    """A figure OFF and ON; None where unknown."""

    off: Estimate | None
    on: Estimate | None


@dataclass(frozen=True)
class Panel:
    """What the valid pairs of runs of one pair and concurrency say.

    Parameters
    ----------
    hit_observed : bool or None
        More hits than blocks that are alike by chance, in every pair.
    ttft_ratio : Estimate or None
        Median TTFT OFF over ON: above 1, ON is faster.
    above_ceiling : bool or None
        TTFT improved by more than prefill work can: a queueing effect, or the measurement.
    first_ms, later_ms : Sides
        Median TTFT of the first C requests, which may all miss, and of the others.
    """

    pair: Pair
    concurrency: int
    kind: Kind
    asked: int
    compared: int
    hit_observed: bool | None
    queries_off: Reading
    queries_on: Reading
    hits_tokens: Reading
    cached_tokens: Reading
    hit_ratio: Reading
    prefill_off_s: Reading
    prefill_on_s: Reading
    ttft_ms: Sides
    ttft_ratio: Estimate | None
    ceilings: Ceilings
    above_ceiling: bool | None
    first_ms: Sides
    later_ms: Sides
    e2el_ms: Sides
    input_throughput: Sides
    output_throughput: Sides
    speed: Speed | None
    overhead: Overhead | None
    conclusion: Conclusion
    checklist: tuple[Entry, ...]
    pairs: tuple[RunPair, ...]


def kind_of(pair: Pair) -> Kind:
    """What a pair is made to tell, by its workload.

    >>> from core.domain.bench.presets import guide_pairs
    >>> [kind_of(pair).value for pair in guide_pairs()]
    ['nothing_shared', 'cache_alone', 'workload']
    """
    if pair.workload.prefix_tokens == 0:
        return Kind.NOTHING_SHARED
    is_pure = pair.workload.dataset is Dataset.PREFIX_REPETITION
    return Kind.CACHE_ALONE if is_pure else Kind.WORKLOAD


def two_by_two(judged: Iterable[Judged]) -> tuple[RunPair, ...]:
    """OFF and ON runs of the same pair, concurrency, repeat and hash algorithm, side by side."""
    sides: dict[tuple[object, ...], dict[bool, Judged]] = {}
    for one in judged:
        run = one.run
        key = (run.pair, run.concurrency, run.repeat, run.hash_algorithm, run.seed)
        sides.setdefault(key, {})[run.caching] = one
    return tuple(
        RunPair(two[False], two[True], check_pair(two[False].evidence, two[True].evidence))
        for two in sides.values()
        if len(two) == 2
    )


def shows_hits(pair: RunPair) -> bool | None:
    """Whether the ON run got more from the cache than chance gives; None where unknown."""
    on = pair.on.evidence
    seen, unit = on.increase(), match_unit(on.after)
    hits = None if seen is None else hit_tokens(seen)
    if seen is None or hits is None or unit is None or seen.prompt_tokens is None:
        return None
    requests = pair.on.run.pair.workload.requests
    by_chance = is_collision(hits, requests=requests, unit=unit, prompt_tokens=seen.prompt_tokens)
    return not by_chance


def configurations_with_hits(pairs: Iterable[RunPair]) -> frozenset[Configuration]:
    """Server configurations on which a pair made to show the cache alone has shown hits."""
    shown = [pair for pair in pairs if pair.counts and shows_hits(pair)]
    found = {
        configuration(pair.on.evidence)
        for pair in shown
        if kind_of(pair.on.run.pair) is Kind.CACHE_ALONE
    }
    return frozenset(one for one in found if one is not None)


def panel(
    pairs: Sequence[RunPair],
    *,
    proven: frozenset[Configuration],
    rng: np.random.Generator,
) -> Panel:
    """Everything that the runs of one pair, concurrency and hash algorithm say together.

    Parameters
    ----------
    pairs : sequence of RunPair
        At least one; all of one pair, concurrency and hash algorithm.
    proven : frozenset
        From `configurations_with_hits`: a workload's sentence waits for its own.
    """
    first = pairs[0].on.run
    counted = [pair for pair in pairs if pair.counts]
    ratio = _ttft_ratio(counted, rng)
    hits = _observed(counted)
    kind = kind_of(first.pair)
    limits = ceilings(first.pair.workload)
    judged_speed = speed(ratio)
    judged_overhead = overhead(ratio) if kind is Kind.NOTHING_SHARED else None
    return Panel(
        first.pair,
        first.concurrency,
        kind,
        len(pairs),
        len(counted),
        hits,
        *_tokens(counted),
        _prefill("bench_prefill_off_s", [pair.off for pair in counted]),
        _prefill("bench_prefill_on_s", [pair.on for pair in counted]),
        _ttft(counted, rng),
        ratio,
        limits,
        None if ratio is None else ratio.value > limits.linear,
        _sides(counted, lambda one: _part(one, is_first=True)),
        _sides(counted, lambda one: _part(one, is_first=False)),
        _sides(counted, _e2el_ms),
        _sides(counted, lambda one: _result(one).input_throughput),
        _sides(counted, lambda one: _result(one).output_throughput),
        judged_speed,
        judged_overhead,
        _conclusion(pairs, counted, ratio, proven),
        _checklist(counted, ratio),
        tuple(pairs),
    )


def _conclusion(
    pairs: Sequence[RunPair],
    counted: Sequence[RunPair],
    ratio: Estimate | None,
    proven: frozenset[Configuration],
) -> Conclusion:
    if not counted:
        valid = any(p.off.verdict.is_valid and p.on.verdict.is_valid for p in pairs)
        return Conclusion.NOT_A_PAIR if valid else Conclusion.NO_VALID_PAIR
    return conclude(
        kind_of(counted[0].on.run.pair),
        ratio,
        hit_observed=_observed(counted),
        is_proven=all(configuration(pair.on.evidence) in proven for pair in counted),
    )


def _checklist(counted: Sequence[RunPair], ratio: Estimate | None) -> tuple[Entry, ...]:
    """Of the last pair that counts: what a reader has just seen run."""
    if not counted or not needs_checklist(kind_of(counted[0].on.run.pair), ratio):
        return ()
    last = counted[-1]
    return checklist(
        last.on.run,
        last.on.evidence,
        runs=(last.off.run.run_id, last.on.run.run_id),
        is_slower=is_slower(ratio),
    )


def _e2el_ms(one: Judged) -> float | None:
    summary = _result(one).e2el
    return None if summary is None else summary.median_ms


def _result(one: Judged) -> BenchResult:
    if one.evidence.result is None:
        raise ValueError(f"a valid run has a result, {one.run.run_id} has none")
    return one.evidence.result


def _observed(counted: Sequence[RunPair]) -> bool | None:
    told = [shows_hits(pair) for pair in counted]
    if not told or None in told:
        return None
    return all(told)


def _amounts(sides: Iterable[Judged], name: str) -> list[float | None]:
    increases = [one.evidence.increase() for one in sides]
    return [None if seen is None else getattr(seen, name) for seen in increases]


def _sum(metric: str, amounts: Sequence[float | None]) -> Reading:
    absent = Reason.NOT_EXPORTED if amounts else Reason.NOT_MEASURED
    return total(metric, [] if None in amounts else amounts, absent=absent)


def _tokens(counted: Sequence[RunPair]) -> tuple[Reading, Reading, Reading, Reading, Reading]:
    off, on = [pair.off for pair in counted], [pair.on for pair in counted]
    increases = [one.evidence.increase() for one in on]
    hits = _sum(
        "bench_hits_tokens", [None if seen is None else hit_tokens(seen) for seen in increases]
    )
    prompt = _sum("bench_prompt_tokens", _amounts(on, "prompt_tokens"))
    ratio = ratio_of_sums(
        "bench_hit_ratio",
        hits.value,
        prompt.value,
        absent=Reason.NOT_EXPORTED if counted else Reason.NOT_MEASURED,
    )
    return (
        _sum("bench_queries_off", _amounts(off, "queries_tokens")),
        _sum("bench_queries_on", _amounts(on, "queries_tokens")),
        hits,
        _sum("bench_cached_tokens", _amounts(on, "cached_tokens")),
        ratio,
    )


def _prefill(metric: str, sides: Sequence[Judged]) -> Reading:
    return ratio_of_sums(
        metric,
        _sum(metric, _amounts(sides, "prefill_time_s")).value,
        _sum(metric, _amounts(sides, "prefill_count")).value,
        absent=Reason.NOT_EXPORTED if sides else Reason.NOT_MEASURED,
        at_most_one=False,
    )


def _ttft_ratio(counted: Sequence[RunPair], rng: np.random.Generator) -> Estimate | None:
    ratios = []
    for pair in counted:
        off, on = _result(pair.off).ttft, _result(pair.on).ttft
        if off is not None and on is not None:
            medians = ratio_of_medians([off.median_ms], [on.median_ms])
            ratios += [] if medians is None else [medians.ratio]
    estimate = over_runs(ratios)
    if estimate is None or estimate.runs > 1:
        return estimate
    limits = within_run_interval(
        _times(counted[0].off), _times(counted[0].on), wave=counted[0].on.run.concurrency, rng=rng
    )
    return _within(estimate, limits)


def _within(estimate: Estimate, limits: Interval | None) -> Estimate:
    if limits is None:
        return estimate
    return estimate._replace(interval=limits, basis=Basis.WITHIN_RUN)


def _ttft(counted: Sequence[RunPair], rng: np.random.Generator) -> Sides:
    def side(runs: Sequence[Judged]) -> Estimate | None:
        medians = [ttft.median_ms for one in runs if (ttft := _result(one).ttft) is not None]
        estimate = over_runs(medians)
        if estimate is None or estimate.runs > 1:
            return estimate
        times = [1000 * value for value in _times(runs[0])]
        wave = runs[0].run.concurrency
        return _within(estimate, within_run_median_interval(times, wave=wave, rng=rng))

    return Sides(side([pair.off for pair in counted]), side([pair.on for pair in counted]))


def _times(one: Judged) -> list[float]:
    """TTFT of the completed requests in the order they started; none without details."""
    requests = _result(one).requests
    return [] if requests is None else [requests.ttft_s[place] for place in requests.by_start()]


def _part(one: Judged, *, is_first: bool) -> float | None:
    times, wave = _times(one), one.run.concurrency
    chosen = list(islice(times, wave)) if is_first else times[wave:]
    return 1000 * float(np.median(chosen)) if chosen else None


def _sides(counted: Sequence[RunPair], figure: Callable[[Judged], float | None]) -> Sides:
    def side(runs: Iterable[Judged]) -> Estimate | None:
        values = [figure(one) for one in runs]
        known = [value for value in values if value is not None]
        return over_runs(known) if len(known) == len(values) else None

    return Sides(side(pair.off for pair in counted), side(pair.on for pair in counted))
