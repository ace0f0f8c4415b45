"""Orders: small files by which a page asks the collector for a request it does not have.

The page writes one and looks for the answer in the cache's table `orders`; the
collector takes it, fetches, and leaves the rows and the answer in one batch.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.domain.records import stable_id

LONGEST_ID = 200


@dataclass(frozen=True)
class Order:
    """One id that somebody asked for."""

    order_id: int
    wanted: str
    asked_at: float


class Orders:
    """Orders under one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, wanted: str, *, now: float | None = None) -> Order:
        """Leave one order; its file is whole when it appears."""
        asked_at = time.time() if now is None else now
        text = wanted.strip()[:LONGEST_ID]
        order = Order(stable_id("order", text, asked_at), text, asked_at)
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{order.order_id}-{os.getpid()}"
        aside.write_bytes(msgspec.json.encode(order))
        aside.replace(self.folder / f"{order.order_id}.json")
        return order

    def waiting(self) -> list[Order]:
        """Orders nobody has answered, oldest first; a file that is no order is removed."""
        found = []
        for path in self.folder.glob("*.json") if self.folder.exists() else ():
            try:
                order = msgspec.json.decode(path.read_bytes(), type=Order)
            except FileNotFoundError:
                continue
            except msgspec.DecodeError:
                order = None
            if order is not None and path.stem == str(order.order_id):
                found.append(order)
            else:
                path.unlink(missing_ok=True)
        return sorted(found, key=lambda order: order.asked_at)

    def answered(self, order: Order) -> None:
        """Remove an order whose answer lies in the inbox."""
        (self.folder / f"{order.order_id}.json").unlink(missing_ok=True)
