"""What the Quality page is asked: score, estimand, groups and filters, all in the URL."""

from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import streamlit as st

from core import runtime
from core.demo import evaluators_of
from core.domain.quality import CONFOUNDERS, Dimension, Estimand
from core.messages import say
from core.report.words import dimension_words, group_words, series_words
from core.ui.choices import choice, narrowed
from core.ui.frame import info, side_by_side, time_axis, window_length
from core.views.quality import Answer, QualityView, Question, chosen_series, confounders
from core.views.quality_rows import group_values
from core.views.quality_sums import Bins, Series, block_s

BY = (
    Dimension.CACHED_RATIO,
    Dimension.IDLE_GAP,
    Dimension.PREEMPT_WINDOW,
    Dimension.ARM,
    *CONFOUNDERS,
)
Member = TypeVar("Member", Estimand, Dimension)
OF_GROUPS = ("cell", "new", "base")
"""URL parameters that name groups: without meaning once requests are grouped by something else."""
FILTERS = {
    "task": Dimension.TASK_TYPE,
    "template": Dimension.TEMPLATE_VERSION,
    "input": Dimension.INPUT_LENGTH,
    "turn": Dimension.TURN_POSITION,
    "load": Dimension.LOAD,
}
"""URL parameters that narrow the requests, with the dimension of each."""


def asked() -> Question:
    """The question that the URL holds; what it does not know keeps its usual value."""
    given = st.query_params
    return Question(
        series=given.get("score"),
        estimand=_one_of(Estimand, given.get("estimand"), Estimand.CONTENT),
        by=_one_of(Dimension, given.get("by"), Dimension.CACHED_RATIO),
        across=_one_of(Dimension, given.get("across"), Dimension.TASK_TYPE),
        only=tuple((one, given[name]) for name, one in FILTERS.items() if given.get(name)),
        new=given.get("new"),
        base=given.get("base"),
        evaluators=evaluators_of(runtime.running().settings),
        window_s=window_length(),
    )


def _one_of(kind: type[Member], text: str | None, usual: Member) -> Member:
    return next((one for one in kind if one.value == text), usual)


def quality_bar(view: QualityView) -> Answer | None:
    """Select boxes above the page, each of which writes the URL; without a score, why.

    The answer to what they ask; None where there is no score.
    """
    if view.answer is None:
        info(say(_why_empty(view)))
        return None
    first = side_by_side("quality_first", 2, 1.3, 1.2, 1.2)
    chosen = chosen_series(view.series, st.query_params.get("score"))
    names = {one.key: series_words(one) for one in view.series}
    with first[0]:
        usual = chosen_series(view.series, None)
        default = None if usual is None else usual.key
        choice("score", say("quality.score"), list(names), words=names.__getitem__, default=default)
    with first[1]:
        choice(
            "estimand",
            say("quality.estimand"),
            [] if chosen is None else possible(chosen),
            words=lambda one: say(f"estimand.{one}"),
            help_text=say("quality.estimand_help"),
        )
    with first[2]:
        choice(
            "by",
            say("quality.by"),
            [one.value for one in BY],
            words=dimension_words,
            forgets=OF_GROUPS,
        )
    with first[3]:
        choice(
            "across",
            say("quality.across"),
            [one.value for one in confounders(asked().by)],
            words=dimension_words,
            help_text=say("quality.across_help"),
        )
    _filters(view)
    return view.answer


def _why_empty(view: QualityView) -> str:
    if view.requests_connected:
        return "quality.no_scores"
    connected = "langfuse" in runtime.running().settings.connected
    return "notice.empty_requests" if connected else "quality.not_connected"


def _filters(view: QualityView) -> None:
    seen = {
        Dimension.TASK_TYPE: view.task_types,
        Dimension.TEMPLATE_VERSION: view.template_versions,
    }
    for column, (name, dimension) in zip(
        side_by_side("quality_filters", 1, 1, 1, 1, 1), FILTERS.items(), strict=True
    ):
        options = group_values(dimension, Bins(), seen.get(dimension, ()))
        with column:
            narrowed(
                name,
                dimension_words(dimension),
                options,
                words=lambda value, one=dimension: group_words(one, value),  # type: ignore[misc]
            )


def possible(series: Series) -> list[str]:
    """Estimands that the values of a series allow."""
    found = [Estimand.CONTENT, Estimand.COMPOSITE] if series.gradable else []
    return [one.value for one in (*found, *([Estimand.MEAN] if series.rated else []))]


def time_words(view: QualityView, value: str) -> str:
    """The stretch of time that a group of requests began in, in the reader's zone."""
    zone = time_axis(view.fleet).zone
    length = block_s(view.fleet.window)
    shown = "%d %b" if length >= 86_400 else "%d %b %H:%M"
    return datetime.fromtimestamp(int(value), zone or ZoneInfo("UTC")).strftime(shown)
