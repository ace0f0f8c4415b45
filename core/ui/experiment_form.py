"""The form of a plan: sensible defaults, faults beside their fields, checks before registering."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core import runtime
from core.catalogue import METRICS
from core.domain.experiments.arms import Dimension
from core.domain.experiments.comparison import Comparison
from core.domain.experiments.levers_guide import LEVERS
from core.domain.experiments.plan import DataType, ExperimentPlan, Unit
from core.domain.experiments.versions import History
from core.domain.quality import Estimand
from core.domain.statistics.sequential import Spending
from core.errors import EntryError
from core.experiments import register
from core.messages import say
from core.ui.experiment_actions import refused, taken
from core.ui.experiment_rules import rule_fields
from core.ui.experiments import experiment_asked
from core.ui.style import plain
from core.ui.tables import Cell, Column, table
from core.views.experiment_checks import findings
from core.views.experiment_draft import ATTRIBUTE, TIME, Entered, blank, entered, plan_of
from core.views.experiment_log import experiment_logs
from core.views.experiment_words import check_words, lever_guide
from core.views.experiments import ExperimentsView

PREFIX = "plan_field_"
CHECKED, FAULTS, FROM = "plan_checked", "plan_faults", "plan_from"
EFFICIENCY = (
    *("gateway_cached_share", "request_cached_ratio", "engine_hit_ratio", "arm_cached_tokens"),
    *("arm_first_token_s", "arm_first_token_p50", "arm_first_token_p95", "arm_output_rate"),
)


@dataclass(frozen=True)
class Field:
    """One field of the form: its kind, and for a choice its options and their words."""

    name: str
    kind: str = "line"
    options: Sequence[str] = ()
    words: Callable[[str], str] = str


def _choice(name: str, options: Sequence[str], words: Callable[[str], str]) -> Field:
    return Field(name, "choice", options, words)


def _metric(key: str) -> str:
    return METRICS[key].label if key in METRICS else key


SECTIONS: Mapping[str, Sequence[Sequence[Field]]] = {
    "what": (
        (Field("experiment"), Field("title"), Field("author")),
        (_choice("lever", LEVERS, lambda one: say(f"lever.{one}")), Field("path", "text")),
    ),
    "arms": (
        (
            _choice("comparison", list(Comparison), lambda one: say(f"comparison.{one}")),
            _choice("unit", list(Unit), lambda one: say(f"unit.{one}")),
            _choice("split", (ATTRIBUTE, TIME), lambda one: say(f"split.{one}")),
        ),
        (
            _choice("dimension", list(Dimension), lambda one: say(f"dimension.{one}")),
            Field("base"),
            Field("new"),
        ),
        (
            Field("base_from", "moment"),
            Field("base_to", "moment"),
            Field("new_from", "moment"),
            Field("new_to", "moment"),
        ),
        (Field("cluster"), Field("namespace"), Field("model")),
        (Field("period_from", "moment"), Field("period_to", "moment"), Field("load_cycle")),
    ),
    "gate": (
        (
            Field("score_name"),
            Field("evaluator"),
            Field("evaluator_version"),
            _choice("data_type", list(DataType), lambda one: say(f"data_type.{one}")),
        ),
        (
            _choice("estimand", list(Estimand), lambda one: say(f"estimand.{one}")),
            Field("pass_at", "number"),
            Field("pass_labels", "text"),
            Field("higher_is_better", "flag"),
        ),
        (
            Field("margin", "number"),
            Field("alpha", "number"),
            Field("minimum_clusters", "whole"),
            Field("minimum_coverage", "number"),
        ),
        (
            _choice("efficiency_metric", EFFICIENCY, _metric),
            Field("requests_stand_alone", "flag"),
        ),
    ),
    "sample": (
        (
            Field("looks"),
            _choice("spending", list(Spending), lambda one: say(f"spending.{one}")),
            Field("ratio", "number"),
        ),
        (
            Field("clusters_base", "whole"),
            Field("clusters_new", "whole"),
            Field("planned_se", "number"),
        ),
        (Field("p_base", "number"), Field("p_new", "number"), Field("icc", "number")),
        (
            Field("mean_session_size", "number"),
            Field("cv_session_size", "number"),
            Field("power", "number"),
        ),
    ),
    "rules": (
        (
            Field("promote_rules", "text"),
            Field("stop_rules", "text"),
            Field("rollback_rules", "text"),
        ),
        (
            Field("previous_settings", "text"),
            Field("restore_procedure", "text"),
            Field("revisions", "text"),
        ),
    ),
}
ALL = [field for rows in SECTIONS.values() for row in rows for field in row]


def plan_forms(view: ExperimentsView) -> None:
    """Make a plan: by the form, or from JSON; then what was found, and the button to register."""
    wanted = not view.logs
    with st.expander(say("plan.make"), icon=":material/edit_note:", expanded=wanted):
        _begin(view)
        by_form, by_json = st.tabs([say("plan.by_form"), say("plan.by_json")])
        with by_form:
            _form()
        with by_json:
            _json()
        _faults_above()
        _checked()


def _begin(view: ExperimentsView) -> None:
    """Fill the form: blank, or with the newest version of the chosen experiment."""
    if FROM not in st.session_state:
        _fill(blank(time.time()), "")
    one = view.one
    left, right = st.columns(2)
    left.button(say("plan.blank"), on_click=_fill_blank, key="plan_blank")
    if one is not None:
        right.button(
            say("plan.edit", title=one.plan.title, n=one.log.history.next_number),
            on_click=_fill,
            args=(entered(one.plan), one.plan.experiment),
            key="plan_edit",
        )
    origin = st.session_state[FROM]
    if origin:
        st.caption(plain(say("plan.editing", name=origin)))


def _fill_blank() -> None:
    _fill(blank(time.time()), "")


def _fill(values: Entered, origin: str) -> None:
    for name, value in values.items():
        st.session_state[PREFIX + name] = value
    st.session_state[FROM] = origin
    st.session_state.pop(CHECKED, None)
    st.session_state.pop(FAULTS, None)


def _form() -> None:
    # Enter would press the first button, and that is one of the rules.
    with st.form("plan", border=False, enter_to_submit=False):
        for section, rows in SECTIONS.items():
            st.markdown(f"**{say(f'plan.section.{section}')}**")
            st.caption(say(f"plan.about.{section}"))
            for row in rows:
                for column, field in zip(st.columns(len(row)), row, strict=True):
                    with column:
                        _field(field)
                if row == SECTIONS["rules"][0]:
                    rule_fields(PREFIX + "stop_rules", PREFIX + "rollback_rules")
        st.form_submit_button(say("plan.check"), type="primary", on_click=_check_form)


def _field(field: Field) -> None:
    label, key = say(f"plan.{field.name}"), PREFIX + field.name
    if field.kind == "choice":
        held = st.session_state[key]
        options = dict.fromkeys((*field.options, held))
        st.selectbox(label, list(options), key=key, format_func=field.words)
    elif field.kind == "flag":
        st.checkbox(label, key=key)
    elif field.kind == "moment":
        st.datetime_input(label, key=key, value=None, step=60)
    elif field.kind == "text":
        st.text_area(label, key=key, height=80, max_chars=4000)
    elif field.kind == "whole":
        st.number_input(label, key=key, value=None, step=1, min_value=1)
    elif field.kind == "number":
        st.number_input(label, key=key, value=None, step=0.001, format="%.4g")
    else:
        st.text_input(label, key=key, max_chars=500)
    for fault in _faults().get(field.name, ()):
        st.markdown(f":material/error: {plain(fault)}")


def _faults() -> dict[str, list[str]]:
    found: dict[str, list[str]] = st.session_state.get(FAULTS, {})
    return found


def _faults_above() -> None:
    """Faults that belong to no single field."""
    names = {field.name for field in ALL}
    for name, faults in _faults().items():
        if name not in names:
            for fault in faults:
                st.error(plain(f"{name}: {fault}" if name else fault))


def _check_form() -> None:
    form = {field.name: st.session_state[PREFIX + field.name] for field in ALL}
    _check(lambda: plan_of(form))


def _check_json() -> None:
    text = str(st.session_state["plan_text"])
    _check(lambda: ExperimentPlan.from_json(text))


def _check(made: Callable[[], ExperimentPlan]) -> None:
    st.session_state.pop(CHECKED, None)
    st.session_state.pop(FAULTS, None)
    try:
        st.session_state[CHECKED] = made().to_json()
    except EntryError as error:
        st.session_state[FAULTS] = by_field(error.detail)


FIELD_OF = {
    "primary": "score_name",
    "arms": "dimension",
    "planned_clusters": "clusters_new",
    "period": "period_from",
    "assumptions": "p_base",
}
"""Where a fault of a whole part stands."""
PART_OF = {"planned_clusters.new": "clusters_new", "planned_clusters.base": "clusters_base"}


def by_field(detail: str) -> dict[str, list[str]]:
    """Faults of an entry by the field they belong to.

    >>> by_field("arms.base: too short; title: too short; period: must end after its start")
    {'base': ['too short'], 'title': ['too short'], 'period_from': ['must end after its start']}
    """
    names = {field.name for field in ALL}
    found: dict[str, list[str]] = defaultdict(list)
    for part in detail.split("; "):
        path, colon, fault = part.partition(": ")
        if not colon:
            found[""].append(part)
            continue
        steps = path.split(".")
        last = PART_OF.get(path) or next((step for step in steps[::-1] if step in names), None)
        found[last or FIELD_OF.get(steps[0], steps[0])].append(fault)
    return dict(found)


def _json() -> None:
    st.file_uploader(
        say("plan.upload"), type=["json"], key="plan_file", on_change=_uploaded, max_upload_size=1
    )
    with st.form("plan_json", border=False):
        st.text_area(say("plan.paste"), key="plan_text", height=220, max_chars=100_000)
        st.form_submit_button(say("plan.check"), on_click=_check_json)


def _uploaded() -> None:
    """Put the text of a file into the field; what is no text is refused."""
    file = st.session_state["plan_file"]
    if file is None:
        return
    try:
        st.session_state["plan_text"] = file.getvalue().decode()
    except UnicodeDecodeError:
        st.session_state[FAULTS] = {"": [say("plan.no_text")]}
        return
    _check_json()


def _checked() -> None:
    """What was found about the plan, and the button that registers it."""
    text = st.session_state.get(CHECKED)
    if text is None:
        return
    plan = ExperimentPlan.from_json(text)
    st.markdown(f"**{say('plan.found')}**")
    st.caption(plain(say("plan.checked", title=plan.title, hash=plan.plan_hash)))
    guide = lever_guide(plan.lever, plan.arms.dimension)
    st.caption(plain(f"{guide.path} {guide.watch} {guide.quality}"))
    _findings(plan)
    st.download_button(
        say("plan.download"),
        text,
        file_name=f"{plan.experiment}.json",
        mime="application/json",
        key="plan_checked_json",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
    with st.form("plan_register", border=False):
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        left.text_input(say("plan.who"), key="plan_by", max_chars=100)
        right.form_submit_button(say("plan.register"), type="primary", on_click=_register)


def _findings(plan: ExperimentPlan) -> None:
    found = findings(
        runtime.running().store, plan, time.time(), evaluators=experiment_asked().evaluators
    )
    columns = [
        Column(say("plan.severity")),
        Column(say("plan.finding"), wide=True),
        Column(say("plan.of")),
        Column(say("plan.value"), numeric=True),
        Column(say("plan.limit"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [
            say(f"severity.{one.severity}"),
            check_words(one.check),
            one.of or say("table.none"),
            _number(one.check, one.value),
            _number(one.check, one.limit),
        ]
        for one in found
    ]
    table("plan_findings", columns, rows)


def _number(check: str, value: float | None) -> Cell:
    """A share, a length of time, or a moment; which, the check says."""
    if value is None:
        return say("table.none")
    if check.startswith("cycle"):
        return f"{value / 86_400:.3g} d"
    if check.startswith("data"):
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(value))
    return f"{value * 100:.1f} %"


def _register() -> None:
    running = runtime.running()
    plan = ExperimentPlan.from_json(st.session_state[CHECKED])
    log = next(iter(experiment_logs(running.store, plan.experiment)), None)
    try:
        number = register(
            running.inbox,
            plan,
            by_whom=str(st.session_state["plan_by"]).strip(),
            at=time.time(),
            known=History() if log is None else log.history,
        )
    except EntryError as error:
        refused(error)
        return
    st.session_state.pop(CHECKED)
    st.query_params["experiment"] = plan.experiment
    taken(say("plan.done", name=plan.experiment, n=number))
