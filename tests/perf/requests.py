"""`make perf`: what reading a thousand requests costs, beside the SDK's typed paging.

Both sides get the same bytes of one page, in one process and in turn, so that a busy
machine slows both. The page is a thousand rows of a LiteLLM proxy as recorded, with
metadata. Prints CPU per row and the ratio, pair by pair. Ours ends with the tables of a
batch, ready to be written; theirs with the SDK's models.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langfuse.api.core.pydantic_utilities import parse_obj_as
from langfuse.api.observations.types.observations_v2response import ObservationsV2Response

from core.collect.requests.batch import Batch, Readers
from core.config import load_settings
from core.sources.langfuse import OBSERVATIONS_V2, _read_page

ROWS, PAIRS = 1000, 15
RECORDED = Path(__file__).parents[1] / "recordings" / "gateway"
TARGET = 0.15


def page(name: str) -> bytes:
    """A page of a thousand rows: a recorded run over and over, each time with other ids."""
    recorded = json.loads((RECORDED / name).read_text())["data"]
    rows: list[dict[str, Any]] = []
    for number in range(ROWS):
        row = recorded[number % len(recorded)]
        rows.append(row | {"id": f"{number:016x}", "traceId": f"{number:032x}"})
    return json.dumps({"data": rows, "meta": {"cursor": "next"}}).encode()


def ours(body: bytes) -> int:
    """Bytes to the tables of a batch, as the collector does it."""
    batch = Batch(READERS)
    batch.add_observations(_read_page(OBSERVATIONS_V2, body, None).rows)
    return int(batch.tables(datetime.now(UTC))["observations"].num_rows)


def theirs(body: bytes) -> int:
    """Bytes to the SDK's models, as its client does it."""
    found = parse_obj_as(type_=ObservationsV2Response, object_=json.loads(body))
    return len(found.data)


def cpu_s(act: Callable[[bytes], int], body: bytes) -> float:
    """CPU seconds of one page."""
    gc.collect()
    begun = time.process_time()
    if act(body) != ROWS:
        raise RuntimeError("a row was lost")
    return time.process_time() - begun


READERS = Readers(load_settings(_env_file=None))


def main() -> None:
    """Run both in turn and print the ratios."""
    for name in ("classic_observations_v2_expanded.json", "otel_observations_v2_expanded.json"):
        body = page(name)
        cpu_s(ours, body), cpu_s(theirs, body)
        pairs = [(cpu_s(ours, body), cpu_s(theirs, body)) for _ in range(PAIRS)]
        mine, sdk = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = [a / b for a, b in pairs]
        print(
            f"{name}, {len(body) / ROWS / 1000:.1f} KB a row: ours {mine / ROWS * 1e6:.0f} us CPU "
            f"a row, SDK {sdk / ROWS * 1e6:.0f} us, ratio median {statistics.median(ratios):.3f} "
            f"(min {min(ratios):.3f}, max {max(ratios):.3f}; target {TARGET})"
        )


if __name__ == "__main__":
    main()
