"""Benchmarks over time: one chart of a pair and concurrency, and a table of all."""

import streamlit as st

from core import charts
from core import format as fmt
from core.messages import say
from core.ui.benchmarks import milliseconds
from core.ui.choices import choice
from core.ui.frame import chart, grid, heading, zone_of_reader
from core.ui.tables import Cell, Column, table
from core.views.bench_history import HistoryPoint
from core.views.benchmarks import BenchmarksView

COLUMNS = ("at", "model", "pair", "ttft_off", "ttft_on", "change", "ratio")
MORE = ("compared", "version", "config", "origin")


def history_section(view: BenchmarksView) -> None:
    """Every job's valid pairs of runs, drawn with the changes of the lever log."""
    heading(say("bench.history"), "bench_ttft", "bench_hit_ratio")
    history = view.history
    if not history.points:
        st.caption(say("bench.history_none"))
        return
    zone, zone_name = zone_of_reader()
    names = {_name(point): None for point in history.points}
    left, _ = grid("bench_history", 1, 2)
    with left:
        chosen = choice("series", say("bench.history_pair"), list(names), words=str)
    points = [point for point in history.points if _name(point) == chosen]
    chart("bench_history", charts.bench_history(history, points, zone, zone_name=zone_name))
    st.caption(say("bench.history_note"))
    columns = [Column(say(f"bench.col_{name}")) for name in (*COLUMNS, *MORE)]
    table("bench-history", columns, [_row(point) for point in reversed(history.points)])


def _name(point: HistoryPoint) -> str:
    values = {"pair": point.pair, "concurrency": point.concurrency}
    if point.hash_algorithm is None:
        return say("bench.name", **values)
    return say("bench.name_hash", algorithm=point.hash_algorithm, **values)


def _row(point: HistoryPoint) -> list[Cell]:
    at = fmt.clock(point.at, zone_of_reader()[0], day=True)
    return [
        say("bench.by_file", at=at) if point.by_file else at,
        point.model,
        _name(point),
        milliseconds(point.off_ms),
        milliseconds(point.on_ms),
        say("bench.factor", value=f"{point.ratio.value:.3g}"),
        point.hit_ratio,
        point.compared,
        point.version,
        point.config,
        say(f"bench_origin.{point.origin}"),
    ]
