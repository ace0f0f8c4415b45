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
                "detail:s next_step:s api:s rows_read:i retry_at:t"
            ),
        ),
        "source_log": ("log_id:i source:s noted_at:t level:s title:s detail:s", "next_step:s"),
        "observations": (
            (
                "observation_key:i observation_id:s trace_id:s type:s synthetic_root:b start_at:t "
                "updated_at:t first_start_at:t last_start_at:t turn_id:s exporter:s logical_id:s "
                "state:s state_basis:s usage_status:s contract:s cached_scope:s digest:i "
                "revisions:i"
            ),
            (
                "project_id:s environment:s parent_id:s name:s end_at:t first_token_at:t "
                "created_at:t session_id:s gateway_request_id:s response_id:s "
                "client_request_id:s attempt:i model:s requested_model:s address:s deployment:s "
                "cluster:s namespace:s pod:s engine:s arm:s task_type:s template_version:s "
                "tokenizer_revision:s engine_revision:s error_kind:s choices:i usage_reason:s "
                "total_input:i cached_input:i cache_write_input:i other_input:i output:i total:i "
                "raw_usage:s"
            ),
        ),
        "scores": (
            (
                "score_id:s name:s level:s data_type:s status:s evaluator:s scored_at:t "
                "updated_at:t seen_at:t digest:i revisions:i"
            ),
            (
                "observation_id:s trace_id:s session_id:s value:f label:s evaluator_version:s "
                "source:s repeat:i inclusion_probability:f environment:s deleted_at:t"
            ),
        ),
        "score_scans": ("scan_key:i start_at:t end_at:t scanned_at:t",),
        "violations": (
            "violation_id:i source:s kind:s rule:s seen_at:t",
            "record_id:s trace_id:s exporter:s model:s field:s raw_value:s happened_at:t",
        ),
        "orders": (
            "order_id:i wanted:s asked_at:t answered_at:t outcome:s",
            "found:i searched_from:t searched_to:t detail:s",
        ),
        "findings": (
            "finding:s subject:s level:s title:s detail:s checked_at:t",
            "next_step:s",
        ),
        "experiment_plans": (
            "plan_key:i experiment:s version:i plan_hash:s registered_at:t registered_by:s body:s",
        ),
        "experiment_looks": (
            "look_key:i experiment:s plan_hash:s taken_at:t taken_by:s body:s",
            "number:i verdict:s",
        ),
        "experiment_decisions": (
            "decision_key:i experiment:s decided_at:t decided_by:s decision:s override:b",
            "plan_hash:s look_key:i verdict:s reason:s",
        ),
        "bench_jobs": (
            (
                "job_id:s name:s state:s origin:s model:s tokenizer:s target:s runs:i plan:s "
                "created_at:t digest:s stored_at:t"
            ),
            "ended_at:t reason:s",
        ),
        "bench_runs": (
            (
                "job_id:s run_id:s pair:s case_name:s caching:b concurrency:i repeat:i seed:i "
                "state:s requests:i stored_at:t"
            ),
            (
                "hash_algorithm:s verdict:s reason:s broken:s input_tokens:i output_tokens:i "
                "queries_tokens:i hits_tokens:i prompt_tokens:i cached_tokens:i "
                "prefill_time_s:f prefill_count:i match_unit:i ttft_median_ms:f ttft_p95_ms:f "
                "e2el_median_ms:f duration_s:f overhead_s:f server_version:s config_digest:s "
                "file_date:s started_at:t ended_at:t evidence:s"
            ),
        ),
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
    "observations": ("observation_key",),
    "scores": ("score_id",),
    "score_scans": ("scan_key",),
    "violations": ("violation_id",),
    "orders": ("order_id",),
    "findings": ("finding", "subject"),
    "experiment_plans": ("plan_key",),
    "experiment_looks": ("look_key",),
    "experiment_decisions": ("decision_key",),
    "bench_jobs": ("job_id",),
    "bench_runs": ("job_id", "run_id"),
}

DATED: dict[str, tuple[str, ...]] = {
    "targets": ("last_at",),
    "exports": ("checked_at",),
    "configurations": ("seen_at",),
    "sources": ("checked_at",),
    "observations": ("updated_at", "start_at"),
    "scores": ("updated_at", "scored_at"),
    "findings": ("checked_at",),
    "bench_jobs": ("stored_at",),
    "bench_runs": ("stored_at",),
}
"""Tables of present states: a row of an older period, read later, changes none of them.

The second column decides between two rows of one id that were written in one moment.
"""
FURTHEST: dict[str, dict[str, str]] = {
    "targets": {"first_at": "least", "last_at": "greatest"},
    "sources": {"backfill_from": "least", "read_to": "greatest"},
    "observations": {"first_start_at": "least", "last_start_at": "greatest"},
    "scores": {"seen_at": "greatest"},
    "violations": {"seen_at": "least"},
    "score_scans": {"scanned_at": "greatest"},
    "experiment_plans": {"registered_at": "least"},
    "experiment_looks": {"taken_at": "least"},
    "experiment_decisions": {"decided_at": "least"},
}
"""Columns that only ever widen."""
COUNTED: dict[str, str] = {"observations": "revisions", "scores": "revisions"}
"""Columns that count newer versions with another digest."""
SEEN: dict[tuple[str, str], str] = {("scores", "deleted_at"): "seen_at"}
"""Marks of what is gone, with the column that revives it: seen at that moment or later."""
NEAR: dict[str, tuple[str, str]] = {
    "counter_cells": ("minute", "0 seconds"),
    "bucket_cells": ("minute", "0 seconds"),
    "gauge_cells": ("minute", "0 seconds"),
}
"""Where a row's older version can lie: only that stretch of a long table is looked at."""
MOVING: dict[str, str] = {"observations": "start_at"}
"""Long tables whose older versions may lie anywhere: where they lie is looked up first."""
