"""Views to Plotly figures."""

from core.charts.axis import TimeAxis
from core.charts.benchmarks import (
    Named,
    bench_history,
    change_and_ceilings,
    hits_expected,
    ttft_off_on,
)
from core.charts.cached_prefill import follow_ups, throughput
from core.charts.dots import Dot, dots
from core.charts.figures import hit_ratio, inflation, kv_usage, prefill, pressure, queue, ttft
from core.charts.frame import short_list
from core.charts.gate import gate
from core.charts.heat import heat, idle_scale
from core.charts.marks import lever_letters
from core.charts.palette import COLOURS
from core.charts.residency import distribution, turn_gaps
from core.charts.strip import strip
from core.charts.timeline import timeline
from core.charts.waterfall import waterfall

__all__ = [
    "COLOURS",
    "Dot",
    "Named",
    "TimeAxis",
    "bench_history",
    "change_and_ceilings",
    "distribution",
    "dots",
    "follow_ups",
    "gate",
    "heat",
    "hit_ratio",
    "hits_expected",
    "idle_scale",
    "inflation",
    "kv_usage",
    "lever_letters",
    "prefill",
    "pressure",
    "queue",
    "short_list",
    "strip",
    "throughput",
    "timeline",
    "ttft",
    "ttft_off_on",
    "turn_gaps",
    "waterfall",
]
