"""The Cached prefill page's engine side in tables: accounts, differences, engines."""

import streamlit as st

from core.domain.prefill import LOCAL_TIER, Account
from core.messages import named, say
from core.ui.tables import Cell, Column, table
from core.views.accounts import AccountRow, DifferenceRow
from core.views.cached_prefill import CachedPrefillView

RATES_BY_SOURCE = (
    "cached_prefill_tokens_per_s",
    "external_prefill_tokens_per_s",
    "computed_prefill_tokens_per_s",
)
TOKENS_BY_SOURCE = ("prefill_cached_tokens", "prefill_external_tokens", "prefill_computed_tokens")
ACCOUNTS = (
    "account_share",
    "cached_prompt_tokens",
    "cached_tier_tokens",
    "request_prompt_tokens",
    "request_computed_tokens",
    "request_cached_tokens",
)
"""Metrics behind the info marks of the page, where there are many."""


def accounts_table(view: CachedPrefillView) -> None:
    """The three accounts of the window with their populations."""
    columns = [
        Column(say("col.account")),
        Column(say("col.part")),
        Column(say("col.tokens"), numeric=True),
        Column(say("col.account_share"), numeric=True),
        Column(say("col.engines"), numeric=True),
        Column(say("col.population"), wide=True),
    ]
    whole = len(view.fleet.engines)
    table("accounts", columns, [_account(row, whole) for row in view.accounts])


def _account(row: AccountRow, whole: int) -> list[Cell]:
    return [
        say(f"account.{row.account}"),
        _part(row),
        row.tokens,
        row.share,
        say("coverage.engines", seen=row.engines, expected=whole),
        say(f"population.{row.account}_cached")
        if row.account is Account.TIER and row.part not in ("cached", "all")
        else say(f"population.{row.account}"),
    ]


def _part(row: AccountRow) -> str:
    if row.account is not Account.TIER or row.part in ("cached", "all", "tiers"):
        return named("part.", row.part)
    where = "tier.local" if row.part == LOCAL_TIER else "tier.external"
    return say(where, tier=row.part)


def differences_table(view: CachedPrefillView) -> None:
    """Where the accounts part, and what is known to lie between them."""
    columns = [
        Column(say("col.difference"), wide=True),
        Column(say("col.tokens"), numeric=True),
        Column(say("col.engines_both"), numeric=True),
        Column(say("col.meaning"), wide=True),
    ]
    table("differences", columns, [_difference(row) for row in view.differences])


def _difference(row: DifferenceRow) -> list[Cell]:
    return [
        say(f"difference.{row.key}"),
        row.tokens,
        row.engines,
        say(f"difference.why.{row.key}"),
    ]


def prefill_engines_table(view: CachedPrefillView) -> None:
    """Every engine by its computed tokens."""
    columns = [
        Column(say("col.engine")),
        Column(say("col.model")),
        Column(say("col.cached_local"), numeric=True),
        Column(say("col.cached_external"), numeric=True),
        Column(say("col.computed"), numeric=True),
        Column(say("col.cached_share"), numeric=True),
        Column(say("col.external_share"), numeric=True),
        Column(say("col.restarts"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            row.name,
            row.model,
            row.cached,
            row.external,
            row.computed,
            row.cached_share,
            row.external_share,
            row.restarted,
        ]
        for row in view.engines
    ]
    table("prefill_engines", columns, rows, empty=say("table.no_engines"))


def prefill_note(view: CachedPrefillView) -> None:
    """What these tokens are not, and how much of the window they hold."""
    st.caption(say("prefill.tokens_only"))
    restarted = [row.name for row in view.engines if row.restarted]
    if restarted:
        st.caption(say("prefill.restarted", n=len(restarted)))
