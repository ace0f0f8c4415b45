"""The only room that imports Streamlit, besides app.py and pages/.

Pages call these functions in order; nothing here computes a measured number.
"""

from core.ui.frame import (
    chart,
    frame,
    freshness,
    grid,
    heading,
    moving,
    nothing_to_show,
    shown_errors,
    time_axis,
    view,
)
from core.ui.health import (
    cache_line,
    collector_lines,
    coverage_table,
    exports_table,
    findings_table,
    health_notices,
    log_table,
    sources_table,
    targets_table,
)
from core.ui.levers import changes_table, lever_form
from core.ui.notices import notices
from core.ui.reconciliation import proxy_counters, reconciliation
from core.ui.senders import evaluators_table, senders_table, violations_table
from core.ui.tables import engines_table, groups_table, ttft_note
from core.ui.tiles import reading_tiles, tiles

__all__ = [
    "cache_line",
    "changes_table",
    "chart",
    "collector_lines",
    "coverage_table",
    "engines_table",
    "evaluators_table",
    "exports_table",
    "findings_table",
    "frame",
    "freshness",
    "grid",
    "groups_table",
    "heading",
    "health_notices",
    "lever_form",
    "log_table",
    "moving",
    "nothing_to_show",
    "notices",
    "proxy_counters",
    "reading_tiles",
    "reconciliation",
    "senders_table",
    "shown_errors",
    "sources_table",
    "targets_table",
    "tiles",
    "time_axis",
    "ttft_note",
    "view",
    "violations_table",
]
