"""Jobs in the cache: made from their folders, once for each change, never a number from nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.bench.evidence import read_seen, write_seen
from core.bench.imported import take_in
from core.bench.jobs import Jobs, plan_of
from core.bench.judged import judged
from core.bench.launch import run_here
from core.bench.processes import own_mark
from core.bench.state import Step, read_state, write_state
from core.bench.stored import Shelf
from core.cache.inbox import Inbox
from core.cache.store import Store
from core.config import Settings
from core.domain.bench.conclusion import Conclusion
from core.domain.bench.plan import Pair, Plan
from core.domain.bench.presets import repetition_case
from core.domain.scope import Scope
from core.views.benchmarks import build, load_job
from tests.bench.conftest import Home

HOSTILE = """<b onclick=alert(1)>"'; drop table bench_jobs; --$(id)`x`"""
RECORDED = Path(__file__).resolve().parents[2] / "core" / "demo" / "recorded_benchmark"
FIGURES = (
    *("input_tokens", "output_tokens", "queries_tokens", "hits_tokens", "prompt_tokens"),
    *("cached_tokens", "prefill_time_s", "prefill_count", "ttft_median_ms", "ttft_p95_ms"),
    *("e2el_median_ms", "duration_s", "overhead_s"),
)
Kept = Callable[..., int]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "cache" / "cache.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def keep(home: Home, store: Store, tmp_path: Path) -> Kept:
    """Store what changed and merge it; how many jobs that were."""
    inbox = Inbox(tmp_path / "inbox")

    def known() -> dict[str, str]:
        return {row.job_id: row.digest for row in store.read("bench_digests", {})}

    def kept() -> int:
        n = len(Shelf(home.jobs, inbox, known=known).store())
        store.merge_waiting(inbox)
        return n

    return kept


def rows(store: Store) -> list[dict[str, Any]]:
    """All runs in the cache, whole."""
    with store._cursor() as cursor:
        found = cursor.execute("select * from bench_runs order by run_id")
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_cache_says_what_the_folder_says(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """Panels from the cache, request times and intervals included, are those from the files."""
    state = run_here(plan, "a", settings=home.settings)
    assert keep() == 1
    shown = load_job(store, state.job_id)
    assert shown is not None
    folder = judged(home.jobs.job(state.job_id))
    assert shown.plan == plan
    assert tuple(line.panel for line in shown.panels) == folder.panels
    (line,) = shown.panels
    assert line.panel.conclusion is Conclusion.HITS_NO_SPEED_VERDICT
    assert line.panel.ttft_ratio is not None
    assert line.panel.ttft_ratio.interval is not None
    assert line.expected_hits is not None
    assert line.panel.hits_tokens.value in line.expected_hits
    assert all(row["hits_tokens"] == 5 * 256 for row in rows(store) if row["caching"])
    assert all(row["overhead_s"] is None or row["overhead_s"] >= 0 for row in rows(store))


def test_storing_again_changes_nothing(home: Home, store: Store, keep: Kept, plan: Plan) -> None:
    """A job is stored when its state changes, and only then."""
    assert keep() == 0
    run_here(plan, "a", settings=home.settings)
    assert keep() == 1
    first = rows(store)
    assert keep() == 0
    assert rows(store) == first
    run_here(plan, "b", settings=home.settings)
    assert keep() == 1
    assert len(rows(store)) == 4


def test_a_failed_run_is_a_row_without_a_number(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """What failed is there, with its reason and the rules it broke; every figure is null."""
    home.goes_wrong(bench_exits=3)
    run_here(plan, "a", settings=home.settings)
    keep()
    for row in rows(store):
        assert row["verdict"] == "failed"
        assert "exit_code" in row["broken"]
        assert "status 3" in row["reason"]
        assert [row[name] for name in FIGURES] == [None] * len(FIGURES)
    view = build(store, Scope(), 2e9, None)
    assert view.history.points == ()
    assert view.job is not None
    assert len(view.job.troubled) == 2
    assert [line.panel.conclusion for line in view.job.panels] == [Conclusion.NO_VALID_PAIR]


def test_a_record_that_cannot_be_read_fails_its_run(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """A broken evidence file takes no other run with it, and gives no figure."""
    state = run_here(plan, "a", settings=home.settings)
    broken = home.jobs.job(state.job_id) / "runs" / state.runs[0].run_id / "evidence.json"
    broken.write_text("{")
    assert keep() == 1
    first, second = rows(store)
    assert (first["verdict"], first["ttft_median_ms"]) == ("failed", None)
    assert "cannot be read" in first["reason"]
    assert second["verdict"] == "valid"
    shown = load_job(store, state.job_id)
    assert shown is not None
    assert shown.runs[0].run.run_id in {one.run.run_id for one in shown.troubled}


def test_texts_from_outside_stay_texts(home: Home, store: Store, keep: Kept, plan: Plan) -> None:
    """Names that look like SQL, HTML or a shell come back as they were."""
    hostile = replace(plan, name=HOSTILE, model=HOSTILE, tokenizer=HOSTILE)
    run_here(hostile, "a", settings=home.settings)
    keep()
    view = build(store, Scope(model=HOSTILE), 2e9, None)
    assert [(job.name, job.model) for job in view.jobs] == [(HOSTILE, HOSTILE)]
    assert view.job is not None
    assert view.job.plan == hostile
    assert {point.model for point in view.history.points} == {HOSTILE}
    other = build(store, Scope(model="x"), 2e9, None)
    assert (other.jobs, other.other_models, other.job) == ((), 1, None)


def test_a_job_of_a_dead_runner_is_finished_and_stored(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """What a killed runner left is stored as failed and not run, and stays no number."""
    dead = replace(own_mark(), born="never")
    job_id = home.jobs.launch(plan, "a", start=lambda _: dead)
    assert keep() == 1
    assert read_state(home.jobs.job(job_id)).ended
    (job,) = build(store, Scope(), 2e9, None).jobs
    assert (job.state, job.judged, job.valid) == ("failed", 0, 0)
    assert {row["state"] for row in rows(store)} == {"not run"}
    assert {row["verdict"] for row in rows(store)} == {None}


def test_the_recorded_benchmark_is_real_and_says_so(
    home: Home, store: Store, tmp_path: Path
) -> None:
    """The demo's results enter by the import: hits to the block, and what was not run is not."""
    plan = plan_of(RECORDED)
    own = Settings(prometheus_url=None, data_dir=tmp_path / "demo")
    job_id = take_in(RECORDED, plan, own)
    inbox = Inbox(tmp_path / "inbox")
    assert Shelf(Jobs(own), inbox, known=dict, recorded=True).store() == [job_id]
    store.merge_waiting(inbox)
    view = build(store, Scope(), 2e9, None)
    (job,) = view.jobs
    assert (job.origin, job.runs, job.judged, job.valid) == ("recorded", 24, 18, 18)
    assert view.job is not None
    hits = {
        (line.panel.pair.name, line.panel.concurrency): line.panel.hits_tokens.value
        for line in view.job.panels
    }
    assert hits == {
        ("A/B", 8): 32,
        **{("C/D", c): 29 * 2048 for c in (1, 2, 4, 8)},
        **{("E/F", c): 29 * 1984 + 64 for c in (1, 2, 4, 8)},
    }
    assert all(line.panel.speed is None for line in view.job.panels)
    assert {line.panel.pair.name for line in view.job.panels if line.panel.checklist} == {
        *("C/D", "E/F")
    }
    assert all(point.by_file for point in view.history.points)
    assert len({point.config for point in view.history.points}) == 1


def test_what_is_not_a_pair_has_no_point_over_time(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """Servers started otherwise give no ratio, neither in the job's panel nor over time."""
    state = run_here(plan, "a", settings=home.settings)
    keep()
    assert len(build(store, Scope(), 2e9, None).history.points) == 1
    folder = home.jobs.job(state.job_id) / "runs" / state.runs[0].run_id
    seen = read_seen(folder)
    assert seen is not None
    arguments = (*(seen.serve_arguments or ()), "--max-num-seqs", "4")
    write_seen(folder, replace(seen, serve_arguments=arguments))
    write_state(folder.parent.parent, state.moved(Step.DONE))
    assert keep() == 1
    view = build(store, Scope(), 2e9, None)
    assert view.job is not None
    assert [line.panel.conclusion for line in view.job.panels] == [Conclusion.NOT_A_PAIR]
    assert view.history.points == ()


def test_a_job_that_cannot_be_stored_is_named_until_it_can(
    home: Home, tmp_path: Path, plan: Plan
) -> None:
    """It holds up no other job, and is stored as soon as its folder can be read."""
    broken, whole = (run_here(plan, name, settings=home.settings).job_id for name in "ab")
    file = home.jobs.job(broken) / "plan.json"
    text = file.read_text()
    file.write_text("{")
    shelf = Shelf(home.jobs, Inbox(tmp_path / "inbox"), known=dict)
    assert shelf.store() == [whole]
    assert list(shelf.unstored) == [broken]
    other = text.replace('"D"', '"X"').replace('"C"', '"Y"')
    assert other != text
    file.write_text(other)
    assert shelf.store() == []
    assert "name other runs" in shelf.unstored[broken]
    file.write_text(text)
    assert shelf.store() == [broken]
    assert shelf.unstored == {}


def test_hits_by_chance_are_no_earlier_hits(
    home: Home, store: Store, keep: Kept, plan: Plan
) -> None:
    """Only more hits than a block a request end the warning that hash algorithms come too early."""
    few = replace(plan, pairs=(Pair("C", "D", repetition_case(32, 4000, output=4, prompts=6)),))
    for asked, hits in ((few, 0), (plan, 1)):
        run_here(asked, str(hits), settings=home.settings)
        keep()
        assert store.read("bench_speed", {"of_model": plan.model})[0].hits == hits


def test_a_run_under_way_is_not_judged(home: Home, plan: Plan) -> None:
    """A job that is judged while it runs has no verdict on the run that is not over."""
    state = run_here(plan, "a", settings=home.settings)
    folder = home.jobs.job(state.job_id)
    assert len(judged(folder).runs) == 2
    last = state.runs[-1].run_id
    write_state(folder, state.run_moved(last, Step.BENCHMARKING).moved(Step.RUNNING))
    (folder / "runs" / last / "result.json").unlink()
    assert [one.run.run_id for one in judged(folder).runs] == [state.runs[0].run_id]


def test_hash_algorithms_are_judged_apart(home: Home, store: Store, keep: Kept, plan: Plan) -> None:
    """Each has a panel, expected hits and a point over time of its own, none added up."""
    two = replace(plan, hash_algorithms=("sha256", "sha256_cbor"))
    run_here(two, "a", settings=home.settings)
    keep()
    view = build(store, Scope(), 2e9, None)
    assert view.job is not None
    seen = {
        line.hash_algorithm: (line.panel.hits_tokens.value, line.expected_hits)
        for line in view.job.panels
    }
    assert seen == dict.fromkeys(two.hash_algorithms, (5 * 256, (4 * 256, 5 * 256)))
    assert {point.hash_algorithm for point in view.history.points} == set(two.hash_algorithms)
    assert len({point.config for point in view.history.points}) == 2
