"""Prefixwatch: page list, shared frame, and what runs beside the pages.

`streamlit run app.py` finds `app` below; the same file is the script of every
session, so a deep link to any page passes through the frame.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import runtime, ui
from core.errors import DashboardError
from core.messages import say

HERE = Path(__file__).resolve().parent
PAGES = (
    ("live", "pages/live.py", ":material/monitor_heart:"),
    ("hit_ratio", "pages/hit_ratio.py", ":material/percent:"),
    ("cached_prefill", "pages/cached_prefill.py", ":material/memory:"),
    ("kv_residency", "pages/kv_residency.py", ":material/hourglass_bottom:"),
    ("preemption", "pages/preemption.py", ":material/low_priority:"),
    ("quality", "pages/quality.py", ":material/verified:"),
    ("experiments", "pages/experiments.py", ":material/science:"),
    ("benchmarks", "pages/benchmarks.py", ":material/speed:"),
    ("request", "pages/request.py", ":material/search:"),
    ("data_health", "pages/data_health.py", ":material/fact_check:"),
)

# Until a session has run st.navigation, a fresh server would serve pages/ by
# itself: a deep link would show a page without this frame.
PagesManager.uses_pages_directory = False


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Collect and merge from the server's start to its end, whoever looks."""
    try:
        runtime.running()
    except DashboardError as error:
        print(f"{error}\n{error.next_step}")
    yield
    runtime.shut_down()


def main() -> None:
    """One run of one session."""
    st.set_page_config(
        page_title=say("app.title"),
        page_icon=HERE / "docs" / "favicon.png",
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    pages = [
        st.Page(path, title=say(f"page.{key}"), icon=icon, url_path=key, default=key == "live")
        for key, path, icon in PAGES
    ]
    page = st.navigation(pages, position="top")
    with ui.shown_errors():
        ui.frame()
        page.run()


app = st.App(__file__, lifespan=lifespan)

if get_script_run_ctx(suppress_warning=True) is not None:
    main()
