"""Accounts, throughput and uncached groups on a small written cache, worked by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox, rows
from core.cache.store import Store
from core.domain.prefill import EXTERNAL, LOCAL, Account
from core.domain.reading import Reading, Reason, Reported
from core.domain.scope import Compare, Scope
from core.views import uncached
from core.views.cached_prefill import CachedPrefillView, build
from tests.pages.homes import MINUTES, T0, WrittenEngine
from tests.pages.written_prefill import COUNTERS, prefilling, turns
from tests.pages.written_requests import langfuse_row, observation

END = T0 + MINUTES * 60
Tables = dict[str, list[dict[str, Any]]]


class Cache:
    """A cache of one's own, and the page's view of it."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "cache.duckdb")
        self.inbox = Inbox(folder / "inbox")

    def put(self, *tables: Tables) -> None:
        for found in tables:
            self.inbox.write("test", {name: rows(name, r) for name, r in found.items()})
        self.store.merge_waiting(self.inbox)

    def view(self, **scope: Any) -> CachedPrefillView:
        asked = Scope(**{"start": T0, "end": END} | scope)
        return build(self.store, asked, float(END))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path)
    yield made
    made.store.close()


def tokens_of(view: CachedPrefillView) -> dict[tuple[str, str], float | None]:
    return {(row.account.value, row.part): row.tokens.value for row in view.accounts}


def differences_of(view: CachedPrefillView) -> dict[str, Reading]:
    return {row.key: row.tokens for row in view.differences}


def test_three_accounts_by_hand(cache: Cache) -> None:
    """Ten minutes of one engine: each account holds its own tokens, none of another."""
    cache.put(prefilling("a"))
    assert tokens_of(cache.view()) == {
        ("source", LOCAL): 6000,
        ("source", EXTERNAL): 1000,
        ("source", "local_compute"): 3000,
        ("source", "all"): 10_000,
        ("tier", "device"): 6000,
        ("tier", "disk"): 100,
        ("tier", "host"): 900,
        ("tier", "cached"): 7000,
        ("tier", "all"): 10_000,
        ("request", "cached"): 6500,
        ("request", "computed"): 2500,
        ("request", "all"): 9000,
    }


def test_differences_by_hand(cache: Cache) -> None:
    """One prefill counted twice differs by nothing; completed requests lack the aborted ones."""
    cache.put(prefilling("a"))
    values = {key: reading.value for key, reading in differences_of(cache.view()).items()}
    assert values == {
        "source_prompt": 0,
        "source_cached": 0,
        "tier_cached": 0,
        "request_prompt": -1000,
        "request_cached": -500,
    }


def test_shares_keep_local_and_external_apart(cache: Cache) -> None:
    """Each share has its own numerator over the same prompt tokens."""
    cache.put(prefilling("a"), prefilling("b", sources={LOCAL: 0.0, EXTERNAL: 0.0}))
    view = cache.view()
    local, external = view.tiles[0].reading, view.tiles[1].reading
    assert (local.numerator, local.denominator, local.value) == (6000, 10_000, 0.6)
    assert (external.numerator, external.denominator, external.value) == (1000, 10_000, 0.1)
    assert local.coverage is not None
    rows = {row.name: row for row in view.engines}
    assert rows["a"].cached_share.value == 0.6
    assert rows["b"].computed.reason is Reason.TOO_FEW_SCRAPES
    assert [row.name for row in view.engines] == ["b", "a"]


def test_rates_are_per_observed_second(cache: Cache) -> None:
    """600 tokens a minute are 10 a second, in the tile and in each bin."""
    cache.put(prefilling("a"))
    view = cache.view()
    assert view.reading("cached_prefill_tokens_per_s").value == 10
    assert view.reading("prompt_tokens_per_s").value == pytest.approx(1000 / 60)
    assert view.reading("generation_tokens_per_s").value == 4
    assert set(view.throughput["generation_tokens_per_s"]) == {4.0}
    assert set(view.prefill["external_prefill_tokens_per_s"]) == {100 / 60}


def test_an_engine_without_tiers_has_a_word_for_them(cache: Cache) -> None:
    """vLLM before 0.32 has no tiers: not exported, and no difference of thousands."""
    cache.put(prefilling("old", tiers={}))
    view = cache.view()
    (tiers,) = [row for row in view.accounts if row.part == "tiers"]
    assert (tiers.account, tiers.tokens.reason) == (Account.TIER, Reason.NOT_EXPORTED)
    assert differences_of(view)["tier_cached"].reason is Reason.NOT_EXPORTED
    assert differences_of(view)["source_cached"].value == 0


def test_accounts_are_compared_over_engines_that_give_both(cache: Cache) -> None:
    """A second engine without request sums does not look like aborted requests."""
    without = {name: n for name, n in COUNTERS.items() if not name.startswith("request")}
    cache.put(prefilling("a"), prefilling("b", counters=without))
    view = cache.view()
    assert differences_of(view)["request_prompt"].value == -1000
    engines = {row.key: row.engines for row in view.differences}
    assert (engines["request_prompt"], engines["source_prompt"]) == (1, 2)
    assert tokens_of(view)["source", "all"] == 20_000


def test_a_source_without_a_name_of_ours_is_shown(cache: Cache) -> None:
    """A new label value is a part of its own and of the whole."""
    new = {LOCAL: 600.0, EXTERNAL: 100.0, "local_compute": 200.0, "moon": 100.0}
    cache.put(prefilling("a", sources=new))
    found = tokens_of(cache.view())
    assert (found["source", "moon"], found["source", "all"]) == (1000, 10_000)


def test_nothing_exported_is_no_zero(cache: Cache) -> None:
    """An engine without any of the counters gives words in every account."""
    cache.put(WrittenEngine("bare", per_minute={"num_preemptions": 0.0}).tables)
    view = cache.view()
    assert {row.tokens.reason for row in view.accounts} == {Reason.NOT_EXPORTED}
    assert {row.tokens.reason for row in view.differences} == {Reason.NOT_EXPORTED}
    assert view.tiles[0].reading.reason is Reason.NOT_EXPORTED


def test_more_computed_than_prompted_is_a_contract_error(cache: Cache) -> None:
    """Request sums that cannot be true give no cached tokens, and no share below 0."""
    wrong = COUNTERS | {"request_prefill_kv_computed_tokens_sum": 950.0}
    cache.put(prefilling("a", counters=wrong))
    (row,) = [r for r in cache.view().accounts if (r.account, r.part) == ("request", "cached")]
    assert (row.tokens.reason, row.share.reason) == (Reason.CONTRACT_ERROR,) * 2


def test_tiles_change_against_the_period_before(cache: Cache) -> None:
    """The comparison reads the same sums of the other period."""
    cache.put(prefilling("a"))
    view = cache.view(start=T0 + 300, end=END, compare=Compare.PREVIOUS)
    assert [tile.change for tile in view.tiles] == [0, 0, 0, 0, 0]
    assert {tile.change for tile in cache.view().tiles} == {None}


def grouped(cache: Cache, **scope: Any) -> list[tuple[Any, ...]]:
    return [
        (r.template_version, r.task_type, r.model, r.uncached.value, r.requests)
        for r in cache.view(**scope).uncached.rows
    ]


def some_requests() -> Tables:
    """Two groups, one of them with an unmeasured request."""
    rag = {"template_version": "v1", "task_type": "rag", "session_id": None}
    chat = rag | {"template_version": "v2", "task_type": "chat", "arm": "new"}
    missing = {"usage_status": "unknown", "usage_reason": "not_reported", "cached_input": None}
    return {
        "observations": [
            observation("1", **rag, cached_input=100),
            observation("2", **rag, cached_input=0, total_input=500),
            observation("3", **rag | missing),
            observation("4", **chat, cached_input=900),
        ],
        "sources": [langfuse_row()],
    }


def test_uncached_groups_by_hand(cache: Cache) -> None:
    """Input less cached over measured requests, most first; what is unmeasured stands apart."""
    cache.put(some_requests())
    assert grouped(cache) == [("v1", "rag", "small", 1400, 3), ("v2", "chat", "small", 100, 1)]
    found = cache.view().uncached
    first = found.rows[0]
    assert first.share.value == pytest.approx(1400 / 1500)
    assert first.cached_share.value == pytest.approx(100 / 1500)
    assert first.reported == Reported(2, 3)
    assert (found.tokens.value, found.tokens.coverage) == (1500, Reported(3, 4))
    assert found.unmeasured_tokens == 1000


def test_uncached_groups_keep_to_the_scope(cache: Cache) -> None:
    """Arm and model narrow the groups and the whole that shares are of."""
    cache.put(some_requests())
    assert grouped(cache, arm="new") == [("v2", "chat", "small", 100, 1)]
    assert cache.view(arm="new").uncached.rows[0].share.value == 1
    assert grouped(cache, model="large") == []


def test_many_groups_end_in_one_row(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not shown is summed, so that shares still add up to all."""
    monkeypatch.setattr(uncached, "MOST", 2)
    several = [
        observation(str(n), template_version=f"v{n}", cached_input=0, total_input=100 * n)
        for n in range(1, 6)
    ]
    cache.put({"observations": several})
    found = cache.view().uncached
    assert [(r.template_version, r.others, r.uncached.value) for r in found.rows] == [
        ("v5", None, 500),
        ("v4", None, 400),
        (None, 3, 600),
    ]
    assert sum(r.share.value or 0.0 for r in found.rows) == pytest.approx(1)


def test_a_group_without_a_measured_request_is_unknown(cache: Cache) -> None:
    """Unmeasured requests alone are no 0 tokens: the group comes last, in words."""
    missing = {"usage_status": "unknown", "usage_reason": "not_reported", "cached_input": None}
    cache.put(some_requests(), {"observations": [observation("9", task_type="x", **missing)]})
    last = cache.view().uncached.rows[-1]
    assert (last.task_type, last.uncached.reason) == ("x", Reason.NOT_MEASURED)
    assert last.share.reason is Reason.NOT_MEASURED


def test_one_side_alone(cache: Cache) -> None:
    """Requests without any engine source: groups are there, engines and places have words."""
    cache.put(some_requests(), turns("s", "a", "a"))
    view = cache.view()
    assert view.tiles[0].reading.reason is Reason.NOT_CONNECTED
    assert {row.tokens.reason for row in view.accounts} == {Reason.NOT_CONNECTED}
    assert view.affinity.same_share.reason is Reason.NOT_CONNECTED
    assert view.affinity.count("turns") == 1
    assert view.uncached.tokens.known


def test_the_other_side_alone(cache: Cache) -> None:
    """Engines without a request source: accounts are there, the request side is not connected."""
    cache.put(prefilling("a"))
    view = cache.view()
    assert view.tiles[0].reading.known
    assert view.uncached.tokens.reason is Reason.NOT_CONNECTED
    assert view.affinity.same_share.reason is Reason.NOT_CONNECTED
