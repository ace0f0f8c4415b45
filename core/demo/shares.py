"""An interval's tokens, divided among its requests without losing one.

Groups are scrape intervals of one engine: `counts` requests each, one after the
other in the arrays of requests.
"""

import numpy as np

from core.demo.configuration import BLOCK_TOKENS
from core.domain.records import Floats, Ints

NARROWING_STEPS = 45
STRONGEST = 12.0
"""Bound of the exponent, as a power of two, that fits shares to a sum."""


def divided_prompts(tokens: Ints, counts: Ints, weights: Floats) -> Ints:
    """Prompt tokens by request: a block at least, the rest by weight."""
    return BLOCK_TOKENS + _divided(tokens - BLOCK_TOKENS * counts, counts, weights)


def divided_hits(tokens: Ints, counts: Ints, prompts: Ints, shares: Floats) -> Ints:
    """Cached tokens by request, in whole blocks, the last token of a prompt never.

    A request gets 1 − (1 − share)^a of its blocks, with the a of its interval that
    makes the sum right; so the order of shares is kept and none is clipped.
    """
    group = np.repeat(np.arange(counts.size), counts)
    room = (prompts - 1) // BLOCK_TOKENS
    wanted = tokens // BLOCK_TOKENS
    uncached = np.log1p(-shares)
    low, high = np.full(counts.size, -STRONGEST), np.full(counts.size, STRONGEST)
    for _ in range(NARROWING_STEPS):
        middle = (low + high) / 2
        fits = _summed(room * -np.expm1(2 ** middle[group] * uncached), counts) <= wanted
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    blocks = room * -np.expm1(2 ** low[group] * uncached) * (wanted > 0)[group]
    whole = np.floor(blocks)
    missing = wanted - _summed(whole, counts)
    whole += _rank(blocks - whole, counts) < missing[group]
    hits: Ints = whole.astype(np.int64) * BLOCK_TOKENS
    return hits


def _divided(totals: Ints, counts: Ints, weights: Floats) -> Ints:
    """Whole parts of every total, by weight: rounded running sums, so they add up."""
    group = np.repeat(np.arange(counts.size), counts)
    running = np.cumsum(weights)
    before = np.append(0.0, running)[np.cumsum(counts) - counts]
    reached = (running - before[group]) / _summed(weights, counts)[group] * totals[group]
    upto = np.round(reached).astype(np.int64)
    parts: Ints = np.diff(upto, prepend=0)
    first = _starts(counts)
    parts[first] = upto[first]
    return parts


def _summed(values: Floats, counts: Ints) -> Floats:
    group = np.repeat(np.arange(counts.size), counts)
    return np.bincount(group, values, minlength=counts.size).astype(np.float64)


def _rank(values: Floats, counts: Ints) -> Ints:
    """Place of each value within its group, 0 for the largest."""
    group = np.repeat(np.arange(counts.size), counts)
    rank = np.empty(values.size, np.int64)
    order = np.lexsort((-values, group))
    rank[order] = np.arange(values.size) - (np.cumsum(counts) - counts)[group]
    return rank


def _starts(counts: Ints) -> Ints:
    starts: Ints = (np.cumsum(counts) - counts)[counts > 0]
    return starts
