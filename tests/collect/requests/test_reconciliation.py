"""The recorded gateway runs, from both sides, as the Hit ratio page shows them."""

import json
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.follow import PrometheusCollector
from core.collect.requests.follow import LangfuseCollector
from core.collect.requests.scan import RequestState
from core.collect.state import State, StateFile
from core.config import Settings
from core.domain.reconciliation import Line, Step
from core.domain.scope import Scope
from core.sources.langfuse import LangfuseSource
from core.sources.prometheus import PrometheusSource
from core.views.hit_ratio import HitRatioView, build
from tests.collect.replayed import served
from tests.collect.requests.fake_langfuse import FakeLangfuse

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings" / "gateway"
CLASSIC = (1_796_042_567, 1_796_042_789)
OTEL = (1_796_042_954, 1_796_043_148)


def recorded(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RECORDINGS / f"{name}.json").read_text())["data"]
    return rows


def minutes(window: tuple[int, int]) -> tuple[int, int]:
    return window[0] // 60 * 60, ceil(window[1] / 60) * 60


@pytest.fixture(scope="module")
def store(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A cache with both runs: the engines by minutes, the requests of exactly the windows."""
    home = tmp_path_factory.mktemp("home")
    inbox = Inbox(home / "inbox")
    with served(prometheus, RECORDINGS / "tsdb.tar.gz", tmp_path_factory.mktemp("server")) as url:
        settings = Settings(
            _env_file=None,
            prometheus_url=url,
            data_dir=home,
            langfuse_url="http://langfuse.invalid",
            langfuse_public_key="pk",
            langfuse_secret_key="sk",  # noqa: S106 - no secret of anybody
        )
        engines = PrometheusSource(settings)
        follower = PrometheusCollector(settings, engines, inbox, StateFile(home / "p", State))
        follower.collect_range(CLASSIC[0], OTEL[1])
        engines.close()
    for path, window in (("classic", CLASSIC), ("otel", OTEL)):
        fake = FakeLangfuse(
            recorded(f"{path}_observations_v2_expanded"), recorded(f"{path}_scores_v3")
        )
        source = LangfuseSource(settings, transport=fake)
        state = StateFile(home / path, RequestState)
        LangfuseCollector(settings, source, inbox, state).collect_range(*window)
    opened = Store(home / "cache.duckdb")
    opened.merge_waiting(inbox)
    assert not inbox.rejected.exists()
    yield opened
    opened.close()


def shown(store: Store, window: tuple[int, int]) -> HitRatioView:
    start, end = minutes(window)
    return build(store, Scope(start=start, end=end), now=float(end))


def line(view: HitRatioView, step: Step) -> Line:
    return next(line for line in view.reconciliation if line.step is step)


@pytest.mark.parametrize(
    ("window", "cached", "measured", "share"),
    [(CLASSIC, 49_952, 60_148, "83.05"), (OTEL, 41_056, 49_533, "82.89")],
)
def test_the_measured_share(
    store: Store, window: tuple[int, int], cached: int, measured: int, share: str
) -> None:
    """Only measured rows count, above and below the line; mere presence would say 88.4 %."""
    gateway = shown(store, window).ratios[1]
    assert (gateway.numerator, gateway.denominator) == (cached, measured)
    assert gateway.value is not None
    assert f"{gateway.value * 100:.2f}" == share


def test_every_group_of_the_classic_run_is_named(store: Store) -> None:
    """Engines 74,469 to measured 60,148: further answers, not seen, not reported, estimates.

    The page's minutes hold 4 more engine tokens: a call of 12:42:17, before the window.
    """
    view = shown(store, CLASSIC)
    found = {line.step: line for line in view.reconciliation}
    assert (found[Step.ENGINES].tokens, found[Step.ENGINES].cached_tokens) == (74_469 + 4, 62_912)
    assert (found[Step.CHOICES].tokens, found[Step.CHOICES].requests) == (-369, 1)
    assert found[Step.NOT_SEEN].tokens == -(4_596 + 2_314 + 4)
    assert found[Step.GATEWAY].tokens == 67_190
    assert (found[Step.NOT_REPORTED].tokens, found[Step.NOT_REPORTED].requests) == (-5_506, 14)
    assert (found[Step.ESTIMATES].tokens, found[Step.ESTIMATES].requests) == (-1_536, 4)
    assert (found[Step.UNPROVEN].tokens, found[Step.UNPROVEN].requests) == (None, 0)
    assert (found[Step.MEASURED].tokens, found[Step.MEASURED].cached_tokens) == (60_148, 49_952)
    assert found[Step.MEASURED].requests == 143


def test_the_otel_run_reconciles_too(store: Store) -> None:
    """56,591 input tokens in Langfuse, of which 5,522 without a count and 1,536 estimated."""
    view = shown(store, OTEL)
    assert line(view, Step.GATEWAY).tokens == 56_591
    assert line(view, Step.NOT_REPORTED).tokens == -5_522
    assert line(view, Step.ESTIMATES).tokens == -1_536
    assert line(view, Step.MEASURED).tokens == 49_533


def test_what_is_only_counted_is_told(store: Store) -> None:
    """Attempts without usage by kind: timeouts, killed and dead engines, refused requests."""
    found = shown(store, CLASSIC).unexplained
    assert found.without_usage == {"auth": 2, "bad_request": 5, "connection": 20, "timeout": 4}
    assert found.violations == 0
    assert found.exact_one.reported == 0
    assert found.further_attempts > 0


def test_langfuse_and_the_proxys_counters_agree(store: Store) -> None:
    """The second source has the same input tokens, and a lower share for its blind spots."""
    view = shown(store, CLASSIC)
    assert view.proxy.share.denominator == line(view, Step.GATEWAY).tokens == 67_190
    assert view.proxy.share.numerator == view.ratios[1].numerator == 49_952
    assert view.proxy.share.value is not None
    assert f"{view.proxy.share.value:.1%}" == "74.3%"
    assert any("vllm-2" in name for name in view.proxy.without_cached)


def test_requests_are_attributed_by_address(store: Store) -> None:
    """Every classic row with usage is attributed to the engine its address belongs to."""
    view = shown(store, CLASSIC)
    rows = {row.name: row for row in view.by_engine}
    named = [row for name, row in rows.items() if name.startswith("vllm-")]
    assert sum(r.gateway_input_tokens.value or 0.0 for r in named) == 67_190
    assert rows["vllm-2"].gateway_share.reason == "not_measured"
