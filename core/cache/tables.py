"""Columns of the tables a batch may hold, as Arrow schemas.

The schema files say the same to DuckDB; a test compares the two.
"""

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")


def _columns(required: str, optional: str = "") -> list[pa.Field]:
    kinds = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_(), "t": TIME}
    pairs = [(word, False) for word in required.split()] + [(w, True) for w in optional.split()]
    return [
        pa.field(name, kinds[kind], nullable=nullable)
        for word, nullable in pairs
        for name, kind in [word.split(":")]
    ]


TABLES: dict[str, pa.Schema] = {
    name: pa.schema(_columns(*columns))
    for name, columns in {
        "engines": ("engine_id:i", "cluster:s namespace:s pod:s model_name:s engine:s"),
        "targets": (
            "engine_id:i target_id:i first_at:t last_at:t",
            "job:s instance:s gone_at:t scrape_interval_s:f up:b duplicate_of:s",
        ),
        "series": (
            "series_id:i engine_id:i target_id:i instrument:s exported_name:s",
            "label:s le:f",
        ),
        "gateway_series": (
            "series_id:i instrument:s exported_name:s",
            (
                "deployment:s model_name:s requested_model:s provider:s cluster:s namespace:s "
                "proxy:s job:s instance:s"
            ),
        ),
        "counter_cells": (
            "series_id:i minute:t samples:i resets:i covered_s:f first_at:t last_at:t duplicate:b",
            "increase:f gap_increase:f largest_gap_s:f",
        ),
        "bucket_cells": ("series_id:i minute:t increase:f duplicate:b",),
        "gauge_cells": (
            (
                "series_id:i minute:t samples:i value_sum:f value_min:f value_max:f value_last:f "
                "last_at:t duplicate:b"
            ),
        ),
        "exports": (
            "engine_id:i target_id:i instrument:s state:s checked_at:t",
            "exported_name:s",
        ),
        "configurations": ("engine_id:i target_id:i name:s value:s seen_at:t",),
        "levers": (
            "lever_id:i happened_at:t kind:s origin:s what:s",
            "engine_id:i by_whom:s link:s",
        ),
        "sources": (
            "source:s state:s checked_at:t",
            (
                "read_to:t backfill_from:t progress:f left_s:f clock_skew_s:f title:s "
                "detail:s next_step:s"
            ),
        ),
        "source_log": ("log_id:i source:s noted_at:t level:s title:s detail:s", "next_step:s"),
    }.items()
}

KEYS: dict[str, tuple[str, ...]] = {
    "engines": ("engine_id",),
    "targets": ("engine_id", "target_id"),
    "series": ("series_id",),
    "gateway_series": ("series_id",),
    "counter_cells": ("series_id", "minute"),
    "bucket_cells": ("series_id", "minute"),
    "gauge_cells": ("series_id", "minute"),
    "exports": ("engine_id", "target_id", "instrument"),
    "configurations": ("engine_id", "target_id", "name"),
    "levers": ("lever_id",),
    "sources": ("source",),
    "source_log": ("log_id",),
}

DATED: dict[str, str] = {
    "targets": "last_at",
    "exports": "checked_at",
    "configurations": "seen_at",
    "sources": "checked_at",
}
"""Tables of present states: a row of an older period, read later, changes none of them."""
FURTHEST: dict[str, dict[str, str]] = {
    "targets": {"first_at": "least", "last_at": "greatest"},
    "sources": {"backfill_from": "least", "read_to": "greatest"},
}
"""Columns that only ever widen."""
