"""Prompt tokens as engines count them three times: accounts, differences, rows by engine."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from core.cache.store import Row, Store
from core.domain.prefill import (
    COMPUTED,
    EXTERNAL,
    LOCAL,
    LOCAL_TIER,
    SOURCES,
    Account,
    Amounts,
    difference,
    sum_over,
)
from core.domain.ratios import ratio_of_sums
from core.domain.reading import Reading, Reason
from core.domain.scope import Window
from core.views.fleet import Fleet, query_params

BY_SOURCE, BY_TIER = "prompt_tokens_by_source", "prompt_tokens_cached_by_source"
PROMPT, CACHED = "prompt_tokens", "prompt_tokens_cached"
REQUEST_PROMPT, REQUESTS = "request_prompt_tokens_sum", "request_prompt_tokens_count"
REQUEST_COMPUTED = "request_prefill_kv_computed_tokens_sum"
OF_SOURCE = {
    LOCAL: "prefill_cached_tokens",
    EXTERNAL: "prefill_external_tokens",
    COMPUTED: "prefill_computed_tokens",
}


@dataclass(frozen=True)
class AccountRow:
    """One part of one account: its tokens, and their share of all that the account holds.

    `part` is a source, a tier, or `cached`, `computed` or `all`.
    """

    account: Account
    part: str
    tokens: Reading
    share: Reading
    engines: int


@dataclass(frozen=True)
class DifferenceRow:
    """One comparison of two accounts, over the engines that give both."""

    key: str
    tokens: Reading
    engines: int


@dataclass(frozen=True)
class EngineTokens:
    """What one engine prefilled, by source."""

    name: str
    model: str | None
    cached: Reading
    external: Reading
    computed: Reading
    cached_share: Reading
    external_share: Reading
    restarted: int | None


@dataclass(frozen=True)
class PrefillSums:
    """Increases of the counters of prompt tokens, per engine, over one window."""

    fleet: Fleet
    rows: tuple[Row, ...]

    def amounts(self, instrument: str, label: str | None = None) -> dict[int, float]:
        """What each engine counted under one label; engines that gave no number are absent."""
        return {
            row.engine_id: row.amount
            for row in self.rows
            if row.instrument == instrument and row.label == label and row.amount is not None
        }

    def by_label(self, instrument: str) -> dict[str, dict[int, float]]:
        """The same for every label that any engine has."""
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for row in self.rows:
            if row.instrument == instrument and row.amount is not None:
                found[str(row.label)][row.engine_id] = row.amount
        return dict(sorted(found.items()))

    def tokens(self, metric: str, amounts: Amounts, *instruments: str) -> Reading:
        """The sum over engines, with their coverage; one below 0 cannot be true."""
        if not amounts:
            return Reading(metric, None, self.fleet.absent(*instruments))
        coverage = self.fleet.coverage_of(amounts.keys(), self._samples(instruments, amounts))
        value = sum(amounts.values())
        if value < 0:
            return Reading(metric, None, Reason.CONTRACT_ERROR, coverage=coverage)
        return Reading(metric, value, coverage=coverage)

    def share(self, metric: str, part: Amounts, whole: Amounts, *instruments: str) -> Reading:
        """Part over whole, summed over the engines that give both."""
        both = part.keys() & whole.keys()
        return ratio_of_sums(
            metric,
            sum(part[e] for e in both) if both else None,
            sum(whole[e] for e in both) if both else None,
            coverage=self.fleet.coverage_of(both, self._samples(instruments, whole)),
            absent=self.fleet.absent(*instruments),
        )

    def _samples(self, instruments: tuple[str, ...], engines: Amounts) -> int:
        """Scrapes behind a sum: those of each engine's best observed series."""
        best: dict[int, int] = {}
        for row in self.rows:
            if row.instrument in instruments and row.engine_id in engines:
                best[row.engine_id] = max(best.get(row.engine_id, row.samples), row.samples)
        return sum(best.values())

    @property
    def all_sources(self) -> dict[int, float]:
        """All prompt tokens by source, of engines that count every source."""
        labels = self.by_label(BY_SOURCE)
        if not set(SOURCES) <= labels.keys():
            return {}
        whole = sum_over(*(labels[source] for source in SOURCES))
        others = [amounts for label, amounts in labels.items() if label not in SOURCES]
        return {e: v + sum(o[e] for o in others if e in o) for e, v in whole.items()}

    def source_share(self, metric: str, source: str) -> Reading:
        """Share of one source in all prompt tokens by source."""
        return self.share(metric, self.amounts(BY_SOURCE, source), self.all_sources, BY_SOURCE)


def prefill_sums(store: Store, fleet: Fleet, window: Window) -> PrefillSums:
    """Read the sums of one window."""
    params = query_params(fleet.scope, window)
    return PrefillSums(fleet, tuple(store.read("prefill_accounts", params)))


def accounts(sums: PrefillSums) -> tuple[AccountRow, ...]:
    """All parts of the three accounts, in order."""
    return (*_by_source(sums), *_by_tier(sums), *_by_request(sums))


def _by_source(sums: PrefillSums) -> list[AccountRow]:
    whole = sums.all_sources
    others = [label for label in sums.by_label(BY_SOURCE) if label not in SOURCES]
    parts = {
        **{source: (OF_SOURCE[source], sums.amounts(BY_SOURCE, source)) for source in SOURCES},
        **{label: ("prompt_tokens", sums.amounts(BY_SOURCE, label)) for label in others},
        "all": ("prompt_tokens", whole),
    }
    return _rows(sums, Account.SOURCE, parts, whole, (BY_SOURCE,))


def _by_tier(sums: PrefillSums) -> list[AccountRow]:
    whole = sums.amounts(PROMPT)
    tiers: Mapping[str, Amounts] = sums.by_label(BY_TIER) or {"tiers": {}}
    first = sorted(tiers, key=lambda tier: (tier != LOCAL_TIER, tier))
    parts = {tier: ("cached_tier_tokens", tiers[tier]) for tier in first}
    counted = {
        "cached": ("cached_prompt_tokens", sums.amounts(CACHED)),
        "all": ("prompt_tokens", whole),
    }
    return [
        *_rows(sums, Account.TIER, parts, whole, (BY_TIER,)),
        *_rows(sums, Account.TIER, counted, whole, (CACHED, PROMPT)),
    ]


def _by_request(sums: PrefillSums) -> list[AccountRow]:
    whole = sums.amounts(REQUEST_PROMPT)
    parts = {
        "cached": ("request_cached_tokens", _request_cached(sums)),
        "computed": ("request_computed_tokens", sums.amounts(REQUEST_COMPUTED)),
        "all": ("request_prompt_tokens", whole),
    }
    return _rows(sums, Account.REQUEST, parts, whole, (REQUEST_PROMPT, REQUEST_COMPUTED))


def _rows(
    sums: PrefillSums,
    account: Account,
    parts: Mapping[str, tuple[str, Amounts]],
    whole: Amounts,
    instruments: tuple[str, ...],
) -> list[AccountRow]:
    names = tuple(name.removesuffix("_sum") for name in instruments)
    return [
        AccountRow(
            account,
            part,
            sums.tokens(metric, amounts, *instruments, *names),
            sums.share("account_share", amounts, whole, *instruments, *names),
            len(amounts),
        )
        for part, (metric, amounts) in parts.items()
    ]


def _request_cached(sums: PrefillSums) -> dict[int, float]:
    prompt, computed = sums.amounts(REQUEST_PROMPT), sums.amounts(REQUEST_COMPUTED)
    return {e: prompt[e] - computed[e] for e in sorted(prompt.keys() & computed.keys())}


def differences(sums: PrefillSums) -> tuple[DifferenceRow, ...]:
    """Where the accounts part."""
    local, external = (sums.amounts(BY_SOURCE, source) for source in (LOCAL, EXTERNAL))
    cached = sum_over(local, external)
    tiers: dict[int, float] = defaultdict(float)
    for amounts in sums.by_label(BY_TIER).values():
        for engine, amount in amounts.items():
            tiers[engine] += amount
    pairs: dict[str, tuple[Amounts, Amounts]] = {
        "source_prompt": (sums.all_sources, sums.amounts(PROMPT)),
        "source_cached": (cached, sums.amounts(CACHED)),
        "tier_cached": (tiers, sums.amounts(CACHED)),
        "request_prompt": (sums.amounts(REQUEST_PROMPT), sums.all_sources),
        "request_cached": (_request_cached(sums), cached),
    }
    needed = {
        "source_prompt": BY_SOURCE,
        "source_cached": CACHED,
        "tier_cached": BY_TIER,
        "request_prompt": "request_prompt_tokens",
        "request_cached": "request_prefill_kv_computed_tokens",
    }
    return tuple(
        DifferenceRow(
            key,
            difference("prefill_difference", these, those, absent=sums.fleet.absent(needed[key])),
            len(these.keys() & those.keys()),
        )
        for key, (these, those) in pairs.items()
    )


def by_engine(sums: PrefillSums) -> tuple[EngineTokens, ...]:
    """Every engine in scope, most computed tokens first."""
    rows = [
        _engine(
            PrefillSums(sums.fleet, tuple(r for r in sums.rows if r.engine_id == e.engine_id)),
            e.engine_id,
            e.name,
            e.model_name,
        )
        for e in sums.fleet.engines
    ]
    return tuple(sorted(rows, key=_most_computed))


def _engine(mine: PrefillSums, engine_id: int, name: str, model: str | None) -> EngineTokens:
    absent = mine.fleet.absent(BY_SOURCE, engines={engine_id})
    whole = mine.all_sources

    def tokens(source: str) -> Reading:
        amount = mine.amounts(BY_SOURCE, source).get(engine_id)
        metric = OF_SOURCE[source]
        return Reading(metric, None, absent) if amount is None else Reading(metric, amount)

    def share(metric: str, source: str) -> Reading:
        return ratio_of_sums(
            metric,
            mine.amounts(BY_SOURCE, source).get(engine_id),
            whole.get(engine_id),
            absent=absent,
        )

    return EngineTokens(
        name=name,
        model=model,
        cached=tokens(LOCAL),
        external=tokens(EXTERNAL),
        computed=tokens(COMPUTED),
        cached_share=share("prefill_cached_share", LOCAL),
        external_share=share("prefill_external_share", EXTERNAL),
        restarted=max((r.resets for r in mine.rows), default=None),
    )


def _most_computed(row: EngineTokens) -> tuple[bool, float]:
    """Unknown first, then from many computed tokens to few."""
    value = row.computed.value
    return (value is not None, 0.0 if value is None else -value)
