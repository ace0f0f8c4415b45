"""The frame of every page: errors, banner, scope bar, freshness, notices, charts."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import format as fmt
from core import runtime
from core.catalogue import INSTRUMENTS, METRICS, Metric
from core.charts import TimeAxis
from core.domain.reading import QUIET_REASONS, Reading
from core.domain.scope import Scope
from core.errors import DashboardError
from core.messages import say
from core.named_queries import cache_queries, prometheus_queries, render_promql
from core.ui.scope_bar import current_scope, refresh_every, scope_bar
from core.ui.style import STYLE, escaped, plain
from core.views.fleet import Fleet

View = TypeVar("View")
Build = Callable[..., View]
TICK_S = 5
FRESH_S = 90.0


@contextmanager
def shown_errors() -> Iterator[None]:
    """Show a named error with its next step instead of a traceback."""
    try:
        yield
    except DashboardError as error:
        st.error(f"**{plain(error.title)}.** {plain(error.detail)}\n\n{plain(error.next_step)}")
        st.button(say("error.retry"), key=f"retry_{type(error).__name__}")


def moving(panel: Callable[[], None]) -> Callable[[], None]:
    """A panel that runs again by itself, its errors shown where it stands."""

    @st.fragment(run_every=refresh_every())
    def shown() -> None:
        with shown_errors():
            panel()

    return shown


def frame() -> None:
    """What stands above every page."""
    st.html(STYLE)
    if runtime.running().settings.demo:
        st.html(f'<div class="pw-demo">{escaped(say("demo.banner"))}</div>')
    with st.container(key="scope"):
        scope_bar()


def view(build: Build[View], *about: Hashable) -> View:
    """The view of a page for the scope in the URL, and for what else the page is about.

    `build` is called with the store, the scope, the time, and `about`. Built once for
    all sessions that look at the same of these, the same data and the same few seconds.
    """
    tick = time.time() // TICK_S * TICK_S
    version = runtime.running().store.version
    built: View = _view(
        f"{build.__module__}.{build.__name__}",
        current_scope(),
        version,
        tick,
        hash(about),
        build,
        about,
    )
    return built


@st.cache_data(max_entries=64, show_spinner=False)
def _view(
    name: str,  # noqa: ARG001 - a key
    scope: Scope,
    version: int,  # noqa: ARG001 - a key
    tick: float,
    key: int,  # noqa: ARG001 - a key
    _build: Build[Any],
    _about: tuple[Hashable, ...],
) -> Any:
    return _build(runtime.running().store, scope, tick, *_about)


def window_length() -> int:
    """Length of a preemption window in seconds, as it is set."""
    return runtime.running().settings.preempt_window_s


def time_axis(fleet: Fleet) -> TimeAxis:
    """The reader's own time zone, as the browser names it."""
    return TimeAxis(fleet, *zone_of_reader())


def zone_of_reader() -> tuple[ZoneInfo, str]:
    """The zone of the browser with its name; UTC where it tells none."""
    name = st.context.timezone or "UTC"
    try:
        return ZoneInfo(name), name
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC"), "UTC"


def freshness(fleet: Fleet) -> None:
    """Age of the data, engines that are fresh, and the window in the reader's zone."""
    axis = time_axis(fleet)
    newest = fleet.newest_sample_at
    here = [engine for engine in fleet.engines if engine.life.gone_at is None]
    fresh = sum(fleet.now - engine.last_at <= FRESH_S for engine in here)
    parts = [
        say("freshness.engines", age=fmt.age(fleet.now - newest))
        if newest is not None
        else say("freshness.none"),
        say("freshness.covered", seen=fresh, all=len(here)),
        _requests(fleet),
        say(
            "freshness.window",
            start=fmt.clock(fleet.window.start, axis.zone, day=True),
            end=fmt.clock(fleet.window.end, axis.zone, day=True),
            zone=axis.zone_name,
            cells=say(f"cells.{fleet.window.cell_s}"),
        ),
    ]
    st.html('<div class="pw-fresh">' + " · ".join(escaped(part) for part in parts) + "</div>")


def _requests(fleet: Fleet) -> str:
    if fleet.requests is None:
        return say("freshness.requests_off")
    if fleet.newest_request_at is None:
        return say("freshness.no_requests")
    return say("freshness.requests", age=fmt.age(fleet.now - fleet.newest_request_at))


def nothing_to_show(fleet: Fleet) -> bool:
    """Say why a page is empty; True when it is."""
    requests_alone = fleet.prometheus is None and fleet.newest_request_at is not None
    if fleet.engines or requests_alone:
        return False
    never = fleet.prometheus is None or fleet.prometheus.read_to is None
    if never and "prometheus" not in runtime.running().settings.connected:
        st.info(say("notice.empty_requests"))
    else:
        st.info(say("notice.empty") if never else say("notice.empty_scope"))
    return True


def info(text: str) -> None:
    """Why a page is empty, and what to do."""
    st.info(plain(text))


def heading(title: str, *metrics: str) -> None:
    """A title, with everything the catalogue says about its metrics behind an info mark."""
    if not metrics:
        st.html(f'<div class="pw-title">{escaped(title)}</div>')
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="pw-title">{escaped(title)}</div>', width="content")
        with st.popover(":material/info:", help=say("info.button"), type="tertiary"):
            for key in metrics:
                _explain(METRICS[key])


def grid(key: str, *weights: float) -> list[DeltaGenerator]:
    """Columns that stack on a narrow screen."""
    with st.container(key=f"grid-{key}"):
        return list(st.columns(list(weights), gap="medium"))


def side_by_side(key: str, *weights: float) -> list[DeltaGenerator]:
    """Columns of small fields: on a narrow screen they wrap, several to a line."""
    with st.container(key=f"fields-{key}"):
        return list(st.columns(list(weights), gap="small"))


def _explain(metric: Metric) -> None:
    lines = [f"**{metric.label}**", metric.definition]
    if metric.numerator:
        lines.append(say("info.numerator", text=metric.numerator))
        lines.append(say("info.denominator", text=metric.denominator))
    lines += [
        say("info.population", text=metric.population),
        say("info.weighting", text=metric.weighting),
        say("info.unknown", text=metric.unknown_when),
        *metric.caveats,
    ]
    if metric.not_read_as:
        lines.append(say("info.not", text=metric.not_read_as))
    lines.append(say("info.reference", text=metric.reference))
    st.markdown("\n\n".join(plain(line, bold=i == 0) for i, line in enumerate(lines)))
    if metric.promql:
        st.caption(say("info.promql"))
        st.code(_promql(metric), language="promql", wrap_lines=True)
    st.caption(say("info.sql"))
    st.code(cache_queries()[metric.query].text, language="sql")


def _promql(metric: Metric) -> str:
    """The query for the scope in the URL, ready to paste; a proxy knows fewer labels."""
    name = metric.promql
    settings = runtime.running().settings
    scope = current_scope()
    names = settings.labels.model_dump() | {"model": settings.labels.model_name}
    if any(INSTRUMENTS[key].gateway for key in metric.instruments):
        names = {key: names[key] for key in ("cluster", "namespace")} | {"model": "model"}
    labels = scope.labels().items()
    matchers = {names[k]: v for k, v in labels if v is not None and k in names}
    window = scope.window(time.time())
    parts = {
        "window": f"{window.length_s}s",
        "preempt_window": f"{settings.preempt_window_s}s",
    }
    query = prometheus_queries()[name]
    return render_promql(
        name, matchers=matchers, **{k: v for k, v in parts.items() if k in query.params}
    )


def chart(
    key: str,
    figure: go.Figure,
    reading: Reading | None = None,
    *,
    on_select: Callable[[], None] | None = None,
) -> None:
    """Draw a figure in the page's theme, or say why its metric has no number at all.

    `on_select` is called when a point is clicked, or its choice is taken back.
    """
    if reading is not None and reading.reason not in (None, *QUIET_REASONS):
        no_number(reading)
        return
    config = {"displayModeBar": False, "responsive": True}
    if on_select is None:
        st.plotly_chart(figure, key=key, config=config)
    else:
        st.plotly_chart(
            figure, key=key, config=config, on_select=on_select, selection_mode="points"
        )


def no_number(reading: Reading) -> None:
    """In place of a figure: why its metric has no number."""
    st.html(
        f'<div class="pw-none pw-hatch"><div class="v">{escaped(fmt.reading(reading))}</div>'
        f'<div class="t">{escaped(say(f"why.{reading.reason}"))}</div></div>'
    )
