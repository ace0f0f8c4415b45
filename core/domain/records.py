"""Rows that cross rooms."""

import hashlib
import json
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_encode = json.JSONEncoder(default=str).encode


def stable_id(*parts: object) -> int:
    """Hash parts to a 63-bit integer that is the same in every process.

    >>> stable_id("a", None) == stable_id("a", None) != stable_id("a", "None")
    True
    """
    return content_id(_encode(parts).encode())


def content_id(content: bytes) -> int:
    """Hash bytes to a 63-bit integer that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest()) >> 1


@dataclass(frozen=True, order=True)
class EngineLabels:
    """What names one engine. A label the server does not give is None, not ''."""

    cluster: str | None
    namespace: str | None
    pod: str | None
    model_name: str | None
    engine: str | None

    @property
    def engine_id(self) -> int:
        """Key of the engine in the cache."""
        return stable_id("engine", *self.as_tuple())

    def as_tuple(self) -> tuple[str | None, ...]:
        """Labels in the order of the fields."""
        return (self.cluster, self.namespace, self.pod, self.model_name, self.engine)


@dataclass(frozen=True, order=True)
class Target:
    """One address that is scraped: its labels, and which of two like scrapers scraped it.

    Two clusters may use one address; what names the engine's place is part of it.
    """

    job: str | None
    instance: str | None
    replica: str | None = None
    cluster: str | None = None
    namespace: str | None = None
    pod: str | None = None

    @property
    def target_id(self) -> int:
        """Key of the target in the cache."""
        return stable_id("target", *astuple(self))


@dataclass(frozen=True)
class RawSeries:
    """Raw samples of one series as the server stored them.

    Parameters
    ----------
    labels : dict
        All labels, `__name__` included.
    times : float array, shape (n,)
        Scrape times, seconds since the epoch, strictly rising.
    values : float array, shape (n,)
        As scraped; NaN and infinities included.
    native_histogram : bool
        The server sent native histogram samples, which are not read.
    """

    labels: dict[str, str]
    times: Floats
    values: Floats
    native_histogram: bool = False


@dataclass(frozen=True)
class Change:
    """One entry of the lever log: found by the collector or entered by hand."""

    lever_id: int
    at: float
    kind: str
    origin: str
    what: str
    engine_id: int | None = None
    by_whom: str | None = None
    link: str | None = None
