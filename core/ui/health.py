"""Tables and lines of the Data health page."""

import time

import streamlit as st

from core import format as fmt
from core import runtime
from core.catalogue import INSTRUMENTS
from core.messages import say
from core.ui.frame import time_axis
from core.ui.tables import Cell, Column, table
from core.views.data_health import DataHealthView, ExportRow
from core.views.fleet import SourceState


def health_notices(view: DataHealthView) -> None:
    """Findings that need a hand."""
    if view.duplicates:
        st.warning(say("health.duplicates", n=view.duplicates))
    missing = sorted({name for target in view.targets for name in target.missing_labels})
    if missing:
        st.warning(say("health.labels", names=", ".join(missing)))
    if view.skewed:
        worst = max((s.clock_skew_s for s in view.sources if s.clock_skew_s is not None), key=abs)
        st.warning(say("notice.skew", skew=fmt.seconds(abs(worst))))


def sources_table(view: DataHealthView) -> None:
    """Every source and how it stands; one that was never connected says so."""
    columns = [
        Column(say("col.source")),
        Column(say("col.state")),
        Column(say("col.checked"), numeric=True),
        Column(say("col.lag"), numeric=True),
        Column(say("col.since"), numeric=True),
        Column(say("col.progress"), numeric=True),
        Column(say("col.rows_read"), numeric=True),
        Column(say("col.skew"), numeric=True),
        Column(say("col.api"), wide=True),
        Column(say("col.detail"), wide=True),
        Column(say("col.next_step"), wide=True),
    ]
    seen = {source.source for source in view.sources}
    rows = [_source(view, source) for source in view.sources]
    rows += [_not_connected(name) for name in ("prometheus", "langfuse") if name not in seen]
    table("sources", columns, rows)


def _source(view: DataHealthView, source: SourceState) -> list[Cell]:
    now, axis, none = view.fleet.now, time_axis(view.fleet), say("table.none")
    return [
        say(f"source.{source.source}"),
        say(f"state.{source.state}"),
        fmt.age(now - source.checked_at),
        None if source.read_to is None else fmt.age(now - source.read_to),
        None
        if source.backfill_from is None
        else fmt.clock(source.backfill_from, axis.zone, day=True),
        None if source.progress is None else f"{source.progress * 100:.0f} %",
        none if source.rows_read is None else fmt.quantity(source.rows_read),
        None if source.clock_skew_s is None else fmt.seconds(source.clock_skew_s),
        source.api or none,
        source.detail or none,
        source.next_step or none,
    ]


def _not_connected(name: str) -> list[Cell]:
    none = say("state.not_connected")
    return [say(f"source.{name}"), *[none] * 9, say(f"health.connect_{name}")]


def collector_lines() -> None:
    """How the supervised collector processes stand."""
    for name, state in runtime.running().collectors.items():
        _collector_line(say(f"source.{name}"), state)


def _collector_line(source: str, state: runtime.CollectorState) -> None:
    now = time.time()
    if not state.enabled:
        st.caption(say("collector.off", source=source))
    elif state.pid is not None and state.started_at is not None:
        st.caption(
            say(
                "collector.running",
                source=source,
                pid=state.pid,
                age=fmt.age(now - state.started_at),
                restarts=state.restarts,
            )
        )
    elif state.next_start_at is not None:
        st.warning(
            say(
                "collector.waiting",
                source=source,
                wait=fmt.seconds(max(0.0, state.next_start_at - now)),
                status=state.last_status,
            )
        )


def targets_table(view: DataHealthView) -> None:
    """Engines at their scraped addresses."""
    columns = [
        Column(say("col.engine")),
        Column(say("col.up")),
        Column(say("col.age"), numeric=True),
        Column(say("col.interval"), numeric=True),
        Column(say("col.model")),
        Column(say("col.namespace")),
        Column(say("col.cluster")),
        Column(say("col.target")),
        Column(say("col.duplicate")),
        Column(say("col.labels")),
    ]
    rows: list[list[str | None]] = []
    for t in view.targets:
        if t.gone_at is not None:
            state = say("state.gone", age=fmt.age(view.fleet.now - t.gone_at))
        else:
            state = say("state.unknown" if t.up is None else f"state.{'up' if t.up else 'down'}")
        rows.append(
            [
                t.name,
                state,
                fmt.age(t.age_s),
                None if t.scrape_interval_s is None else fmt.seconds(t.scrape_interval_s),
                t.model,
                t.namespace,
                t.cluster,
                f"{t.job or '?'} {t.instance or '?'}",
                t.duplicate_of or say("table.none"),
                ", ".join(t.missing_labels) or say("table.none"),
            ]
        )
    table("targets", columns, rows)


def coverage_table(view: DataHealthView) -> None:
    """How much of the window each engine was observed."""
    columns = [
        Column(say("col.engine")),
        Column(say("col.observed"), numeric=True),
        Column(say("col.samples"), numeric=True),
        Column(say("col.largest_gap"), numeric=True),
    ]
    rows: list[list[str | int | None]] = []
    for row in view.coverage:
        share = row.coverage.share
        rows.append(
            [
                row.name,
                None if share is None else fmt.observed(share),
                row.coverage.samples,
                None if row.largest_gap_s is None else fmt.seconds(row.largest_gap_s),
            ]
        )
    table("coverage", columns, rows)


def exports_table(view: DataHealthView) -> None:
    """Under which names the engines in scope export each metric."""
    columns = [
        Column(say("col.instrument")),
        Column(say("col.exported"), numeric=True),
        Column(say("col.renamed"), numeric=True),
        Column(say("col.absent"), numeric=True),
        Column(say("col.native"), numeric=True),
        Column(say("col.names"), wide=True),
    ]
    table(
        "names",
        columns,
        [
            [
                INSTRUMENTS[row.instrument].names[0],
                row.exported,
                row.renamed,
                row.not_exported,
                row.native_histogram,
                _names(row),
            ]
            for row in view.exports
        ],
    )


def _names(row: ExportRow) -> str:
    if row.names == INSTRUMENTS[row.instrument].names[:1]:
        return say("names.same")
    return ", ".join(row.names) or say("table.none")


def findings_table(view: DataHealthView) -> None:
    """What the doctor found, worst first; what is in order comes last."""
    if view.findings:
        age = fmt.age(view.fleet.now - view.findings[0].checked_at)
        st.caption(say("health.findings_checked", age=age))
    columns = [
        Column(say("col.level")),
        Column(say("col.subject")),
        Column(say("col.found"), wide=True),
        Column(say("col.detail"), wide=True),
        Column(say("col.next_step"), wide=True),
    ]
    table(
        "findings",
        columns,
        [
            [
                say(f"finding.{row.level}"),
                f"{row.finding} · {row.subject}",
                row.title,
                row.detail,
                row.next_step or say("table.none"),
            ]
            for row in view.findings
        ],
        empty=say("health.no_findings"),
    )


def log_table(view: DataHealthView) -> None:
    """What went wrong or was warned about."""
    axis = time_axis(view.fleet)
    columns = [
        Column(say("col.time")),
        Column(say("col.source")),
        Column(say("col.level")),
        Column(say("col.what"), wide=True),
        Column(say("col.detail"), wide=True),
        Column(say("col.next_step"), wide=True),
    ]
    table(
        "log",
        columns,
        [
            [
                fmt.clock(e.noted_at, axis.zone, day=True),
                e.source,
                e.level,
                e.title,
                e.detail,
                e.next_step or say("table.none"),
            ]
            for e in view.log
        ],
        empty=say("health.no_log"),
    )


def cache_line(view: DataHealthView) -> None:
    """How much the cache holds."""
    cache, axis = view.cache, time_axis(view.fleet)
    if cache.first_minute is None or cache.last_minute is None:
        st.caption(say("health.cache_empty"))
        return
    st.caption(
        say(
            "health.cache_line",
            cells=fmt.quantity(cache.counter_cells + cache.bucket_cells + cache.gauge_cells),
            observations=fmt.quantity(cache.observations),
            scores=fmt.quantity(cache.scores),
            start=fmt.clock(cache.first_minute, axis.zone, day=True),
            end=fmt.clock(cache.last_minute, axis.zone, day=True),
            batches=fmt.quantity(cache.batches),
        )
    )
