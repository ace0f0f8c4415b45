"""The proxy's counters in the demo are the sums of the rows its gateway wrote."""

from pathlib import Path

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.collect.follow import PrometheusCollector
from core.collect.state import State, StateFile
from core.config import Settings
from core.demo import Kind, demo_source, fleet_epoch, known_requests
from core.domain.scope import Scope
from core.views.fleet import load_fleet
from core.views.gateway_counters import load_gateway_counters

NOW = 1_796_000_000.0


def test_the_proxys_counters_are_the_sums_of_its_rows(tmp_path: Path) -> None:
    """Input of all rows with usage, cached tokens of the measured ones; births are counted."""
    settings = Settings(_env_file=None, data_dir=tmp_path, backfill_days=0.25)
    inbox = Inbox(tmp_path / "inbox")
    source = demo_source(settings, clock=lambda: NOW)
    epoch = fleet_epoch(settings, NOW)
    state = StateFile(tmp_path / "state", State)
    collector = PrometheusCollector(settings, source, inbox, state, clock=lambda: NOW)
    collector.collect_range(epoch, epoch + 7200)
    store = Store(tmp_path / "cache.duckdb")
    store.merge_waiting(inbox)
    scope = Scope(start=epoch, end=epoch + 7200)
    share = load_gateway_counters(store, load_fleet(store, scope, NOW), None).share
    known = known_requests(settings, epoch, epoch + 7200, now=NOW)
    rows = [known[kind] for kind in (Kind.MEASURED, Kind.UNREPORTED, Kind.CANCELLED)]
    prompt = sum(one.prompt_tokens for one in rows)
    assert share.denominator is not None
    assert share.numerator is not None
    # Rows begin in the window, counters rise when requests end: the edges differ a little.
    assert abs(share.denominator - prompt) < 0.01 * prompt
    assert abs(share.numerator - known[Kind.MEASURED].cached_tokens) < 0.01 * share.numerator
    store.close()
