"""Joins the simulated fleet to the ordinary Prometheus client."""

import time
from collections.abc import Callable

from core.config import Settings
from core.demo.fleet import MINUTE_S
from core.demo.gateway import gateway_of
from core.demo.proxy import Proxy
from core.demo.simulate import Simulation
from core.demo.transport import SimulatedPrometheus
from core.sources.prometheus import PrometheusSource

DEMO_URL = "http://demo.invalid"
EPOCH_FILE = "demo-epoch"
HISTORY_S = 6 * 3600
"""How long a new fleet has been running when it is first seen."""
LONGEST_LIFE_S = 86_400


def demo_source(settings: Settings, *, clock: Callable[[], float] = time.time) -> PrometheusSource:
    """A Prometheus client whose answers come from the simulated fleet."""
    epoch = fleet_epoch(settings, clock())
    engines = Simulation(seed=settings.demo_seed, epoch=epoch)
    proxy = Proxy(gateway_of(settings.demo_seed, epoch))
    adapter = SimulatedPrometheus([engines, proxy], clock)
    return PrometheusSource(
        settings.model_copy(update={"prometheus_url": DEMO_URL}), adapter=adapter
    )


def is_over(settings: Settings, now: float) -> bool:
    """Whether a remembered fleet is too old to go on: its cache is then begun anew."""
    epoch = _remembered(settings)
    return epoch is not None and not 0 <= now - epoch <= LONGEST_LIFE_S


def _remembered(settings: Settings) -> int | None:
    try:
        return int((settings.home / EPOCH_FILE).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def fleet_epoch(settings: Settings, now: float) -> int:
    """When the fleet began, seconds since the epoch: remembered, or begun anew after a day."""
    epoch = _remembered(settings)
    if epoch is None or not 0 <= now - epoch <= LONGEST_LIFE_S:
        file = settings.home / EPOCH_FILE
        epoch = int((now - HISTORY_S) // MINUTE_S) * MINUTE_S
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{epoch}\n", encoding="ascii")
    return epoch
