"""The only room that imports Streamlit, besides app.py and pages/.

Pages call these functions in order; nothing here computes a measured number.
"""

from core.ui.benchmark_history import history_section
from core.ui.benchmark_plan import plan_section
from core.ui.benchmark_running import running_section
from core.ui.benchmarks import bench_notes, results_section, wanted_job
from core.ui.cached_prefill import (
    ACCOUNTS,
    RATES_BY_SOURCE,
    TOKENS_BY_SOURCE,
    accounts_table,
    differences_table,
    prefill_engines_table,
    prefill_note,
)
from core.ui.engine_part import engine_heading, engine_part
from core.ui.experiment_actions import decision_form, look_form, outcome
from core.ui.experiment_efficiency import efficiency_panel
from core.ui.experiment_form import plan_forms
from core.ui.experiment_logs import (
    changes_log,
    decisions_log,
    experiments_table,
    looks_log,
    observed_table,
    regression_panel,
)
from core.ui.experiment_plan import plan_card, versions_panel
from core.ui.experiment_rules import rules_panel
from core.ui.experiment_sizes import calculator
from core.ui.experiments import experiment_asked, experiment_bar, gate_panel, verdict_panel
from core.ui.follow_ups import AFFINITY, places_table, uncached_table
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
    window_length,
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
from core.ui.lookup import fetch, id_field, request_link, request_url
from core.ui.notices import notices
from core.ui.preemption import (
    exposure_scores,
    exposure_table,
    preemption_strip,
    pressure_table,
)
from core.ui.quality import score_note, strata_panel
from core.ui.quality_choices import asked, quality_bar
from core.ui.quality_compare import association_panel, contrast_panel, observed_panel
from core.ui.quality_requests import agreement_panel, coarse_panel, requests_panel
from core.ui.reconciliation import proxy_counters, reconciliation
from core.ui.request import (
    attempts_table,
    facts_table,
    found_line,
    raw_usage_table,
    scores_table,
    timeline_notes,
    turn_facts,
    unknown_list,
    usage_table,
    usage_verdict,
)
from core.ui.request_lists import recent_requests, several_requests
from core.ui.request_preemptions import request_preemptions_table
from core.ui.residency import (
    distribution_panel,
    distributions_note,
    match_units_table,
    residency_engines,
    residency_over_time,
    residency_states,
    residency_summary,
    turn_gaps_panel,
)
from core.ui.review import making, review_bar, review_document, review_question
from core.ui.senders import evaluators_table, senders_table, violations_table
from core.ui.tables import engines_table, groups_table, ttft_note
from core.ui.tiles import reading_tiles, tiles

__all__ = [
    "ACCOUNTS",
    "AFFINITY",
    "RATES_BY_SOURCE",
    "TOKENS_BY_SOURCE",
    "accounts_table",
    "agreement_panel",
    "asked",
    "association_panel",
    "attempts_table",
    "bench_notes",
    "cache_line",
    "calculator",
    "changes_log",
    "changes_table",
    "chart",
    "coarse_panel",
    "collector_lines",
    "contrast_panel",
    "coverage_table",
    "decision_form",
    "decisions_log",
    "differences_table",
    "distribution_panel",
    "distributions_note",
    "efficiency_panel",
    "engine_heading",
    "engine_part",
    "engines_table",
    "evaluators_table",
    "experiment_asked",
    "experiment_bar",
    "experiments_table",
    "exports_table",
    "exposure_scores",
    "exposure_table",
    "facts_table",
    "fetch",
    "findings_table",
    "found_line",
    "frame",
    "freshness",
    "gate_panel",
    "grid",
    "groups_table",
    "heading",
    "health_notices",
    "history_section",
    "id_field",
    "lever_form",
    "log_table",
    "look_form",
    "looks_log",
    "making",
    "match_units_table",
    "moving",
    "nothing_to_show",
    "notices",
    "observed_panel",
    "observed_table",
    "outcome",
    "places_table",
    "plan_card",
    "plan_forms",
    "plan_section",
    "preemption_strip",
    "prefill_engines_table",
    "prefill_note",
    "pressure_table",
    "proxy_counters",
    "quality_bar",
    "raw_usage_table",
    "reading_tiles",
    "recent_requests",
    "reconciliation",
    "regression_panel",
    "request_link",
    "request_preemptions_table",
    "request_url",
    "requests_panel",
    "residency_engines",
    "residency_over_time",
    "residency_states",
    "residency_summary",
    "results_section",
    "review_bar",
    "review_document",
    "review_question",
    "rules_panel",
    "running_section",
    "score_note",
    "scores_table",
    "senders_table",
    "several_requests",
    "shown_errors",
    "sources_table",
    "strata_panel",
    "targets_table",
    "tiles",
    "time_axis",
    "timeline_notes",
    "ttft_note",
    "turn_facts",
    "turn_gaps_panel",
    "uncached_table",
    "unknown_list",
    "usage_table",
    "usage_verdict",
    "verdict_panel",
    "versions_panel",
    "view",
    "violations_table",
    "wanted_job",
    "window_length",
]
