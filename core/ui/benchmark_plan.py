"""The plan of a benchmark: its form, its file, its check, and the button that launches it."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from core import runtime
from core.bench.allowed import refuse_unless_allowed
from core.bench.launch import launch
from core.bench.programs import has_xxhash
from core.bench.progress import busy_with
from core.domain.bench.plan import Plan, Target
from core.domain.bench.plan_file import plan_of_text, plan_text
from core.domain.bench.presets import PURE_PREFIXES, guide, guide_pairs, small
from core.errors import BenchPlanError, DashboardError
from core.messages import say
from core.ui.benchmark_check import check_panel
from core.ui.benchmark_form import fields
from core.ui.frame import grid, heading, info
from core.ui.style import plain
from core.views.bench_form import PlanShown, look_at, plan_asked

BASE = "bench_base"
LOADED = "bench_loaded"
OUTCOME = "bench_outcome"
UPLOAD = "bench_upload"
PRESETS: dict[str, Callable[[], Plan]] = {
    "small": lambda: small("", ""),
    "guide": lambda: guide("", ""),
    "guide_32000": lambda: replace(guide("", ""), pairs=guide_pairs(pure_prefix=PURE_PREFIXES[1])),
}
MOST_BYTES = 1_000_000
COMMANDS = (
    ".venv/bin/python -m core.bench run plan.json",
    ".venv/bin/python -m core.bench import FOLDER --plan plan.json",
)
LAUNCH_SETTING = "PREFIXWATCH_BENCH_LAUNCH=true"


def plan_section() -> None:
    """The form, what its plan comes to, and the button that launches it."""
    left, right = grid("bench_plan", 1.1, 1)
    with left:
        heading(say("bench.plan"))
        plan, trouble = _form()
    with right:
        heading(say("bench.check"))
        if trouble is not None:
            info(trouble)
        shown = None if plan is None else _checked(plan)
        if shown is not None:
            check_panel(shown)
    _launch_bar(shown)


def use_plan(plan: Plan) -> None:
    """Put a stored plan into the form; for a button's callback."""
    st.session_state[LOADED] = plan_text(plan)
    st.session_state[BASE] = "job"


def _form() -> tuple[Plan | None, str | None]:
    """What the form holds as a plan, or the reason why it is none."""
    base_id, base = _base()
    asked = fields(base, base_id, named="preset" if base_id in PRESETS else base_id)
    plan, trouble = None, None
    if not (asked.model.strip() and asked.tokenizer.strip()):
        trouble = say("bench.no_model")
    else:
        try:
            plan = plan_asked(base, asked)
        except BenchPlanError as error:
            trouble = f"{error.title}: {error.detail}"
    _save_and_load(plan)
    return plan, trouble


def _base() -> tuple[str, Plan]:
    """What the form starts from, with a key of its own."""
    loaded: dict[str, Plan] = {}
    for name, text in (("file", _uploaded()), ("job", st.session_state.get(LOADED))):
        if text is not None:
            try:
                loaded[name] = plan_of_text(text)
            except BenchPlanError as error:
                st.error(plain(f"{error.title}: {error.detail}"))
    options = [*PRESETS, *loaded]
    if st.session_state.get(BASE) not in options:
        st.session_state[BASE] = options[0]
    chosen: str = st.selectbox(
        say("bench.base"), options, key=BASE, format_func=lambda name: say(f"bench.base_{name}")
    )
    if chosen in PRESETS:
        return chosen, PRESETS[chosen]()
    plan = loaded[chosen]
    return hashlib.sha256(plan_text(plan).encode()).hexdigest()[:10], plan


def _uploaded() -> str | None:
    file = st.session_state.get(UPLOAD)
    if file is None:
        return None
    content: bytes = file.getvalue()[:MOST_BYTES]
    return content.decode("utf-8", errors="replace")


def _save_and_load(plan: Plan | None) -> None:
    one, two = st.columns([1, 2], vertical_alignment="bottom")
    one.download_button(
        say("bench.save"),
        "" if plan is None else plan_text(plan),
        file_name="plan.json",
        mime="application/json",
        disabled=plan is None,
        on_click="ignore",
        icon=":material/download:",
        key="bench_save",
    )
    two.file_uploader(
        say("bench.load"), type="json", key=UPLOAD, max_upload_size=1, on_change=_file_came
    )


def _file_came() -> None:
    st.session_state[BASE] = "file" if st.session_state.get(UPLOAD) is not None else "small"


def _checked(plan: Plan) -> PlanShown | None:
    asks = any(name.startswith("xxhash") for name in plan.hash_algorithms)
    installed = _has_xxhash() if asks and plan.target is Target.MANAGED else None
    try:
        return look_at(runtime.running().store, plan, xxhash_installed=installed)
    except BenchPlanError as error:
        st.error(plain(f"{error.title}: {error.detail}"))
        return None


@st.cache_data(ttl=60, show_spinner=False)
def _has_xxhash() -> bool | None:
    return has_xxhash(runtime.running().settings)


def _launch_bar(shown: PlanShown | None) -> None:
    """The button, or why there is none to press and which setting would change that."""
    jobs = runtime.running().jobs
    why = None if shown is None else _why_not(shown)
    token = None if shown is None or why is not None else jobs.token_of(shown.plan)
    plan = None if shown is None else shown.plan
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            say("bench.launch"),
            key="bench_launch",
            type="primary",
            icon=":material/play_arrow:",
            disabled=token is None,
            on_click=_launch,
            args=(plan, token),
        )
        if why is not None:
            st.markdown(plain(say("bench.cannot", why=why)))
    if not runtime.running().settings.bench_launch:
        st.info(say("bench.launch_off") + " " + say("bench.launch_how"))
        st.code(LAUNCH_SETTING, language="bash")
    good, words = st.session_state.pop(OUTCOME, (True, ""))
    if words:
        (st.success if good else st.error)(plain(words))
    st.caption(say("bench.command_line"))
    st.code(
        "\n".join(COMMANDS),
        language="bash",
    )


def _why_not(shown: PlanShown) -> str | None:
    if not shown.check.can_start:
        return say("bench.has_errors")
    try:
        refuse_unless_allowed(shown.plan, runtime.running().settings)
    except DashboardError as error:
        return error.detail
    busy = busy_with(runtime.running().jobs, shown.plan)
    return None if busy is None else say("bench.busy", job=busy)


def _launch(plan: Plan, token: str) -> None:
    """Start the job once: a second click, tab or rerun brings the same token."""
    try:
        job_id = launch(plan, token, settings=runtime.running().settings)
    except DashboardError as error:
        words = f"{error.title}. {error.detail} {error.next_step}"
        st.session_state[OUTCOME] = (False, words)
    else:
        st.session_state[OUTCOME] = (True, say("bench.launched", job=job_id))
