"""Ids of the simulated requests: they look random, and lead back to what they name.

An id is a serial number mixed by a bijection of 64 bits (the finaliser of
splitmix64), so that a row needs to keep its serial only, and a lookup by id is
the inverse. Attributes of a session are drawn the same way.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.records import Floats, stable_id

Keys = NDArray[np.uint64]

_ALL = 2**64
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_FIRST_BACK, _SECOND_BACK = pow(_FIRST, -1, _ALL), pow(_SECOND, -1, _ALL)


def mixed(keys: Keys) -> Keys:
    """Spread keys over 64 bits.

    >>> unmixed(int(mixed(np.array([7], np.uint64))[0]))
    7
    """
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(_FIRST)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(_SECOND)
    return keys ^ (keys >> np.uint64(31))


def unmixed(key: int) -> int:
    """Undo `mixed` for one key."""
    key = _unshifted(key, 31) * _SECOND_BACK % _ALL
    key = _unshifted(key, 27) * _FIRST_BACK % _ALL
    return _unshifted(key, 30)


def _unshifted(key: int, by: int) -> int:
    found = key
    for _ in range(64 // by):
        found = key ^ (found >> by)
    return found


def hexes(keys: Keys) -> list[str]:
    """Keys as 16 hexadecimal digits each.

    >>> hexes(np.array([255], np.uint64))
    ['00000000000000ff']
    """
    text = keys.astype(">u8").tobytes().hex()
    return [text[at : at + 16] for at in range(0, len(text), 16)]


class Identity:
    """Names of one fleet: they follow from its seed and epoch."""

    def __init__(self, *, seed: int, epoch: float) -> None:
        self._fleet = (seed, epoch)
        self._salts: dict[str, int] = {}

    def keys(self, topic: str, serials: NDArray[Any]) -> Keys:
        """Ids of serial numbers, as 64-bit integers."""
        return mixed(serials.astype(np.uint64) ^ np.uint64(self._salt(topic)))

    def hexes(self, topic: str, serials: NDArray[Any]) -> list[str]:
        """Ids of serial numbers, 16 hexadecimal digits each."""
        return hexes(self.keys(topic, serials))

    def serial(self, topic: str, text: str) -> int | None:
        """What an id of 16 hexadecimal digits names; None if it cannot be one."""
        try:
            key = int(text, 16) if len(text) == 16 else -1
        except ValueError:
            key = -1
        if key < 0:
            return None
        serial = unmixed(key) ^ self._salt(topic)
        return serial if serial < 2**31 else None

    def fractions(self, topic: str, serials: NDArray[Any]) -> Floats:
        """A uniform draw for each serial number, in [0, 1), the same whenever asked."""
        return (self.keys(topic, serials) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _salt(self, topic: str) -> int:
        return self._salts.setdefault(topic, stable_id("demo", topic, *self._fleet))
