"""Review: one period against another on one page for a meeting, and as files to keep."""

from core import ui
from core.views.review import ReviewView, build

with ui.making():
    view: ReviewView = ui.view(build, ui.review_question())
ui.freshness(view.now.fleet)
ui.notices(view.now.fleet)
ui.review_bar()
ui.review_document(view)
