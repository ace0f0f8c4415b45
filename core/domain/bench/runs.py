"""The runs of a plan, in the order they are to be made."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from core.domain.bench.plan import Pair, Plan, Run, Target
from core.domain.records import stable_id

GUIDE_ORDER = ("A/B", "C/D", "E/F")


def runs_of(plan: Plan) -> tuple[Run, ...]:
    """Every run of a plan: pairs in the guide's order, OFF and ON of a pair side by side.

    Which of the two comes first is drawn from the plan's seed for each pair, concurrency,
    hash algorithm and repeat. Both have the same dataset seed. On servers that are given and
    go on running, each two runs have a seed of their own, so that none finds what the ones
    before it left in the cache.

    >>> from core.domain.bench.presets import small
    >>> [run.run_id for run in runs_of(small("m", "t"))][:4]
    ['001-B-c1-r1', '002-A-c1-r1', '003-A-c4-r1', '004-B-c4-r1']
    """
    return tuple(_numbered(plan))


def _numbered(plan: Plan) -> Iterator[Run]:
    number = 0
    for place, (pair, concurrency, algorithm, repeat) in enumerate(_two_by_two(plan)):
        seed = plan.seed + place if plan.target is Target.GIVEN else plan.seed
        for caching in _order(plan.seed, pair.name, concurrency, repeat, algorithm):
            number += 1
            case = pair.on if caching else pair.off
            parts = [f"{number:03d}", case, f"c{concurrency}", f"r{repeat}"]
            run_id = "-".join([*parts, algorithm] if algorithm else parts)
            yield Run(run_id, pair, caching, concurrency, repeat, seed, algorithm)


def _two_by_two(plan: Plan) -> Iterator[tuple[Pair, int, str | None, int]]:
    algorithms: tuple[str | None, ...] = plan.hash_algorithms or (None,)
    repeats = range(1, plan.repeats + 1)
    return product(in_order(plan.pairs), plan.concurrency, algorithms, repeats)


def in_order(pairs: tuple[Pair, ...]) -> list[Pair]:
    """A/B, C/D, E/F; pairs of one's own after them, as they came."""
    names = [*GUIDE_ORDER, *(pair.name for pair in pairs if pair.name not in GUIDE_ORDER)]
    return sorted(pairs, key=lambda pair: names.index(pair.name))


def _order(*drawn_for: object) -> tuple[bool, bool]:
    first = bool(np.random.default_rng(stable_id("off_on", *drawn_for)).integers(2))
    return first, not first
