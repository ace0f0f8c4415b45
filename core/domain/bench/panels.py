"""All panels of a job, from its judged runs."""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from core.domain.bench.expectation import Range
from core.domain.bench.judge import hits_range
from core.domain.bench.panel import (
    Judged,
    Panel,
    RunPair,
    configurations_with_hits,
    panel,
    two_by_two,
)


def panels_of(judged: Iterable[Judged], *, seed: int) -> tuple[Panel, ...]:
    """One panel for each pair, concurrency and hash algorithm that has runs OFF and ON.

    Parameters
    ----------
    seed : int
        Of the resampling inside single runs: the plan's, so that figures stay the same.

    >>> panels_of([], seed=0)
    ()
    """
    pairs = sorted(two_by_two(judged), key=_group)
    proven = configurations_with_hits(pairs)
    rng = np.random.default_rng(seed)
    groups = [tuple(group) for _, group in groupby(pairs, key=_group)]
    return tuple(panel(group, proven=proven, rng=rng) for group in groups)


def _group(pair: RunPair) -> tuple[str, int, str]:
    run = pair.on.run
    return run.pair.name, run.concurrency, str(run.hash_algorithm)


def expected_hits_of(one: Panel) -> Range | None:
    """Hit tokens that the ON runs behind a panel may have had together.

    Unknown when
    ------------
    No pair of runs counts, or the match unit of one is not known.
    """
    ranges = [_hits_of(pair.on) for pair in one.pairs if pair.counts]
    known = [found for found in ranges if found is not None]
    if not known or len(known) < len(ranges):
        return None
    return Range(sum(found.low for found in known), sum(found.high for found in known))


def _hits_of(on: Judged) -> Range | None:
    result = on.evidence.result
    return None if result is None else hits_range(on.run, on.evidence, result)
