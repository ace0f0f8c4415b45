"""The requests behind the engines' counters: their sums, and what differs on purpose."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import pytest

from core.config import Settings
from core.demo import demo_requests, demo_source, known_requests
from core.demo.arrivals import (
    CANCELLED_SHARE,
    DIRECT_CLIENT,
    DIRECT_SHARE,
    TIMEOUT_SHARE,
    WITHOUT_DETAILS,
    WRONG,
    Kind,
)
from core.demo.fleet import AFFINITY, CYCLE_S, FLEET, RESTART, Engine
from core.demo.gateway import Gateway
from core.demo.metadata import api_base
from core.demo.traffic import engine_cycle
from core.domain.records import RawSeries
from tests.demo.reading import (
    EPOCH,
    NOW,
    STRETCH,
    Row,
    kind_of,
    read,
    sessions_of,
    start_of,
    window,
)

FIELDS = """
    id traceId startTime endTime projectId parentObservationId type name level statusMessage version
    environment completionStartTime createdAt updatedAt metadata model internalModelId
    modelParameters usageDetails inputUsage outputUsage totalUsage costDetails inputCost outputCost
    totalCost promptId promptName promptVersion usagePricingTierId usagePricingTierName latency
    timeToFirstToken userId sessionId isRootObservation traceName release tags bookmarked public
    modelId inputPrice outputPrice totalPrice
"""
BUCKETS = "input output total cache_creation_input_tokens cache_read_input_tokens"


@pytest.mark.parametrize("place", range(len(FLEET)))
def test_requests_add_up_to_what_the_engine_counted(gateway: Gateway, place: int) -> None:
    """In every scrape interval, requests and tokens are exactly those of the engine."""
    for number in range(2):
        made = engine_cycle(place, number, seed=7, epoch=EPOCH)
        ends = np.round(made.at * 1000).astype(np.int64)
        found = np.concatenate(list(gateway.requests(made.at[0] - 15, made.at[-1])))
        found = found[found["place"] == place]
        interval = ends.searchsorted(found["time"] + found["first"])
        of = made.traffic
        for name, counted in (("prompt", of.prompt_tokens), ("cached", of.cached_tokens)):
            assert (np.bincount(interval, found[name], ends.size) == counted).all()
        assert (np.bincount(interval, minlength=ends.size) == of.requests).all()
        assert (found["cached"] < found["prompt"]).all()
        assert (found["cached"] % 16 == 0).all()


def test_requests_add_up_to_the_exported_counters(settings: Settings, gateway: Gateway) -> None:
    """What Prometheus says of an hour is the sum of the requests behind it."""
    source = demo_source(settings, clock=lambda: NOW)
    for metric, name in (("prompt_tokens", "prompt"), ("prompt_tokens_cached", "cached")):
        for series in source.raw_samples(
            [f"vllm:{metric}_total"], EPOCH + 600, EPOCH + 4000, matchers={}
        ):
            place = next(i for i, one in enumerate(FLEET) if engine_key(one) == engine_key(series))
            first, last = series.times[0], series.times[-1]
            found = np.concatenate(list(gateway.requests(first, last)))
            total = found[name][found["place"] == place].sum(dtype=np.int64)
            assert total == series.values[-1] - series.values[0]


def engine_key(one: Engine | RawSeries) -> tuple[str, str]:
    return one.labels["pod"], one.labels["engine"]


def test_rows_tell_the_known_sums(settings: Settings, stretch: list[Row]) -> None:
    """Kinds can be told apart from the rows alone, with the known counts and tokens."""
    known = known_requests(settings, *STRETCH, now=NOW)
    kinds = [kind_of(row) for row in stretch]
    unseen = (Kind.DIRECT, Kind.TIMEOUT)
    seen = {kind: one.number for kind, one in known.items() if kind not in unseen}
    assert {kind: kinds.count(kind) for kind in seen} == seen
    assert all(known[kind].number > 0 for kind in set(Kind) - set(WRONG))
    usages = [r["usageDetails"] for r, k in zip(stretch, kinds, strict=True) if k is Kind.MEASURED]
    cached = sum(one["cache_read_input_tokens"] for one in usages)
    assert cached == known[Kind.MEASURED].cached_tokens
    assert cached + sum(one["input"] for one in usages) == known[Kind.MEASURED].prompt_tokens
    silent = [
        r["usageDetails"] for r, k in zip(stretch, kinds, strict=True) if k is Kind.UNREPORTED
    ]
    assert {one["cache_read_input_tokens"] for one in silent} == {0}
    assert sum(one["input"] for one in silent) == known[Kind.UNREPORTED].prompt_tokens


def test_the_differences_have_their_shares(settings: Settings, gateway: Gateway) -> None:
    """Cancelled streams, direct requests, timeouts and wrong rows are as rare as they say."""
    known = known_requests(settings, EPOCH - 600, EPOCH + 2 * CYCLE_S, now=NOW)
    requests = np.concatenate(list(gateway.requests(EPOCH - 15, EPOCH + 2 * CYCLE_S)))
    direct = requests[requests["kind"] == Kind.DIRECT]
    mine = np.array([engine.model is DIRECT_CLIENT for engine in FLEET])[requests["place"]]
    assert direct.size / mine.sum() == pytest.approx(DIRECT_SHARE, rel=0.15)
    assert {FLEET[place].model for place in direct["place"]} == {DIRECT_CLIENT}
    assert known[Kind.TIMEOUT].number / requests.size == pytest.approx(TIMEOUT_SHARE, rel=0.4)
    single = known[Kind.CANCELLED].number / requests.size
    assert 0.5 * CANCELLED_SHARE < single < CANCELLED_SHARE
    silent = requests[requests["kind"] == Kind.UNREPORTED]
    assert {FLEET[place].pod for place in silent["place"]} == {WITHOUT_DETAILS}
    wrong = [known[kind].number for kind in WRONG]
    assert all(5 < number < 60 for number in wrong)


def test_a_failed_first_attempt_is_followed_by_its_request(stretch: list[Row]) -> None:
    """One ERROR row without usage, then a DEFAULT row of the same call and trace elsewhere."""
    calls = defaultdict(list)
    for row in stretch:
        if row["type"] == "GENERATION":
            calls[row["metadata"]["litellm_call_id"]].append(row)
    failed = [row for row in stretch if row["level"] == "ERROR"]
    complete = [rows for rows in calls.values() if len(rows) == 2]
    assert len(failed) > 20
    assert len(complete) >= len(failed) - 2
    for rows in complete:
        error, answer = sorted(rows, key=lambda row: row["level"] == "DEFAULT")
        assert (error["level"], answer["level"]) == ("ERROR", "DEFAULT")
        assert error["traceId"] == answer["traceId"]
        assert error["usageDetails"] == error["metadata"]["usage_object"] == {}
        assert error["metadata"]["api_base"] != answer["metadata"]["api_base"]
        assert error["startTime"] <= answer["startTime"]
        assert error["endTime"] <= answer["endTime"]


def test_a_restarting_engine_answers_nothing(stretch: list[Row]) -> None:
    """While it is down, attempts there fail and go elsewhere; that is when most fail."""
    (engine,) = (one for one in FLEET if one.restart.length_s)
    start, end = (EPOCH + RESTART.start_s, EPOCH + RESTART.start_s + RESTART.length_s - 15)
    there = [
        row
        for row in stretch
        if start <= start_of(row) < end
        and row["metadata"].get("api_base") == api_base(engine) + "/chat/completions"
    ]
    assert len(there) > 15
    assert {row["level"] for row in there} == {"ERROR"}


def test_rows_have_the_recorded_shape_and_no_text(stretch: list[Row]) -> None:
    """Field for field what the LiteLLM callback leaves, and nothing a person wrote."""
    assert all(set(row) == set(FIELDS.split()) for row in stretch)
    answer = next(row for row in stretch if kind_of(row) is Kind.MEASURED)
    told = answer["metadata"]
    assert told["hidden_params"]["model_id"] in {engine.pod for engine in FLEET}
    assert set(answer["usageDetails"]) == set(BUCKETS.split())
    pages = json.dumps(stretch)
    assert not any(f'"{name}": ' in pages for name in ("messages", "content", "prompt", "text"))
    assert all(len(row["id"]) == 16 and len(row["traceId"]) == 32 for row in stretch)
    assert len({row["id"] for row in stretch}) == len(stretch)


def test_parts_of_a_turn_hang_together(stretch: list[Row]) -> None:
    """Calls of a turn follow each other under one root, with a tool in between."""
    inner = (STRETCH[0] + 300, STRETCH[1] - 300)
    traces = defaultdict(list)
    for row in stretch:
        traces[row["traceId"]].append(row)
    roots = [row for row in stretch if row["type"] in ("SPAN", "AGENT")]
    roots = [row for row in roots if inner[0] <= start_of(row) < inner[1]]
    assert len(roots) > 500
    for root in roots:
        parts = sorted(traces[root["traceId"]], key=lambda row: (row["startTime"], row["endTime"]))
        assert parts[0] is root
        assert {row["parentObservationId"] for row in parts[1:]} == {root["id"]}
        assert all(row["endTime"] <= root["endTime"] for row in parts)
        steps = [row for row in parts[1:] if row["level"] == "DEFAULT"]
        types = [row["type"] for row in steps]
        assert types[:3] == ["GENERATION", "TOOL", "GENERATION"]
        assert all(a["endTime"] <= b["startTime"] for a, b in pairwise(steps))
    alone = [row for row in stretch if row["parentObservationId"] is None]
    assert all(row["isRootObservation"] for row in alone)


def test_sessions_have_turns_that_build_on_each_other(stretch: list[Row]) -> None:
    """Later turns find more cached than first ones; arms do not change within a session."""
    first, later = [], []
    for calls in sessions_of(stretch):
        assert len({row["metadata"]["arm"] for row in calls}) == 1
        assert len({row["model"] for row in calls}) == 1
        fresh = start_of(calls[0]) > STRETCH[0] + 300
        shares = [share(row) for row in calls if kind_of(row) is Kind.MEASURED]
        if fresh and len(shares) > 2:
            first.append(shares[0])
            later += shares[1:]
    assert np.mean(first) < 0.45
    assert np.mean(later) > 0.6
    calls = [row for row in stretch if row["type"] == "GENERATION"]
    assert np.mean([row["sessionId"] == "" for row in calls]) < 0.01
    arms = Counter(rows[0]["metadata"]["arm"] for rows in sessions_of(stretch))
    assert 0.9 < arms["A"] / arms["B"] < 1.1


def share(row: Row) -> float:
    usage = row["metadata"]["usage_object"]
    return usage["prompt_tokens_details"]["cached_tokens"] / usage["prompt_tokens"]


def test_a_few_turns_overlap(stretch: list[Row]) -> None:
    """Most turns wait for the one before; about three in a hundred do not."""
    turns = [
        (a, b)
        for calls in sessions_of(stretch)
        for a, b in pairwise(calls)
        if a["traceId"] != b["traceId"]
    ]
    overlapping = np.mean([b["startTime"] < a["endTime"] for a, b in turns])
    assert 0.015 < overlapping < 0.05


def test_affinity_keeps_sessions_on_their_engine(client: httpx.Client) -> None:
    """Without it a session goes anywhere; with it nearly always where it was."""
    begun = EPOCH + AFFINITY.start_s
    same = {}
    for name, start in (("off", begun - 1800), ("on", begun + 300)):
        rows = list(read(client, **window(start, start + 900), fields="basic,model,metadata"))
        rows = [row for row in rows if row["model"] == "hosted_vllm/qwen3-32b"]
        bases = [[row["metadata"]["api_base"] for row in calls] for calls in sessions_of(rows)]
        same[name] = np.mean([a == b for calls in bases for a, b in pairwise(calls)])
    assert same["off"] < 0.45
    assert same["on"] > 0.9


def test_the_home_of_the_fleet_is_shared(tmp_path: Path) -> None:
    """Requests and samples of one home are those of one fleet."""
    settings = Settings(prometheus_url=None, data_dir=tmp_path)
    demo_source(settings, clock=lambda: NOW)
    known = known_requests(settings, EPOCH, NOW, now=NOW)
    demo_requests(settings, clock=lambda: NOW + 60)
    assert known == known_requests(settings, EPOCH, NOW, now=NOW)
