"""Requests by group and session: what the Quality page and the gate are computed from.

SQL gives additive sums per session and pair of groups; here they become counts and
`ClusterSums` of any choice of groups. A request is counted once, by its status; a request
without a session is counted and is in no interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from core.domain.records import Bools, Floats, Ints
from core.domain.statistics.evaluation_counts import EvaluationCounts
from core.domain.statistics.missing import Bounds, Observed, bounds
from core.domain.statistics.sums import ClusterSums


class Estimand(StrEnum):
    """What is estimated of a group; each is another question."""

    CONTENT = "content"
    """Pass rate of complete answers: conditioned on completion."""
    COMPOSITE = "composite"
    """Complete and passed: an incomplete answer counts as a fail."""
    MEAN = "mean"
    """Mean score of complete answers."""


class Dimension(StrEnum):
    """What requests can be grouped by."""

    CACHED_RATIO = "cached_ratio"
    IDLE_GAP = "idle_gap"
    PREEMPT_WINDOW = "preempt_window"
    ARM = "arm"
    MODEL = "model"
    NAMESPACE = "namespace"
    CLUSTER = "cluster"
    TASK_TYPE = "task_type"
    TEMPLATE_VERSION = "template_version"
    INPUT_LENGTH = "input_length"
    TURN_POSITION = "turn_position"
    TIME = "time"
    LOAD = "load"
    NOTHING = "nothing"


CONFOUNDERS = (
    Dimension.TASK_TYPE,
    Dimension.MODEL,
    Dimension.TEMPLATE_VERSION,
    Dimension.INPUT_LENGTH,
    Dimension.TURN_POSITION,
    Dimension.TIME,
    Dimension.LOAD,
)
"""What a comparison may be standardised over: nothing that a caching lever changes itself."""

COUNTED = (
    "requests", "incomplete", "scored", "weightless", "errors", "missing", "not_sampled",
    "conflicts", "lost_known", "scored_incomplete", "cached_known", "exact_one",
)  # fmt: skip
LOST = ("missing", "errors", "conflicts", "weightless")
"""Requests that should have a score and have none, by the reason."""


UNSCORED = ("weightless", "errors", "missing", "conflicts")
"""Complete requests that should have a score and have none that can be used."""


@dataclass(frozen=True)
class Tally:
    """Requests of a group by status, and how many of them have no session."""

    counts: EvaluationCounts
    sessions: int
    sessionless: int
    weightless: int
    conflicts: int
    scored_incomplete: int
    exact_one: int
    cached_known: int
    cached_tokens: int | None
    """None where no request of the group knows its cached tokens."""

    @property
    def requests(self) -> int:
        """Requests the evaluator is meant for."""
        return self.counts.eligible

    @property
    def cached_unknown(self) -> int:
        """Requests whose cached tokens are not known."""
        return self.requests - self.cached_known


@dataclass(frozen=True)
class SessionSums:
    """Sums per session and pair of groups, one place per row.

    Parameters
    ----------
    by, across : int array, shape (R,)
        Groups in two dimensions, as places of `by_names` and `across_names`.
    session : int array, shape (R,)
        Sessions counted from 0; -1 for requests without one.
    columns : mapping of float arrays, shape (R,)
        Additive sums; NaN where a sum has nothing to add up.
    """

    by_names: tuple[str, ...]
    across_names: tuple[str, ...]
    by: Ints
    across: Ints
    session: Ints
    columns: Mapping[str, Floats]

    @cached_property
    def sessions(self) -> int:
        """Length of the axis of sessions that aligned sums share."""
        return int(self.session.max(initial=-1)) + 1

    @property
    def everything(self) -> Bools:
        """All rows."""
        return np.ones(self.by.size, dtype=np.bool_)

    def group(self, *, by: str | None = None, across: str | None = None) -> Bools:
        """Rows of one group in either dimension or both."""
        chosen = self.everything
        if by is not None:
            chosen &= self.by == self.by_names.index(by) if by in self.by_names else False
        if across is not None:
            here = across in self.across_names
            chosen &= self.across == self.across_names.index(across) if here else False
        return chosen

    def tally(self, rows: Bools) -> Tally:
        """Counts of some rows."""
        n = {name: int(self.columns[name][rows].sum()) for name in COUNTED}
        tokens = self.columns["cached_tokens"][rows]
        known = tokens[~np.isnan(tokens)]
        alone = rows & (self.session < 0)
        return Tally(
            counts=EvaluationCounts(
                incomplete=n["incomplete"],
                ok=n["scored"],
                evaluator_error=n["errors"],
                missing=n["missing"] + n["weightless"] + n["conflicts"],
                not_sampled=n["not_sampled"],
            ),
            sessions=int(np.count_nonzero(np.bincount(self.session[rows & (self.session >= 0)]))),
            sessionless=int(self.columns["requests"][alone].sum()),
            weightless=n["weightless"],
            conflicts=n["conflicts"],
            scored_incomplete=n["scored_incomplete"],
            exact_one=n["exact_one"],
            cached_known=n["cached_known"],
            cached_tokens=int(known.sum()) if known.size else None,
        )

    def sums(self, estimand: Estimand, rows: Bools) -> ClusterSums:
        """Sums per session of the scored requests of some rows, on the axis of all sessions."""
        column = "values" if estimand is Estimand.MEAN else "passes"
        scored = rows & (self.session >= 0) & (self.columns["scored"] > 0)
        content = ClusterSums(
            y=self._per_session(column, scored),
            w=self._per_session("weight", scored),
            s=self._per_session("squares", scored),
            n=self._per_session("scored", scored).astype(np.int64),
        )
        if estimand is not Estimand.COMPOSITE:
            return content
        cut = self._per_session("incomplete", rows & (self.session >= 0))
        return content + ClusterSums(np.zeros_like(cut), cut, cut, cut.astype(np.int64))

    def bounds(self, estimand: Estimand, rows: Bools) -> Bounds | None:
        """Pass rate if every missing score were a fail, and if every one were a pass.

        Of requests with a session, as the estimate itself.

        Unknown when
        ------------
        The estimand is a mean, a missing score has no known weight, or there is no request.
        """
        here = rows & (self.session >= 0)
        lost = sum(int(self.columns[name][here].sum()) for name in LOST)
        known = int(self.columns["lost_known"][here].sum())
        if estimand is Estimand.MEAN or known < lost:
            return None
        weights = self.columns["lost_weight"][here]
        missing = float(weights[~np.isnan(weights)].sum())
        found = self.sums(estimand, rows)
        passes, observed = float(found.y.sum()), found.weight
        return bounds(Observed(passes, observed, observed + missing))

    def incomplete(self, rows: Bools) -> ClusterSums:
        """Sums per session of being incomplete: known for every request, weight 1."""
        here = rows & (self.session >= 0)
        every = self._per_session("requests", here)
        cut = self._per_session("incomplete", here)
        return ClusterSums(cut, every, every, every.astype(np.int64))

    def unscored(self, rows: Bools) -> ClusterSums:
        """Sums per session of complete requests that should have a score and have none, as fails.

        Weight 1 each: whoever is missing has no known weight.
        """
        here = rows & (self.session >= 0)
        lacking = sum((self._per_session(name, here) for name in UNSCORED), np.zeros(self.sessions))
        return ClusterSums(np.zeros_like(lacking), lacking, lacking, lacking.astype(np.int64))

    def _per_session(self, column: str, rows: Bools) -> Floats:
        values = self.columns[column][rows]
        return np.bincount(self.session[rows], values, self.sessions).astype(np.float64)
