"""The request side of Data health: senders, evaluators, violations."""

import streamlit as st

from core import format as fmt
from core import runtime
from core.demo import evaluators_of
from core.messages import say
from core.ui.frame import time_axis
from core.ui.lookup import request_link
from core.ui.tables import Cell, Column, table
from core.views.data_health import DataHealthView, EvaluatorRow, SenderRow, ViolationRow


def senders_table(view: DataHealthView) -> None:
    """What the requests of each sender carry, and how late their rows arrive."""
    columns = [
        Column(say("col.exporter")),
        Column(say("col.model")),
        Column(say("col.requests"), numeric=True),
        Column(say("col.with_usage"), numeric=True),
        Column(say("col.measured"), numeric=True),
        Column(say("col.not_reported"), numeric=True),
        Column(say("col.unproven"), numeric=True),
        Column(say("col.estimates"), numeric=True),
        Column(say("col.violations"), numeric=True),
        Column(say("col.attributed"), numeric=True),
        Column(say("col.with_session"), numeric=True),
        Column(say("col.with_arm"), numeric=True),
        Column(say("col.changed"), numeric=True),
        Column(say("col.restarted"), numeric=True),
        Column(say("col.written_after"), numeric=True),
        Column(say("col.contract"), wide=True),
    ]
    table("senders", columns, [_sender(r) for r in view.senders], empty=say("health.no_requests"))


def _sender(row: SenderRow) -> list[Cell]:
    lag = None
    if row.lag_p50_s is not None and row.lag_p95_s is not None:
        lag = say("cell.lag", p50=fmt.seconds(row.lag_p50_s), p95=fmt.seconds(row.lag_p95_s))
    where = f" ({row.environment})" if row.environment else ""
    return [
        row.exporter + where,
        row.model,
        row.requests,
        _share(row.with_usage, row.requests),
        _share(row.measured, row.requests),
        row.not_reported,
        row.unproven,
        row.estimates,
        row.violations,
        _share(row.attributed, row.requests),
        _share(row.with_session, row.requests),
        _share(row.with_arm, row.requests),
        row.changed,
        row.restarted,
        lag,
        say(
            "cell.contract",
            contract=say(f"contract.{row.contract}"),
            scope=say(f"cached_scope.{row.cached_scope}"),
        ),
    ]


def _share(part: int, whole: int) -> str:
    return fmt.part_of(part, whole)


def evaluators_table(view: DataHealthView) -> None:
    """Which evaluators wrote records, and how their scores are read."""
    columns = [
        Column(say("col.score")),
        Column(say("col.level_of")),
        Column(say("col.evaluator")),
        Column(say("col.version")),
        Column(say("col.written_by")),
        Column(say("col.records"), numeric=True),
        Column(say("col.ok"), numeric=True),
        Column(say("col.errors"), numeric=True),
        Column(say("col.repeats"), numeric=True),
        Column(say("col.with_probability"), numeric=True),
        Column(say("col.deleted"), numeric=True),
        Column(say("col.mapping"), wide=True),
    ]
    rows = [_evaluator(row) for row in view.evaluators]
    table("evaluators", columns, rows, empty=say("health.no_scores"))
    st.caption(say("health.evaluators_note"))


def _evaluator(row: EvaluatorRow) -> list[Cell]:
    configured = {one.score for one in evaluators_of(runtime.running().settings)}
    return [
        row.name,
        say(f"level.{row.level}"),
        row.evaluator,
        row.evaluator_version,
        row.source,
        row.records,
        row.ok,
        row.errors,
        row.repeats,
        row.with_probability,
        row.deleted,
        say("mapping.configured" if row.name in configured else "mapping.defaults"),
    ]


def violations_table(view: DataHealthView) -> None:
    """Values that break a contract, as they were received."""
    columns = [
        Column(say("col.time")),
        Column(say("col.record")),
        Column(say("col.exporter")),
        Column(say("col.model")),
        Column(say("col.rule"), wide=True),
        Column(say("col.field")),
        Column(say("col.raw_value"), wide=True),
    ]
    rows = [_violation(view, row) for row in view.violations]
    table("violations", columns, rows, empty=say("health.no_violations"))


def _record(row: ViolationRow) -> Cell:
    """A link where the record is a request's row."""
    if row.record_id is None or row.kind != "observation":
        return row.record_id
    return request_link(row.record_id)


def _violation(view: DataHealthView, row: ViolationRow) -> list[Cell]:
    axis = time_axis(view.fleet)
    at = row.seen_at if row.happened_at is None else row.happened_at
    none = say("table.none")
    return [
        fmt.clock(at, axis.zone, day=True),
        _record(row),
        row.exporter or none,
        row.model or none,
        say(f"rule.{row.rule}"),
        row.field or none,
        row.raw_value or none,
    ]
