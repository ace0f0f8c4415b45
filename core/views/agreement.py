"""How far evaluators agree with references and with themselves, by version."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.cache.store import Store
from core.catalogue import kind_of
from core.domain.records import Ints
from core.domain.statistics.agreement import agreeing, cohen_kappa, gwet_ac1, true_scale_margin
from core.domain.statistics.agreement_intervals import AgreementIntervals, agreement_intervals
from core.domain.statistics.proportion import Estimate, proportion
from core.domain.statistics.sums import ClusterSums
from core.views.quality_sums import Series

REFERENCE_KINDS = ("human", "reference", "execution")
MARGIN = 0.02
"""A loss on an evaluator's scale; what true loss it stands for is shown."""
SEED = 20_260_901
"""Of the bootstrap over sessions; the same data give the same interval."""
CELLS = ("both_pass", "only_evaluator", "only_reference", "both_fail")
REPEATS = ("both_pass", "first_pass", "second_pass", "both_fail")


@dataclass(frozen=True)
class Agreement:
    """One evaluator against another, or against itself; None where undefined.

    `table` counts requests: both pass, only the first, only the second, both fail.
    """

    series: Series
    reference: Series | None
    table: tuple[int, int, int, int]
    agreeing: Estimate
    kappa: float | None
    ac1: float | None
    intervals: AgreementIntervals
    flips: Estimate | None = None

    @property
    def requests(self) -> int:
        """Requests with both verdicts."""
        return sum(self.table)

    @property
    def sensitivity(self) -> float | None:
        """Share of what the reference lets pass that the evaluator lets pass."""
        both, _, missed, _ = self.table
        return both / (both + missed) if both + missed else None

    @property
    def specificity(self) -> float | None:
        """Share of what the reference fails that the evaluator fails."""
        _, wrongly, _, neither = self.table
        return neither / (wrongly + neither) if wrongly + neither else None

    @property
    def known(self) -> bool:
        """Whether the reference lets pass and fails some, so that both shares are known."""
        return self.sensitivity is not None and self.specificity is not None

    @property
    def true_margin(self) -> float | None:
        """The true loss that `MARGIN` on its scale stands for; None where no better than chance."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return true_scale_margin(MARGIN, sensitivity=self.sensitivity, specificity=self.specificity)


def agreements(
    store: Store, params: dict[str, object], series: Sequence[Series]
) -> tuple[Agreement, ...]:
    """Every evaluator with a pass mark: against each reference, and against its repeats.

    Judges come first.
    """
    graded = [one for one in series if one.level == "observation" and one.gradable]
    graded.sort(key=lambda one: _kind(one) != "judge")
    references = [one for one in graded if _kind(one) in REFERENCE_KINDS]
    against = [
        _against(store, params, one, reference)
        for one in graded
        if one not in references
        for reference in references
    ]
    repeated = [_repeated(store, params, one) for one in graded]
    return tuple(found for found in (*against, *repeated) if found is not None)


def _kind(series: Series) -> str:
    return kind_of(series.name, series.mapping.kind, series.source)


def _against(
    store: Store, params: dict[str, object], series: Series, reference: Series
) -> Agreement | None:
    other = {
        "reference_score": reference.name,
        "reference_evaluator": reference.evaluator,
        "reference_version": reference.evaluator_version,
        "reference_type": reference.data_type,
        "reference_pass_at": reference.mapping.pass_at,
        "reference_labels": list(reference.mapping.pass_labels),
    }
    found = store.columns("agreement_counts", params | _named(series) | other)
    return _agreement(series, reference, _counts(found, CELLS))


def _repeated(store: Store, params: dict[str, object], series: Series) -> Agreement | None:
    found = store.columns("repeat_counts", params | _named(series))
    agreement = _agreement(series, None, _counts(found, REPEATS))
    if agreement is None:
        return None
    units, split = (_counts(found, (name,))[:, 0] for name in ("units", "split"))
    weight = units.astype(np.float64)
    flips = proportion(ClusterSums(split.astype(np.float64), weight, weight, units))
    return Agreement(**vars(agreement) | {"flips": flips})


def _named(series: Series) -> dict[str, object]:
    return {
        "score": series.name,
        "evaluator": series.evaluator,
        "evaluator_version": series.evaluator_version,
        "data_type": series.data_type,
        "pass_at": series.mapping.pass_at,
        "pass_labels": list(series.mapping.pass_labels),
    }


def _counts(found: pa.Table, names: Sequence[str]) -> Ints:
    counts: Ints = np.column_stack([found[name].to_numpy() for name in names]).astype(np.int64)
    return counts


def _agreement(series: Series, reference: Series | None, counts: Ints) -> Agreement | None:
    if not counts.sum():
        return None
    both, first, second, neither = (int(n) for n in counts.sum(axis=0))
    table = [[both, first], [second, neither]]
    kappa = cohen_kappa(table)
    return Agreement(
        series=series,
        reference=reference,
        table=(both, first, second, neither),
        agreeing=proportion(agreeing(counts)),
        kappa=None if kappa is None else kappa.kappa,
        ac1=gwet_ac1(table),
        intervals=agreement_intervals(counts, np.random.default_rng(SEED)),
    )
