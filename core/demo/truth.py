"""What is true of the simulated requests, for tests of whoever reads them."""

from typing import NamedTuple

import numpy as np

from core.config import Settings
from core.demo.arrivals import Kind
from core.demo.evaluators import stored as score_stored
from core.demo.gateway import KnownSum, gateway_of
from core.demo.quality import Evaluator
from core.demo.source import fleet_epoch


class KnownScores(NamedTuple):
    """How many scores there are, how many of them are errors, and the sum of the others."""

    number: int
    errors: int
    total: float


def known_requests(
    settings: Settings, start: float, end: float, *, now: float
) -> dict[Kind, KnownSum]:
    """Observations that begin in start <= time < end and can be read by now, by kind.

    Tokens are those the engines counted. Kinds without a row are told too.
    """
    return gateway_of(settings.demo_seed, fleet_epoch(settings, now)).known(start, end, now)


def known_scores(
    settings: Settings, start: float, end: float, *, now: float
) -> dict[Evaluator, KnownScores]:
    """Scores with timestamps in start <= time < end that can be read by now, by evaluator."""
    gateway = gateway_of(settings.demo_seed, fleet_epoch(settings, now))
    gateway.make_until(now)
    window = gateway.scores.between(start * 1000, end * 1000)
    parts = [part[score_stored(part, now)] for part in window]
    return {one: _summed([p[p["evaluator"] == one] for p in parts]) for one in Evaluator}


def _summed(parts: list[np.ndarray]) -> KnownScores:
    return KnownScores(
        sum(part.size for part in parts),
        sum(int(part["error"].sum()) for part in parts),
        sum(float(part["value"][~part["error"]].sum()) for part in parts),
    )
