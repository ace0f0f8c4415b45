"""The Cached prefill page: accounts kept apart, estimates named, one side alone in words."""

from collections.abc import Callable

from core.domain.prefill import EXTERNAL, LOCAL
from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import WRITTEN
from tests.pages.shown import charts, table, text, tiles
from tests.pages.written_prefill import COUNTERS, prefilling, turns
from tests.pages.written_requests import langfuse_row

Put = Callable[..., None]
PAGE = "cached_prefill"
NO_SIDE = say("reason.not_connected")


def accounts(app: object) -> list[tuple[str, str, str, str]]:
    """Rows of the table of accounts."""
    columns = ("Account", "Part", "Tokens", "Share")
    rows = table(app, *columns)  # type: ignore[arg-type]
    return [tuple(row[name] for name in columns) for row in rows]  # type: ignore[misc]


def test_accounts_stand_in_one_table_and_are_not_merged(put_real: Put, open_page: Open) -> None:
    """Each account has its own parts, whole and population; local and external are two rows."""
    put_real(prefilling("a"))
    app = open_page(PAGE, WRITTEN)
    found = accounts(app)
    assert ("By source", "cached, local", "6 k", "60.0 %") in found
    assert ("By source", "cached, external KV", "1 k", "10.0 %") in found
    assert ("Cached, by tier", "local: device", "6 k", "60.0 %") in found
    assert ("Cached, by tier", "external: host", "900", "9.0 %") in found
    assert ("Request sums", "cached, local and external", "6.5 k", "72.2 %") in found
    assert ("Request sums", "all prompt tokens", "9 k", "100.0 %") in found
    populations = {row["Account"]: row["Of"] for row in table(app, "Account", "Of")}
    assert populations["Request sums"] == say("population.request")
    assert say("prefill.tokens_only") in text(app)


def test_differences_name_what_lies_between(put_real: Put, open_page: Open) -> None:
    """A difference has its sign, the engines it is over, and the requests that explain it."""
    put_real(prefilling("a"))
    rows = {
        row["Difference"]: row
        for row in table(open_page(PAGE, WRITTEN), "Difference", "What it is")
    }
    row = rows[say("difference.request_prompt")]
    assert (row["Tokens"], row["Engines that give both"]) == ("-1 k", "1")
    assert "aborted" in row["What it is"]
    assert rows[say("difference.source_prompt")]["Tokens"] == "0"


def test_an_old_server_has_no_tiers_and_says_so(put_real: Put, open_page: Open) -> None:
    """What only vLLM 0.32 exports is a word in its row, and the rest stands."""
    put_real(prefilling("old", tiers={}))
    found = accounts(open_page(PAGE, WRITTEN))
    missing = say("reason.not_exported")
    assert ("Cached, by tier", "tiers", missing, missing) in found
    assert ("Cached, by tier", "cached, local and external", "7 k", "70.0 %") in found


def test_an_idle_engine_has_no_share(put_real: Put, open_page: Open) -> None:
    """Counters that stand still give tokens of 0 and the words no traffic, not 0 %."""
    still = {LOCAL: 0.0, EXTERNAL: 0.0, "local_compute": 0.0}
    put_real(prefilling("idle", sources=still, tiers={}, counters=dict.fromkeys(COUNTERS, 0.0)))
    app = open_page(PAGE, WRITTEN)
    assert tiles(app)["Cached prefill share"].value == say("reason.no_traffic")
    assert tiles(app)["Cached prefill"].value == "0 tokens/s"
    (row,) = table(app, "Engine", "Computed")
    assert (row["Computed"], row["Cached share"]) == ("0", say("reason.no_traffic"))


def test_follow_ups_are_compared_with_the_turn_before(put_real: Put, open_page: Open) -> None:
    """Three turns over engines a, a, b: one stays, one moves, each with its estimate."""
    tables = prefilling("a")
    for name, rows in prefilling("b").items():
        tables[name] += rows
    put_real(tables | turns("s", "a", "a", "b") | {"sources": [langfuse_row()]})
    app = open_page(PAGE, WRITTEN)
    share = tiles(app)["Follow-ups on the same engine"]
    assert share.value == "50.0 %"
    assert "1 turns on the same engine / 2 turns" in share.words
    same, another, unknown = table(app, "Asked on", "Turns")
    assert (same["Turns"], same["Own history offered"], same["Delivered of it"]) == (
        *("1", "1.04 k", "76.9 %"),
    )
    assert (another["Own history offered"], another["Delivered of it"]) == ("1.25 k", "64.1 %")
    assert (unknown["Turns"], unknown["Cached share"]) == ("0", say("reason.no_traffic"))
    said = text(app)
    assert say("follow_ups.assumes") in said
    assert say("follow_ups.blocks", n="2", block=16) in said


def test_unknown_places_are_hatched(put_real: Put, open_page: Open) -> None:
    """Turns whose engine nobody named are bars of their own, hatched, and told why."""
    written = turns("s", "a", "a", None)
    put_real(prefilling("a") | written | {"sources": [langfuse_row()]})
    app = open_page(PAGE, WRITTEN)
    bars = {trace.name: trace for trace in charts(app)[-1].data if trace.type == "bar"}
    unknown = bars[say("legend.turns_unknown")]
    assert unknown.marker.pattern.shape == "/"
    assert [n for n in unknown.y if n] == [1]
    assert bars[say("legend.turns_same")].marker.pattern.shape is None
    assert say("follow_ups.pool_level", n="1") in text(app)


def test_uncached_tokens_say_that_not_all_can_be_cached(put_real: Put, open_page: Open) -> None:
    """Groups come with their coverage; what is not measured is told beside the table."""
    written = turns("s", "a", "a", task_type="chat", template_version="v1")
    written["observations"].append(
        turns("t", "a", usage_status="unknown", usage_reason="not_reported")["observations"][0]
        | {"cached_input": None, "task_type": "chat", "template_version": "v1"}
    )
    put_real(prefilling("a") | written | {"sources": [langfuse_row()]})
    app = open_page(PAGE, WRITTEN)
    (row,) = table(app, "Template version", "Task type")
    assert (row["Uncached tokens"], row["Requests"], row["Not measured"]) == ("1.4 k", "3", "1")
    said = text(app)
    assert say("uncached.note") in said
    beside = say("uncached.tokens", tokens="1 k")
    assert say("uncached.unmeasured", n="1", tokens=beside) in said


def test_engines_alone(put_real: Put, open_page: Open) -> None:
    """Without a request source the engine side stands, and the other side says what to set."""
    put_real(prefilling("a"))
    app = open_page(PAGE, WRITTEN)
    shown = tiles(app)
    assert shown["Cached prefill share"].value == "60.0 %"
    for name in ("Follow-ups on the same engine", "Own history delivered (estimate)"):
        assert shown[name].value == NO_SIDE
        assert shown[name].hatched
    assert say("uncached.off") in text(app)
    assert say("follow_ups.off") in text(app)


def test_requests_alone(put_real: Put, open_page: Open) -> None:
    """Without an engine source groups and turns stand; engines are not connected, in words."""
    put_real(turns("s", "a", "a") | {"sources": [langfuse_row()]})
    app = open_page(PAGE, WRITTEN)
    shown = tiles(app)
    assert shown["Cached prefill share"].value == NO_SIDE
    assert shown["Follow-ups on the same engine"].value == NO_SIDE
    assert {row[2] for row in accounts(app)} == {NO_SIDE}
    assert table(app, "Template version", "Uncached tokens")
    assert [row["Turns"] for row in table(app, "Asked on", "Turns")] == ["0", "0", "1"]
    assert say("follow_ups.no_engines") in text(app)
    assert say("table.no_engines") in text(app)


def test_estimates_are_called_estimates(put_real: Put, open_page: Open) -> None:
    """The tile of what was delivered says in its name that it is no measurement."""
    put_real(prefilling("a") | turns("s", "a", "a") | {"sources": [langfuse_row()]})
    shown = tiles(open_page(PAGE, WRITTEN))
    assert "Own history delivered (estimate)" in shown
    assert "offered tokens" in shown["Own history delivered (estimate)"].words
