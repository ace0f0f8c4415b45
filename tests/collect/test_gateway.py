"""Counters of LiteLLM proxies: every token once, per deployment, and nobody named."""

import numpy as np
import pytest

from core.collect.gateway import DIMENSIONS
from core.collect.slices import NAMES
from core.domain.reading import Reason
from core.domain.records import Floats
from core.domain.scope import Scope
from core.views.fleet import load_fleet
from core.views.gateway_counters import GatewayCounters, load_gateway_counters
from tests.collect.conftest import RigOf
from tests.collect.fake_prometheus import FakePrometheus
from tests.collect.rig import (
    CELLS,
    EVERY,
    FOUND,
    HITS,
    QUERIES,
    T0,
    Rig,
    engine,
    scrapes,
    target,
)

INPUT = "litellm_input_tokens_metric_total"
CACHED = "litellm_input_cached_tokens_metric_total"
LENGTH = 1200
N = LENGTH // EVERY
SLICES = pytest.mark.parametrize("slices", [[LENGTH], [60, 240], [120, 60, 300]], ids=str)


def address(pod: str = "proxy-0", **more: str) -> dict[str, str]:
    """Labels that the scraper gives a proxy."""
    labels = {"job": "litellm", "instance": f"{pod}:4000", "cluster": "c", "namespace": "n"}
    return labels | {"pod": pod} | more


def counted(deployment: str = "d0", user: str = "u0", **more: str) -> dict[str, str]:
    """Labels that the proxy itself gives a counter."""
    labels = {"model_id": deployment, "model": "m", "requested_model": "chat"}
    people = {"user": user, "team": f"team of {user}", "user_email": f"{user}@example.test"}
    return labels | {"api_provider": "hosted_vllm"} | people | more


def up(fake: FakePrometheus, times: Floats, *, failed: Floats | None = None, **labels: str) -> None:
    """Scrapes of a proxy, some of them failed."""
    values = np.ones(times.size) if failed is None else (~np.isin(times, failed)).astype(float)
    fake.add("up", times, values, **labels)


def total(rig: Rig, instrument: str = "gateway_input_tokens") -> float | None:
    """What all proxies counted, all time: the same in minutes and in hours."""
    found = dict(
        rig.sql(
            "select span_s, sum(increase) from gateway_counters "  # noqa: S608
            f"where instrument = '{instrument}' group by 1"
        )
    )
    assert found.get(60) == found.get(3600)
    return found.get(60)


def view(rig: Rig, start: int = T0, end: int = T0 + LENGTH, **labels: str) -> GatewayCounters:
    """The view of a window."""
    scope = Scope(start=start, end=end, **labels)  # type: ignore[arg-type]
    return load_gateway_counters(rig.store, load_fleet(rig.store, scope, rig.fake.now))


@SLICES
def test_users_are_added_up(rig: Rig, slices: list[int]) -> None:
    """Increases of all users of a deployment are one cell a minute, scrapes counted once."""
    up(rig.fake, scrapes(N), **address())
    for i, user in enumerate(("ann", "bob", "cem")):
        values = 1000 * i + (i + 1) * np.arange(N, dtype=float)
        rig.fake.add(INPUT, scrapes(N), values, **address(), **counted(user=user))
        rig.fake.add(CACHED, scrapes(N), values / 2, **address(), **counted(user=user))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == (1 + 2 + 3) * (N - 1)
    assert total(rig, "gateway_cached_tokens") == (1 + 2 + 3) * (N - 1) / 2
    cells = rig.sql(
        "select count(*), max(samples), max(covered_s) from gateway_counters"
        " where span_s = 60 and instrument = 'gateway_input_tokens'"
    )
    assert cells == [(LENGTH // 60, 60 // EVERY, 60)]
    assert rig.value("select count(*) from gateway_series") == 2
    share = view(rig).share
    assert (share.value, share.denominator) == (0.5, 6 * (N - 1))


def test_nobody_is_written_anywhere(rig: Rig) -> None:
    """Names of users and teams are in no batch and in no state."""
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(INPUT, scrapes(N), np.arange(N), **address(), **counted(user="quetzal"))
    rig.collect(T0, T0 + LENGTH)
    rig.fake.now = T0 + LENGTH
    rig.catch_up()
    files = [path for path in rig.settings.home.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if b"quetzal" in path.read_bytes()]
    assert not [row for table in (*CELLS, *FOUND, "gateway_series") for row in rig.sql(
        f"from {table}"
    ) if "quetzal" in str(row)]  # fmt: skip
    assert not set(DIMENSIONS.values()) & {"user", "team", "end_user", "hashed_api_key"}


@SLICES
@pytest.mark.parametrize("born", [4, 17, 20, 41])
def test_a_first_value_counts(rig: Rig, slices: list[int], born: int) -> None:
    """A user's first tokens are counted, wherever a slice begins, also of the first user."""
    times = scrapes(N)
    up(rig.fake, times, **address())
    rig.fake.add(INPUT, times[born:], np.full(N - born, 700.0), **address(), **counted())
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == 700


@SLICES
def test_a_first_value_after_a_failed_scrape_does_not_count(rig: Rig, slices: list[int]) -> None:
    """Nobody knows how much of it is old: only what follows is counted."""
    times = scrapes(N)
    up(rig.fake, times, failed=times[39:40], **address())
    values = np.array([700.0, *np.full(N - 41, 750.0)])
    rig.fake.add(INPUT, times[40:], values, **address(), **counted())
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == 50


def test_the_start_of_the_record_is_no_birth(rig: Rig) -> None:
    """A proxy that was there before the first scrape keeps its past to itself."""
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(INPUT, scrapes(N), 1e6 + np.arange(N), **address(), **counted())
    rig.collect(T0 - 600, T0 + LENGTH)
    assert total(rig) == N - 1


@SLICES
def test_without_up_only_increases_count(rig: Rig, slices: list[int]) -> None:
    """A server fed by remote write tells nothing of births."""
    rig.fake.add(INPUT, scrapes(N)[30:], 700.0 + np.arange(N - 30), **address(), **counted())
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == N - 31


@SLICES
@pytest.mark.parametrize("after", [10.0, 800.0], ids=["fell", "grew past"])
def test_a_restart_counts_from_zero(rig: Rig, slices: list[int], after: float) -> None:
    """After a restart the whole new value counts, also where it exceeds the old one."""
    times = scrapes(N)
    up(rig.fake, times, failed=times[30:35], **address())
    there = np.r_[0:30, 44:N]
    values = np.where(there < 30, 500.0 + there, after)
    rig.fake.add(INPUT, times[there], values, **address(), **counted())
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == 29 + after
    assert view(rig).share.restarted == 1


@SLICES
def test_a_dropped_user_takes_nothing_along(rig: Rig, slices: list[int]) -> None:
    """A proxy may drop single series: the sum of the others is no restart."""
    times = scrapes(N)
    up(rig.fake, times, **address())
    rig.fake.add(INPUT, times, np.arange(N), **address(), **counted(user="stays"))
    rig.fake.add(INPUT, times[:33], 9e5 + np.arange(33), **address(), **counted(user="goes"))
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == N - 1 + 32
    assert view(rig).share.restarted == 0


@SLICES
@pytest.mark.parametrize("cut", [20, 33])
def test_a_new_scrape_label_is_no_birth(rig: Rig, slices: list[int], cut: int) -> None:
    """Series that go on under one label more were not born: their past is not counted."""
    times, values = scrapes(N), 9e5 + np.arange(N, dtype=float)
    for part, more in ((slice(cut), {}), (slice(cut, None), {"env": "prod"})):
        up(rig.fake, times[part], **address(**more))
        for user, counter in (("ann", values), ("bob", values + 7)):
            labels = address(**more) | counted(user=user)
            rig.fake.add(INPUT, times[part], counter[part], **labels)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    found = total(rig)
    assert found is not None
    assert 2 * (N - 2) <= found <= 2 * (N - 1)


@SLICES
@pytest.mark.parametrize("cut", [20, 33])
def test_a_label_taken_off_is_no_birth(rig: Rig, slices: list[int], cut: int) -> None:
    """Where one scrape replaces all series of a counter, none of them was born."""
    times, values = scrapes(N), 9e5 + np.arange(N, dtype=float)
    up(rig.fake, times, **address())
    for user in ("ann", "bob"):
        whole = counted(user=user)
        less = {name: value for name, value in whole.items() if name != "user_email"}
        rig.fake.add(INPUT, times[:cut], values[:cut], **address(), **whole)
        rig.fake.add(INPUT, times[cut:], values[cut:], **address(), **less)
        rig.fake.add(CACHED, times, values / 2, **address(), **less)
    rig.collect(T0, T0 + LENGTH, slices=slices)
    assert total(rig) == 2 * (N - 2)
    assert total(rig, "gateway_cached_tokens") == N - 1


@pytest.mark.parametrize("back", [30, N], ids=["at times", "always"])
def test_up_from_another_scraper_restarts_nothing(rig: Rig, back: int) -> None:
    """Deduplicated storage may take `up` and counters from two scrapers: no false restart."""
    times = scrapes(N)
    up(rig.fake, np.concatenate([times[:back] + 7, times[back:]]), **address())
    seen = np.delete(np.arange(N), [10, 11, 20])
    rig.fake.add(INPUT, scrapes(N)[seen], 9e5 + seen, **address(), **counted())
    rig.collect(T0, T0 + LENGTH, slices=[60])
    assert total(rig) == N - 1


def test_two_proxies_count_twice(rig: Rig) -> None:
    """Two pods are two proxies of one deployment, and add up."""
    for pod, rate in (("proxy-0", 3.0), ("proxy-1", 5.0)):
        up(rig.fake, scrapes(N), **address(pod))
        rig.fake.add(INPUT, scrapes(N), rate * np.arange(N), **address(pod), **counted())
    rig.collect(T0, T0 + LENGTH)
    (row,) = view(rig).deployments
    assert row.input_tokens == 8 * (N - 1)
    assert row.covered_s == 2 * EVERY * (N - 1)


@pytest.mark.parametrize(
    "other",
    [
        {"job": "pods", "instance": "10.0.0.9:4000", "container": "proxy"},
        {"prometheus_replica": "b"},
    ],
    ids=["two jobs", "two replicas"],
)
def test_one_proxy_scraped_twice_counts_once(rig: Rig, other: dict[str, str]) -> None:
    """As with engines: the second address is kept, flagged and left out of every sum."""
    for labels, times in (
        (address(), scrapes(N)),
        (address(**other), scrapes(N - 8, start=T0 + 120) + 7),
    ):
        up(rig.fake, times, **labels)
        for user in ("ann", "bob"):
            values = np.floor(40 * (times - T0))
            rig.fake.add(INPUT, times, values, **labels, **counted(user=user))
    rig.collect(T0, T0 + LENGTH, slices=[60])
    assert total(rig) in (2 * 40 * (LENGTH - EVERY), 2 * 40 * (LENGTH - EVERY + 7))
    assert rig.value("select count(*) from counter_cells where duplicate") > 10


@pytest.mark.parametrize("name", [INPUT, INPUT.removesuffix("_total")])
def test_both_names_are_read(rig: Rig, name: str) -> None:
    """With and without `_total`."""
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(name, scrapes(N), np.arange(N), **address(), **counted())
    rig.collect(T0, T0 + LENGTH)
    assert total(rig) == N - 1
    assert rig.sql("select exported_name from gateway_series") == [(name,)]


def test_two_names_at_once_count_once(rig: Rig) -> None:
    """The first name wins where a server shows the counter under both."""
    up(rig.fake, scrapes(N), **address())
    for name in (INPUT, INPUT.removesuffix("_total")):
        rig.fake.add(name, scrapes(N), np.arange(N), **address(), **counted())
    rig.collect(T0, T0 + LENGTH)
    assert total(rig) == N - 1


def test_the_proxys_own_cache_is_never_read() -> None:
    """Of LiteLLM, two counters are asked for; its response cache is another thing."""
    asked = {name for name in NAMES if "litellm" in name}
    assert asked == {name + end for name in (
        "litellm_input_tokens_metric", "litellm_input_cached_tokens_metric"
    ) for end in ("", "_total")}  # fmt: skip


def test_engines_do_not_notice_proxies(rig_of: RigOf) -> None:
    """Every table of engines is the same with proxies as without."""
    tables = []
    for proxies in (False, True):
        fake = FakePrometheus(now=T0 + 3600)
        fake.add("up", scrapes(N), np.ones(N), **target(engine()))
        fake.add(QUERIES, scrapes(N), 5 * np.arange(N), **engine())
        fake.add(HITS, scrapes(N), 2 * np.arange(N), **engine())
        if proxies:
            late, early = scrapes(N)[40:], scrapes(N)[:20]
            for pod, times in (("late", late), ("early", early)):
                up(fake, times, **address(pod))
                values = np.arange(times.size) % 11
                fake.add(INPUT, times, values, **address(pod), **counted())
        rig = rig_of(fake)
        rig.collect(T0, T0 + LENGTH, slices=[300])
        tables.append(rig.tables((*FOUND, "configurations", "bucket_cells", "gauge_cells")))
        tables[-1]["counters"] = rig.sql("from minute_counters order by all")
    assert tables[0] == tables[1]
    assert rig.value("select count(*) from gateway_series") == 2


@pytest.mark.parametrize("every", [10, 37, 150])
def test_a_followed_proxy_is_read_once(rig: Rig, every: int) -> None:
    """Following, with its end read again and again, counts what one reading counts."""
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(INPUT, scrapes(N)[9:], 50.0 + np.arange(N - 9), **address(), **counted())
    for now in range(T0 + 120, T0 + LENGTH + 200, every):
        rig.fake.now = now
        rig.catch_up()
    assert total(rig) == 50 + N - 10


def test_a_state_without_proxies_is_still_read(rig: Rig) -> None:
    """A collector that is brought up to date goes on where the old one stopped."""
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(INPUT, scrapes(N), 9e5 + np.arange(N), **address(), **counted())
    rig.fake.now = T0 + 600
    rig.catch_up()
    state = rig.state_file.load()
    assert state is not None
    state.proxies, state.last, state.proxies_since = {}, {}, None
    rig.state_file.save(state)
    rig.fake.now = T0 + LENGTH
    rig.catch_up()
    found = total(rig)
    assert found is not None
    assert N - 6 <= found <= N - 1


def test_a_label_not_said_is_unknown(rig: Rig) -> None:
    """`None` as a proxy writes it is no name; a label the scraper took is found again."""
    up(rig.fake, scrapes(N), **address(model="scraper's"))
    own = counted(deployment="None", api_provider="") | {"exported_model": "mine"}
    del own["model"]
    rig.fake.add(INPUT, scrapes(N), np.arange(N), **address(model="scraper's"), **own)
    rig.collect(T0, T0 + LENGTH)
    columns = "deployment, provider, model_name, requested_model"
    assert rig.sql(f"select {columns} from gateway_series") == [(None, None, "mine", "chat")]  # noqa: S608
    (row,) = view(rig).deployments
    assert (row.deployment, row.share.denominator) == (None, N - 1)
    assert view(rig).without_cached == ("(no deployment label)",)


def test_samples_that_cannot_be_are_named(rig: Rig) -> None:
    """A negative or infinite counter is left out and reported, and makes no restart."""
    values = 9e5 + np.arange(N, dtype=float)
    values[30], values[31] = -1, np.inf
    up(rig.fake, scrapes(N), **address())
    rig.fake.add(INPUT, scrapes(N), values, **address(), **counted())
    rig.collect(T0, T0 + LENGTH)
    assert total(rig) == N - 1
    assert rig.sql("select detail from source_log") == [
        (f"2 samples of {INPUT} were NaN, infinite or negative",)
    ]


def test_why_there_is_no_share(rig_of: RigOf, fake: FakePrometheus) -> None:
    """Not exported, no traffic, too few scrapes and no cached count are told apart."""
    rig = rig_of(fake)
    assert view(rig).share.reason is Reason.NOT_CONNECTED
    fake.add("up", scrapes(N), np.ones(N), **target(engine()))
    fake.add(QUERIES, scrapes(N), np.arange(N), **engine())
    rig.collect(T0, T0 + LENGTH)
    assert (view(rig).seen, view(rig).share.reason) == (False, Reason.NOT_EXPORTED)
    up(fake, scrapes(N), **address())
    fake.add(INPUT, scrapes(N), np.maximum(np.arange(N), 40), **address(), **counted())
    rig.collect(T0, T0 + LENGTH)
    assert view(rig, T0, T0 + 300).share.reason is Reason.NO_TRAFFIC
    assert view(rig, T0 + 900).share.reason is Reason.NOT_EXPORTED
    assert view(rig, T0 + 7200, T0 + 7500).share.reason is Reason.TOO_FEW_SCRAPES
    assert view(rig, T0 + 7200, T0 + 7500).seen


def test_a_single_scrape_is_no_zero(rig: Rig) -> None:
    """One sample tells no increase: its sums are null in every query, and no share is given."""
    rig.fake.add(INPUT, scrapes(1), [5.0], **address(), **counted())
    rig.fake.add(CACHED, scrapes(1), [5.0], **address(), **counted())
    rig.collect(T0, T0 + LENGTH)
    assert total(rig) is None
    found = view(rig)
    assert [(row.input_tokens, row.cached_tokens) for row in found.deployments] == [(None, None)]
    assert found.share.reason is Reason.TOO_FEW_SCRAPES
    assert {one.denominator for one in found.line} == {None}
