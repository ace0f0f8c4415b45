"""Benchmarks: plan and launch the matrix OFF and ON, and judge it by evidence."""

from core import ui
from core.views.benchmarks import BenchmarksView, build

view: BenchmarksView = ui.view(build, ui.wanted_job())
ui.bench_notes(view)
ui.plan_section()
ui.running_section()
ui.results_section(view)
ui.history_section(view)
