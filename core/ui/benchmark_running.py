"""Benchmarks that run: how far they are, the end of their log, and the button that ends them."""

import streamlit as st

from core import format as fmt
from core import runtime
from core.bench.progress import Progress, RunProgress, progress_of, running_jobs
from core.bench.state import FINAL
from core.errors import DashboardError
from core.messages import say
from core.ui.frame import heading, shown_errors
from core.ui.style import plain
from core.ui.tables import Cell, Column, table

BUSY_S, QUIET_S = 1.0, 5.0
"""How often a page looks for the state of jobs, and for jobs that another tab has started."""


def running_section() -> None:
    """Every job that runs; looks again by itself, and runs the page again at its end."""
    seen = running_jobs(runtime.running().jobs)
    every = BUSY_S if seen else QUIET_S
    st.fragment(run_every=every)(_look)(seen)


def _look(seen: tuple[str, ...]) -> None:
    with shown_errors():
        jobs = runtime.running().jobs
        now = running_jobs(jobs)
        stored = {
            row.job_id: row.state for row in runtime.running().store.read("bench_digests", {})
        }
        waiting = [one for one in seen if one not in now and stored.get(one) not in FINAL]
        if now != seen and not waiting:
            st.rerun(scope="app")
        if (trouble := runtime.running().bench_trouble) is not None:
            st.error(plain(say("bench.not_stored", why=trouble)))
        if now or waiting:
            heading(say("bench.running"))
        for job_id in now:
            progress = progress_of(jobs, job_id)
            if progress is not None:
                _job(progress)
        for job_id in waiting:
            st.status(plain(say("bench.storing", job=job_id)), state="running")


def _job(progress: Progress) -> None:
    words = say(
        "bench.progress",
        name=progress.name,
        over=progress.over,
        of=len(progress.runs),
        time=fmt.seconds(round(progress.seconds)),
    )
    st.progress(progress.over / len(progress.runs), plain(words))
    table(
        f"bench-progress-{progress.job_id}",
        [
            Column(say("bench.col_run_id")),
            Column(say("bench.col_state")),
            Column(say("bench.col_time"), numeric=True),
            Column(say("bench.col_why"), wide=True),
        ],
        [_run(run) for run in progress.runs],
    )
    if progress.log:
        of = progress.log_of
        st.caption(plain(say("bench.log_job") if of is None else say("bench.log", run=of)))
        st.code(progress.log, language=None, wrap_lines=True)
    if progress.cancelling:
        st.caption(say("bench.cancelling"))
    st.button(
        say("bench.cancel"),
        key=f"bench_cancel_{progress.job_id}",
        icon=":material/stop_circle:",
        disabled=progress.cancelling,
        on_click=_cancel,
        args=(progress.job_id,),
    )


def _run(run: RunProgress) -> list[Cell]:
    time = say("bench.not_begun") if run.seconds is None else fmt.seconds(round(run.seconds))
    why = say("bench.nothing") if run.reason is None else run.reason
    return [run.run_id, say(f"bench_step.{run.step}"), time, why]


def _cancel(job_id: str) -> None:
    try:
        runtime.running().jobs.cancel(job_id)
    except DashboardError as error:
        st.error(plain(f"{error.title}: {error.detail}"))
