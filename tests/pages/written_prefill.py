"""Prompt tokens by source and tier, and request sums, written by hand beside an engine."""

from collections.abc import Mapping
from typing import Any

from core.domain.prefill import COMPUTED, EXTERNAL, LOCAL
from core.domain.records import stable_id
from tests.pages.homes import MINUTES, T0, Tables, WrittenEngine
from tests.pages.written_requests import observation

BY_SOURCE = {LOCAL: 600.0, EXTERNAL: 100.0, COMPUTED: 300.0}
BY_TIER = {"device": 600.0, "host": 90.0, "disk": 10.0}
COUNTERS = {
    "prompt_tokens": 1000.0,
    "prompt_tokens_cached": 700.0,
    "generation_tokens": 240.0,
    "request_prompt_tokens_sum": 900.0,
    "request_prompt_tokens_count": 3.0,
    "request_prefill_kv_computed_tokens_sum": 250.0,
    "request_prefill_kv_computed_tokens_count": 3.0,
}
"""An engine with 1000 prompt tokens a minute, of which requests of 900 complete."""


def prefilling(
    pod: str,
    *,
    sources: Mapping[str, float] = BY_SOURCE,
    tiers: Mapping[str, float] = BY_TIER,
    counters: Mapping[str, float] = COUNTERS,
    **labels: str,
) -> Tables:
    """Rows of one engine with these increases in every minute."""
    engine = WrittenEngine.sound(pod, **labels)
    tables = engine.tables
    given = {("prompt_tokens_by_source", source): tokens for source, tokens in sources.items()} | {
        ("prompt_tokens_cached_by_source", tier): tokens for tier, tokens in tiers.items()
    }
    plain = {(name, None): tokens for name, tokens in counters.items()}
    kept = [s for s in tables["series"] if (s["instrument"], None) not in plain]
    ids = {s["series_id"] for s in kept}
    tables["series"] = kept
    tables["counter_cells"] = [c for c in tables["counter_cells"] if c["series_id"] in ids]
    place = {key: tables["targets"][0][key] for key in ("engine_id", "target_id")}
    for (name, label), tokens in (plain | given).items():
        one = stable_id("series", place["engine_id"], name, label or "")
        exported = f"vllm:{name}"
        tables["series"].append(
            {"series_id": one, "instrument": name, "label": label, "exported_name": exported}
            | place
        )
        minutes = range(T0, T0 + MINUTES * 60, 60)
        tables["counter_cells"] += [engine._cell(one, minute, tokens) for minute in minutes]
    instruments = {name.removesuffix("_sum").removesuffix("_count") for name, _ in plain | given}
    for row in tables["exports"]:
        if row["instrument"] in instruments:
            row |= {"state": "exported", "exported_name": f"vllm:{row['instrument']}"}
    return tables


def turns(session: str, *pods: str | None, first: float = T0 + 60.0, **more: Any) -> Tables:
    """A session of one request a turn: 1000 input tokens, then 200 more each turn.

    Output is 50 tokens; a follow-up has 800 cached tokens. 30 s from end to start.
    """
    rows = []
    for n, pod in enumerate(pods):
        row = {
            "start": first + n * 34.0,
            "session_id": session,
            "pod": pod,
            "total_input": 1000 + 200 * n,
            "cached_input": 800 if n else 0,
            "output": 50,
        }
        rows.append(observation(f"{session}-{n}", **row | more))
    return {"observations": rows}
