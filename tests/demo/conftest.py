"""One simulated gateway for all tests of its requests."""

from collections.abc import Callable

import httpx
import pytest

from core.config import Settings
from core.demo import demo_requests, fleet_epoch
from core.demo.gateway import Gateway, gateway_of
from core.demo.langfuse import SimulatedLangfuse
from tests.demo.reading import ALL_FIELDS, EPOCH, NOW, STRETCH, Row, read, window

ClientOf = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home whose fleet began at EPOCH, whichever test is the first to look at it."""
    made = Settings(prometheus_url=None, data_dir=tmp_path_factory.mktemp("home"))
    assert fleet_epoch(made, NOW) == EPOCH
    return made


@pytest.fixture(scope="session")
def gateway(settings: Settings) -> Gateway:
    made = gateway_of(settings.demo_seed, EPOCH)
    made.make_until(NOW)
    return made


@pytest.fixture(scope="session")
def client_of(settings: Settings) -> ClientOf:
    def make(now: float = NOW, *, gateway: Gateway | None = None) -> httpx.Client:
        if gateway is None:
            transport: httpx.BaseTransport = demo_requests(settings, clock=lambda: now)
        else:
            transport = SimulatedLangfuse(gateway, lambda: now)
        return httpx.Client(transport=transport, base_url="http://demo.invalid")

    return make


@pytest.fixture(scope="session")
def client(client_of: ClientOf) -> httpx.Client:
    return client_of()


@pytest.fixture(scope="session")
def stretch(client: httpx.Client) -> list[Row]:
    """All rows that begin in the stretch."""
    expanded = "usage_object,hidden_params"
    return list(read(client, **window(*STRETCH), fields=ALL_FIELDS, expandMetadata=expanded))
