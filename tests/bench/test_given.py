"""Jobs on two servers that were given and go on running."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.bench.evidence import Seen, read_seen
from core.bench.launch import run_here
from core.bench.state import JobState, Step
from core.config import load_settings
from core.domain.bench.plan import Plan, Target
from tests.bench.conftest import Home

Start = Callable[..., str]


@pytest.fixture
def allow(home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    def allowed(off: str, on: str) -> None:
        monkeypatch.setenv("PREFIXWATCH_BENCH_TARGETS", json.dumps([off, on]))
        home.settings = load_settings()

    return allowed


def given(plan: Plan, off: str, on: str) -> Plan:
    return replace(plan, target=Target.GIVEN, off_url=off, on_url=on)


def on_run(home: Home, state: JobState) -> Seen:
    folders = [home.jobs.job(state.job_id) / "runs" / run.run_id for run in state.runs]
    (seen,) = [one for folder in folders if (one := read_seen(folder)) and one.caching]
    return seen


def test_an_off_and_an_on_server_are_measured(
    home: Home, plan: Plan, serving: Start, allow: Callable[[str, str], None]
) -> None:
    """Both are asked what they are, and the cache is emptied before the run that uses it."""
    off, on = serving(caching=False), serving(caching=True)
    allow(off, on)
    state = run_here(given(plan, off, on), "wish", settings=home.settings)
    assert (state.step, state.reason) == (Step.DONE, None)
    seen = on_run(home, state)
    assert seen.reset is not None
    assert (seen.reset.said, seen.warm) == (True, False)
    assert seen.serve_arguments is None


@pytest.mark.parametrize("caching", [True, False])
def test_two_alike_servers_are_refused(
    home: Home, plan: Plan, serving: Start, allow: Callable[[str, str], None], *, caching: bool
) -> None:
    """Both ON or both OFF is no pair: nothing is measured, and both are named."""
    off, on = serving(caching=caching), serving(caching=caching)
    allow(off, on)
    state = run_here(given(plan, off, on), "wish", settings=home.settings)
    assert {run.step for run in state.runs} == {Step.NOT_RUN}
    word = "on" if caching else "off"
    assert f"but is {word} and {word}" in str(state.reason)


@pytest.mark.parametrize(
    ("reset", "first", "second"), [("false", True, True), ("missing", None, True)]
)
def test_a_cache_that_was_not_emptied_is_warm(
    home: Home,
    plan: Plan,
    serving: Start,
    allow: Callable[[str, str], None],
    *,
    reset: str,
    first: bool | None,
    second: bool,
) -> None:
    """success:false is warm. No reset at all is unknown, and warm once a job sent the prompts."""
    home.goes_wrong(reset=reset)
    off, on = serving(caching=False), serving(caching=True)
    allow(off, on)
    warm = [
        on_run(home, run_here(given(plan, off, on), token, settings=home.settings)).warm
        for token in ("first", "second")
    ]
    assert warm == [first, second]
