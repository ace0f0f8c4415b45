"""Review: a period against another, or an experiment, for a meeting, and as files to keep."""

from core import ui
from core.views.review import ReviewView, build

with ui.making():
    view: ReviewView = ui.view(build, ui.review_question())
ui.freshness(view.fleet)
ui.notices(view.fleet)
ui.review_bar(view)
ui.review_document(view)
