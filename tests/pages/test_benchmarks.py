"""The Benchmarks page in every state: off, checked, running, cancelled, failed, finished."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import runtime
from core.bench.jobs import Jobs
from core.bench.launch import launch
from core.config import load_settings
from core.domain.bench.plan import Pair, Plan
from core.domain.bench.plan_file import plan_text
from core.domain.bench.presets import repetition_case
from core.messages import say
from core.ui.benchmark_plan import BASE, COMMANDS, LAUNCH_SETTING, LOADED
from tests.bench.conftest import FAKE
from tests.pages.conftest import Open
from tests.pages.shown import ran, table, tables, text, titles

HOSTILE = "<script>alert(1)</script>`$(id)`"
PATIENCE_S = 60.0
PLAN = Plan(
    "one pair",
    (Pair("C", "D", repetition_case(256, 32, output=4, prompts=6)),),
    "m",
    "t",
    concurrency=(2,),
    start_limit_s=20,
)
Fake = Callable[..., None]


@pytest.fixture
def fake(tmp_path: Path, real_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """Launching is on, with a stand-in for `vllm`; says what goes wrong with it."""
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{FAKE.read_text()}")
    program.chmod(0o755)
    monkeypatch.setenv("PREFIXWATCH_BENCH_LAUNCH", "true")
    monkeypatch.setenv("PREFIXWATCH_BENCH_VLLM", str(program))

    def goes_wrong(**how: object) -> None:
        program.with_name("fake.json").write_text(json.dumps(how))

    goes_wrong()
    yield goes_wrong
    jobs = Jobs(load_settings())
    for state in jobs.all():
        jobs.cancel(state.job_id)
    until(lambda: all(state.ended for state in jobs.all()))
    assert not real_home.name.startswith("demo")


@pytest.fixture
def open_plan(open_page: Open) -> Callable[..., AppTest]:
    """The page with a plan in its form."""

    def opened(plan: Plan = PLAN) -> AppTest:
        app = open_page("benchmarks")
        app.session_state[LOADED] = plan_text(plan)
        app.run()
        return ran(app.selectbox(key=BASE).set_value("job").run())

    return opened


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.05)


def said(app: AppTest) -> str:
    """All text, with Markdown's escapes taken away."""
    more = [element.value for kind in (app.success, app.markdown) for element in kind]
    return "\n".join([text(app), *more]).replace("\\", "")


def codes(app: AppTest) -> list[str]:
    return [code.value for code in app.code]


def settled(app: AppTest, jobs: Jobs) -> AppTest:
    """The page after its job has ended and was stored."""
    until(lambda: all(state.ended for state in jobs.all()))
    store = runtime.running().store
    ended = {state.job_id: state.step.value for state in jobs.all()}
    until(lambda: {r.job_id: r.state for r in store.read("bench_digests", {})} == ended)
    return ran(app.run())


def test_without_a_benchmark_the_page_says_what_to_do(real_home: Path, open_page: Open) -> None:
    """Empty: what would be here, and the commands to copy; launching is off by its setting."""
    assert not real_home.exists()
    app = open_page("benchmarks")
    shown = said(app)
    assert say("bench.empty") in shown
    assert say("bench.no_model") in shown
    assert say("bench.history_none") in shown
    assert say("bench.launch_off") in shown
    assert codes(app)[:2] == [LAUNCH_SETTING, "\n".join(COMMANDS)]
    assert app.button(key="bench_launch").disabled
    assert say("bench.demo") not in shown


def test_the_demo_shows_a_recorded_benchmark(open_page: Open) -> None:
    """Real results, marked as recorded: hits, no speed verdict, and checklists where due."""
    app = open_page("benchmarks")
    store = runtime.running().store
    until(lambda: len(store.read("bench_digests", {})) == 1)
    ran(app.run())
    shown = said(app)
    assert say("bench.demo") in shown
    assert say("bench_origin.recorded") in shown
    assert say("bench_conclusion.hits_no_speed_verdict") in shown
    hits = table(app, say("bench.col_pair"), say("bench.col_observed"))
    assert [row["Hit ratio"] for row in hits if row["Pair"] == "C/D · c8"] == ["93.6 %"]
    assert {row[say("bench.col_speed")] for row in table(app, say("bench.col_speed"))} == {
        say("bench_speed.none")
    }
    assert [e.label for e in app.expander if e.label.startswith("C/D")] == [
        say("bench.checklist", name="C/D · c8")
    ]
    looks = table(app, say("bench.col_look"))
    evidence = {row[say("bench.col_look")]: row[say("bench.col_evidence")] for row in looks}
    told = evidence[say("bench_look.shared_prefix")]
    assert told.endswith(f"unknown; note: {say('bench_prompts.not_made')}")
    assert all(cell for rows in tables(app) for row in rows for cell in row.values())
    assert say("bench.not_in_import") in shown
    runs = table(app, say("bench.col_run_id"), say("bench.col_verdict"))
    assert {row[say("bench.col_verdict")] for row in runs} == {say("bench.not_judged_run")}


def test_a_plan_is_checked_before_anything_starts(
    fake: Fake, open_page: Open, real_home: Path
) -> None:
    """Exact commands with no secret, tokens, expected hits as an interval, ceilings, warnings."""
    fake()
    app = open_page("benchmarks")
    app.selectbox(key=BASE).set_value("guide").run()
    app.text_input(key="bench_preset_model").set_value("big").run()
    app.text_input(key="bench_preset_tokenizer").set_value("big-tokenizer").run()
    app.text_input(key="bench_guide_serve").set_value("--block-size 16").run()
    ran(app.number_input(key="bench_guide_max_len").set_value(131_072).run())
    rows = {row["Pair"]: row for row in table(app, say("bench.col_expected"))}
    assert len(rows) == 12
    pure, shared = rows["C/D · c8"], rows["E/F · c8"]
    assert pure[say("bench.col_expected")] == "720,896 to 950,272"
    assert pure[say("bench.col_expected_ratio")] == "71.1 % to 93.7 %"
    assert shared[say("bench.col_expected")] == "704,000 to 928,000"
    assert shared[say("bench.col_ceiling")] == "1.98×"
    shown = said(app)
    assert "24 runs" in shown
    assert say("bench.time_unknown") in shown
    assert say("bench_topic.no_speed_verdict", repeats=1, fewest=3) in shown
    commands = next(code for code in codes(app) if "vllm bench serve" in code)
    assert commands.count("vllm bench serve") == commands.count("vllm serve") == 24
    assert "--no-enable-prefix-caching" in commands
    assert not app.button(key="bench_launch").disabled
    assert not (real_home.parent / "bench" / "jobs").exists()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("bench_small_concurrency", "two", "'two'"),
        ("bench_small_serve", "--port 1", "--port"),
        ("bench_small_serve", "'open", "serve arguments"),
        ("bench_preset_model", "--help", "begins with a dash"),
        ("bench_small_serve", "--trust-remote-code", "PREFIXWATCH_BENCH_SERVE_FLAGS"),
    ],
)
def test_what_may_not_start_is_named(
    fake: Fake, open_page: Open, key: str, value: str, words: str
) -> None:
    """A plan that is refused, or not allowed here, leaves no button to press."""
    fake()
    app = open_page("benchmarks")
    app.text_input(key="bench_preset_model").set_value("m").run()
    app.text_input(key="bench_preset_tokenizer").set_value("t").run()
    ran(app.text_input(key=key).set_value(value).run())
    assert words in said(app)
    assert app.button(key="bench_launch").disabled


def test_a_launch_goes_to_its_verdicts(fake: Fake, open_plan: Callable[..., AppTest]) -> None:
    """Launched from the page, shown while it runs, and judged at its end; a click twice is one."""
    fake(bench_s=1)
    app, other = open_plan(), open_plan()
    ran(app.button(key="bench_launch").click().run())
    ran(other.button(key="bench_launch").click().run())
    jobs = runtime.running().jobs
    (state,) = jobs.all()
    shown = said(app)
    assert say("bench.launched", job=state.job_id) in shown
    assert say("bench.launched", job=state.job_id) in said(other)
    assert say("bench.running") in titles(app)
    assert len(table(app, say("bench.col_run_id"), say("bench.col_time"))) == 2
    assert say("bench.busy", job=state.job_id) in shown
    assert app.button(key="bench_launch").disabled
    settled(app, jobs)
    assert say("bench.running") not in titles(app)
    assert say("bench_conclusion.hits_no_speed_verdict") in said(app)
    (hits,) = table(app, say("bench.col_observed"))
    assert (hits[say("bench.col_hits")], hits[say("bench.col_expected")]) == (
        "1.28 k",
        "1,024 to 1,280",
    )
    assert say("bench.no_trouble") in said(app)
    runs = table(app, say("bench.col_run_id"), say("bench.col_prometheus"))
    silent = [row[say("bench.col_prometheus")] for row in runs]
    assert [words.startswith(say("bench_scraped.unanswered")) for words in silent] == [True] * 2
    assert len(table(app, say("bench.col_at"))) == 1
    assert not app.button(key="bench_launch").disabled


def test_a_job_outlives_the_app(fake: Fake, open_plan: Callable[..., AppTest]) -> None:
    """The app ends while a job runs: it goes on by itself, and the next start stores it."""
    fake(bench_s=1)
    app = open_plan()
    ran(app.button(key="bench_launch").click().run())
    runtime.shut_down()
    jobs = Jobs(load_settings())
    assert [state.ended for state in jobs.all()] == [False]
    until(lambda: all(state.ended for state in jobs.all()))
    settled(ran(app.run()), jobs)
    assert say("bench.no_trouble") in said(app)


def test_a_job_is_cancelled(fake: Fake, open_plan: Callable[..., AppTest]) -> None:
    """Cancel ends what runs; the runs say so, and none of them has a figure."""
    fake(bench_hangs=True)
    app = open_plan()
    ran(app.button(key="bench_launch").click().run())
    jobs = runtime.running().jobs
    (state,) = jobs.all()
    ran(app.button(key=f"bench_cancel_{state.job_id}").click().run())
    settled(app, jobs)
    runs = table(app, say("bench.col_run_id"), say("bench.col_verdict"))
    states = {row[say("bench.col_state")] for row in runs}
    assert states <= {say("bench_step.cancelled"), say("bench_step.not run")}
    assert len(runs) == 2
    assert table(app, say("bench.col_at")) == []
    assert "%" not in "".join(cell for row in runs for cell in row.values())


def test_a_failed_run_says_why(fake: Fake, open_plan: Callable[..., AppTest]) -> None:
    """FAILED with the rules it broke and its last output, no 0 and no ratio."""
    fake(bench_exits=3)
    app = open_plan()
    ran(app.button(key="bench_launch").click().run())
    settled(app, runtime.running().jobs)
    runs = table(app, say("bench.col_run_id"), say("bench.col_verdict"))
    assert {row[say("bench.col_verdict")] for row in runs} == {say("bench_verdict.failed")}
    assert all("exit status: expected 0, seen 3" in row[say("bench.col_why")] for row in runs)
    assert any("tokenizer not found" in code for code in codes(app))
    assert say("bench_conclusion.no_valid_pair") in said(app)
    (speed,) = table(app, say("bench.col_speed"))
    assert speed[say("bench.col_ttft_on")] == speed[say("bench.col_change")] == "unknown"
    (hits,) = table(app, say("bench.col_observed"))
    assert hits[say("bench.col_ratio")] == say("reason.not_measured")


def test_names_of_others_are_text(fake: Fake, open_plan: Callable[..., AppTest]) -> None:
    """A plan whose names are hostile is shown as written, in tables, notices and commands."""
    fake()
    hostile = replace(PLAN, name=HOSTILE, model=HOSTILE)
    launch(hostile, "elsewhere", settings=load_settings())
    app = open_plan(hostile)
    settled(app, runtime.running().jobs)
    bodies = [html.value for html in app.html]
    assert not [body for body in bodies if "<script" in body]
    assert HOSTILE in said(app)


def test_a_job_is_chosen_by_its_link(fake: Fake, open_page: Open) -> None:
    """The URL names the job that is shown; without one it is the newest."""
    fake()
    settings = load_settings()
    first = launch(PLAN, "one", settings=settings)
    jobs = Jobs(settings)
    until(lambda: all(state.ended for state in jobs.all()))
    second = launch(replace(PLAN, name="another"), "two", settings=settings)
    app = open_page("benchmarks")
    settled(app, jobs)
    assert app.selectbox(key="choice_job").value == second
    linked = open_page("benchmarks", {"job": first})
    assert linked.selectbox(key="choice_job").value == first
    assert len(table(linked, say("bench.col_at"))) == 2


def test_a_job_that_cannot_be_stored_is_said(fake: Fake, open_page: Open, real_home: Path) -> None:
    """A broken folder is named with its reason on the page, as long as it stays so."""
    fake()
    job = Jobs(load_settings()).job("20261130-120000-abc")
    app = open_page("benchmarks")
    job.mkdir(parents=True)
    (job / "state.json").write_text("{")
    running = runtime.running()
    until(lambda: running.bench_trouble is not None)
    app.run()
    assert any(job.name in error.value for error in app.error)
    (job / "state.json").unlink()
    until(lambda: running.bench_trouble is None)
    assert not app.run().error
