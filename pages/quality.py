"""Quality: scores by stratum, with intervals, what they differ by, and who agrees with whom."""

from core import ui
from core.views.quality import QualityView, build

view: QualityView = ui.view(build, ui.asked())
ui.freshness(view.fleet)
ui.notices(view.fleet)
answer = ui.quality_bar(view)
if answer:
    ui.score_note(answer.asked.series)
    ui.strata_panel(view, answer)
    ui.contrast_panel(view, answer)
    left, right = ui.grid("association", 1, 1)
    with left:
        ui.association_panel(answer)
    with right:
        ui.observed_panel(answer)
    ui.requests_panel(view, answer)
    ui.agreement_panel(view)
ui.coarse_panel(view)
