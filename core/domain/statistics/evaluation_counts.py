"""How many requests of a group were judged, and why the others were not."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EvaluationCounts:
    """Requests by status; every rate is None where its denominator is 0.

    Parameters
    ----------
    not_eligible : int
        Outside of every denominator.
    incomplete : int
        Without a complete answer, whatever an evaluator said of them.
    ok, evaluator_error, missing, not_sampled : int
        Complete answers with a score; with a failed evaluation; without a record; left
        out by design. Those left out by design stand behind weights and are not missing.
    passes : float
        Sum of the scores of `ok`, each in [0, 1].

    >>> EvaluationCounts(ok=5, evaluator_error=1, missing=1, incomplete=2, passes=4).pass_rate
    0.8
    >>> EvaluationCounts(incomplete=2).coverage is None
    True
    """

    not_eligible: int = 0
    incomplete: int = 0
    ok: int = 0
    evaluator_error: int = 0
    missing: int = 0
    not_sampled: int = 0
    passes: float = 0.0

    @property
    def requests(self) -> int:
        """All requests."""
        return self.not_eligible + self.eligible

    @property
    def eligible(self) -> int:
        """Those inside the denominators."""
        return self.incomplete + self.complete

    @property
    def complete(self) -> int:
        """Eligible with a complete answer."""
        return self.expected + self.not_sampled

    @property
    def expected(self) -> int:
        """Complete answers that a score was expected of."""
        return self.ok + self.evaluator_error + self.missing

    @property
    def incomplete_rate(self) -> float | None:
        """Share of the eligible without a complete answer."""
        return _share(self.incomplete, self.eligible)

    @property
    def coverage(self) -> float | None:
        """Evaluation coverage: share of the expected scores that are there."""
        return _share(self.ok, self.expected)

    @property
    def evaluator_error_rate(self) -> float | None:
        """Share of the expected scores whose evaluator failed."""
        return _share(self.evaluator_error, self.expected)

    @property
    def missing_rate(self) -> float | None:
        """Share of the expected scores without any record."""
        return _share(self.missing, self.expected)

    @property
    def pass_rate(self) -> float | None:
        """Unweighted rate among complete answers; conditioned on completion."""
        return _share(self.passes, self.ok)

    @property
    def composite_pass_rate(self) -> float | None:
        """Unweighted rate with an incomplete answer as a fail; None where some were sampled.

        Incomplete answers are all known and sampled ones stand for others, so the two only
        mix with weights.
        """
        if self.not_sampled > 0:
            return None
        return _share(self.passes, self.ok + self.incomplete)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole > 0 else None
